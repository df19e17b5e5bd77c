"""The phases of a run: what each does, what a failure in it names, and what teardown leaves."""

import asyncio
import sys
from contextlib import asynccontextmanager, contextmanager
from unittest.mock import Mock

import dask.bag
import pytest
from hypothesis import given, strategies as st

import repl_pair
from repl_pair import check, step
from repl_pair.runtime.capture.bundles import LIMIT_LOOKED_AT, leaving_of
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.running.frame import MAX_ITEMS, Frame
from repl_pair.runtime.running.loading import begin, finish, finish_async
from repl_pair.runtime.running.phases import tear_down
from repl_pair.runtime.stopping.loops import PRIVATE, drive, on_private_loop
from repl_pair.runtime.stopping.stop import RunStopped, Stop

WALKED = ["setup", "load", "events", "render", "play", "teardown"]


@pytest.fixture(autouse=True)
def private_loop_ends():
    yield
    PRIVATE.close_idle()


@pytest.fixture
def text():
    return []


def line_of(function, offset=0):
    return function.__code__.co_firstlineno + offset


def errors_of(record):
    return {p.phase: dict(p.error) for p in record.phases if p.error}


def phases_of(record):
    return [p.phase for p in record.phases]


class Cart:
    """A cart."""

    def __init__(self, limit: int = 3):
        self.limit = limit
        self.items: list[str] = []

    def add(self, sku: str):
        if len(self.items) == self.limit:
            raise OverflowError(f"no room for {sku}")
        self.items.append(sku)
        return len(self.items)

    async def add_later(self, sku: str):
        await asyncio.sleep(0)
        return self.add(sku)

    def each(self):
        yield from self.items

    async def each_later(self):
        for sku in self.items:
            yield sku

    def _repr_html_(self):
        return f"<b>{len(self.items)} items</b>"


@pytest.fixture
def cart():
    repl_pair.story("cart", component=Cart)


def test_a_class_is_constructed_events_go_to_it_and_it_is_shown(cart):
    repl_pair.variant(
        "cart/Two",
        events=[["add", {"sku": "a"}], ["add_later", {"sku": "b"}]],
        play=[check.path_equals("result.items", ["a", "b"]), check.path_equals("last", 2)],
    )
    record = repl_pair.run("cart/Two")
    assert (record.status, phases_of(record)) == ("pass", WALKED)
    assert isinstance(record.result, Cart)
    assert record.outputs == ({"text/html": "<b>2 items</b>"},)
    assert record.state == {"limit": 3, "items": ["a", "b"]}
    assert record.events == (["add", {"sku": "a"}], ["add_later", {"sku": "b"}])
    assert all(p.elapsed_ms >= 0 for p in record.phases)


def test_a_class_that_refuses_to_be_constructed_fails_in_load_with_its_line(cart):
    def refuse(self):
        raise ValueError("not today")

    repl_pair.story("shut", component=type("Shut", (), {"__init__": refuse}))
    repl_pair.variant("shut/A", events=["never"])
    record = repl_pair.run("shut/A")
    assert (record.status, record.reason) == ("error", "ValueError: not today")
    assert errors_of(record) == {
        "load": {
            "type": "ValueError",
            "message": "not today",
            "file": __file__,
            "line": line_of(refuse, 1),
            "code": 'raise ValueError("not today")',
        }
    }
    assert phases_of(record) == ["setup", "load", "teardown"]
    assert record.state is None


def test_what_a_constructor_raises_may_be_expected(cart):
    def refuse(self):
        raise ValueError("not today")

    repl_pair.story("shut", component=type("Shut", (), {"__init__": refuse}))
    expected = check.raises(ValueError, match="today")
    repl_pair.variant("shut/A", events=["never"], play=[expected], loaders_complete_when=["x"])
    record = repl_pair.run("shut/A")
    assert (record.status, record.total, record.events) == ("pass", 1, ())


def test_before_render_the_events_of_a_function_change_its_args():
    @repl_pair.handler("more")
    def more(args, by):
        args["n"] += by

    repl_pair.story("double", component=lambda n=1: {"n": n * 2})
    repl_pair.variant(
        "double/A",
        args={"n": 1},
        events=[["more", {"by": 2}]],
        play=[step.dispatch("more", by=10), check.path_equals("state.n", 16)],
    )
    record = repl_pair.run("double/A")
    assert (record.status, record.result) == ("pass", {"n": 6})


