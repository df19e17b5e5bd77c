"""The bodies that the registry holds, and the table of kinds."""

import inspect
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Literal

from repl_pair.records import record, to_dict
from repl_pair.runtime.registry.component import Component
from repl_pair.runtime.registry.ids import (
    FUNCTION,
    MEMBER,
    STORY,
    SURFACE,
    VARIANT,
    WORDS,
    WORKSPACE,
    Grammar,
)

Step = list[Any]
"""One line of a play: a list headed by its name, then fixed positions, then at most one mapping."""


class BuiltStep(list[Any]):
    """A step that `check` or `step` made, and no list that merely looks like one."""

    def __init__(self, *words: Any) -> None:
        super().__init__(words)


Event = list[Any]
"""What is dispatched: `[name, {payload}]`."""
LooksAt = Literal["path", "result", "derived", "event", "effect", ""]
MemberKind = Literal["cell", "collection", "stream", "event"]
Use = list[Any]
"""A decorator as it is used: `[id, {args}]`."""


@record
class Play:
    """One named list of steps; only those with `auto_run` are part of every run."""

    steps: tuple[Step, ...]
    name: str = ""
    auto_run: bool = True


@record
class Story:
    """A component under its id, with what all its variants share."""

    component: Component
    doc: str = ""
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    argtypes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    decorators: tuple[Use, ...] = ()
    substrates: tuple[str, ...] = ()
    state: Component | None = None
    """Projects the live object, or what the component returned, to what assertions see."""
    thread_safe: bool = False
    agent_overrides: bool = True


@record
class Variant:
    """One named state of a story's component: data only.

    `play` is the one unnamed play, `plays` are the named ones; a variant has one or the other.
    """

    doc: str = ""
    extends: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    argtypes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    events: tuple[Event, ...] = ()
    args_to_events: Mapping[str, str] = field(default_factory=dict[str, str])
    play: tuple[Step, ...] = ()
    plays: tuple[Play, ...] = ()
    loaders: tuple[str, ...] = ()
    loaders_complete_when: str | tuple[str, ...] | None = None
    """Checked before any event: a derived function that must hold, or effects that were emitted."""
    loaders_teardown: tuple[Event, ...] = ()
    tags: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    marks: tuple[list[Any], ...] = ()
    """Marks of pytest's: `[name, [args], {kwargs}]`."""
    decorators: tuple[Use, ...] = ()
    substrates: tuple[str, ...] = ()


@record
class Workspace:
    """Several variants laid out together; what a layout needs is checked when it is registered."""

    layout: str
    doc: str = ""
    variants: tuple[str, ...] = ()
    story: str | None = None
    columns: int | None = None
    content: tuple[Mapping[str, Any], ...] = ()
    render: str | None = None
    modes: tuple[str, ...] = ()
    isolation: str = "isolated"


@record
class Mode:
    """A saved tuple of args; modes of one axis exclude each other."""

    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    axis: str | None = None
    doc: str = ""


@record
class Decorator:
    """What a run wraps around a component; which fields are used depends on `kind`.

    wrap: `wrap`. frame_setup: `init`, `teardown` and `patch`. fx_override: `effect` and
    `responses`, of which the last one repeats where `repeats` says so.
    """

    kind: str
    doc: str = ""
    wrap: Component | None = None
    init: tuple[Event, ...] = ()
    teardown: tuple[Event, ...] = ()
    patch: Mapping[str, Any] = field(default_factory=dict[str, Any])
    effect: str = ""
    responses: tuple[Any, ...] = ()
    repeats: bool = True


@record
class Tag:
    """A word that variants may carry; with `default_filter` exclude, lists hide its carriers."""

    doc: str = ""
    axis: str | None = None
    default_filter: str = "include"


@record
class Panel:
    """Something shown beside the variants; `render` is resolved when it is shown."""

    title: str
    placement: str
    render: str | Component
    doc: str = ""


@record
class AssertionSignature:
    """What is known in advance of an assertion that ships.

    `looks_at`: what its first word names, "result" where it looks there with no such word, nothing
    where it looks at no value. `plain_words`: how many words at its start hold no value. `compares`
    is False where its verdict reveals no value that is secret. `takes_patterns`: its words may hold
    regular expressions.
    """

    looks_at: LooksAt = ""
    plain_words: int = 0
    compares: bool = True
    takes_patterns: bool = False


