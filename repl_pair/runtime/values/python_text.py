"""Frozen data as Python text: what a person would write in a cell to have it again."""

import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from repl_pair.runtime.values.classes import TypeRef, real_class
from repl_pair.runtime.values.frozen import EnumMember, Frozen, NotData, Record
from repl_pair.runtime.values.leaves import LEAVES, is_leaf

WIDTH = 88
_INDENT = "    "


@dataclass(kw_only=True, eq=False, repr=False)
class Writer:
    """Writes values, and notes what the text needs before it and what no text can express.

    `odd` names the places of values that no text expresses: names stand there, to be filled in.
    """

    imports: set[str] = field(default_factory=set[str])
    odd: list[str] = field(default_factory=list[str])

    def value(self, frozen: Frozen, where: str, *, hashed: bool = False) -> str:
        """Write one value; a set that is `hashed`, as within a set, is a frozenset."""
        kind = real_class(frozen)
        if frozen is None:
            return "None"
        if kind is dict:
            pairs = [
                f"{self.value(key, where)}: {self.value(part, f'{where}.{key}')}"
                for key, part in frozen.items()
            ]
            return f"{{{', '.join(pairs)}}}"
        if kind in (list, tuple, frozenset):
            within = hashed or kind is frozenset
            items = enumerate(frozen)
            written = [self.value(item, f"{where}[{i}]", hashed=within) for i, item in items]
            if kind is list:
                return f"[{', '.join(written)}]"
            if kind is frozenset:
                text = f"{{{', '.join(sorted(written))}}}" if written else ""
                return f"frozenset({text})" if hashed else text or "set()"
            return f"({', '.join(written)}{',' if len(written) == 1 else ''})"
        if kind is Record:
            return f"{self._class(frozen.type)}({self.keywords(frozen.fields, where)})"
        if kind is EnumMember:
            cls, names = self._class(frozen.type), frozen.name.split("|")
            return " | ".join(f"{cls}.{n}" if n.isidentifier() else f"{cls}({n})" for n in names)
        return self._leaf(kind, frozen, where)

    def keywords(self, items: Mapping[str, Frozen], where: str) -> str:
        """Write the keyword arguments of a call."""
        return ", ".join(f"{k}={self.value(v, f'{where}.{k}')}" for k, v in items.items())

    def _leaf(self, kind: type, frozen: Frozen, where: str) -> str:
        # A class below a leaf's cannot be imported from where that is.
        written = LEAVES[kind].python(frozen) if is_leaf(kind) else None
        if written is not None:
            self.imports |= {written.needs} - {""}
            return written.text
        name = frozen.type if kind is NotData else kind.__name__
        self.odd.append(f"{where}: {name}")
        return f"fill_in_{name}"

    def _class(self, ref: TypeRef) -> str:
        outer, _, rest = ref.qualname.partition(".")
        if ref.module not in ("__main__", "builtins"):
            self.imports.add(f"from {ref.module} import {outer}")
        return f"{outer}.{rest}" if rest else outer


def are_keywords(names: Iterable[str], *, taken: Iterable[str] = ()) -> bool:
    """Return whether names may be keyword arguments of a call that has `taken` ones already."""
    return all(n.isidentifier() and not keyword.iskeyword(n) and n not in taken for n in names)


def call_text(name: str, parts: Iterable[str], *, depth: int = 0) -> str:
    """Write a call: on one line where there is room, else a part a line."""
    parts = list(parts)
    line = f"{name}({', '.join(parts)})"
    if len(line) + depth * len(_INDENT) <= WIDTH and "\n" not in line:
        return line
    return f"{name}({_lines(parts, depth)})"


def list_text(items: Iterable[str], *, depth: int) -> str:
    """Write a list, an item a line."""
    items = list(items)
    return f"[{_lines(items, depth)}]" if items else "[]"


def _lines(items: Iterable[str], depth: int) -> str:
    inner = _INDENT * (depth + 1)
    return "\n" + "".join(f"{inner}{item},\n" for item in items) + _INDENT * depth
