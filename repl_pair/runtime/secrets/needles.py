"""A set of secrets, and the search that finds every form of them in a text."""

import re
import threading
from array import array
from bisect import bisect
from collections.abc import Collection, Iterable
from enum import IntEnum
from itertools import accumulate
from struct import unpack_from
from typing import Any, NamedTuple

from repl_pair.runtime.secrets.forms import forms_of, parts_of
from repl_pair.runtime.values.marks import hide_spans, url_password_spans

_WORD_BYTES = {"I": array("I").itemsize, "Q": array("Q").itemsize}
_NUMERIC = r"[\d.eE+-]+"
# Where lines of base64 end, also escaped, compiled by `re` at the first text of several lines.
# The literal at the start lets the search skip quickly.
_FULL_LINE = "[A-Za-z0-9+/_-]{59}"
_BROKEN = rf"\n(?<={_FULL_LINE}[A-Za-z0-9+/_\r-]\n)[ \t]*(?=[A-Za-z0-9+/_-])"
_BROKEN_ESCAPED = rf"\\(?<={_FULL_LINE}\\)(?:\\*r\\)?\\*n[ \t]*(?=[A-Za-z0-9+/_-])"
_LONGEST_URL = 2048
"""How many characters a URL with a password may have, which is a secret that no needle is."""


PASSES = 8
"""More than run at the same time: a trim beside them drops nothing that one of them has met."""


class Rank(IntEnum):
    """How a secret was found: of each rank but the last, those met longest ago are dropped.

    Nothing that the last `PASSES` passes over the person's variables met is dropped.
    """

    MET = 0
    """In what a run made, or in what leaves."""
    FOUND = 1
    """From a loader, in a mode, or in a search of all that the person holds."""
    HELD = 2
    """In the person's variables, by a pass over them."""
    GIVEN = 3
    """In the environment, or in what the person registered."""


class Traits(NamedTuple):
    """What a search for needles must reckon with."""

    longest: int = 0
    """The characters of the longest form."""
    numeric: bool = False
    """Some needle may also turn up as a number."""
    bracketed: bool = False
    """A marker may complete some needle."""

    def with_those(self, others: "Iterable[Traits]") -> "Traits":
        """Return the traits of these needles and of others."""
        return Traits(*map(max, zip(self, *others, strict=True)))


