"""Bodies as an agent reads them."""

from collections.abc import Mapping
from typing import Any

from repl_pair.runtime.ops.run_answers import Place
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.values.frozen import to_plain

_EMPTY: tuple[Any, ...] = (None, "", [], (), {})


def shown(slots: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots that hold something, without class names; secrets stay Secrets."""
    return {name: to_plain(value) for name, value in slots.items() if value not in _EMPTY}


def filled(**slots: Any) -> Any:
    """Return the slots that hold something, as the type of an answer that the caller names."""
    return {name: value for name, value in slots.items() if value not in (*_EMPTY, False)}


def place(entry: Entry) -> Place:
    """Return where an entry was registered: a module or notebook cell, and the line, from 1."""
    return {"where": entry.origin.label, "line": entry.origin.line}


def summary(entry: Entry) -> str:
    """Return the first line of an entry's doc."""
    return entry.body.doc.partition("\n")[0]
