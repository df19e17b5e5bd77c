"""States within bounds: copies of live values, and the places at which two of them differ."""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.values.classes import is_map, is_row, real_class
from repl_pair.runtime.values.paths import Place, below, join_path
from repl_pair.wire import cut_at_word

MORE = "…"
"""Heads what stands where something was cut."""
_LONGEST_TOKEN = 512
_ENDS = (re.compile(r"\n"), 4), (re.compile(r"\s"), 1), (re.compile(r"[^\w.~+/=:@%-]"), 1)


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


def head_of(text: str, longest: int) -> str:
    """Return the head of a text, with no half of a secret that only a server knows by its form.

    It ends with a line if that is not long, else with a word, else before what may be a token. A
    longer one than is looked back over is known by its first half too.
    """
    if len(text) <= longest:
        return text
    for end, share in _ENDS:
        start = longest - min(_LONGEST_TOKEN, longest) // share
        if found := [match.start() for match in end.finditer(text, start, longest + 1)]:
            return text[: min(found[-1] + 1, longest)]
    return text[:longest]


@record
class Change:
    """What differs at one place between two states; what was or is not there is `MISSING`."""

    path: str
    before: Any
    after: Any


class _Missing:
    def __repr__(self) -> str:
        return "<missing>"


MISSING: Any = _Missing()


def changes_between(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """Return the places at which two bounded states differ."""
    if is_map(before) and is_map(after):
        for key in dict.fromkeys((*before, *after)):
            there, here = before.get(key, MISSING), after.get(key, MISSING)
            yield from changes_between(there, here, join_path(path, key))
    elif is_row(before) and is_row(after):
        yield from changes_between(dict(enumerate(before)), dict(enumerate(after)), path)
    elif not _is_same(before, after):
        yield Change(path=path, before=before, after=after)


def equal_head(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _is_same(before: Any, after: Any) -> bool:
    if before is after:
        return True
    try:
        return type(before) is type(after) and bool(before == after)
    except Exception:  # noqa: BLE001  secret types and scalars of libraries compare as they like
        return False
