"""Ops that explain, document and share what is registered; nothing runs."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from repl_pair.runtime.authoring import substrates
from repl_pair.runtime.op_base.answers import Items, Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import (
    DEFAULT_LIMIT,
    Cursor,
    Limit,
    mark_of_ids,
    note_secrets,
    page,
    repeat,
)
from repl_pair.runtime.op_base.planned import Modes, Overrides, planned
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.op_base.tier_names import shown_name, shown_rows, shown_slots, shown_words
from repl_pair.runtime.planning.arg_sources import source_of
from repl_pair.runtime.planning.explanation import Explanation, explain
from repl_pair.runtime.registry.as_data import body_data
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import is_agents, is_of_agent
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import (
    StoryId,
    VariantId,
    WorkspaceId,
    check_visible,
    visible_entry,
    visible_ids,
)
from repl_pair.runtime.results.docs import Reader, write_docs
from repl_pair.runtime.results.instructions import INSTRUCTIONS
from repl_pair.runtime.results.links import Link
from repl_pair.runtime.results.sharing import draw_png, share_plan
from repl_pair.runtime.secrets.entries import secrets_of_explanation, slots_of
from repl_pair.runtime.secrets.known import NEEDLES, CallSecrets, within
from repl_pair.runtime.values.classes import is_map

WHOLE_ROOM, WHOLE_DEPTH = 10_000, 64
"""What an answer may hold that is of use only whole: parts of a container, and levels."""
MAX_CHARS = 200_000
"""What of a documentation leaves the kernel at once; an interface has its own budget."""


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


@op(access="read", toolset="story")
def explain_variant(
    call: Call, variant_id: VariantId, modes: Modes = None, overrides: Overrides = None
) -> Explanation:
    """Read where each effective arg, tag, decorator, mode, event of a variant comes from.

    `covers` is what a value is laid over. What would keep it from being run is in `conflicts`.
    """
    visible_entry(call.view, "variant", variant_id)
    if call.view.tier is not None:  # without one, an unknown mode is among the conflicts
        check_visible(call.view, "mode", modes)
    call.max_items, call.max_depth = WHOLE_ROOM, 16
    met = CallSecrets()  # a plan notes what was sent: beside the person's values it must not stay
    with within(met):
        caller = call.view.principal
        found = explain(variant_id, modes=modes or (), overrides=overrides, caller=caller)
    call.secrets.include(met)
    story = REGISTRY.find("story", story_of(variant_id))
    call.sensitive.extend(secrets_of_explanation(found, story, modes or ()))
    call.secrets.ignore(overrides)
    sent: dict[str, Any] = {"overrides": overrides, "args": overrides} if overrides else {}
    for part in filter(None, (REGISTRY.find("variant", id) for id in found["chain"])):
        if is_of_agent(part.origin, call.view.principal):
            sent[source_of(part)] = part.origin.sent
        if is_agents(part.origin):
            call.secrets.ignore(slots_of(part.body))
    call.suggest("run_variant", variant_id=variant_id)
    filled = {slot: v for slot, v in found.items() if v or slot in ("args", "conflicts")}
    rows = shown_rows(call, filled)
    if sent:
        rows = {slot: _repeat_sent(call, part, sent) for slot, part in rows.items()}
    return cast("Explanation", rows)


def _repeat_sent(call: Call, part: Any, sent: Mapping[str, Any]) -> Any:
    """Return a part of an explanation in which what the caller sent, by source, stays as it came.

    In ids, sources and conflicts all of it does. Where it did in the person's values too, a right
    guess would show them.
    """
    if isinstance(part, list) and part and is_map(part[0]):
        return [_repeat_sent(call, row, sent) for row in cast("list[Any]", part)]
    if not is_map(part) or "source" not in part:
        return repeat(call, part, list(sent.values()))
    own = sent.get(part["source"])
    if own is not None and "event" in part and not part["event"][1].keys() <= own.keys():
        own = None  # an arg of the person's goes out as this event
    return {
        slot: _repeat_sent(call, value, sent)
        if slot not in _VALUES
        else (value if own is None else repeat(call, value, own))
        for slot, value in part.items()
    }


_VALUES = ("path", "value", "event", "args")
"""The slots of a row of an explanation that hold what its source gave."""


@op(access="read", toolset="story")
def list_substrates(call: Call) -> Items[substrates.SubstrateLine]:
    """List the renderings: which of text, HTML, PNG and widgets this kernel has, and why."""
    items = substrates.list_substrates()
    return {"items": items, "total": len(items)}


@op(access="read", toolset="story")
def variant_to_data(call: Call, variant_id: VariantId) -> Data:
    """Return a variant's body as data that registers it again, byte for byte the same each time.

    `{"$ref"}` and `{"$type"}` mark what JSON cannot hold; a secret is not carried.
    """
    call.suggest("explain_variant", variant_id=variant_id)
    return _data(call, "variant", variant_id)


@op(access="read", toolset="story")
def workspace_to_data(call: Call, workspace_id: WorkspaceId) -> Data:
    """Return a workspace's body as data that registers it again, byte for byte the same."""
    call.suggest("get_workspace", workspace_id=workspace_id)
    return _data(call, "workspace", workspace_id)


