"""The ops about what runs in the background: calls nobody waits for, queues of them, triggers."""

import json
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from repl_pair.bridge import manifest
from repl_pair.bridge.background.calls import PlannedCall, plan_call
from repl_pair.bridge.background.firing import EVERY_MINUTE, ON, On, parse_on
from repl_pair.bridge.background.runs import Run, State
from repl_pair.bridge.background.triggers import Trigger
from repl_pair.bridge.ops.table import TABLE, BridgeCall, ForwardedReply, WhichOrChosen
from repl_pair.errors import STEP_S, RequestError, next_step
from repl_pair.runtime.op_base.answers import Items
from repl_pair.runtime.op_base.table import MAX_WAIT_S
from repl_pair.runtime.signatures.arguments import Bounds, Example, Longest
from repl_pair.wire import ELIDED, Args

Callee = Annotated[str, "An op that reads or runs, or a function such as orders.place"]
CallArgs = Annotated[dict[str, Any] | None, "Its arguments"]
RunId = Annotated[str, "From trigger_void or trigger_enqueue"]
SHOWN_CHARS = 1_000
"""Of the args of one trigger in a list; larger ones are elided."""


class StartedRun(TypedDict):
    """A run; read_run has its reply."""

    run: str


class QueuedRun(StartedRun):
    """A run, and how many of its queue have not ended before it."""

    depth: int


class UnendedRun(TypedDict):
    """A run that has not ended, how many stand before it, and its last progress."""

    state: Literal["waiting", "running"]
    depth: int
    message: NotRequired[str]


class RunState(StartedRun):
    """A run after it was cancelled; `ended`: it had ended before, and nothing changed."""

    state: State


class NamedTrigger(TypedDict):
    """A trigger."""

    trigger: str


class EndedTrigger(NamedTrigger):
    """A trigger that was ended, and how many runs it had."""

    runs: int


class TriggerLine(EndedTrigger):
    """A trigger, its runs so far, the last one, its state and the code of its error.

    `fault`: the code of the error for which it does not fire now; `kernel_restarted`: until an
    answer has reported the restart, as that of the next step does. `skipped`: how often it had
    fired itself, ten runs in a row, and was stopped.
    """

    call: str
    args: dict[str, Any]
    on: On
    run: NotRequired[str]
    state: NotRequired[State]
    error: NotRequired[str]
    fault: NotRequired[str]
    skipped: NotRequired[int]


@TABLE.op(access="run", toolset=manifest.MANAGE, lane="inline")
async def trigger_void(
    here: BridgeCall, call: Callee, args: CallArgs = None, kernel: WhichOrChosen = None
) -> StartedRun:
    """Make a call that you do not wait for; read_run has its reply later.

    Eight of your runs go on at once. A run is kept 30 minutes after its end.
    """
    asked = next_step("trigger_void", call=call, args=args, kernel=kernel)
    run = here.background.runs.start(await plan_call(here.background.caller, asked))
    here.next_steps.append(next_step("read_run", run=run.id))
    return {"run": run.id}


@TABLE.op(access="run", toolset=manifest.MANAGE, lane="inline")
async def trigger_enqueue(
    here: BridgeCall,
    call: Callee,
    args: CallArgs = None,
    queue: Annotated[str, Longest(64), "One run of a queue goes on at a time"] = "default",
    kernel: WhichOrChosen = None,
) -> QueuedRun:
    """Make a call once those before it in a queue have ended; read_run has its reply later.

    `depth`: how many stand before it; 100 may wait.
    """
    asked = next_step("trigger_enqueue", call=call, args=args, queue=queue, kernel=kernel)
    run = here.background.runs.enqueue(await plan_call(here.background.caller, asked), queue)
    here.next_steps.append(next_step("read_run", run=run.id))
    return {"run": run.id, "depth": here.background.runs.depth(run)}


@TABLE.op(access="read", toolset=manifest.MANAGE, lane="inline")
async def read_run(
    here: BridgeCall,
    run: RunId,
    wait_s: Annotated[float, Bounds(0, MAX_WAIT_S), "Seconds to wait for its end"] = 20.0,
) -> UnendedRun | ForwardedReply:
    """Read the reply of a run, as the call itself would have answered.

    Before its end: `state`, how many stand before it, and its last progress.
    """
    runs = here.background.runs
    found = runs.get(run)
    await runs.wait(found, wait_s)
    state = found.state
    if state in ("ended", "cancelled"):
        await _note_restart(here, found)
        return ForwardedReply(found.reply)
    here.next_steps.append(next_step("read_run", run=run, wait_s=STEP_S))
    answer: UnendedRun = {"state": state, "depth": runs.depth(found)}
    if found.message:
        answer["message"] = found.message
    return answer


