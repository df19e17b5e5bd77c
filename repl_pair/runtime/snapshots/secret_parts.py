"""Which parts of a stored output are secrets by a name: that of their key, field, or header."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import is_not
from typing import Any

from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.reading.table_names import is_open
from repl_pair.runtime.reading.tables import fields_read
from repl_pair.runtime.values.classes import is_exactly, is_of, real_class
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.marks import (
    NAME_SLOTS,
    has_url_password,
    is_name,
    is_secret_key,
    is_secret_label,
    is_secret_name,
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
    if is_open(part):
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


def hide_fields(dtype: Any) -> Callable[[Any], Any] | None:
    """Return what hides the fields of a row that are secrets by name; None where none may be.

    It returns a row without secrets itself.
    """
    names = dtype.names or ()
    read = fields_read(dtype, hide_fields) if names else None
    secret = {at for at, name in enumerate(names) if is_secret_label(name)}
    slots = [at for at, name in enumerate(names) if name in NAME_SLOTS and "value" in names]
    beside = secret | {names.index("value")} if slots else secret

    def hide(row: Any) -> Any:
        cells = read(row) if read else row
        hidden = beside if any(names_secret(cells[at]) for at in slots) else secret
        if cells is row and not hidden:
            return row
        made = [Secret(c) if at in hidden and not is_open(c) else c for at, c in enumerate(cells)]
        return tuple(made) if any(map(is_not, made, row)) else row

    return hide if secret or slots or read else None


def _is_same(one: Any, other: Any) -> bool:
    is_plain = is_exactly(one, str, bytes, int, float) and real_class(one) is real_class(other)
    return one is other or (is_plain and one == other)