class Needles:
    """The known secrets, looked for in one pass whose cost does not grow with their number.

    Each form is indexed by the machine words that its last bytes show at every alignment, so the
    aligned words of a text name the few forms that may stand in it. Threads may share it.
    """

    def __init__(self, limit: int = 2000) -> None:
        self.limit = limit
        self.ranks: dict[str, Rank] = {}
        """Each known text, the last that was met last."""
        self.version = 0
        """Counts what was learned."""
        self._lock = threading.RLock()  # a finalizer may come here again
        self._traits = Traits()
        self._tables: dict[str, dict[int, list[str]]] = {"I": {}, "Q": {}}
        self._pass, self._met_in = 0, dict[str, int]()
        """The number of the last pass that began, and that of the last one that met a held text."""

    def __len__(self) -> int:
        return len(self.ranks)

    def traits(self) -> Traits:
        """Return what a search must reckon with."""
        return self._traits

    def reach(self) -> int:
        """Return how many characters of a text may belong to one secret."""
        return max(self.traits().longest, _LONGEST_URL)

    def add(self, value: Any, *, rank: Rank = Rank.MET) -> bool:
        """Learn a secret (str, bytes, or int of 8 digits or more); return whether it counts."""
        parts = self._admit(parts_of(value), rank)
        with self._lock:
            for part in parts:
                known = self.ranks.pop(part, None)
                self.ranks[part] = rank if known is None else max(rank, known)
                if rank is Rank.HELD:
                    self._met_in[part] = self._pass
                if known is None:
                    self._index(part)
        return bool(parts)

    def begin_pass(self) -> None:
        """Begin to learn all that is held: what this pass meets stays until `PASSES` more began."""
        with self._lock:
            self._pass += 1

    def trim(self) -> None:
        """Forget those met longest ago of each rank that has more than `limit` beside the kept."""
        with self._lock:
            dropped, oldest = list[str](), self._pass - PASSES
            for text in [text for text, at in self._met_in.copy().items() if at <= oldest]:
                self._met_in.pop(text, None)
            for rank in (Rank.MET, Rank.FOUND, Rank.HELD):
                loose = [t for t, known in self.ranks.copy().items() if known is rank]
                loose = [text for text in loose if text not in self._met_in]
                if len(loose) > self.limit:
                    dropped += loose[: len(loose) - self.limit * 3 // 4]
            if dropped:
                for text in dropped:
                    del self.ranks[text]
                # Another thread searches meanwhile: it finds all in the tables of before.
                fresh, done = Needles(), set[str]()
                while missing := self.ranks.keys() - done:
                    for text in missing:
                        fresh._index(text)
                    done |= missing
                self._tables, self._traits = fresh._tables, fresh._traits
                self.version += 1

    def _admit(self, parts: set[str], rank: Rank) -> set[str]:
        """Return those parts of a secret that may be learned."""
        return parts

    def find(self, text: str) -> tuple[str, ...]:
        """Return the forms that stand in the text, with the line ends in broken base64."""
        found = self._find(text)
        if "\n" in text:
            found += self._find_broken(text, _BROKEN)
        if "\\" in text:
            found += self._find_broken(text, _BROKEN_ESCAPED)
        return found

    def _find(self, text: str) -> tuple[str, ...]:
        data = text.encode("utf-8", "surrogatepass")
        likely: set[str] = set()
        for code, table in self._tables.items():
            if table:
                whole = len(data) // _WORD_BYTES[code] * _WORD_BYTES[code]
                for word in table.keys() & array(code, data[:whole]):
                    likely.update(table[word])
        return tuple(form for form in likely if form in text)

    def _find_broken(self, text: str, breaks: str) -> tuple[str, ...]:
        spans = [match.span() for match in re.finditer(breaks, text)]
        if not spans:
            return ()
        starts = [0, *(stop for _, stop in spans)]
        stops = [start - (text[start - 1] == "\r") for start, _ in spans] + [len(text)]
        lines = [text[start:stop] for start, stop in zip(starts, stops, strict=True)]
        whole, ends, found = "".join(lines), list(accumulate(map(len, lines))), list[str]()
        for start, stop in _spans(whole, self._find(whole)):
            first, last = bisect(ends, start), bisect(ends, stop - 1)
            if first < last:
                begin = stops[first] - ends[first] + start
                found.append(text[begin : starts[last] + stop - ends[last - 1]])
        return tuple(found)

    def scrub(self, text: str, end: int | None = None) -> tuple[str, int]:
        """Replace secrets and URL passwords by the marker; return the text and how many there were.

        With `end`, only what begins before that offset is given; a secret that spans it is
        replaced whole.
        """
        window = text if end is None else text[: end + self.reach()]
        result, count = _replace(window, self.find(window), len(window) if end is None else end)
        # A marker may complete a needle that begins with "]", or the password of a URL.
        for _ in range(8 if count and (self.traits().bracketed or "://" in result) else 0):
            result, more = _replace(result, self.find(result), len(result))
            count += more
            if not more:
                break
        return result, count

    def _index(self, text: str) -> None:
        self.version += 1
        forms = forms_of(text)
        new = Traits(
            max(map(len, forms)), bool(re.fullmatch(_NUMERIC, text)), "[" in text or "]" in text
        )
        self._traits = self._traits.with_those([new])
        for form in forms:
            data = form.encode("utf-8", "surrogatepass")
            code = "Q" if len(data) >= 2 * _WORD_BYTES["Q"] - 1 else "I"
            width, table = _WORD_BYTES[code], self._tables[code]
            for start in range(len(data) - 2 * width + 1, len(data) - width + 1):
                (word,) = unpack_from(code, data, start)
                table.setdefault(word, []).append(form)


def _replace(text: str, forms: Collection[str], end: int) -> tuple[str, int]:
    spans = [span for span in _spans(text, forms) if span[0] < end]
    shown = max([end, *(stop for _, stop in spans[-1:])])
    return hide_spans(text[:shown], spans), len(spans)


def _spans(text: str, forms: Collection[str]) -> list[tuple[int, int]]:
    spans = url_password_spans(text)
    for form in forms:
        at = -1
        while (at := text.find(form, at + 1)) >= 0:
            spans.append((at, at + len(form)))
    merged = list[tuple[int, int]]()
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged
