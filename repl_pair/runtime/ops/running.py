"""Ops that run one variant, or render it without a verdict."""

import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

from repl_pair.errors import RequestError
from repl_pair.records import replace, to_dict
from repl_pair.runtime.authoring.lines import ACTING
from repl_pair.runtime.capture.bundles import leaving_of, texts_of
from repl_pair.runtime.ops.answers import Identity, Preview, Run
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.listing import is_filled
from repl_pair.runtime.ops.planned import (
    RUN_S,
    Detail,
    Lane,
    Modes,
    Overrides,
    Plays,
    Timeout,
    Wait,
    planned,
)
from repl_pair.runtime.ops.table import WAIT_S, F, lane_terms, op, timeout_deadline
from repl_pair.runtime.ops.verdicts import sensitive_failures, suggest_correction
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.outcomes import show_outcome
from repl_pair.runtime.registry.visible import VariantId
from repl_pair.runtime.results.last import keep_result
from repl_pair.runtime.results.record import RunRecord, raised_in, refused
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.run_records import stopped_record
from repl_pair.runtime.running.runner import execute
from repl_pair.runtime.secrets.egress import learn_from
from repl_pair.runtime.secrets.known import within
from repl_pair.runtime.secrets.learning import learn_before_output
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.outline import typed_slots
from repl_pair.wire import PERSON

Answering = Callable[[RunRecord], Any]

_BITMAPS = {"image/png": "iVBORw0KGgo", "image/jpeg": "/9j/"}
"""How each begins, in base64."""
SHORT_HTML, LONG_HTML = 200, sys.maxsize
"""Characters of HTML that a lean answer shows, not more than its other text takes; and any."""


def answer(record: RunRecord, call: Call | None = None, *, detail: Detail = "lean") -> Any:
    """Return a run as the agent gets it; with `call`, its images go whole."""
    acted, slots = any(step.line[0] in ACTING for step in record.steps), typed_slots(Run) or {}
    full = detail == "full"
    whole = {slot: getattr(record, slot) for slot in slots if slot != "errors"} | {
        "assertions": [show_outcome(one) for one in record.assertions if full or not one.passed],
        "effects": [to_dict(effect) for effect in record.effects],
        "steps": [to_dict(step) | {"line": to_plain(step.line)} for step in record.steps],
        "phases": [to_dict(phase) for phase in record.phases],
        "errors": raised_in(record),
        "identity": None if record.identity is None else to_dict(record.identity),
        "effective_args": to_plain(record.effective_args),
        # These repeat other slots in most runs.
        "last": record.last if acted else None,
        "plays": list(filter(None, record.plays)),
        "what_if": list(record.what_if),
        "registered": record.registered if record.status != "pass" else None,
    }
    if call is not None:
        as_html = full or (record.identity is not None and record.identity.substrate != SUBSTRATE)
        chars = LONG_HTML if as_html else SHORT_HTML
        whole["outputs"] = [show_bundle(call, bundle, html=chars) for bundle in record.outputs]
    always = {slot for slot, (_, is_required) in slots.items() if is_required}
    always |= _MADE if full else set[str]()
    left_out = {"errors"} if full else (_MADE | _FULL) - {"assertions", "outputs"}
    return {
        slot: value
        for slot, value in whole.items()
        if slot not in left_out and (slot in always or is_filled(value))
    }


_MADE = {"assertions", "outputs", "phases", "elapsed_ms", "effective_args", "identity"}
_FULL = {"last", "state", "events", "effects", "plays", "steps"}
"""Slots of a full answer: those that it always has, and those that may be empty."""


def show_bundle(
    call: Call, bundle: Mapping[str, Any], *, html: int, else_html: str = 'detail="full" has them'
) -> dict[str, Any]:
    """Return what an agent can use of a MIME bundle: its text, and its bitmaps as they are.

    What does not begin like a bitmap is other text under its name, which may be a secret.
    """
    shown: dict[str, Any] = {}
    for mime, data in leaving_of(bundle).items():
        if mime in _BITMAPS and isinstance(data, str) and data.startswith(_BITMAPS[mime]):
            shown[mime] = call.add_raw_json(data)
        elif mime == "text/html" and len(str(data)) > html:
            shown[mime] = f"[{len(str(data))} characters: {else_html}]"
        elif mime.startswith("text/") or mime in _BITMAPS:
            shown[mime] = data
    return shown


