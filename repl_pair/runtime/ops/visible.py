"""What one view may see of the registries; hidden and unknown read the same."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from repl_pair.errors import RequestError
from repl_pair.runtime.model import Entry
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.tag_index import TAGS, tags_of as tags_of
from repl_pair.runtime.registry import REGISTRY

StoryId = Annotated[str, "Story id, e.g. pricing.quote"]
VariantId = Annotated[str, "Variant id, e.g. pricing.quote/Bulk"]
Tags = Annotated[list[str] | None, "Only those with any of these tags"]


def visible_entry(call: Call, kind: str, id: str) -> Entry:
    """Give an entry that the view may see; RequestError `not_found` otherwise."""
    entry = REGISTRY.find(kind, id)
    if entry is not None and _in_tier(call, entry):
        return entry
    message = _missing(call, kind, id)
    raise RequestError("not_found", message, next_steps=[_LISTINGS.get(kind, f"list_{kind}s()")])


def check_visible(call: Call, kind: str, ids: Iterable[str] | None) -> None:
    """Refuse ids that the view may not see; RequestError `not_found`."""
    for id in ids or ():
        if id not in visible_ids(call, kind, id):
            message = _missing(call, kind, id)
            raise RequestError("not_found", message, next_steps=[f"list_{kind}s()"])


def visible_ids(call: Call, kind: str, prefix: str = "") -> Sequence[str]:
    """Give the sorted ids of a kind that the view may see; without a tier no entry is looked at."""
    return _of_tier(call, kind, REGISTRY.ids(kind, prefix))


def visible_stories(call: Call, tags: Sequence[str] | None) -> Sequence[str]:
    """Give the visible stories with any of the tags; unknown tags are refused."""
    _check_tags(call, tags)
    ids = visible_ids(call, "story")
    if not tags:
        return ids
    entries = REGISTRY.snapshot("story")
    return [id for id in ids if not set(tags).isdisjoint(entries[id].body.tags)]


def visible_variants(call: Call, story_id: str | None, tags: Sequence[str] | None) -> Sequence[str]:
    """Give the visible variants of a story, with any of the tags; unknown tags are refused."""
    _check_tags(call, tags)
    prefix = f"{story_id}/" if story_id else ""
    if not tags:
        return visible_ids(call, "variant", prefix)
    lists = [TAGS.ids(tag, prefix) for tag in tags]
    ids = lists[0] if len(lists) == 1 else sorted(set[str]().union(*lists))
    return _of_tier(call, "variant", ids)


def listed_stories(call: Call, tags: Sequence[str] | None) -> Sequence[str]:
    """Give the visible stories that a list shows: see `listed_variants`."""
    ids, entries = visible_stories(call, tags), REGISTRY.snapshot("story")
    return _without(
        call,
        ids,
        {tag: [id for id in ids if tag in entries[id].body.tags] for tag in _unasked(tags)},
    )


def listed_variants(call: Call, story_id: str | None, tags: Sequence[str] | None) -> Sequence[str]:
    """Give the visible variants that a list shows, and note what it leaves out.

    What carries a tag whose default_filter is exclude is shown only where that tag is asked for.
    """
    prefix = f"{story_id}/" if story_id else ""
    left_out = {tag: TAGS.ids(tag, prefix) for tag in _unasked(tags)}
    return _without(call, visible_variants(call, story_id, tags), left_out)


def _unasked(tags: Sequence[str] | None) -> Sequence[str]:
    """Name the tags whose carriers are listed only when asked for, and that are not."""
    entries = REGISTRY.snapshot("tag").values()
    return [
        e.id for e in entries if e.body.default_filter == "exclude" and e.id not in (tags or ())
    ]


def _without(
    call: Call, ids: Sequence[str], left_out: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    gone = set[str]().union(*left_out.values())
    kept = [id for id in ids if id not in gone] if gone else ids
    if len(kept) < len(ids):
        words = [tag for tag, carriers in left_out.items() if any(_is_in(ids, c) for c in carriers)]
        call.notifications.append(
            f"{len(ids) - len(kept)} more are listed only when their tag is asked for: "
            f"tags={sorted(words)!r}."
        )
    return kept


def _is_in(ids: Sequence[str], id: str) -> bool:
    place = bisect_left(ids, id)
    return place < len(ids) and ids[place] == id


def _of_tier(call: Call, kind: str, ids: Sequence[str]) -> Sequence[str]:
    if call.view.tier is None:
        return ids
    entries = REGISTRY.snapshot(kind)
    return [id for id in ids if id in entries and _in_tier(call, entries[id])]


def _in_tier(call: Call, entry: Entry) -> bool:
    return call.view.tier is None or entry.tier == call.view.tier


def _check_tags(call: Call, tags: Sequence[str] | None) -> None:
    for tag in tags or ():
        entry = REGISTRY.find("tag", tag)
        if entry is None or not (_in_tier(call, entry) or entry.origin.key == "builtin"):
            raise RequestError("not_found", _missing(call, "tag", tag), next_steps=["list_tags()"])


def _missing(call: Call, kind: str, id: str) -> str:
    return REGISTRY.missing(kind, id) if call.view.tier is None else f"There is no {kind} {id!r}."


_LISTINGS = {"story": "list_stories()"}
