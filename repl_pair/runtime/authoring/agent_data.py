"""Data from an agent, checked against the hints of what it is given to: no secret, no code."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.runtime.values.classes import class_behind, is_map, is_row, is_set, real_class
from repl_pair.runtime.values.code_hints import code_in, field_hints, inner_hint
from repl_pair.runtime.values.frozen import Record, Ref, Secret, sensitive_paths
from repl_pair.runtime.values.hints import read_hint, takes_of
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import join_path
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
    """Return what is wrong with data that a function or class is called with; none if it may.

    `base` is what the data is laid over, frozen: fields of an instance keep their class.
    """
    return _map_faults(given, takes_of(fn).hints, base or {}, where)


def data_faults(value: Any, *, where: str, hint: Any = Any, base: Any = None) -> list[str]:
    """Return what is wrong with data that is read by a hint; none if it may be given."""
    if real_class(base) is Secret or read_hint(hint).sensitive:
        return [f"{where} {_SECRET}."]
    if value is None or real_class(value) is Ref:
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


def sent_secrets(
    component: Callable[..., Any], events: Iterable[str], base: Mapping[str, Any]
) -> list[str]:
    """Get what is wrong with an agent's sending args as events: none that is a secret goes out."""
    secret = {path[0] for path in sensitive_paths(base)} | takes_of(component).secret
    return [
        f"args_to_events: {arg!r} is a secret, which goes to nothing but the component."
        for arg in events
        if arg in secret or is_secret_key(str(arg))
    ]


def _mapping_faults(value: Mapping[Any, Any], hint: Any, base: Any, where: str) -> list[str]:
    if found := sorted(_MARKERS.intersection(value)):
        return [f"{where} is the mark {found[0]!r} of what was cut; read_more gives the rest."]
    if real_class(base) is Record:
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
    if real_class(base) is Record:
        return _part(base.fields, key)
    if is_map(base):
        return base.get(key)
    rows: Sequence[Any] = base if is_row(base) else ()
    return rows[key] if isinstance(key, int) and key < len(rows) else None
