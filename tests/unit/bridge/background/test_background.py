"""Runs, queues and triggers of a session over this process, and the law of queues by hand."""

import asyncio
import threading
import time
from collections import Counter

import pytest
from bounds import BOUND_S
from hypothesis import given, settings, strategies as st
from waiting import eventually

import repl_pair
from repl_pair.bridge import manifest
from repl_pair.bridge.approval_calls import ApprovalCalls
from repl_pair.bridge.background import firing, runs as runs_module, triggers as triggers_module
from repl_pair.bridge.background.calls import PlannedCall
from repl_pair.bridge.background.runs import MAX_AT_ONCE, MAX_WAITING, Runs
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.clients import clients
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.wire import ok_reply

pytestmark = pytest.mark.anyio

POLICY = Policy(allow=frozenset({"write"}), ask=frozenset({"mutates"}))
OWN = sorted(manifest.of_toolset(manifest.MANAGE))
OF_EVAL = {op for op in OWN if manifest.by_name()[op]["access"] == "eval"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


class App:
    """An app of the person: a level, what raises it, and a call that goes on until `go`."""

    def __init__(self):
        self.go, self.begun = threading.Event(), Counter()
        surface = repl_pair.surface("app")
        self.level = surface.cell("level", int, default=0, expose=True)
        self.hidden = surface.cell("hidden", int, default=0)

        @surface.function(expose=True, mutates=False, thread_safe=True)
        def wait(name: str = "") -> str:
            self.begun[name] += 1
            # A stop that meets a thread in `Event.wait` may leave the event locked for the others.
            end = time.monotonic() + BOUND_S
            while not self.go.is_set():
                assert time.monotonic() < end
                time.sleep(0.005)
            return name

        @surface.function(expose=True, mutates=False, thread_safe=True)
        def climb() -> int:
            self.level.set(self.level.get() + 1)
            return self.level.get()

        self.climb = climb

        @surface.function(expose=True, mutates=True, thread_safe=True)
        def change() -> int:
            return self.level.get()

        @surface.function(expose=True, mutates=False, timeout_s=60, thread_safe=True)
        def long() -> str:
            return "long"

        @surface.function(mutates=False)
        def secret() -> int:
            return 1


@pytest.fixture
def app(registries):
    app = App()
    yield app
    app.go.set()


@pytest.fixture
async def open_session(app, monkeypatch):
    monkeypatch.setattr(triggers_module, "GAP_S", 0.01)
    opened = []

    def make(policy=POLICY, **slots):
        opened.append(Session.direct(policy, **slots))
        return opened[-1]

    yield make
    clients.resume()
    for session in opened:
        await session.close()


@pytest.fixture
def session(open_session):
    return open_session()


async def ask(session, op, **args):
    reply = await session.call(op, args)
    assert reply["ok"], reply
    return reply["result"]


# --- runs


class ByHand:
    """A caller whose calls end on demand; it notes their order."""

    def __init__(self):
        self.begun, self.calls = [], {}

    async def call_unattended(self, op, args, **_how):
        self.begun.append(op)
        self.calls[op] = asyncio.get_running_loop().create_future()
        try:
            return await self.calls[op]
        finally:
            del self.calls[op]


def planned(name):
    return PlannedCall(call=name, given={}, op=name, args={})


async def _settle():
    for _ in range(5):
        await asyncio.sleep(0)


ACTS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None, "end", "cancel"]), st.integers(0, 99)),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(ACTS)
def test_a_queue_runs_one_at_a_time_in_its_order_whatever_ends_or_is_cancelled(acts):
    asyncio.run(_obey(acts))


