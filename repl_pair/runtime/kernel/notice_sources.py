"""What agents are to notice: verdicts that flip, approvals answered, changes of other repos."""

import os
import threading
import time
from contextlib import suppress

from repl_pair.errors import error_text
from repl_pair.records import Undo
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.clients.approval import Approval
from repl_pair.runtime.clients.approvals import APPROVALS
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.notices.deferred_writes import LATER
from repl_pair.runtime.notices.in_replies import REPLY_NOTICES
from repl_pair.runtime.notices.notices import report_notice
from repl_pair.runtime.op_base.call import current_cause
from repl_pair.runtime.project.database import find_project, kept_project, project
from repl_pair.runtime.project.root import FOLDER
from repl_pair.runtime.results.last_results import RESULTS, last_verdict
from repl_pair.runtime.sessions.open_sessions import OPEN
from repl_pair.runtime.store import PERSON_STORE, STORE, Change
from repl_pair.wire import AGENTS, PERSON, Request, monotonic

LOOK_S = 2.0
"""How often, at most, calls of agents begin a look at what other repos changed."""


class NoticeSources:
    """Follows verdicts, approvals and the realm as long as an agent that has called is there.

    See `NOTICE_SOURCES`; for any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, Undo] = {}
        self._undo: tuple[Undo, ...] = ()
        self._looked_at = -LOOK_S
        self._verdicts: dict[str, str] = {}
        """The status of the last verdict of each variant, as far as it was followed."""

    def serve(self, request: Request) -> None:
        """Follow what happens until the client of an agent's request is gone."""
        client = request.agent_client
        if client is None:
            return
        if monotonic() - self._looked_at >= LOOK_S:
            self._looked_at = monotonic()
            here = find_project()
            if here is not None and os.path.isdir(here.root / FOLDER):
                with suppress(RuntimeError):  # no thread can be started: the call needs none
                    start_thread(self._look_at_realm, name="realm")
        with self._lock:
            if client in self._clients:
                return
            self._clients[client] = OWN_CALLS.hold(client, lambda: self._leave(client))
            if not self._undo:
                self._undo = (
                    STORE.subscribe(self._on_change),
                    PERSON_STORE.subscribe(self._on_person),
                )
                self._verdicts = {id: _verdict_of(id) for id in STORE.keys(RESULTS.name)}

    def _leave(self, client: str) -> None:
        with self._lock:
            forget = self._clients.pop(client, None)
            is_last = forget is not None and not self._clients
            undo, self._undo = (self._undo, ()) if is_last else ((), self._undo)
        for each in (*undo, *((forget,) if forget else ())):
            each()
        if is_last:
            REPLY_NOTICES.forget()

    def _on_change(self, change: Change) -> None:
        if change.member == RESULTS.name and change.change == "put" and change.key is not None:
            self._note_verdict(change.key)

    def _note_verdict(self, variant_id: str) -> None:
        with self._lock:
            now = _verdict_of(variant_id)
            before = self._verdicts.get(variant_id, "")
            self._verdicts[variant_id] = now or before
        if before and now and (before == "pass") != (now == "pass"):
            _report(
                kind="verdict",
                subject=f"variant:{variant_id}",
                text=f"{variant_id} is {now} now; before it was {before}.",
                recipient=AGENTS,
                by=current_cause(),
            )

    def _on_person(self, change: Change) -> None:
        """Note the person's answer to what an agent asked for."""
        is_answer = change.before == "pending" and change.after in ("approved", "denied")
        if change.member != APPROVALS.name or not is_answer:
            return
        approval: Approval | None = PERSON_STORE.item(APPROVALS.name, change.key or "")
        if approval is not None:
            OPEN.count_one(approval.asker.client or approval.asker.principal, "approvals")
            _report(
                kind="approval",
                subject=f"op:{approval.op}",
                text=f"The person {change.after} {approval.op}.",
                recipient=approval.asker.principal,
                by=PERSON,
            )

    def _look_at_realm(self) -> None:
        # What reads a realm is imported where the project keeps anything.
        from repl_pair.runtime.realm.changes import report_changes

        try:
            report_changes(project())
        except Exception as error:  # noqa: BLE001  no caller waits who could be answered
            LATER.report(error_text(error))


def _verdict_of(variant_id: str) -> str:
    """Return the status of a variant's last verdict, empty where it has none."""
    found = last_verdict(variant_id)
    return "" if found is None else found.status


def _report(**notice: str) -> None:
    """Report a notice soon, where the project keeps anything: a run leaves no file."""
    if kept_project() is None:
        return
    at = time.time()
    LATER.put(lambda connection: report_notice(connection, **notice, at=at, text_after=None))


NOTICE_SOURCES = NoticeSources()
"""What agents are to notice of this process."""
