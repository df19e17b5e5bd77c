"""The first pass over what leaves: a plain copy of the value, its secrets known and hidden."""

from collections.abc import Collection
from itertools import islice
from typing import Any

from repl_pair.runtime.reading.closed_values import is_closed_class, names_namespace
from repl_pair.runtime.reading.parts import MAX_BYTES, Elided, copy_dict, describe
from repl_pair.runtime.reading.table_counts import count_cells
from repl_pair.runtime.reading.table_names import secret_cells
from repl_pair.runtime.secrets.forms import secrets_beside_sentence, url_passwords
from repl_pair.runtime.secrets.needles import Needles, Rank
from repl_pair.runtime.secrets.plain_copy import Hidden, PlainCopy, Search, Share, Span
from repl_pair.runtime.values.classes import is_exactly, real_class
from repl_pair.runtime.values.marks import (
    KEY_BEGIN,
    NAME_SLOTS,
    is_secret_key,
    is_secret_label,
    is_secret_name,
    may_announce,
    names_secret,
    places_behind,
    secret_type,
)
from repl_pair.runtime.values.paths import Place, below
from repl_pair.wire import REDACTED

SCAN = 400_000
"""How many parts one walk reads where its caller names no `Span`; a container costs 8 on top.

What is beyond is Elided.
"""
CHARS = 4_000_000
"""How many characters of texts one walk searches for passwords in URLs, and bytes for secrets."""
COUNTED_TABLES = 20
"""In how many arrays and frames of what is shown nulls, least and greatest are looked for."""

_LONGEST_NAME, _SHORT = 200, 1000


def copy_plain(
    value: Any,
    *,
    needles: Needles,
    sensitive: Collection[Place] = (),
    depth: int = 8,
    rank: Rank = Rank.MET,
    search: Search | None = None,
    span: Span | None = None,
) -> PlainCopy:
    """Copy a value of any size, depth and honesty, and learn each secret that stands in it.

    A secret is known by type, by a path of `sensitive` ("*" is any key or index), or by its key.
    Dicts, lists, tuples, sets, dataclasses and namespaces are read to the bottom; instances of
    other classes down to `depth`, all within the `span`. With `search` the copy is not meant to
    leave.
    """
    walk = _Walk(needles, rank, depth, search, span)
    holder = [value]
    walk.shown.append((holder, tuple(("0", *path) for path in sensitive), Share.NAMED, -1, 0))
    walk.run()
    too_many, learned = len(walk.learned) > walk.most, frozenset(walk.learned)
    return PlainCopy(holder[0], walk.kinds, too_many, walk.left_out, learned, walk.left, walk.room)


_Waiting = tuple[Any, tuple[Place, ...], Share, int, int]
"""A body, the sensitive places below it, how much of it is secret, its level, where to begin."""


