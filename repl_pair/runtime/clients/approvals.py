"""The approvals of this process: asked for, answered by the person, and used once."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import Undo
from repl_pair.runtime.clients.activity import LOG, ActivityLog
from repl_pair.runtime.clients.approval import (
    Answer,
    Approval,
    Asker,
    closed_refusal,
    hash_call,
    unknown_handle,
)
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.stopping.waiting import WaitEvent
from repl_pair.runtime.store import PERSON_STORE, Collection, Store
from repl_pair.wire import monotonic

APPROVALS = Collection(
    name="approvals",
    doc="Calls that were asked for, by handle.",
    outline=lambda approval: approval.state,
)
GRANTS = Collection(name="approval_grants", doc="Approvals that cover all calls of their op.")
PERSON_STORE.declare(APPROVALS)
PERSON_STORE.declare(GRANTS)

EXPIRES_S = 600.0
"""How long an approval stays open, waiting for the answer and for the call after it."""
MAX_PENDING = 20
"""How many calls of one client may wait at once."""
KEPT = 100
"""How many closed approvals are kept for the person to see."""

_OPEN = ("pending", "approved")


class Approvals:
    """Records what clients ask, the person's answer, and the use of it; for any thread.

    Each change of state is a compare-and-set in the store, so it happens once.
    """

    def __init__(
        self,
        store: Store = PERSON_STORE,
        *,
        boot: Callable[[], str] = lambda: BOOT.id,
        now: Callable[[], float] = time.time,
        log: ActivityLog = LOG,
    ) -> None:
        self._store = store
        self._boot = boot
        self._now = now
        self._log = log
        self._forget: dict[str, Undo] = {}

    def ask(
        self,
        op: str,
        args: Mapping[str, Any],
        *,
        asker: Asker,
        access: tuple[str, ...],
        expires_s: float = EXPIRES_S,
        preview: Mapping[str, Any] | None = None,
    ) -> Approval:
        """Ask the person for a call; one that is covered by a grant is approved at once.

        It is withdrawn when its client leaves. RequestError `approval_unavailable` where 20 calls
        of that asker wait already.
        """
        waiting = sum(approval.asker == asker for approval in self.pending())
        if waiting >= MAX_PENDING:
            raise RequestError(
                "approval_unavailable",
                f"{waiting} calls of yours wait for the person's answer already; nothing was run.",
            )
        granted = any(grant.covers(asker, op, access) for grant in self.grants())
        now = self._now()
        approval = Approval(
            handle=os.urandom(4).hex(),
            asker=asker,
            op=op,
            args=args,
            hash=hash_call(op, args),
            access=access,
            boot=self._boot(),
            asked_at=now,
            expires_at=now + min(expires_s, EXPIRES_S),
            state="approved" if granted else "pending",
            reason="approved for this session" if granted else "",
            preview=preview,
        )
        self._hold_open(approval)
        self._store.put(APPROVALS.name, approval.handle, approval)
        return approval

    def answer(self, handle: str, answer: Answer, reason: str = "") -> Approval:
        """Record the person's answer to a pending call; `session` also grants the op to its asker.

        `deny` also withdraws a grant, and an approval that was not used yet. RequestError
        `not_found`, or `approval_expired` where it is closed.
        """
        approval = self.find(handle)
        if answer == "deny":
            taken_back = self.withdraw_grant(handle)
            if approval.state not in _OPEN and taken_back:
                return approval
        elif approval.state != "pending":
            raise closed_refusal(approval)
        state = "denied" if answer == "deny" else "approved"
        changed = self._set_state(approval, state, reason) if approval.state in _OPEN else None
        if changed is None:
            raise closed_refusal(self.find(handle))
        if answer == "session":
            self._hold(f"grant {handle}", approval.asker, lambda: self.withdraw_grant(handle))
            self._store.put(GRANTS.name, handle, changed)
        return changed

    def take(self, handle: str, op: str, args: Mapping[str, Any], asker: Asker) -> frozenset[str]:
        """Use an approval for its call; return the access that it opens.

        A call that differs, or a second use, is refused: RequestError `not_found`,
        `approval_pending`, `approval_denied` or `approval_expired`.
        """
        approval = self.of(handle, asker)
        if approval.hash != hash_call(op, args) or approval.boot != self._boot():
            raise unknown_handle(handle)
        if approval.state == "pending":
            raise RequestError("approval_pending", f"{approval.op} waits for the person's answer.")
        if approval.state == "denied":
            raise RequestError("approval_denied", f"The person denied {approval.op}.")
        if approval.state != "approved" or self._set_state(approval, "used") is None:
            raise closed_refusal(approval)
        return frozenset(approval.access)

    def give_back(self, handle: str) -> None:
        """Let an approval be used again whose call did not begin."""
        found: Approval | None = self._store.item(APPROVALS.name, handle)
        if found is not None and found.state == "used":
            self._hold_open(found)
            self._store.put(APPROVALS.name, handle, replace(found, state="approved"), over=found)

    def find(self, handle: str) -> Approval:
        """Return an approval in its current state, for the person; RequestError `not_found`."""
        found = self._find(handle)
        if found is None:
            near = did_you_mean(handle, list(self._store.keys(APPROVALS.name)))
            raise RequestError("not_found", f"There is no approval {handle!r}.{near}")
        return found

    def of(self, handle: str, asker: Asker) -> Approval:
        """Return an approval of exactly this asker; RequestError `not_found` for any other."""
        found = self._find(handle)
        if found is None or found.asker != asker:
            raise unknown_handle(handle)
        return found

    async def wait(
        self,
        handle: str,
        asker: Asker,
        timeout_s: float,
        changed: WaitEvent,
        given_up: Callable[[], bool] = lambda: False,
    ) -> Approval:
        """Wait until an approval is no longer pending or the time is over; return it then.

        `given_up` is checked whenever `changed` is set, as it is at each change.
        """
        until = monotonic() + timeout_s
        unsubscribe = self._store.subscribe(lambda _change: changed.set())
        try:
            while True:
                found = self.of(handle, asker)
                left_s = min(until - monotonic(), found.expires_at - self._now())
                if found.state != "pending" or left_s <= 0 or given_up():
                    return self.of(handle, asker)
                await changed.wait(left_s)
        finally:
            unsubscribe()

    def pending(self) -> list[Approval]:
        """Return the pending approvals, the oldest first."""
        every = filter(None, map(self._find, self._store.keys(APPROVALS.name)))
        return sorted((a for a in every if a.state == "pending"), key=lambda a: a.asked_at)

    def withdraw(self, handle: str, asker: Asker) -> None:
        """Withdraw an open approval of exactly this asker."""
        self._withdraw(self.of(handle, asker).handle, "its caller gave it up")

    def grants(self) -> list[Approval]:
        """Return the approvals that cover every call of their op by their asker, oldest first."""
        found: Mapping[str, Approval] = self._store.snapshot(GRANTS.name)
        return sorted(found.values(), key=lambda grant: grant.asked_at)

    def withdraw_grant(self, handle: str) -> bool:
        """Withdraw a grant; False if there is none with that handle."""
        self._release(f"grant {handle}")
        return self._store.remove(GRANTS.name, handle)

    def _find(self, handle: str) -> Approval | None:
        """Return an approval in its current state; None where there is none any more."""
        found: Approval | None = self._store.item(APPROVALS.name, handle)
        if found is not None and found.state in _OPEN and self._now() >= found.expires_at:
            return self._set_state(found, "expired") or self._find(handle)
        return found

    def _withdraw(self, handle: str, why: str) -> None:
        found: Approval | None = self._store.item(APPROVALS.name, handle)
        if found is not None and found.state in _OPEN:
            self._set_state(found, "withdrawn", why)

    def _set_state(self, approval: Approval, state: str, reason: str = "") -> Approval | None:
        """Set the next state; None if it has changed meanwhile."""
        changed = replace(approval, state=state, reason=reason or approval.reason)
        if not self._store.put(APPROVALS.name, approval.handle, changed, over=approval):
            return None
        if state in ("denied", "withdrawn", "expired"):
            self._log.note(changed.as_request(), state, changed.reason)
        if state not in _OPEN:
            self._release(approval.handle)
            every: Mapping[str, Approval] = self._store.snapshot(APPROVALS.name)
            closed = (a for a in every.values() if a.state not in _OPEN)
            for old in sorted(closed, key=lambda a: a.asked_at)[:-KEPT]:
                self._store.remove(APPROVALS.name, old.handle, only=old)
        return changed

    def _hold_open(self, approval: Approval) -> None:
        handle = approval.handle
        self._hold(handle, approval.asker, lambda: self._withdraw(handle, "its client went away"))

    def _hold(self, key: str, asker: Asker, end: Callable[[], object]) -> None:
        self._forget[key] = OWN_CALLS.hold(asker.client or asker.principal, end)

    def _release(self, key: str) -> None:
        if forget := self._forget.pop(key, None):
            forget()


QUEUE = Approvals()
"""The approvals of this process."""
