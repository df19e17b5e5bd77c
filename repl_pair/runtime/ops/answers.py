"""What the other ops answer: a type each."""

from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

from repl_pair.runtime.clients.previews import ApprovalRow, GrantRow
from repl_pair.runtime.ops.run_answers import Identity, Place, Status
from repl_pair.runtime.results.drift import Drift

Line = TypeVar("Line")


class Items(TypedDict, Generic[Line]):
    """A list, whole."""

    items: list[Line]
    total: int


class Page(Items[Line]):
    """A page of a list; `total` counts all, `cursor` is there where more follow."""

    cursor: NotRequired[str]


class Listed(TypedDict):
    """A line of a list; slots that hold nothing are left out."""

    id: str
    doc: NotRequired[str]


class StoryLine(Listed):
    """A story, and how many variants it has."""

    tags: NotRequired[list[str]]
    variants: int


class VariantLine(Listed):
    """A variant with its last status, if it was run."""

    tags: NotRequired[list[str]]
    status: NotRequired[Status]
    stale: NotRequired[bool]


class TagLine(Listed):
    """A tag; those with `default_filter` "exclude" are listed only where they are asked for."""

    axis: NotRequired[str]
    default_filter: NotRequired[str]


class ModeLine(Listed):
    """A mode with its args."""

    axis: NotRequired[str]
    args: NotRequired[dict[str, Any]]


class DecoratorLine(Listed):
    """A decorator: functions, events and paths by name, and how many responses it has."""

    kind: NotRequired[str]
    wrap: NotRequired[str]
    init: NotRequired[list[str]]
    teardown: NotRequired[list[str]]
    patch: NotRequired[list[str]]
    effect: NotRequired[str]
    responses: NotRequired[int]


class WorkspaceLine(Listed):
    """A workspace, and how many variants it names."""

    layout: NotRequired[str]
    story: NotRequired[str]
    variants: NotRequired[int]
    render: NotRequired[str]


class PanelLine(Listed):
    """A panel; `render` names a function, or another panel."""

    title: NotRequired[str]
    placement: NotRequired[str]
    render: NotRequired[str]


class StoryBody(Listed):
    """A story; `args_schema` is the JSON Schema of its component's parameters."""

    component: str
    args: NotRequired[dict[str, Any]]
    argtypes: NotRequired[dict[str, Any]]
    tags: NotRequired[list[str]]
    modes: NotRequired[list[str]]
    decorators: NotRequired[list[Any]]
    substrates: NotRequired[list[str]]
    state: NotRequired[str]
    thread_safe: NotRequired[bool]
    args_schema: dict[str, Any]
    variants: NotRequired[list[str]]
    agent_overrides: NotRequired[Literal[False]]
    registered: Place


class VariantBody(Listed):
    """A variant's own body, and its last status, if it was run."""

    story: str
    extends: NotRequired[str]
    args: NotRequired[dict[str, Any]]
    argtypes: NotRequired[dict[str, Any]]
    events: NotRequired[list[Any]]
    args_to_events: NotRequired[dict[str, str]]
    play: NotRequired[list[Any]]
    plays: NotRequired[list[Any]]
    loaders: NotRequired[list[str]]
    loaders_complete_when: NotRequired[str | list[str]]
    loaders_teardown: NotRequired[list[Any]]
    tags: NotRequired[list[str]]
    modes: NotRequired[list[str]]
    decorators: NotRequired[list[Any]]
    substrates: NotRequired[list[str]]
    registered: Place
    status: NotRequired[Status]
    stale: NotRequired[bool]


class DecoratorBody(Listed):
    """A decorator with its data."""

    kind: str
    wrap: NotRequired[str]
    init: NotRequired[list[Any]]
    teardown: NotRequired[list[Any]]
    patch: NotRequired[dict[str, Any]]
    effect: NotRequired[str]
    responses: NotRequired[list[Any]]
    repeats: NotRequired[bool]
    registered: Place


class WorkspaceBody(Listed):
    """A workspace; `shows` are the variants that are registered and may be seen."""

    layout: str
    variants: NotRequired[list[str]]
    story: NotRequired[str]
    columns: NotRequired[int]
    content: NotRequired[list[dict[str, str]]]
    render: NotRequired[str]
    modes: NotRequired[list[str]]
    isolation: NotRequired[str]
    registered: Place
    shows: NotRequired[list[str]]


class AssertionLine(TypedDict):
    """An assertion: what follows its id in a line, and what it holds."""

    id: str
    payload: str
    meaning: str


class Assertions(TypedDict):
    """Those that ship, with the first page, and a page of the person's own."""

    canonical: NotRequired[list[AssertionLine]]
    registered: list[AssertionLine]
    total: int
    cursor: NotRequired[str]


