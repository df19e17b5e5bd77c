"""The text of a story's file of stored outputs: written, and read back line by line."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.snapshots.stored import About, SnapshotKey

FIRST = "repl-pair outputs 1"
"""The first line: what the file is, and the version of its form."""
LAST = "end"
"""The last line: without it, the file was cut."""


@record
class EntryText:
    """The lines of one stored output, as they are in the file."""

    line: int
    """The number of its header in the file."""
    lines: Sequence[str]


@record
class StoryText:
    """The outputs of one file; `fault` is the number and a description of a line that is wrong.

    With a fault, `entries` are those that it does not touch.
    """

    entries: Mapping[SnapshotKey, EntryText]
    fault: tuple[int, str] | None = None


@record
class Body:
    """One output as its lines say: its images by name, each with a digest."""

    text: str
    about: About | None
    images: Mapping[str, str]


def write_story(entries: Mapping[SnapshotKey, EntryText]) -> bytes:
    """Return the file of these outputs, in the order of their keys."""
    lines = [FIRST]
    for key in sorted(entries, key=lambda key: key.order):
        lines += ["", _header(key), *entries[key].lines]
    return "\n".join([*lines, "", LAST, ""]).encode()


def write_entry(body: Body) -> EntryText:
    """Return the lines of one output."""
    lines = [
        *_about_lines(body.about or {}),
        *(f"  image {name} {digest}" for name, digest in sorted(body.images.items())),
        *(_text_line(line) for line in body.text.removesuffix("\n").split("\n") if body.text),
        *([] if body.text.endswith("\n") or not body.text else [_UNENDED]),
    ]
    return EntryText(line=0, lines=lines)


def read_story(content: bytes) -> StoryText:
    """Read a file; what is wrong with it is in the result."""
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError as error:
        return StoryText(entries={}, fault=(content.count(b"\n", 0, error.start) + 1, "not UTF-8"))
    lines = [line.removesuffix("\r") for line in lines]  # as git writes them on Windows
    if lines[0] != FIRST:
        return StoryText(entries={}, fault=(1, f"it is {lines[0][:60]!r} and not {FIRST!r}"))
    found: dict[SnapshotKey, tuple[int, list[str]]] = {}
    faults: list[tuple[int, str]] = []
    current: SnapshotKey | None = None
    spoilt: set[SnapshotKey | None] = set()
    for number, line in enumerate(lines[1:], 2):
        key = None if line[:1] in ("", " ") else _key_in(line)
        if key is not None:
            current = key
            fault = "its output is there twice" if key in found else ""
            found.setdefault(key, (number, []))
        else:
            fault = _fault_in(line, current)
            if line.startswith("  ") and current is not None:
                found[current][1].append(line)
        if fault:
            faults.append((number, fault))
            spoilt.add(current)
    if next(line for line in reversed(lines) if line) != LAST:
        faults.append((len(lines), f"it was cut: the last line is not {LAST!r}"))
        spoilt.add(current)
    entries = {k: EntryText(line=at, lines=own) for k, (at, own) in found.items()}
    kept = {key: entry for key, entry in entries.items() if key not in spoilt}
    return StoryText(entries=kept, fault=faults[0] if faults else None)


def read_entry(entry: EntryText) -> Body:
    """Read the lines of one output; ValueError for one that is wrong."""
    slots: dict[str, Any] = {}
    hashes: dict[str, str] = {}
    images: dict[str, str] = {}
    text: list[str] = []
    for line in entry.lines:
        kind, _, rest = line[2:].partition(" ")
        if kind == "|":
            text.append(rest)
        elif kind == ":":
            text.append(json.loads(rest))
        elif kind == "image":
            name, _, images[name] = rest.partition(" ")
        elif line != _UNENDED:
            hash, _, shown = rest.partition(" ")
            if shown:
                slots[kind] = {"hash": hash, "shown": json.loads(shown)}
            else:
                hashes[kind] = hash
    whole = "".join(f"{line}\n" for line in text)
    return Body(
        text=whole.removesuffix("\n") if _UNENDED in entry.lines else whole,
        about={**hashes, "slots": slots} if slots or hashes else None,
        images=images,
    )


_UNENDED = "  \\ no newline at the end"
_HEADER = re.compile(r"([\w.-]+/[\w.-]+)(?:\[([\w/+-]+)\])?(?: (\".+\"))?", re.ASCII)
_LINE = re.compile(
    r"  (?:\||\| .*|: \".*\"|image \S+ \w+|[a-z]\w* [\w:]+(?: .+)?|\\ no newline at the end)"
)
_CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
_PLAIN = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]*(?<!\s)")
"""A line that editors and git leave as it is; others are written as JSON."""


def _header(key: SnapshotKey) -> str:
    modes = f"[{'+'.join(key.modes)}]" if key.modes else ""
    return f"{key.variant_id}{modes}{f' {_json(key.name)}' if key.name else ''}"


def _key_in(line: str) -> SnapshotKey | None:
    found = _HEADER.fullmatch(line)
    if found is None:
        return None
    variant_id, modes, name = found.groups()
    try:
        named = json.loads(name or '""')
    except ValueError:
        return None
    return SnapshotKey(
        variant_id=variant_id, modes=tuple(modes.split("+")) if modes else (), name=named
    )


def _fault_in(line: str, current: SnapshotKey | None) -> str:
    if line in ("", LAST):
        return ""
    if line.startswith(_CONFLICT):
        return "git could not merge it, and its conflict markers are there"
    if current is None or not _LINE.fullmatch(line):
        return f"a line that is not of its form: {line[:60]!r}"
    try:
        read_entry(EntryText(line=0, lines=[line]))
    except ValueError:
        return f"a line with bad JSON: {line[:60]!r}"
    return ""


def _about_lines(about: About) -> Iterator[str]:
    for name in sorted(about.keys() - {"slots"}):
        yield f"  {name} {about[name]}"
    slots: Mapping[str, Any] = about.get("slots", {})
    for name, slot in sorted(slots.items()):
        # Most slots of most variants are empty, and the variant is in the header.
        if name != "variant" and slot["shown"] not in _EMPTY:
            yield f"  {name} {slot['hash']} {_json(slot['shown'])}"


_EMPTY: Iterable[Any] = ([], {}, None)


def _text_line(line: str) -> str:
    if not _PLAIN.fullmatch(line):
        return f"  : {_json(line)}"
    return f"  | {line}" if line else "  |"


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if _PLAIN.fullmatch(text) else json.dumps(value, sort_keys=True)
