"""What is in the two hashes of a snapshot identity: each slot drifts if and only if it counts."""

import importlib
import subprocess
import sys
from enum import Enum
from typing import Annotated

import pytest

import repl_pair
from repl_pair.runtime.planning.planner import snapshot_identity

check, step, effect = repl_pair.check, repl_pair.step, repl_pair.effect

SHOP = """
import repl_pair
from repl_pair import check, effect, step

@repl_pair.decorator("wrapped")
def wrapped(component):
    return component

@repl_pair.decorator("around")
def around():
    yield

@repl_pair.loader("lamp")
def lamp():
    return 1

@repl_pair.loader("rows")
def rows(n=1):
    return [n]

@repl_pair.handler("noted")
def noted(live, text=""):
    live.text = text

@repl_pair.handler("ended")
def ended(live):
    live.text = ""

@repl_pair.handler("begun")
def begun(live):
    live.text = "begun"

@repl_pair.derived("full")
def full(state):
    return True

@repl_pair.derived("size")
def size(state):
    return 1

@repl_pair.assertion("fine")
def fine(settled):
    return True

@effect.impl("mail/send")
def send(to):
    return to

@effect.impl("mail/other")
def other(to):
    return to

@effect.impl("mail/stubbed")
def stubbed(to):
    return to

def post(to):
    return [effect("mail/send", to=to), effect("mail/stubbed", to=to)]

def project(live):
    return live.text

class Shop:
    def __init__(self, items=(), n=0):
        self.text = ""
        post("a")

repl_pair.decorator("setup", kind="frame_setup", init=["begun"], teardown=["ended"])
repl_pair.decorator("answer", kind="fx_override", effect="mail/stubbed", response=1)
repl_pair.story("shop", component=Shop, decorators=["wrapped", "setup"], state=project)
repl_pair.variant(
    "shop/A",
    args={"items": repl_pair.ref("rows", n=2)},
    events=[["noted", {"text": "hi"}]],
    loaders=["lamp"],
    loaders_complete_when="full",
    decorators=["around", "answer"],
    play=[["fine"], ["derived_equals", "size", 1]],
)
"""


def component(a=1, deep=None):
    return a, effect


@pytest.fixture(autouse=True)
def no_globals():
    yield
    repl_pair.global_args()
    repl_pair.global_decorators()


def entered(story=None, variant=None, setup=lambda: None, **settled):
    """Enter a story and a variant as they are usual, but for some slots; give its identity."""
    for name in ("lamp", "desk"):
        repl_pair.loader(name)(list)
    for name in ("full", "empty"):
        repl_pair.derived(name)(bool)
    repl_pair.mode("eur", args={"a": 2})
    repl_pair.mode("usd", args={"a": 2})
    repl_pair.decorator("first", kind="frame_setup", init=["one"])
    repl_pair.decorator("second", kind="frame_setup", init=["two"])
    repl_pair.decorator("answer", kind="fx_override", effect="mail", responses=[1])
    setup()
    repl_pair.story("s", **({"component": component} | (story or {})))
    repl_pair.variant("s/A", **(variant or {}))
    return snapshot_identity("s/A", **settled)


def a_part(**body):
    return lambda: repl_pair.decorator("first", kind="frame_setup", **body)


def an_answer(**body):
    return lambda: repl_pair.decorator("answer", kind="fx_override", **body)


DRIFTS = {
    "args": ({"args": {"a": 1}}, {"args": {"a": 2}}),
    "deep args": ({"args": {"deep": {"x": 1}}}, {"args": {"deep": {"x": 1.0}}}),
    "events": ({}, {"events": [["add", {"n": 1}]]}),
    "order of events": ({"events": ["a", "b"]}, {"events": ["b", "a"]}),
    "args_to_events": ({"args": {"a": 1}}, {"args": {"a": 1}, "args_to_events": {"a": "add"}}),
    "an arg's event": (
        {"args": {"a": 1}, "args_to_events": {"a": "add"}},
        {"args": {"a": 1}, "args_to_events": {"a": "put"}},
    ),
    "play": ({}, {"play": [check.path_equals("result", 1)]}),
    "a play's step": (
        {"play": [step.wait(1), check.no_warnings()]},
        {"play": [check.no_warnings(), step.wait(1)]},
    ),
    "plays": (
        {"plays": {"one": [step.wait(1)]}},
        {"plays": {"one": {"steps": [step.wait(1)], "auto_run": False}}},
    ),
    "loaders": ({"loaders": ["lamp"]}, {"loaders": ["desk"]}),
    "order of loaders": ({"loaders": ["lamp", "desk"]}, {"loaders": ["desk", "lamp"]}),
    "loaders_complete_when": (
        {"loaders_complete_when": "full"},
        {"loaders_complete_when": "empty"},
    ),
    "what must have come": (
        {"loaders_complete_when": ["x"]},
        {"loaders_complete_when": ["x", "y"]},
    ),
    "loaders_teardown": ({}, {"loaders_teardown": ["end"]}),
    "decorators": ({"decorators": ["first"]}, {"decorators": ["second"]}),
    "order of decorators": (
        {"decorators": ["first", "second"]},
        {"decorators": ["second", "first"]},
    ),
    "args of a decorator": (
        {"decorators": [["answer", {"response": 1}]]},
        {"decorators": [["answer", {"response": 2}]]},
    ),
    "tags": ({}, {"tags": ["docs"]}),
    "substrates": ({}, {"substrates": ["html"]}),
}
"""Slots of a variant, each before and after an edit that changes what it settles to."""

