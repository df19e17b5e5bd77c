"""The op that reads a live member: its value, a page, the entries since; and that waits for news.

None of the person's code runs: a computed value is computed on a thread of its own.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from repl_pair.errors import STEP_S, RequestError, did_you_mean, next_step
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import (
    DEFAULT_LIMIT,
    Cursor,
    Limit,
    page,
)
from repl_pair.runtime.op_base.table import MAX_WAIT_S, waiting_op
from repl_pair.runtime.registry.ids import plain_member_id
from repl_pair.runtime.registry.model import Entry, Member, MemberKind
from repl_pair.runtime.registry.visible import visible_entry
from repl_pair.runtime.secrets.learning import learn_before_output
from repl_pair.runtime.secrets.well_known import is_shown
from repl_pair.runtime.signatures.arguments import Bounds
from repl_pair.runtime.surfaces.secret_values import places_followed
from repl_pair.runtime.surfaces.state import LOCK, STATES, State, settle, watch
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.marks import announcing, is_secret_key, places_behind
from repl_pair.runtime.values.paths import Place
from repl_pair.wire import monotonic

COMPUTED_S = 2.0
"""How long a read waits for a computed value; then it is refused."""
NEAR_KEYS = 1_000
"""Among how many keys the nearest to one that is not there are looked for."""
_NUMBERS = frozenset(map(id, (bool, int, float, type(None))))


class Item(TypedDict):
    """An item of a collection."""

    key: str
    value: Any


class MemberReading(TypedDict):
    """What a member holds: a cell its value, a collection a page of its items, else its entries.

    Entries are the last ones, or those since, the oldest first. `next` is the `since` of the next
    call; `gap`: some entries since are no longer kept; `timed_out`: nothing changed since.
    """

    kind: MemberKind
    value: NotRequired[Any]
    items: NotRequired[list[Item]]
    entries: NotRequired[list[Any]]
    total: NotRequired[int]
    cursor: NotRequired[str]
    revision: int
    next: int
    gap: NotRequired[Literal[True]]
    timed_out: NotRequired[Literal[True]]


@waiting_op(toolset="surface")
async def read_member(
    call: Call,
    member: Annotated[str, "Such as training/loss"],
    key: Annotated[str | None, "One item of a collection"] = None,
    since: Annotated[int | None, Bounds(0), "`next` of the last call: wait for a change"] = None,
    wait_s: Annotated[float, Bounds(0, MAX_WAIT_S), "Seconds to wait"] = 0.0,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> MemberReading:
    """Read what a member of a surface holds now, or wait for its next change or event."""
    member = plain_member_id(member)
    entry, is_news = visible_entry(call.view, "member", member), True
    _check_reading(entry, key, cursor)
    if key is not None:  # which may be a secret itself
        learn_before_output(())
    if since is None or cursor is not None:
        await _refresh(entry)
    else:
        is_news = await _wait_for_news(call, member, key, since, wait_s)
        entry = visible_entry(call.view, "member", member)
    found = _read_state(entry, key=key, since=since, limit=limit, is_news=is_news)
    if "items" in found:
        query = [entry.id, found.pop("version")]
        chosen = page(sorted(items := found.pop("items")), limit=limit, cursor=cursor, query=query)
        found |= chosen | {"items": [{"key": key, "value": items[key]} for key in chosen["items"]]}
    values = found.get("entries", [found.get("value"), *found.get("items", ())])
    if not all(map(_is_number, values)):
        learn_before_output(())
    call.max_items = limit
    call.sensitive.extend(_places_to_hide(entry, key))
    _suggest_next(call, entry, key, found)
    return cast("MemberReading", found)


def _is_number(value: object) -> bool:
    """Return whether a value holds no text: a curve that is read often needs no search."""
    return id(type(value)) in _NUMBERS  # `in` over the classes could call code of a metaclass


def _check_reading(entry: Entry, key: str | None, cursor: str | None) -> None:
    """Refuse a key or a cursor for what is no collection; RequestError `bad_arguments`."""
    for name, given in (("key", key), ("cursor", cursor)):
        if given is not None and entry.body.kind != "collection":
            raise RequestError(
                "bad_arguments",
                f"{entry.id} is a {entry.body.kind}, which has no {name}: leave it out.",
                next_steps=[next_step("read_member", member=entry.id)],
            )


async def _refresh(entry: Entry) -> None:
    """Let a computed value be computed, if its sources changed; `unreadable` where it is late."""
    if await _is_late(state := entry.body.state):
        raise RequestError(
            "unreadable",
            f"{entry.id} is still being computed, for over {COMPUTED_S:g} s. Read it again later.",
            next_steps=[_wait_step(entry, None, state.revision)],
        )


async def _is_late(state: State) -> bool:
    return state.computed is not None and not await state.computed.refresh(COMPUTED_S)


async def _wait_for_news(
    call: Call, member: str, key: str | None, since: int, wait_s: float
) -> bool:
    """Wait until a member, or one item of it, has changed since; False when the time ran out.

    RequestError `not_found` as soon as the view does not see it any more, KernelError `paused`
    where agents were paused meanwhile.
    """
    changed, until = call.make_event(), monotonic() + wait_s
    stop_watching = watch([member], lambda _id: changed.set())
    try:
        while True:
            entry = visible_entry(call.view, "member", member)
            state: State = entry.body.state
            if call.cancelled.is_set() or monotonic() + COMPUTED_S >= until:
                await _refresh(entry)
            elif await _is_late(state):
                continue
            if _is_news(state, key, since):
                return True
            if call.cancelled.is_set() or not await changed.wait(until - monotonic()):
                return False
    finally:
        stop_watching()


def _is_news(state: State, key: str | None, since: int) -> bool:
    if key is None or since > state.revision:
        return state.revision != since
    if not is_shown(key):
        return max(state.began, state.forgotten) > since
    if key in state.revisions:
        return max(state.revisions[key], state.began) > since
    return state.is_removed_since(key, since)  # else the caller waits for it to come


def _read_state(
    entry: Entry, *, key: str | None, since: int | None, limit: int, is_news: bool
) -> dict[str, Any]:
    """Return what a member holds at one moment; of a collection all `items`, with their `version`.

    Without a value: `not_found`, or `unreadable` with why its function failed.
    """
    body: Member = entry.body
    if not body.state.ids:  # registered a moment ago, on another thread
        settle(entry.id)
    state: State = STATES.get(entry.id) or body.state
    with LOCK:
        found: dict[str, Any] = {"kind": body.kind, "revision": state.revision}
        found["next"] = state.revision
        if not is_news and since is not None and not _is_news(state, key, since):
            return found | {"timed_out": True}
        if key is not None and not (key in state.items and is_shown(key)):
            raise _no_key(entry, key)
        if state.error or not state.is_filled:
            raise _no_value(entry, state)
        if body.kind == "cell":
            return found | {"value": state.value}
        if key is not None:
            return found | {"value": state.items[key]}
        if body.kind == "collection":
            version = [state.began, state.keys_revision]
            return found | {"items": state.items.copy(), "version": version}
        return found | _entries(state, since, limit)


def _entries(state: State, since: int | None, limit: int) -> dict[str, Any]:
    """Return the last entries, or the first ones since; what else came is read from `next` on."""
    if since is None:
        return _shown_entries(state, max(0, len(state.entries) - limit), limit)
    gap = {"gap": True} if since < state.lost or since > state.revision else {}
    start = since if since <= state.revision else 0
    new = [one for one in state.entries if one[0] > start]
    next_ = {"next": new[limit - 1][0]} if len(new) > limit else {}
    return _shown_entries(state, len(state.entries) - len(new), limit) | gap | next_


def _shown_entries(state: State, first: int, limit: int) -> dict[str, Any]:
    """Return entries from one on; what one before that announces as a secret is hidden."""
    values = [value for _, value in state.entries]
    shown, hidden = range(len(values))[first : first + limit], set[int]()
    if announcing(values, shown[:1]):
        hidden.update(at for n in range(first) for at in places_behind(values, n))
    return {"entries": [Secret(values[at]) if at in hidden else values[at] for at in shown]}


def _no_value(entry: Entry, state: State) -> RequestError:
    steps = [_wait_step(entry, None, state.revision)]
    if state.error:
        return RequestError("unreadable", f"{entry.id}: {state.error}", next_steps=steps)
    return RequestError("not_found", f"{entry.id} has no value yet.", next_steps=steps)


def _no_key(entry: Entry, key: str) -> RequestError:
    state: State = entry.body.state
    near = did_you_mean(key, list(filter(is_shown, islice(state.items, NEAR_KEYS))))
    steps = [next_step("read_member", member=entry.id), _wait_step(entry, key, state.revision)]
    return RequestError("not_found", f"{entry.id} has no key {key!r}.{near}", next_steps=steps)


def _wait_step(entry: Entry, key: str | None, since: int) -> Any:
    return next_step("read_member", member=entry.id, key=key, since=since, wait_s=STEP_S)


def _suggest_next(call: Call, entry: Entry, key: str | None, found: dict[str, Any]) -> None:
    """Suggest to read on where more entries came, else to wait for the next change."""
    if found["next"] < found["revision"]:
        call.suggest("read_member", member=entry.id, since=found["next"])
    elif "cursor" not in found:
        call.next_steps.append(_wait_step(entry, key, found["next"]))


def _places_to_hide(entry: Entry, key: str | None) -> Iterator[Place]:
    """Yield the places in a reading that are secret by the type or the name of the member."""
    is_secret = key is not None and is_secret_key(key)
    for place in [()] if is_secret else places_followed(entry):
        yield ("value", *place)
        yield ("entries", "*", *place)
        yield ("items", "*", "value", *place)
