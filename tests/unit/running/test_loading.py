"""Loaders: what they make, what a failing one names, and when loading is complete."""

import asyncio
from typing import Annotated

import pytest

import repl_pair
from repl_pair import Sensitive, check, ref
from repl_pair.errors import AuthoringError
from repl_pair.runtime.running.loading import finish, finish_async
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.stopping.loops import PRIVATE


@pytest.fixture(autouse=True)
def private_loop_ends():
    yield
    PRIVATE.close_idle()


@pytest.fixture
def calls():
    return []


@pytest.fixture
def show():
    repl_pair.story("show", component=lambda **given: given)


def error_of(record, phase):
    return next(dict(p.error) for p in record.phases if p.phase == phase)


def test_each_ref_is_a_call_of_its_own(show, calls):
    @repl_pair.loader("fresh")
    def fresh(n=0):
        calls.append(n)
        return [len(calls)]

    same = ref("fresh", n=1)
    repl_pair.variant("show/A", args={"a": same, "b": {"c": [same]}, "d": ref("fresh", n=2)})
    record = repl_pair.run("show/A")
    assert record.result == {"a": [1], "b": {"c": [[2]]}, "d": [3]}
    assert calls == [1, 1, 2]


def test_two_equal_refs_in_one_arg_get_a_value_each(show, calls):
    @repl_pair.loader("fresh")
    def fresh():
        calls.append(1)
        return [len(calls)]

    repl_pair.variant("show/A", args={"pair": [ref("fresh"), ref("fresh")]})
    assert repl_pair.run("show/A").result == {"pair": [[1], [2]]}
    one = ref("fresh")
    repl_pair.variant("show/B", args={"pair": [one, one]})
    assert len(repl_pair.run("show/B").result["pair"]) == 2


def test_refs_stand_in_events_too_and_are_loaded_when_their_event_comes(show, calls):
    @repl_pair.loader("late")
    def late():
        calls.append("loaded")
        yield 1
        calls.append("cleaned")

    @repl_pair.handler("take")
    def take(state, value):
        calls.append(value)

    repl_pair.variant(
        "show/A",
        events=[["take", {"value": 0}], ["take", {"value": ref("late")}]],
        play=[["dispatch", ["take", {"value": ref("late")}]]],
    )
    record = repl_pair.run("show/A")
    assert record.status == "pass", record.reason
    assert calls == [0, "loaded", 1, "loaded", 1, "cleaned", "cleaned"]


@pytest.mark.parametrize("kind", ["plain", "async", "generator", "async generator"])
def test_a_loader_that_raises_stops_the_run_and_is_named(show, kind, calls):
    def plain():
        raise OSError("gone")

    async def later():
        raise OSError("gone")

    def generator():
        raise OSError("gone")
        yield

    async def later_generator():
        raise OSError("gone")
        yield

    made = dict(
        zip(
            ["plain", "async", "generator", "async generator"],
            [plain, later, generator, later_generator],
            strict=True,
        )
    )
    fn = made[kind]
    repl_pair.loader("db")(fn)
    repl_pair.variant("show/A", args={"a": ref("db")}, play=[check.path_equals("result", {})])
    record = repl_pair.run("show/A")
    assert (record.status, record.reason) == ("error", "loader 'db': OSError: gone")
    assert (record.total, record.result) == (0, None)
    assert [p.phase for p in record.phases] == ["setup", "load", "teardown"]
    assert error_of(record, "load") == {
        "type": "OSError",
        "message": "gone",
        "loader": "db",
        "file": __file__,
        "line": fn.__code__.co_firstlineno + 1,
        "code": 'raise OSError("gone")',
    }


def test_a_loader_that_yields_nothing_cannot_run(show):
    @repl_pair.loader("none")
    def none():
        return
        yield

    @repl_pair.loader("later")
    async def later():
        return
        yield

    for name in ("none", "later"):
        repl_pair.variant("show/A", args={"a": ref(name)})
        record = repl_pair.run("show/A")
        assert record.status == "cannot_run"
        assert record.reason == f"Loader '{name}' yielded nothing; it yields once, then cleans up."


def test_loading_is_complete_when_the_effects_came(show):
    @repl_pair.effect.impl("orders/loaded")
    def loaded():
        return None

    @repl_pair.loader("orders")
    def orders():
        repl_pair.effect("orders/loaded")
        return [1]

    body = {"args": {"a": ref("orders")}}
    repl_pair.variant("show/A", **body, loaders_complete_when=["orders/loaded"])
    assert repl_pair.run("show/A").status == "pass"
    repl_pair.variant("show/B", **body, loaders_complete_when=["orders/loaded", "users/loaded"])
    record = repl_pair.run("show/B")
    assert (record.status, record.result) == ("cannot_run", None)
    assert record.reason == (
        "Loading is not complete: users/loaded did not come; there came orders/loaded."
    )
    repl_pair.variant("show/C", loaders_complete_when=["users/loaded"])
    assert repl_pair.run("show/C").reason.endswith("users/loaded did not come; no effect came.")


