"""Ops that list the kinds beside stories and variants."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from repl_pair.records import to_dict
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.entry_json import Place, filled, place, shown
from repl_pair.runtime.ops.paging import DEFAULT_LIMIT, Cursor, Limit, Page, page, page_of
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.ops.tier_names import HIDDEN, shown_name, shown_slots
from repl_pair.runtime.registry.model import Component, Decorator, Entry, Panel, Workspace
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_entry, visible_ids
from repl_pair.runtime.secrets.entries import secrets_of_entry, slots_of
from repl_pair.runtime.secrets.modes import mode_args

WorkspaceId = Annotated[str, "Workspace id, e.g. pricing.desk/Main"]


class TagLine(TypedDict):
    """A tag; those with `default_filter` "exclude" are listed only where they are asked for."""

    id: str
    doc: NotRequired[str]
    axis: NotRequired[str]
    default_filter: NotRequired[str]


class TagPage(Page):
    """Tags, by id."""

    items: list[TagLine]


class ModeLine(TypedDict):
    """A mode with its args."""

    id: str
    doc: NotRequired[str]
    axis: NotRequired[str]
    args: NotRequired[dict[str, Any]]


class ModePage(Page):
    """Modes, by id."""

    items: list[ModeLine]


class DecoratorLine(TypedDict):
    """A decorator: functions, events and paths by name, and how many responses it has."""

    id: str
    kind: NotRequired[str]
    doc: NotRequired[str]
    wrap: NotRequired[str]
    init: NotRequired[list[str]]
    teardown: NotRequired[list[str]]
    patch: NotRequired[list[str]]
    effect: NotRequired[str]
    responses: NotRequired[int]


class DecoratorPage(Page):
    """Decorators, by id."""

    items: list[DecoratorLine]


class DecoratorBody(TypedDict):
    """A decorator with its data; slots that hold nothing are left out."""

    id: str
    kind: str
    doc: NotRequired[str]
    wrap: NotRequired[str]
    init: NotRequired[list[list[Any]]]
    teardown: NotRequired[list[list[Any]]]
    patch: NotRequired[dict[str, Any]]
    effect: NotRequired[str]
    responses: NotRequired[list[Any]]
    repeats: NotRequired[bool]
    registered: Place


class WorkspaceLine(TypedDict):
    """A workspace, and how many variants it names."""

    id: str
    layout: NotRequired[str]
    doc: NotRequired[str]
    story: NotRequired[str]
    variants: NotRequired[int]
    render: NotRequired[str]


class WorkspacePage(Page):
    """Workspaces, by id."""

    items: list[WorkspaceLine]


class WorkspaceBody(TypedDict):
    """A workspace; `shows` are the variants that are registered and may be seen."""

    id: str
    layout: str
    doc: NotRequired[str]
    variants: NotRequired[list[str]]
    story: NotRequired[str]
    columns: NotRequired[int]
    content: NotRequired[list[dict[str, str]]]
    render: NotRequired[str]
    modes: NotRequired[list[str]]
    isolation: NotRequired[str]
    registered: Place
    shows: NotRequired[list[str]]


class PanelLine(TypedDict):
    """A panel; `render` names a function, or another panel."""

    id: str
    title: NotRequired[str]
    placement: NotRequired[str]
    render: NotRequired[str]
    doc: NotRequired[str]


class PanelPage(Page):
    """Panels, by id."""

    items: list[PanelLine]


class AssertionLine(TypedDict):
    """An assertion: what follows its id in a line, and what it holds."""

    id: str
    payload: str
    meaning: str


class AssertionPage(Page):
    """A page of the person's assertions; the first page has those that ship too."""

    canonical: NotRequired[list[AssertionLine]]
    registered: list[AssertionLine]


