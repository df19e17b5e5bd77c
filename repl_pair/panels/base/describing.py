"""Values as bounded JSON for the person's own panels; none of their code runs.

They are the real ones, except what is declared to be a secret: a panel may be seen by others.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, cast

from repl_pair.records import record
from repl_pair.runtime.reading.library import Pairs
from repl_pair.runtime.reading.parts import Elided, describe
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.marks import secret_type
from repl_pair.runtime.values.paths import Place, below
from repl_pair.wire import REDACTED, Json

Places = Sequence[Place]
"""Where a secret stands in a value."""
MORE = "…"
"""Heads what stands where something was cut."""
_BIGGEST = 1 << 53


@record
class Bounds:
    """How much of a value is shown: levels, parts of a container, characters, values in all."""

    depth: int = 8
    width: int = 200
    text: int = 20_000
    nodes: int = 5_000


SHORT = Bounds(depth=3, width=8, text=80, nodes=24)
"""What fits on one line."""


def to_json(
    value: Any,
    bounds: Bounds = Bounds(),  # noqa: B008  it is frozen
    secret: Places = (),
) -> Json:
    """Return any value as JSON; what is cut says so where it stood."""
    return _Describing(bounds).put(value, bounds.depth, secret)


def phrase(words: Sequence[Any], secret: Places = ()) -> str:
    """Say the words of a line, an event or an effect on one line: `add(n=1), result.total, 4`."""
    said = (to_json(word, SHORT, below(secret, at)) for at, word in enumerate(words))
    return ", ".join(map(_word, said))


def call_phrase(name: str, payload: Mapping[str, Any], secret: Places = ()) -> str:
    """Say an event or an effect as a call on one line."""
    return f"{name}({', '.join(_pairs(to_json(payload, SHORT, secret)))})"


def _word(word: Json) -> str:
    if isinstance(word, str):
        return word
    if isinstance(word, list) and len(word) == 2 and isinstance(word[1], dict):
        return f"{_word(word[0])}({', '.join(_pairs(word[1]))})"
    return ", ".join(_pairs(word)) if isinstance(word, dict) else literal(word)


def _pairs(mapping: Json) -> list[str]:
    pairs = cast("Mapping[str, Json]", mapping)
    return [f"{name}={literal(value)}" for name, value in pairs.items()]


def literal(value: Json) -> str:
    """Say JSON as a person would write it in Python."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {literal(v)}' for name, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


class _Describing:
    """Describes one value; `room` is what is left of it."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.room = bounds.nodes

    def put(self, value: Any, depth: int, secret: Places = ()) -> Json:
        self.room -= 1
        if secret_type(value) or () in secret:
            return REDACTED
        body = self._body(value)
        cls: type[Any] = real_class(body)
        fill = {dict: self._map, list: self._row}.get(cls)
        if fill is None:
            return self._leaf(body)
        if depth == 0 or self.room <= 0:
            return f"{MORE} <{real_class(value).__name__}>" if body else body
        return fill(body, depth, secret)

    def _body(self, value: Any) -> Any:
        parts = describe(value, room=max(10_000, self.bounds.width))
        if type(parts.body) is Elided:
            return f"<{parts.kind} of {parts.body.size}>"
        return dict(parts.body.items) if type(parts.body) is Pairs else parts.body

    def _map(self, body: Any, depth: int, secret: Places) -> Json:
        kept = islice(body.items(), self._width())
        made = {str(n): self.put(item, depth - 1, below(secret, n)) for n, item in kept}
        return made | ({MORE: len(body) - len(made)} if len(body) > len(made) else {})

    def _row(self, body: Any, depth: int, secret: Places) -> Json:
        kept = enumerate(body[: self._width()])
        made = [self.put(item, depth - 1, below(secret, at)) for at, item in kept]
        return made + ([f"{MORE} {len(body) - len(made)}"] if len(body) > len(made) else [])

    def _width(self) -> int:
        return max(0, min(self.bounds.width, self.room))

    def _leaf(self, body: Any) -> Json:
        if type(body) is str:
            cut = len(body) - self.bounds.text
            return body if cut <= 0 else f"{body[: self.bounds.text]}{MORE} {cut}"
        if type(body) is float:
            return body if math.isfinite(body) else str(body)
        if type(body) is int:
            return body if -_BIGGEST < body < _BIGGEST else _long(body)
        return body if body is None or type(body) is bool else str(body)


def _long(number: int) -> str:
    return str(number) if number.bit_length() < 4_000 else f"<int of {number.bit_length()} bits>"