class Source(TypedDict):
    """Where a slot comes from."""

    value: Any
    source: str


class ArgSource(Source):
    """Where an arg comes from, and what it is laid over."""

    path: str
    covers: NotRequired[list[Source]]


class Explanation(TypedDict):
    """Where each effective slot of a variant comes from; `conflicts` would keep it from a run."""

    variant_id: str
    modes: NotRequired[list[str]]
    chain: NotRequired[list[str]]
    rules: NotRequired[dict[str, str]]
    args: list[ArgSource]
    argtypes: NotRequired[list[dict[str, Any]]]
    tags: NotRequired[list[dict[str, Any]]]
    removed_tags: NotRequired[list[dict[str, Any]]]
    decorators: NotRequired[list[dict[str, Any]]]
    declared_modes: NotRequired[list[dict[str, Any]]]
    loaders: NotRequired[list[dict[str, Any]]]
    loaders_complete_when: NotRequired[dict[str, Any]]
    loaders_teardown: NotRequired[list[dict[str, Any]]]
    events: NotRequired[list[dict[str, Any]]]
    plays: NotRequired[list[dict[str, Any]]]
    substrates: NotRequired[dict[str, Any]]
    substrate: NotRequired[Source]
    conflicts: list[str]


class Data(TypedDict):
    """A body as data that registers it again."""

    id: str
    body: dict[str, Any]


class Instructions(TypedDict):
    """How to work with stories, as text."""

    instructions: str


class StoryDocs(Page[str]):
    """A story as Markdown; `items` are the ids of the variants that are in it."""

    story_id: str
    markdown: str


class Shared(TypedDict):
    """A URL that opens a variant; `label` says how far it can be reproduced, `reasons` why."""

    url: str
    label: str
    reasons: list[str]
    outputs: NotRequired[list[dict[str, str]]]


class ChangeLine(TypedDict):
    """One change of a member of the surface."""

    seq: int
    member: str
    change: str
    id: NotRequired[str]
    payload: NotRequired[Any]


class Changes(Items[ChangeLine]):
    """Changes in their order; `next` is the `since` of the next call."""

    next: int
    gap: NotRequired[Literal[True]]


class More(TypedDict):
    """A part of an elided value: characters of text, or items."""

    type: str
    offset: int
    total: int
    text: NotRequired[str]
    items: NotRequired[list[Any]]
    next_offset: NotRequired[int]


class Registered(TypedDict):
    """What was registered; `identity` of a variant that can be planned."""

    kind: str
    id: str
    revision: int
    origin: str
    identity: NotRequired[Identity]


class RecordedVariant(TypedDict):
    """The dispatches of the person as Python text; the slots of `Registered` if it was written."""

    source: str
    count: int
    redacted: int
    live_objects: int
    written_back: NotRequired[bool]
    reason: NotRequired[str]
    kind: NotRequired[str]
    id: NotRequired[str]
    revision: NotRequired[int]
    origin: NotRequired[str]
    identity: NotRequired[Identity]


class VariableLine(TypedDict):
    """A variable: `size` of containers and text, `shape` of arrays and frames."""

    id: str
    type: str
    size: NotRequired[int]
    shape: NotRequired[list[int]]
    value: NotRequired[Any]


class Value(TypedDict):
    """One value, and what it is."""

    path: str
    type: str
    size: NotRequired[int]
    shape: NotRequired[list[int]]
    value: Any


class Watching(TypedDict):
    """What is watched now, or which watches were ended."""

    on: bool
    watched: NotRequired[str]
    items: NotRequired[list[str]]
    total: NotRequired[int]
    ended: NotRequired[list[str]]


class ChangedVariants(Page[Drift]):
    """Variants that drifted, of so many examined; `not_run` never ran."""

    examined: int
    not_run: int


class Unregistered(TypedDict):
    """What was taken out."""

    kind: str
    id: str
    unregistered: Literal[True]


class Cleared(TypedDict):
    """The ids that were taken out, by kind, and how many entries stay."""

    removed: dict[str, list[str]]
    total: int
    left: int


class ApprovalState(TypedDict):
    """What an asker may know of an approval; `reason` is the person's."""

    handle: str
    state: str
    expires_in_s: float
    reason: NotRequired[str]


class Withdrawn(TypedDict):
    """The approval that is asked for no longer."""

    handle: str


class Answered(TypedDict):
    """The approval with its new state."""

    handle: str
    op: str
    state: str


class Approvals(Items[ApprovalRow]):
    """The calls that wait for the person, and what was granted; `paused_s`: since when, if so."""

    grants: list[GrantRow]
    paused_s: float | None


class Paused(TypedDict):
    """Whether agents are refused."""

    paused: bool
