"""What the ops answer that explain, share, follow, record, write and approve: a type each."""

from typing import Any, Literal, NotRequired, TypedDict

from repl_pair.runtime.clients.previews import ApprovalRow, GrantRow
from repl_pair.runtime.ops.list_answers import Items, Page
from repl_pair.runtime.ops.run_answers import Identity
from repl_pair.runtime.results.drift import Drift


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
