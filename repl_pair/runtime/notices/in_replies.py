"""The notices in replies: the newest ids that an agent has not seen, and how many more."""

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from repl_pair.errors import next_step
from repl_pair.records import Undo, row
from repl_pair.runtime.notices.deferred_writes import LATER
from repl_pair.runtime.notices.notices import Unseen, is_open, mark_seen, read_unseen
from repl_pair.runtime.project.database import kept_project, project
from repl_pair.wire import Notices, OnReply, Reply, Request, monotonic

SHOWN = 3
LISTING = "notifications_list"
FRESH_S = 60.0
"""How long what was read holds while nothing changes: notices expire."""
CLIENTS = 1_000
"""How many clients are remembered that were shown notices and did not call since."""

_Caller = tuple[str, str]
"""A client, and its principal."""
Counts = Mapping[str, int]
"""With which count notices were shown, by id."""


@row
class _Read:
    """What a principal had not seen at one moment, after so many reported changes."""

    at: float
    changes: int
    unseen: Sequence[Unseen]


class ReplyNotices:
    """Puts notices into the replies of agents; for any thread. See `REPLY_NOTICES`.

    What a client was shown is seen by its principal when that client calls again. Where the
    database cannot be read, replies go without notices, and `notifications_list` reports why.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_called = False
        """Whether an agent has called since there was none: what is answered late reads nothing."""
        self._end_watch: Undo | None = None
        self._changes = 0
        self._read: dict[str, _Read] = {}
        self._shown: dict[_Caller, Counts] = {}
        """What each was shown since its last call."""
        self._seen: dict[str, Counts] = {}
        """By principal, what it saw, until that is read from the database."""

    def follow(self, request: Request, answer: OnReply, is_awaited: Callable[[], bool]) -> OnReply:
        """Mark as seen what the client of an accepted call was shown; return what also shows more.

        Nothing is shown to the person, nor where the caller does not see the whole reply, or
        awaits none any more.
        """
        view, client = request.view, request.agent_client
        if client is None or not request.is_reported:
            return answer
        caller = (client, view.principal)
        self._is_called = True
        if request.op != LISTING:  # it lists whole what a reply only named
            self._mark_seen(caller)

        def show_and_answer(reply: Reply) -> None:
            shown = reply
            try:
                unseen = self._unseen(view.principal) if is_awaited() else ()
                if unseen := [one for one in unseen if is_open(view, one)]:
                    shown = reply | self._show(reply, caller, unseen)
            finally:
                answer(shown)

        return show_and_answer

    def _show(self, reply: Reply, caller: _Caller, unseen: Sequence[Unseen]) -> Reply:
        counts = {one.id: one.count for one in unseen[:SHOWN]}
        with self._lock:
            self._shown[caller] = {**self._shown.pop(caller, {}), **counts}
            for forgotten in list(islice(self._shown, max(0, len(self._shown) - CLIENTS))):
                del self._shown[forgotten]
        notices: Notices = {"ids": [*counts], "more": len(unseen) - len(counts)}
        steps = reply.get("next_steps") or [next_step(LISTING)]
        return {"notices": notices, "next_steps": steps}

    def _mark_seen(self, caller: _Caller) -> None:
        if caller not in self._shown:
            return
        _, principal = caller
        with self._lock:
            counts = self._shown.pop(caller, {})
            self._seen[principal] = {**self._seen.get(principal, {}), **counts}
        LATER.put(lambda connection: mark_seen(connection, principal, counts))

    def _unseen(self, principal: str) -> Sequence[Unseen]:
        if self._end_watch is None and not self._watch():
            return ()
        known = self._read.get(principal)
        if known is None or known.changes != self._changes or monotonic() - known.at > FRESH_S:
            known = self._read_again(principal)
        seen = self._seen.get(principal)
        if not seen:
            return known.unseen
        return [one for one in known.unseen if seen.get(one.id, 0) < one.count]

    def _read_again(self, principal: str) -> _Read:
        read = _Read(monotonic(), self._changes, _load(principal))
        with self._lock:
            self._read[principal] = read
            if seen := self._seen.pop(principal, None):
                ids = {one.id for one in read.unseen}
                self._seen[principal] = {id: n for id, n in seen.items() if id in ids}
        return read

    def _watch(self) -> bool:
        """Watch the project's database, if there is one; return whether there is."""
        with self._lock:
            here = kept_project() if self._is_called and self._end_watch is None else None
            if here is not None:
                self._end_watch = here.watch(self._note_change)
            return self._end_watch is not None

    def _note_change(self) -> None:
        self._changes += 1

    def forget(self) -> None:
        """Watch no more, and forget what was read and shown: no agent is there."""
        with self._lock:
            end_watch, self._end_watch, self._is_called = self._end_watch, None, False
            for known in (self._read, self._shown, self._seen):
                known.clear()
        if end_watch is not None:
            end_watch()


def _load(principal: str) -> Sequence[Unseen]:
    try:
        with project().reading() as connection:
            return read_unseen(connection, principal)
    except Exception:  # noqa: BLE001  `notifications_list` reports it; each caller gets its reply
        return ()


REPLY_NOTICES = ReplyNotices()
"""The notices in the replies of this process."""