def _preview(record: RunRecord, call: Call | None = None, *, detail: Detail = "lean") -> Any:
    whole, slots = answer(record, call, detail=detail), typed_slots(Preview) or {}
    shown = {slot: value for slot, value in whole.items() if slot in slots}
    if "phases" in shown:
        shown["phases"] = [phase for phase in shown["phases"] if phase["phase"] != "play"]
    rendered = any(phase.phase == "render" and phase.error is None for phase in record.phases)
    head = {"variant_id": record.variant_id, "rendered": rendered, "asserted": False}
    text = "\n".join(texts_of(record.outputs))
    return head | ({"text": text} if text else {}) | shown


def run_op(toolset: str, make_answer: Callable[..., Any] = answer) -> Callable[[F], F]:
    """Register an op that runs one variant; `make_answer` also answers where no plan was made."""

    def not_finished(args: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
        record = RunRecord(variant_id=args["variant_id"], **to_dict(stop))
        return make_answer(record, detail=args.get("detail", "lean"))

    return op(
        access="run",
        lane="main",
        toolset=toolset,
        deadline=timeout_deadline(RUN_S),
        unfinished=not_finished,
        stoppable=False,
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
        return answer(refused(variant_id, error), detail=detail)
    return await run_plan(call, plan, overrides, lane=lane, detail=detail)


async def run_plan(
    call: Call, plan: Plan, overrides: Overrides, *, lane: str, detail: Detail = "lean"
) -> Run:
    """Run a plan that was checked; the record is kept as the variant's last result."""

    def settle(record: RunRecord) -> dict[str, Any]:
        """Keep the record; what comes after the caller was answered is dropped."""
        learn_before_output([plan.component])
        if call.decide():
            asker = call.view.principal if overrides and call.view.principal != PERSON else None
            keep_result(replace(record, asked=overrides, asked_by=asker))
        _note_sensitive(call, record, detail)
        if record.what_if:
            call.suggest("run_variant", variant_id=record.variant_id)
        else:
            suggest_correction(call, record.variant_id, record.status)
        if record.status != "pass":
            call.suggest("get_variant", variant_id=record.variant_id)
            call.suggest("get_story", story_id=story_of(plan.variant_id))
        return answer(record, call, detail=detail)

    return await _run(call, plan, settle, lane=lane)


@run_op("story", _preview)
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
        return _preview(refused(variant_id, error), detail=detail)

    def settle(record: RunRecord) -> dict[str, Any]:
        """Answer with the identity of the variant with its plays."""
        learn_before_output([plan.component])
        call.decide()
        _note_sensitive(call, record, detail)
        if ("outputs",) in record.sensitive:
            call.sensitive.append(("text",))
        call.suggest("run_variant", variant_id=plan.variant_id)
        if record.status != "pass":
            call.suggest("get_story", story_id=story_of(plan.variant_id))
        return _preview(replace(record, identity=plan.identity), call, detail=detail)

    return await _run(call, replace(plan, plays=()), settle)


@op(access="read", toolset="story")
def snapshot_identity(
    call: Call, variant_id: VariantId, modes: Modes = None, overrides: Overrides = None
) -> Identity:
    """Return a variant's stable identity: a hash of its settled content and one of its code."""
    return cast(
        "Identity", to_dict(planned(call, variant_id, modes=modes, overrides=overrides).identity)
    )


def _note_sensitive(call: Call, record: RunRecord, detail: Detail) -> None:
    """Note the sensitive places of a record as they stand in its answer.

    A secret that stands where a lean answer does not show it is one in what it shows.
    """
    if detail == "full":
        call.sensitive.extend(record.sensitive)
        return
    call.sensitive.extend(path for path in record.sensitive if path[0] != "assertions")
    call.sensitive.extend(sensitive_failures(record))
    unshown = (*_FULL, "effective_args", "assertions")
    with within(call.secrets):
        learn_from({s: getattr(record, s) for s in unshown}, sensitive=record.sensitive)


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


def check_lane(call: Call, plan: Plan, lane: str) -> None:
    """Refuse a run beside the person's cells whose story does not allow it."""
    if lane == "worker" and not plan.story.thread_safe:
        call.suggest("run_variant", variant_id=plan.variant_id, lane="main")
        story = story_of(plan.variant_id)
        raise RequestError(
            "cannot_run",
            "A run on lane worker runs at the same time as the person's cells, and story "
            f"{story!r} does not say that it may. Run it on lane main, or let the person register "
            f"it so: repl_pair.story({story!r}, ..., thread_safe=True).",
        )
