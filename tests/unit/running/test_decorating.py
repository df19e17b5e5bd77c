"""Decorators: what they put around a component, into its setup and before its effects."""

import asyncio
import threading
from contextlib import contextmanager
from functools import wraps
from typing import Annotated

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import repl_pair
from repl_pair.errors import AuthoringError
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.registry.origin import agent_origin
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.stopping.loops import PRIVATE
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.marks import Sensitive

check = repl_pair.check


@pytest.fixture(autouse=True)
def all_ends():
    yield
    repl_pair.global_decorators()
    PRIVATE.close_idle()


@pytest.fixture
def stated():
    """What decorators and component reported, in order; a story `c` and one decorator a name."""
    stated = []

    def component():
        stated.append("component")
        return "made"

    repl_pair.story("c", component=component)
    for name in ("all", "story", "variant"):
        around_and_over(stated, name)
    return stated


def around_and_over(stated, name):
    @repl_pair.decorator(f"{name}/around")
    def around():
        stated.append(f"{name} in")
        yield
        stated.append(f"{name} out")

    @repl_pair.decorator(f"{name}/over")
    def over(component):
        def call(**args):
            stated.append(f"{name} before")
            try:
                return f"{name}({component(**args)})"
            finally:
                stated.append(f"{name} after")

        return call


def component_of(id):
    return REGISTRY.get("story", id).body.component.resolve()


def test_the_outermost_decorator_begins_first_and_ends_last(stated):
    repl_pair.global_decorators("all/over", "all/around")
    repl_pair.story("c", component=component_of("c"), decorators=["story/around", "story/over"])
    repl_pair.variant("c/A", decorators=["variant/over", "variant/around"])
    assert repl_pair.run("c/A").result == "all(story(variant(made)))"
    names = ("all", "story", "variant")
    assert stated == [
        *(f"{name} in" for name in names),
        *(f"{name} before" for name in names),
        "component",
        *(f"{name} after" for name in reversed(names)),
        *(f"{name} out" for name in reversed(names)),
    ]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(
    st.permutations([(n, k) for n in ("one", "two", "three") for k in ("around", "over")]),
    st.integers(0, 6),
    st.integers(0, 6),
)
def test_decorators_nest_in_the_order_in_which_they_stand(order, first, second):
    stated = []
    undo = REGISTRY.checkpoint()
    try:
        for name in ("one", "two", "three"):
            around_and_over(stated, name)
        uses = [f"{name}/{kind}" for name, kind in order]
        a, b = sorted((first, second))
        repl_pair.global_decorators(*uses[:a])
        repl_pair.story("o", component=lambda: "made", decorators=uses[a:b])
        repl_pair.variant("o/Root", decorators=uses[b:][:1])
        repl_pair.variant("o/A", extends="o/Root", decorators=uses[b:][1:])
        result = repl_pair.run("o/A").result
    finally:
        repl_pair.global_decorators()
        undo()
    around = [name for name, kind in order if kind == "around"]
    over = [name for name, kind in order if kind == "over"]
    assert result == "".join(f"{n}(" for n in over) + "made" + ")" * len(over)
    assert stated == [
        *(f"{n} in" for n in around),
        *(f"{n} before" for n in over),
        *(f"{n} after" for n in reversed(over)),
        *(f"{n} out" for n in reversed(around)),
    ]


def test_a_wrap_is_given_its_args_each_time_afresh():
    given = []

    @repl_pair.decorator("scaled")
    def scaled(component, by, more=()):
        given.append((by, more))
        return lambda **args: component(**args) * by

    repl_pair.story("n", component=lambda n=2: n)
    repl_pair.variant("n/A", decorators=[["scaled", {"by": 3, "more": [1]}]])
    assert [repl_pair.run("n/A").result for _ in range(2)] == [6, 6]
    assert given == [(3, [1]), (3, [1])]
    assert given[0][1] is not given[1][1]


def test_a_wrap_may_give_a_context_manager():
    inside = []

    @contextmanager
    def opened(name):
        inside.append(name)
        yield
        inside.remove(name)

    repl_pair.decorator("opened", wrap=lambda name: opened(name))
    repl_pair.story("seen", component=lambda: list(inside))
    repl_pair.variant("seen/A", decorators=[["opened", {"name": "door"}]])
    assert repl_pair.run("seen/A").result == ["door"]
    assert inside == []
    repl_pair.decorator("locked", wrap=threading.Lock)  # it has no signature
    repl_pair.variant("seen/B", decorators=["locked"])
    assert repl_pair.run("seen/B").status == "pass"


def test_wraps_go_around_asynchronous_components_and_constructors():
    @repl_pair.decorator("loud")
    def loud(component):
        @wraps(component)
        def call(**args):
            return component(**{name: text.upper() for name, text in args.items()})

        return call

    @repl_pair.decorator("awaited")
    def awaited(component):
        async def call(**args):
            await asyncio.sleep(0)
            found = component(**args)
            return await found if asyncio.iscoroutine(found) else found

        return call

    async def later(text: str):
        await asyncio.sleep(0)
        return text

    class Sign:
        def __init__(self, text: str):
            self.text = text

    repl_pair.story("later", component=later, decorators=["loud", "awaited"])
    repl_pair.story("sign", component=Sign, decorators=["loud", "awaited"])
    for story, path in (("later", "result"), ("sign", "result.text")):
        repl_pair.variant(f"{story}/A", args={"text": "hi"}, play=[check.path_equals(path, "HI")])
        assert repl_pair.run(f"{story}/A").status == "pass"
    assert asyncio.run(repl_pair.arun("later/A")).result == "HI"