async def _obey(acts):
    caller = ByHand()
    runs, order, cancelled = Runs(caller), {}, set()
    for act, pick in acts:
        going = list(caller.calls)
        if act == "end" and going:
            caller.calls[going[pick % len(going)]].set_result(ok_reply(1))
        elif act == "cancel" and order:
            name = list(order)[pick % len(order)]
            cancelled.add(name)
            await runs.cancel(order[name])
        elif act not in ("end", "cancel"):
            name = f"{act}{len(order)}"
            call = planned(name)
            order[name] = runs.start(call) if act is None else runs.enqueue(call, act)
        await _settle()
        going = Counter(order[name].queue for name in caller.calls)
        assert all(count == 1 for queue, count in going.items() if queue is not None)
        assert going.total() <= MAX_AT_ONCE
        unended = [run for run in order.values() if run.state in ("waiting", "running")]
        for queue in {run.queue for run in unended}:
            waiting = [run for run in unended if run.queue == queue and run.state == "waiting"]
            depths = [runs.depth(run) for run in waiting]
            assert depths == sorted(set(depths))
    while caller.calls:
        next(iter(caller.calls.values())).set_result(ok_reply(1))
        await _settle()
    for queue in ("a", "b", "c", None):
        made = [name for name, run in order.items() if run.queue == queue]
        begun = [name for name in caller.begun if order[name].queue == queue]
        assert begun == [name for name in made if name in begun]
        assert set(made) - set(begun) <= cancelled
    assert {run.state for run in order.values()} <= {"ended", "cancelled"}
    await runs.close()


async def test_the_reply_of_a_run_is_that_of_the_call_itself(session):
    for call, args in (("list_surfaces", {}), ("app.climb", {}), ("get_story", {"story_id": "x"})):
        started = await session.call("trigger_void", {"call": call, "args": args})
        run = started["result"]["run"]
        assert started["next_steps"] == [next_step("read_run", run=run)]
        read = await session.call("read_run", {"run": run})
        assert await session.call("read_run", {"run": run}) == read
        op = call if "." not in call else "run_function"
        direct = await session.call(op, args if op == call else {"function": call, "args": args})
        assert read["ok"] == direct["ok"]
        assert read.get("error") == direct.get("error")
        assert read.keys() == direct.keys()
        assert read["kernel"] == direct["kernel"]


async def test_a_call_is_answered_at_once_and_its_reader_wakes_at_its_end(session, app):
    began = time.monotonic()
    run = (await ask(session, "trigger_void", call="app.wait", args={"name": "n"}))["run"]
    await eventually(lambda: app.begun["n"])
    early = await session.call("read_run", {"run": run, "wait_s": 0})
    assert early["result"] == {"state": "running", "depth": 0}
    assert early["next_steps"] == [next_step("read_run", run=run, wait_s=45)]
    reading = asyncio.create_task(session.call("read_run", {"run": run, "wait_s": 50}))
    await asyncio.sleep(0)
    app.go.set()
    assert (await reading)["result"]["value"] == "n"
    assert time.monotonic() - began < BOUND_S


async def test_a_function_that_may_take_long_has_its_own_time(session):
    run = (await ask(session, "trigger_void", call="app.long"))["run"]
    assert (await ask(session, "read_run", run=run))["value"] == "long"
    run = (await ask(session, "trigger_void", call="run_function", args={"function": "app.long"}))[
        "run"
    ]
    assert (await ask(session, "read_run", run=run))["value"] == "long"


async def test_a_queue_states_how_many_stand_before_and_others_do_not_wait_for_it(session, app):
    made = [await ask(session, "trigger_enqueue", call="app.wait") for _ in range(3)]
    assert [one["depth"] for one in made] == [0, 1, 2]
    state = await ask(session, "read_run", run=made[2]["run"], wait_s=0)
    assert state == {"state": "waiting", "depth": 2}
    other = await ask(session, "trigger_enqueue", call="app.climb", queue="other")
    assert (await ask(session, "read_run", run=other["run"]))["value"] == 1
    await ask(session, "cancel_run", run=made[1]["run"])
    assert (await ask(session, "read_run", run=made[2]["run"], wait_s=0))["depth"] == 1


