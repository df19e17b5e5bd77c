"""Copies of live values within bounds, with a mark wherever something was left out."""

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import islice
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.values.classes import is_map, is_row, real_class
from repl_pair.runtime.values.paths import Place, below
from repl_pair.wire import cut_at_word

MORE = "…"
"""Heads what stands where something was cut."""


@record
class Bounds:
    """How much of a value is copied: levels, parts of a container, characters, values in all."""

    depth: int = 8
    width: int = 200
    text: int = 20_000
    nodes: int = 5_000


def copy_within(
    value: Any,
    bounds: Bounds,
    read: Callable[[Any, Sequence[Place]], Any],
    places: Sequence[Place] = (),
) -> Any:
    """Copy a value level by level.

    `read` takes one value apart: it gives a mapping or a row whose parts are copied, or else what
    stands for the value. It gets those of the `places` that are within the value, to hide secrets.
    """
    room = bounds.nodes

    def copy(value: Any, depth: int, places: Sequence[Place]) -> Any:
        nonlocal room
        room -= 1
        body = read(value, places)
        if not (is_map(body) or is_row(body)):
            return body
        if body and (depth == 0 or room <= 0):
            return f"{MORE} <{real_class(value).__name__}>"
        width = max(0, min(bounds.width, room))
        left = len(body) - width
        if is_map(body):
            copied: dict[str, Any] = {}
            for key, item in islice(body.items(), width):
                name = key.name if isinstance(key, Enum) else str(key)
                copied[name] = copy(item, depth - 1, below(places, name))
            return copied | ({MORE: left} if left > 0 else {})
        items = [copy(v, depth - 1, below(places, at)) for at, v in enumerate(islice(body, width))]
        return items + ([f"{MORE} {left}"] if left > 0 else [])

    return copy(value, bounds.depth, places)


def cut_text(text: str, longest: int) -> str:
    """Return a text, past a length with a mark and how many characters are left out."""
    head = cut_at_word(text, longest)
    return text if len(head) == len(text) else f"{head}{MORE} {len(text) - len(head)}"
