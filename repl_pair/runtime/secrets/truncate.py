"""The later passes over what leaves: a plain copy is cut to its limits, then redacted by value."""

import math
from collections.abc import Callable
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.reading.parts import Elided, KeyNames
from repl_pair.runtime.secrets.forms import has_url_password
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.redact import Hidden, PlainCopy
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.outline import parts_of
from repl_pair.wire import ELIDED, REDACTED

KEY_CHARS = 200
_BIGGEST_INT_BITS, _PLAIN = 1024, 1 << 52
_DEEPEST, _KEPT_DEPTH, _KEPT_NODE_CHARS = 64, 32, 8
_TEXT_SHARE, _SHARE = 10_000, 2_000
"""Characters that are kept of each elided text, and container, while there is room for any."""
_MARKER_CHARS = 110
_MARKED = 80
"""How much shorter a head is than the longest text where each character counts."""
_UNKEPT = "h-" + "0" * 24
"""Holds the place of a handle."""
_MARKER_SLOTS = {"type": str, "size": int, "head": str, "handle": str}

Keep = Callable[[Any], str]


@record
class Limits:
    """How much of a value leaves at once.

    `depth` levels (at most 64), `width` parts of a container, `text` characters of a string,
    `nodes` values in all. Of what is elided, at most `whole` characters a piece are kept to read
    on. With `chars`, an answer that is longer is cut more, until it has at most so many.
    """

    depth: int = 8
    width: int = 50
    text: int = 2000
    nodes: int = 20_000
    whole: int = 400_000
    chars: int = 0


class TooLong(Exception):
    """Raised by `put` when what it makes has more characters than the limit."""


def is_plain_number(value: Any, needles: Needles) -> bool:
    """Return whether a value leaves as it is: nothing, a truth, or a number that is no secret."""
    if (kind := real_class(value)) is int or kind is float:
        return -_PLAIN < value < _PLAIN and not needles.traits().numeric
    return value is None or kind is bool


