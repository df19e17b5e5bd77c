"""What a target holds as text: for the person as it is, for an agent without secrets."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

from repl_pair.records import record, replace
from repl_pair.runtime.reading.code_lines import hide_literals
from repl_pair.runtime.registry.as_data import to_data
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import is_of_agent
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.review.hiding import hide_in_cell, hide_in_doc
from repl_pair.runtime.review.markdown import composed, folded_title, plain_text, read_headings
from repl_pair.runtime.review.notebooks import Cell, Output, read_cells
from repl_pair.runtime.review.pages import MAX_BYTES, finds_page, read_text
from repl_pair.runtime.review.targets import ENTRIES, Target
from repl_pair.runtime.secrets.egress import Limits, send_out
from repl_pair.runtime.secrets.entries import secrets_of_entry, slots_of
from repl_pair.runtime.secrets.known import CallSecrets
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.secrets.well_known import hide_keys
from repl_pair.runtime.values.frozen import texts_in, to_plain
from repl_pair.wire import PERSON

_WHOLE = Limits(depth=64, width=100_000, text=50_000_000, nodes=100_000)
_OF_TIERED = frozenset(
    {"content", "decorators", "extends", "modes", "render", "story", "tags", "variants"}
)
"""The slots of bodies that name entries, which may be hidden from who sees the body."""

UNKNOWN = "unknown"
"""The version of a target of which a process does not know whether it is there."""


@record
class Content:
    """The text of a target, and of its parts, a page's headings or cells, by their labels.

    `titles` are labels as titles are compared, `others` labels by the anchor of a heading or the
    number of a cell.
    """

    text: str
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    others: Mapping[str, str] = field(default_factory=dict[str, str])
    whole_words: bool = False
    """Whether a quote halves no word: so no secret can be guessed one letter after the other."""

    def find_part(self, name: str) -> str | None:
        """Return the label of a part; None where there is none of that name."""
        if name in self.parts:
            return name
        return self.titles.get(folded_title(name)) or self.others.get(name)

    def holds(self, part: str, quote: str) -> bool:
        """Return whether a quote stands in a part, or without one whether the part is there.

        Where the part is gone, the quote is looked for in the whole.
        """
        label = self.find_part(part) if part else None
        if not quote.strip():
            return not part or label is not None
        stands_in = _stands_whole_in if self.whole_words else _stands_in
        return any(stands_in(form(quote), self._formed(form, label)) for form in _FORMS)

    @cached_property
    def _formed(self) -> "Callable[[Form, str | None], str]":
        """Returns a part, or the whole, in a form; each is made once and goes with the content."""
        texts = {None: self.text, **self.parts}

        @cache
        def formed(form: Form, label: str | None) -> str:
            return form(texts[label])

        return formed


def read_content(root: Path, target: Target, principal: str) -> Content | None:
    """Return what a target holds as a principal may read it; None where it is not there."""
    found = _read(root, target, principal)
    return None if found is None else replace(found, whole_words=principal != PERSON)


def _read(root: Path, target: Target, principal: str) -> Content | None:
    if target.kind in ENTRIES:
        entry = REGISTRY.find(target.kind, target.name)
        return None if entry is None else Content(text=_entry_text(entry, principal))
    text = read_text(root / target.name) if finds_page(root, principal, target.name) else None
    if text is None:
        return None
    return (_read_doc if target.kind == "doc" else _read_notebook)(text, principal)


def read_version(root: Path, target: Target) -> object:
    """Return what changes when a target's content does; None where it is not there.

    `UNKNOWN` where that cannot be known: this process never registered an entry of its kind, or a
    page is larger than what is read.
    """
    if target.kind in ENTRIES:
        entry = REGISTRY.find(target.kind, target.name)
        if entry is not None:
            return entry.revision
        collection = REGISTRY.kinds[target.kind].collection
        return None if REGISTRY.store.revision(collection) else UNKNOWN
    try:
        found = os.stat(f"{root}/{target.name}")
    except OSError:
        return None
    return UNKNOWN if found.st_size > MAX_BYTES else (found.st_mtime_ns, found.st_size)


def redact_text(text: str, principal: str) -> str:
    """Return a text as a principal may read it: what quotes and filters are compared with.

    Also without what the kernel does not know as a secret, but stands beside the name of one, or is
    a key by its form: the server redacts that, and a comparison must not confirm it.
    """
    if principal == PERSON:
        return text
    learn_secrets()
    return hide_keys(hide_in_doc(_redacted(text, CallSecrets(principal))))


def _redacted(text: str, secrets: CallSecrets) -> str:
    return str(send_out(text, limits=_WHOLE, secrets=secrets).value)


def _read_doc(text: str, principal: str) -> Content:
    text = redact_text(text, principal)
    lines, headings = text.splitlines(), read_headings(text)
    return Content(
        text=text,
        parts={one.label: "\n".join(lines[one.line : one.end]) for one in headings},
        titles={folded_title(one.label): one.label for one in reversed(headings)},
        others={one.anchor: one.label for one in headings},
    )


def _read_notebook(text: str, principal: str) -> Content:
    cells = read_cells(text)
    shown = [cell.text for cell in cells] if principal == PERSON else _shown(cells, principal)
    parts = {cell.name: part for cell, part in zip(cells, shown, strict=True)}
    others = {str(cell.number): cell.name for cell in cells}
    return Content(text="\n".join(parts.values()), parts=parts, others=others)


def _shown(cells: Sequence[Cell], principal: str) -> Sequence[str]:
    """Return the texts of cells as an agent may read them.

    A literal that one cell gives a secret is looked for in all.
    """
    learn_secrets()
    secrets = CallSecrets(principal)
    for cell in cells:
        for literal in hide_literals(cell.source).hidden if cell.kind == "code" else ():
            secrets.add(literal)
    return [hide_keys(hide_in_cell(_without_known(cell, secrets))) for cell in cells]


def _without_known(cell: Cell, secrets: CallSecrets) -> Cell:
    outputs = [Output(_redacted(one.text, secrets), one.is_result) for one in cell.outputs]
    return Cell(cell.name, cell.number, cell.kind, _redacted(cell.source, secrets), outputs)


def _entry_text(entry: Entry, principal: str) -> str:
    """Return the body of an entry as text: as an agent reads it, for the person as it is too."""
    slots = to_plain({"id": entry.id, **slots_of(entry.body)})
    if principal == PERSON:
        return _data_text(_sent(entry, slots, PERSON)) + _data_text(to_data(entry.kind, entry.id))
    if entry.tier is not None:
        slots = {name: value for name, value in slots.items() if name not in _OF_TIERED}
    learn_secrets()
    return _data_text(_hide_in_data(_sent(entry, slots, principal)))


def _sent(entry: Entry, slots: Mapping[str, Any], principal: str) -> Any:
    secrets = CallSecrets(principal)
    if is_of_agent(entry.origin, principal):  # a marker would confirm a guess
        secrets.take_sent(entry.origin.sent)
    places = secrets_of_entry(entry)
    return send_out(dict(slots), sensitive=places, limits=_WHOLE, secrets=secrets).value


def _hide_in_data(data: Any) -> Any:
    """Return JSON whose texts, such as docs, are as `redact_text` leaves a page."""
    if isinstance(data, dict):
        slots = cast("dict[str, Any]", data)
        return {name: _hide_in_data(value) for name, value in slots.items()}
    if isinstance(data, list):
        return [_hide_in_data(item) for item in cast("list[Any]", data)]
    return hide_keys(hide_in_doc(data)) if isinstance(data, str) else data


def _data_text(data: Any) -> str:
    """Return data as its texts, and as JSON in the two ways in which that is shown."""
    compact = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return "\n".join((*texts_in(data), compact, json.dumps(data, ensure_ascii=False), ""))


def _one_line(text: str) -> str:
    return " ".join(composed(text).split())


def _as_read(text: str) -> str:
    return _one_line(plain_text(text))


Form = Callable[[str], str]
_FORMS: Sequence[Form] = (_one_line, _as_read)
"""The forms in which a quote is compared with a text, the cheaper one first."""


def _stands_in(words: str, text: str) -> bool:
    return bool(words) and words in text


def _stands_whole_in(words: str, text: str) -> bool:
    if not _stands_in(words, text):
        return False
    return re.search(f"{_WORD_END}{re.escape(words)}{_WORD_END}", text) is not None


_WORD_END = r"(?:(?<![A-Za-z0-9_])|(?![A-Za-z0-9_]))"
"""Not between two letters of a word; languages without blanks between words have other letters."""
