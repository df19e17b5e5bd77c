"""Identity: one short text for what a variant settles to, and one for the code that makes it."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from repl_pair.runtime.planning.code_hash import code_hash
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.model import Decorator, Function, Use, effect_answered
from repl_pair.runtime.registry.outcomes import Identity
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values import canonical

SCHEME = "rp1:"


def snapshot_identity(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Identity:
    """Return a variant's snapshot identity; nothing runs. The hashes are equal in every process."""
    return identify(plan_variant(variant_id, modes=modes, overrides=overrides))


def identify(plan: Plan) -> Identity:
    """Return the snapshot identity of a plan; nothing runs."""
    return Identity(
        variant_id=plan.variant_id,
        active_modes=plan.modes,
        substrate=plan.substrate,
        content_hash=content_hash(slots_of(plan)),
        code_hash=code_hash(_functions(plan), named=_effects_done(plan)),
    )


def slots_of(plan: Plan) -> Mapping[str, Any]:
    """Return what the content hash is made of, by slot; secrets are real in it."""
    body = plan.variant
    return {
        "variant": plan.variant_id,
        "component": plan.story.component.qualname,
        "args": plan.args,
        "events": list(plan.events),
        "plays": [[play.name, list(play.steps)] for play in plan.plays],
        "loaders": list(body.loaders),
        "loaders_complete_when": body.loaders_complete_when,
        "loaders_teardown": list(body.loaders_teardown),
        "decorators": [_settled_use(plan, use) for use in plan.decorators],
        "tags": sorted(plan.tags),
        "modes": list(plan.modes),
        "substrate": plan.substrate,
    }


def content_hash(slots: Mapping[str, Any]) -> str:
    """Hash the resolved slots of a variant: the scheme and 64 hex digits, equal in every process.

    Raises:
        AuthoringError: `bad_body` when a slot holds what is no data.
    """
    digest = sha256()
    canonical.write(slots, digest.update)
    return SCHEME + digest.hexdigest()


def _settled_use(plan: Plan, use: Use) -> list[Any]:
    """Return a decorator as it counts for what a run settles to: with the data of its body."""
    entry = plan.reached[("decorator", str(use[0]))]
    if entry is None:
        return list(use)
    body: Decorator = entry.body
    return [
        *use,
        body.kind,
        list(body.init),
        list(body.teardown),
        dict(body.patch),
        body.effect,
        list(body.responses),
        body.repeats,
    ]


def _functions(plan: Plan) -> list[Callable[..., Any]]:
    """Return the component and the registered functions that a run reaches, but no built-in one."""
    theirs = [e.body for e in plan.reached.values() if e and e.origin.key != "builtin"]
    parts = [body.component for body in theirs if isinstance(body, Function)]
    parts += [body.wrap for body in theirs if isinstance(body, Decorator) and body.wrap]
    project = plan.story.state
    return [plan.component, *(part.resolve() for part in [*parts, *([project] if project else [])])]


def _effects_done(plan: Plan) -> Mapping[str, Callable[..., Any]]:
    """Return what does each effect that no decorator of the plan answers for, by its id."""
    answered = {_effect_of(plan, use) for use in plan.decorators}
    entries = REGISTRY.snapshot("effect")
    return {id: e.body.component.resolve() for id, e in entries.items() if id not in answered}


def _effect_of(plan: Plan, use: Use) -> str:
    entry = plan.reached[("decorator", str(use[0]))]
    return "" if entry is None else effect_answered(entry.body, use[1])
