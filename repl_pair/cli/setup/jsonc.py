"""JSON with comments and last commas, as editors write it: read, and one entry more put into it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

UNIT = "  "
_STRING = r'("(?:\\.|[^"\\])*")'
_COMMENT = re.compile(_STRING + r"|\A\ufeff|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, kw_only=True)
class _Object:
    """Where an object of a text stands: its braces, and its members, each by key and value."""

    start: int
    end: int
    members: Mapping[str, tuple[int, int]]


def parse(text: str) -> Mapping[str, Any]:
    """Read a text, `{}` if it has nothing but comments; ValueError if it is no JSON object."""
    plain = _blank(_LAST_COMMA, _blank(_COMMENT, text))
    found: Any = json.loads(plain) if plain.strip() else {}
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    return cast("dict[str, Any]", found)


def insert(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Put the entry under `key`, behind the others; all that stood there stays as it is."""
    bare = _blank(_COMMENT, text)
    if not bare.strip():
        begun = text.rstrip() + _newline(text) if text.strip() else ""
        return begun + json.dumps({key: {name: entry}}, ensure_ascii=False, indent=UNIT) + "\n"
    plain = _blank(_LAST_COMMA, bare)
    outer = _measure(plain, plain.index("{"))
    if key not in outer.members:
        return _append(text, bare, outer, {key: {name: entry}})
    _, at = outer.members[key]
    if plain[at] != "{":
        raise ValueError(f"its {key!r} is not an object")
    return _append(text, bare, _measure(plain, at), {name: entry})


def _blank(what: re.Pattern[str], text: str) -> str:
    """Write spaces over what is found outside of strings; every place and line stays."""
    return what.sub(lambda found: found[1] or re.sub(r"[^\r\n]", " ", found[0]), text)


def _measure(plain: str, start: int) -> _Object:
    """Measure the object that begins at `start`; the text is known to be JSON."""
    members: dict[str, tuple[int, int]] = {}
    at = _skip(plain, start + 1)
    while plain[at] != "}":
        name, end = _DECODER.raw_decode(plain, at)
        value = _skip(plain, end)
        members[name] = at, value
        at = _skip(plain, _DECODER.raw_decode(plain, value)[1])
    return _Object(start=start, end=at, members=members)


def _skip(plain: str, at: int) -> int:
    """Pass over spaces and what separates the parts of an object."""
    while plain[at].isspace() or plain[at] in ":,":
        at += 1
    return at


def _append(text: str, bare: str, found: _Object, member: Mapping[str, Any]) -> str:
    """Put a member before the closing brace, in the manner of its neighbours."""
    last = len(bare[: found.end].rstrip())
    comma = "" if bare[last - 1] in "{," else ","
    gap = text[last : found.end]
    kept = gap.rstrip()
    if found.members and "\n" not in text[found.start : found.end]:
        written = json.dumps(member, ensure_ascii=False)[1:-1]
        return text[:last] + comma + kept + " " + written + text[last + len(kept) :]
    newline = _newline(text)
    before = newline + _indent(text, found.start)
    closing = gap[len(kept) :] if "\n" in gap[len(kept) :] else before
    unit, margin = _unit(text), _margin(text, found)
    lines = json.dumps(member, ensure_ascii=False, indent=unit).splitlines()[1:-1]
    written = newline.join(margin + line.removeprefix(unit) for line in lines)
    return text[:last] + comma + kept + newline + written + closing + text[found.end :]


def _margin(text: str, found: _Object) -> str:
    """Return the white space before a member: as before the last one that has a line of its own."""
    for at, _ in sorted(found.members.values(), reverse=True):
        indent = _indent(text, at)
        if text[:at].endswith(("\n" + indent, "\r" + indent)):
            return indent
    return _indent(text, found.start) + _unit(text)


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return found[1] if found else UNIT


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