STAYS = {
    "doc": ({}, {"doc": "Another."}),
    "argtypes": ({}, {"argtypes": {"a": {"control": "range"}}}),
    "modes that fit": ({}, {"modes": ["eur"]}),
    "tier": ({}, {"tier": "ops"}),
    "order of tags": ({"tags": ["docs", "test"]}, {"tags": ["test", "docs"]}),
    "order of args": ({"args": {"a": 1, "deep": 2}}, {"args": {"deep": 2, "a": 1}}),
    "a play that does not run": (
        {"plays": {"one": [], "two": [step.wait(1)]}},
        {"plays": {"one": [], "two": [step.wait(2)]}},
    ),
}

ELSEWHERE = {
    "args of the story": ({}, {"story": {"args": {"a": 2}}}),
    "tags of the story": ({}, {"story": {"tags": ["docs"]}}),
    "decorators of the story": ({}, {"story": {"decorators": ["first"]}}),
    "substrates of the story": ({}, {"story": {"substrates": ["html"]}}),
    "an active mode": ({}, {"modes": ["eur"]}),
    "modes of equal args": ({"modes": ["eur"]}, {"modes": ["usd"]}),
    "order of modes": ({"modes": ["eur", "usd"]}, {"modes": ["usd", "eur"]}),
    "an override": ({}, {"overrides": {"a": 3}}),
    "global args": ({}, {"setup": lambda: repl_pair.global_args(a=5)}),
    "global decorators": ({}, {"setup": lambda: repl_pair.global_decorators("first")}),
    "init of a decorator": (
        {"variant": {"decorators": ["first"]}},
        {"variant": {"decorators": ["first"]}, "setup": a_part(init=["other"])},
    ),
    "teardown of a decorator": (
        {"variant": {"decorators": ["first"]}},
        {"variant": {"decorators": ["first"]}, "setup": a_part(init=["one"], teardown=["x"])},
    ),
    "patch of a decorator": (
        {"variant": {"decorators": ["first"]}},
        {"variant": {"decorators": ["first"]}, "setup": a_part(init=["one"], patch={"a": 1})},
    ),
    "effect of a decorator": (
        {"variant": {"decorators": ["answer"]}},
        {"variant": {"decorators": ["answer"]}, "setup": an_answer(effect="post", responses=[1])},
    ),
    "responses of a decorator": (
        {"variant": {"decorators": ["answer"]}},
        {"variant": {"decorators": ["answer"]}, "setup": an_answer(effect="mail", responses=[2])},
    ),
    "whether a response repeats": (
        {"variant": {"decorators": ["answer"]}},
        {"variant": {"decorators": ["answer"]}, "setup": an_answer(effect="mail", response=1)},
    ),
}