async def test_what_is_over_a_bound_is_refused_and_nothing_is_kept(session, app, monkeypatch):
    first = await ask(session, "trigger_enqueue", call="app.wait")
    for _ in range(MAX_WAITING):
        await ask(session, "trigger_enqueue", call="app.wait")
    full = await session.call("trigger_enqueue", {"call": "app.wait"})
    assert full["error"]["code"] == "cannot_run"
    assert "100 runs wait in the queue 'default'" in full["error"]["message"]
    assert full["next_steps"] == [next_step("read_run", run=first["run"], wait_s=45)]
    for n in range(runs_module.MAX_QUEUES - 1):
        await ask(session, "trigger_enqueue", call="app.wait", queue=f"q{n}")
    many = await session.call("trigger_enqueue", {"call": "app.wait", "queue": "more"})
    assert "8 queues" in many["error"]["message"]
    for _ in range(runs_module.MAX_UNDER_WAY):
        await ask(session, "trigger_void", call="app.wait")
    over = await session.call("trigger_void", {"call": "app.wait"})
    assert "100 of your runs" in over["error"]["message"]
    monkeypatch.setattr(runs_module, "MAX_CHARS", 100)
    large = await session.call("trigger_enqueue", {"call": "app.wait", "queue": "q1"})
    assert "too large" in large["error"]["message"]
    assert [*session.background.runs._queues] == [
        "default",
        *(f"q{n}" for n in range(runs_module.MAX_QUEUES - 1)),
    ]
    kept = 1 + MAX_WAITING + runs_module.MAX_QUEUES - 1 + runs_module.MAX_UNDER_WAY
    assert len(session.background.runs._runs) == kept


async def test_the_runs_that_ended_last_are_kept_for_half_an_hour(session, monkeypatch):
    made = []
    for _ in range(runs_module.MAX_ENDED + 2):
        made.append((await ask(session, "trigger_void", call="list_kernels"))["run"])
        await session.call("read_run", {"run": made[-1]})
    codes = [await _code(session, run) for run in made]
    assert codes == ["not_found"] * 2 + [None] * runs_module.MAX_ENDED
    assert session.background.runs.are_kept()
    monkeypatch.setattr(runs_module, "KEPT_S", 0.0)
    assert {await _code(session, run) for run in made} == {"not_found"}
    assert not session.background.runs.are_kept()


async def test_the_last_run_of_a_trigger_is_kept_as_long_as_that(session, app, monkeypatch):
    monkeypatch.setattr(runs_module, "KEPT_S", 0.0)
    await ask(session, "register_trigger", call="list_stories", on={"changed": "app/level"})
    (trigger,) = session.background.triggers.list()
    await eventually(lambda: trigger.marks)
    app.level.set(1)
    await eventually(lambda: trigger.last and trigger.last.ended_at < time.monotonic())
    (step,) = (await session.call("list_triggers"))["next_steps"]
    assert await _code(session, step["args"]["run"]) is None


async def test_large_replies_are_kept_up_to_a_weight(session, monkeypatch):
    monkeypatch.setattr(runs_module, "KEPT_CHARS", 1)
    made = []
    for _ in range(2):
        made.append((await ask(session, "trigger_void", call="list_surfaces"))["run"])
        await eventually(lambda: session.background.runs.get(made[-1]).task.done())
    assert [await _code(session, run) for run in made] == ["not_found", None]


async def _code(session, run):
    reply = await session.call("read_run", {"run": run})
    return None if reply["ok"] else reply["error"]["code"]


async def test_another_principals_run_and_trigger_read_like_none(open_session):
    mine, other = open_session(), open_session(principal="other")
    run = (await ask(mine, "trigger_void", call="list_surfaces"))["run"]
    on = {"every_s": 60}
    trigger = (await ask(mine, "register_trigger", call="list_surfaces", on=on))["trigger"]
    for op, own, none in (
        ("read_run", {"run": run}, {"run": run[::-1]}),
        ("cancel_run", {"run": run}, {"run": run[::-1]}),
        ("unregister_trigger", {"trigger": trigger}, {"trigger": trigger[::-1]}),
    ):
        seen, unknown = await other.call(op, own), await other.call(op, none)
        for reply, args in ((seen, own), (unknown, none)):
            (id,) = args.values()
            reply["error"]["message"] = reply["error"]["message"].replace(id, "ID")
        assert seen == unknown
        assert seen["error"]["code"] == "not_found"
    assert (await ask(other, "list_triggers"))["total"] == 0


