"""Frozen data as Python text: what a person would write in a cell to have it again."""

import datetime
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from pathlib import PurePath
from typing import Any
from uuid import UUID

from repl_pair.runtime.values.classes import TypeRef, real_class
from repl_pair.runtime.values.frozen import EnumMember, Frozen, Record

WIDTH = 88
_INDENT = "    "
_MOMENTS = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta)


@dataclass(kw_only=True, eq=False, repr=False)
class Writer:
    """Writes values, and notes what the text needs before it and what it could not say.

    `odd` names the places of values that no text says; each stands as a bare name that is to be
    filled in, so the text does not run before that is done.
    """

    imports: set[str] = field(default_factory=set[str])
    odd: list[str] = field(default_factory=list[str])

    def value(self, frozen: Frozen, where: str) -> str:
        """Write one value."""
        kind = real_class(frozen)
        if kind in (bool, int, type(None), bytes, complex):
            return repr(frozen)
        if kind is str:
            return quoted(frozen)
        if kind is float:
            return repr(frozen) if isfinite(frozen) else f'float("{frozen}")'
        if kind is dict:
            return self._map(frozen, where)
        if kind in (list, tuple, frozenset):
            return self._row(kind, frozen, where)
        if kind is Record:
            return f"{self._class(frozen.type)}({self.keywords(frozen.fields, where)})"
        if kind is EnumMember:
            return f"{self._class(frozen.type)}.{frozen.name}"
        return self._leaf(kind, frozen, where)

    def keywords(self, items: Mapping[str, Frozen], where: str) -> str:
        """Write the keyword arguments of a call."""
        return ", ".join(f"{k}={self.value(v, f'{where}.{k}')}" for k, v in items.items())

    def _leaf(self, kind: type, frozen: Frozen, where: str) -> str:
        if kind in _MOMENTS and _has_plain_zone(frozen):
            self.imports.add("import datetime")
            return repr(frozen)
        if kind in (Decimal, UUID) or issubclass(kind, PurePath):
            module = "pathlib" if issubclass(kind, PurePath) else kind.__module__
            self.imports.add(f"from {module} import {kind.__name__}")
            return f"{kind.__name__}({quoted(str(frozen))})"
        name = str(getattr(frozen, "type", None) or kind.__name__)
        self.odd.append(f"{where}: {name}")
        return f"fill_in_{name}"

    def _map(self, items: Mapping[Any, Frozen], where: str) -> str:
        pairs = (
            f"{self.value(k, where)}: {self.value(v, f'{where}.{k}')}" for k, v in items.items()
        )
        return f"{{{', '.join(pairs)}}}"

    def _row(self, kind: type, items: Iterable[Frozen], where: str) -> str:
        written = [self.value(item, f"{where}[{i}]") for i, item in enumerate(items)]
        if kind is list:
            return f"[{', '.join(written)}]"
        if kind is frozenset:
            return f"{{{', '.join(sorted(written))}}}" if written else "set()"
        return f"({', '.join(written)}{',' if len(written) == 1 else ''})"

    def _class(self, ref: TypeRef) -> str:
        outer, _, rest = ref.qualname.partition(".")
        if ref.module not in ("__main__", "builtins"):
            self.imports.add(f"from {ref.module} import {outer}")
        return f"{outer}.{rest}" if rest else outer


def quoted(text: str) -> str:
    """Write a text in double quotes where nothing in it speaks against that."""
    written = repr(text)
    return written if '"' in text or written[0] == '"' else f'"{written[1:-1]}"'


def are_keywords(names: Iterable[str], *, taken: Iterable[str] = ()) -> bool:
    """Return whether names may be keyword arguments of a call that has `taken` ones already."""
    return all(n.isidentifier() and not keyword.iskeyword(n) and n not in taken for n in names)


def call_text(name: str, parts: Iterable[str], *, depth: int = 0) -> str:
    """Write a call: on one line where there is room, else a part a line."""
    parts = list(parts)
    line = f"{name}({', '.join(parts)})"
    if len(line) + depth * len(_INDENT) <= WIDTH and "\n" not in line:
        return line
    inner = _INDENT * (depth + 1)
    return f"{name}(\n" + "".join(f"{inner}{part},\n" for part in parts) + f"{_INDENT * depth})"


def list_text(items: Iterable[str], *, depth: int) -> str:
    """Write a list, an item a line."""
    inner = _INDENT * (depth + 1)
    lines = "".join(f"{inner}{item},\n" for item in items)
    return f"[\n{lines}{_INDENT * depth}]" if lines else "[]"


def _has_plain_zone(moment: Any) -> bool:
    zone = getattr(moment, "tzinfo", None)
    return zone is None or type(zone) is datetime.timezone