@record
class Function:
    """A function that bodies name by its id: a loader, assertion, handler, derivation or effect."""

    component: Component
    doc: str = ""
    """Empty for what ships, whose module is not imported before it is needed; see `text`."""
    takes: str = ""
    """The arguments of an assertion in words; empty for other kinds."""
    signature: AssertionSignature | None = None
    """None of the person's own: what it looks at is not known."""

    @property
    def text(self) -> str:
        """Return the doc, of what ships its function's."""
        return self.doc or inspect.getdoc(self.component.resolve()) or ""


@record
class Surface:
    """Members and functions that the person's app publishes under one name.

    `exposed` are the names that its own list exposes, beside those exposed where they are defined.
    """

    doc: str = ""
    exposed: tuple[str, ...] = ()


@record
class Member:
    """A live value that the app publishes; `state` is what it holds now, see `surfaces/state`.

    `hint` is the type of a value, of a collection the type of an item. `source` is the member that
    a projected one follows.
    """

    kind: MemberKind
    hint: Any = field(default=Any, compare=False)
    doc: str = ""
    exposed: bool = False
    source: str | None = None
    state: Any = field(default=None, compare=False, repr=False)


@record
class Procedure:
    """A function that the app publishes; `tool` is its name as an MCP tool.

    `ask`: the person approves each call. `thread_safe`: it waits for no cell.
    """

    component: Component
    tool: str
    doc: str = ""
    exposed: bool = False
    mutates: bool = True
    thread_safe: bool = False
    ask: bool = False
    timeout_s: float = 20.0
    source: str | None = None


@record
class Kind:
    """One registry: its name, the grammar of its ids, what its bodies are."""

    name: str
    grammar: Grammar
    body: type

    @cached_property
    def collection(self) -> str:
        """The name of the member of the store that holds the entries."""
        return f"registry/{self.name}"

    @property
    def has_tier(self) -> bool:
        """Whether its entries have tiers, and agents register some: not functions, nor an app's."""
        return self.body is not Function and self.name not in PUBLISHED


_BODIES: dict[str, tuple[Grammar, type]] = {
    "story": (STORY, Story),
    "variant": (VARIANT, Variant),
    "workspace": (WORKSPACE, Workspace),
    "mode": (WORDS, Mode),
    "decorator": (WORDS, Decorator),
    "tag": (WORDS, Tag),
    "panel": (WORDS, Panel),
    "surface": (SURFACE, Surface),
    "member": (MEMBER, Member),
    "function": (FUNCTION, Procedure),
    **dict.fromkeys(("loader", "assertion", "handler", "derived", "effect"), (WORDS, Function)),
}
KINDS = {
    name: Kind(name=name, grammar=grammar, body=body) for name, (grammar, body) in _BODIES.items()
}
PUBLISHED = ("surface", "member", "function")
"""The kinds of what an app publishes: hidden from agents unless exposed; none registers one."""
NAMED: Mapping[str, str] = {
    "loaders": "loader",
    "modes": "mode",
    "render": "panel",
    "story": "story",
    "tags": "tag",
    "variants": "variant",
}
"""The slots of bodies that hold ids, one or a list, and of which kind."""


@record
class Origin:
    """Where a registration came from; two with one `key` are runs of the same place."""

    key: str
    label: str
    line: int
    run: Any = field(default=None, compare=False, repr=False)
    """Distinguishes the runs of the place."""
    sent: Any = field(default=None, compare=False, repr=False)
    """What an agent sent for it, as it came."""
    file: str | None = field(default=None, compare=False, repr=False)
    """The file of a module that was not imported."""


@record
class Outline:
    """What of an entry decides who may see it; a change keeps it when the entry has left."""

    kind: str
    id: str
    tier: str | None
    exposed: bool


@record
class Entry:
    """A registered body with its origin; `revision` is the registry's when it came."""

    kind: str
    id: str
    body: Any
    origin: Origin
    revision: int
    tier: str | None = None

    @property
    def exposed(self) -> bool:
        """Whether its body says that it is exposed; only what an app publishes can be."""
        return getattr(self.body, "exposed", False)

    @cached_property
    def outline(self) -> Outline:
        """What decides who may see it."""
        return Outline(kind=self.kind, id=self.id, tier=self.tier, exposed=self.exposed)


def components_in(body: Any) -> list[Component]:
    """Return the functions and classes that a body names by itself, in the order of its fields."""
    return [part for part in to_dict(body).values() if isinstance(part, Component)]


def effect_answered(body: Decorator, args: Mapping[str, Any]) -> str:
    """Return the effect that a used decorator answers; empty where it answers none."""
    return str(args.get("effect", body.effect)) if body.kind == "fx_override" else ""
