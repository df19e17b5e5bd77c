"""How far a variant can be reproduced by whoever gets no more than its ids, and why no further."""

from collections.abc import Iterable, Mapping, Sequence

from repl_pair.records import record
from repl_pair.runtime.code_hash import UNKNOWN
from repl_pair.runtime.identity import identify
from repl_pair.runtime.model import Component, Decorator, Entry, Function, Story
from repl_pair.runtime.plain import refs_in, sensitive_paths
from repl_pair.runtime.plan import Plan
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secret_rules import is_secret_key

LABELS = ("fully", "partly", "view-only")
"""From the best to the lowest; the lowest of all reasons wins."""


@record
class Reproducibility:
    """One of LABELS, and what speaks against a better one, the lowest first."""

    label: str
    reasons: tuple[str, ...] = ()


def judge(
    plan: Plan,
    *,
    overrides: Sequence[str] = (),
    lost: Mapping[str, str] | None = None,
    also: Iterable[tuple[str, str]] = (),
) -> Reproducibility:
    """Judge a plan; `lost` says why an override does not travel, `also` are ids beside the plan.

    view-only: not everybody can have what it needs. partly: what it settles to hangs on more than
    what is registered. Of effects that nothing answers for, nobody knows before a run.
    """
    reasons = {
        "view-only": [*_not_importable(plan), *_not_shared(plan), *_secret(plan), *_lost(lost)],
        "partly": [*_here_only(plan, also), *_live(plan), *_overridden(overrides), *_unknown(plan)],
    }
    label = next((label for label in reversed(LABELS) if reasons.get(label)), LABELS[0])
    said = dict.fromkeys(reason for label in reversed(LABELS) for reason in reasons.get(label, ()))
    return Reproducibility(label=label, reasons=tuple(said))


def _not_importable(plan: Plan) -> Iterable[str]:
    for entry in _reached(plan):
        for found in _functions(entry):
            if found.module in ("", "__main__") or "<" in found.qualname:
                yield f"{found.qualname} is defined in this session, not in a module to import"


def _not_shared(plan: Plan) -> Iterable[str]:
    return _registered_here(e for e in _reached(plan) if e.kind in ("story", "variant"))


def _secret(plan: Plan) -> Iterable[str]:
    args = {**plan.args, **plan.dispatched}
    named = {path[0] for path in sensitive_paths(args)} | {n for n in args if is_secret_key(n)}
    return (f"{name} is a secret, which no link gives away" for name in sorted(named))


def _lost(lost: Mapping[str, str] | None) -> Iterable[str]:
    return (f"override {name} is left out: {why}" for name, why in (lost or {}).items())


def _here_only(plan: Plan, also: Iterable[tuple[str, str]]) -> Iterable[str]:
    beside = (REGISTRY.find(kind, id) for kind, id in also)
    found = [*_reached(plan), *(entry for entry in beside if entry is not None)]
    return _registered_here(e for e in found if e.kind not in ("story", "variant"))


def _live(plan: Plan) -> Iterable[str]:
    refs = refs_in([plan.args, plan.dispatched])
    for loader in dict.fromkeys([*plan.variant.loaders, *(ref.loader for ref in refs)]):
        yield f"what loader {loader} makes is made anew by whoever opens it"


def _overridden(overrides: Sequence[str]) -> Iterable[str]:
    if overrides:
        yield f"overrides ({', '.join(overrides)}) stand in the link only"


def _unknown(plan: Plan) -> Iterable[str]:
    if identify(plan).code_hash == UNKNOWN:
        yield "the source of what runs is not to be had, so nobody can tell whether it is the same"


def _reached(plan: Plan) -> Iterable[Entry]:
    return (entry for entry in plan.reached.values() if entry is not None)


def _functions(entry: Entry) -> Iterable[Component]:
    """Give the functions of an entry's body."""
    body = entry.body
    found: list[Component | None] = []
    if isinstance(body, Story):
        found = [body.component, body.state]
    elif isinstance(body, Function):
        found = [body.component]
    elif isinstance(body, Decorator):
        found = [body.wrap]
    return (function for function in found if function is not None)


def _registered_here(entries: Iterable[Entry]) -> Iterable[str]:
    for entry in entries:
        place = entry.origin.key
        if place != "builtin" and (not place.startswith("module:") or place == "module:__main__"):
            yield f"{entry.kind} {entry.id} is registered by {entry.origin.label}, not by a module"
