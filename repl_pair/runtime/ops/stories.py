"""Ops that list and read what is registered; none of the person's code runs."""

from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from repl_pair.runtime.op_base.answers import Listed, Page, Place, Status
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.corrections import suggest_correction
from repl_pair.runtime.op_base.listing import (
    DEFAULT_LIMIT,
    Cursor,
    Limit,
    filled,
    page_of,
    read_line,
    read_whole,
)
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.op_base.tier_names import shown_slots
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry, Story
from repl_pair.runtime.registry.registry import EMPTY, REGISTRY
from repl_pair.runtime.registry.tags import tags_of
from repl_pair.runtime.registry.visible import (
    StoryId,
    Tags,
    VariantId,
    listed_stories,
    listed_variants,
    visible_entry,
    visible_ids,
)
from repl_pair.runtime.results.drift import is_current
from repl_pair.runtime.results.last_results import last_verdict
from repl_pair.runtime.secrets.schemas import public_schema
from repl_pair.runtime.signatures.schema import parameters_schema


class StoryLine(Listed):
    """A story, and how many variants it has."""

    tags: NotRequired[list[str]]
    variants: int


class LastStatus(TypedDict):
    """How a variant's last run as it is registered ended, perhaps in modes of its own."""

    status: NotRequired[Status]
    stale: NotRequired[bool]
    active_modes: NotRequired[list[str]]


class VariantLine(Listed, LastStatus):
    """A variant with its last status, if it was run."""

    tags: NotRequired[list[str]]


class Body(Listed):
    """What stories and variants have."""

    args: NotRequired[dict[str, Any]]
    argtypes: NotRequired[dict[str, Any]]
    tags: NotRequired[list[str]]
    modes: NotRequired[list[str]]
    decorators: NotRequired[list[Any]]
    substrates: NotRequired[list[str]]
    registered: Place


class StoryBody(Body):
    """A story; `args_schema` is the JSON Schema of its component's parameters."""

    component: str
    state: NotRequired[str]
    thread_safe: NotRequired[bool]
    args_schema: dict[str, Any]
    variants: NotRequired[list[str]]
    agent_overrides: NotRequired[Literal[False]]


class VariantBody(Body, LastStatus):
    """A variant's own body, and its last status, if it was run."""

    story: str
    extends: NotRequired[str]
    events: NotRequired[list[Any]]
    args_to_events: NotRequired[dict[str, str]]
    play: NotRequired[list[Any]]
    plays: NotRequired[list[Any]]
    loaders: NotRequired[list[str]]
    loaders_complete_when: NotRequired[str | list[str]]
    loaders_teardown: NotRequired[list[Any]]


@op(access="read", lane="inline", toolset="core")
def list_stories(
    call: Call, tags: Tags = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[StoryLine]:
    """List the stories: the components that have named variants to run."""
    ids = listed_stories(call.view, call.notifications, tags)
    line, then = partial(_story_line, call), ("list_variants", "story_id")
    answer = page_of(call, "story", line, limit, cursor, ids=ids, query=[tags], then=then)
    if not answer["total"] and not visible_ids(call.view, "story"):
        call.notifications.append(f"No story is registered. {EMPTY}")
    return answer


@op(access="read", lane="inline", toolset="core")
def list_variants(
    call: Call,
    story_id: Annotated[str | None, "Of this story"] = None,
    tags: Tags = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[VariantLine]:
    """List the variants: the named states of stories, each with its last status."""
    ids = listed_variants(call.view, call.notifications, story_id, tags)
    line, then = partial(_variant_line, call, {}), ("run_variant", "variant_id")
    query = [story_id, tags]
    answer = page_of(call, "variant", line, limit, cursor, ids=ids, query=query, then=then)
    if not answer["total"] and not visible_ids(call.view, "variant"):
        call.notifications.append(f"No variant is registered. {EMPTY}")
    return answer


@op(access="read", toolset="core")
def get_story(call: Call, story_id: StoryId) -> StoryBody:
    """Read one story: its component, the schema of its args, its defaults and variants."""
    entry = visible_entry(call.view, "story", story_id)
    body: Story = entry.body
    variants = visible_ids(call.view, "variant", f"{entry.id}/")
    for id in variants[:1]:
        call.suggest("run_variant", variant_id=id)
    schema = call.add_raw_json(public_schema(parameters_schema(body.component.resolve())))
    more = {"component": body.component.shown, "variants": list(variants)}
    answer = read_whole(call, entry, args_schema=schema, **more)
    return answer if body.agent_overrides else answer | {"agent_overrides": False}


@op(access="read", toolset="core")
def get_variant(call: Call, variant_id: VariantId) -> VariantBody:
    """Read one variant's body: its args, play and tags, and its last status."""
    entry = visible_entry(call.view, "variant", variant_id)
    call.suggest("run_variant", variant_id=entry.id)
    if entry.body.extends is not None:
        call.suggest("explain_variant", variant_id=entry.id)
    if (record := last_verdict(entry.id)) is not None:
        suggest_correction(call, entry.id, record.status)
    more = {"story": story_of(entry.id), "tags": list(tags_of(entry))}
    return read_whole(call, entry, **more, **_last_status(entry, {}))


def _story_line(call: Call, entry: Entry) -> dict[str, Any]:
    variants = len(visible_ids(call.view, "variant", f"{entry.id}/"))
    return shown_slots(call, read_line(entry, tags=list(entry.body.tags))) | {"variants": variants}


def _variant_line(call: Call, hashes: dict[Any, str], entry: Entry) -> dict[str, Any]:
    story = REGISTRY.find("story", story_of(entry.id))
    known = _LINES.get(entry.id)
    revisions = entry.revision, None if story is None else story.revision
    if known is None or known[0] != revisions or entry.body.extends is not None:
        line = read_line(entry, tags=list(tags_of(entry)))
        if len(_LINES) >= MAX_LINES:
            _LINES.clear()
        _LINES[entry.id] = known = revisions, line
    return shown_slots(call, known[1] | _last_status(entry, hashes))


MAX_LINES = 4096
_LINES: dict[str, tuple[tuple[int, int | None], dict[str, Any]]] = {}
"""The lines of variants, each good for these revisions of its variant and story.

They hold no entry: its args, which may be large, go with its registration.
"""


def _last_status(entry: Entry, hashes: dict[Any, str]) -> dict[str, Any]:
    record = last_verdict(entry.id)
    if record is None:
        return {}
    modes = list(record.active_modes)
    return filled(status=record.status, stale=not is_current(record, hashes), active_modes=modes)
