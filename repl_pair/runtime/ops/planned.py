"""What a caller may say of a run, and what of it only the person may."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from repl_pair.errors import RequestError
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import sensitive_paths
from repl_pair.runtime.values.hints import parameter_hints
from repl_pair.runtime.values.marks import is_secret_key

Modes = Annotated[list[str] | None, "Ids of modes to activate, in order"]


Overrides = Annotated[dict[str, Any] | None, "Args that replace or deepen the variant's"]


Plays = Annotated[list[str] | None, "Names of plays to run, not those that run by themselves"]


Timeout = Annotated[float, "Seconds the run may take"]


Wait = Annotated[float, "Seconds to wait for the person's running cell"]


Lane = Annotated[
    Literal["main", "worker"], "worker needs a thread_safe story, and does not wait for cells"
]


RUN_S = 30.0
"""What a run may take where the caller does not say."""


def run_deadline(args: Mapping[str, Any]) -> float:
    """Return the seconds that a run may take once it has begun."""
    return float(args.get("timeout_s", RUN_S))


def refuse_secret_overrides(
    call: Call, variant_id: str, overrides: Mapping[str, Any] | None
) -> None:
    """Refuse to set a secret argument: an agent could use the outcome to guess it.

    RequestError `cannot_run`, as where the story takes no overrides but the person's.
    """
    if not overrides or call.view.principal == "person":
        return
    plan = plan_variant(variant_id)
    if not plan.story.agent_overrides:
        # Only overrides of agents' pay for this room.
        from repl_pair.runtime.authoring.agent_overrides import refused_overrides

        raise RequestError("cannot_run", refused_overrides(story_of(variant_id), overrides))
    secret = {path[0] for path in sensitive_paths(plan.args)} | _secret_names(plan, overrides)
    touched = sorted(name for name in overrides if name in secret or is_secret_key(name))
    if touched:
        raise RequestError(
            "cannot_run",
            f"{', '.join(touched)} holds a secret: only the person overrides it.",
        )
    _refuse_code(plan, overrides)


def refuse_secret_modes(call: Call, plan: Plan) -> None:
    """Refuse modes that bring a secret to an open arg; RequestError `cannot_run`."""
    if not plan.modes or call.view.principal == "person":
        return
    # Only runs with modes pay for the room.
    from repl_pair.runtime.planning.guard import open_mode_secrets

    if faults := open_mode_secrets(plan):
        raise RequestError("cannot_run", " ".join(faults))


def _refuse_code(plan: Plan, overrides: Mapping[str, Any]) -> None:
    # Only overrides of agents' pay for this room.
    from repl_pair.runtime.authoring.agent_data import given_faults
    from repl_pair.runtime.planning.guard import sent_faults

    base = {**plan.args, **plan.dispatched}
    faults = given_faults(plan.component, overrides, where="overrides", base=base)
    if faults := [*faults, *sent_faults(plan, overrides, where="overrides")]:
        raise RequestError("cannot_run", " ".join(faults))


def _secret_names(plan: Plan, overrides: Mapping[str, Any]) -> set[str]:
    hints = parameter_hints(plan.component)
    frozen = {n: freeze(v, hints.get(n, Any)) for n, v in overrides.items() if n in hints}
    return {path[0] for path in sensitive_paths(frozen)}
