"""What agents registered, on its way out of the registries; the person's stays."""

from collections.abc import Iterable
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.agent_reading import WRITABLE
from repl_pair.runtime.model import Entry
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.entering import decide
from repl_pair.runtime.ops.visible import visible_ids
from repl_pair.runtime.origin import is_agents
from repl_pair.runtime.registry import REGISTRY

__all__ = ["WRITABLE", "clear", "take_out"]


def take_out(call: Call, kind: str, id: str) -> dict[str, Any]:
    """Take out one entry of an agent's; RequestError for the person's and for none."""
    _check_kind(kind)
    ids = visible_ids(call.view, kind)
    entry = REGISTRY.find(kind, id) if id in ids else None
    if entry is None:
        mine = _of_agents(kind, ids)
        raise RequestError(
            "not_found",
            f"There is no {kind} {id!r}.{did_you_mean(id, mine)}",
            next_steps=[f"unregister(kind={kind!r}, id={one!r})" for one in list(mine)[:1]],
        )
    if not is_agents(entry.origin):
        raise RequestError(
            "cannot_run",
            f"{kind} {id!r} is not an agent's: {entry.origin.label} registered it, and only the "
            "person takes it out. Nothing was changed.",
        )
    decide(call)
    REGISTRY.unregister(kind, id, entry=entry)
    if kind == "story" and (variants := visible_ids(call.view, "variant", f"{id}/")):
        call.notifications.append(f"Without their story are now: {', '.join(variants[:10])}.")
    return {"kind": kind, "id": id, "unregistered": True}


def clear(call: Call, kinds: Iterable[str]) -> dict[str, Any]:
    """Take out all entries of agents' of these kinds; gives how many went, and how many stay."""
    kinds = list(kinds)
    for kind in kinds:
        _check_kind(kind)
    decide(call)
    removed: dict[str, list[str]] = {}
    left = 0
    for kind in kinds:
        ids = visible_ids(call.view, kind)
        mine = _of_agents(kind, ids)
        left += len(ids) - len(mine)
        if gone := [id for id, e in mine.items() if REGISTRY.unregister(kind, id, entry=e)]:
            removed[kind] = gone
    if left:
        call.notifications.append(
            f"{left} entries stay: the person's and the built-in ones are only theirs to take out."
        )
    return {"removed": removed, "total": sum(map(len, removed.values())), "left": left}


def _of_agents(kind: str, ids: Iterable[str]) -> dict[str, Entry]:
    entries = REGISTRY.snapshot(kind)
    return {id: entries[id] for id in ids if id in entries and is_agents(entries[id].origin)}


def _check_kind(kind: str) -> None:
    if kind not in WRITABLE:
        raise RequestError(
            "not_found",
            f"Agents register no {kind!r}.{did_you_mean(kind, WRITABLE)} "
            f"There are: {', '.join(WRITABLE)}.",
        )
