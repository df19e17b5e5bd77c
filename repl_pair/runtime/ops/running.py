"""Ops that run one variant, begin it anew, or render it without a verdict."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NotRequired, cast

from repl_pair.errors import RequestError
from repl_pair.records import replace, to_dict
from repl_pair.runtime.op_base.answers import Identity, Preview, Run
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.corrections import suggest_correction
from repl_pair.runtime.op_base.planned import (
    RUN_S,
    Detail,
    Lane,
    Modes,
    Overrides,
    Plays,
    Timeout,
    Wait,
    check_lane,
    planned,
)
from repl_pair.runtime.op_base.run_answers import answer_preview, answer_run, note_places
from repl_pair.runtime.op_base.table import WAIT_S, F, lane_terms, main_op, op, timeout_deadline
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.visible import VariantId
from repl_pair.runtime.results.last_results import forget_result, keep_result
from repl_pair.runtime.results.record import RunRecord, refused
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.openings import close_all
from repl_pair.runtime.running.run_records import stopped_record
from repl_pair.runtime.running.runner import execute
from repl_pair.runtime.secrets.learning import learn_before_output
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.wire import PERSON

Answering = Callable[[RunRecord], Any]


class ResetRun(Run):
    """The run of a variant that was begun anew, and how many live objects were closed."""

    closed: NotRequired[int]


def run_op(toolset: str, make_answer: Callable[..., Any] = answer_run) -> Callable[[F], F]:
    """Register an op that runs one variant; `make_answer` also answers where no plan was made."""

    def not_finished(args: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
        record = RunRecord(variant_id=args["variant_id"], **to_dict(stop))
        return make_answer(record, detail=args.get("detail", "lean"))

    return main_op(
        access="run",
        toolset=toolset,
        deadline=timeout_deadline(RUN_S),
        unfinished=not_finished,
        terms=lane_terms,
    )


@run_op("core")
async def run_variant(
    call: Call,
    variant_id: VariantId,
    modes: Modes = None,
    overrides: Overrides = None,
    plays: Plays = None,
    substrate: Annotated[str, "The rendering asked for"] = SUBSTRATE,
    timeout_s: Timeout = RUN_S,
    wait_s: Wait = WAIT_S,
    lane: Lane = "main",
    detail: Detail = "lean",
) -> Run:
    """Run one variant and its assertions; status is pass, fail, cannot_run or error."""
    try:
        plan = planned(
            call, variant_id, modes=modes, overrides=overrides, plays=plays, substrate=substrate
        )
        check_lane(call, plan, lane)
    except RequestError as error:
        return answer_run(refused(variant_id, error), detail=detail)
    return await run_plan(call, plan, overrides, lane=lane, detail=detail)


async def run_plan(
    call: Call, plan: Plan, overrides: Overrides, *, lane: str, detail: Detail
) -> Run:
    """Run a plan that was checked; the record is kept as the variant's last result."""

    def settle(record: RunRecord) -> dict[str, Any]:
        """Keep the record; what comes after the caller was answered is dropped."""
        learn_before_output([plan.component])
        if call.decide():
            asker = call.view.principal if overrides and call.view.principal != PERSON else None
            keep_result(replace(record, asked=overrides, asked_by=asker))
        note_places(call, record, detail)
        if record.what_if:
            call.suggest("run_variant", variant_id=record.variant_id)
        else:
            suggest_correction(call, record.variant_id, record.status)
        if record.status != "pass":
            call.suggest("get_variant", variant_id=record.variant_id)
            call.suggest("get_story", story_id=story_of(plan.variant_id))
        return answer_run(record, call, detail=detail)

    return await _run(call, plan, settle, lane=lane)


@run_op("story")
async def reset_variant(
    call: Call,
    variant_id: VariantId,
    modes: Modes = None,
    overrides: Overrides = None,
    timeout_s: Timeout = RUN_S,
    wait_s: Wait = WAIT_S,
    lane: Lane = "main",
    detail: Detail = "lean",
) -> ResetRun:
    """Begin a variant anew: close its live objects, forget its last result, run it again.

    The person is warned that their live objects were closed; `closed` counts them.
    """
    try:
        plan = planned(call, variant_id, modes=modes, overrides=overrides)
        check_lane(call, plan, lane)
    except RequestError as error:
        return answer_run(refused(variant_id, error), detail=detail)
    closed = close_all(variant_id, f"{call.view.principal} reset the variant")
    forget_result(variant_id, call.view.principal)
    found: ResetRun = {**await run_plan(call, plan, overrides, lane=lane, detail=detail)}
    if closed:
        found["closed"] = closed
    return found


@run_op("story", answer_preview)
async def preview_variant(
    call: Call,
    variant_id: VariantId,
    modes: Modes = None,
    overrides: Overrides = None,
    substrate: Annotated[str, "The rendering asked for; see list_substrates"] = SUBSTRATE,
    timeout_s: Timeout = RUN_S,
    wait_s: Wait = WAIT_S,
    detail: Detail = "lean",
) -> Preview:
    """Run one variant up to its render and show that; no play runs and nothing is asserted.

    It is no verdict, and the last result of the variant stays as it is.
    """
    try:
        plan = planned(call, variant_id, modes=modes, overrides=overrides, substrate=substrate)
    except RequestError as error:
        return answer_preview(refused(variant_id, error), detail=detail)

    def settle(record: RunRecord) -> dict[str, Any]:
        """Answer with the identity of the variant with its plays."""
        learn_before_output([plan.component])
        call.decide()
        note_places(call, record, detail)
        if ("outputs",) in record.sensitive:
            call.sensitive.append(("text",))
        call.suggest("run_variant", variant_id=plan.variant_id)
        if record.status != "pass":
            call.suggest("get_story", story_id=story_of(plan.variant_id))
        return answer_preview(replace(record, identity=plan.identity), call, detail=detail)

    return await _run(call, replace(plan, plays=()), settle)


@op(access="read", toolset="story")
def snapshot_identity(
    call: Call, variant_id: VariantId, modes: Modes = None, overrides: Overrides = None
) -> Identity:
    """Return a variant's stable identity: a hash of its resolved content and one of its code."""
    return cast(
        "Identity", to_dict(planned(call, variant_id, modes=modes, overrides=overrides).identity)
    )


async def _run(call: Call, plan: Plan, make_answer: Answering, *, lane: str = "main") -> Any:
    """Run a plan; `make_answer` builds the answer, also of a run that was stopped."""
    under_way: list[Frame] = []
    call.unfinished = lambda stop: make_answer(stopped_record(plan, stop, *under_way))
    is_main, begun = lane == "main", under_way.append
    return make_answer(
        await execute(
            plan, wait_for=call.wait_for, exclusive=is_main, records_stops=True, begun=begun
        )
    )