async def test_a_cancelled_run_reports_it_whether_it_waited_or_went_on(session, app):
    first = (await ask(session, "trigger_enqueue", call="app.wait", args={"name": "1"}))["run"]
    second = (await ask(session, "trigger_enqueue", call="app.wait", args={"name": "2"}))["run"]
    await eventually(lambda: app.begun["1"])
    for run in (second, first):
        assert await ask(session, "cancel_run", run=run) == {"run": run, "state": "cancelled"}
        reply = await session.call("read_run", {"run": run})
        assert reply["error"]["code"] == "cancelled"
    assert app.begun["2"] == 0
    ended = (await ask(session, "trigger_void", call="app.climb"))["run"]
    assert (await ask(session, "read_run", run=ended))["value"] == 1
    assert (await ask(session, "cancel_run", run=ended))["state"] == "ended"
    assert (await ask(session, "read_run", run=ended))["value"] == 1


# --- what may be called

REFUSED = [
    ("lst_stories", {}, "not_found", "Nearest: list_stories"),
    ("get_value", {}, "not_found", "There is no op 'get_value'"),
    ("app.clim", {}, "not_found", "Nearest: app.climb"),
    ("app.secret", {}, "not_found", "There is no function 'app.secret'"),
    ("await_members", {"watched": []}, "not_found", "There is no op"),
    ("register_tag", {"tag_id": "x", "body": {}}, "bad_arguments", "call register_tag itself"),
    ("run_op", {"op": "list_stories"}, "bad_arguments", "list_stories itself"),
    ("read_op", {"op": "list_stories"}, "bad_arguments", "list_stories itself"),
    ("list_stories", {"limit": 0}, "bad_arguments", "limit: expected 1 to 200"),
    ("list_variables", {"values": True}, "bad_arguments", "values is not an argument"),
    ("app.climb", {"far": 1}, "bad_arguments", "far is not an argument"),
    ("run_function", {"function": "app.clim"}, "not_found", "Nearest: app.climb"),
    *((op, {}, "not_found" if op in OF_EVAL else "bad_arguments", "") for op in OWN),
]


@pytest.mark.parametrize(("call", "args", "code", "words"), REFUSED)
async def test_what_may_not_be_called_is_refused_before_anything_is_kept(
    session, call, args, code, words
):
    wanted = {"call": call, "args": args}
    for op, more in (
        ("trigger_void", {}),
        ("trigger_enqueue", {}),
        ("register_trigger", {"on": {"every_s": 60}}),
    ):
        reply = await session.call(op, wanted | more)
        assert reply["error"]["code"] == code, reply
        assert words in reply["error"]["message"]
        assert reply["next_steps"], reply
    assert not session.background.runs.are_kept()
    assert session.background.triggers.list() == ()


MENDED = [
    ("list_stories", {"limi": 5}, {"limit": 5}),
    ("app.wait", {"nam": "x"}, {"name": "x"}),
    ("list_stories", {"limit": 0}, {}),
    (
        "run_function",
        {"function": "app.wait", "args": {"nam": "x"}},
        {"function": "app.wait", "args": {"name": "x"}},
    ),
]


@pytest.mark.parametrize(("call", "args", "mended"), MENDED)
async def test_a_step_of_refused_args_makes_the_same_call_in_the_background(
    session, app, call, args, mended
):
    app.go.set()
    for op, more in (
        ("trigger_void", {}),
        ("trigger_enqueue", {"queue": "q"}),
        ("register_trigger", {"on": {"every_s": 60}}),
    ):
        reply = await session.call(op, {"call": call, "args": args} | more)
        assert reply["error"]["code"] == "bad_arguments", reply
        (step,) = reply["next_steps"]
        assert step == next_step(op, call=call, args=mended, **more)
        await ask(session, step["op"], **step["args"])