STAYS_ELSEWHERE = {
    "doc of the story": ({}, {"story": {"doc": "Another."}}),
    "argtypes of the story": ({}, {"story": {"argtypes": {"a": {}}}}),
    "modes of the story": ({}, {"story": {"modes": ["eur"]}}),
    "tier of the story": ({}, {"story": {"tier": "ops"}}),
    "thread_safe": ({}, {"story": {"thread_safe": True}}),
    "agent_overrides": ({}, {"story": {"agent_overrides": False}}),
    "a tag twice": (
        {"variant": {"tags": ["docs"]}},
        {"variant": {"tags": ["docs"]}, "story": {"tags": ["docs"]}},
    ),
    "a tag that is taken out": ({}, {"story": {"tags": ["docs"]}, "variant": {"tags": ["!docs"]}}),
    "default_filter of a tag": (
        {"variant": {"tags": ["docs"]}},
        {
            "variant": {"tags": ["docs"]},
            "setup": lambda: repl_pair.tag("docs", default_filter="exclude"),
        },
    ),
    "axis and doc of a mode": (
        {"modes": ["eur"]},
        {
            "modes": ["eur"],
            "setup": lambda: repl_pair.mode("eur", args={"a": 2}, axis="x", doc="Euro"),
        },
    ),
    "doc of a decorator": (
        {"variant": {"decorators": ["first"]}},
        {"variant": {"decorators": ["first"]}, "setup": a_part(init=["one"], doc="Another.")},
    ),
    "a global arg that it does not take": ({}, {"setup": lambda: repl_pair.global_args(b=1)}),
    "a mode twice": ({"modes": ["eur"]}, {"modes": ["eur", "eur"]}),
    "an override that says the same": (
        {"variant": {"args": {"a": 1}}},
        {"variant": {"args": {"a": 1}}, "overrides": {"a": 1}},
    ),
}


@pytest.mark.parametrize(("before", "after"), DRIFTS.values(), ids=DRIFTS)
def test_a_slot_that_changes_what_a_variant_settles_to_drifts(before, after):
    one, other = entered(variant=before), entered(variant=after)
    assert one == entered(variant=before)
    assert one.content_hash != other.content_hash


@pytest.mark.parametrize(("before", "after"), STAYS.values(), ids=STAYS)
def test_a_slot_that_changes_nothing_does_not_drift(before, after):
    assert entered(variant=before) == entered(variant=after)