def _data(call: Call, kind: str, id: str) -> Data:
    entry = visible_entry(call.view, kind, id)
    call.max_items, call.max_depth = WHOLE_ROOM, WHOLE_DEPTH
    note_secrets(call, entry, "body")
    return {"id": id, "body": shown_slots(call, body_data(entry.body))}


@op(access="read", lane="inline", toolset="story")
def get_story_instructions(call: Call) -> Instructions:
    """Read how to work with stories: the words, the usual calls, statuses, writing."""
    call.suggest("list_stories")
    return {"instructions": INSTRUCTIONS}


@op(access="read", toolset="story")
def get_docs_markdown(
    call: Call, story_id: StoryId, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> StoryDocs:
    """Read one story as Markdown: args, tags, decorators, modes, variants, last statuses."""
    entry = visible_entry(call.view, "story", story_id)
    ids = visible_ids(call.view, "variant", f"{entry.id}/")
    query = [mark_of_ids(ids), "docs", entry.id, call.view.tier]
    chosen = page(ids, limit=limit, cursor=cursor, query=query)
    shown = chosen["items"]

    def find(kind: str, id: str) -> Entry | None:
        return REGISTRY.find(kind, id) if id in visible_ids(call.view, kind, id) else None

    reader = Reader(find=find, show=lambda kind, id: shown_name(call, id, kind))
    text = write_docs(entry, shown, reader=reader, left_out=len(ids) - len(shown))
    call.max_items = max(limit, min(len(text), MAX_CHARS))
    for id in shown[:1]:
        call.suggest("run_variant", variant_id=id)
    return {"story_id": entry.id, "markdown": str(text), **chosen}


@op(access="read", toolset="story")
def share_variant(
    call: Call,
    variant_id: VariantId,
    modes: Modes = None,
    overrides: Overrides = None,
    workspace: Annotated[str | None, "Open it in this workspace"] = None,
    tab: Annotated[Literal["dev", "docs", "test"], "Open it on this tab"] = "dev",
    tag_filter: Annotated[list[str] | None, "Open with only these tags listed"] = None,
    substrate: Annotated[str, "The rendering to open with"] = "text",
    base_url: Annotated[str, "A notebook's http(s) URL; without a token"] = "repl-pair:notebook",
    qr: Annotated[bool, "With the QR code as an image"] = False,
) -> Shared:
    """Return the URL that opens a variant, and how far it can be reproduced; nothing runs."""
    check_visible(call.view, "workspace", [workspace] if workspace else ())
    check_visible(call.view, "tag", tag_filter)
    call.secrets.take_sent([overrides, base_url])
    plan = planned(call, variant_id, modes=modes, overrides=overrides, substrate=substrate)
    tags = tuple(tag_filter or ())
    link = Link(workspace=workspace, tab=tab, tag_filter=tags, substrate=substrate)
    shared = share_plan(plan, link, base_url)
    reasons = [shown_words(call, reason) for reason in shared.reasons]
    answer: Shared = {"url": shared.url, "label": shared.label, "reasons": reasons}
    call.suggest("run_variant", variant_id=variant_id)
    if qr and NEEDLES.scrub(shared.url)[1]:
        call.notifications.append("The URL holds a secret and is redacted: no QR code of it.")
    elif qr:
        image: Any = call.add_raw_json(draw_png(shared.url))
        answer["outputs"] = [{"image/png": image}]
    return answer
