"""The runner: walks the phases, records everything, never raises for the variant's own fault."""

import asyncio
import importlib
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError, VariantFailed
from repl_pair.runtime.capture import capture
from repl_pair.runtime.effects import effects_of_run
from repl_pair.runtime.frame import Frame, Settle
from repl_pair.runtime.loops import PRIVATE
from repl_pair.runtime.paths import parse_path
from repl_pair.runtime.phases import PHASES, Phase
from repl_pair.runtime.plain import sensitive_paths
from repl_pair.runtime.plan import SUBSTRATE, Plan, identify, plan_variant
from repl_pair.runtime.playing import text_of, told
from repl_pair.runtime.results import keep_result
from repl_pair.runtime.run_record import Outcome, PhaseRecord, RunRecord
from repl_pair.runtime.state_copy import copy_state
from repl_pair.runtime.stopping import STOPS, set_apart, this_section, while_live
from repl_pair.runtime.twin import one_twin


def run(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    plays: Sequence[str] | None = None,
    substrate: str = SUBSTRATE,
    check: bool = False,
    loop: str = "private",
) -> RunRecord:
    """Run one variant here and now and return its record.

    What is asynchronous runs on a private loop thread; `loop="nested"`, for objects bound to the
    loop that runs now, nests that one. `plays` names those to run instead of the automatic ones;
    `substrate` is the rendering that is asked for. `check=True` displays the
    record and raises VariantFailed for anything but `pass`. An unknown id raises RequestError.
    """
    settle = _nested if loop == "nested" else on_private_loop
    try:
        plan = plan_variant(
            variant_id, modes=modes, overrides=overrides, plays=plays, substrate=substrate
        )
    except RequestError as error:
        return _checked(refused(variant_id, error), check)
    with set_apart():
        record = _drive(execute(plan, settle=settle))
    return _checked(record, check)


async def arun(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    plays: Sequence[str] | None = None,
    substrate: str = SUBSTRATE,
    check: bool = False,
) -> RunRecord:
    """Run one variant on the caller's loop; otherwise as `run`."""
    try:
        plan = plan_variant(
            variant_id, modes=modes, overrides=overrides, plays=plays, substrate=substrate
        )
    except RequestError as error:
        return _checked(refused(variant_id, error), check)
    with set_apart():
        record = await execute(plan, settle=on_this_loop)
    return _checked(record, check)


def refused(variant_id: str, error: RequestError) -> RunRecord:
    """Give the record of a run that could not be attempted; any other refusal is raised again."""
    if error.code != "cannot_run":
        raise error
    return RunRecord(variant_id=variant_id, status="cannot_run", reason=error.message)


async def execute(
    plan: Plan,
    *,
    settle: Settle,
    exclusive: bool = True,
    keep: Callable[[RunRecord], object] = keep_result,
) -> RunRecord:
    """Walk the phases of a plan; only an interrupt and its kin come through.

    Must be called in a section that is not live; it is while the phases are walked.
    """
    started = time.perf_counter()
    phases: list[PhaseRecord] = []
    section = this_section()
    with capture(exclusive=exclusive) as captured, effects_of_run() as scope, one_twin():
        frame = Frame(plan=plan, settle=settle, captured=captured, scope=scope)
        try:
            failed = await while_live(section, lambda: _walk_all(frame, phases))
        except BaseException:
            section.take()
            await while_live(section, lambda: _walk(frame, PHASES[-1], phases))
            raise
    record = _record(frame, failed, phases, (time.perf_counter() - started) * 1e3)
    keep(record)
    return record


async def _walk_all(frame: Frame, phases: list[PhaseRecord]) -> BaseException | None:
    failed: BaseException | None = None
    for phase in PHASES:
        if failed is None or phase.always:
            failed = await _walk(frame, phase, phases) or failed
    return failed


async def _walk(frame: Frame, phase: Phase, phases: list[PhaseRecord]) -> BaseException | None:
    started = time.perf_counter()
    failed: BaseException | None = None
    try:
        await phase.walk(frame)
    except STOPS:
        raise
    except BaseException as error:  # noqa: BLE001  a run records what its component raises
        failed = error
    elapsed = (time.perf_counter() - started) * 1e3
    phases.append(
        PhaseRecord(phase=phase.name, elapsed_ms=round(elapsed, 3), error=_describe(failed, frame))
    )
    return failed