@pytest.mark.filterwarnings("ignore::repl_pair.runtime.registry.registry.RegistrationWarning")
@pytest.mark.parametrize(("before", "after"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_a_variant_takes_from_elsewhere_drifts(before, after):
    assert entered(**before).content_hash != entered(**after).content_hash


@pytest.mark.filterwarnings("ignore::repl_pair.runtime.registry.registry.RegistrationWarning")
@pytest.mark.parametrize(("before", "after"), STAYS_ELSEWHERE.values(), ids=STAYS_ELSEWHERE)
def test_what_changes_nothing_elsewhere_does_not_drift(before, after):
    assert entered(**before) == entered(**after)


def test_another_component_drifts_in_both_hashes():
    def other(a=1, deep=None):
        return a

    one, two = entered(), entered(story={"component": other})
    assert one.content_hash != two.content_hash
    assert one.code_hash != two.code_hash


EDITS = {
    "the component": ('self.text = ""\n', 'self.text = "x"\n'),
    "a default of its signature": ("items=(), n=0", "items=(), n=1"),
    "a parameter of its signature": ("items=(), n=0", "items=(), m=0"),
    "the kind of a parameter": ("items=(), n=0", "items=(), *, n=0"),
    "a helper that it calls": ('effect("mail/send", to=to), ', ""),
    "a wrap around the component": ("return component", "return lambda **a: component(**a)"),
    "a wrap around the run": ("    yield\n", "    yield 1\n"),
    "a loader": ("def lamp():\n    return 1", "def lamp():\n    return 2"),
    "a loader behind a ref": ("return [n]", "return [n, n]"),
    "a handler of an event": ("live.text = text", "live.text = text * 2"),
    "a handler of a setup": ('live.text = "begun"', 'live.text = "begin"'),
    "a handler of a teardown": (
        'def ended(live):\n    live.text = ""',
        "def ended(live):\n    live.text = 1",
    ),
    "the condition of its loaders": (
        "return True\n\n@repl_pair.derived",
        "return 1\n\n@repl_pair.derived",
    ),
    "what an assertion derives": (
        "def size(state):\n    return 1",
        "def size(state):\n    return 2",
    ),
    "an assertion": ("def fine(settled):\n    return True", "def fine(settled):\n    return 1"),
    "the projection of its state": ("return live.text", "return live.text, 1"),
    "an effect that is done": ("def send(to):\n    return to", "def send(to):\n    return [to]"),
}
NO_EDITS = {
    "an effect that it does not name": (
        "def other(to):\n    return to",
        "def other(to):\n    return [to]",
    ),
    "an effect that is answered for": (
        "def stubbed(to):\n    return to",
        "def stubbed(to):\n    return [to]",
    ),
    "a comment": ("def post(to):\n", "def post(to):\n    # It posts.\n"),
}


def shop(tmp_path, source, monkeypatch):
    """Load the shop anew from a file, for code has an identity by its source."""
    (tmp_path / "identified_shop.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    sys.modules.pop("identified_shop", None)
    importlib.import_module("identified_shop")
    found = snapshot_identity("shop/A")
    assert repl_pair.run("shop/A").identity == found
    sys.modules.pop("identified_shop", None)
    return found


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_an_edit_of_code_that_a_run_reaches_drifts_in_the_code_alone(
    old, new, tmp_path, monkeypatch
):
    assert SHOP.count(old) == 1
    before = shop(tmp_path, SHOP, monkeypatch)
    after = shop(tmp_path, SHOP.replace(old, new), monkeypatch)
    assert before.code_hash.startswith("rc1:")
    assert before.code_hash != after.code_hash
    assert before.content_hash == after.content_hash


@pytest.mark.parametrize(("old", "new"), NO_EDITS.values(), ids=NO_EDITS)
def test_an_edit_of_code_that_no_run_reaches_does_not_drift(old, new, tmp_path, monkeypatch):
    assert SHOP.count(old) == 1
    before = shop(tmp_path, SHOP, monkeypatch)
    assert before == shop(tmp_path, SHOP.replace(old, new), monkeypatch)


def test_what_a_variant_extends_is_in_its_identity():
    entered()
    repl_pair.variant("s/B", extends="s/A", args={"deep": 1})
    before = snapshot_identity("s/B")
    repl_pair.variant("s/A", doc="Another.")
    assert snapshot_identity("s/B") == before
    seen = {before.content_hash}
    for slots in (
        {"args": {"a": 7}},
        {"events": ["x"]},
        {"tags": ["docs"]},
        {"loaders": ["lamp"]},
        {"decorators": ["first"]},
    ):
        repl_pair.variant("s/A", **slots)
        seen.add(snapshot_identity("s/B").content_hash)
    assert len(seen) == 6
    repl_pair.variant("s/A", play=[step.wait(1)])
    assert snapshot_identity("s/B") == before


def test_tags_that_are_written_in_other_ways_and_settle_to_the_same_are_one_identity():
    found = set[str]()
    for story, root, own in (
        (["docs"], ["test"], []),
        (["docs", "test"], ["docs"], ["test"]),
        ([], ["dev", "test"], ["!dev", "docs"]),
        (["dev"], ["!dev", "!test", "docs"], ["test"]),
    ):
        repl_pair.story("s", component=component, tags=story)
        repl_pair.variant("s/Root", tags=root)
        repl_pair.variant("s/A", extends="s/Root", tags=own)
        found.add(snapshot_identity("s/A").content_hash)
    assert len(found) == 1
    repl_pair.variant("s/A", extends="s/Root", tags=["!test"])
    assert snapshot_identity("s/A").content_hash not in found


class Token(Enum):
    PLUS = "plus"
    PASSWORD = "password"


KEY, END = (f"-----{word} PRIVATE KEY-----" for word in ("BEGIN", "END"))


@pytest.mark.parametrize(
    ("args", "other", "is_same"),
    [
        ({"password": "a"}, {"password": "b"}, True),
        ({"x": {"dsn": "a", "n": 1}}, {"x": {"dsn": {"host": "b"}, "n": 1}}, True),
        ({"x": [{"api_key": 1}]}, {"x": [{"api_key": 2}]}, True),
        ({"x": {f"k{n}": n for n in range(99)} | {"token": "a"}},
         {"x": {f"k{n}": n for n in range(99)} | {"token": "b"}}, True),
        ({"x": [("Authorization", "a")]}, {"x": [("Authorization", "b")]}, True),
        ({"x": {("auth", "password"): "a"}}, {"x": {("auth", "password"): "b"}}, True),
        ({"x": {"key": "password", "value": "a"}}, {"x": {"key": "password", "value": "b"}}, True),
        ({"x": ["mysql", "--password", "a"]}, {"x": ["mysql", "--password", "b"]}, True),
        ({"x": [("--token", 1, 2)]}, {"x": [("--token", 3, 2)]}, True),
        ({"x": [1.5, "--token", "a"]}, {"x": [1.5, "--token", "b"]}, True),
        ({"x": {Token.PLUS: "a"}}, {"x": {Token.PLUS: "b"}}, False),
        ({"x": {(Token.PLUS, 1): "a"}}, {"x": {(Token.PLUS, 1): "b"}}, False),
        ({"x": {Token.PASSWORD: "a"}}, {"x": {Token.PASSWORD: "b"}}, True),
        ({"x": [KEY, "a", END]}, {"x": [KEY, "b", END]}, True),
        ({"x": ["mysql", "--host", "a"]}, {"x": ["mysql", "--host", "b"]}, False),
        ({"x": {"a": "--password", "b": "c"}}, {"x": {"a": "--password", "b": "d"}}, False),
        ({"x": {"--password", "b"}}, {"x": {"--password", "c"}}, False),
        ({"x": "pg://bob:a@h/db"}, {"x": "pg://bob:b@h/db"}, True),
        ({"x": ["http://h/?n=1&token=a"]}, {"x": ["http://h/?n=1&token=b"]}, True),
        ({"x": "pg://bob:a@h/db"}, {"x": "pg://ann:a@h/db"}, False),
        ({"x": ("Your token is no good", 1)}, {"x": ("Your token is no good", 2)}, False),
        ({"x": {"name": "size", "value": 1}}, {"x": {"name": "size", "value": 2}}, False),
        ({"password": "a"}, {"password": None}, False),
        ({"x": {"password": "a"}}, {"x": {"passwords_used": "a"}}, False),
        ({"x": {"key": "a"}}, {"x": {"key": "b"}}, False),
    ],
)  # fmt: skip
def test_what_stands_under_a_secret_name_is_in_the_identity_as_a_marker_only(args, other, is_same):
    hashes = []
    for given in (args, other):
        repl_pair.story("opened", component=lambda password=None, x=None: x)
        repl_pair.variant("opened/It", args=given)
        hashes.append(snapshot_identity("opened/It").content_hash)
    assert (hashes[0] == hashes[1]) is is_same


def test_a_secret_is_in_the_identity_as_a_marker_only():
    def login(key: Annotated[str, repl_pair.Sensitive] = "", n: int = 1):
        return n

    repl_pair.story("login", component=login)
    found = []
    for key in ("pk-live-8f3a91", "pk-live-777777"):
        repl_pair.variant("login/A", args={"key": key})
        found.append(snapshot_identity("login/A").content_hash)
    assert found[0] == found[1]


class Door:
    password = ""

    def open(self, pin: Annotated[str, repl_pair.Sensitive] = "", by: str = "") -> str:
        return by

    def ask(self) -> Annotated[str, repl_pair.Sensitive]:
        return ""


@pytest.mark.parametrize(
    "make",
    [
        lambda pin: {"events": [["open", {"pin": pin}]]},
        lambda pin: {"play": [step.dispatch("open", pin=pin)]},
        lambda pin: {"play": [step.call("open", pin=pin)]},
        lambda pin: {"play": [step.set("password", pin)]},
        lambda pin: {"play": [check.path_equals("state.password", pin)]},
        lambda pin: {"play": [step.call("ask"), check.path_equals("last", pin)]},
        lambda pin: {"loaders_teardown": [["open", {"pin": pin}]]},
        lambda pin: {"decorators": [("force_fx_stub", {"effect": "pin/ask", "response": pin})]},
        lambda pin: {"decorators": [("door/set", {})], "_": pin},
    ],
    ids=["event", "dispatch", "call", "set", "expected", "last", "teardown", "response", "patch"],
)
def test_what_is_shown_as_a_secret_of_events_steps_and_effects_is_a_marker_only(make):
    def ask_pin() -> Annotated[str, repl_pair.Sensitive]:
        return ""

    found = []
    for pin in ("4711", "8253"):
        repl_pair.story("door", component=Door)
        effect.impl("pin/ask")(ask_pin)
        repl_pair.decorator("door/set", kind="frame_setup", patch={"password": pin})
        repl_pair.variant("door/It", **{k: v for k, v in make(pin).items() if k != "_"})
        found.append(snapshot_identity("door/It").content_hash)
    repl_pair.variant("door/It", events=[["open", {"by": "bob"}]])
    assert found[0] == found[1] != snapshot_identity("door/It").content_hash


PRINT = """
import linecache, repl_pair
source = {source!r}
linecache.cache["<shop>"] = (len(source), None, source.splitlines(keepends=True), "<shop>")
exec(compile(source, "<shop>", "exec"))
print(repl_pair.snapshot_identity("shop/A"))
"""


def test_the_hashes_are_equal_in_every_process():
    found = {
        subprocess.run(
            [sys.executable, "-c", PRINT.format(source=SHOP)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("1", "2", "77")
    }
    assert len(found) == 1
    assert "unknown" not in found.pop()
