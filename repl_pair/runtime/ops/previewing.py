"""The op that shows what a variant renders, without a word on whether that is right."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from repl_pair.errors import RequestError
from repl_pair.records import to_dict
from repl_pair.runtime.identity import identify
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.namespace import learn_beside
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.overrides import refuse_secret_modes, refuse_secret_overrides
from repl_pair.runtime.ops.run_options import RUN_S, Modes, Overrides, Timeout, Wait, run_deadline
from repl_pair.runtime.ops.running import answer, hide_mode_secrets, run_plan
from repl_pair.runtime.ops.table import WAIT_S, op
from repl_pair.runtime.ops.visible import VariantId, check_visible, visible_entry
from repl_pair.runtime.output_assertions import texts_of
from repl_pair.runtime.plan import SUBSTRATE, Plan, plan_variant
from repl_pair.runtime.run_record import RunRecord, refused
from repl_pair.runtime.stopping import Stop

_VERDICT = ("status", "assertions", "total", "steps")
"""The slots of a run that judge it, which a preview does not."""


def not_finished(args: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
    """Give the answer of a preview that never began, or ended before its plan was made."""
    return _preview(RunRecord(variant_id=args["variant_id"], **to_dict(stop)))


@op(
    access="run",
    lane="main",
    toolset="story",
    deadline=run_deadline,
    unfinished=not_finished,
    stoppable=False,
)
async def preview_variant(
    call: Call,
    variant_id: VariantId,
    modes: Modes = None,
    overrides: Overrides = None,
    substrate: Annotated[str, "The rendering asked for; see list_substrates"] = SUBSTRATE,
    timeout_s: Timeout = RUN_S,
    wait_s: Wait = WAIT_S,
) -> dict[str, Any]:
    """Run one variant up to its render and show that; no play runs and nothing is asserted.

    It is no verdict, and the last result of the variant stays as it is.
    """
    visible_entry(call.view, "variant", variant_id)
    try:
        check_visible(call.view, "mode", modes)
        refuse_secret_overrides(call, variant_id, overrides)
        plan = plan_variant(variant_id, modes=modes or (), overrides=overrides, substrate=substrate)
        refuse_secret_modes(call, plan)
    except RequestError as error:
        return _preview(refused(variant_id, error))
    unplayed = replace(plan, plays=())
    return await run_plan(call, unplayed, lambda record: _settle(call, plan, record, overrides))


def _settle(
    call: Call, plan: Plan, record: RunRecord, overrides: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Give the answer; the identity is that of the variant with its plays."""
    learn_beside(plan.component)
    call.asked.append(overrides)
    call.decide()
    call.sensitive.extend(record.sensitive)
    if ("outputs",) in record.sensitive:
        call.sensitive.append(("text",))
    hide_mode_secrets(call, plan)
    call.suggest(f"run_variant(variant_id={plan.variant_id!r})")
    if record.status != "pass":
        call.suggest(f"get_story(story_id={story_of(plan.variant_id)!r})")
    return _preview(replace(record, identity=identify(plan)), call)


def _preview(record: RunRecord, call: Call | None = None) -> dict[str, Any]:
    whole = answer(record, call)
    shown = {slot: value for slot, value in whole.items() if slot not in _VERDICT}
    shown["phases"] = [phase for phase in whole["phases"] if phase["phase"] != "play"]
    head = {"variant_id": record.variant_id, "rendered": _is_rendered(record), "asserted": False}
    text = "\n".join(texts_of(record.outputs))
    return head | ({"text": text} if text else {}) | shown


def _is_rendered(record: RunRecord) -> bool:
    return any(phase.phase == "render" and phase.error is None for phase in record.phases)
