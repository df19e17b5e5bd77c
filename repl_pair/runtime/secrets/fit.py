"""An answer within the characters of its reply: long values are cut more, never names and shape."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_origin

from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.plain_copy import PlainCopy
from repl_pair.runtime.secrets.truncation import KEY_CHARS, Keep, Limits, Shaper, TooLong
from repl_pair.runtime.signatures.outline import parts_of
from repl_pair.runtime.values.classes import real_class
from repl_pair.wire import ELIDED

_TIGHTER = (
    *((1000, 50, 6), (400, 50, 4), (250, 50, 3), (180, 50, 2), (120, 50, 2), (120, 25, 2)),
    *((180, 50, 1), (120, 12, 1), (80, 12, 0)),
)
"""Characters of a text, parts and levels of a value, one after the other until an answer fits."""
_NAMED, _SHORT = 300, 20


def shape_within(
    copy: PlainCopy, limits: Limits, needles: Needles, keep: Keep | None, shape: Any
) -> tuple[Shaper, Any]:
    """Return the shaper of a copy and what it made, of at most `limits.chars` where that can be.

    `shape` is the type of the answer: what it names stays, what it calls Any is cut.
    """
    shaper = Shaper(copy, limits, needles, keep)
    shaped = TooLong if limits.each else _made(lambda: shaper.put(copy.root), limits.chars)
    for text, width, depth in _TIGHTER:
        if shaped is not TooLong:
            break
        chars = 0 if (text, width, depth) == _TIGHTER[-1] else limits.chars
        shaper = Shaper(copy, replace(limits, chars=chars), needles, keep, shaper)
        fit = _Fit(shaper, replace(limits, chars=chars), text, width, limits.depth - depth)
        shaped = _made(lambda fit=fit: fit.put(copy.root, shape, 0), chars)
    shaper.limits = limits
    return shaper, shaped


def _made(make: Callable[[], Any], chars: int) -> Any:
    try:
        shaped = make()
    except TooLong:
        return TooLong
    text = json.dumps(shaped, ensure_ascii=False, separators=(",", ":")) if chars else ""
    return TooLong if len(text) > chars else shaped


class _Fit:
    """Cuts what stands where the type of an answer names nothing; `level` is where that begins."""

    def __init__(self, shaper: Shaper, usual: Limits, text: int, width: int, level: int) -> None:
        self.shaper, self.usual, self.level = shaper, usual, level
        text = min(text, usual.each or text)
        self.tight = replace(usual, text=text, width=min(width, usual.width))
        # A text that the op itself bounds, such as a page of a longer one, is not cut.
        is_bounded = usual.text > Limits().text
        self.named = usual if is_bounded else replace(usual, text=max(text, _NAMED))

    def put(self, node: Any, shape: Any, level: int) -> Any:
        slots, rest, _ = parts_of(shape)
        kind, holds = real_class(node), get_origin(shape)
        if kind is dict and (slots or holds is dict) and self._is_whole(node):
            self.shaper.texts += node
            self.shaper.charge(len(node))
            return {k: self.put(item, slots.get(k, rest), level + 1) for k, item in node.items()}
        if kind is list and (rest is not Any or holds is list) and self._is_whole(node):
            return [self.put(item, rest, level + 1) for item in node]
        is_named = kind is str and shape is not Any and holds is not list
        self.shaper.limits = self.named if is_named else self.tight
        each = self.usual.each
        if each and real_class(node) in (dict, list) and _length(node, each) > each:
            return self.shaper.elide(node)
        return self.shaper.put(node, level if _is_short(node) else max(level, self.level))

    def _is_whole(self, node: Any) -> bool:
        """Return whether a container of the answer's own has no part that is to be cut."""
        is_read = id(node) not in self.shaper.copy.left and len(node) <= self.usual.width
        names = node if real_class(node) is dict else ()
        return is_read and ELIDED not in names and max(map(len, names), default=0) <= KEY_CHARS


def _is_short(node: Any) -> bool:
    """Return whether a container is no longer than the marker in its place would be."""
    kind = real_class(node)
    parts = node.values() if kind is dict else node if kind is list else ()
    return len(parts) <= 2 and all(
        real_class(part) in (int, float, bool, type(None))
        or (real_class(part) is str and len(part) <= _SHORT)
        for part in parts
    )


def _length(node: Any, most: int) -> int:
    """Return about how many characters a node takes; more than `most` is not counted further.

    A node may hold itself, and may be as deep as a value of the person's.
    """
    total, waiting = 0, [node]
    while waiting and total <= most:
        part = waiting.pop()
        kind = real_class(part)
        if kind is dict:
            total += 4 * len(part) + sum(map(len, part))
            waiting.extend(part.values())
        elif kind is list:
            total += 4 * len(part)
            waiting.extend(part)
        else:
            total += len(part) if kind is str else 8
    return total
