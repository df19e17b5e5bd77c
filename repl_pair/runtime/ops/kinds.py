"""Ops that list the kinds beside stories, variants and assertions."""

from functools import partial
from typing import Annotated, Any, Literal, NotRequired

from repl_pair.runtime.op_base.answers import Listed, Page, Place
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    Cursor,
    Limit,
    filled,
    page_of,
    read_line,
    read_whole,
)
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.op_base.tier_names import HIDDEN, shown_name
from repl_pair.runtime.registry.extending import chain_of, modes_along
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Component, Decorator, Entry, Panel, Workspace
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import WorkspaceId, variants_of, visible_entry, visible_ids
from repl_pair.runtime.secrets.entries import slots_of
from repl_pair.runtime.secrets.modes import mode_args
from repl_pair.runtime.values.frozen import to_plain


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


@op(access="read", lane="inline", toolset="story")
def list_tags(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[TagLine]:
    """List the tags that stories and variants may carry."""
    for id in visible_ids(call.view, "tag")[:1]:
        call.suggest("list_variants", tags=[id])
    return page_of(call, "tag", _body_line, limit, cursor)


@op(access="read", toolset="story")
def list_modes(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[ModeLine]:
    """List the modes: saved args for `modes=[...]`; modes of one axis exclude each other."""
    modes, stories = set(visible_ids(call.view, "mode")), REGISTRY.snapshot("story")
    for id in visible_ids(call.view, "variant")[:MAX_LIMIT] if modes else ():
        entry, story = REGISTRY.find("variant", id), stories.get(story_of(id))
        declared = modes_along(story and story.body, chain_of(entry)) if entry else ()
        if fitting := [mode for mode in declared if mode in modes]:
            call.suggest("run_variant", variant_id=id, modes=fitting[:1])
            break
    return page_of(call, "mode", lambda e: _body_line(e, args=mode_args(e)), limit, cursor)


@op(access="read", lane="inline", toolset="story")
def list_decorators(
    call: Call,
    kind: Annotated[
        Literal["wrap", "frame_setup", "fx_override"] | None, "Only those of this kind"
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[DecoratorLine]:
    """List the decorators: what runs put around components, into their setup, before effects."""
    entries = {id: REGISTRY.find("decorator", id) for id in visible_ids(call.view, "decorator")}
    ids = [id for id, e in entries.items() if kind is None or (e and e.body.kind == kind)]
    then = ("get_decorator", "decorator_id")
    return page_of(
        call, "decorator", _decorator_line, limit, cursor, ids=ids, query=[kind], then=then
    )


@op(access="read", lane="inline", toolset="story")
def list_workspaces(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[WorkspaceLine]:
    """List the workspaces: variants that are laid out together."""
    line = partial(_workspace_line, call)
    return page_of(call, "workspace", line, limit, cursor, then=("get_workspace", "workspace_id"))


@op(access="read", lane="inline", toolset="story")
def list_panels(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[PanelLine]:
    """List the panels that the person sees beside the variants; panels of a place go by id."""
    return page_of(call, "panel", _panel_line, limit, cursor)


@op(access="read", toolset="story")
def get_decorator(
    call: Call, decorator_id: Annotated[str, "Decorator id, e.g. fixed_clock"]
) -> DecoratorBody:
    """Read one decorator: its kind and what it does; functions go by module and name."""
    entry = visible_entry(call.view, "decorator", decorator_id)
    call.suggest("list_decorators", kind=entry.body.kind)
    return read_whole(call, entry)


@op(access="read", toolset="story")
def get_workspace(call: Call, workspace_id: WorkspaceId) -> WorkspaceBody:
    """Read one workspace: its layout, and the variants that it shows as of now."""
    entry = visible_entry(call.view, "workspace", workspace_id)
    seen = [id for id in variants_of(entry.body) if id in visible_ids(call.view, "variant", id)]
    for id in seen[:1]:
        call.suggest("run_variant", variant_id=id)
    call.suggest("workspace_to_data", workspace_id=entry.id)
    return read_whole(call, entry, shows=seen)


def _body_line(entry: Entry, **more: Any) -> dict[str, Any]:
    return filled(id=entry.id, **to_plain(slots_of(entry.body) | more))


def _decorator_line(entry: Entry) -> dict[str, Any]:
    """Return what a decorator is, with the names of what it does and none of its data."""
    body: Decorator = entry.body
    return read_line(
        entry,
        kind=body.kind,
        wrap=_name(body.wrap),
        init=[event[0] for event in body.init],
        teardown=[event[0] for event in body.teardown],
        patch=list(body.patch),
        effect=body.effect,
        responses=len(body.responses) or None,
    )


def _workspace_line(call: Call, entry: Entry) -> dict[str, Any]:
    body: Workspace = entry.body
    named = () if body.story else variants_of(body)
    return read_line(
        entry,
        layout=body.layout,
        story=body.story and shown_name(call, body.story, "story"),
        variants=sum(shown_name(call, id, "variant") != HIDDEN for id in named) or None,
        render=body.render,
    )


def _panel_line(entry: Entry) -> dict[str, Any]:
    body: Panel = entry.body
    return read_line(entry, title=body.title, placement=body.placement, render=_name(body.render))


def _name(named: Component | str | None) -> str:
    return named.name if isinstance(named, Component) else named or ""
