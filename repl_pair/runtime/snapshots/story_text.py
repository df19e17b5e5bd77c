"""The text of a story's file of stored outputs: written, and read back block by block."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field

from repl_pair.records import record
from repl_pair.runtime.snapshots.entry_text import LINE, EntryText, header_in, read_entry
from repl_pair.runtime.snapshots.records import SnapshotKey

FIRST = "repl-pair outputs 1"
"""The first line: what the file is, and the version of its form."""
LAST = "end"
"""The last line: without it, the file was cut."""


@record
class Block:
    """A part of a file: its outputs by key, none where something is wrong; lines count from 0.

    `keys` are also those of outputs that are spoilt by what is wrong.
    """

    entries: Mapping[SnapshotKey, EntryText]
    faults: Sequence[tuple[int, str]]
    keys: frozenset[SnapshotKey]


@record
class StoryText:
    """The outputs of one file; `fault` is the number and a description of a line that is wrong.

    With a fault, `entries` are those that it does not touch, and `unread` the texts of the others
    with their keys; `is_cut`: the last of these may lack its end. `blocks` are what was read by
    text.
    """

    entries: Mapping[SnapshotKey, EntryText]
    fault: tuple[int, str] | None = None
    unread: Sequence[tuple[str, frozenset[SnapshotKey]]] = ()
    is_cut: bool = False
    blocks: Mapping[str, Block] = field(default_factory=dict[str, Block])


def write_story(entries: Mapping[SnapshotKey, EntryText], before: StoryText) -> bytes:
    """Return the file of these outputs, in the order of their keys; nothing where there is none.

    What could not be read of the file `before` stays in it, and a fault, but for the outputs that
    are among these.
    """
    kept = [_without(text, entries.keys()) for text, _ in before.unread]
    is_cut = before.is_cut and bool(kept) and bool(kept[-1])
    keys = sorted(entries, key=lambda key: key.order)
    parts = [*(entries[key].text for key in keys), *filter(None, kept)]
    end = [] if is_cut else [LAST]
    return ("\n\n".join([FIRST, *parts, *end]) + "\n").encode(errors=_BYTES) if parts else b""


def _without(text: str, keys: Set[SnapshotKey]) -> str:
    """Take outputs out of what could not be read; conflict markers stay while another one does.

    Each side of a conflict begins in the output that the conflict does.
    """
    kept: list[str] = []
    nobody: set[SnapshotKey] = set()
    owners = before = ends = nobody
    has_more = False
    for line in text.split("\n"):
        mark = line[:7] if line.startswith(_CONFLICT) else ""
        if (key := header_in(line)) is not None:
            owners = {key}
            has_more = has_more or key not in keys
        elif mark == "<<<<<<<":
            before, ends = owners, nobody
        elif mark == ">>>>>>>":
            owners = owners | ends
        elif mark:
            ends, owners = ends | owners, before
        if mark or not owners or not owners <= keys:
            kept.append(line)
    return "\n".join(kept) if has_more else ""


def read_story(content: bytes, known: Mapping[str, Block]) -> StoryText:
    """Read a file, but for the blocks that are `known`; what is wrong with it is in the result."""
    text = content.decode(errors=_BYTES).replace("\r\n", "\n")  # as git writes it on Windows
    first, _, rest = text.partition("\n")
    if first != FIRST:
        return StoryText(entries={}, fault=(1, f"it is {first[:60]!r} and not {FIRST!r}"))
    blocks: dict[str, Block] = {}
    entries: dict[SnapshotKey, EntryText] = {}
    faults: list[tuple[int, str]] = []
    found: Counter[SnapshotKey] = Counter()
    number, last = 2, ""
    for part in _parts(rest):
        block = blocks[part] = known.get(part) or _read_block(part)
        faults += [(number + at, what) for at, what in block.faults]
        for key, entry in block.entries.items():
            if key in found:
                faults.append((number + entry.line, _TWICE))
            entries[key] = EntryText(line=number + entry.line, text=entry.text)
        found.update(block.keys)
        number += part.count("\n") + 2
        last = part if part.strip("\n") else last
    if is_cut := last.strip("\n") != LAST:
        faults.append((number - 2, f"it was cut: the last line is not {LAST!r}"))
    doubled = {key for key, count in found.items() if count > 1}
    unread = [
        (part.strip("\n"), block.keys)
        for part, block in blocks.items()
        if block.keys and (block.faults or doubled & block.keys or (is_cut and part == last))
    ]
    for key in (key for _, keys in unread for key in keys):
        entries.pop(key, None)
    return StoryText(
        entries=entries,
        fault=min(faults, default=None),
        unread=unread,
        is_cut=is_cut,
        blocks=blocks,
    )


def _parts(text: str) -> Iterator[str]:
    """Split at empty lines, but not within a conflict of git, nor before lines without a header."""
    conflicts = [found.span() for found in _WHOLE_CONFLICT.finditer(text)]
    start = 0
    for gap in re.finditer("\n\n", text):
        is_within = any(first < gap.start() < last for first, last in conflicts)
        if not is_within and not text.startswith("  ", gap.end()):
            yield text[start : gap.start()]
            start = gap.end()
    yield text[start:]


def _read_block(text: str) -> Block:
    found: dict[SnapshotKey, tuple[int, list[str]]] = {}
    faults: list[tuple[int, str]] = []
    current: SnapshotKey | None = None
    for number, line in enumerate(text.split("\n")):
        key = header_in(line)
        if key is not None:
            fault = _TWICE if key in found else ""
            found[key], current = (number, [line]), key
        else:
            fault = _fault_in(line, current)
            current = current if line else None
            if current is not None:
                found[current][1].append(line)
        if fault:
            faults.append((number, fault))
    entries = {
        key: EntryText(line=at, text="\n".join(lines))
        for key, (at, lines) in found.items()
        if not faults
    }
    return Block(entries=entries, faults=faults, keys=frozenset(found))


_BYTES = "surrogateescape"
_NO_TEXT = re.compile("[\udc80-\udcff]")
_TWICE = "its output is there twice"
_CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
_WHOLE_CONFLICT = re.compile("\n<<<<<<<.*?\n>>>>>>>", re.DOTALL)


def _fault_in(line: str, current: SnapshotKey | None) -> str:
    if line in ("", LAST):
        return ""
    if _NO_TEXT.search(line):
        return "not UTF-8"
    if line.startswith(_CONFLICT):
        return "git could not merge it, and its conflict markers are there"
    if current is None or not LINE.fullmatch(line):
        return f"a line that is not of its form: {line[:60]!r}"
    try:
        read_entry(EntryText(line=0, text=f"\n{line}"))
    except ValueError:
        return f"a line with bad JSON: {line[:60]!r}"
    return ""
