"""What the ops answer that list and read what is registered: a type each."""

from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

from repl_pair.runtime.ops.run_answers import Place, Status

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
