"""Ops that follow changes, and that read on in a value that a reply cut."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import accumulate
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from repl_pair.records import replace
from repl_pair.runtime.op_base.answers import Items
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import MAX_WAIT_S, op, waiting_op
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.model import PUBLISHED
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.outdated import OF_RUNS, follow_code
from repl_pair.runtime.secrets.handles import HANDLES
from repl_pair.runtime.signatures.arguments import Bounds
from repl_pair.runtime.store import STORE, Change
from repl_pair.wire import PERSON, REDACTED, View, monotonic

MAX_CHANGES = 200
PAGE_CHARS = 12_000
"""The size that the lines of one page may have: a reply over its budget would answer none."""

MAX_KEPT_CHARS = 1 << 30


class ChangeLine(TypedDict):
    """The last change of an entry of a member of the store; `count` where there were several."""

    seq: int
    member: str
    change: str
    id: NotRequired[str]
    payload: NotRequired[Any]
    count: NotRequired[int]


class Changes(Items[ChangeLine]):
    """Changes in their order; `next` is the `since` of the next call, which has those `left`."""

    next: int
    left: NotRequired[int]
    gap: NotRequired[Literal[True]]


class More(TypedDict):
    """A part of an elided value: characters of text, or items."""

    type: str
    offset: int
    total: int
    text: NotRequired[str]
    items: NotRequired[list[Any]]
    next_offset: NotRequired[int]


class Unsearched(TypedDict):
    """A whole text that is kept, and that no server has searched yet."""

    text: NotRequired[Any]


@waiting_op(toolset="core")
async def read_changes(
    call: Call,
    since: Annotated[int | None, Bounds(0), "`next` of the last call; none: where to begin"] = None,
    wait_s: Annotated[float, Bounds(0, MAX_WAIT_S), "Seconds to wait"] = 0.0,
) -> Changes:
    """Read what was registered, retired or run since: each entry's last change.

    left: so many more, from next on; gap: some is lost, list again.
    """
    if since is None:
        return {"items": [], "total": 0, "next": STORE.seq}
    await _await_visible(call, since, wait_s)
    changes, gap = STORE.changes(since)
    lines = _coalesce(filter(None, (as_seen(call.view, change) for change in changes)))
    page = _first_page(lines)
    found: Changes = {"items": page, "total": len(page), "next": min(since, STORE.seq)}
    if left := len(lines) - len(page):
        found["next"], found["left"] = page[-1]["seq"], left
        call.suggest("read_changes", since=found["next"])
    elif changes:
        found["next"] = changes[-1].seq
    if gap:
        found["gap"] = True
    call.max_items = MAX_CHANGES
    return found


@op(access="read", lane="inline", toolset="core")
def read_more(
    call: Call,
    handle: Annotated[str, "From a $elided marker"],
    offset: Annotated[int, Bounds(0), "Where to read on"] = 0,
    limit: Annotated[int, Bounds(1, 4000), "Characters or items"] = 2000,
) -> More:
    """Read on in a value that a reply elided; redacted as the reply was."""
    call.max_items = limit + len(REDACTED)
    return cast("More", HANDLES.read(handle, offset, limit, call.view.principal))


@op(access="read", lane="inline", toolset="core", internal=True)
def search_kept(
    call: Call,
    handle: Annotated[str, "From a $elided marker"],
    chars: Annotated[int, Bounds(0, MAX_KEPT_CHARS), "Of the text that was searched"] = 0,
    rounds: Annotated[list[list[int]] | None, "What to hide: from, to, from, to"] = None,
) -> Unsearched:
    """Hide what a server found by its form in a text that is kept, before it is read in pages.

    Without a text: it was searched, or is none.
    """
    text = HANDLES.search(handle, call.view.principal, chars, rounds or ())
    return {} if text is None else {"text": call.add_raw_json(text)}


def _coalesce(changes: Iterable[Change]) -> list[ChangeLine]:
    """Return the last change of each entry, in their order; each event stays."""
    last: dict[object, Change] = {}
    counts = Counter[object]()
    for change in changes:
        entry = change.seq if change.change == "emit" else (change.member, change.key)
        last.pop(entry, None)
        last[entry] = change
        counts[entry] += 1
    return [_line(change, counts[entry]) for entry, change in last.items()]


def _first_page(lines: Sequence[ChangeLine]) -> list[ChangeLine]:
    weights = accumulate(len(str(line)) for line in lines[:MAX_CHANGES])
    fitting = sum(weight <= PAGE_CHARS for weight in weights)
    return list(lines[: max(1, fitting)])


def _line(change: Change, count: int) -> ChangeLine:
    line: ChangeLine = {"seq": change.seq, "member": change.member, "change": change.change}
    if change.key is not None:
        line["id"] = change.key
    if change.payload is not None:
        line["payload"] = change.payload
    if count > 1:
        line["count"] = count
    return line


async def _await_visible(call: Call, since: int, wait_s: float) -> None:
    """Wait for a change that the view may see, or until some are no longer kept."""
    changed, until = call.make_event(), monotonic() + wait_s
    with ExitStack() as undo:
        undo.callback(STORE.subscribe(lambda _change: changed.set()))
        if wait_s:
            undo.callback(follow_code())
        while not call.cancelled.is_set():
            changes, gap = STORE.changes(since)
            if gap or any(as_seen(call.view, one) for one in changes):
                return
            since = changes[-1].seq if changes else since
            if not await changed.wait(until - monotonic()):
                return


def as_seen(view: View, change: Change) -> Change | None:
    """Return a change as a view may see it, None where it may not.

    What the view saw before a change, and does not after it, reads as removed.
    """
    sides = [side for side in (change.before, change.after) if side is not None]
    seen = [is_seen(view, side) for side in sides]
    if not sides or change.change == "emit":
        return change if all(seen) and (sides or _is_open(view, change)) else None
    if seen[-1]:
        return change
    return replace(change, change="remove") if seen[0] else None


def _is_open(view: View, change: Change) -> bool:
    """Return whether a view may see a change that keeps no outline of an entry.

    A view with a tier sees the results of its variants, and nothing else of this sort.
    """
    if view.tier is None:
        kind = change.member.removeprefix("registry/")
        return kind not in PUBLISHED or view.principal == PERSON
    is_result = change.member in OF_RUNS and change.key is not None
    entry = REGISTRY.find("variant", change.key or "") if is_result else None
    return entry is not None and is_seen(view, entry)
