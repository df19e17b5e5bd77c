"""Ops that list and read what is registered; nothing of the person's runs."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

from repl_pair.records import defaults_of, to_dict
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.model import Entry
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.paging import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.ops.visible import (
    StoryId,
    Tags,
    VariantId,
    tags_of,
    visible_entry,
    visible_ids,
    visible_stories,
    visible_variants,
)
from repl_pair.runtime.plain import sensitive_paths, to_plain
from repl_pair.runtime.registry import EMPTY, REGISTRY
from repl_pair.runtime.results import is_stale, last_result
from repl_pair.runtime.schema import parameters_schema
from repl_pair.runtime.secrets import NEEDLES, is_secret_key


@op(access="read", lane="inline", toolset="core")
def list_stories(
    call: Call, tags: Tags = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> dict[str, Any]:
    """List the stories: the components that have named variants to run."""
    ids = visible_stories(call, tags)
    answer = _page(call, "story", ids, _story_line, limit, cursor, ["story", tags, call.view.tier])
    if not answer["total"] and not tags:
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
) -> dict[str, Any]:
    """List the variants: the named states of stories, each with its last status."""
    if story_id is not None:
        visible_entry(call, "story", story_id)
    ids = visible_variants(call, story_id, tags)
    query = ["variant", story_id, tags, call.view.tier]
    answer = _page(call, "variant", ids, _variant_line, limit, cursor, query)
    if not answer["total"] and not REGISTRY.ids("variant"):
        call.notifications.append(f"No variant is registered. {EMPTY}")
    elif answer["items"]:
        call.suggest(f"run_variant(variant_id={answer['items'][0]['id']!r})")
    return answer


@op(access="read", lane="inline", toolset="story")
def list_tags(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> dict[str, Any]:
    """List the tags that stories and variants may carry."""
    return _plain_page(call, "tag", limit, cursor)


@op(access="read", lane="inline", toolset="story")
def list_modes(call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> dict[str, Any]:
    """List the modes: saved args for `modes=[...]`; modes of one axis exclude each other."""
    return _plain_page(call, "mode", limit, cursor)


@op(access="read", toolset="core")
def get_story(call: Call, story_id: StoryId) -> dict[str, Any]:
    """Read one story: its component, the schema of its args, its defaults and variants."""
    entry = visible_entry(call, "story", story_id)
    body = entry.body
    call.sensitive.extend(("args", *path) for path in sensitive_paths(body.args))
    variants = visible_ids(call, "variant", f"{entry.id}/")
    if variants:
        call.suggest(f"run_variant(variant_id={variants[0]!r})")
    return _filled(
        id=entry.id,
        doc=body.doc,
        component=f"{body.component.module}.{body.component.qualname}",
        args=to_plain(body.args),
        args_schema=call.keep_whole(_public(parameters_schema(body.component.resolve()))),
        tags=list(body.tags),
        modes=list(body.modes),
        variants=list(variants),
        registered=_place(entry),
        thread_safe=body.thread_safe,
    )


@op(access="read", toolset="core")
def get_variant(call: Call, variant_id: VariantId) -> dict[str, Any]:
    """Read one variant's body: its args, play and tags, and its last status."""
    entry = visible_entry(call, "variant", variant_id)
    body = entry.body
    call.sensitive.extend(("args", *path) for path in sensitive_paths(body.args))
    call.suggest(f"run_variant(variant_id={entry.id!r})")
    return _filled(
        id=entry.id,
        story=story_of(entry.id),
        doc=body.doc,
        args=to_plain(body.args),
        play=[to_plain(step) for step in body.play],
        tags=list(tags_of(entry)),
        loaders=list(body.loaders),
        registered=_place(entry),
        **_last_status(entry),
    )


def _page(
    call: Call,
    kind: str,
    ids: Sequence[str],
    describe: Callable[[Entry], dict[str, Any]],
    limit: int,
    cursor: str | None,
    query: Any,
) -> dict[str, Any]:
    call.room = limit

    def line(id: str) -> dict[str, Any]:
        entry = REGISTRY.find(kind, id)
        return {"id": id} if entry is None else describe(entry)

    return page(ids, line, limit=limit, cursor=cursor, revision=REGISTRY.revision, query=query)


def _plain_page(call: Call, kind: str, limit: int, cursor: str | None) -> dict[str, Any]:
    """Give a page of a kind whose bodies are shown as they stand."""
    ids, query = visible_ids(call, kind), [kind, call.view.tier]
    return _page(call, kind, ids, _body_line, limit, cursor, query)


def _story_line(entry: Entry) -> dict[str, Any]:
    variants = len(REGISTRY.ids("variant", f"{entry.id}/"))
    summary = entry.body.doc.partition("\n")[0]
    return _filled(id=entry.id, doc=summary, tags=list(entry.body.tags)) | {"variants": variants}


def _variant_line(entry: Entry) -> dict[str, Any]:
    story = REGISTRY.find("story", story_of(entry.id))
    known = _LINES.get(entry.id)
    if known is None or known[0] is not entry or known[1] is not story:
        summary = entry.body.doc.partition("\n")[0]
        line = _filled(id=entry.id, doc=summary, tags=list(tags_of(entry)))
        if len(_LINES) >= MOST_LINES:
            _LINES.clear()
        _LINES[entry.id] = known = entry, story, line
    return known[2] | _last_status(entry)


MOST_LINES = 4096
_LINES: dict[str, tuple[Entry, Entry | None, dict[str, Any]]] = {}
"""The lines of variants, each good for as long as its variant and story stand unchanged."""


def _body_line(entry: Entry) -> dict[str, Any]:
    """Give a body's slots that say more than their defaults."""
    usual = defaults_of(entry.body)
    said = {n: v for n, v in to_dict(entry.body).items() if n not in usual or v != usual[n]}
    return _filled(id=entry.id, **{name: to_plain(value) for name, value in said.items()})


def _last_status(entry: Entry) -> dict[str, Any]:
    record = last_result(entry.id)
    return {} if record is None else _filled(status=record.status, stale=is_stale(record))


def _public(schema: Any, *, secret: bool = False) -> Any:
    """Give a schema without secrets: a secret parameter keeps its type, not its values."""
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


def _place(entry: Entry) -> dict[str, Any]:
    return {"where": entry.origin.label, "line": entry.origin.line}


def _filled(**slots: Any) -> dict[str, Any]:
    return {name: value for name, value in slots.items() if value not in (None, "", [], {}, False)}
