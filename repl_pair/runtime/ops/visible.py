"""What one view may see of the registries; hidden and unknown read the same."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from repl_pair.errors import RequestError
from repl_pair.runtime.extending import effective_tags
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.model import Entry
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.tag_index import TAGS
from repl_pair.runtime.registry import REGISTRY

StoryId = Annotated[str, "Story id, e.g. pricing.quote"]
VariantId = Annotated[str, "Variant id, e.g. pricing.quote/Bulk"]
Tags = Annotated[list[str] | None, "Only those with any of these tags"]


def visible_entry(call: Call, kind: str, id: str) -> Entry:
    """Give an entry that the view may see; RequestError `not_found` otherwise."""
    entry = REGISTRY.find(kind, id)
    if entry is not None and _in_tier(call, entry):
        return entry
    message = (
        REGISTRY.missing(kind, id) if call.view.tier is None else f"There is no {kind} {id!r}."
    )
    raise RequestError("not_found", message, next_steps=[_LISTINGS[kind]])


def visible_ids(call: Call, kind: str, prefix: str = "") -> Sequence[str]:
    """Give the sorted ids of a kind that the view may see; without a tier no entry is looked at."""
    return _of_tier(call, kind, REGISTRY.ids(kind, prefix))


def visible_stories(call: Call, tags: Sequence[str] | None) -> Sequence[str]:
    """Give the visible stories with any of the tags; unknown tags are refused."""
    _check_tags(tags)
    ids = visible_ids(call, "story")
    if not tags:
        return ids
    entries = REGISTRY.snapshot("story")
    return [id for id in ids if not set(tags).isdisjoint(entries[id].body.tags)]


def visible_variants(call: Call, story_id: str | None, tags: Sequence[str] | None) -> Sequence[str]:
    """Give the visible variants of a story, with any of the tags; unknown tags are refused."""
    _check_tags(tags)
    prefix = f"{story_id}/" if story_id else ""
    if not tags:
        return visible_ids(call, "variant", prefix)
    lists = [TAGS.ids(tag) for tag in tags]
    ids: Iterable[str] = lists[0] if len(lists) == 1 else sorted(set[str]().union(*lists))
    return _of_tier(call, "variant", [id for id in ids if id.startswith(prefix)])


def tags_of(entry: Entry) -> tuple[str, ...]:
    """Give the effective tags of a variant's entry."""
    story = REGISTRY.find("story", story_of(entry.id))
    return effective_tags(story.body, entry.body) if story is not None else entry.body.tags


def _of_tier(call: Call, kind: str, ids: Sequence[str]) -> Sequence[str]:
    if call.view.tier is None:
        return ids
    entries = REGISTRY.snapshot(kind)
    return [id for id in ids if id in entries and _in_tier(call, entries[id])]


def _in_tier(call: Call, entry: Entry) -> bool:
    return call.view.tier is None or entry.tier == call.view.tier


def _check_tags(tags: Sequence[str] | None) -> None:
    for tag in tags or ():
        if REGISTRY.find("tag", tag) is None:
            message = REGISTRY.missing("tag", tag)
            raise RequestError("not_found", message, next_steps=["list_tags()"])


_LISTINGS = {"story": "list_stories()", "variant": "list_variants()"}
