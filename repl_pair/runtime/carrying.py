"""Overrides as JSON that a link carries, and that is rebuilt to what was given."""

from collections.abc import Callable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.foreign import is_secret_class
from repl_pair.runtime.hints import parameter_hints
from repl_pair.runtime.nodes import Frozen, Ref, Secret
from repl_pair.runtime.plain import refs_in, to_plain
from repl_pair.runtime.shapes import class_of_value, is_map, is_row, is_set
from repl_pair.runtime.share_url import fault_of
from repl_pair.runtime.thaw import thaw
from repl_pair.runtime.values import freeze


def carry(
    component: Callable[..., Any], overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Give the overrides that travel, as JSON, and why the others do not.

    Secrets are revealed. What is no JSON by itself is rebuilt once, by the component's hints, to
    see that it comes back equal.
    """
    hints = parameter_hints(component)
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
    """Say that JSON does not come back as what was given; empty if it does."""
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
    kind = class_of_value(frozen)
    if kind is Secret:
        return _to_json(frozen.value)
    if is_secret_class(kind):
        return frozen.get_secret_value()
    if is_map(frozen):
        return {key: _to_json(value) for key, value in frozen.items()}
    if is_set(frozen):
        return sorted(map(_to_json, frozen), key=repr)
    if is_row(frozen):
        return [_to_json(item) for item in frozen]
    plain = to_plain(frozen)
    if plain is not frozen:
        return _to_json(plain)
    return _LEAVES[kind](frozen) if kind in _LEAVES else _path_or_itself(frozen)


def _path_or_itself(leaf: Any) -> Any:
    if isinstance(leaf, PurePath):
        return str(leaf)
    return leaf.isoformat() if isinstance(leaf, date | time) else leaf


_LEAVES: Mapping[type, Callable[[Any], Any]] = {
    Decimal: str,
    UUID: str,
    timedelta: timedelta.total_seconds,
}


def _no_loader(ref: Ref) -> Any:
    raise RequestError("cannot_run", f"{ref.loader} is not loaded to share.")
