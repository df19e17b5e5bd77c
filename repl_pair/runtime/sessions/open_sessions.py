"""The work sessions that are open in this process, one a client, and what was done in them."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Literal

from repl_pair.records import Undo, mutable
from repl_pair.runtime.clients.clients import ATTACHED, Client, has_ended
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.notices.deferred_writes import LATER
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.project.schema import new_id
from repl_pair.runtime.sessions.counting import Counts, count_changed, count_reply, no_counts
from repl_pair.runtime.sessions.sessions import Start, keep_counts, keep_ended, keep_started
from repl_pair.runtime.store import PERSON_STORE
from repl_pair.wire import OnReply, Reply, Request

COUNTED_S = 1.0
"""How long counts are in memory only; what a killed kernel may lose."""


@mutable
class OpenSession:
    """One open session: of which client, what was done so far, and the contracts at its start."""

    id: str
    owner: str
    start: Start
    client: Client | None
    contracts: Mapping[str, str]
    counts: Counts
    forget: Undo


class OpenSessions:
    """The open sessions by their owner: a client's id, or a principal without one. See `OPEN`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changing = threading.Lock()
        """Held while sessions begin and end, which waits for the database; counting does not."""
        self._open: dict[str, OpenSession] = {}

    def find(self, owner: str) -> OpenSession | None:
        """Return the open session of an owner, None where it has none."""
        return self._open.get(owner)

    def start(
        self, database: Database, start: Start, owner: str, contracts: Mapping[str, str]
    ) -> tuple[str, bool]:
        """Begin a session, or find the owner's open one; return its id and whether it is new.

        It is abandoned when its client goes. An open one whose database was deleted is kept again.
        """
        with self._changing:
            if (found := self._open.get(owner)) is not None:
                with database.writing() as connection:
                    keep_started(connection, found.id, found.start, self._copy(found))
                return found.id, False
            id, counts = new_id(), no_counts()
            client: Client | None = PERSON_STORE.item(ATTACHED.name, owner)
            with database.writing() as connection:
                keep_started(connection, id, start, counts)
            self._open[owner] = OpenSession(
                id=id,
                owner=owner,
                start=start,
                client=client,
                contracts=contracts,
                counts=counts,
                forget=OWN_CALLS.hold(owner, lambda: self.abandon(owner)),
            )
            return id, True

    def stop(self, database: Database, owner: str, contracts: Mapping[str, str]) -> str | None:
        """End an owner's session; return its id, None where none is open."""
        with self._changing:
            session = self._open.get(owner)
            if session is None:
                return None
            changed = count_changed(session.contracts, contracts)
            with database.writing() as connection:
                keep_started(connection, session.id, session.start, self._copy(session))
                counts = {**self._copy(session), "contracts": changed}
                keep_ended(connection, session.id, "stopped", counts, time.time())
            self._remove(owner)
            return session.id

    def abandon(self, owner: str) -> None:
        """End an owner's session whose client is gone, soon and on another thread."""
        session, now = self._remove(owner), time.time()
        if session is not None:
            counts = self._copy(session)
            LATER.put(lambda c: keep_ended(c, session.id, "abandoned", counts, now))

    def abandon_ended(self) -> None:
        """Abandon the sessions whose clients' processes have ended, though nothing reported it."""
        for session in tuple(self._open.values()):
            if session.client is not None and has_ended(session.client):
                self.abandon(session.owner)

    def follow(self, request: Request, answer: OnReply) -> OnReply:
        """Return what counts the reply to an agent's call in its client's session, and answers."""
        owner = request.agent_client
        if owner is None:
            return answer

        def count_and_answer(reply: Reply) -> None:
            try:
                if owner in self._open:
                    self._count(owner, lambda counts: count_reply(counts, request.op, reply))
            finally:
                answer(reply)

        return count_and_answer

    def count_one(self, owner: str, slot: Literal["approvals", "registered"]) -> None:
        """Count an answer of the person to an owner, or an entry that an owner registered."""

        def add(counts: Counts) -> None:
            counts[slot] += 1

        self._count(owner, add)

    def _count(self, owner: str, add: Callable[[Counts], None]) -> None:
        session = self._open.get(owner)
        if session is None:
            return
        with self._lock:
            add(session.counts)
        LATER.put(
            lambda c: keep_counts(c, session.id, self._copy(session), time.time()),
            within_s=COUNTED_S,
            key=session.id,
        )

    def _copy(self, session: OpenSession) -> Counts:
        with self._lock:
            return {**session.counts, "runs": {**session.counts["runs"]}}

    def _remove(self, owner: str) -> OpenSession | None:
        session = self._open.pop(owner, None)
        if session is not None:
            session.forget()
        return session


OPEN = OpenSessions()
"""The open sessions of this process."""