@pytest.mark.parametrize("via", ["read_op", "run_op"])
async def test_a_call_by_an_op_that_forwards_is_answered_by_the_call_that_is_meant(session, via):
    given = {"op": "list_stories", "args": {"limit": 3}}
    wanted = {"call": via, "args": given, "queue": "q"}
    (step,) = (await session.call("trigger_enqueue", wanted))["next_steps"]
    assert step == next_step("trigger_enqueue", call="list_stories", args={"limit": 3}, queue="q")
    await ask(session, step["op"], **step["args"])
    (step,) = (await session.call("trigger_void", {"call": via, "args": {"op": via}}))["next_steps"]
    await ask(session, step["op"], **step["args"])


@pytest.mark.parametrize("call", ["register_tag", "read_run"])
async def test_a_call_that_lacks_arguments_is_never_a_step(session, call):
    refused = await session.call("trigger_void", {"call": call})
    assert refused["next_steps"] == [next_step("describe_op", op=call)]
    assert refused["hints"][0].startswith(f"{call}(")


@pytest.mark.parametrize("on", [{}, {"on": {"every_s": 0}}, {"on": "hourly"}, {"on": {}}])
async def test_a_trigger_that_does_not_state_when_is_answered_by_one_that_does(session, on):
    wanted = {"call": "list_stories", "args": {"limit": 3}}
    (step,) = (await session.call("register_trigger", wanted | on))["next_steps"]
    assert step == next_step("register_trigger", **wanted, on={"every_s": 60})
    await ask(session, step["op"], **step["args"])


async def test_a_member_may_be_written_as_the_uri_of_its_resource(session, app):
    on = {"changed": "surface://app/level"}
    await ask(session, "register_trigger", call="list_stories", on=on)
    (trigger,) = (await ask(session, "list_triggers"))["items"]
    assert trigger["on"] == {"changed": "app/level"}
    assert (await ask(session, "read_member", member="surface://app/level"))["value"] == 0
    await eventually(lambda: session.background.triggers.list()[0].marks)
    app.level.set(1)
    await eventually(lambda: session.background.triggers.list()[0].count)


async def test_a_gate_that_is_open_is_for_direct_calls_only(open_session):
    policy = Policy(allow=frozenset({"write", "inspect", "eval"}))
    session = open_session(policy)
    for call, args in (("get_value", {"path": "x"}), ("eval_code", {"code": "1"})):
        reply = await session.call("trigger_void", {"call": call, "args": args})
        assert f"call {call} itself" in reply["error"]["message"]
        assert reply["next_steps"] == [next_step(call, **args)]


async def test_without_the_ops_there_are_none(open_session):
    without = manifest.of_toolset(manifest.MANAGE)
    session = open_session(Policy(allow=frozenset({"write", "eval"}), without=without))
    assert without.isdisjoint(d["name"] for d in session.descriptors())
    for op in sorted(without):
        ways = ("run_op", "read_op", "describe_op")
        for call in ((op, {}), *((way, {"op": op}) for way in ways)):
            reply = await session.call(*call)
            assert reply["error"]["code"] == "not_found", call


async def test_what_fires_is_checked_again_by_the_policy_of_that_moment(session, app):
    first = (await ask(session, "trigger_enqueue", call="app.wait"))["run"]
    later = (await ask(session, "trigger_enqueue", call="app.climb"))["run"]
    await eventually(lambda: app.begun[""])
    session.policy = Policy(without=frozenset({"run_function"}), revision=1)
    app.go.set()
    assert (await session.call("read_run", {"run": first}))["ok"]
    reply = await session.call("read_run", {"run": later})
    assert reply["error"]["code"] == "not_found"
    assert app.level.get() == 0


