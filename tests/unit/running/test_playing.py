"""Plays: which of them run, what their steps do, and what a step that fails leaves."""

import asyncio
import time
from dataclasses import dataclass

import numpy
import pytest

import repl_pair
from repl_pair import check, step
from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.registry.outcomes import StepRecord, Verdict
from repl_pair.runtime.running import effects
from repl_pair.runtime.running.playing import MAX_STATES, NOT_KEPT
from repl_pair.runtime.secrets.places import secret_args
from repl_pair.runtime.stopping.loops import PRIVATE


@pytest.fixture(autouse=True)
def private_loop_ends():
    yield
    PRIVATE.close_idle()


class Counter:
    def __init__(self):
        self.n = 0

    def add(self, by: int = 1):
        self.n += by
        return self.n

    async def add_later(self, by: int = 1):
        await asyncio.sleep(0)
        return self.add(by)

    def fail(self):
        raise ValueError(f"at {self.n}")


@pytest.fixture
def counter():
    repl_pair.story("counter", component=Counter)


def play(*steps):
    repl_pair.variant("counter/A", play=steps)
    return repl_pair.run("counter/A")


def test_each_step_is_recorded_with_the_state_after_it(counter):
    record = play(
        step.dispatch("add", by=2),
        step.set("n", 7),
        step.wait(0),
        step.call("add_later"),
        check.path_equals("last", 8),
    )
    assert (record.status, record.last) == ("pass", 8)
    assert record.steps == (
        StepRecord(play="", step=0, line=["dispatch", ["add", {"by": 2}]], state={"n": 2}),
        StepRecord(play="", step=1, line=["set", "n", 7], state={"n": 7}),
        StepRecord(play="", step=2, line=["wait", 0], state={"n": 7}),
        StepRecord(play="", step=3, line=["call", "add_later"], state={"n": 8}),
    )
    assert record.rendered_state == {"n": 0}
    assert record.events == (["add", {"by": 2}],)


def test_the_last_value_is_that_of_the_last_step(counter):
    record = play(
        check.path_equals("last.n", 0),
        step.call("add", by=3),
        check.path_equals("last", 3),
        step.set("n", 5),
        check.path_equals("last", None),
    )
    assert (record.status, record.last) == ("pass", None)


def test_a_step_that_raises_ends_the_run_with_its_place(counter):
    record = play(
        step.call("add"), step.dispatch("fail"), step.call("add"), check.length("events", 9)
    )
    assert (record.status, record.reason) == ("error", "step 1, event 'fail': ValueError: at 1")
    assert (record.total, len(record.steps), record.state) == (0, 2, {"n": 1})
    assert record.steps[1].error == "ValueError: at 1"
    (failed,) = [p for p in record.phases if p.error]
    assert (failed.phase, dict(failed.error)) == (
        "play",
        {
            "type": "ValueError",
            "message": "at 1",
            "step": 1,
            "event": "fail",
            "file": __file__,
            "line": Counter.fail.__code__.co_firstlineno + 1,
            "code": 'raise ValueError(f"at {self.n}")',
        },
    )


def test_what_a_step_raises_may_be_expected_right_after_it(counter):
    record = play(
        step.call("fail"),
        check.raises(ValueError, match="at 0"),
        check.raises("Exception"),
        step.call("add"),
        check.path_equals("state.n", 1),
    )
    assert (record.status, record.total) == ("pass", 3)


@pytest.mark.parametrize("runs", [repl_pair.run, lambda *a: asyncio.run(repl_pair.arun(*a))])
@pytest.mark.parametrize("fails_at", ["made", "step"])
def test_a_cancellation_of_the_components_own_is_an_exception_like_another(runs, fails_at):
    class Job:
        def __init__(self, at):
            if at == "made":
                raise asyncio.CancelledError

        async def stop(self):
            raise asyncio.CancelledError("by itself")

    calls = [step.call("stop")] if fails_at == "step" else []
    repl_pair.story("job", component=Job)
    repl_pair.variant("job/A", args={"at": fails_at}, play=calls)
    repl_pair.variant(
        "job/B", args={"at": fails_at}, play=[*calls, check.raises(asyncio.CancelledError)]
    )
    failed = runs("job/A")
    words = {"made": "CancelledError", "step": "step 0: CancelledError: by itself"}
    assert (failed.status, failed.reason) == ("error", words[fails_at])
    (error,) = [phase.error for phase in failed.phases if phase.error]
    assert (error["type"], failed.phases[-1].phase) == ("CancelledError", "teardown")
    assert runs("job/B").status == "pass"
    if runs is repl_pair.run:
        assert repl_pair.run_variants(story="job", modes=[]).counts["error"] == 1


