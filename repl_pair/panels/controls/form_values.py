"""The values of a form: frozen args as inputs show them, and typed texts as args take them."""

import ast
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.panels.controls.fields import Field, Path
from repl_pair.runtime.assertions.verdicts import WIDE
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.signatures.arguments import check_arguments
from repl_pair.runtime.values.classes import hint_class, is_map, is_row, is_set, real_class
from repl_pair.runtime.values.frozen import EnumMember, Frozen, Record, sensitive_paths, to_plain
from repl_pair.runtime.values.leaves import is_leaf, leaf_json, read_leaf

LONG = 60
"""From how many characters on a text gets several lines."""
LONGEST = 20_000
"""The longest text that an input holds; what is longer can be replaced, and is not shown."""
_LITERALS = (bool, int, float, complex, str, bytes, type(None))


class NotShown(ValueError):
    """A value that no input shows; the message names its type."""


def holds_secret(frozen: Frozen) -> bool:
    """Return whether a value is a known secret, is named as one, or holds one."""
    sent = send_out(to_plain(frozen), sensitive=sensitive_paths(frozen), limits=WIDE)
    return sent.redacted > 0


def to_form(frozen: Frozen) -> Any:
    """Return a frozen value as the JSON that its parameter takes; NotShown where there is none."""
    kind = real_class(frozen)
    if kind is float and not math.isfinite(frozen):
        return str(frozen)
    if kind in (bool, int, float, str, type(None)):
        return frozen
    if kind is EnumMember:
        return frozen.name
    if kind is Record:
        return to_form(frozen.fields)
    if (leaf := leaf_json(frozen)) is not frozen:
        return leaf
    if is_map(frozen):
        return {_key(key): to_form(value) for key, value in frozen.items()}
    if is_row(frozen) or is_set(frozen):
        return [to_form(item) for item in frozen]
    raise NotShown(_named(frozen))


def shown(part: Field, frozen: Frozen) -> Any:
    """Return what the input of a field shows; NotShown where it can only be replaced."""
    if part.options:
        form = to_form(frozen)
        if form not in list(part.options):
            raise NotShown(f"{form!r}")
        return str(list(part.options).index(form))
    if part.control == "expression":
        return _bounded(repr(_literal(to_plain(frozen))))
    form = to_form(frozen)
    if part.control == "checkbox" and type(form) is bool:
        return form
    if part.control == "json":
        return _bounded(json.dumps(form, indent=1, ensure_ascii=False))
    if isinstance(form, list | dict) or type(form) is bool:
        raise NotShown(_named(frozen))
    return _bounded(str(form))


def read(part: Field, raw: Any) -> Any:
    """Read what was typed into a field; ValueError names what the field takes."""
    if part.control == "checkbox":
        return bool(raw)
    text = str(raw)
    if part.options:
        return part.options[int(text)]
    way = part.control if part.control in ("expression", "json") else part.schema.get("type")
    make, fault = _READERS.get(way, (None, ""))
    try:
        value = text if make is None else make(text.strip())
    except _UNREADABLE as error:
        raise ValueError(fault.format(error=error)) from None
    if part.control != "expression":
        _check(part, value)
    return value


def fault_in(error: RequestError, paths: Sequence[Path]) -> Path | None:
    """Return the field that a refusal names, if any."""
    words = str(error.detail.get("path", "")) or error.message
    named = [path for path in paths if f"args.{'.'.join(path)}" in words]
    return max(named, key=len, default=None)


_UNREADABLE = (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError)
_READERS: Mapping[Any, tuple[Callable[[str], Any], str]] = {
    "expression": (
        ast.literal_eval,
        "Expected a Python literal: numbers, quoted text, lists, tuples, dicts, sets, None.",
    ),
    "json": (json.loads, "This is not JSON: {error}."),
    "integer": (int, "Expected a whole number, such as 3."),
    "number": (float, "Expected a number, such as 1.5."),
}
"""How a text is read, by the control or the type of a field, and what is wrong where it cannot."""


def _check(part: Field, value: Any) -> None:
    name = part.path[-1]
    schema = {"properties": {name: part.schema}, "required": (), "additionalProperties": False}
    faults = check_arguments(schema, {name: value})
    if faults:
        raise ValueError(" ".join(faults))
    for arm in part.hint.arms[:1]:
        if is_leaf(cls := hint_class(arm)) and cls is not bytes:
            try:
                read_leaf(value, cls)
            except ValueError as error:
                raise ValueError(f"Expected {error}.") from None
    if isinstance(value, int | float):
        if part.least is not None and value < part.least:
            raise ValueError(f"Expected {part.least} or more.")
        if part.most is not None and value > part.most:
            raise ValueError(f"Expected {part.most} or less.")


def _literal(plain: Any) -> Any:
    """Return data that has a Python literal, its frozen sets as sets; else raise NotShown."""
    kind = real_class(plain)
    if kind in (float, complex) and not math.isfinite(abs(plain)):
        raise NotShown(str(plain))
    if kind in _LITERALS:
        return plain
    if kind in (list, tuple):
        items = [_literal(item) for item in plain]
        return items if kind is list else tuple(items)
    try:
        if kind is dict:
            return {_literal(key): _literal(value) for key, value in plain.items()}
        if kind in (set, frozenset) and plain:
            return set(map(_literal, plain))
    except TypeError:  # a set in a set or key would have to be frozen, which has no literal
        raise NotShown("a frozenset") from None
    raise NotShown("a set" if kind is frozenset else _named(plain))


def _bounded(text: str) -> str:
    if len(text) > LONGEST:
        raise NotShown(f"{len(text)} characters")
    return text


def _key(key: Any) -> str:
    plain = to_plain(key)
    if type(plain) is not str:
        raise NotShown("a mapping whose keys are not text")
    return plain


def _named(frozen: Any) -> str:
    return f"a {real_class(frozen).__name__}"
