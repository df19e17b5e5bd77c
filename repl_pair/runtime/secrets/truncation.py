"""The second pass over what leaves: a plain copy is cut to its limits."""

import math
from collections.abc import Callable
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.reading.bounded import head_of
from repl_pair.runtime.reading.parts import Elided, KeyNames
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.plain_copy import Hidden, PlainCopy
from repl_pair.runtime.values.classes import name_of, real_class
from repl_pair.wire import ELIDED, REDACTED

KEY_CHARS = 200
_BIGGEST_INT_BITS, _PLAIN, _DEEPEST = 1024, 1 << 52, 64
_TEXT_SHARE = 10_000
"""Characters that are kept of each elided text, while there is room for any."""
_MARKER_CHARS = 110
_MARKED = 80
"""How much shorter a head is than the longest text where each character counts."""
_UNKEPT = "h-" + "0" * 24
"""Holds the place of a handle."""
MARKER_SLOTS = {"type": str, "size": int, "head": str, "handle": str}

Keep = Callable[[Any], str]


@record
class Limits:
    """How much of a value leaves at once.

    `depth` levels (at most 64), `width` parts of a container, `text` characters of a string,
    `nodes` values in all. Of what is elided, at most `whole` characters a piece are kept to read
    on. With `chars`, an answer that is longer is cut more, until it has at most so many. With
    `each`, of an answer that lists values, a value of more characters is elided as a whole.
    """

    depth: int = 8
    width: int = 50
    text: int = 2000
    nodes: int = 20_000
    whole: int = 400_000
    chars: int = 0
    each: int = 0


class TooLong(Exception):
    """Raised by `put` when what it makes has more characters than the limit."""


def is_plain_number(value: Any, needles: Needles) -> bool:
    """Return whether a value leaves as it is: nothing, a truth, or a number that is no secret."""
    if (kind := real_class(value)) is int or kind is float:
        return -_PLAIN < value < _PLAIN and not needles.traits().numeric
    return value is None or kind is bool


class Shaper:
    """Makes the JSON of one plain copy; `redacted` and `elided` count the markers put into it.

    It cuts containers and long strings, these after redaction. `texts` are all that stand in what
    it made, and `later` the markers in it whose value is still to be kept.
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
        self.redacted = self.elided = self._charged = 0
        self.nodes, self.kept, self.chars = limits.nodes - 1, 8 * limits.whole, limits.chars
        self._marked = 0 if earlier is None else _MARKED
        self._scrubbed: dict[int, tuple[str, int, int]] = earlier._scrubbed if earlier else {}
        self._unsearched = earlier._unsearched if earlier else 4 * limits.whole
        self.later: list[tuple[dict[str, Any], Any]] = []
        self._left = copy.left
        self._numeric = needles.traits().numeric
        self._above: set[int] = set()
        self.texts: list[str] = []

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
        if kind is Elided:
            return self.marker(*node)
        return node if node is None or kind is bool else self._put_text(f"<{name_of(kind)}>")

    def marker(self, kind: str, size: int, **more: str) -> dict[str, Any]:
        """Return the marker of what is elided, and count it."""
        self.elided += 1
        self.chars -= _MARKER_CHARS
        kind = kind if len(kind) <= KEY_CHARS else self.scrub(kind)[:KEY_CHARS]
        self.texts.append(kind)
        return {ELIDED: {"type": kind, "size": size, **more}}

    def _put_container(self, node: Any, level: int) -> Any:
        size = self.size_of(node) if self._left else len(node)
        if not size:
            return node.copy()
        if id(node) in self._above:
            return self._put_text("<cycle>")
        if size == 1 and real_class(node) is dict and self.is_marker(node.get(ELIDED)):
            return {ELIDED: self._put_marker(node[ELIDED])}
        room = self.nodes if self.nodes < self.limits.width else self.limits.width
        shown = len(node) if size <= room else min(len(node), room - 1)
        if level >= self.limits.depth or level >= _DEEPEST or shown < 1:
            return self.elide(node)
        self.nodes -= size if size <= room else room
        self._above.add(id(node))
        shaped: Any
        if real_class(node) is dict:
            shaped = self._put_mapping(node, shown, level + 1)
        else:
            shaped = [self.put(item, level + 1) for item in node[:shown]]
        self._above.discard(id(node))
        self.charge(shown)
        if shown == size:
            return shaped
        rest = self.elide(node)
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
            name = names.fit(self.scrub(key)) if names else key
            own = key == ELIDED and self.is_marker(item)
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
        return self.fit_text(scrubbed, rest, counted=not rest or text.startswith(scrubbed))

    def fit_text(self, text: str, rest: int = 0, *, counted: bool = True) -> Any:
        """Cut a redacted text, behind which `rest` characters more are not kept."""
        size = len(text) + (rest if counted else 0)
        if len(text) + rest <= self.limits.text or text == REDACTED:
            self.texts.append(text)
            return text
        head = head_of(text, max(0, self.limits.text - self._marked))
        self.texts.append(head)
        if rest > 0:
            text += f"\n[{f'{rest} ' if counted else ''}more characters were not kept]"
        if not self.keep or self.kept < len(text):
            return self.marker("str", size, head=head)
        self.kept -= len(text)
        marker = self.marker("str", size, head=head, handle=_UNKEPT)
        self.later.append((marker[ELIDED], text))
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

    def elide(self, node: Any) -> dict[str, Any]:
        """Return the marker of a container of the copy, with the handle that it is kept under."""
        if not self.keep:
            return self.mark(node)
        marker = self.mark(node, handle=_UNKEPT)
        self.later.append((marker[ELIDED], node))
        return marker

    def mark(self, node: Any, **more: str) -> dict[str, Any]:
        """Return the marker of a container of the copy, and count it."""
        kind = self.copy.kinds.get(id(node), type(node).__name__)
        return self.marker(kind, self.size_of(node), **more)

    def charge(self, parts: int) -> None:
        """Count the parts of a container, and the texts since the last one; raise TooLong."""
        if self.limits.chars:
            self.chars -= 3 * parts + sum(map(len, self.texts[self._charged :]))
            self._charged = len(self.texts)
            if self.chars < 0:
                raise TooLong

    def size_of(self, node: Any) -> int:
        """Return how many parts a container has, those that were not read too."""
        return len(node) + self._left.get(id(node), 0)

    def is_marker(self, body: Any) -> bool:
        """Return whether what stands under the key of markers has their form."""
        return (
            real_class(body) is dict
            and "type" in body
            and "size" in body
            and all(type(item) is MARKER_SLOTS.get(slot) for slot, item in body.items())
            and max(len(body["type"]), len(body.get("handle", ""))) <= KEY_CHARS
            and len(body.get("head", "")) <= self.limits.text
        )

    def _put_marker(self, body: dict[str, Any]) -> dict[str, Any]:
        self.texts += [item for item in body.values() if type(item) is str]
        return dict(body)

    def scrub(self, text: str) -> str:
        """Replace the secrets in a text, and count them."""
        text, count = self.needles.scrub(text)
        self.redacted += count
        return text
