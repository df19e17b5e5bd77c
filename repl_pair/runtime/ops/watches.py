"""Ops that watch variants: which drifted since their last run, which run again by themselves."""

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.op_base.answers import Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.registry.visible import Tags, visible_entry, visible_variants
from repl_pair.runtime.results.drift import Drift, DriftCheck
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.store import STORE
from repl_pair.runtime.sweeps.watching import WATCHES, Watch
from repl_pair.wire import View

SEED_S = 50.0
"""Time to compute the identities of all watched or changed variants, in seconds."""
MAX_IDS = 25


class Watching(TypedDict):
    """What is watched now, or which watches were ended."""

    on: bool
    watched: NotRequired[str]
    items: NotRequired[list[str]]
    total: NotRequired[int]
    ended: NotRequired[list[str]]


class ChangedVariants(Page[Drift]):
    """Variants that drifted, of so many examined; `not_run` never ran."""

    examined: int
    not_run: int


@op(access="run", toolset="story", deadline=lambda _args: SEED_S)
def watch_variant(
    call: Call,
    variant_id: Annotated[str | None, "Watch this one, e.g. pricing.quote/Bulk"] = None,
    tags: Annotated[list[str] | None, "Or all with any of these, later ones too"] = None,
    on: Annotated[bool, "false ends that watch; without variant_id and tags, all yours"] = True,
) -> Watching:
    """Run variants again whenever the person's cell changes what they are or their code.

    Nothing runs now. Runs wait for the end of the cell and become last results: follow them with
    read_changes (`results`). A change of a comment, doc or layout runs nothing. It ends when you
    disconnect.
    """
    what = f"tags {', '.join(sorted(tags))}" if tags else variant_id
    if variant_id is not None and tags:
        what = None
    if not on and (what is not None or (variant_id is None and tags is None)):
        return {"on": False, "ended": WATCHES.end(call.view.principal, what)}
    if what is None:
        raise RequestError(
            "bad_arguments",
            "watch_variant takes a variant_id or tags, one of the two.",
            next_steps=[next_step("list_variants"), next_step("list_tags")],
        )
    ids = _chosen(call.view, variant_id, tags)
    _begin(call, what, variant_id, tags)
    call.suggest("read_changes", since=STORE.seq, wait_s=50)
    call.suggest("changed_variants")
    return {"on": True, "watched": what, "items": list(ids[:MAX_IDS]), "total": len(ids)}


@op(access="read", toolset="story", deadline=lambda _args: SEED_S)
def changed_variants(
    call: Call,
    story_id: Annotated[str | None, "Only those of this story"] = None,
    tags: Tags = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> ChangedVariants:
    """List variants whose content or code changed since they last ran, or since you watch them.

    `drifted` names the hashes that changed, `registered_again` the entries that caused it. Variants
    that never ran count as `not_run`. A change of a comment, doc or layout does not count.
    """
    ids, check = visible_variants(call.view, story_id, tags), DriftCheck()
    watched = WATCHES.baselines(call.view.principal)
    last = {id: last_result(id, call.view.principal) for id in ids}
    found = {id: check.describe(id, run, watched.get(id)) for id, run in last.items()}
    drifts = {id: drift for id, drift in found.items() if drift is not None}
    for id in list(drifts)[:3]:
        call.suggest("run_variant", variant_id=id)
    call.max_items = limit
    query = [story_id, tags, list(drifts)]
    chosen = page(list(drifts), limit=limit, cursor=cursor, query=query)
    items = [drifts[id] for id in chosen["items"]]
    not_run = sum(run is None and id not in watched for id, run in last.items())
    return {**chosen, "items": items, "examined": len(ids), "not_run": not_run}


def _begin(call: Call, what: str, variant_id: str | None, tags: Sequence[str] | None) -> None:
    """Begin a watch in the place of an equal one, so that nothing runs twice."""

    def choose() -> Sequence[str]:
        try:
            return _chosen(call.view, variant_id, tags)
        except RequestError:
            return ()  # the watched variants are not registered now, but may be again

    WATCHES.end(call.view.principal, what)
    WATCHES.add(Watch(owner=call.view.principal, what=what, choose=choose, view=call.view))


def _chosen(view: View, variant_id: str | None, tags: Sequence[str] | None) -> Sequence[str]:
    if variant_id is not None:
        return (visible_entry(view, "variant", variant_id).id,)
    return visible_variants(view, None, tags)
