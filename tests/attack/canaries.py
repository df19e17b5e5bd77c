"""Canaries: texts that must not leave a kernel, and the search for them in every byte that does."""

import base64
import html
import json
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote, quote_plus

import numpy

WINDOW = 8
"""So many characters of a canary in a row are a leak."""

_ODD = "\"'\\/+<>&é %"
_WORD = string.ascii_letters + string.digits


def _word(rng: Random, size: int = 18) -> str:
    return "".join(rng.choices(_WORD, k=size - 1)) + rng.choice(string.digits)


SHAPES: Mapping[str, Callable[[Random], str]] = {
    "token": _word,
    "odd": lambda rng: "".join(f"{odd}{_word(rng, 3)}" for odd in _ODD) + _word(rng, 4),
    "digits": lambda rng: str(rng.randrange(10**15, 10**16)),
    "unicode": lambda rng: "".join(f"{_word(rng, 3)}{odd}" for odd in "é漢字😀ß") + _word(rng, 9),
    "lines": lambda rng: "\n".join(_word(rng, 16) for _ in range(3)),
    "short": lambda rng: f"{_word(rng, 3)}!~",
}
"""How canaries look; a short one can be hidden only where it stands."""
LONG = tuple(name for name in SHAPES if name != "short")


def forms_of(text: str) -> Iterator[str]:
    """Give a text in each notation that a component or a protocol may write it in."""
    raw = text.encode()
    yield text
    for escape in (_json, lambda t: json.dumps(t, ensure_ascii=False)[1:-1], _repr, ascii):
        once = escape(text) if escape is not ascii else ascii(text)[1:-1]
        yield from (once, _json(once), _repr(once))
    yield from (html.escape(text), html.escape(text, quote=False), repr(raw)[2:-1])
    yield from (raw.hex(), raw.hex().upper())
    for safe in ("", "/"):
        yield from (quote(text, safe=safe), quote(text, safe=safe).lower(), quote_plus(text))
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw).decode().rstrip("=")
        sure = whole[-(-before * 8 // 6) + (before > 0) : (before + len(raw)) * 8 // 6]
        yield from (sure, sure.translate(str.maketrans("+/", "-_")))


def _json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _repr(text: str) -> str:
    return repr(text)[1:-1]


@dataclass(frozen=True)
class Leak:
    """A part of a canary in bytes that left, with what stands around it."""

    place: str
    part: str
    around: str


@dataclass(frozen=True)
class _Form:
    place: str
    data: bytes
    least: int
    """So many bytes of it in a row are a leak."""


class Search:
    """Finds parts of canaries in bytes, in time that does not grow with their number."""

    def __init__(self, canaries: Mapping[str, str]) -> None:
        self.bytes = 0
        """How many bytes were searched."""
        self._short: list[_Form] = []
        self._at: dict[int, list[tuple[_Form, int]]] = {}
        for place, text in canaries.items():
            for form in _distinct_forms(place, text):
                if form.least < WINDOW:
                    self._short.append(form)
                for at in range(len(form.data) - WINDOW + 1 if form.least >= WINDOW else 0):
                    word = int.from_bytes(form.data[at : at + WINDOW], "little")
                    self._at.setdefault(word, []).append((form, at))
        self._known = numpy.zeros(1 << 22, bool)
        self._known[_slots(numpy.array(list(self._at), numpy.uint64))] = True

    def find(self, data: bytes) -> set[Leak]:
        """Return the leaks in bytes."""
        self.bytes += len(data)
        found = {
            _leak(form.place, data, at, at + len(form.data))
            for form in self._short
            if (at := data.find(form.data)) >= 0
        }
        if len(data) < WINDOW:
            return found
        words = numpy.ndarray((len(data) - WINDOW + 1,), numpy.uint64, data, strides=(1,))
        for start in numpy.flatnonzero(self._known[_slots(words)]).tolist():
            for form, at in self._at.get(int(words[start]), ()):
                begin, end = _stretch(data, start, form.data, at)
                if end - begin >= form.least:
                    found.add(_leak(form.place, data, begin, end))
        return found


def texts_in(node: Any) -> Iterator[str]:
    """Give every text and key of JSON; texts that are JSON themselves are opened too."""
    if isinstance(node, str):
        yield node
        if node[:1] in ("{", "["):
            try:
                yield from texts_in(json.loads(node))
            except ValueError:
                return
    elif isinstance(node, dict):
        yield from node
        yield from texts_in(list(node.values()))
    elif isinstance(node, list):
        for item in node:
            yield from texts_in(item)


def _distinct_forms(place: str, text: str) -> Iterable[_Form]:
    whole = text.isdigit() or len(text) < WINDOW  # parts of those turn up by chance
    for form in dict.fromkeys(forms_of(text)):
        data = form.encode()
        is_encoded = len(text) < WINDOW and text not in form
        if not is_encoded:
            yield _Form(place, data, len(data) if whole else -(-WINDOW * len(data) // len(text)))


def _slots(words: Any) -> Any:
    return (words * numpy.uint64(0x9E3779B97F4A7C15)) >> numpy.uint64(42)


def _stretch(data: bytes, start: int, form: bytes, at: int) -> tuple[int, int]:
    begin, end = start, start + WINDOW
    while begin > 0 and at > start - begin and data[begin - 1] == form[at - (start - begin) - 1]:
        begin -= 1
    shift = at - start
    while end < len(data) and end + shift < len(form) and data[end] == form[end + shift]:
        end += 1
    return begin, end


def _leak(place: str, data: bytes, begin: int, end: int) -> Leak:
    around = data[max(0, begin - 150) : end + 60]
    return Leak(
        place, data[begin:end].decode("utf-8", "replace"), around.decode("utf-8", "replace")
    )