def test_the_result_of_a_function_does_not_change_while_steps_change_the_state():
    returned = []

    def build():
        returned.append({"lines": [{"n": 1}], "note": ""})
        return returned[-1]

    repl_pair.story("build", component=build)
    repl_pair.variant(
        "build/A",
        play=[
            step.set("lines[0].n", 5),
            step.set("new", True),
            check.path_equals("result.lines[0].n", 1),
            check.path_equals("state", {"lines": [{"n": 5}], "note": "", "new": True}),
        ],
    )
    record = repl_pair.run("build/A")
    assert record.status == "pass", record.reason
    assert record.result is returned[0]
    assert record.result == {"lines": [{"n": 1}], "note": ""}
    assert record.state == {"lines": [{"n": 5}], "note": "", "new": True}
    assert record.rendered_state == {"lines": [{"n": 1}], "note": ""}


def test_a_render_that_fails_names_the_line_of_the_persons_code_and_not_the_librarys():
    def load():
        import json

        return json.loads("{")

    repl_pair.story("loads", component=load)
    repl_pair.variant("loads/A")
    record = repl_pair.run("loads/A")
    found = errors_of(record)["render"]
    assert (found["type"], found["file"], found["line"]) == (
        "JSONDecodeError",
        __file__,
        line_of(load, 3),
    )


def test_a_record_states_where_its_variant_was_registered():
    repl_pair.story("one", component=lambda: 1)
    repl_pair.variant("one/A", play=[check.path_equals("result", 2)])
    record = repl_pair.run("one/A")
    here = test_a_record_states_where_its_variant_was_registered
    assert record.status == "fail"
    assert record.registered == {"where": __name__, "line": line_of(here, 2)}


def test_an_event_that_fails_is_named_with_its_line(cart):
    repl_pair.variant("cart/Full", args={"limit": 0}, events=[["add", {"sku": "a"}]])
    record = repl_pair.run("cart/Full")
    assert (record.status, record.reason) == (
        "error",
        "event 'add': OverflowError: no room for a",
    )
    assert errors_of(record) == {
        "events": {
            "type": "OverflowError",
            "message": "no room for a",
            "event": "add",
            "file": __file__,
            "line": line_of(Cart.add, 2),
            "code": 'raise OverflowError(f"no room for {sku}")',
        }
    }


def test_a_component_that_raises_stop_iteration_is_reported_as_that():
    def stop():
        raise StopIteration("done")

    repl_pair.story("stop", component=stop)
    repl_pair.variant("stop/Plain")
    repl_pair.variant("stop/Expected", play=[check.raises("StopIteration", match="done")])
    assert repl_pair.run("stop/Plain").reason == "StopIteration: done"
    assert repl_pair.run("stop/Expected").status == "pass"


def test_what_is_raised_from_a_stop_iteration_is_reported_as_itself():
    def stop():
        raise RuntimeError("no rows in table") from StopIteration("done")

    repl_pair.story("stop", component=stop)
    repl_pair.variant("stop/A")
    assert repl_pair.run("stop/A").reason == "RuntimeError: no rows in table"


class Halt(BaseException):
    def __str__(self):
        raise SystemExit


@pytest.mark.parametrize("error", [Halt(), BaseExceptionGroup("all", [Halt()])])
@pytest.mark.parametrize("at", ["made", "step"])
def test_what_is_no_exception_but_raised_may_be_expected_too(at, error):
    class Job:
        def __init__(self):
            if at == "made":
                raise error

        def go(self):
            raise error

    repl_pair.story("job", component=Job)
    play = [step.call("go")] if at == "step" else []
    repl_pair.variant("job/A", play=[*play, check.raises(type(error).__name__)])
    assert repl_pair.run("job/A").status == "pass"


def test_what_raised_is_recorded_also_where_its_text_cannot_be_read():
    def halt():
        raise Halt

    repl_pair.story("job", component=halt)
    repl_pair.variant("job/A")
    assert repl_pair.run("job/A").reason == "Halt: <unreadable>"


def test_a_class_whose_instances_are_awaited_is_what_that_gives():
    class Client:
        async def connect(self):
            await asyncio.sleep(0)
            self.open = True
            return self

        def __await__(self):
            return self.connect().__await__()

    repl_pair.story("client", component=Client)
    repl_pair.variant("client/A", play=[check.path_equals("result.open", True)])
    assert repl_pair.run("client/A").status == "pass"


