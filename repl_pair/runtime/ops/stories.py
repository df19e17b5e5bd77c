"""Ops that list and read what is registered; nothing of the person's runs."""

from functools import partial
from typing import Annotated, Any, NotRequired, TypedDict, cast

from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.entry_json import Place, filled, place, shown
from repl_pair.runtime.ops.paging import DEFAULT_LIMIT, Cursor, Limit, Page, page_of
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.ops.tier_names import shown_slots
from repl_pair.runtime.ops.writing import suggest_correction
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
from repl_pair.runtime.results.last import is_stale, last_result
from repl_pair.runtime.secrets.entries import plays_of, secrets_of_entry, slots_of
from repl_pair.runtime.secrets.needles import NEEDLES
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.schema import parameters_schema


class StoryLine(TypedDict):
    """One story of a list: the first line of its doc, and how many variants it has."""

    id: str
    doc: NotRequired[str]
    tags: NotRequired[list[str]]
    variants: NotRequired[int]


class StoryPage(Page):
    """Stories, by id."""

    items: list[StoryLine]


class VariantLine(TypedDict):
    """One variant of a list; `stale` where it changed since the run that gave `status`."""

    id: str
    doc: NotRequired[str]
    tags: NotRequired[list[str]]
    status: NotRequired[str]
    stale: NotRequired[bool]


class VariantPage(Page):
    """Variants, by id."""

    items: list[VariantLine]


class StoryBody(TypedDict):
    """A story; slots that hold nothing are left out."""

    id: str
    component: str
    doc: NotRequired[str]
    args: NotRequired[dict[str, Any]]
    argtypes: NotRequired[dict[str, Any]]
    tags: NotRequired[list[str]]
    modes: NotRequired[list[str]]
    decorators: NotRequired[list[list[Any]]]
    substrates: NotRequired[list[str]]
    state: NotRequired[str]
    thread_safe: NotRequired[bool]
    agent_overrides: NotRequired[bool]
    """Only where it is false."""
    args_schema: dict[str, Any]
    variants: NotRequired[list[str]]
    registered: Place


class PlayBody(TypedDict):
    """A named play; an assertion or step is a list headed by its name."""

    name: str
    steps: list[list[Any]]
    auto_run: bool


class VariantBody(TypedDict):
    """A variant; slots that hold nothing are left out."""

    id: str
    story: str
    doc: NotRequired[str]
    extends: NotRequired[str]
    args: NotRequired[dict[str, Any]]
    argtypes: NotRequired[dict[str, Any]]
    events: NotRequired[list[list[Any]]]
    args_to_events: NotRequired[dict[str, str]]
    play: NotRequired[list[list[Any]]]
    plays: NotRequired[list[PlayBody]]
    loaders: NotRequired[list[str]]
    loaders_complete_when: NotRequired[str | list[str]]
    loaders_teardown: NotRequired[list[list[Any]]]
    tags: NotRequired[list[str]]
    modes: NotRequired[list[str]]
    decorators: NotRequired[list[list[Any]]]
    substrates: NotRequired[list[str]]
    registered: Place
    status: NotRequired[str]
    stale: NotRequired[bool]


