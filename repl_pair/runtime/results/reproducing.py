"""How far a variant can be reproduced from its ids, and the overrides that a link carries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.records import record
from repl_pair.runtime.planning.code_hash import UNKNOWN
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.model import Component, Decorator, Entry, Function, Story
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.links import fault_of
from repl_pair.runtime.values.classes import (
    is_map,
    is_row,
    is_secret_class,
    is_set,
    real_class,
    revealed,
)
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Frozen, Ref, Secret, refs_in, sensitive_paths, to_plain
from repl_pair.runtime.values.hints import takes_of
from repl_pair.runtime.values.leaves import leaf_json
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.thaw import thaw

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
    if plan.identity.code_hash == UNKNOWN:
        yield "the source of what runs is not to be had, so nobody can tell whether it is the same"


def _reached(plan: Plan) -> Iterable[Entry]:
    return (entry for entry in plan.reached.values() if entry is not None)


def _functions(entry: Entry) -> Iterable[Component]:
    """Return the functions of an entry's body."""
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


def carry(
    component: Callable[..., Any], overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the overrides that travel, as JSON, and why the others do not.

    Secrets are revealed. What is no JSON by itself is rebuilt once, by the component's hints, to
    see that it comes back equal.
    """
    hints = takes_of(component).hints
    carried: dict[str, Any] = {}
    lost: dict[str, str] = {}
    for name, value in overrides.items():
        frozen = freeze(value, hints.get(name, Any), where=f"overrides.{name}")
        json = _to_json(frozen)
        fault = fault_of(json) or _changed(frozen, json, hints.get(name, Any))
        if fault:
            lost[name] = fault
        else:
            carried[name] = json
    return carried, lost


def _changed(frozen: Frozen, json: Any, hint: Any) -> str:
    """Report that JSON does not come back as what was given; empty if it does."""
    if not fault_of(frozen):
        return ""
    if refs_in(frozen):
        return "it is made by a loader"
    one = thaw(frozen, hint, load=_no_loader)
    try:
        other = thaw(freeze(json, hint), hint, load=_no_loader)
        same = type(one) is type(other) and bool(one == other)
    except (AuthoringError, RequestError, ValueError):  # ValueError: arrays are not simply equal
        same = False
    return "" if same else f"a {type(one).__name__} does not come back from JSON as it was"


def _to_json(frozen: Frozen) -> Any:
    kind = real_class(frozen)
    if kind is Secret:
        return _to_json(frozen.value)
    if is_secret_class(kind):
        return revealed(frozen)
    if is_map(frozen):
        return {key: _to_json(value) for key, value in frozen.items()}
    if is_set(frozen):
        return sorted(map(_to_json, frozen), key=repr)
    if is_row(frozen):
        return [_to_json(item) for item in frozen]
    plain = to_plain(frozen)
    if plain is not frozen:
        return _to_json(plain)
    return leaf_json(frozen)


def _no_loader(ref: Ref) -> Any:
    raise RequestError("cannot_run", f"{ref.loader} is not loaded to share.")
