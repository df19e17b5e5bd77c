"""What may be registered as a function of the app, under which tool, and what is refused."""

import functools
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

import repl_pair
from repl_pair.bridge import manifest
from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.surface.functions import list_function_tools, list_functions
from repl_pair.runtime.registry.model import Origin
from repl_pair.runtime.registry.origin import sent_by
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.secrets.schemas import public_schema
from repl_pair.runtime.surfaces.function_calls import check_function_args, function_schema
from repl_pair.wire import MAX_FUNCTION_TOOLS, View


@dataclass
class Node:
    next: "Node | None" = None


@dataclass
class Note:
    text: str
    by: str | None


class Shop:
    def place(self, n: int) -> int:
        return n

    def __call__(self, n: int) -> int:
        return n


def summary(last: int = 10) -> int:
    return last


async def wait(s: float) -> None: ...


def several(*ids: int) -> None: ...


def named(**options: int) -> None: ...


def unhinted(n) -> None: ...


def calling(then: Callable[[], None], n: int) -> None: ...


def nested(node: Node) -> None: ...


def nested_deep(by_key: dict[str, list[tuple[int, Node]]], data: bytes) -> None: ...


def binary(data: bytes) -> None: ...


def counting():
    yield 1


async def streaming():
    yield 1


def body_of(id):
    return REGISTRY.find("function", id).body


def test_a_function_is_returned_itself_and_mutates_unless_it_says_otherwise():
    assert repl_pair.function("orders.place")(summary) is summary
    body = body_of("orders.place")
    assert (body.mutates, body.exposed, body.ask, body.thread_safe) == (True, False, False, False)
    assert (body.tool, body.timeout_s) == ("orders__place", 20.0)
    repl_pair.function("orders.read", mutates=False, ask=True, timeout_s=3)(summary)
    assert (body_of("orders.read").mutates, body_of("orders.read").ask) == (False, True)


def test_on_a_surface_a_function_has_its_own_name_and_the_tier_of_the_surface():
    train = repl_pair.surface("training", tier="ops")
    assert train.function(summary) is summary
    assert train.function(mutates=False)(wait) is wait
    entry = REGISTRY.find("function", "training.summary")
    assert (entry.tier, entry.body.tool) == ("ops", "training__summary")
    assert REGISTRY.find("function", "training.wait").body.mutates is False
    with pytest.raises(AuthoringError, match=r"a partial has no name; use repl_pair\.function"):
        train.function(functools.partial(summary, 1))


@pytest.mark.parametrize(
    "fn", [summary, wait, Shop().place, Shop(), functools.partial(summary, last=1), lambda: 1]
)
def test_what_can_be_called_by_name_can_be_exposed(fn):
    assert repl_pair.function("orders.any", expose=True)(fn) is fn
    assert body_of("orders.any").component.resolve() is fn


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (Shop, "is a class"),
        (counting, "is a generator"),
        (streaming, "is a generator"),
        (3, "not a function"),
        (classmethod(summary), "not a function"),
    ],
)
def test_what_gives_no_value_when_it_is_called_is_no_function(fn, words):
    with pytest.raises(AuthoringError, match=words) as caught:
        repl_pair.function("orders.any")(fn)
    assert caught.value.code == "bad_body"
    assert REGISTRY.find("function", "orders.any") is None


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (several, r"\*ids: int: an agent gives arguments by name"),
        (named, r"\*\*options: int: an agent gives arguments by name"),
        (unhinted, r"cannot give n \(no type\) as JSON\. Valid are text, numbers"),
        (calling, r"cannot give then \(.*Callable.*\) as JSON"),
        (nested, r"cannot give node \(.*Node\) as JSON"),
        (nested, r"Node\) as JSON\. The class of node contains itself: take a list of rows\.$"),
        (nested_deep, r"Valid are .*, models\. The class of by_key contains itself"),
        (binary, r"cannot give data \(bytes\) as JSON"),
        (Shop.place, r"cannot give self \(no type\) as JSON"),
    ],
)
def test_an_exposed_function_takes_what_json_can_hold(fn, words):
    with pytest.raises(AuthoringError, match=words) as caught:
        repl_pair.function("orders.any", expose=True)(fn)
    assert caught.value.code == "bad_body"
    repl_pair.function("orders.any")(fn)
    with pytest.raises(AuthoringError, match=words):
        repl_pair.surface("orders").expose("any")
    assert body_of("orders.any").exposed is False


def test_a_function_that_is_exposed_later_keeps_its_place_and_its_tier():
    repl_pair.function("orders.place", tier="ops", mutates=False)(summary)
    before = REGISTRY.find("function", "orders.place")
    repl_pair.surface("orders").expose("place")
    after = REGISTRY.find("function", "orders.place")
    assert (after.origin, after.tier, after.body.mutates) == (before.origin, "ops", False)
    assert after.body.exposed