def test_what_loading_waits_for_are_effects_and_no_events_which_come_later(show):
    repl_pair.handler("ready")(lambda live: None)
    repl_pair.decorator("setup", kind="frame_setup", init=["ready"])
    body = {"events": ["ready"], "decorators": ["setup"], "loaders_complete_when": ["ready"]}
    repl_pair.variant("show/A", **body)
    record = repl_pair.run("show/A")
    assert (record.status, record.events, record.phases[-2].phase) == ("cannot_run", (), "load")
    assert record.reason == "Loading is not complete: ready did not come; no effect came."


def test_loading_is_complete_when_a_derived_function_reports_it(show):
    @repl_pair.derived("any")
    async def has_any(state):
        await asyncio.sleep(0)
        return bool(state["rows"])

    @repl_pair.derived("broken")
    def broken(state):
        return state["nothing"]

    repl_pair.variant("show/A", args={"rows": [1]}, loaders_complete_when="any")
    assert repl_pair.run("show/A").status == "pass"
    record = repl_pair.run("show/A", overrides={"rows": []})
    assert (record.status, record.reason) == (
        "cannot_run",
        "Loading is not complete: any is not true.",
    )
    repl_pair.variant("show/B", loaders_complete_when="broken")
    record = repl_pair.run("show/B")
    assert (record.status, record.reason) == ("error", "derived 'broken': KeyError: 'nothing'")


def test_a_derived_function_of_a_class_sees_the_instance():
    class Pool:
        def __init__(self):
            self.open = True

    repl_pair.derived("open")(lambda pool: pool.open)
    repl_pair.story("pool", component=Pool)
    repl_pair.variant("pool/A", loaders_complete_when="open")
    assert repl_pair.run("pool/A").status == "pass"


def test_a_condition_that_is_not_registered_is_refused_with_the_nearest(show):
    repl_pair.derived("ready")(bool)
    with pytest.raises(AuthoringError, match=r"no derived 'redy'\. Nearest: ready"):
        repl_pair.variant("show/A", loaders_complete_when="redy")


def test_what_left_the_registry_cannot_run(show):
    undo = repl_pair.registry.checkpoint()
    repl_pair.loader("db")(lambda: 1)
    repl_pair.derived("ready")(bool)
    repl_pair.variant("show/A", loaders=["db"])
    repl_pair.variant("show/B", loaders_complete_when="ready")
    kept = [repl_pair.registry.get("variant", id) for id in ("show/A", "show/B")]
    undo()
    repl_pair.story("show", component=lambda **given: given)
    for entry in kept:
        repl_pair.registry.register("variant", entry.id, entry.body, origin=entry.origin)
    reasons = [repl_pair.run(entry.id) for entry in kept]
    assert [r.status for r in reasons] == ["cannot_run"] * 2
    assert ["loader 'db'" in reasons[0].reason, "derived 'ready'" in reasons[1].reason] == [
        True
    ] * 2


@pytest.mark.parametrize("slot", ["args", "events"])
def test_what_a_loader_states_is_secret_is_learned_and_its_place_marked(slot):
    @repl_pair.loader("sworn")
    def sworn() -> Annotated[str, Sensitive]:
        return f"Kq-{slot}-zzpp-73"

    @repl_pair.handler("take")
    def take(state, user):
        pass

    repl_pair.story("show", component=lambda user="ann": f"hi {user}")
    given = {"user": ref("sworn")}
    body = {"args": given} if slot == "args" else {"events": [["take", given]]}
    repl_pair.variant("show/A", **body)
    record = repl_pair.run("show/A")
    place = ("effective_args", "user") if slot == "args" else ("events", "0", "1", "user")
    assert place in record.sensitive
    assert NEEDLES.scrub(f"x Kq-{slot}-zzpp-73") == ("x [redacted]", 1)


def test_what_is_loaded_into_a_secret_place_is_learned():
    repl_pair.loader("vault")(lambda: "Kq-883-zzpp-74")

    def enter(pin: Annotated[str, Sensitive]):
        return f"hi {pin}"

    repl_pair.story("enter", component=enter)
    repl_pair.variant("enter/A", args={"pin": ref("vault")})
    assert repl_pair.run("enter/A").result == "hi Kq-883-zzpp-74"
    assert NEEDLES.scrub("hi Kq-883-zzpp-74") == ("hi [redacted]", 1)


def test_a_loader_that_yields_twice_has_cleaned_up_when_its_run_is_refused(show):
    cleaned = []

    @repl_pair.loader("twice")
    def twice():
        try:
            yield 1
            yield 2
        finally:
            cleaned.append("twice")

    @repl_pair.loader("later")
    async def later():
        try:
            yield 1
            yield 2
        finally:
            cleaned.append("later")

    for name in ("twice", "later"):
        repl_pair.variant("show/A", args={"a": ref(name)})
        record = repl_pair.run("show/A")
        assert (record.status, cleaned[-1:]) == ("cannot_run", [name])


def test_what_never_began_is_not_begun_by_its_end():
    began = []

    def loader(a, b, c):
        began.append(loader)
        yield lambda: (a, b, c, began)

    async def later(a, b, c):
        began.append(later)
        yield lambda: (a, b, c, began)

    finish(loader(1, 2, 3), "a loader")
    asyncio.run(finish_async(later(1, 2, 3), "a loader"))
    assert began == []