async def test_a_kernel_whose_person_paused_agents_refuses_what_fires(session, app):
    run = (await ask(session, "trigger_enqueue", call="app.wait"))["run"]
    later = (await ask(session, "trigger_enqueue", call="app.climb"))["run"]
    on = {"changed": "app/level"}
    await ask(session, "register_trigger", call="app.climb", on=on)
    await eventually(lambda: app.begun[""])
    clients.pause()
    app.go.set()
    assert (await session.call("read_run", {"run": run}))["ok"]
    reply = await session.call("read_run", {"run": later})
    assert reply["error"]["code"] == "paused"
    assert (await session.call("trigger_void", {"call": "app.climb"}))["error"]["code"] == "paused"
    assert app.level.get() == 0


# --- the person's approval


async def test_a_run_waits_for_the_person_and_is_made_once_when_they_approve(open_session, app):
    session = open_session(approvals=ApprovalCalls(wait_s=0.0))
    run = (await ask(session, "trigger_void", call="app.change"))["run"]
    waiting = await eventually(QUEUE.pending)
    await eventually(lambda: session.background.runs.get(run).message)
    state = await ask(session, "read_run", run=run, wait_s=0)
    assert state == {
        "state": "running",
        "depth": 0,
        "message": "waiting for the person's approval",
    }
    QUEUE.answer(waiting[0].handle, "once")
    assert (await ask(session, "read_run", run=run))["value"] == 0


async def test_cancelling_a_run_withdraws_what_it_asked_for(open_session):
    session = open_session(approvals=ApprovalCalls())
    run = (await ask(session, "trigger_void", call="app.change"))["run"]
    await eventually(QUEUE.pending)
    await ask(session, "cancel_run", run=run)
    await eventually(lambda: not QUEUE.pending())


async def test_a_trigger_never_asks_the_person(open_session, app):
    session = open_session(approvals=ApprovalCalls())
    for call, args in (("app.change", {}), ("run_function", {"function": "app.change"})):
        wanted = {"call": call, "args": args, "on": {"every_s": 60}}
        reply = await session.call("register_trigger", wanted)
        assert reply["error"]["code"] == "approval_unavailable"
    on = {"changed": "app/level"}
    await ask(session, "register_trigger", call="app.climb", on=on)
    repl_pair.function("app.climb", expose=True, mutates=False, ask=True)(app.climb)
    app.level.set(5)
    (trigger,) = session.background.triggers.list()
    await eventually(lambda: trigger.last and trigger.last.task.done())
    line = (await ask(session, "list_triggers"))["items"][0]
    assert (line["runs"], line["state"], line["error"]) == (1, "ended", "approval_unavailable")
    assert QUEUE.pending() == []


# --- triggers


@pytest.mark.parametrize(
    "on",
    [
        {},
        {"every_s": 0.99},
        {"every_s": 0},
        {"every_s": -1},
        {"every_s": float("nan")},
        {"every_s": float("inf")},
        {"every_s": True},
        {"every_s": "60"},
        {"every_s": 86_401},
        {"cells": False},
        {"cells": 1},
        {"changed": 1},
        {"changed": None},
        {"never": True},
        {"every_s": 60, "cells": True},
    ],
    ids=str,
)
async def test_a_trigger_that_never_fires_or_too_often_is_refused(session, on):
    reply = await session.call("register_trigger", {"call": "list_stories", "on": on})
    assert reply["error"]["code"] == "bad_arguments"
    assert session.background.triggers.list() == ()


@pytest.mark.parametrize(
    "member", ["app/hidden", "app/nothing", "app", "cells", "repl_pair/results", "", "repl_pair/"]
)
async def test_a_member_that_is_hidden_is_refused_as_an_unknown_one(session, member):
    wanted = {"call": "list_stories", "on": {"changed": member}}
    reply = await session.call("register_trigger", wanted)
    assert reply["error"]["code"] == "not_found"
    assert reply["error"]["message"].startswith(f"There is no member {member!r}.")
    assert session.background.triggers.list() == ()