def test_a_collection_of_dask_is_not_awaited(monkeypatch):
    bag = dask.bag.from_sequence([1])
    monkeypatch.setitem(sys.modules, "distributed", None)
    repl_pair.story("bag", component=lambda: bag)
    repl_pair.variant("bag/A", play=[check.path_equals("result.npartitions", 1)])
    assert repl_pair.run("bag/A").reason == ""


def test_generators_are_read_to_their_end(cart):
    def count():
        yield from range(3)

    async def count_later():
        for n in range(3):
            await asyncio.sleep(0)
            yield n

    for name, component in (("now", count), ("later", count_later)):
        repl_pair.story(name, component=component)
        repl_pair.variant(f"{name}/A", play=[check.path_equals("result", [0, 1, 2])])
        assert repl_pair.run(f"{name}/A").status == "pass"
        assert asyncio.run(repl_pair.arun(f"{name}/A")).status == "pass"
    adds = [["add", {"sku": "a"}]]
    repl_pair.variant(
        "cart/Each",
        events=adds,
        play=[
            step.call("each"),
            check.path_equals("last", ["a"]),
            step.dispatch("each_later"),
            check.path_equals("last", ["a"]),
        ],
    )
    assert repl_pair.run("cart/Each").status == "pass"


def test_a_generator_without_end_cannot_run(monkeypatch):
    monkeypatch.setattr("repl_pair.runtime.running.frame.MAX_ITEMS", 10)
    closed = []

    def forever():
        try:
            while True:
                yield 1
        finally:
            closed.append("now")

    async def forever_later():
        try:
            while True:
                yield 1
        finally:
            closed.append("later")

    assert MAX_ITEMS > 10
    for component in (forever, forever_later):
        repl_pair.story("endless", component=component)
        repl_pair.variant("endless/A")
        record = repl_pair.run("endless/A")
        assert (record.status, record.reason[:30]) == (
            "cannot_run",
            "A generator gave over 10 items",
        )
    assert closed == ["now", "later"]


def test_rich_values_of_a_class_and_its_fields_are_shown_once(cart):
    repl_pair.variant("cart/Shown", play=[step.call("add", sku="a")])
    assert repl_pair.run("cart/Shown").outputs == ({"text/html": "<b>0 items</b>"},)


@pytest.mark.parametrize("hashed", [{}, {"__hash__": type.__hash__}], ids=["no hash", "a hash"])
def test_the_class_of_a_result_is_not_compared_by_code_of_its_metaclass(hashed):
    equals = Mock(side_effect=RuntimeError("asked"))
    meta = type("Meta", (type,), {"__eq__": equals, "__hash__": None, **hashed})
    odd = meta("Odd", (), {"_repr_html_": lambda self: "<b>odd</b>"})()
    kept = meta("OddDict", (dict,), {})(a=odd)
    for name, result in (("one", odd), ("several", [odd]), ("named", {"a": odd}), ("kept", kept)):
        repl_pair.story(name, component=lambda result=result: result)
        repl_pair.variant(f"{name}/A")
        record = repl_pair.run(f"{name}/A")
        assert (record.status, record.reason) == ("pass", "")
        assert [leaving_of(each)["text/html"] for each in record.outputs] == ["<b>odd</b>"]
    equals.assert_not_called()


def test_of_a_large_result_the_first_parts_are_looked_at_for_what_is_rich():
    asked = []

    class Rich:
        def _repr_html_(self):
            asked.append(self)
            return "<b>rich</b>"

    plain = [None] * (LIMIT_LOOKED_AT - 1)
    repl_pair.story("large", component=lambda: [*plain, Rich(), Rich()])
    repl_pair.variant("large/It")
    record = repl_pair.run("large/It")
    assert record.outputs == ({"text/html": "<b>rich</b>"},)
    assert len(asked) == 1


def test_a_story_projects_the_state_of_what_its_component_returned():
    repl_pair.story("shop", component=lambda n=2: {"n": n}, state=lambda shop: {"twice": shop["n"]})
    repl_pair.derived("ready")(lambda state: state["n"] == 2)
    repl_pair.variant("shop/A", loaders_complete_when="ready", play=[check.path_equals("state", 0)])
    record = repl_pair.run("shop/A", overrides={"n": 2})
    assert record.state == {"twice": 2}
    assert record.reason == "path_equals: state: expected 0, got {'twice': 2}"


