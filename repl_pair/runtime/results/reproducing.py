"""How far a variant can be reproduced from a link, and the overrides that a link can hold."""

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
"""From the best to the lowest; a plan has the lowest label for which there is a reason."""


@record
class Reproducibility:
    """One of LABELS, and the reasons against better ones, those of the lowest label first."""

    label: str
    reasons: tuple[str, ...] = ()


def rate_reproducibility(
    plan: Plan,
    *,
    overrides: Sequence[str] = (),
    left_out: Mapping[str, str] | None = None,
    beside: Iterable[tuple[str, str]] = (),
) -> Reproducibility:
    """Rate a plan; `left_out` has the overrides that no link can hold, each with the reason.

    `beside` are kind and id of what the link names beside the plan. view-only: others lack
    something that it needs. partly: its result depends on more than what is registered. Which
    effects have no override is unknown before a run, and not rated.
    """
    reached = [entry for entry in plan.reached.values() if entry is not None]
    named = [entry for kind, id in beside if (entry := REGISTRY.find(kind, id)) is not None]
    args = {**plan.args, **plan.dispatched}
    secrets = {path[0] for path in sensitive_paths(args)} | {n for n in args if is_secret_key(n)}
    loaders = [*plan.variant.loaders, *(ref.loader for ref in refs_in(list(args.values())))]
    reasons = {
        "view-only": [
            *_not_importable(reached),
            *_registered_here(e for e in reached if e.kind in ("story", "variant")),
            *(f"{name} is a secret, which no link gives away" for name in sorted(secrets)),
            *(f"override {name} is left out: {why}" for name, why in (left_out or {}).items()),
        ],
        "partly": [
            *_registered_here(e for e in [*reached, *named] if e.kind not in ("story", "variant")),
            *(f"what loader {loader} makes is made anew by whoever opens it" for loader in loaders),
        ],
    }
    if overrides:
        reasons["partly"].append(f"overrides ({', '.join(overrides)}) stand in the link only")
    if plan.identity.code_hash == UNKNOWN:
        reasons["partly"].append(
            "the source of what runs is not to be had, so nobody can tell whether it is the same"
        )
    label = next((label for label in reversed(LABELS) if reasons.get(label)), LABELS[0])
    ordered = [reason for label in reversed(LABELS) for reason in reasons.get(label, ())]
    return Reproducibility(label=label, reasons=tuple(dict.fromkeys(ordered)))


def _not_importable(entries: Iterable[Entry]) -> Iterable[str]:
    for entry in entries:
        for function in _functions(entry):
            if function.module in ("", "__main__") or "<" in function.qualname:
                yield f"{function.qualname} is defined in this session, not in a module to import"


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


def encode_overrides(
    component: Callable[..., Any], overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the overrides that a link can hold, as JSON, and for the others why it cannot.

    Secrets are revealed. What is no JSON by itself is rebuilt once by the component's hints, to
    check that it stays equal.
    """
    hints = takes_of(component).hints
    encoded: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name, value in overrides.items():
        frozen = freeze(value, hints.get(name, Any), where=f"overrides.{name}")
        json = _to_json(frozen)
        fault = fault_of(json) or _changed(frozen, json, hints.get(name, Any))
        if fault:
            left_out[name] = fault
        else:
            encoded[name] = json
    return encoded, left_out


def _changed(frozen: Frozen, json: Any, hint: Any) -> str:
    """Describe how a value differs once rebuilt from JSON; empty if it stays equal."""
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