async def test_a_trigger_runs_at_each_change_and_its_last_run_can_be_read(session, app):
    on = {"changed": "app/level"}
    trigger = (await ask(session, "register_trigger", call="list_surfaces", on=on))["trigger"]
    assert await ask(session, "list_triggers") == {
        "items": [{"trigger": trigger, "call": "list_surfaces", "args": {}, "on": on, "runs": 0}],
        "total": 1,
    }
    for n in (1, 2):
        app.level.set(n)
        await eventually(lambda n=n: session.background.triggers.list()[0].count == n)
        line = (await ask(session, "list_triggers"))["items"][0]
        assert (await ask(session, "read_run", run=line["run"]))["total"] == 1
    ended = await ask(session, "unregister_trigger", trigger=trigger)
    assert ended == {"trigger": trigger, "runs": 2}
    app.level.set(3)
    assert (await ask(session, "list_triggers"))["total"] == 0
    assert await _code(session, line["run"]) == "not_found"


async def test_what_fires_a_trigger_while_it_runs_gives_one_further_run(session, app):
    on = {"changed": "app/level"}
    await ask(session, "register_trigger", call="app.wait", on=on)
    app.level.set(1)
    await eventually(lambda: app.begun[""])
    for n in range(2, 6):
        app.level.set(n)
    app.go.set()
    (trigger,) = session.background.triggers.list()
    await eventually(lambda: trigger.count == 2)
    await eventually(lambda: trigger.last.task.done())
    app.level.set(6)
    await eventually(lambda: trigger.count == 3)
    await eventually(lambda: app.begun[""] == 3)


async def test_a_trigger_that_fires_itself_stops_until_something_else_does(session, app):
    on = {"changed": "app/level"}
    await ask(session, "register_trigger", call="app.climb", on=on)
    (trigger,) = session.background.triggers.list()
    for n in (1, 2):
        app.level.set(app.level.get() + 100)
        await eventually(lambda n=n: trigger.skipped == n)
        assert trigger.count == n * triggers_module.MAX_IN_A_ROW
    line = (await ask(session, "list_triggers"))["items"][0]
    assert line["skipped"] == 2


async def test_a_trigger_of_time_has_one_run_at_a_time(session, app, monkeypatch):
    monkeypatch.setattr(firing, "MIN_S", 0.01)
    on = {"every_s": 0.01}
    await ask(session, "register_trigger", call="app.wait", on=on)
    await eventually(lambda: app.begun[""])
    await ask(session, "register_trigger", call="list_stories", on=on)
    other = session.background.triggers.list()[-1]
    await eventually(lambda: other.count == 5)
    assert app.begun[""] == 1
    app.go.set()
    await eventually(lambda: app.begun[""] >= 3)


async def test_a_trigger_whose_member_left_reports_it_and_fires_when_it_is_back(session, app):
    on = {"changed": "app/level"}
    await ask(session, "register_trigger", call="list_surfaces", on=on)
    (trigger,) = session.background.triggers.list()
    repl_pair.surface("app").cell("level", int, default=1)
    await eventually(lambda: trigger.fault == "not_found")
    assert (await ask(session, "list_triggers"))["items"][0]["fault"] == "not_found"
    count = trigger.count
    repl_pair.surface("app").cell("level", int, default=1, expose=True)
    await eventually(lambda: trigger.count > count)
    await eventually(lambda: trigger.fault == "")


async def test_the_triggers_of_a_session_are_bounded_and_end_with_it(session, app):
    on = {"every_s": 60}
    for _ in range(triggers_module.MAX_TRIGGERS):
        await ask(session, "register_trigger", call="list_stories", on=on)
    reply = await session.call("register_trigger", {"call": "list_stories", "on": on})
    assert (reply["error"]["code"], reply["next_steps"]) == (
        "cannot_run",
        [next_step("list_triggers")],
    )
    tasks = [trigger.task for trigger in session.background.triggers.list()]
    run = (await ask(session, "trigger_void", call="app.wait"))["run"]
    task = session.background.runs.get(run).task
    await session.close()
    assert all(one.cancelled() for one in (*tasks, task))