def _record(
    frame: Frame, failed: BaseException | None, phases: list[PhaseRecord], elapsed_ms: float
) -> RunRecord:
    plan, out = frame.plan, frame.captured
    status, reason = _status(frame, failed)
    secrets = sensitive_paths(plan.args)
    return RunRecord(
        variant_id=plan.variant_id,
        status=status,
        reason=reason,
        assertions=tuple(frame.outcomes),
        total=len(frame.outcomes),
        elapsed_ms=round(elapsed_ms, 3),
        effective_args={**plan.args, **frame.args},
        active_modes=plan.modes,
        identity=identify(plan),
        result=frame.result,
        last=frame.last,
        state=_state(frame),
        events=tuple(frame.events),
        effects=tuple(frame.scope.emitted),
        steps=tuple(frame.steps),
        outputs=out.bundles(),
        phases=tuple(phases),
        stdout=out.text("stdout"),
        stderr=out.text("stderr"),
        unattributed=out.text("unattributed"),
        warnings=out.entries("warnings"),
        logs=out.entries("logs"),
        sensitive=(
            *(("effective_args", *path) for path in secrets),
            *_sensitive_outcomes(frame.outcomes, secrets),
        ),
        revision=plan.revision,
    )


def _state(frame: Frame) -> Any:
    """Give the state that is left, of what has one beside its result; bounded."""
    if not frame.is_class and frame.plan.story.state is None:
        return None
    try:
        return copy_state(frame.state)
    except Exception as error:  # noqa: BLE001  a projection is the person's code
        return f"<unreadable: {told(error)}>"


def _status(frame: Frame, failed: BaseException | None) -> tuple[str, str]:
    if isinstance(failed, RequestError):
        return "cannot_run", failed.message
    if failed is not None:
        return "error", told(failed)
    for outcome in frame.outcomes:
        if not outcome.passed:
            return "fail", f"{outcome.assertion}: {outcome.reason}"
    return ("cannot_run", frame.refusal) if frame.refusal else ("pass", "")


def _describe(error: BaseException | None, frame: Frame) -> dict[str, Any] | None:
    """Give what went wrong, in which step, and the last line of the person's own on its way."""
    if error is None:
        return None
    at = {} if frame.at is None else {"play": frame.at[0], "step": frame.at[1]}
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_theirs(f.filename)]
    where = {"file": frames[-1].filename, "line": frames[-1].lineno} if frames else {}
    return {"type": type(error).__name__, "message": text_of(error), **at, **where}


def _is_theirs(filename: str) -> bool:
    return not filename.startswith(_HERE)


_HERE = __file__.removesuffix("runner.py")


def _sensitive_outcomes(
    outcomes: Sequence[Outcome], secrets: Sequence[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Name the outcomes whose path meets a secret argument."""
    return [
        ("assertions", str(index), slot)
        for index, outcome in enumerate(outcomes)
        if any(_meets(outcome, secret) for secret in secrets)
        for slot in ("payload", "expected", "actual", "reason")
    ]


def _meets(outcome: Outcome, secret: tuple[str, ...]) -> bool:
    if not outcome.payload or outcome.assertion != "path_equals":
        return False
    steps = tuple(str(step) for step in parse_path(outcome.payload[0]))
    return steps[0] == "args" and all(a == b for a, b in zip(steps[1:], secret, strict=False))


def _checked(record: RunRecord, check: bool) -> RunRecord:
    if not check:
        return record
    summary = f"{record.variant_id}: {record.status}, {record.total} assertions"
    print(summary)  # noqa: T201  the person asked for it to be shown
    if record.status != "pass":
        raise VariantFailed(f"{summary}. {record.reason}", record)
    return record


def _drive(coroutine: Coroutine[Any, Any, RunRecord]) -> RunRecord:
    """Run a coroutine that never suspends to its end, on this thread, with or without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError("the runner suspended outside its settle function")


async def on_this_loop(awaitable: Awaitable[Any]) -> Any:
    """Wait for what is asynchronous where the run itself is."""
    return await awaitable


async def on_private_loop(awaitable: Awaitable[Any]) -> Any:
    """Wait on the private loop for what is asynchronous; this thread stands still meanwhile."""
    return PRIVATE.wait_for(awaitable)


async def _nested(awaitable: Awaitable[Any]) -> Any:
    # Patching the loop is what the person asked for by name; nobody else pays the import.
    nesting = importlib.import_module("nest_asyncio2")
    nesting.apply()
    return asyncio.get_event_loop().run_until_complete(awaitable)