@pytest.mark.parametrize("id", [*manifest.by_name(), "place", "orders/place", "orders.place.", 3])
def test_an_id_that_could_be_an_op_or_no_tool_is_refused(id):
    with pytest.raises(AuthoringError) as caught:
        repl_pair.function(id)
    assert caught.value.code == "bad_id"


def test_no_op_has_a_name_that_the_tool_of_a_function_can_have():
    assert [name for name in manifest.by_name() if "__" in name] == []


def test_a_function_is_listed_with_its_tool_where_that_is_one():
    view = View(principal="agent")
    for n in range(MAX_FUNCTION_TOOLS + 2):
        repl_pair.function(f"orders.f{n:02}", expose=True)(lambda: None)
    repl_pair.function("hidden.one")(lambda: None)
    lines = list_functions(Call(view=view))["items"]
    tools = [line["tool"] for line in list_function_tools(Call(view=view))["items"]]
    assert [line.get("tool") for line in lines] == [*tools, None, None]
    assert tools == [f"orders__f{n:02}" for n in range(MAX_FUNCTION_TOOLS)]


def test_a_tool_over_forty_characters_is_refused():
    repl_pair.function("orders." + "p" * 32)(summary)
    with pytest.raises(AuthoringError, match=r"which has 41 characters: at most 40") as caught:
        repl_pair.function("orders." + "p" * 33)(summary)
    assert caught.value.code == "bad_id"


@pytest.mark.parametrize("other", ["Orders.a_.b", "orders.a._b"])
def test_a_tool_that_another_function_is_is_refused_and_both_places_are_named(other):
    def register(id, line):
        with entering_from(Origin(key=f"module:{line}", label=f"app{line}", line=line)):
            repl_pair.function(id)(summary)

    register("orders.a_.b", 7)
    words = r"\(app9 line 9\) would be the tool 'orders__a___b'.*'orders\.a_\.b' is \(app7 line 7\)"
    with pytest.raises(AuthoringError, match=words) as caught:
        register(other, 9)
    assert caught.value.code == "bad_id"
    assert list(REGISTRY.ids("function")) == ["orders.a_.b"]


def test_a_cell_that_runs_again_may_give_its_tool_to_another_id():
    for run, id in enumerate(("orders.place", "Orders.place")):
        with entering_from(Origin(key="cell:1", label=f"In[{run}]", line=1, run=run)):
            repl_pair.function(id)(summary)
    assert list(REGISTRY.ids("function")) == ["Orders.place"]


@pytest.mark.parametrize("timeout_s", [0, -1, 3601, float("nan")])
def test_the_time_of_a_function_is_bounded(timeout_s):
    with pytest.raises(AuthoringError, match="timeout_s is a number of seconds"):
        repl_pair.function("orders.place", timeout_s=timeout_s)(summary)


def test_an_agents_code_registers_no_function(monkeypatch):
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    code = "import repl_pair\n@repl_pair.function('evil.run', expose=True)\ndef run(): ..."
    with sent_by("claude"), pytest.raises(AuthoringError, match="is the person's"):
        exec(code, main.__dict__)
    assert REGISTRY.find("function", "evil.run") is None


def test_an_agents_code_exposes_nothing_of_the_persons(monkeypatch):
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    main.app = repl_pair.surface("app")
    repl_pair.function("app.count")(lambda: 1)
    with sent_by("claude"), pytest.raises(AuthoringError, match="is the person's"):
        exec("app.expose('count')", main.__dict__)
    assert not REGISTRY.get("function", "app.count").body.exposed


def test_the_call_is_no_part_of_the_schema_and_null_is_legal_where_a_hint_allows_it():
    def place(note: Note, call: repl_pair.Call, at: int | None, n: int = 1) -> Any: ...

    schema = function_schema(place)
    assert list(schema["properties"]) == ["note", "at", "n"]
    assert schema["required"] == ["note", "at"]
    given = {"note": {"text": "a", "by": None}, "at": None, "n": None}
    assert check_function_args("a.b", place, given) == {k: given[k] for k in ("note", "at")}
    with pytest.raises(Exception, match=r"note\.text: expected string, got null"):
        check_function_args("a.b", place, given | {"note": {"text": None, "by": "b"}})


def test_what_is_legal_for_a_secret_is_not_listed_to_who_guesses_wrong():
    def log_in(password: Literal["canary-1", "canary-2"], by: Literal["a", "b"] = "a") -> None: ...

    with pytest.raises(RequestError) as refused:
        check_function_args("a.b", log_in, {"password": "x", "by": "c"})
    assert "password: expected one of its values, got str 'x'." in refused.value.message
    assert "by: expected one of a, b" in refused.value.message


def test_a_number_that_is_a_known_secret_is_no_default_in_a_schema():
    NEEDLES.add(7391846205, rank=Rank.GIVEN)
    assert public_schema({"default": 7391846205, "minimum": 12}) == {
        "default": "[redacted]",
        "minimum": 12,
    }


def test_a_function_that_is_called_by_the_person_may_be_given_a_call():
    call = repl_pair.Call()
    call.progress("half")
    assert call.cancelled is False
