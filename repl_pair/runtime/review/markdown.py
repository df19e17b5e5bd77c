"""The headings of a Markdown text, the text below each, and the text as it reads."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from repl_pair.records import row

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_NO_PARAGRAPH = re.compile(r"\s*(?:[-*+]|\d+[.)])\s|\s*>|\s*\||\s*<|(?: {4}|\t)")
# None of them takes longer than in proportion to a text: it may be a hostile one.
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
_MARKS = re.compile(r"(?m)[*`]|(?<!\w)_+|(?<!_)_+(?!\w)|^[ \t]*(?:>|[-+]|\d+[.)])[ \t]+|\\(?=\W)")


@row
class Heading:
    """A heading: its label and anchor, which no other of its text has, and the lines that it holds.

    It holds up to the next heading of its level or above.
    """

    label: str
    anchor: str
    line: int
    end: int


def read_headings(text: str) -> Sequence[Heading]:
    """Return the headings in order; of those that read alike, a second one is `Usage-1`.

    What stands in fenced code, in a comment or in front matter is none.
    """
    lines = text.splitlines()
    places = [*_find(lines)]
    labels = _unlike(title for title, _, _ in places)
    anchors = _unlike(slug(title) for title, _, _ in places)
    ends: list[int] = []
    following = [len(lines)] * 7  # where the next heading of each level is
    for _, level, line in reversed(places):
        ends.append(min(following[: level + 1]))
        following[level] = line
    return [
        Heading(label, anchor, line, end)
        for label, anchor, (_, _, line), end in zip(
            labels, anchors, places, reversed(ends), strict=True
        )
    ]


def parts_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield a text in its parts, and whether each is fenced code or a comment, or prose."""
    lines, whole = text.splitlines(), text.splitlines(keepends=True)
    at = begin = 0
    while at < len(lines):
        end = _end_of_block(lines, at)
        if end is not None:
            yield "".join(whole[begin:at]), False
            yield "".join(whole[at:end]), True
            begin = end
        at = at + 1 if end is None else end
    yield "".join(whole[begin:]), False


def _unlike(names: Iterable[str]) -> list[str]:
    """Return names of which no two are alike: `Usage`, `Usage-1`."""
    found: dict[str, None] = {}
    counts: dict[str, int] = {}
    for name in names:
        unlike = name
        while unlike in found:
            counts[name] = counts.get(name, 0) + 1
            unlike = f"{name}-{counts[name]}"
        found[unlike] = None
    return list(found)


def slug(words: str) -> str:
    """Return the anchor of a heading: small letters, digits, - and _."""
    return re.sub(r"[^\w\- ]", "", plain_text(words).strip().casefold()).replace(" ", "-")


def folded_title(words: str) -> str:
    """Return a title as it is compared: as it reads, in small letters."""
    return " ".join(plain_text(composed(words)).casefold().split())


def composed(text: str) -> str:
    """Return a text as it is compared: with each letter and its accent as one."""
    return unicodedata.normalize("NFC", text)


def plain_text(text: str) -> str:
    """Return Markdown as it reads: without marks of emphasis, code, lists, and where links lead."""
    return _MARKS.sub("", _LINK.sub(r"\1", text))


def _find(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    paragraph: list[str] = []
    at = _skip_front_matter(lines)
    while at < len(lines):
        line = lines[at]
        if (end := _end_of_block(lines, at)) is not None:
            paragraph, at = [], end
            continue
        if (atx := _ATX.fullmatch(line)) is not None:
            yield plain_text(_without_end(atx[2] or "")).strip(), len(atx[1]), at
            paragraph = []
        elif paragraph and (under := _UNDERLINE.fullmatch(line)):
            words = plain_text(" ".join(map(str.strip, paragraph)))
            yield words, 1 if under[1][0] == "=" else 2, at - len(paragraph)
            paragraph = []
        elif not line.strip() or (not paragraph and _NO_PARAGRAPH.match(line)):
            paragraph = []
        elif not _NO_PARAGRAPH.match(line):
            paragraph.append(line)
        else:
            paragraph = []
        at += 1


def _without_end(title: str) -> str:
    """Return the text of a heading without the # that may close it."""
    text = title.strip(" \t")
    head = text.rstrip("#")
    return head if head[-1:] in ("", " ", "\t") else text


def _skip_front_matter(lines: Sequence[str]) -> int:
    if lines[:1] != ["---"]:
        return 0
    return next((at + 1 for at, line in enumerate(lines) if at and line.rstrip() == "---"), 0)


def _end_of_block(lines: Sequence[str], at: int) -> int | None:
    """Return the line behind the fenced code or comment that begins here; None where none does."""
    line = lines[at]
    if fence := _FENCE.match(line):
        closed = re.compile(rf" {{0,3}}{fence[1][0]}{{{len(fence[1])},}}[ \t]*")
        inside = range(at + 1, len(lines))
        return next((n + 1 for n in inside if closed.fullmatch(lines[n])), len(lines))
    if line.lstrip(" ").startswith("<!--"):
        return next((n + 1 for n in range(at, len(lines)) if "-->" in lines[n]), len(lines))
    return None
