"""Internal ops of the server's resources: what changed of what is watched, and ids that begin so.

A name that is watched is the id of a member, such as training/loss, or that of an item in it, such
as training/rows/a; or a member of the store of the registries behind `repl_pair/`, such as
repl_pair/results, or an entry in it, such as repl_pair/registry/story/cart; with a slash behind it,
that entry and those below it, there or not; or `cells`, the cells of the person that have ended.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from heapq import nsmallest
from typing import Annotated, TypedDict

from repl_pair.records import Undo
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import MAX_WAIT_S, op, waiting_op
from repl_pair.runtime.ops.changes import as_seen
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_ids
from repl_pair.runtime.results.outdated import OF_RUNS, OUTDATED, follow_code
from repl_pair.runtime.secrets.well_known import is_shown
from repl_pair.runtime.signatures.arguments import Bounds
from repl_pair.runtime.stopping.waiting import WaitEvent
from repl_pair.runtime.store import STORE, Change
from repl_pair.runtime.surfaces.state import STATES, watch
from repl_pair.wire import CHANGES_WINDOW_S, View, monotonic

UNSEEN = -1
"""The mark of what the view does not see: hidden, unknown or not there yet."""
MAX_COMPLETED = 100
_CELLS = "cells"
_STORE = "repl_pair/"
_KINDS = dict.fromkeys(OF_RUNS, "variant")
"""The kind whose ids are the keys of a member of the store that is not of the registry."""


class MemberChanges(TypedDict):
    """The mark of each name now; which changed since the mark given, and which are seen no more.

    Names are given by their places: in an answer a name could be taken for a secret.
    """

    marks: list[int]
    changed: list[int]
    gone: list[int]


class Completion(TypedDict):
    """The first ids that begin so, in their order, and how many there are."""

    values: list[str]
    total: int


@waiting_op(toolset="surface", internal=True)
async def await_members(
    call: Call,
    watched: list[str],
    marks: Annotated[list[int] | None, "Of the last answer; None: as of now"] = None,
    boot: Annotated[str | None, "The process of the kernel that the marks are of"] = None,
    wait_s: Annotated[float, Bounds(0, MAX_WAIT_S), "Seconds to wait"] = 0.0,
) -> MemberChanges:
    """Wait until something that is watched changes, or the view no longer sees it.

    Changes are gathered for 200 ms from the first one. In another process all has changed. It never
    ends for what the view does not see. KernelError `paused` where agents were paused meanwhile.
    """
    call.max_items = len(watched)
    if boot not in (None, BOOT.id):
        changed = [*range(len(watched))]
        return {"marks": _read_marks(call.view, watched), "changed": changed, "gone": []}
    until, changed, cancelled = monotonic() + wait_s, call.make_event(), call.make_event()
    with ExitStack() as undo:
        for end in _set_at_changes(watched, changed) if wait_s else ():
            undo.callback(end)
        known = _read_marks(call.view, watched) if marks is None else marks
        while True:
            found = _compare(call.view, watched, known)
            left_s = until - monotonic()
            if found["gone"] or left_s <= 0 or call.cancelled.is_set():
                return found
            if found["changed"]:
                await cancelled.wait(CHANGES_WINDOW_S)
                return _compare(call.view, watched, known)
            await changed.wait(left_s)


def _set_at_changes(names: Iterable[str], changed: WaitEvent) -> list[Undo]:
    """Set an event at each change of what is watched."""
    stored = {_split(name)[0] for name in names if name.startswith(_STORE)}
    stored.add("registry/member")  # what is seen may be seen no longer

    def note_change(change: Change) -> None:
        if change.member in stored:
            changed.set()

    members = {_split(name)[0] for name in names if not name.startswith(_STORE)}
    cells = [CELLS.at_end(changed.set)] if _CELLS in members else []
    code = [follow_code()] if OUTDATED.name in stored else []
    return [watch(members, lambda _id: changed.set()), STORE.subscribe(note_change), *cells, *code]


def _compare(view: View, watched: Sequence[str], marks: Sequence[int]) -> MemberChanges:
    """Compare what is watched with the marks that the caller knows."""
    found: MemberChanges = {"marks": _read_marks(view, watched), "changed": [], "gone": []}
    altered = _altered(view, dict(zip(watched, marks, strict=True)))  # after the marks: none lost
    for at, (name, mark, now) in enumerate(zip(watched, marks, found["marks"], strict=True)):
        if now == UNSEEN != mark:
            found["gone"].append(at)
        elif mark != now and (mark == UNSEEN or name in altered or not name.startswith(_STORE)):
            found["changed"].append(at)
    return found


def _read_marks(view: View, watched: Iterable[str]) -> list[int]:
    seq = STORE.seq
    return [_mark(view, name, seq) for name in watched]


def _mark(view: View, name: str, seq: int) -> int:
    member, key = _split(name)
    if name == _CELLS:
        return CELLS.count
    if not name.startswith(_STORE):
        entry, state = REGISTRY.find("member", member), STATES.get(member)
        if entry is None or not is_seen(view, entry):
            return UNSEEN
        if key is not None and entry.body.kind != "collection":
            return UNSEEN
        if state is None:
            return 0
        if key is None:
            return state.revision
        is_there = key in state.revisions and is_shown(key)
        return max(state.revisions[key], state.began) if is_there else 0
    if key is None or key.endswith("/"):
        return seq
    entry = REGISTRY.find(_KINDS.get(member) or member.removeprefix("registry/"), key)
    return UNSEEN if entry is None or not is_seen(view, entry) else seq


def _altered(view: View, known: Mapping[str, int]) -> set[str]:
    """Return the names of the store that changed since their marks."""
    since = {name: mark for name, mark in known.items() if name.startswith(_STORE)}
    marks = (mark for mark in since.values() if mark != UNSEEN)
    changes, gap = STORE.changes(min(marks, default=STORE.seq))
    seen = [each for each in changes if as_seen(view, each)]
    return {
        name
        for name, mark in since.items()
        if gap or any(each.seq > mark and _is_of(each, name) for each in seen)
    }


def _is_of(change: Change, name: str) -> bool:
    member, key = _split(name)
    if change.member != member or key is None or change.key is None:
        return change.member == member
    return f"{change.key}/".startswith(key) if key.endswith("/") else change.key == key


def _split(name: str) -> tuple[str, str | None]:
    """Return the member that a name stands for, and the key in it."""
    stored = name.removeprefix(_STORE)
    words = stored.split("/")
    depth = 1 if stored != name and words[0] != "registry" else 2
    return "/".join(words[:depth]), "/".join(words[depth:]) if len(words) > depth else None


@op(access="read", toolset="surface", internal=True)
def complete_ids(
    call: Call,
    kind: Annotated[str, "A kind of the registry, or key"],
    prefix: Annotated[str, "What is typed so far"] = "",
    member: Annotated[str, "Of a key: the collection"] = "",
) -> Completion:
    """List the first ids of a kind, or keys of a collection, that begin so and that are seen."""
    ids = (
        _keys(call.view, member, prefix) if kind == "key" else visible_ids(call.view, kind, prefix)
    )
    call.max_items = MAX_COMPLETED
    return {"values": nsmallest(MAX_COMPLETED, ids), "total": len(ids)}


def _keys(view: View, member: str, prefix: str) -> Sequence[str]:
    entry, state = REGISTRY.find("member", member), STATES.get(member)
    if entry is None or state is None or not is_seen(view, entry):
        return ()
    keys = [key for key in list(state.items) if key.startswith(prefix)]
    return keys if is_shown("\n".join(keys)) else list(filter(is_shown, keys))
