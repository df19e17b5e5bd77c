"""What the explorer and its script send each other; the script holds the same shapes."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict


class Row(TypedDict):
    """One row; `place` is which of `of` siblings it is, `last` the verdict of a stale result.

    `exposure` of a member or function is `exposed` or `hidden`, from agents of its tier.
    """

    key: str
    kind: str
    name: str
    level: int
    above: str
    place: int
    of: int
    open: NotRequired[bool]
    size: NotRequired[int]
    counts: NotRequired[Mapping[str, int]]
    status: NotRequired[str | None]
    last: NotRequired[str]
    kept: NotRequired[bool]
    watched: NotRequired[bool]
    origin: NotRequired[str]
    doc: NotRequired[str]
    agent: NotRequired[str]
    tier: NotRequired[str]
    exposure: NotRequired[str]


class Summary(TypedDict):
    """All variants: how many, how many of each status, how many failed."""

    size: int
    counts: Mapping[str, int]
    failing: int


class BatchState(TypedDict):
    """How many of a batch of runs have ended."""

    done: int
    total: int
    over: bool
    fault: str


class FilterState(TypedDict):
    """The filter; `tags` has a state by tag: `any`, `with` or `without`."""

    words: str
    tags: Mapping[str, str]
    kinds: Sequence[str]
    statuses: Sequence[str]


class TagChoice(TypedDict):
    """One tag; `unasked` is its state where the person chose none."""

    id: str
    doc: str
    unasked: str


class FilterChoices(TypedDict):
    """What can be filtered by; a kind has an `id` and a `title`."""

    tags: Sequence[TagChoice]
    kinds: Sequence[Mapping[str, str]]
    statuses: Sequence[str]


class Totals(TypedDict):
    """All rows; `version` counts how often rows came, left or moved."""

    version: int
    total: int
    summary: Summary
    watched: bool


class State(Totals):
    """All that the panel shows, except for the rows."""

    filter: FilterState
    choices: FilterChoices
    focus: str | None
    batch: BatchState
    empty: str


class Window(Totals):
    """The rows from the place `start` on."""

    start: int
    rows: Sequence[Row]


class Failure(TypedDict):
    """A variant that failed, and the place of its row; None where the filter leaves it out."""

    key: str
    place: int | None


class RowsMoved(TypedDict):
    """Rows came, left or moved: those that are shown have to be read again."""

    version: int
    choices: NotRequired[FilterChoices]
    filter: NotRequired[FilterState]


class RowsChanged(TypedDict):
    """Rows changed where they stand: pairs of a place and a row."""

    version: int
    rows: Sequence[tuple[int, Row]]


class ExplorerPatch(TypedDict, total=False):
    """Rows; what all of them come to; the row in focus; a batch of runs; why a run was refused."""

    moved: RowsMoved
    summary: Summary
    rows: RowsChanged
    focus: str | None
    batch: BatchState
    refused: str