def test_what_is_raised_is_not_expected_further_on(counter):
    """Else an assertion in between would count as passed though it never was asked."""
    record = play(step.call("fail"), check.path_equals("state.n", 9), check.raises(ValueError))
    assert (record.status, record.total) == ("error", 0)
    repl_pair.story("fails", component=lambda: 1 / 0)
    repl_pair.variant("fails/A", play=[check.no_warnings(), check.raises(ZeroDivisionError)])
    record = repl_pair.run("fails/A")
    assert (record.status, record.total) == ("error", 0)
    assert [p.phase for p in record.phases if p.error] == ["render"]


def test_what_was_expected_once_is_not_expected_of_a_later_step(counter):
    play_ = [
        step.call("fail"),
        check.raises(ValueError),
        step.call("add"),
        check.raises(ValueError),
    ]
    record = play(*play_)
    assert (record.status, record.reason) == ("fail", "raises: the component raised nothing")


def test_an_expectation_of_another_exception_leaves_the_run_in_error(counter):
    record = play(step.call("fail"), check.raises(KeyError), step.call("add"))
    assert (record.status, record.reason) == ("error", "step 0: ValueError: at 0")
    assert [(o.assertion, o.passed) for o in record.assertions] == [("raises", False)]
    repl_pair.story("fails", component=lambda: 1 / 0)
    repl_pair.variant("fails/A", play=[check.raises(KeyError)])
    record = repl_pair.run("fails/A")
    assert record.reason == "ZeroDivisionError: division by zero"
    (failed,) = [p.error for p in record.phases if p.error]
    assert failed["raised_in"] == "render"


def test_a_step_that_cannot_be_done_makes_the_run_cannot_run(counter):
    record = play(step.dispatch("ad", by=1), check.raises(Exception))
    assert (record.status, record.total) == ("cannot_run", 0)
    assert record.reason.startswith("Nothing handles the event 'ad'")
    assert "Nearest: add" in record.reason
    record = play(step.call("ad"))
    assert record.reason == "Counter has no public method 'ad'. Nearest: add."


def test_an_assertion_that_left_the_registry_is_a_failed_outcome(counter):
    undo = repl_pair.registry.checkpoint()
    gone = repl_pair.assertion("gone")(lambda settled: True)
    body = [step.call("add"), [gone], check.path_equals("state.n", 1)]
    repl_pair.variant("counter/Kept", play=body)
    kept = repl_pair.registry.get("variant", "counter/Kept")
    undo()
    repl_pair.story("counter", component=Counter)
    repl_pair.registry.register("variant", "counter/Kept", kept.body, origin=kept.origin)
    record = repl_pair.run("counter/Kept")
    assert record.status == "fail"
    assert [(o.assertion, o.passed) for o in record.assertions] == [
        ("gone", False),
        ("path_equals", True),
    ]
    assert "no step 'gone'" in record.assertions[0].reason


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (["dispach", ["add"]], r"no step 'dispach'\. Nearest: dispatch"),
        (["dispatch"], "dispatch: it takes one event"),
        (["dispatch", ["add"], 1], "dispatch: it takes one event"),
        (["dispatch", 1], "an event is"),
        (["dispatch", ["add", {"by": 1}], ["add"]], "dispatch: it takes one event"),
        (["wait", "long"], "wait: it takes milliseconds"),
        (["wait", -1], "wait: it takes milliseconds"),
        (["wait", float("nan")], "wait: it takes milliseconds"),
        (["wait", True], "wait: it takes milliseconds"),
        (["set", "n"], "set: it takes a path"),
        (["set", "n.", 1], "set: it takes a path"),
        (["set", [], 1], "set: it takes a path"),
        (["call"], "call: it takes a public method's name"),
        (["call", "add", 1], "call: it takes a public method's name"),
        (["call", "add", {1: 2}], "call: it takes a public method's name"),
        ([], "a step of a play is a list headed by its name"),
        ("add", "a step of a play is a list headed by its name"),
    ],
)
def test_a_step_of_the_wrong_shape_is_refused_at_registration(counter, line, fault):
    with pytest.raises(AuthoringError, match=fault):
        repl_pair.variant("counter/A", play=[line])