class _Walk:
    def __init__(
        self, needles: Needles, rank: Rank, depth: int, search: Search | None, span: Span | None
    ) -> None:
        self.needles, self.rank, self.depth, self.search = needles, rank, depth, search
        parts = search.parts if search else SCAN
        self.partly, self.span = search is None, span or Span(parts, 0, parts)
        self.room, self.margin, self.chars = self.span.parts, self.span.margin, CHARS
        self.widest = max(self.span.shown, self.margin // 4)
        self.shown: list[_Waiting] = []
        """What waits to be read; then, in `beyond`, what stands behind the first parts."""
        self.beyond: list[_Waiting] = []
        self._waiting = self.shown
        self.kinds: dict[int, str] = {}
        self.left: dict[int, int] = {}
        self.learned: set[str] = set()
        self.most = search.secrets if search else needles.limit
        self.left_out = 0
        self.tables = COUNTED_TABLES
        self._plain_names: set[str] = set()
        self._known: dict[int, tuple[Any, Any]] = {}
        self._learned_from: dict[tuple[int, Share], Any] = {}

    def run(self) -> None:
        # Breadth first: each object is met where it stands nearest to the root.
        most, plain = self.span.shown, self._plain_names
        for waiting in (self.shown, self.beyond):
            self._waiting = waiting
            for body, marks, share, level, start in waiting:
                named = real_class(body) is dict
                slots: Any = body.items() if named else enumerate(body)
                is_pair = ("value" in body) if named else (len(body) == 2)
                if is_pair and share is Share.NAMED and not start:
                    self._hide_beside_its_name(body, level)
                if start:
                    slots = islice(slots, start, None)
                elif waiting is self.shown and len(body) > most:
                    slots = islice(slots, most)
                    self.beyond.append((body, marks, share, level, most))
                if share is Share.BESIDE_SENTENCE:
                    self._learn_all([item for _, item in slots], level, share)
                    continue
                for slot, item in slots:
                    cls, inner = real_class(item), below(marks, slot) if marks else ()
                    secret = named and slot not in plain and self._is_secret_name(slot)
                    known = share is Share.ALL or () in inner
                    if (known or secret) and not _is_not_secret(item):
                        self._hide(body, slot, level, is_known=known or is_secret_name(slot))
                    elif cls is str:
                        if len(item) > _SHORT:
                            self._search_urls(item, level)
                        elif "://" in item:
                            self._learn_all(url_passwords(item), level)
                        elif "-" in item and not named and may_announce(item):
                            self._hide_behind(body, slot, level)
                    elif not (
                        cls is int or cls is float or cls is bool or item is None or cls is Hidden
                    ):
                        body[slot] = self._take(item, inner, level + 1)

    def _is_secret_name(self, name: str) -> bool:
        if len(name) <= _LONGEST_NAME and is_secret_key(name):
            return True
        self._plain_names.add(name)
        return False

    def _search_urls(self, text: str, level: int) -> None:
        text = text[: self.chars]
        self.chars -= len(text)
        if "://" in text:
            self._learn_all(url_passwords(text), level)

    def _hide_beside_its_name(self, body: Any, level: int) -> None:
        """Hide the value in a pair, or in a `{"name": …, "value": …}`, of a secret."""
        slot: Any
        names: list[Any]
        if real_class(body) is dict:
            slot, names = "value", [body.get(slot) for slot in NAME_SLOTS]
        else:
            slot, names = 1, [body[0]] if self.kinds.get(id(body)) == "tuple" else []
        if any(map(is_secret_label, names)) and not _is_not_secret(body[slot]):
            self._hide(body, slot, level, is_known=any(map(names_secret, names)))

    def _hide_behind(self, body: list[Any], at: int, level: int) -> None:
        """Hide what stands in a list behind the option of a secret, or the begin of a key."""
        for place in places_behind(body, at):
            if not _is_not_secret(body[place]):
                self._hide(body, place, level, is_known=KEY_BEGIN in body[at])

    def _hide(self, body: Any, slot: Any, level: int, *, is_known: bool) -> None:
        """Hide a part; what `secrets_beside_sentence` leaves of it is no secret elsewhere."""
        item = body[slot]
        self._learn(item, level, Share.ALL if is_known else Share.BESIDE_SENTENCE)
        if not is_known and not is_exactly(item, str, int, float):
            self._take(item, (), level + 1)
        body[slot] = Hidden.SECRET

    def _take(self, item: Any, marks: tuple[Place, ...], level: int) -> Any:
        known = self._known.get(id(item))
        if known and not marks:
            return known[1]
        cls = real_class(item)
        most = self.widest if self.widest < self.room else self.room
        if (cls is dict or cls is list) and (len(item) <= most or (self.partly and most > 0)):
            body = copy_dict(item, most) if cls is dict else item[:most]
            if len(item) > most:
                self.left[id(body)] = len(item) - most
            if cls is dict and names_namespace(body):
                return "<namespace>"
            return self._open(item, body, marks, level)
        if secret_type(item):
            self._learn(item, level)
            return Hidden.SECRET
        private = self.search is not None and not is_closed_class(cls)
        objects = level < self.depth
        parts = describe(item, room=most, hidden=private, objects=objects, partly=self.partly)
        if parts.met:
            self._learn_all(parts.met, level)
        if parts.unshown:
            self._take(parts.unshown, (), level)
        if _is_table(parts.body):
            if self.search:
                cells = secret_cells(item, self.search.rows)
                self.room -= len(cells)
                self._learn_all(cells, level)
            elif self.tables > 0:
                self.tables -= 1
                parts.body.update(count_cells(item, [path[0] for path in marks]))
            marks += tuple((end, "*", *path) for end in ("head", "tail") for path in marks)
        kind, body, left = parts.kind, parts.body, parts.left
        if real_class(body) is not dict and real_class(body) is not list:
            if type(body) is Elided and self._is_secret_bytes(item, body):
                return Hidden.SECRET
            self.left_out += body.size if type(body) is Elided else 0
            return body
        if len(body) > self.room:
            self.left_out += len(body)
            return Elided(kind, len(body))
        self.kinds[id(body)] = kind
        if left:
            self.left[id(body)] = left
        return self._open(item, body, marks, level)

    def _is_secret_bytes(self, item: Any, body: Elided) -> bool:
        """Return whether bytes hold a known secret; the size of longer ones is no secret's."""
        if body.kind not in ("bytes", "memoryview") or body.size > min(MAX_BYTES, self.chars):
            return False
        self.chars -= body.size
        raw = describe(item, room=self.room, hidden=True).body
        return type(raw) is bytes and bool(self.needles.find(raw.decode("latin-1")))

    def _open(self, item: Any, body: Any, marks: tuple[Place, ...], level: int) -> Any:
        self.room -= len(body) + 8
        if len(body) > self.span.shown:
            self.margin -= len(body) - self.span.shown
            self.widest = max(self.span.shown, self.margin // 4)
        self._known[id(item)] = item, body  # the item is held, so that its id stays its own
        self._waiting.append((body, marks, Share.NAMED, level, 0))
        return body

    def _learn(self, item: Any, level: int, share: Share = Share.ALL) -> None:
        if type(item) is str or type(item) is int:
            self._learn_leaf(item, share)
        elif (id(item), share) not in self._learned_from and self.room > 0:
            level = max(level, self.depth - 3) + 1  # a secret's text stands near its top
            parts = describe(item, room=self.room, hidden=True, objects=level < self.depth)
            if _is_table(parts.body):
                ends = [parts.body[end] for end in ("head", "tail") if end in parts.body]
                parts = parts._replace(body=ends)
            body, self._learned_from[id(item), share] = parts.body, item
            if real_class(body) is dict or real_class(body) is list:
                self.room -= len(body) + 8
                self._waiting.append((body, (), share, level, 0))
            elif real_class(body) in (int, bytes) or (
                type(body) is str and not body.startswith("<")
            ):
                self._learn_leaf(body, share)

    def _learn_all(self, items: list[Any], level: int, share: Share = Share.ALL) -> None:
        for item in items:
            self._learn(item, level, share)

    def _learn_leaf(self, item: str | int | bytes, share: Share) -> None:
        for part in [item] if share is Share.ALL else secrets_beside_sentence(item):
            self._learn_text(part)

    def _learn_text(self, item: str | int | bytes) -> None:
        text = item if type(item) is str else repr(item)
        if text not in self.learned:
            self.learned.add(text)
            if len(self.learned) <= self.most:
                self.needles.add(item, rank=self.rank)
            else:
                self.left_out += 1


def _is_not_secret(item: Any) -> bool:
    if item is None or item is True or item is False or item is Hidden.SECRET:
        return True
    return type(item) is str and item == REDACTED


def _is_table(body: Any) -> bool:
    return real_class(body) is dict and "shape" in body and "head" in body
