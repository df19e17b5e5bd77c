"""What the play panel and its script send each other; the script holds the same shapes."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from repl_pair.panels.base.context import Head
from repl_pair.panels.base.differing import Difference, ShownChange
from repl_pair.panels.base.source_links import SourceLink


class PlayChoice(TypedDict):
    """One play of the variant; `ran` where the last run did it."""

    name: str
    auto_run: bool
    ran: bool


class PlayHead(Head):
    """The focus, and the plays of its variant."""

    story: str | None
    registered: bool
    link: SourceLink | None
    plays: Sequence[PlayChoice]


class LineRow(TypedDict):
    """One line; `status` is `pass`, `fail`, `done`, `error` or, without `index`, `not_done`."""

    index: int | None
    play: str
    name: str
    words: str
    reason: str
    status: str


class Lines(TypedDict):
    """All lines of the run, and which of them is in focus."""

    head: PlayHead
    rows: Sequence[LineRow]
    moment: int | None


class StateRow(TypedDict):
    """One value of a state, indented by `depth`; `change` is what the line changed there."""

    depth: int
    key: str
    value: str
    change: NotRequired[ShownChange | None]


class OutcomeShown(TypedDict):
    """What an assertion compared, as Python writes it; `difference` is None where it passed."""

    passed: bool
    reason: str
    expected: str | None
    actual: str | None
    difference: Difference | None


class MomentShown(TypedDict):
    """One line in full; before the first line, it has `index`, `name` and `state` alone."""

    index: int
    name: str
    state: Sequence[StateRow]
    status: NotRequired[str]
    words: NotRequired[str]
    error: NotRequired[str]
    changes: NotRequired[Sequence[ShownChange]]
    link: NotRequired[SourceLink | None]
    function: NotRequired[SourceLink | None]
    outcome: NotRequired[OutcomeShown | None]
    snapshot: NotRequired[bool]


class PlayPatch(TypedDict, total=False):
    """Another run or variant; another line in focus; the same run began again or became stale."""

    run: Lines
    moment: int | None
    head: PlayHead
