"""Ops by which an agent registers data over what the person registered; shut unless opened."""

from typing import Annotated, Any

from repl_pair.runtime.authoring.agent_reading import WRITABLE
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.entering import clear, correction, enter_body, take_out
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.registry.visible import StoryId, VariantId

Body = Annotated[dict[str, Any], "Its slots, as JSON"]
Kind = Annotated[str, "story, variant, workspace, mode, decorator, tag or panel"]


@op(access="write", toolset="write", stoppable=False)
def register_story(call: Call, story_id: StoryId, body: Body) -> dict[str, Any]:
    """Register a story over the component of another one, whose args and decorators it keeps.

    body: component_of (that story's id); args and decorators that come on top, argtypes, tags,
    modes, substrates, doc.
    """
    return _enter(call, "story", story_id, body)


@op(access="write", toolset="write", stoppable=False)
def register_variant(call: Call, variant_id: VariantId, body: Body) -> dict[str, Any]:
    """Register a variant: data over ids that exist. It replaces what agents registered only.

    body: extends (a variant's id, whose args and events it takes over, not its play), args, play
    ([["path_equals", "result.total", 13.0]]), plays, events, args_to_events, loaders,
    loaders_complete_when, loaders_teardown, tags, modes, decorators, argtypes, substrates, doc.
    """
    return _enter(call, "variant", variant_id, body)


@op(access="write", toolset="write", stoppable=False)
def register_workspace(
    call: Call, workspace_id: Annotated[str, "some.place/Name"], body: Body
) -> dict[str, Any]:
    """Register variants that are laid out together.

    body: layout; grid and tabs take variants (ids), prose takes content ({"prose": text} and
    {"variant": id}), variants_grid takes story, custom takes render (a panel's id); columns,
    modes, isolation, doc.
    """
    return _enter(call, "workspace", workspace_id, body)


@op(access="write", toolset="write", stoppable=False)
def register_mode(
    call: Call, mode_id: Annotated[str, "e.g. currency/eur"], body: Body
) -> dict[str, Any]:
    """Register saved args for `modes=[...]`. body: args; axis, doc."""
    return _enter(call, "mode", mode_id, body)


@op(access="write", toolset="write", stoppable=False)
def register_decorator(
    call: Call, decorator_id: Annotated[str, "e.g. mail/down"], body: Body
) -> dict[str, Any]:
    """Register answers to an effect, or a setup, for `decorators` of variants.

    body: kind fx_override with effect (an id) and response, or responses (one per call;
    {"$raise": "TimeoutError"} raises); or kind frame_setup with init, teardown (events), patch
    ({path: value}); doc.
    """
    return _enter(call, "decorator", decorator_id, body)


@op(access="write", toolset="write", stoppable=False)
def register_tag(call: Call, tag_id: Annotated[str, "e.g. slow"], body: Body) -> dict[str, Any]:
    """Register a word that variants may carry. body: doc, axis, default_filter; {} will do."""
    return _enter(call, "tag", tag_id, body)


@op(access="write", toolset="write", stoppable=False)
def register_panel(
    call: Call, panel_id: Annotated[str, "e.g. totals"], body: Body
) -> dict[str, Any]:
    """Register a panel that shows what another one renders.

    body: title, placement (right, left, bottom, top, modal), render (a panel's id); doc.
    """
    return _enter(call, "panel", panel_id, body)


@op(access="write", toolset="write", stoppable=False)
def unregister(
    call: Call, kind: Kind, id: Annotated[str, "Its id, e.g. pricing.quote/Bulk_2"]
) -> dict[str, Any]:
    """Take out one entry that an agent registered; the person's stay."""
    return take_out(call, kind, id)


@op(access="write", toolset="write", stoppable=False)
def clear_kind(call: Call, kind: Kind) -> dict[str, Any]:
    """Take out all of a kind that agents registered; says how many entries stay."""
    return clear(call, [kind])


@op(access="write", toolset="write", stoppable=False)
def clear_all(call: Call) -> dict[str, Any]:
    """Take out all that agents registered; says how many entries of the person's stay."""
    return clear(call, WRITABLE)


def suggest_correction(call: Call, variant_id: str, status: str) -> None:
    """Suggest to who may write how to correct what does not pass, and what to take out then."""
    if "write" in call.view.access:
        call.suggest(*correction(variant_id, status))


def _enter(call: Call, kind: str, id: str, body: dict[str, Any]) -> dict[str, Any]:
    return enter_body(call, kind, id, body)
