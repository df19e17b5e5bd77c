"""Expressions over tags: `test and not slow`, `agent or (docs and state/empty)`."""

import re
from collections.abc import Callable, Collection, Sequence

from repl_pair.errors import RequestError, did_you_mean

Fits = Callable[[Collection[str]], bool]
"""Returns whether the tags of one variant fit."""


def read_tags(line: str, known: Sequence[str]) -> tuple[Sequence[str], Fits]:
    """Read `and`, `or`, `not` and parentheses over the known tags, in the grammar of pytest's -m.

    Gives the tags that it names, and the predicate that it is.
    RequestError `bad_arguments` for another grammar, `not_found` for other tags.
    """
    words = _TOKEN.findall(line)
    reader = _Reader(line, words)
    try:
        fits = reader.either()
    except RecursionError:
        raise reader.fault("it is nested too deeply") from None
    if reader.rest:
        raise reader.fault(f"{reader.rest[0]!r} is one too many")
    named = tuple(dict.fromkeys(word for word in words if word not in _SPECIAL))
    for word in named:
        if word not in known:
            raise RequestError("not_found", f"There is no tag {word!r}.{did_you_mean(word, known)}")
    return named, fits


class _Reader:
    """Reads one line from the left; `rest` are the words that are still to come."""

    def __init__(self, line: str, words: Sequence[str]) -> None:
        self.line = line
        self.rest = list(words)

    def fault(self, what: str) -> RequestError:
        return RequestError(
            "bad_arguments",
            f"Tags {self.line!r}: {what}. It is written as 'test and not (slow or docs)'.",
        )

    def either(self) -> Fits:
        return self._joined("or", lambda: self._joined("and", self._one))

    def _joined(self, word: str, read: Callable[[], Fits]) -> Fits:
        sides = [read()]
        while self._takes(word):
            sides.append(read())
        join = any if word == "or" else all
        return lambda tags: join(side(tags) for side in sides)

    def _one(self) -> Fits:
        if self._takes("not"):
            other = self._one()
            return lambda tags: not other(tags)
        if self._takes("("):
            inner = self.either()
            if not self._takes(")"):
                raise self.fault("a ')' is missing")
            return inner
        if not self.rest or self.rest[0] in _SPECIAL:
            raise self.fault("a tag is missing")
        word = self.rest.pop(0)
        return lambda tags: word in tags

    def _takes(self, word: str) -> bool:
        if self.rest[:1] != [word]:
            return False
        self.rest.pop(0)
        return True


_TOKEN = re.compile(r"[()]|[^\s()]+")
_SPECIAL = ("and", "or", "not", "(", ")")
