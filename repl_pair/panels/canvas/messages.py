"""What the canvas and its script send each other; the script holds the same shapes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from repl_pair.panels.base.context import RunState
from repl_pair.runtime.authoring.substrates import SubstrateLine
from repl_pair.runtime.results.record import RegisteredAt


class LastRun(RunState):
    """How a run ended; `other` where it ran with other args, modes or code than those in focus.

    `asked_by` is the agent whose what-if run it was.
    """

    other: bool
    asked_by: str | None


class ModeChoice(TypedDict):
    """One mode; an unknown one has neither axis nor doc."""

    id: str
    active: bool
    known: bool
    axis: NotRequired[str | None]
    doc: NotRequired[str]


class SubstrateChoice(SubstrateLine):
    """One rendering, and whether it is chosen."""

    chosen: bool


class About(TypedDict):
    """What is in focus; `nothing` and `missing` have a `text`, a variant has all from `last` on."""

    kind: Literal["nothing", "missing", "story", "workspace", "variant"]
    id: NotRequired[str]
    text: NotRequired[str]
    code: NotRequired[str]
    doc: NotRequired[str]
    layout: NotRequired[str]
    last: NotRequired[LastRun | None]
    identity: NotRequired[Mapping[str, str] | None]
    modes: NotRequired[Sequence[ModeChoice]]
    active: NotRequired[Sequence[str]]
    substrates: NotRequired[Sequence[SubstrateChoice]]
    running: NotRequired[bool]
    waits_for: NotRequired[str]
    refusal: NotRequired[str]
    edits: NotRequired[int]


class Head(About):
    """What is in focus, and how the canvas shows it."""

    tab: str
    runs_on_select: bool


class Stream(TypedDict):
    """The last part of a stream; `left_out` counts the characters before it."""

    name: str
    text: str
    left_out: int


class Output(TypedDict):
    """MIME bundles; else the result.

    Markdown in them is `markup`, a widget's id `widget`, and what it ended as `models`.
    """

    status: str
    reason: str
    outputs: Sequence[Mapping[str, str]]
    left_out: NotRequired[int]
    result: NotRequired[Any]
    streams: Sequence[Stream]


class CoveredValue(TypedDict):
    """A value that another one is laid over."""

    value: str
    source: str


class ArgLine(CoveredValue):
    """One effective arg."""

    path: str
    covers: Sequence[CoveredValue]


class Args(TypedDict):
    """The effective args, and what keeps the variant from being run."""

    lines: Sequence[ArgLine]
    conflicts: Sequence[str]


class PhaseLine(TypedDict):
    """One phase; `share` is its time as a part of the longest one's.

    `about` is what ran when it raised `error`, and the line of the person's code.
    """

    phase: str
    elapsed_ms: float
    share: float
    error: NotRequired[str]
    about: NotRequired[str]


class Phases(TypedDict):
    """The phases of the last run, and where the variant was registered."""

    phases: Sequence[PhaseLine]
    elapsed_ms: float
    registered: RegisteredAt


class Data(TypedDict):
    """A registered body as JSON text, and where it was registered."""

    text: str
    place: str


class Card(TypedDict):
    """One variant of a layout; one that is not registered has `missing` alone."""

    id: str
    name: str
    doc: str
    missing: NotRequired[str]
    last: NotRequired[LastRun | None]
    running: NotRequired[bool]


class Block(TypedDict, total=False):
    """A part of a prose layout: a variant or HTML."""

    card: Card
    markup: str


class Layout(TypedDict):
    """Several variants; a custom layout has the `ref` of a widget, or a `fault`."""

    layout: str
    columns: NotRequired[int | None]
    shared: NotRequired[bool]
    cards: NotRequired[Sequence[Card]]
    left_out: NotRequired[int]
    blocks: NotRequired[Sequence[Block]]
    panel: NotRequired[str]
    ref: NotRequired[str | None]
    fault: NotRequired[str]


class CanvasPatch(TypedDict, total=False):
    """The head, or with what is below it `all`; cards of a layout; why a run was refused."""

    head: Head
    all: Head
    cards: Sequence[Card]
    refused: str