async def test_a_trigger_that_finds_no_room_fires_again(session, app, monkeypatch):
    await ask(session, "trigger_void", call="app.wait")
    monkeypatch.setattr(runs_module, "MAX_CHARS", 1)
    monkeypatch.setattr(firing, "MIN_S", 0.01)
    await ask(session, "register_trigger", call="app.climb", on={"every_s": 0.02})
    (trigger,) = session.background.triggers.list()
    await eventually(lambda: trigger.fault == "cannot_run")
    assert trigger.count == 0
    app.go.set()
    await eventually(lambda: trigger.count > 0 and trigger.fault == "")


async def test_a_change_for_which_there_was_no_room_is_not_lost(session, app, monkeypatch):
    await ask(session, "trigger_void", call="app.wait")
    monkeypatch.setattr(runs_module, "MAX_CHARS", 1)
    monkeypatch.setattr(triggers_module, "RETRY_S", 0.01)
    await ask(session, "register_trigger", call="app.climb", on={"changed": "app/level"})
    app.level.set(1)
    (trigger,) = session.background.triggers.list()
    await eventually(lambda: trigger.fault == "cannot_run")
    app.go.set()
    await eventually(lambda: trigger.count == 1)


async def test_a_trigger_that_is_registered_as_its_session_ends_is_refused(session):
    triggers = session.background.triggers
    prepared = await triggers.prepare(planned("list_stories"), {"every_s": 60})
    await session.close()
    with pytest.raises(RequestError, match="Your session has ended"):
        triggers.begin(prepared)
    assert triggers.list() == ()


async def test_a_queue_whose_last_run_has_just_ended_leaves_its_place_to_another():
    caller = ByHand()
    runs = Runs(caller)
    for n in range(runs_module.MAX_QUEUES):
        runs.enqueue(planned(f"{n}"), f"q{n}")
    await _settle()
    caller.calls["0"].set_result(ok_reply(1))
    run = next(iter(runs._runs.values()))
    while not run.task.done():
        await asyncio.sleep(0)
    assert "q0" in runs._queues  # what follows its end has not run
    assert runs.enqueue(planned("more"), "more").state == "waiting"
    with pytest.raises(RequestError, match="8 queues"):
        runs.enqueue(planned("no"), "no")
    await runs.close()


async def test_triggers_that_are_registered_at_once_are_no_more_than_others(session, app):
    args = {"call": "list_stories", "on": {"cells": True}}
    most = triggers_module.MAX_TRIGGERS
    made = [session.call("register_trigger", args) for _ in range(most + 4)]
    codes = Counter(reply.get("error", {}).get("code") for reply in await asyncio.gather(*made))
    assert codes == {None: most, "cannot_run": 4}
    assert (await ask(session, "list_triggers"))["total"] == most


async def test_the_runs_of_a_trigger_take_no_room_of_others(session, app, monkeypatch):
    monkeypatch.setattr(runs_module, "MAX_ENDED", 2)
    kept = (await ask(session, "trigger_void", call="list_stories"))["run"]
    on = {"changed": "app/level"}
    await ask(session, "register_trigger", call="app.climb", on=on)
    (trigger,) = session.background.triggers.list()
    app.level.set(50)
    await eventually(lambda: trigger.skipped)
    assert await _code(session, kept) is None
    assert len(session.background.runs._runs) <= 3


async def test_a_large_call_of_a_trigger_is_listed_by_its_size(session):
    args = {"function": "app.wait", "args": {"name": "x" * 5_000}}
    await ask(session, "register_trigger", call="run_function", args=args, on={"every_s": 60})
    line = (await ask(session, "list_triggers"))["items"][0]
    assert line["args"]["$elided"]["type"] == "dict"
