"""The hints that a callable or class is written with, resolved as far as they can be."""

import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, get_args, get_origin

from repl_pair.runtime.values.classes import per_class
from repl_pair.runtime.values.marks import Sensitive

if sys.version_info >= (3, 14):
    import annotationlib

WRAPPERS = frozenset({"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"})
"""Words around a hint that say how its name is used, by `word_of`."""
_SECRET_WORDS = re.compile(r"\b(Sensitive|Secret(Str|Bytes)?)\b")


def hints_of(target: Any) -> tuple[dict[str, Any], bool]:
    """Return the hints of a callable or class, and whether all of them could be resolved."""
    is_class = isinstance(target, type)
    kept = kept_hints(target) if is_class else {}
    if "written" in kept:
        return kept["written"], True
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except Exception:  # noqa: BLE001  annotations are the person's code and may raise anything
        return _resolve_singly(target), False
    kept["written"] = hints
    return hints, True


def _resolve_singly(target: Any) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for owner in reversed(target.__mro__) if isinstance(target, type) else (target,):
        module = getattr(sys.modules.get(owner.__module__), "__dict__", {})
        scope: Mapping[str, Any] = getattr(owner, "__globals__", module)
        if sys.version_info >= (3, 14):
            form = annotationlib.Format.FORWARDREF
            annotations = annotationlib.get_annotations(owner, format=form)
        else:
            annotations = inspect.get_annotations(owner)
        for name, annotation in annotations.items():
            holder = types.SimpleNamespace(__annotations__={name: annotation})
            try:
                hints |= typing.get_type_hints(holder, dict(scope), include_extras=True)
            except Exception:  # noqa: BLE001  annotations are the person's code and may raise anything
                text = annotation if isinstance(annotation, str) else repr(annotation)
                hints[name] = Annotated[Any, Sensitive] if _SECRET_WORDS.search(text) else Any
    return hints


@per_class
def kept_hints(_cls: type) -> dict[str, dict[str, Any]]:
    """Give what holds the hints of a class once they are resolved: as written, and all read."""
    return {}


def required_keys(cls: Any) -> list[str]:
    """Name the keys that a TypedDict must have; under postponed annotations its own are wrong."""
    hints, found = hints_of(cls)[0], list[str]()
    for name, hint in hints.items():
        words: set[str] = set()
        while (origin := get_origin(hint)) is Annotated or word_of(origin) in WRAPPERS:
            words.add(word_of(origin))
            hint = hint.__origin__ if origin is Annotated else get_args(hint)[0]
        if "Required" in words or (name in cls.__required_keys__ and "NotRequired" not in words):
            found.append(name)
    return found


def word_of(origin: Any) -> str:
    """Name what `typing` calls an origin, such as `Final`; "" for a class."""
    return getattr(origin, "_name", None) or ""