def test_a_projection_that_raises_fails_the_assertions_and_not_the_run():
    repl_pair.story("shop", component=lambda: {}, state=lambda shop: shop["n"])
    repl_pair.variant("shop/Asked", play=[step.wait(0), check.path_equals("result", {})])
    repl_pair.variant("shop/Unasked", play=[step.wait(0)])
    record = repl_pair.run("shop/Asked")
    assert (record.status, record.total) == ("fail", 1)
    assert "KeyError: 'n'" in record.reason
    record = repl_pair.run("shop/Unasked")
    assert (record.status, record.state) == ("pass", "<unreadable: KeyError: 'n'>")
    assert record.steps[0].state == "<unreadable: KeyError: 'n'>"


def register_teardown(text, cleans=lambda name: None):
    """Register a variant of which each part says when it is undone."""

    @repl_pair.loader("first")
    def first():
        yield 1
        text.append("first loader")
        cleans("first loader")

    @repl_pair.loader("second")
    async def second():
        yield 2
        await asyncio.sleep(0)
        text.append("second loader")
        cleans("second loader")

    @repl_pair.decorator("outer")
    def outer():
        yield
        text.append("outer")
        cleans("outer")

    @repl_pair.decorator("inner")
    @asynccontextmanager
    async def inner():
        try:
            yield
        finally:
            text.append("inner")

    @repl_pair.handler("say")
    def say(state, word):
        text.append(word)
        cleans(word)

    repl_pair.decorator(
        "setup",
        kind="frame_setup",
        init=[["say", {"word": "init"}]],
        teardown=[["say", {"word": "end"}]],
    )
    repl_pair.story("torn", component=lambda a=0, b=0: text.append("render"), decorators=["outer"])
    repl_pair.variant(
        "torn/A",
        args={"a": repl_pair.ref("first"), "b": repl_pair.ref("second")},
        decorators=["inner", "setup"],
        loaders_teardown=[["say", {"word": "close"}], ["say", {"word": "closed"}]],
    )


UNDONE = ["close", "closed", "end", "second loader", "first loader", "inner", "outer"]


def test_teardown_undoes_everything_once_in_reverse(text):
    register_teardown(text)
    assert repl_pair.run("torn/A").status == "pass"
    assert text == ["init", "render", *UNDONE]
    text.clear()
    assert asyncio.run(repl_pair.arun("torn/A")).status == "pass"
    assert text == ["init", "render", *UNDONE]


@pytest.mark.parametrize("broken", UNDONE[:5])
def test_what_fails_at_teardown_stops_no_other_undo_and_is_the_reason(text, broken):
    def cleans(name):
        if name == broken:
            raise OSError(f"{name} is broken")

    register_teardown(text, cleans)
    record = repl_pair.run("torn/A")
    assert text == ["init", "render", *UNDONE]
    assert record.status == "error"
    who = f"{broken.split()[1]} {broken.split()[0]!r}" if " " in broken else "event 'say'"
    assert record.reason == f"{who}: OSError: {broken} is broken"
    assert errors_of(record)["teardown"]["message"] == f"{broken} is broken"


def test_teardown_never_hides_what_failed_first(text):
    def cleans(name):
        raise OSError(name)

    def fail():
        raise KeyError("first")

    register_teardown(text, cleans)
    repl_pair.story("torn", component=fail, decorators=["outer"])
    repl_pair.variant("torn/Error", loaders=["first"])
    record = repl_pair.run("torn/Error")
    assert (record.status, record.reason) == ("error", "KeyError: 'first'")
    assert errors_of(record).keys() == {"render", "teardown"}
    repl_pair.story("torn", component=lambda: 1, decorators=["outer"])
    repl_pair.variant("torn/Fails", play=[check.path_equals("result", 2)])
    record = repl_pair.run("torn/Fails")
    assert (record.status, record.reason) == ("fail", "path_equals: result: expected 2, got 1")
    assert errors_of(record).keys() == {"teardown"}


def test_what_was_loaded_is_torn_down_when_a_later_loader_fails(text):
    register_teardown(text)

    @repl_pair.loader("broken")
    def broken():
        raise OSError("gone")

    repl_pair.variant("torn/B", extends="torn/A", loaders=["first", "broken"])
    record = repl_pair.run("torn/B")
    assert (record.status, record.reason) == ("error", "loader 'broken': OSError: gone")
    assert text == ["close", "closed", "first loader", "inner", "outer"]