def test_a_setup_patches_the_state_and_sends_its_events_before_the_variants_own():
    @repl_pair.handler
    def note(live, what):
        live.notes.append(what)

    class Book:
        def __init__(self):
            self.notes, self.meta = [], {}

    for name in ("outer", "inner"):
        repl_pair.decorator(
            name,
            kind="frame_setup",
            init=[["note", {"what": name}]],
            teardown=[["note", {"what": f"{name} ends"}], "note_end"],
            patch={"meta.by": name, f"meta.{name}": True},
        )
    repl_pair.handler("note_end")(lambda live: None)
    repl_pair.story("book", component=Book, decorators=["outer"])
    repl_pair.variant(
        "book/A",
        decorators=["inner"],
        events=[["note", {"what": "own"}]],
        loaders_teardown=[["note", {"what": "loaders end"}]],
    )
    record = repl_pair.run("book/A")
    assert record.status == "pass"
    assert record.result.meta == {"by": "inner", "outer": True, "inner": True}
    assert record.result.notes == [
        *("outer", "inner", "own", "loaders end", "inner ends", "outer ends")
    ]
    assert [event[0] for event in record.events] == [
        *("note", "note", "note", "note", "note", "note_end", "note", "note_end")
    ]


def test_a_decorator_that_left_makes_the_run_cannot_run_and_is_named():
    repl_pair.decorator("scaled", wrap=lambda component: component)
    repl_pair.decorator("scaler", wrap=lambda component: component)
    repl_pair.story("n", component=lambda: 1)
    repl_pair.variant("n/A", decorators=["scaled"])
    REGISTRY.unregister("decorator", "scaled")
    record = repl_pair.run("n/A")
    assert record.status == "cannot_run"
    assert "There is no decorator 'scaled'. Nearest: scaler" in record.reason
    assert [p.phase for p in record.phases] == ["setup", "teardown"]


def test_a_wrap_that_stands_twice_is_refused():
    repl_pair.decorator("twice", wrap=lambda component: component)
    repl_pair.story("n", component=lambda: 1, decorators=["twice"])
    repl_pair.variant("n/A", decorators=["twice"])
    record = repl_pair.run("n/A")
    assert (record.status, record.reason) == (
        "cannot_run",
        "Decorator 'twice' would wrap the component twice; use it in one place only.",
    )


@pytest.mark.parametrize(
    ("wrap", "reason"),
    [
        (lambda: 3, "Decorator 'odd' gave a int"),
        (lambda component: None, "takes `component` and gave a NoneType"),
    ],
)
def test_a_wrap_that_gives_something_else_is_refused(wrap, reason):
    repl_pair.decorator("odd", wrap=wrap)
    repl_pair.story("n", component=lambda: 1)
    repl_pair.variant("n/A", decorators=["odd"])
    record = repl_pair.run("n/A")
    assert (record.status, reason in record.reason) == ("cannot_run", True)