def named():
    repl_pair.variant(
        "counter/Named",
        plays={
            "one": [step.call("add"), check.path_equals("state.n", 1)],
            "two": [step.call("add", by=10), check.path_equals("state.n", 10)],
            "three": {"steps": [step.call("add", by=100)], "auto_run": True},
        },
    )


def test_of_several_plays_the_first_and_the_automatic_ones_run(counter):
    named()
    record = repl_pair.run("counter/Named")
    assert (record.status, record.plays, record.state) == ("pass", ("one", "three"), {"n": 101})
    assert [(s.play, s.step) for s in record.steps] == [("one", 0), ("three", 0)]
    assert [(o.play, o.step) for o in record.assertions] == [("one", 1)]


def test_plays_are_run_by_name(counter):
    named()
    record = repl_pair.run("counter/Named", plays=["two"])
    assert (record.status, record.plays, record.state) == ("pass", ("two",), {"n": 10})
    record = asyncio.run(repl_pair.arun("counter/Named", plays=["three", "one"]))
    assert (record.status, record.plays) == ("fail", ("three", "one"))
    assert record.assertions[0].play == "one"
    with pytest.raises(RequestError, match=r"no play 'tow'\. Nearest: two"):
        repl_pair.run("counter/Named", plays=["tow"])
    with pytest.raises(RequestError, match="plays is empty: name one"):
        repl_pair.run("counter/Named", plays=[])


@pytest.mark.parametrize(
    "plays", [{"": []}, {"a": "add"}, {"a": {"steps": [], "auto": True}}, {"a": 1}, [["add"]]]
)
def test_plays_of_the_wrong_shape_are_refused(counter, plays):
    with pytest.raises(AuthoringError):
        repl_pair.variant("counter/A", plays=plays)


def test_a_failure_names_its_play(counter):
    repl_pair.variant(
        "counter/Named", plays={"one": [step.call("add")], "two": [step.call("fail")]}
    )
    record = repl_pair.run("counter/Named", plays=["one", "two"])
    assert record.reason == "play 'two', step 0: ValueError: at 1"


def test_a_play_waits_wherever_the_run_is(counter):
    repl_pair.variant("counter/A", play=[step.wait(20)])
    for run in (
        lambda: repl_pair.run("counter/A"),
        lambda: asyncio.run(repl_pair.arun("counter/A")),
    ):
        began = time.perf_counter()
        assert run().status == "pass"
        assert time.perf_counter() - began >= 0.02


def test_other_tasks_of_a_run_go_on_while_a_play_waits():
    ticks = []

    class Clock:
        async def start(self):
            async def tick():
                ticks.append(1)

            self.task = asyncio.create_task(tick())

    repl_pair.story("clock", component=Clock)
    repl_pair.variant("clock/A", play=[step.call("start"), step.wait(5)])
    assert repl_pair.run("clock/A").status == "pass"
    assert ticks == [1]


def test_a_waiting_play_is_cancelled_with_its_run(counter):
    async def main():
        repl_pair.variant("counter/A", play=[step.wait(long_s * 1000)])
        run = asyncio.create_task(repl_pair.arun("counter/A"))
        await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    began, long_s = time.perf_counter(), 30
    asyncio.run(main())
    assert time.perf_counter() - began < long_s


def test_the_states_of_a_long_play_are_bounded(counter):
    record = play(*[step.call("add")] * (MAX_STATES + 2), check.path_equals("state.n", 202))
    assert record.status == "pass"
    assert record.steps[MAX_STATES - 1].state == {"n": 200}
    assert [s.state for s in record.steps[MAX_STATES:]] == [NOT_KEPT] * 2
    assert record.state == {"n": 202}


