"""What the trace panel and its script send each other; the script holds the same shapes."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from repl_pair.panels.base.context import Head


class Span(TypedDict):
    """One phase, beginning where the one before it ended; times in ms."""

    place: int
    phase: str
    begin: float
    ms: float
    failed: bool


class TraceHead(Head):
    """The head of a run; whether its variant is registered now."""

    registered: bool


class Run(TypedDict):
    """A run without its rows: how many there are of each kind, and its phases."""

    head: TraceHead
    counts: Mapping[str, int]
    spans: Sequence[Span]


class TraceRow(TypedDict):
    """One row; `at` counts all rows, `place` those of its kind."""

    at: int
    kind: str
    place: int
    text: str
    failed: bool


class Page(TypedDict):
    """Some of the chosen rows, from `start` on."""

    total: int
    start: int
    rows: Sequence[TraceRow]


class CopiedRows(TypedDict):
    """Rows as JSON text; `left` counts those that are not in it."""

    text: str
    left: int


class TracePatch(TypedDict, total=False):
    """Another run or variant; the head where the same run began again or became stale."""

    run: Run
    head: TraceHead
