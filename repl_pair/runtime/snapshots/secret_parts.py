"""Which parts of a stored output are secrets by a name: that of their key, field, or header."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import is_not
from typing import Any

from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.reading.table_names import is_open
from repl_pair.runtime.values.classes import is_exactly, is_of, real_class
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.marks import (
    has_url_password,
    is_name,
    is_secret_key,
    is_secret_label,
    is_secret_name,
    names_own_value,
    names_secret,
)
from repl_pair.runtime.values.value_parts import judged_name

_OF_URLS = {"userinfo": "://{}@", "netloc": "://{}"}
"""Fields of parsed URLs that may hold a password, and where they stand in a URL."""
_OF_SPLIT = (5, 6)
"""How many parts `urlsplit` and `urlparse` give: the scheme and the host come first."""
_DEPTH = 4
"""How far into what pickle keeps: tblib puts the arguments of an exception into a mapping."""
_PIN = 1000
"""The smallest number that may be a secret: smaller ones count, or number the kinds of tokens."""


def is_secret_slot(key: Any, part: Any) -> bool:
    """Return whether what stands under a key is a secret; what is missing or counts is none."""
    if part is None or type(part) is bool:
        return False
    key = judged_name(key)
    if is_secret_name(key):
        is_count = is_exactly(part, int, float) and (-_PIN < part < _PIN or not is_name(key))
        return not is_count
    return type(part) is str and key in _OF_URLS and has_url_password(_OF_URLS[key].format(part))


def secret_position(items: Sequence[Any]) -> int | None:
    """Return where in a tuple a secret stands: behind its name, or as the host of a split URL."""
    if _is_secret_pair(items):
        return len(items) - 1
    is_split = len(items) in _OF_SPLIT and all(type(part) is str for part in items[:2])
    return 1 if is_split and has_url_password("{}://{}".format(*items)) else None


def _is_secret_pair(items: Sequence[Any]) -> bool:
    """Return whether a tuple is the name of a secret and the secret, both texts.

    A header of httpx has its name twice, as it was written and in lower case. A sentence is no
    name: what a view answers is a text and a status.
    """
    if len(items) not in (2, 3) or not is_of(items[-1], str, bytes, bytearray):
        return False
    name = items[0]
    if type(name) is bytes:
        again = items[1:-1]
        is_header = all(type(one) is bytes and one == name.lower() for one in again)
        return is_header and is_secret_key(name.decode("latin-1"))
    return len(items) == 2 and names_secret(name)


def hide_unnamed(value: Any) -> Callable[[Any], Any]:
    """Return what replaces the secret fields of an instance where they stand without their names.

    It takes one part of what pickle keeps, and looks into the containers of these.
    """
    fields = (read_fields(value, private=True) or ({},))[0]
    secret = [
        part.value if type(part) is Secret else part
        for name, part in fields.items()
        if type(part) is Secret or is_secret_slot(name, part)
    ]
    secret = [part for part in secret if part is not None and type(part) is not bool]

    return partial(_hide, secret, depth=_DEPTH) if secret else lambda part: part


def _hide(secret: list[Any], part: Any, depth: int) -> Any:
    if any(_is_same(part, one) for one in secret):
        return Secret(part)
    if depth and is_exactly(part, list, tuple):
        return real_class(part)(_hide(secret, item, depth - 1) for item in part)
    if depth and is_exactly(part, dict):
        return {key: _hide(secret, item, depth - 1) for key, item in part.items()}
    return part


def hide_fields(row: Any, dtype: Any) -> Any:
    """Return a row of an array with Secrets in its fields by name; the row itself without any."""
    if not dtype.names:
        return row
    pairs = zip(dtype.names, row, strict=True)
    cells = {name: hide_fields(cell, dtype.fields[name][0]) for name, cell in pairs}
    beside = {"value"} if names_own_value(cells) else set[str]()
    hidden = {name for name in cells if name in beside or is_secret_label(name)}
    made = [Secret(c) if n in hidden and not is_open(c) else c for n, c in cells.items()]
    return tuple(made) if any(map(is_not, made, row)) else row


def _is_same(one: Any, other: Any) -> bool:
    is_plain = is_exactly(one, str, bytes, int, float) and real_class(one) is real_class(other)
    return one is other or (is_plain and one == other)
