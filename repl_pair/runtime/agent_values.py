"""Data from an agent, held against the hints of what it is given to: no secret, no code."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.agent_hints import code_in, field_hints, inner_hint
from repl_pair.runtime.classes import class_behind
from repl_pair.runtime.hints import parameter_hints, read_hint
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.model import Entry
from repl_pair.runtime.nodes import Record, Ref, Secret
from repl_pair.runtime.paths import join_path, parse_path
from repl_pair.runtime.plain import merge, sensitive_paths
from repl_pair.runtime.plan import Plan
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secret_rules import is_secret_key
from repl_pair.runtime.shapes import class_of_value, is_map, is_row, is_set
from repl_pair.wire import ELIDED, OVERFLOW, REDACTED

_MARKERS = frozenset({ELIDED, OVERFLOW, "$image"})
_SECRET = "is a secret: only the person sets it; leave it out"
"""What `extends` lays under a body brings the person's own value along."""


def given_faults(
    fn: Callable[..., Any],
    given: Mapping[str, Any],
    *,
    where: str,
    base: Mapping[str, Any] | None = None,
) -> list[str]:
    """Give what is wrong with data that a function or class is called with; none if it may.

    `base` is what the data is laid over, frozen: fields of an instance keep their class.
    """
    return _map_faults(given, parameter_hints(fn), base or {}, where)


def data_faults(value: Any, *, where: str, hint: Any = Any, base: Any = None) -> list[str]:
    """Give what is wrong with data that is read as a hint says; none if it may be given."""
    if class_of_value(base) is Secret or read_hint(hint).sensitive:
        return [f"{where} {_SECRET}."]
    if value is None or class_of_value(value) is Ref:
        return []
    if code := code_in(hint):
        return [f"{where} takes {code}: an agent gives data only; leave it out."]
    if is_map(value):
        return _mapping_faults(value, hint, base, where)
    if is_row(value) or is_set(value):
        pairs = enumerate(value)
        return [
            fault
            for i, part in pairs
            for fault in data_faults(
                part, where=f"{where}[{i}]", hint=inner_hint(hint, i), base=_part(base, i)
            )
        ]
    if value == REDACTED:
        return [f"{where} is the mark of a secret, not its value; leave it out."]
    return []


def check_agents_layers(plan: Plan, layers: Iterable[Entry]) -> None:
    """Refuse entries of agents' that set args which they may not, as of today's code.

    A secret that a layer holds came from the person's story, which an agent's takes after.
    """
    base = {**plan.args, **plan.dispatched}
    layers = list(layers)
    if any(entry.kind in ("story", "variant") for entry in layers):
        _check_foreign_secrets(plan)
    for entry in layers:
        if entry.kind == "variant" and (
            sent := sent_secrets(plan.component, entry.body.args_to_events, base)
        ):
            raise RequestError("cannot_run", f"{plan.variant_id}: {' '.join(sent)}")
        args = {n: v for n, v in _set_by(entry).items() if class_of_value(v) is not Secret}
        where = f"{entry.kind} {entry.id!r}: args"
        if faults := given_faults(plan.component, args, where=where, base=base):
            raise RequestError("cannot_run", f"{plan.variant_id}: {' '.join(faults)}")


def sent_secrets(
    component: Callable[..., Any], events: Iterable[str], base: Mapping[str, Any]
) -> list[str]:
    """Give what is wrong with an agent's sending args as events: none that is a secret goes out."""
    hints = parameter_hints(component)
    secret = {path[0] for path in sensitive_paths(base)}
    return [
        f"args_to_events: {arg!r} is a secret, which goes to nothing but the component."
        for arg in events
        if arg in secret or is_secret_key(str(arg)) or read_hint(hints.get(arg, Any)).sensitive
    ]


def _check_foreign_secrets(plan: Plan) -> None:
    """Refuse a plan that hands the secret of a variant to another component than it was set for."""
    chain = [e for e in plan.reached.values() if e is not None and e.kind == "variant"]
    for entry in filter(_holds_secret, chain):
        theirs = REGISTRY.find("story", story_of(entry.id))
        if theirs is None or theirs.body.component != plan.story.component:
            raise RequestError(
                "cannot_run",
                f"{plan.variant_id}: variant {entry.id!r} holds a secret for another story's "
                "component.",
            )


def _holds_secret(entry: Entry) -> bool:
    body = entry.body
    return any(map(sensitive_paths, (body.args, [*body.events, *body.loaders_teardown])))


def _set_by(entry: Entry) -> Mapping[str, Any]:
    """Give the args that an entry sets; a decorator's patch sets what stands at its paths."""
    if entry.kind != "decorator":
        return entry.body.args
    found: dict[str, Any] = {}
    for path, value in entry.body.patch.items():
        head, *below = parse_path(path)
        for step in reversed(below):
            value = {step: value}
        found = merge(found, {str(head): value})
    return found


def _mapping_faults(value: Mapping[Any, Any], hint: Any, base: Any, where: str) -> list[str]:
    if found := sorted(_MARKERS.intersection(value)):
        return [f"{where} is the mark {found[0]!r} of what was cut; read_more gives the rest."]
    if class_of_value(base) is Record:
        kept: Any = class_behind(base.type, where)
        if code := code_in(kept):
            return [f"{where} takes {code}: an agent gives data only; leave it out."]
        return _map_faults(value, field_hints(kept), base.fields, where)
    return _map_faults(value, {k: inner_hint(hint, k) for k in value}, base, where)


def _map_faults(
    given: Mapping[Any, Any], hints: Mapping[str, Any], base: Any, where: str
) -> list[str]:
    faults: list[str] = []
    for key, value in given.items():
        here = join_path(where, key)
        if isinstance(key, str) and is_secret_key(key):
            faults.append(f"{here} {_SECRET}.")
        else:
            hint = hints.get(key, Any)
            faults += data_faults(value, where=here, hint=hint, base=_part(base, key))
    return faults


def _part(base: Any, key: Any) -> Any:
    if class_of_value(base) is Record:
        return _part(base.fields, key)
    if is_map(base):
        return base.get(key)
    rows: Sequence[Any] = base if is_row(base) else ()
    return rows[key] if isinstance(key, int) and key < len(rows) else None
