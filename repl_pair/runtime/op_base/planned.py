"""One plan for one call, as the caller's view sees it and as its lane allows it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from repl_pair.errors import RequestError, check_not_empty
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.visible import check_visible, visible_entry
from repl_pair.runtime.signatures.arguments import MAX_S, Bounds

Modes = Annotated[list[str] | None, "Ids of modes, in order"]
Overrides = Annotated[dict[str, Any] | None, "Args over the variant's"]
Plays = Annotated[list[str] | None, "Named plays, not the usual"]
Timeout = Annotated[float, Bounds(0, MAX_S), "Seconds the run may take"]
Wait = Annotated[float, Bounds(0, MAX_S), "Seconds to wait for a cell"]
Lane = Annotated[Literal["main", "worker"], "worker: waits for no cell; thread_safe only"]

Detail = Annotated[Literal["lean", "full"], "full: also passes, phases, times, args, identity"]

RUN_S = 10.0
"""What a run may take by default, and so hold the person's cells."""


def planned(
    call: Call,
    variant_id: str,
    *,
    modes: Sequence[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    plays: Sequence[str] | None = None,
    substrate: str = SUBSTRATE,
) -> Plan:
    """Plan a variant for a caller.

    RequestError `not_found` for what the view does not see, else as `plan_variant`.
    """
    visible_entry(call.view, "variant", variant_id)
    check_visible(call.view, "mode", modes)
    check_not_empty("plays", plays)
    return plan_variant(
        variant_id,
        modes=modes or (),
        overrides=overrides,
        plays=plays,
        substrate=substrate,
        caller=call.view.principal,
    )


def check_lane(call: Call, plan: Plan, lane: str) -> None:
    """Refuse with `cannot_run` a run beside the person's cells whose story does not allow it."""
    if lane == "worker" and not plan.story.thread_safe:
        call.suggest("run_variant", variant_id=plan.variant_id, lane="main")
        story = story_of(plan.variant_id)
        raise RequestError(
            "cannot_run",
            "A run on lane worker runs at the same time as the person's cells, and story "
            f"{story!r} does not say that it may. Run it on lane main, or let the person register "
            f"it so: repl_pair.story({story!r}, ..., thread_safe=True).",
        )