@TABLE.op(access="run", toolset=manifest.MANAGE, lane="inline")
async def cancel_run(here: BridgeCall, run: RunId) -> RunState:
    """Cancel a run that waits or goes on, as when its caller cancels a call.

    `ended`: it had ended, and nothing changed. A loop in C code ends when it ends: kernel_status
    says whether the kernel is still busy with it.
    """
    runs = here.background.runs
    found = runs.get(run)
    await runs.cancel(found)
    here.next_steps.append(next_step("read_run", run=run))
    here.next_steps.append(next_step("kernel_status", kernel=found.call.kernel))
    return {"run": run, "state": found.state}


async def _prepare_trigger(here: BridgeCall, args: Args) -> Trigger:
    """Make the trigger that a call asks for; it does not fire yet."""
    asked = next_step("register_trigger", **args)
    when = parse_on(asked)
    planned = await plan_call(here.background.caller, asked)
    if planned.asks:
        raise RequestError(
            "approval_unavailable",
            f"{planned.call} needs the person's approval at each call, which a trigger cannot wait "
            "for. Nothing was kept.",
            next_steps=[next_step("trigger_void", **{**args, "on": None})],
        )
    return await here.background.triggers.prepare(planned, when)


@TABLE.op(access="write", toolset=manifest.MANAGE, lane="inline", check=_prepare_trigger)
async def register_trigger(
    here: BridgeCall,
    call: Callee,
    on: Annotated[dict[str, Any], Example(EVERY_MINUTE), f"When: one of {ON}"],
    args: CallArgs = None,
    kernel: WhichOrChosen = None,
) -> NamedTrigger:
    """Make a call again and again: every so many seconds, after each cell, at each change.

    One run at a time; what fires it meanwhile gives one further run. It ends by unregister_trigger,
    and with your client.
    """
    asked = {"call": call, "on": on, "args": args, "kernel": kernel}
    trigger = await _prepare_trigger(here, asked)
    here.background.triggers.begin(trigger)
    here.next_steps.append(next_step("list_triggers"))
    return {"trigger": trigger.id}


@TABLE.op(access="read", toolset=manifest.MANAGE, lane="inline")
async def list_triggers(here: BridgeCall) -> Items[TriggerLine]:
    """List your triggers: call, args, when it fires, its runs, last run, why it does not fire."""
    triggers = here.background.triggers
    items: list[TriggerLine] = []
    for each in triggers.list():
        items.append(_describe(each, await triggers.fault_of(each)))
        if items[-1].get("fault") == "kernel_restarted" and not here.next_steps:
            here.next_steps.append(next_step("list_stories", kernel=each.call.kernel))
    last = next((item["run"] for item in items if "run" in item), None)
    if last is not None:
        here.next_steps.append(next_step("read_run", run=last))
    return {"items": items, "total": len(items)}


async def _find_trigger(here: BridgeCall, args: Args) -> Trigger:
    return here.background.triggers.get(args["trigger"])


@TABLE.op(access="write", toolset=manifest.MANAGE, lane="inline", check=_find_trigger)
async def unregister_trigger(
    here: BridgeCall, trigger: Annotated[str, "From register_trigger"]
) -> EndedTrigger:
    """End a trigger, and its run."""
    ended = await here.background.triggers.unregister(trigger)
    return {"trigger": ended.id, "runs": ended.count}


async def _note_restart(here: BridgeCall, run: Run) -> None:
    """Let the caller, who now reads that the kernel restarted, call there again."""
    reply = run.reply
    if not reply["ok"] and reply["error"]["code"] == "kernel_restarted":
        (await here.links.get(run.call.kernel)).note_reported(reply.get("boot"))


def _describe(trigger: Trigger, fault: str) -> TriggerLine:
    line: TriggerLine = {
        "trigger": trigger.id,
        "call": trigger.call.call,
        "args": _shown_args(trigger.call),
        "on": trigger.on,
        "runs": trigger.count,
    }
    if trigger.last is not None:
        line["run"], line["state"] = trigger.last.id, trigger.last.state
        if trigger.last.task.done() and not trigger.last.reply["ok"]:
            line["error"] = trigger.last.reply["error"]["code"]
    if fault:
        line["fault"] = fault
    if trigger.skipped:
        line["skipped"] = trigger.skipped
    return line


def _shown_args(call: PlannedCall) -> dict[str, Any]:
    size = len(json.dumps(call.given))
    shown = dict(call.given)
    return shown if size <= SHOWN_CHARS else {ELIDED: {"type": "dict", "size": size}}
