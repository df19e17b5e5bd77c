"""The text of one stored output in its story's file: a header, and a line for each part."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.snapshots.records import About, SnapshotKey


@record
class EntryText:
    """One stored output as it is in the file: its header, and the lines below it."""

    line: int
    """The number of its header in the file."""
    text: str


@record
class Body:
    """One output as its lines say: its images by name, each with a digest."""

    text: str
    about: About | None
    images: Mapping[str, str]


def write_entry(key: SnapshotKey, body: Body) -> EntryText:
    """Return the lines of one output."""
    modes = f"[{'+'.join(key.modes)}]" if key.modes else ""
    lines = [
        f"{key.variant_id}{modes}{f' {_json(key.name)}' if key.name else ''}",
        *_about_lines(body.about or {}),
        *(f"  image {name} {digest}" for name, digest in sorted(body.images.items())),
        *(_text_line(line) for line in body.text.removesuffix("\n").split("\n") if body.text),
        *([] if body.text.endswith("\n") or not body.text else [_UNENDED]),
    ]
    return EntryText(line=0, text="\n".join(lines))


def read_entry(entry: EntryText) -> Body:
    """Read the lines of one output; ValueError for one that is wrong."""
    slots: dict[str, Any] = {}
    hashes: dict[str, str] = {}
    images: dict[str, str] = {}
    text: list[str] = []
    is_ended = True
    for line in entry.text.split("\n")[1:]:
        kind, _, rest = line[2:].partition(" ")
        if kind == "|":
            text.append(rest)
        elif kind == ":":
            text.append(json.loads(rest))
        elif kind == "image":
            name, _, images[name] = rest.partition(" ")
        elif line == _UNENDED:
            is_ended = False
        else:
            hash, _, shown = rest.partition(" ")
            if shown:
                slots[kind] = {"hash": hash, "shown": json.loads(shown)}
            else:
                hashes[kind] = hash
    whole = "".join(f"{line}\n" for line in text)
    return Body(
        text=whole if is_ended else whole.removesuffix("\n"),
        about={**hashes, "slots": slots} if slots or hashes else None,
        images=images,
    )


_UNENDED = "  \\ no newline at the end"
_HEADER = re.compile(r"([\w.-]+/[\w.-]+)(?:\[([\w/+-]+)\])?(?: (\".+\"))?", re.ASCII)
LINE = re.compile(
    r"  (?:\||\| .*|: \".*\"|image \S+ \w+|[a-z]\w* [\w:]+(?: .+)?)|" + re.escape(_UNENDED)
)
"""The form of each line below a header."""
_PLAIN = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]*(?<!\s)")
"""A line that editors and git leave as it is; others are written as JSON."""


def header_in(line: str) -> SnapshotKey | None:
    """Return the key that a header names, None where a line is no header."""
    found = None if line[:1] in ("", " ") else _HEADER.fullmatch(line)
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
