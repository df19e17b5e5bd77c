"""The first pass over what leaves: a plain copy of the value, its secrets known and hidden."""

from collections.abc import Collection, Iterator
from enum import Enum
from typing import Any, NamedTuple

from repl_pair.runtime.reading.parts import Elided, copy_dict, describe
from repl_pair.runtime.secrets.needles import Needles, url_passwords
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.marks import is_secret_key, secret_type
from repl_pair.runtime.values.paths import Place, below
from repl_pair.wire import REDACTED

SCAN = 2_000_000
"""How many parts one walk reads; a container costs 8 on top. What is beyond is Elided."""

_LONGEST_NAME, _URLS_WITHIN = 200, 1_000_000


class Hidden(Enum):
    """Stands for a secret in a copy."""

    SECRET = "secret"


class PlainCopy(NamedTuple):
    """Fresh dicts and lists, shared and cyclic as the value's own parts are.

    Leaves are None, bool, int, float, str, Hidden.SECRET and Elided. `kinds` names the type that
    stands behind a dict or list, by its id. With `flooded` more secrets were met than can be
    looked for: nothing of it may leave.
    """

    root: Any
    kinds: dict[int, str]
    flooded: bool


def copy_plain(
    value: Any,
    *,
    needles: Needles,
    sensitive: Collection[Place] = (),
    request: Any = None,
    depth: int = 8,
) -> PlainCopy:
    """Copy a value of any size, depth and honesty, and learn each secret that stands in it.

    A secret is known by type, by a path of `sensitive` ("*" is any key or index), or by its key.
    What the `request` holds is hidden likewise but never learned. Dicts, lists, tuples, sets,
    dataclasses and namespaces are read to the bottom; instances of other classes down to `depth`.
    """
    walk = _Walk(needles, frozenset(_words(request)), depth)
    holder = [value]
    walk.queue.append((holder, tuple(("0", *path) for path in sensitive), False, -1))
    walk.run()
    return PlainCopy(holder[0], walk.kinds, len(walk.learned) > needles.limit)


class _Walk:
    def __init__(self, needles: Needles, asked: frozenset[str], depth: int) -> None:
        self.needles, self.asked, self.depth = needles, asked, depth
        self.queue: list[tuple[Any, tuple[Place, ...], bool, int]] = []
        self.kinds: dict[int, str] = {}
        self.learned: set[str] = set()
        self.room = SCAN
        self._known: dict[int, tuple[Any, Any]] = {}
        self._learned_from: dict[int, Any] = {}

    def run(self) -> None:
        # Breadth first: each object is met where it stands nearest to the root.
        for body, marks, hidden, level in self.queue:
            named = real_class(body) is dict
            slots: Any = body.items() if named else enumerate(body)
            for slot, item in slots:
                inner = below(marks, slot) if marks else ()
                secret = named and len(slot) <= _LONGEST_NAME and is_secret_key(slot)
                if hidden or secret or () in inner:
                    if not _tells_nothing(item):
                        self._learn(item, level)
                        body[slot] = Hidden.SECRET
                elif type(item) is str:
                    if "://" in item:
                        self._learn_all(url_passwords(item[:_URLS_WITHIN]), level)
                elif not (type(item) is int or type(item) is float or _tells_nothing(item)):
                    body[slot] = self._take(item, inner, level + 1)

    def _take(self, item: Any, marks: tuple[Place, ...], level: int) -> Any:
        known = self._known.get(id(item))
        if known and not marks:
            return known[1]
        cls = real_class(item)
        if (cls is dict or cls is list) and len(item) <= self.room:
            return self._open(item, copy_dict(item) if cls is dict else item.copy(), marks, level)
        if secret_type(item):
            self._learn(item, level)
            return Hidden.SECRET
        parts = describe(item, room=self.room, objects=level < self.depth)
        self._learn_all(parts.met, level)
        if marks and _is_table(parts.body):
            marks += tuple(("head", "*", *path) for path in marks)
        kind, body, _ = parts
        if real_class(body) is not dict and real_class(body) is not list:
            return body
        if len(body) > self.room:
            return Elided(kind, len(body))
        self.kinds[id(body)] = kind
        return self._open(item, body, marks, level)

    def _open(self, item: Any, body: Any, marks: tuple[Place, ...], level: int) -> Any:
        self.room -= len(body) + 8
        self._known[id(item)] = item, body  # the item is held, so that its id stays its own
        self.queue.append((body, marks, False, level))
        return body

    def _learn(self, item: Any, level: int) -> None:
        if type(item) is str or type(item) is int:
            self._learn_text(item)
        elif id(item) not in self._learned_from and self.room > 0:
            level = max(level, self.depth - 3) + 1  # a secret's text stands near its top
            parts = describe(item, room=self.room, hidden=True, objects=level < self.depth)
            if _is_table(parts.body):
                parts = parts._replace(body=[parts.body["head"]])
            body, self._learned_from[id(item)] = parts.body, item
            if real_class(body) is dict or real_class(body) is list:
                self.room -= len(body) + 8
                self.queue.append((body, (), True, level))
            elif real_class(body) in (int, bytes) or (
                type(body) is str and not body.startswith("<")
            ):
                self._learn_text(body)

    def _learn_all(self, items: list[Any], level: int) -> None:
        for item in items:
            self._learn(item, level)

    def _learn_text(self, item: str | int | bytes) -> None:
        text = item if type(item) is str else repr(item)
        if text not in self.asked and text not in self.learned:
            self.learned.add(text)
            if len(self.learned) <= self.needles.limit:
                self.needles.add(item)


def _tells_nothing(item: Any) -> bool:
    return item is None or item is True or item is False or (type(item) is str and item == REDACTED)


def _is_table(body: Any) -> bool:
    return real_class(body) is dict and "shape" in body and "head" in body


def _words(request: Any) -> Iterator[str]:
    queue = [request]
    for item in queue:
        if real_class(item) is dict:
            queue += item.values()
        elif real_class(item) is list:
            queue += item
        elif type(item) is str:
            yield from (item, *url_passwords(item))
        elif type(item) is int:
            yield repr(item)