def test_args_that_no_longer_fit_a_decorator_are_refused_before_anything_runs():
    ran = []
    repl_pair.decorator("scaled", wrap=lambda component, by: component)
    repl_pair.story("n", component=lambda: ran.append(1))
    repl_pair.variant("n/A", decorators=[["scaled", {"by": 2}]])
    repl_pair.decorator("scaled", wrap=lambda component: component)
    record = repl_pair.run("n/A")
    assert record.status == "cannot_run"
    assert "unexpected keyword argument 'by'" in record.reason
    assert ran == []


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (
            lambda: repl_pair.decorator("d", kind="wrp", wrap=print),
            "bad_body",
            r"no kind 'wrp'\. Nearest: wrap\. There are wrap, frame_setup, fx_override",
        ),
        (
            lambda: repl_pair.decorator("d", kind="frame_setup"),
            "bad_body",
            "a frame_setup has init, teardown or patch",
        ),
        (
            lambda: repl_pair.decorator("d", kind="frame_setup", response=1, init=["a"]),
            "bad_body",
            "a frame_setup takes init, teardown, patch, not response",
        ),
        (
            lambda: repl_pair.decorator("d", kind="fx_override", effect="a"),
            "bad_body",
            r"has response=, given each time, or responses=\[\.\.\.\]",
        ),
        (
            lambda: repl_pair.decorator(
                "d", kind="fx_override", effect="a", response=1, responses=[1]
            ),
            "bad_body",
            "has response=",
        ),
        (
            lambda: repl_pair.decorator("d", kind="fx_override", effect="a", responses=[]),
            "bad_body",
            "responses is a list of at least one",
        ),
        (
            lambda: repl_pair.decorator(
                "d", kind="fx_override", effect="a", response={"$raise": "TimeoutEror"}
            ),
            "bad_body",
            r"'TimeoutEror' is not a built-in exception\. Nearest: TimeoutError",
        ),
        (
            lambda: repl_pair.variant("n/A", decorators=["scald"]),
            "not_found",
            "no decorator 'scald'. Nearest: scaled",
        ),
        (
            lambda: repl_pair.story("m", component=print, decorators=["scald"]),
            "not_found",
            "no decorator 'scald'",
        ),
        (
            lambda: repl_pair.global_decorators("scald"),
            "not_found",
            "no decorator 'scald'",
        ),
        (
            lambda: repl_pair.variant("n/A", decorators=[["scaled", {"bi": 1}]]),
            "bad_body",
            "does not take its args: missing a required argument: 'by'",
        ),
        (
            lambda: repl_pair.variant("n/A", decorators=[["scaled", 1]]),
            "bad_body",
            r"a decorator is its id, or \[id, \{args\}\]",
        ),
        (
            lambda: repl_pair.variant("n/A", decorators=[["set", {"x": 1}]]),
            "bad_body",
            "a frame_setup takes no args, not x",
        ),
        (
            lambda: repl_pair.variant("n/A", decorators=["force_fx_stub"]),
            "bad_body",
            "used without an effect",
        ),
        (
            lambda: repl_pair.variant("n/A", decorators=[["force_fx_stub", {"effect": "a"}]]),
            "bad_body",
            "used with response, given each time, or responses",
        ),
        (
            lambda: repl_pair.variant(
                "n/A", decorators=[["force_fx_stub", {"effect": "a", "reponse": 1}]]
            ),
            "bad_body",
            "takes effect, response or responses, not reponse",
        ),
        (lambda: repl_pair.variant("n/A", decorators="scaled"), "bad_body", r"\['scaled'\]"),
    ],
)
def test_a_wrong_decorator_is_refused_with_what_it_takes(call, code, message):
    repl_pair.decorator("scaled", wrap=lambda component, by: component)
    repl_pair.decorator("set", kind="frame_setup", patch={"a": 1})
    repl_pair.story("n", component=lambda: 1)
    with pytest.raises(AuthoringError, match=message) as refused:
        call()
    assert refused.value.code == code
    assert not REGISTRY.find("variant", "n/A")
    assert not REGISTRY.find("decorator", "d")


def test_what_a_wrap_function_declares_secret_is_a_secret_in_its_uses_and_reaches_it_as_it_is():
    got = []

    def signed(token: Annotated[str, Sensitive], keys: dict[str, Annotated[str, Sensitive]], n=1):
        got.append((token, keys, n))
        yield

    repl_pair.story("c", component=lambda: 1)
    repl_pair.decorator("signed", wrap=signed)
    long = "Wq77-xkpR-02mz"
    repl_pair.variant("c/A", decorators=[["signed", {"token": long, "keys": {"a": "1"}, "n": 2}]])
    used = REGISTRY.get("variant", "c/A").body.decorators[0][1]
    assert used == {"token": Secret(long), "keys": Secret({"a": "1"}), "n": 2}
    assert NEEDLES.find(long)
    repl_pair.run("c/A", check=True)
    assert got == [(long, {"a": "1"}, 2)]


def test_what_an_agent_gives_a_wrap_function_is_not_learned():
    repl_pair.story("c", component=lambda: 1)
    repl_pair.decorator("signed", wrap=sign)
    with entering_from(agent_origin("x")):
        repl_pair.variant("c/A", decorators=[["signed", {"token": "Hq77-xkpR-31mz"}]])
    assert not NEEDLES.find("Hq77-xkpR-31mz")


def sign(token: Annotated[str, Sensitive]):
    yield


class Answer:
    """A response as a library makes it: no data, with private state."""

    def __init__(self, status):
        self._status = status

    def json(self):
        return {"status": self._status}


def test_an_object_is_a_response_as_it_is_and_only_the_persons():
    def fetch():
        return [repl_pair.effect("shop/ask").json() for _ in range(2)]

    repl_pair.effect.impl("shop/ask")(lambda: None)
    repl_pair.story("shop.fetch", component=fetch)
    repl_pair.decorator("found", kind="fx_override", effect="shop/ask", response=Answer(200))
    once = [Answer(200), Answer(404)]
    repl_pair.variants(
        "shop.fetch",
        {
            "Both": {"decorators": ["found"]},
            "Once": {"decorators": [["force_fx_stub", {"effect": "shop/ask", "responses": once}]]},
        },
    )
    both, again, ended = (repl_pair.run(f"shop.fetch/{name}") for name in ("Both", "Both", "Once"))
    assert both.result == [{"status": 200}] * 2
    assert ended.result == [{"status": 200}, {"status": 404}]
    assert both.identity == again.identity != ended.identity
    shown = repl_pair.to_data("decorator", "found")["responses"]
    assert shown == [{"$type": f"{__name__.partition('.')[0]}.Answer"}]
    with entering_from(agent_origin("agent")), pytest.raises(AuthoringError, match="Answer"):
        repl_pair.decorator("theirs", kind="fx_override", effect="shop/ask", response=Answer(1))
