"""What stands in secret among variables of the person's, and below them; no code of theirs runs."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from repl_pair.runtime.reading.exceptions import attributes_of
from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.values.classes import CONTAINER_IDS, is_of, real_class
from repl_pair.runtime.values.marks import (
    SHORTEST,
    is_secret_name,
    may_hold_secret_keys,
    secret_type,
)
from repl_pair.runtime.values.value_parts import judged_name

DEPTH, WIDTH = 2, 100
"""How far below a variable secrets are always looked for, and in what of how many parts."""
SECRET_WIDTH = 1_000
"""Of how many parts at most what has a secret name is always searched."""
DEEPEST = 6
"""How far below a variable a search goes."""

_NO_DATA = frozenset(map(id, (bool, int, float, type(None), type, FunctionType, ModuleType)))
_PLAIN = _NO_DATA | {id(str), id(bytes)}
_ROWS = frozenset(map(id, (list, tuple)))
_LEAST_NUMBER = 10 ** (SHORTEST - 1)
_MANY, _AT_ONCE = 1000, 250
"""Names past which they are first searched together, so many at once."""


def secrets_in(spaces: Iterable[dict[Any, Any]], left: int) -> Iterator[Any]:
    """Yield what stands in secret among variables and below them; what is in lists comes last."""
    waiting, rows = deque[tuple[Any, int]]((space, 0) for space in spaces), deque[Any]()
    met = set[int]()
    while source := waiting or rows:
        holder, depth = source.popleft()
        if depth > DEPTH and left <= 0:
            continue
        parts, private = _opened(holder, objects=left > 0)
        yield from private
        if depth > DEPTH or id(real_class(holder)) in _ROWS:
            left -= len(parts) + 1
        secret_names = _secret_names(parts) if len(parts) > _MANY else None
        for name, value in parts.items():
            kind = real_class(value)
            if id(kind) in _NO_DATA and not (kind is int and abs(value) >= _LEAST_NUMBER):
                continue
            if type(name) is str:
                is_secret = is_secret_name(name) if secret_names is None else name in secret_names
            else:
                is_secret = type(name) is not int and is_secret_name(judged_name(name))
            if kind is str or kind is int:
                if is_secret:
                    yield value
            elif id(kind) in CONTAINER_IDS and len(value) > (SECRET_WIDTH if is_secret else WIDTH):
                continue
            elif secret_type(value) or is_secret:
                yield value
            elif depth < DEPTH or (depth < DEEPEST and len(source) < left and id(value) not in met):
                met.add(id(value))
                (rows if id(kind) in _ROWS else source).append((value, depth + 1))


def _secret_names(space: Mapping[Any, Any]) -> set[str]:
    """Return the names of secrets among many: most are not looked at one by one."""
    names = [name for name in space if type(name) is str]
    some = (names[at : at + _AT_ONCE] for at in range(0, len(names), _AT_ONCE))
    return {
        n
        for part in some
        if may_hold_secret_keys("\n".join(part))
        for n in part
        if is_secret_name(n)
    }


def _opened(holder: Any, *, objects: bool) -> tuple[dict[Any, Any], list[Any]]:
    """Return the parts of a value by their names, and the secrets in its private fields.

    Those of a list are dicts, and with `objects` whatever may have parts.
    """
    kind = real_class(holder)
    if kind is dict:
        return holder.copy(), []
    if id(kind) in _ROWS:
        kinds = ((one, real_class(one)) for one in list(holder))
        rows = [one for one, cls in kinds if cls is dict or (objects and id(cls) not in _PLAIN)]
        return dict(enumerate(rows)), []
    if is_of(holder, BaseException):
        return attributes_of(holder), []
    fields, private, _ = read_fields(holder) or ({}, [], 0)
    return fields if len(fields) <= WIDTH else {}, private
