"""Copies of values in which some fields are others."""

import sys
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, cast

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.runtime.store import NOTHING
from repl_pair.runtime.surfaces.fitting import checker
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.declared_fields import (
    fields_of,
    is_model_class,
    is_named_tuple,
)
from repl_pair.runtime.values.hints import ANYTHING, class_hints


def patched(id: str, value: Any, fields: Mapping[str, Any]) -> Any:
    """Return a copy of a value with other fields; AuthoringError `bad_body` where it has none.

    So it is for a field whose value does not fit its declared type.
    """
    kind = real_class(value)
    if isinstance(value, dict):
        return {**cast("dict[str, Any]", value), **fields}
    known = fields_of(value)
    if known is None:
        what = "fields of a dict, a dataclass, a class of attrs, a named tuple or a model"
        raise AuthoringError("bad_body", f"{id}: patch takes {what}, not of {kind.__name__}.")
    for name in fields:
        if name not in known:
            near = did_you_mean(name, known)
            raise AuthoringError("bad_body", f"{id}: {kind.__name__} has no field {name!r}.{near}")
    hints = class_hints(kind)
    for name, part in fields.items():
        if fault := checker(hints.get(name, ANYTHING))(part, f"{id}.{name}"):
            raise AuthoringError("bad_body", f"{fault}. Nothing was changed.")
    if is_named_tuple(kind):
        return value._replace(**fields)
    if is_model_class(kind):
        return value.model_copy(update=dict(fields))
    if is_dataclass(value):
        return replace(cast("Any", value), **fields)
    return sys.modules["attr"].evolve(value, **fields)


def field_of(value: Any, name: str) -> Any:
    """Return a field of what can be patched, NOTHING where it has none of that name."""
    if value is NOTHING:
        return NOTHING
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(name, NOTHING)
    return (fields_of(value) or {}).get(name, NOTHING)
