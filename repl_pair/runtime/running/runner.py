"""The runner: walks the phases, records everything, never raises for the variant's own fault."""

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError, check_not_empty
from repl_pair.records import replace, to_dict
from repl_pair.runtime.capture.capture import capture, report_raised
from repl_pair.runtime.capture.children import in_one_process
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.ids import check_text
from repl_pair.runtime.registry.outcomes import PhaseRecord
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.forms import display_and_check
from repl_pair.runtime.results.last_results import keep_result
from repl_pair.runtime.results.record import RunRecord, refused
from repl_pair.runtime.running.effects import effects_of_run
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.phases import PHASES
from repl_pair.runtime.running.playing import read_state
from repl_pair.runtime.running.raised import as_raised, describe
from repl_pair.runtime.running.run_records import record_of, status_of
from repl_pair.runtime.secrets.known import made_of
from repl_pair.runtime.secrets.renderings import leaving_form
from repl_pair.runtime.stopping.awaiting import await_together
from repl_pair.runtime.stopping.contexts import in_context, own_context
from repl_pair.runtime.stopping.loops import (
    WaitFor,
    close_unstarted,
    drive,
    on_private_loop,
    on_this_loop,
)
from repl_pair.runtime.stopping.stop import (
    STOPS,
    defer_stops,
    is_stop,
    raise_wanted,
    stop_of,
    this_section,
    while_live,
)


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
    `substrate` is the rendering asked for. `check=True` displays the record and raises
    VariantFailed for anything but `pass`. An unknown id raises RequestError.
    """
    wait_for = _nested if loop == "nested" else on_private_loop
    wanted = {"modes": modes, "overrides": overrides, "plays": plays, "substrate": substrate}
    return drive(_run(variant_id, wanted, check, wait_for))


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
    wanted = {"modes": modes, "overrides": overrides, "plays": plays, "substrate": substrate}
    return await _run(variant_id, wanted, check, on_this_loop)


async def _run(
    variant_id: str, wanted: Mapping[str, Any], check: bool, wait_for: WaitFor
) -> RunRecord:
    check_text("run takes the id of a variant", variant_id)
    try:
        check_not_empty("plays", wanted["plays"])
        plan = plan_variant(variant_id, **wanted)
    except RequestError as error:
        _check_variant_id(variant_id)
        record = refused(variant_id, error)
    else:
        with defer_stops():
            record = await execute(plan, wait_for=wait_for)
            keep_result(record)
    if check:
        display_and_check(record)
    return record


def _check_variant_id(id: str) -> None:
    """Refuse what the person may have meant as a variant: a story, a pattern."""
    if REGISTRY.find("story", id) is not None:
        known = ", ".join(REGISTRY.ids("variant", f"{id}/")[:3]) or "none is registered"
        what = f"{id!r} is a story. Run one of its variants: {known}"
    elif any(sign in id for sign in "*?["):
        what = f"{id!r} is a pattern. Run one variant by its id"
    else:
        return
    raise RequestError("not_found", f"{what}; `run_variants` takes `story`, `tags` or `ids`.")


async def execute(
    plan: Plan,
    *,
    wait_for: WaitFor,
    exclusive: bool = True,
    records_stops: bool = False,
    begun: Callable[[Frame], None] = lambda _frame: None,
) -> RunRecord:
    """Walk the phases of a plan; only an interrupt and similar come through.

    With `records_stops` these are a record too: without a verdict, with the output so far, and
    where in the person's code the run stood. `begun` is given the frame, which `stopped_record`
    reads if the run goes on in spite of its stop.

    Must be called in a section that is not live; it is while the phases are walked.
    """
    started = time.perf_counter()
    section = this_section()
    with (
        capture(exclusive=exclusive, leaving=leaving_form, restores=True) as captured,
        effects_of_run() as scope,
        await_together(),
        made_of(plan.sent, plan.sent_by_others) as secrets,
    ):
        frame = Frame(plan=plan, wait_for=wait_for, captured=captured, scope=scope)
        begun(frame)
        context = own_context()
        stop, teardown_error = None, None
        try:
            teardown_error = await while_live(
                section, lambda: in_context(context, _walk_all(frame))
            )
        except BaseException as error:
            frame.failure = frame.failure or error
            section.begin_teardown()
            close_unstarted(error)
            stop = stop_of(error) if records_stops and isinstance(error, STOPS) else None
            await while_live(section, lambda: in_context(context, _walk(frame, "teardown")))
            if stop is None:
                raise
        status, teardown_error = status_of(frame, teardown_error), None
        frame.forget_raised()  # here, as what is freed then may warn
    elapsed_ms = (time.perf_counter() - started) * 1e3
    record = record_of(frame, status, secrets, elapsed_ms)
    return record if stop is None else replace(record, assertions=(), total=0, **to_dict(stop))


async def _walk_all(frame: Frame) -> BaseException | None:
    """Walk the phases until one fails, then tear down; gives what failed in that."""
    for name in PHASES:
        if frame.failure is None and name != "teardown":
            frame.failure = await _walk(frame, name)
            frame.failed_in = frame.doing
    is_projected = frame.plan.story.state is not None
    has_acted = frame.rendered_state is not None
    if frame.is_made and (frame.is_class or is_projected or has_acted):
        frame.left_state = read_state(frame)
    return await _walk(frame, "teardown")


async def _walk(frame: Frame, phase: str) -> BaseException | None:
    started = time.perf_counter()
    failed: BaseException | None = None
    frame.phase, frame.doing = phase, {}
    try:
        await in_one_process(frame.captured, PHASES[phase], frame)
        if phase != "teardown":
            raise_wanted()
    except BaseException as error:  # noqa: BLE001  a run records what its component raises
        failed = as_raised(error)
        if not is_stop(failed):
            report_raised(failed, frame.plan.variant_id, frame.plan.modes)
    elapsed_ms = round((time.perf_counter() - started) * 1e3, 3)
    error = None if failed is None else describe(failed, frame.doing)
    frame.phases.append(PhaseRecord(phase=phase, elapsed_ms=elapsed_ms, error=error))
    try:
        if failed is not None and is_stop(failed):
            raise failed
        return failed
    finally:
        failed = None  # its traceback holds this function's frame


async def _nested(awaitable: Awaitable[Any]) -> Any:
    # Patching the loop is what the person asked for by name; no other run pays the import.
    importlib.import_module("nest_asyncio2").apply()
    return asyncio.get_event_loop().run_until_complete(awaitable)
