"""Entries as an agent reads them: a body, or pages of lines in a stable order.

A page is bounded, and its cursor knows when it is stale.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any

from repl_pair.errors import RequestError
from repl_pair.runtime.op_base.answers import Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.tier_names import shown_slots
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import is_agents, is_of_agent
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import visible_ids
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.entries import plays_of, secrets_of_entry, slots_of
from repl_pair.runtime.secrets.known import CallSecrets
from repl_pair.runtime.signatures.arguments import Bounds
from repl_pair.runtime.values.frozen import to_plain

DEFAULT_LIMIT = 25
MAX_LIMIT = 200
Limit = Annotated[int, Bounds(1, MAX_LIMIT), "Per page"]
Cursor = Annotated[str | None, "Of the last page"]
_EMPTY = frozenset({str, list, tuple, dict, bool})
"""Types whose empty values are left out."""


def read_whole(call: Call, entry: Entry, **more: Any) -> Any:
    """Return what a call may read of an entry: id, slots that hold something, and where it is from.

    A slot of `more` stands in the place of the body's.
    """
    note_secrets(call, entry)
    slots = shown_slots(call, to_plain(slots_of(entry.body) | more))
    place = {"where": entry.origin.label, "line": entry.origin.line}
    return filled(id=entry.id, **slots, registered=place)


def note_secrets(call: Call, entry: Entry, *slots: str) -> None:
    """Note what is a secret of the body that a call answers in these slots."""
    call.sensitive.extend((*slots, *path) for path in secrets_of_entry(entry))
    take_written(call, entry)
    if plays := plays_of(entry):  # what they expect of a secret may be another text
        call.secrets.ignore(plays)


def take_written(call: Call, entry: Entry) -> None:
    """Let stay as it is what the caller registered: a marker would confirm a guess."""
    if is_of_agent(entry.origin, call.view.principal):
        call.secrets.take_sent(entry.origin.sent)
    elif is_agents(entry.origin):
        call.secrets.ignore(slots_of(entry.body))


def shown_line(call: Call, entry: Entry, line: Mapping[str, Any]) -> Any:
    """Return the line of an entry in a list; what the caller registered stays as it is."""
    is_own = is_of_agent(entry.origin, call.view.principal)
    return repeat(call, line, entry.origin.sent) if is_own else line


def repeat(call: Call, value: Any, sent: Any) -> Any:
    """Return a part of an answer in which what the caller sent stays as it is."""
    secrets = CallSecrets(call.view.principal)
    secrets.take_sent(sent)
    return call.add_raw_json(send_out(value, secrets=secrets).value)


def filled(**slots: Any) -> Any:
    """Return the slots that hold something, as the type of an answer that the caller names."""
    return {name: value for name, value in slots.items() if is_filled(value)}


def is_filled(value: Any) -> bool:
    """Return whether a slot holds something; no code of the value's is asked."""
    return value is not None and (type(value) not in _EMPTY or bool(value))


def read_line(entry: Entry, **slots: Any) -> dict[str, Any]:
    """Return the line of an entry in a list: its id, the first line of its doc, and these slots."""
    return filled(id=entry.id, doc=entry.body.doc.partition("\n")[0], **slots)


def page(
    ids: Sequence[str],
    *,
    limit: int,
    cursor: str | None,
    query: Sequence[Any],
    first: Callable[[int], Sequence[str]] | None = None,
) -> Page[str]:
    """Return a page of ids; a cursor holds for one query only.

    `first` gives the first so many in order of ids that stand in none.
    """
    mark = mark_of(query)
    start = 0 if cursor is None else int(read_cursor(cursor, mark, r"\d{1,9}"))
    end = start + limit
    ordered = ids if first is None else first(end)
    answer: Page[str] = {"items": list(ordered[start:end]), "total": len(ids)}
    if end < len(ids):
        answer["cursor"] = write_cursor(mark, end)
    return answer


def mark_of(query: Sequence[Any]) -> str:
    """Return the mark of a query: what distinguishes its cursors from others."""
    return sha256(json.dumps(query, default=str).encode()).hexdigest()[:12]


def mark_of_ids(ids: Iterable[str]) -> str:
    """Return the mark of ids that a view sees; `hash` would be another in each process."""
    return sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _mark_of_entries(ids: Sequence[str]) -> str:
    """Return the mark of ids of entries; a list that is the same as the last one is not hashed."""
    global _marked
    asked, marked = ids if isinstance(ids, list) else list(ids), _marked
    if asked != marked[0]:  # equal ids are mostly the same objects
        _marked = marked = asked, mark_of_ids(asked)
    return marked[1]


_marked: tuple[Sequence[str], str] = [], mark_of_ids(())
"""The ids that were hashed last, and their mark."""


def move_cursor(cursor: str, start: int) -> str:
    """Return the cursor of the page that begins at `start`, of the list that a cursor is of."""
    mark, _, _ = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
    return write_cursor(mark, start)


def write_cursor(mark: str, start: int | str) -> str:
    """Return the cursor of a list that `mark` is of, for the page that begins at `start`."""
    return base64.urlsafe_b64encode(f"{mark}:{start}".encode()).decode()


def page_of(
    call: Call,
    kind: str,
    describe: Callable[[Entry], dict[str, Any]],
    limit: int,
    cursor: str | None,
    *,
    ids: Sequence[str] | None = None,
    query: Sequence[Any] = (),
    then: tuple[str, str] | None = None,
) -> Page[Any]:
    """Return a page of the entries of a kind, each as `describe` gives it.

    Without `ids` it is of all that are visible; `then` is the op and its arg for
    which the first id of the page is suggested.
    """
    call.max_items = limit

    def line(id: str) -> dict[str, Any]:
        entry = REGISTRY.find(kind, id)
        return {"id": id} if entry is None else shown_line(call, entry, describe(entry))

    found = visible_ids(call.view, kind) if ids is None else ids
    # What the view does not see ends no cursor of it.
    asked = [_mark_of_entries(found), kind, *query, call.view.tier]
    chosen = page(found, limit=limit, cursor=cursor, query=asked)
    if then is not None and chosen["items"]:
        op, arg = then
        call.suggest(op, **{arg: chosen["items"][0]})
    return {**chosen, "items": list(map(line, chosen["items"]))}


def read_cursor(cursor: str, mark: str, form: str) -> str:
    """Return where the page of a cursor begins, which fits the pattern `form`.

    RequestError `stale_cursor` where it is of another list.
    """
    try:
        found, _, start = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
    except ValueError:
        found, start = "", ""
    if not re.fullmatch(form, start):
        raise RequestError(
            "stale_cursor", "That is not a cursor of this list: call again without a cursor."
        )
    if found != mark:
        raise RequestError(
            "stale_cursor",
            "The list or the question changed since that page: call again without a cursor.",
        )
    return start