@op(access="read", lane="inline", toolset="story")
def list_tags(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> TagPage:
    """List the tags that stories and variants may carry."""
    return cast("TagPage", _page(call, "tag", _body_line, limit, cursor))


@op(access="read", toolset="story")
def list_modes(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> ModePage:
    """List the modes: saved args for `modes=[...]`; modes of one axis exclude each other."""
    return cast("ModePage", _page(call, "mode", _mode_line, limit, cursor))


@op(access="read", lane="inline", toolset="story")
def list_decorators(
    call: Call,
    kind: Annotated[
        Literal["wrap", "frame_setup", "fx_override"] | None, "Only those of this kind"
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> DecoratorPage:
    """List the decorators: what runs put around components, into their setup, before effects."""
    entries = {id: REGISTRY.find("decorator", id) for id in visible_ids(call.view, "decorator")}
    ids = [id for id, e in entries.items() if kind is None or (e and e.body.kind == kind)]
    query = ["decorator", kind, call.view.tier]
    found = page_of(call, "decorator", ids, _decorator_line, limit, cursor, query)
    answer = cast("DecoratorPage", found)
    _suggest_first(call, answer, "get_decorator(decorator_id={!r})")
    return answer


@op(access="read", lane="inline", toolset="story")
def list_workspaces(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> WorkspacePage:
    """List the workspaces: variants that are laid out together."""
    found = _page(call, "workspace", partial(_workspace_line, call), limit, cursor)
    answer = cast("WorkspacePage", found)
    _suggest_first(call, answer, "get_workspace(workspace_id={!r})")
    return answer


@op(access="read", lane="inline", toolset="story")
def list_panels(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> PanelPage:
    """List the panels that the person sees beside the variants; panels of a place go by id."""
    return cast("PanelPage", _page(call, "panel", _panel_line, limit, cursor))


@op(access="read", toolset="story")
def get_decorator(
    call: Call, decorator_id: Annotated[str, "Decorator id, e.g. fixed_clock"]
) -> DecoratorBody:
    """Read one decorator: its kind and what it does; functions go by module and name."""
    entry = visible_entry(call.view, "decorator", decorator_id)
    call.suggest(f"list_decorators(kind={entry.body.kind!r})")
    return cast("DecoratorBody", _whole(call, entry))


@op(access="read", toolset="story")
def get_workspace(call: Call, workspace_id: WorkspaceId) -> WorkspaceBody:
    """Read one workspace: its layout, and the variants that it shows as of now."""
    entry = visible_entry(call.view, "workspace", workspace_id)
    seen = _shown_variants(call, entry.body)
    if seen:
        call.suggest(f"run_variant(variant_id={seen[0]!r})")
    call.suggest(f"workspace_to_data(workspace_id={entry.id!r})")
    return cast("WorkspaceBody", filled(**_whole(call, entry), shows=seen))


def _page(
    call: Call, kind: str, line: Callable[[Entry], dict[str, Any]], limit: int, cursor: str | None
) -> dict[str, Any]:
    ids = visible_ids(call.view, kind)
    return page_of(call, kind, ids, line, limit, cursor, [kind, call.view.tier])


def _whole(call: Call, entry: Entry) -> dict[str, Any]:
    slots = slots_of(entry.body)
    call.sensitive.extend(secrets_of_entry(entry))
    return filled(id=entry.id, **shown_slots(call, shown(slots)), registered=place(entry))


def _body_line(entry: Entry) -> dict[str, Any]:
    return filled(id=entry.id, **shown(slots_of(entry.body)))


def _mode_line(entry: Entry) -> dict[str, Any]:
    slots = slots_of(entry.body)
    return filled(id=entry.id, **shown(slots | {"args": mode_args(entry)}))


def _decorator_line(entry: Entry) -> dict[str, Any]:
    """Return what a decorator is, with the names of what it does and none of its data."""
    body: Decorator = entry.body
    return filled(
        id=entry.id,
        kind=body.kind,
        doc=_summary(entry),
        wrap=_name(body.wrap),
        init=[event[0] for event in body.init],
        teardown=[event[0] for event in body.teardown],
        patch=list(body.patch),
        effect=body.effect,
        responses=len(body.responses),
    )


def _workspace_line(call: Call, entry: Entry) -> dict[str, Any]:
    body: Workspace = entry.body
    return filled(
        id=entry.id,
        layout=body.layout,
        doc=_summary(entry),
        story=shown_name(call, body.story or "", ["story"]),
        variants=_count(call, body.variants) or _count(call, _blocks(body)),
        render=body.render,
    )


def _panel_line(entry: Entry) -> dict[str, Any]:
    body: Panel = entry.body
    slots = to_dict(body) | {"doc": _summary(entry), "render": _name(body.render)}
    return filled(id=entry.id, **slots)


def _shown_variants(call: Call, body: Workspace) -> list[str]:
    """Return the variants of a workspace that are registered and may be seen, in their order."""
    if body.story is not None:
        return list(visible_ids(call.view, "variant", f"{body.story}/"))
    named = (*body.variants, *_blocks(body))
    return [id for id in named if id in visible_ids(call.view, "variant", id)]


def _count(call: Call, ids: Sequence[str]) -> int:
    return sum(shown_name(call, id, ["variant"]) != HIDDEN for id in ids)


def _blocks(body: Workspace) -> list[str]:
    return [str(block["variant"]) for block in body.content if "variant" in block]


def _name(named: Component | str | None) -> str:
    return f"{named.module}.{named.qualname}" if isinstance(named, Component) else named or ""


def _summary(entry: Entry) -> str:
    return entry.body.doc.partition("\n")[0]


def _suggest_first(call: Call, answer: DecoratorPage | WorkspacePage, step: str) -> None:
    if answer["items"]:
        call.suggest(step.format(answer["items"][0]["id"]))


@op(access="read", lane="inline", toolset="story")
def list_assertions(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> AssertionPage:
    """List what a play may assert, each with its payload: a line is `[id, *payload]`.

    `canonical` ships, `registered` is the person's own, page by page.
    """
    entries = REGISTRY.snapshot("assertion")
    ships = [entry for entry in entries.values() if entry.origin.key == BUILTIN]
    ships.sort(key=lambda entry: entry.revision)
    ids = [id for id in visible_ids(call.view, "assertion") if id in entries]
    own = [id for id in ids if entries[id].origin.key != BUILTIN]
    call.max_items = max(limit, len(ships))
    found = page(
        own,
        lambda id: _line(entries[id]),
        limit=limit,
        cursor=cursor,
        revision=REGISTRY.revision,
        query=["assertion", call.view.tier],
    )
    canonical = {} if cursor else {"canonical": [_line(entry) for entry in ships]}
    return cast("AssertionPage", canonical | {"registered": found.pop("items")} | found)


def _line(entry: Entry) -> AssertionLine:
    """Return what an assertion takes and means; a doc may begin with a payload, which is cut."""
    head, _, rest = entry.body.doc.partition("`: ")
    meaning = rest if head.startswith("`[") and rest else entry.body.doc
    return {"id": entry.id, "payload": entry.body.takes, "meaning": " ".join(meaning.split())}
