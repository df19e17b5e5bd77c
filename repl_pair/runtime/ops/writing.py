"""Ops by which an agent registers data over what the person registered; shut unless opened."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypedDict

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.authoring.agent_reading import WRITABLE
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.entering import Registered, decide, enter_body
from repl_pair.runtime.op_base.previews import preview_clearing, preview_entry, preview_removal
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import agent_origin, is_agents, may_replace
from repl_pair.runtime.registry.registry import REGISTRY, not_found
from repl_pair.runtime.registry.visible import StoryId, VariantId, visible_ids

Body = Annotated[dict[str, Any], "Its slots, as JSON"]
Kind = Annotated[str, "story, variant, workspace, mode, decorator, tag or panel"]


class Unregistered(TypedDict):
    """What was unregistered."""

    kind: str
    id: str
    unregistered: Literal[True]


class Cleared(TypedDict):
    """The ids that were unregistered, by kind, and how many entries remain."""

    removed: dict[str, list[str]]
    total: int
    left: int


@op(access="write", toolset="authoring", stoppable=False, preview=preview_entry("story"))
def register_story(call: Call, story_id: StoryId, body: Body) -> Registered:
    """Register a story over the component of another one, whose args and decorators it keeps.

    body: component_of (that story's id); args and decorators that come on top, argtypes, tags,
    modes, substrates, doc.
    """
    return enter_body(call, "story", story_id, body)


@op(access="write", toolset="write", stoppable=False, preview=preview_entry("variant"))
def register_variant(call: Call, variant_id: VariantId, body: Body) -> Registered:
    """Register a variant: data over ids that exist. It replaces only what you registered.

    body: extends (a variant's id, whose args and events it takes over, not its play), args, play
    ([["path_equals", "result.total", 13.0]]), plays, events, args_to_events, loaders,
    loaders_complete_when, loaders_teardown, tags, modes, decorators, argtypes, substrates, doc.
    """
    return enter_body(call, "variant", variant_id, body)


@op(access="write", toolset="authoring", stoppable=False, preview=preview_entry("workspace"))
def register_workspace(
    call: Call, workspace_id: Annotated[str, "some.place/Name"], body: Body
) -> Registered:
    """Register variants that are laid out together.

    body: layout; grid and tabs take variants (ids), prose takes content ({"prose": text} and
    {"variant": id}), variants_grid takes story, custom takes render (a panel's id); columns,
    modes, isolation, doc.
    """
    return enter_body(call, "workspace", workspace_id, body)


@op(access="write", toolset="authoring", stoppable=False, preview=preview_entry("mode"))
def register_mode(
    call: Call, mode_id: Annotated[str, "e.g. currency/eur"], body: Body
) -> Registered:
    """Register saved args for `modes=[...]`. body: args; axis, doc."""
    return enter_body(call, "mode", mode_id, body)


@op(access="write", toolset="authoring", stoppable=False, preview=preview_entry("decorator"))
def register_decorator(
    call: Call, decorator_id: Annotated[str, "e.g. mail/down"], body: Body
) -> Registered:
    """Register answers to an effect, or a setup, for `decorators` of variants.

    body: kind fx_override with effect (an id) and response, or responses (one per call;
    {"$raise": "TimeoutError"} raises); or kind frame_setup with init, teardown (events), patch
    ({path: value}); doc.
    """
    return enter_body(call, "decorator", decorator_id, body)


@op(access="write", toolset="authoring", stoppable=False, preview=preview_entry("tag"))
def register_tag(call: Call, tag_id: Annotated[str, "e.g. slow"], body: Body) -> Registered:
    """Register a word that variants may carry. body: doc, axis, default_filter; {} is enough."""
    return enter_body(call, "tag", tag_id, body)


@op(access="write", toolset="authoring", stoppable=False, preview=preview_entry("panel"))
def register_panel(call: Call, panel_id: Annotated[str, "e.g. totals"], body: Body) -> Registered:
    """Register a panel that shows what another one renders.

    body: title, placement (right, left, bottom, top, modal), render (a panel's id); doc.
    """
    return enter_body(call, "panel", panel_id, body)


@op(access="write", toolset="write", stoppable=False, preview=preview_removal)
def unregister(
    call: Call, kind: Kind, id: Annotated[str, "Its id, e.g. pricing.quote/Bulk_2"]
) -> Unregistered:
    """Unregister one entry that you registered; those of the person and other agents stay."""
    _check_kind(kind)
    ids = visible_ids(call.view, kind)
    entry = REGISTRY.find(kind, id) if id in ids else None
    if entry is None:
        own = _own(call, kind, ids)
        # No step unregisters what is near: it may be executed unread.
        raise not_found(kind, f"There is no {kind} {id!r}.{did_you_mean(id, own)}")
    if not may_replace(agent_origin(call.view.principal), entry.origin):
        whose, who = "not an agent's", "the person"
        if is_agents(entry.origin):
            whose, who = "another agent's", "that agent or the person"
        raise RequestError(
            "cannot_run",
            f"{kind} {id!r} is {whose}: {entry.origin.label} registered it, and only {who} may "
            "unregister it. Nothing was changed.",
        )
    decide(call)
    if not REGISTRY.unregister(kind, id, entry=entry):
        raise RequestError(
            "cannot_run", f"{kind} {id!r} was registered again meanwhile. Nothing was changed."
        )
    if kind == "story" and (variants := visible_ids(call.view, "variant", f"{id}/")):
        call.notifications.append(f"Without their story are now: {', '.join(variants[:10])}.")
    return {"kind": kind, "id": id, "unregistered": True}


@op(access="write", toolset="authoring", stoppable=False, preview=preview_clearing)
def clear_kind(call: Call, kind: Kind) -> Cleared:
    """Unregister all of a kind that you registered; answers how many entries remain."""
    _check_kind(kind)
    return _clear(call, [kind])


@op(access="write", toolset="authoring", stoppable=False, preview=preview_clearing)
def clear_all(call: Call) -> Cleared:
    """Unregister everything that you registered; answers how many entries remain."""
    return _clear(call, WRITABLE)


def _clear(call: Call, kinds: Sequence[str]) -> Cleared:
    decide(call)
    removed: dict[str, list[str]] = {}
    left = 0
    for kind in kinds:
        ids = visible_ids(call.view, kind)
        own = _own(call, kind, ids)
        left += len(ids) - len(own)
        if gone := [id for id, e in own.items() if REGISTRY.unregister(kind, id, entry=e)]:
            removed[kind] = gone
    if left:
        call.notifications.append(
            f"{left} entries stay: the person's, other agents' and the built-in ones."
        )
    return {"removed": removed, "total": sum(map(len, removed.values())), "left": left}


def _own(call: Call, kind: str, ids: Iterable[str]) -> dict[str, Entry]:
    entries, writer = REGISTRY.snapshot(kind), agent_origin(call.view.principal)
    there = {id: entries[id] for id in ids if id in entries}
    return {id: entry for id, entry in there.items() if may_replace(writer, entry.origin)}


def _check_kind(kind: str) -> None:
    if kind not in WRITABLE:
        raise RequestError(
            "not_found",
            f"Agents register no {kind!r}.{did_you_mean(kind, WRITABLE)} "
            f"There are: {', '.join(WRITABLE)}.",
        )