def test_an_assertion_that_gives_no_verdict_fails_and_never_raises(counter):
    class Odd:
        def __bool__(self):
            raise TypeError("ambiguous")

    repl_pair.assertion("odd")(lambda settled: Odd())
    repl_pair.assertion("leaves")(lambda settled: 1 / 0)
    repl_pair.variant("counter/A", play=[["odd"], ["leaves"], step.call("add")])
    record = repl_pair.run("counter/A")
    assert (record.status, len(record.steps)) == ("fail", 1)
    assert [o.reason for o in record.assertions] == [
        "odd raised TypeError: ambiguous",
        "leaves raised ZeroDivisionError: division by zero",
    ]


OtherVerdict = type("Verdict", (), {"__module__": Verdict.__module__})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ((False, "why"), "odd gave a tuple, no bool and no Verdict"),
        ("it is wrong", "odd gave a str, no bool and no Verdict"),
        ([False], "odd gave a list, no bool and no Verdict"),
        (1, "odd gave a int, no bool and no Verdict"),
        (OtherVerdict(), "odd gave a Verdict, no bool and no Verdict of this import of repl_pair"),
        (None, ""),
        ("", ""),
    ],
)
def test_what_is_no_bool_and_no_verdict_passes_nothing(counter, given, reason):
    repl_pair.assertion("odd")(lambda settled: given)
    record = play(["odd"])
    assert record.status == "fail"
    assert record.assertions[0].reason.startswith(reason)


@pytest.mark.parametrize("given", [True, numpy.True_, Verdict(passed=True)])
def test_a_bool_of_any_kind_and_a_verdict_pass(counter, given):
    repl_pair.assertion("even")(lambda settled: given)
    assert play(["even"]).status == "pass"


class NoItems(dict):
    def items(self):
        raise ValueError("1234")


class NoLength(list):
    def __len__(self):
        raise ValueError("1234")


class NoMembers(set):
    def __iter__(self):
        raise ValueError("1234")


@pytest.mark.parametrize("made", [NoItems(a=1), NoLength([1]), NoMembers([1])])
def test_what_cannot_be_read_fails_its_assertion_and_the_play_goes_on(made):
    repl_pair.story("odd", component=lambda: made)
    lines = [check.result_equals({"a": 1}), ["gives_it"], check.path_equals("stdout", "")]
    repl_pair.assertion("gives_it")(lambda settled: Verdict(passed=True, actual=settled.result))
    repl_pair.variant("odd/A", play=lines)
    record = repl_pair.run("odd/A")
    assert (record.status, [o.passed for o in record.assertions]) == ("fail", [False, False, True])
    assert [o.actual for o in record.assertions[:2]] == [None, None]
    assert "looked at what raises ValueError where it is read" in record.assertions[1].reason


def test_what_is_declared_secret_of_many_effects_is_asked_once_for_each(monkeypatch):
    asked = []
    monkeypatch.setattr(
        effects,
        "secret_args",
        lambda do, payload: asked.append(payload) or secret_args(do, payload),
    )
    repl_pair.effect.impl("note")(lambda n: n)
    repl_pair.story("many", component=lambda: [repl_pair.effect("note", n=n) for n in range(3)])
    repl_pair.variant("many/A", play=[check.length("result", 3)] * 4)
    assert repl_pair.run("many/A").status == "pass"
    assert asked == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_steps_act_on_a_copy_of_what_a_function_returned():
    @dataclass
    class Order:
        total: float
        lines: list

    repl_pair.story("orders.made", component=lambda: Order(1.0, [{"n": 1}]))

    @repl_pair.handler("raise-price")
    def raise_price(live):
        live.total += 1
        live.lines[0]["n"] = 9

    repl_pair.variant(
        "orders.made/Raised",
        play=[
            ["dispatch", ["raise-price", {}]],
            ["path_equals", "state.total", 2.0],
            ["path_equals", "result.total", 1.0],
            ["path_equals", "result.lines[0].n", 1],
        ],
    )
    record = repl_pair.run("orders.made/Raised")
    assert (record.status, record.total) == ("pass", 3), record.reason
