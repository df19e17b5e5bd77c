"""Ops that follow variants: what drifted since it last ran, and what is to run again by itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from repl_pair.errors import RequestError
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.paging import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.registry.visible import Tags, visible_entry, visible_variants
from repl_pair.runtime.surface import STORE

if TYPE_CHECKING:
    from repl_pair.runtime.sweeps.watching import Watches

SEED_S = 60.0
"""What it may take to identify all that is watched, or may have changed."""
SHOWN = 25


def _seed_deadline(_args: object) -> float:
    return SEED_S


@op(access="run", toolset="story", deadline=_seed_deadline)
def watch_variant(
    call: Call,
    variant_id: Annotated[str | None, "Watch this one, e.g. pricing.quote/Bulk"] = None,
    tags: Annotated[list[str] | None, "Or all with any of these, later ones too"] = None,
    on: Annotated[bool, "false ends that watch; without variant_id and tags, all yours"] = True,
) -> dict[str, Any]:
    """Run variants again whenever the person's cell changes what they are or their code.

    Nothing runs now. Runs wait for the end of the cell and become last results: follow them with
    read_changes (`results`). A change of a comment, doc or layout runs nothing. It ends when you
    disconnect.
    """
    watches, what = _watches(), _what(variant_id, tags)
    if not on:
        return {"on": False, "ended": watches.end(call.view.principal, what)}
    if what is None:
        raise RequestError(
            "bad_arguments",
            "watch_variant takes a variant_id or tags, one of the two.",
            next_steps=["watch_variant(variant_id='…')", "list_tags()"],
        )
    ids = _chosen(call, variant_id, tags)
    _begin(call, what, variant_id, tags)
    call.suggest(f"read_changes(since={STORE.seq}, wait_s=50)", "changed_variants()")
    return {"on": True, "watched": what, "items": list(ids[:SHOWN]), "total": len(ids)}


@op(access="read", toolset="story", deadline=_seed_deadline)
def changed_variants(
    call: Call,
    story_id: Annotated[str | None, "Only those of this story"] = None,
    tags: Tags = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List variants whose content or code changed since they last ran, or since you watch them.

    `drifted` names the hashes, `registered_again` what was behind that. Those never run count as
    `not_run`; a change of a comment, doc or layout is none.
    """
    # Only who asks for drift pays for the room.
    from repl_pair.runtime.results.drift import Glance
    from repl_pair.runtime.results.last import last_result

    if story_id is not None:
        visible_entry(call.view, "story", story_id)
    ids, seen, glance = visible_variants(call.view, story_id, tags), _watches().seen, Glance()
    found = {id: said for id in ids if (said := glance.told(id, seen(id))) is not None}
    call.suggest(*(f"run_variant(variant_id={id!r})" for id in list(found)[:3]))
    call.max_items = limit
    query = [story_id, tags, list(found)]
    answer = page(
        list(found), found.__getitem__, limit=limit, cursor=cursor, revision=0, query=query
    )
    not_run = sum(last_result(id) is None and seen(id) is None for id in ids)
    return answer | {"examined": len(ids), "not_run": not_run}


def _watches() -> "Watches":
    # Only who watches pays for the room.
    from repl_pair.runtime.sweeps.watching import WATCHES

    return WATCHES


def _what(variant_id: str | None, tags: Sequence[str] | None) -> str | None:
    if variant_id is not None and tags:
        return None
    return f"tags {', '.join(sorted(tags))}" if tags else variant_id


def _begin(call: Call, what: str, variant_id: str | None, tags: Sequence[str] | None) -> None:
    """Begin a watch in the place of the same one, which would run everything twice."""
    from repl_pair.runtime.sweeps.watching import Watch  # see _watches

    following = Call(view=call.view)

    def choose() -> Sequence[str]:
        try:
            return _chosen(following, variant_id, tags)
        except RequestError:
            return ()  # what is watched is not registered now, and may be again

    watches = _watches()
    watches.end(call.view.principal, what)
    watches.add(Watch(owner=call.view.principal, what=what, choose=choose, view=call.view))


def _chosen(call: Call, variant_id: str | None, tags: Sequence[str] | None) -> Sequence[str]:
    if variant_id is not None:
        return (visible_entry(call.view, "variant", variant_id).id,)
    return visible_variants(call.view, None, tags)
