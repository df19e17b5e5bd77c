"""What a view may see of the registry; hidden and unknown ids are refused alike."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Annotated

from repl_pair.errors import RequestError, check_not_empty, did_you_mean
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.model import PUBLISHED, Entry, Workspace
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.registry import REGISTRY, not_found
from repl_pair.runtime.registry.tags import TAGS
from repl_pair.wire import MAX_FUNCTION_TOOLS, PERSON, View

StoryId = Annotated[str, "Such as pricing.quote"]
VariantId = Annotated[str, "Such as pricing.quote/Bulk"]
WorkspaceId = Annotated[str, "Workspace id, e.g. pricing.desk/Main"]
Tags = Annotated[list[str] | None, "With any of these tags"]


def visible_entry(view: View, kind: str, id: str) -> Entry:
    """Return an entry that the view may see; RequestError `not_found` otherwise."""
    entry = REGISTRY.find(kind, id)
    if entry is not None and is_seen(view, entry):
        return entry
    raise _missing(view, kind, id)


def check_visible(view: View, kind: str, ids: Iterable[str] | None) -> None:
    """Refuse ids that the view may not see; RequestError `not_found`."""
    for id in ids or ():
        if id not in visible_ids(view, kind, id):
            raise _missing(view, kind, id)


def visible_ids(view: View, kind: str, prefix: str = "") -> Sequence[str]:
    """Return sorted ids of a kind that the view may see; without a tier no entry is read."""
    return _of_tier(view, kind, REGISTRY.ids(kind, prefix))


def tool_functions(view: View) -> list[Entry]:
    """Return the functions that the view may see and that are tools of their own, by their tools.

    Those beyond the first of them are called by run_function alone.
    """
    entries = (REGISTRY.find("function", id) for id in visible_ids(view, "function"))
    known = filter(None, entries)
    return nsmallest(MAX_FUNCTION_TOOLS, known, key=lambda entry: entry.body.tool)


def visible_variants(view: View, story_id: str | None, tags: Sequence[str] | None) -> Sequence[str]:
    """Return the visible variants of a story, with any of the tags.

    Refuses an unknown story, and unknown or no tags.
    """
    if story_id is not None:
        visible_entry(view, "story", story_id)
    _check_tags(view, tags)
    prefix = f"{story_id}/" if story_id else ""
    if not tags:
        return visible_ids(view, "variant", prefix)
    lists = [TAGS.ids(tag, prefix) for tag in tags]
    ids = lists[0] if len(lists) == 1 else sorted(set[str]().union(*lists))
    return _of_tier(view, "variant", ids)


def listed_stories(view: View, notes: list[str], tags: Sequence[str] | None) -> Sequence[str]:
    """Return the visible stories that a list shows; see `listed_variants`."""
    _check_tags(view, tags)
    entries = REGISTRY.snapshot("story")
    ids = [id for id in visible_ids(view, "story") if id in entries]
    if tags:
        ids = [id for id in ids if not set(tags).isdisjoint(entries[id].body.tags)]
    left_out = {t: [id for id in ids if t in entries[id].body.tags] for t in _excluded_tags(tags)}
    return _without(notes, ids, left_out)


def listed_variants(
    view: View, notes: list[str], story_id: str | None, tags: Sequence[str] | None
) -> Sequence[str]:
    """Return the visible variants that a list shows, and note what it leaves out.

    Carriers of a tag whose default_filter is `exclude` are listed only where the tag is asked for.
    """
    prefix = f"{story_id}/" if story_id else ""
    left_out = {tag: TAGS.ids(tag, prefix) for tag in _excluded_tags(tags)}
    return _without(notes, visible_variants(view, story_id, tags), left_out)


def _excluded_tags(tags: Sequence[str] | None) -> Sequence[str]:
    entries = REGISTRY.snapshot("tag").values()
    return [
        e.id for e in entries if e.body.default_filter == "exclude" and e.id not in (tags or ())
    ]


def _without(
    notes: list[str], ids: Sequence[str], left_out: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    gone = set[str]().union(*left_out.values())
    kept = [id for id in ids if id not in gone] if gone else ids
    if len(kept) < len(ids):
        there = gone.intersection(ids)
        words = [tag for tag, carriers in left_out.items() if not there.isdisjoint(carriers)]
        notes.append(
            f"{len(ids) - len(kept)} more are listed only when their tag is asked for: "
            f"tags={sorted(words)!r}."
        )
    return kept


def _of_tier(view: View, kind: str, ids: Sequence[str]) -> Sequence[str]:
    if view.tier is None and (kind not in PUBLISHED or view.principal == PERSON):
        return ids
    entries = REGISTRY.snapshot(kind)
    return [id for id in ids if id in entries and is_seen(view, entries[id])]


def _check_tags(view: View, tags: Sequence[str] | None) -> None:
    check_not_empty("tags", tags)
    for tag in tags or ():
        entry = REGISTRY.find("tag", tag)
        builtin = entry is not None and entry.origin.key == BUILTIN
        if not (builtin or (is_seen(view, entry) if entry else _is_carried(view, tag))):
            raise _missing(view, "tag", tag)


def _is_carried(view: View, tag: str) -> bool:
    """Return whether the view sees something with a tag that need not be registered."""
    stories = REGISTRY.snapshot("story")
    return bool(_of_tier(view, "variant", TAGS.ids(tag))) or any(
        tag in stories[id].body.tags for id in visible_ids(view, "story") if id in stories
    )


def _missing(view: View, kind: str, id: str) -> RequestError:
    if kind in PUBLISHED:
        near = did_you_mean(id, visible_ids(view, kind))
        return not_found(kind, f"There is no {kind} {id!r}.{near}")
    known = REGISTRY.missing(kind, id) if view.tier is None else f"There is no {kind} {id!r}."
    return not_found(kind, known)


def variants_of(body: Workspace) -> Sequence[str]:
    """Return the variant ids of a workspace in their order, registered or not."""
    if body.story is not None:
        return REGISTRY.ids("variant", f"{body.story}/")
    blocks = [block["variant"] for block in body.content if "variant" in block]
    return [*body.variants, *blocks]