@op(access="read", lane="inline", toolset="core")
def list_stories(
    call: Call, tags: Tags = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> StoryPage:
    """List the stories: the components that have named variants to run."""
    ids = listed_stories(call.view, call.notifications, tags)
    query = ["story", tags, call.view.tier]
    page = page_of(call, "story", ids, partial(_story_line, call), limit, cursor, query)
    answer = cast("StoryPage", page)
    if not answer["total"] and not visible_ids(call.view, "story"):
        call.notifications.append(f"No story is registered. {EMPTY}")
    elif answer["items"]:
        call.suggest(f"list_variants(story_id={answer['items'][0]['id']!r})")
    return answer


@op(access="read", lane="inline", toolset="core")
def list_variants(
    call: Call,
    story_id: Annotated[str | None, "Only those of this story"] = None,
    tags: Tags = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> VariantPage:
    """List the variants: the named states of stories, each with its last status."""
    if story_id is not None:
        visible_entry(call.view, "story", story_id)
    ids = listed_variants(call.view, call.notifications, story_id, tags)
    query = ["variant", story_id, tags, call.view.tier]
    page = page_of(call, "variant", ids, partial(_variant_line, call), limit, cursor, query)
    answer = cast("VariantPage", page)
    if not answer["total"] and not visible_ids(call.view, "variant"):
        call.notifications.append(f"No variant is registered. {EMPTY}")
    elif answer["items"]:
        call.suggest(f"run_variant(variant_id={answer['items'][0]['id']!r})")
    return answer


@op(access="read", toolset="core")
def get_story(call: Call, story_id: StoryId) -> StoryBody:
    """Read one story: its component, the schema of its args, its defaults and variants."""
    entry = visible_entry(call.view, "story", story_id)
    body: Story = entry.body
    slots = slots_of(body)
    call.sensitive.extend(secrets_of_entry(entry))
    variants = visible_ids(call.view, "variant", f"{entry.id}/")
    if variants:
        call.suggest(f"run_variant(variant_id={variants[0]!r})")
    schema = call.add_raw_json(_public(parameters_schema(body.component.resolve())))
    answer = filled(
        id=entry.id,
        **shown_slots(call, shown(slots)),
        args_schema=schema,
        variants=list(variants),
        registered=place(entry),
    )
    return cast("StoryBody", answer | ({} if body.agent_overrides else {"agent_overrides": False}))


@op(access="read", toolset="core")
def get_variant(call: Call, variant_id: VariantId) -> VariantBody:
    """Read one variant's body: its args, play and tags, and its last status."""
    entry = visible_entry(call.view, "variant", variant_id)
    slots = slots_of(entry.body)
    call.sensitive.extend(secrets_of_entry(entry))
    call.caller_values.append(to_plain(plays_of(entry)))
    call.suggest(f"run_variant(variant_id={entry.id!r})")
    if entry.body.extends is not None:
        call.suggest(f"explain_variant(variant_id={entry.id!r})")
    if (record := last_result(entry.id)) is not None:
        suggest_correction(call, entry.id, record.status)
    answer = filled(
        id=entry.id,
        story=story_of(entry.id),
        **shown_slots(call, shown(slots) | {"tags": list(tags_of(entry))}),
        registered=place(entry),
        **_last_status(entry),
    )
    return cast("VariantBody", answer)


def _story_line(call: Call, entry: Entry) -> dict[str, Any]:
    variants = len(visible_ids(call.view, "variant", f"{entry.id}/"))
    summary = entry.body.doc.partition("\n")[0]
    line = filled(id=entry.id, doc=summary, tags=list(entry.body.tags))
    return shown_slots(call, line) | {"variants": variants}


def _variant_line(call: Call, entry: Entry) -> dict[str, Any]:
    """Return the line of a variant; what of it is registered is built once."""
    story = REGISTRY.find("story", story_of(entry.id))
    known = _LINES.get(entry.id)
    inherits = entry.body.extends is not None
    if known is None or known[0] is not entry or known[1] is not story or inherits:
        summary = entry.body.doc.partition("\n")[0]
        line = filled(id=entry.id, doc=summary, tags=list(tags_of(entry)))
        if len(_LINES) >= MOST_LINES:
            _LINES.clear()
        _LINES[entry.id] = known = entry, story, line
    return shown_slots(call, known[2] | _last_status(entry))


MOST_LINES = 4096
_LINES: dict[str, tuple[Entry, Entry | None, dict[str, Any]]] = {}
"""The lines of variants, each good for as long as its variant and story stand unchanged."""


def _last_status(entry: Entry) -> dict[str, Any]:
    record = last_result(entry.id)
    return {} if record is None else filled(status=record.status, stale=is_stale(record))


def _public(schema: Any, *, secret: bool = False) -> Any:
    """Return a schema without secrets: a secret parameter keeps its type, not its values."""
    if isinstance(schema, str):
        return NEEDLES.scrub(schema)[0]
    if isinstance(schema, list):
        return [_public(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    parts = cast("dict[str, Any]", schema)
    named = cast("dict[str, Any]", parts.get("properties", {}))
    shown = {k: v for k, v in parts.items() if not (secret and k in ("default", "enum"))}
    return {key: _public(part) for key, part in shown.items()} | (
        {"properties": {n: _public(p, secret=is_secret_key(n)) for n, p in named.items()}}
        if named
        else {}
    )
