"""The places at which two bounded states, or two texts, differ."""

from collections.abc import Iterator
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.paths import join_path


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