class Shaper:
    """Makes the JSON of one plain copy; `redacted` and `elided` count the markers put into it.

    `put` cuts containers and long strings, these after redaction; `clean` redacts the rest, once
    it is known which few forms stand in any of it.
    """

    def __init__(
        self,
        copy: PlainCopy,
        limits: Limits,
        needles: Needles,
        keep: Keep | None,
        earlier: "Shaper | None" = None,
    ) -> None:
        self.copy, self.limits, self.needles, self.keep = copy, limits, needles, keep
        self.redacted = self.elided = 0
        self.nodes, self.kept, self.chars = limits.nodes - 1, 8 * limits.whole, limits.chars
        self._marked = 0 if earlier is None else _MARKED
        self._scrubbed: dict[int, tuple[str, int, int]] = earlier._scrubbed if earlier else {}
        self._unsearched = earlier._unsearched if earlier else 4 * limits.whole
        self._later: list[tuple[dict[str, Any], Any]] = []
        self._left = copy.left
        self._numeric = needles.traits().numeric
        self._above: set[int] = set()
        self.texts: list[str] = []
        self._charged = 0
        self._clean_keys: set[str] = set()

    def put(self, node: Any, level: int = 0) -> Any:
        """Cut one node of the copy; `level` counts the containers around it."""
        kind = real_class(node)
        if kind is str:
            return self._put_text(node)
        if kind is dict or kind is list:
            return self._put_container(node, level)
        if kind is int or kind is float:
            plain = -_PLAIN < node < _PLAIN and not self._numeric
            return node if plain else self._put_number(node)
        if node is Hidden.SECRET:
            self.redacted += 1
            return REDACTED
        return self.marker(*node) if kind is Elided else node

    def clean(self, shaped: Any, shape: Any = Any) -> Any:
        """Replace every known secret in what `put` gave, and what is no valid text.

        The slots and words that a type `shape` names stay.
        """
        self._keep_elided()
        whole = "\x1f".join(self.texts)  # white space, so that no URL spans two texts
        forms = self.needles.find(whole)
        if forms or has_url_password(whole) or _valid(whole) is not whole:
            shaped = self._clean(shaped, forms, shape)
            self._keep_elided()
        return shaped

    def _keep_elided(self) -> None:
        """Keep what was elided, an equal share of each container, and put the handles in."""
        left = 2 * self.limits.whole
        for at, (body, node) in enumerate(self._later):
            if left > 0 and self.keep:
                share = max(left // (len(self._later) - at), _SHARE)
                kept, used = self._whole(node, min(self.limits.whole, share))
                body["handle"], left = self.keep(kept), left - used
            else:
                del body["handle"]
        self._later.clear()

    def marker(self, kind: str, size: int, **more: str) -> dict[str, Any]:
        """Return the marker of what is elided, and count it."""
        self.elided += 1
        self.chars -= _MARKER_CHARS
        kind = kind if len(kind) <= KEY_CHARS else self._scrub(kind)[:KEY_CHARS]
        self.texts.append(kind)
        return {ELIDED: {"type": kind, "size": size, **more}}

    def _put_container(self, node: Any, level: int) -> Any:
        size = self._size_of(node) if self._left else len(node)
        if not size:
            return node.copy()
        if id(node) in self._above:
            return self._put_text("<cycle>")
        if size == 1 and real_class(node) is dict and self._is_marker(node.get(ELIDED)):
            return {ELIDED: self._put_marker(node[ELIDED])}
        room = self.nodes if self.nodes < self.limits.width else self.limits.width
        shown = len(node) if size <= room else min(len(node), room - 1)
        if level >= self.limits.depth or level >= _DEEPEST or shown < 1:
            return self._elide(node)
        self.nodes -= size if size <= room else room
        self._above.add(id(node))
        shaped: Any
        if real_class(node) is dict:
            shaped = self._put_mapping(node, shown, level + 1)
        else:
            shaped = [self.put(item, level + 1) for item in node[:shown]]
        self._above.discard(id(node))
        if self.limits.chars:
            self.charge(shown)
        if shown == size:
            return shaped
        rest = self._elide(node)
        return shaped | rest if real_class(node) is dict else [*shaped, rest]

    def _put_mapping(self, node: dict[str, Any], shown: int, level: int) -> Any:
        keys, shaped = list(node)[:shown], dict[str, Any]()
        long = max(map(len, keys)) > KEY_CHARS
        if not long and ELIDED not in node:
            texts, longest = self.texts, self.limits.text
            texts += keys
            for key in keys:
                item = node[key]
                if type(item) is str and len(item) <= longest:
                    texts.append(item)
                    shaped[key] = item
                else:
                    shaped[key] = self.put(item, level)
            return shaped
        names = KeyNames(KEY_CHARS) if long else None
        for key in keys:
            item = node[key]
            name = names.fit(self._scrub(key)) if names else key
            own = key == ELIDED and self._is_marker(item)
            shaped[name] = self._put_marker(item) if own else self.put(item, level)
        self.texts += shaped
        return shaped

    def _put_text(self, text: str) -> Any:
        if len(text) <= self.limits.text or text == REDACTED:
            self.texts.append(text)
            return text
        if id(text) not in self._scrubbed:
            end = min(self.limits.whole, max(self._unsearched // 4, _TEXT_SHARE))
            self._unsearched -= min(end, len(text))
            self._scrubbed[id(text)] = *self.needles.scrub(text, end), max(0, len(text) - end)
        scrubbed, count, rest = self._scrubbed[id(text)]
        self.redacted += count
        # What is left of a text that holds a secret may be the rest of that secret.
        return self._fit_text(scrubbed, rest, counted=not rest or text.startswith(scrubbed))

    def _fit_text(self, text: str, rest: int = 0, *, counted: bool = True) -> Any:
        size = len(text) + (rest if counted else 0)
        if len(text) + rest <= self.limits.text or text == REDACTED:
            self.texts.append(text)
            return text
        head = text[: self._head()]
        self.texts.append(head)
        if rest > 0:
            text += f"\n[{f'{rest} ' if counted else ''}more characters were not kept]"
        if not self.keep or self.kept < len(text):
            return self.marker("str", size, head=head)
        self.kept -= len(text)
        marker = self.marker("str", size, head=head, handle=_UNKEPT)
        self._later.append((marker[ELIDED], text))
        return marker

    def _put_number(self, number: int | float) -> Any:
        if type(number) is float and not math.isfinite(number):
            infinite = "Infinity" if number > 0 else "-Infinity"
            return self._put_text("NaN" if number != number else infinite)
        if type(number) is int and number.bit_length() > _BIGGEST_INT_BITS:
            return self.marker("int", int(number.bit_length() * math.log10(2)) + 1)
        if self._numeric and self.needles.scrub(repr(number))[1]:
            self.redacted += 1
            return REDACTED
        return number

    def _elide(self, node: Any) -> dict[str, Any]:
        if not self.keep:
            return self.marker(self._kind_of(node), self._size_of(node))
        marker = self.marker(self._kind_of(node), self._size_of(node), handle=_UNKEPT)
        self._later.append((marker[ELIDED], node))
        return marker

    def _head(self) -> int:
        return max(0, self.limits.text - self._marked)

    def charge(self, parts: int) -> None:
        """Count the parts of a container, and the texts since the last one; raise TooLong."""
        self.chars -= 3 * parts + sum(map(len, self.texts[self._charged :]))
        self._charged = len(self.texts)
        if self.chars < 0 < self.limits.chars:
            raise TooLong

    def _size_of(self, node: Any) -> int:
        return len(node) + self._left.get(id(node), 0)

    def _kind_of(self, node: Any) -> str:
        return self.copy.kinds.get(id(node), type(node).__name__)

    def _whole(self, node: Any, room: int) -> tuple[Any, int]:
        """Return what is kept of an elided value, of at most `room` characters, and how many."""
        if type(node) is str:
            return _valid(node), 0  # counted when it was elided
        wide = Limits(
            depth=_KEPT_DEPTH,
            width=room,
            text=max(room // 2, _SHARE),
            nodes=room // _KEPT_NODE_CHARS,
            whole=room,
        )
        inner, used, named = Shaper(self.copy, wide, self.needles, None), 0, type(node) is dict
        kept: list[tuple[Any, Any]] = []
        for slot in node if named else range(len(node)):
            before = len(inner.texts)
            kept.append((slot, inner.put(node[slot], 1)))
            inner.texts.append(str(slot))
            used += _KEPT_NODE_CHARS + sum(map(len, inner.texts[before:]))
            if used > room:
                kept.pop()
                break
        if (size := self._size_of(node)) > len(kept):
            kept.append((ELIDED, inner.marker(self._kind_of(node), size)[ELIDED]))
        listed = [{slot: item} if slot == ELIDED else item for slot, item in kept]
        return inner.clean(dict(kept) if named else listed), used

    def _is_marker(self, body: Any) -> bool:
        return (
            real_class(body) is dict
            and "type" in body
            and "size" in body
            and all(type(item) is _MARKER_SLOTS.get(slot) for slot, item in body.items())
            and max(len(body["type"]), len(body.get("handle", ""))) <= KEY_CHARS
            and len(body.get("head", "")) <= self.limits.text
        )

    def _put_marker(self, body: dict[str, Any]) -> dict[str, Any]:
        self.texts += [item for item in body.values() if type(item) is str]
        return dict(body)

    def _scrub(self, text: str, end: int | None = None) -> str:
        text, count = self.needles.scrub(text, end)
        self.redacted += count
        return text

    def _clean(self, node: Any, forms: tuple[str, ...], shape: Any = Any) -> Any:
        if type(node) is str:
            own = shape is not Any and node in parts_of(shape).words
            return node if own else self._fit_text(self._clean_text(node, forms))
        if real_class(node) is not list and real_class(node) is not dict:
            return node
        slots, rest, _ = parts_of(shape)
        if real_class(node) is list:
            return [self._clean(item, forms, rest) for item in node]
        names, cleaned = KeyNames(KEY_CHARS), dict[str, Any]()
        for key, item in node.items():
            clean_key = key
            if key not in self._clean_keys and key not in slots:
                clean_key = self._clean_text(key, forms)
                if clean_key == key:
                    self._clean_keys.add(key)
            if key == ELIDED and self._is_marker(item):
                part = self._clean_marker(item, forms)
            else:
                part = self._clean(item, forms, slots.get(key, rest))
            cleaned[names.fit(clean_key)] = part
        return cleaned

    def _clean_marker(self, body: dict[str, Any], forms: tuple[str, ...]) -> dict[str, Any]:
        cleaned = dict(body)
        for slot in _MARKER_SLOTS.keys() & body.keys() - {"size"}:
            longest = self.limits.text if slot == "head" else KEY_CHARS
            cleaned[slot] = self._clean_text(body[slot], forms)[:longest]
        return cleaned

    def _clean_text(self, text: str, forms: tuple[str, ...]) -> str:
        dirty = len(forms) > 8 or any(form in text for form in forms) or has_url_password(text)
        return _valid(self._scrub(text) if dirty else text)


def _valid(text: str) -> str:
    try:
        if text.isascii() or text.encode():
            return text
    except UnicodeEncodeError:  # a surrogate that stands alone
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