def test_a_context_manager_is_reported_of_the_failure_and_cannot_take_it_back(text):
    class Transaction:
        def __enter__(self):
            return self

        def __exit__(self, cls, error, trace):
            text.append(error)
            return True

    def fail():
        raise ValueError("no")

    repl_pair.decorator("transaction")(Transaction)
    repl_pair.story("work", component=fail, decorators=["transaction"])
    repl_pair.variant("work/A")
    assert repl_pair.run("work/A").reason == "ValueError: no"
    assert str(text.pop()) == "no"
    repl_pair.story("work", component=lambda: 1, decorators=["transaction"])
    repl_pair.variant("work/A")
    assert repl_pair.run("work/A").status == "pass"
    assert text == [None]


def test_wraps_may_be_asynchronous(text):
    @repl_pair.decorator("around")
    async def around(name="x"):
        await asyncio.sleep(0)
        text.append(f"{name} in")
        yield
        await asyncio.sleep(0)
        text.append(f"{name} out")

    @repl_pair.decorator("doubled")
    async def doubled(component):
        await asyncio.sleep(0)
        return lambda: component() * 2

    repl_pair.story("one", component=lambda: 1)
    repl_pair.variant("one/A", decorators=[["around", {"name": "a"}], "doubled"])
    record = repl_pair.run("one/A")
    assert (record.status, record.result, text) == ("pass", 2, ["a in", "a out"])


def test_a_decorator_that_fails_is_named():
    @repl_pair.decorator("bad")
    @contextmanager
    def bad():
        raise OSError("no")
        yield

    @repl_pair.decorator("twice")
    def twice():
        yield
        yield

    repl_pair.story("one", component=lambda: 1)
    repl_pair.variant("one/Bad", decorators=["bad"])
    repl_pair.variant("one/Twice", decorators=["twice"])
    assert repl_pair.run("one/Bad").reason == "decorator 'bad': OSError: no"
    record = repl_pair.run("one/Twice")
    assert (record.status, record.reason[:34]) == (
        "cannot_run",
        "Decorator 'twice' yielded twice; i",
    )


def a_frame():
    repl_pair.story("one", component=lambda: 1)
    repl_pair.variant("one/A")
    return Frame(plan=plan_variant("one/A"), wait_for=on_private_loop, captured=Captured())


def test_an_undo_that_a_stop_kept_from_beginning_is_begun_again(text):
    """A stop may come at the first step of any function."""
    frame = a_frame()
    stops = [RunStopped(Stop("error", "stopped"))]

    def undo():
        if stops:
            raise stops.pop()
        text.append("undone")

    frame.undo = [lambda: text.append("first"), undo]
    with pytest.raises(RunStopped):
        drive(tear_down(frame))
    assert (text, frame.undo) == (["undone", "first"], [])


def test_an_undo_that_a_stop_cut_short_is_not_done_twice(text):
    frame = a_frame()

    def loads():
        yield 1
        text.append("begun")
        raise RunStopped(Stop("error", "stopped"))

    async def load():
        await begin(frame, loads(), "Loader")

    drive(load())
    with pytest.raises(RunStopped):
        drive(tear_down(frame))
    assert text == ["begun"]


def test_a_generator_that_never_began_is_not_begun_by_teardown(text):
    """A stop may come between the note of the undo and the begin."""

    def loads():
        text.append("begun")
        yield 1

    async def loads_later():
        text.append("begun")
        yield 1

    finish(never := loads(), "Loader")
    drive(finish_async(later := loads_later(), "Loader"))
    assert text == []
    never.close()
    drive(later.aclose())


@given(st.lists(st.sampled_from(["ends", "fails", "stopped before", "stopped after"]), max_size=6))
def test_whatever_meets_teardown_each_undo_is_done_once_and_in_reverse(fates):
    done = []

    def undo_of(index, fate):
        left = [fate]

        def undo():
            if left == ["stopped before"]:
                left[0] = "ends"
                raise RunStopped(Stop("error", "stopped"))
            if not left:
                return
            done.append(index)
            if (met := left.pop()) == "fails":
                raise OSError(index)
            if met == "stopped after":
                raise RunStopped(Stop("error", "stopped"))

        return undo

    frame = Frame(plan=a_frame().plan, wait_for=on_private_loop, captured=Captured())
    frame.undo = [undo_of(index, fate) for index, fate in enumerate(fates)]
    error = None
    try:
        drive(tear_down(frame))
    except (OSError, RunStopped) as raised:
        error = raised
    assert (done, frame.undo) == ([*reversed(range(len(fates)))], [])
    stopped = any(fate.startswith("stopped") for fate in fates)
    assert isinstance(error, RunStopped) == stopped
    if not stopped:
        failing = [index for index, fate in enumerate(fates) if fate == "fails"]
        assert (error is None and not failing) or error.args == (failing[-1],)
