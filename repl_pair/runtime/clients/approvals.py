"""Calls that wait for the person: one exact call, who asks, and what the person decided."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Literal

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import Undo, record
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.surface import PERSONS, Collection, Store

Word = Literal["once", "session", "deny"]


APPROVALS = Collection(name="approvals", doc="Calls that were asked for, by handle.")


GRANTS = Collection(name="approval_grants", doc="What needs no asking, by the handle it came of.")


PERSONS.declare(APPROVALS)


PERSONS.declare(GRANTS)


@record
class Asker:
    """Who asks: a principal, and the client it speaks through, None where none is known."""

    principal: str
    client: str | None = None


@record
class Approval:
    """One exact call that was asked for; `state` is one of pending, approved, denied, expired,
    used and withdrawn.

    `hash` is that of op and args, `access` what the call takes beyond what is open. Times are epoch
    seconds.
    """

    handle: str
    asker: Asker
    op: str
    args: Mapping[str, Any]
    hash: str
    access: tuple[str, ...]
    boot: str
    asked_at: float
    expires_at: float
    state: str = "pending"
    reason: str = ""


@record
class Grant:
    """Calls of one op by one asker that need no asking; `handle` is of the approval it came of."""

    handle: str
    asker: Asker
    op: str
    access: tuple[str, ...]
    since: float


def hash_call(op: str, args: Mapping[str, Any]) -> str:
    """Return the hash of one exact call, whatever the order of its keys."""
    text = json.dumps([op, args], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def unknown(handle: str) -> RequestError:
    """Build the refusal of a handle that this asker has not, or not for that call."""
    return RequestError(
        "not_found", f"There is no approval {handle!r} of yours for that call; nothing was run."
    )


def settled(approval: Approval) -> RequestError:
    """Build the refusal of what comes too late for an approval."""
    why = f": {approval.reason}" if approval.reason else ""
    return RequestError(
        "approval_expired",
        f"The approval {approval.handle} of {approval.op} is {approval.state}{why}. "
        "Nothing was run.",
        detail={"state": approval.state},
    )


EXPIRES_S = 600.0
"""How long a call may wait for the person's word, and for being made after it."""


MOST_PENDING = 20
"""How many calls of one client may wait at once."""


KEPT = 100
"""How many of those that are settled are kept for the person to see."""


_OPEN = ("pending", "approved")


class Approvals:
    """Takes what is asked, the person's word on it, and the call that then is made; any thread.

    Each turn of an approval replaces it in the store, compared and set, so one turn happens once.
    """

    def __init__(
        self,
        store: Store = PERSONS,
        *,
        boot: str = BOOT.id,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._boot = boot
        self._now = now
        self._forget: dict[str, Undo] = {}

    def ask(
        self,
        op: str,
        args: Mapping[str, Any],
        *,
        asker: Asker,
        access: tuple[str, ...],
        expires_s: float = EXPIRES_S,
    ) -> Approval:
        """Let a call wait for the person's word; one that was granted before is approved at once.

        It is withdrawn when its client goes away. RequestError `approval_unavailable` where too
        many calls of that client wait.
        """
        self._check_room(asker)
        granted = self._granted(asker, op, access)
        now = self._now()
        approval = Approval(
            handle=os.urandom(4).hex(),
            asker=asker,
            op=op,
            args=args,
            hash=hash_call(op, args),
            access=access,
            boot=self._boot,
            asked_at=now,
            expires_at=now + min(expires_s, EXPIRES_S),
            state="approved" if granted else "pending",
            reason="approved for this session" if granted else "",
        )
        handle = approval.handle
        self._forget[handle] = OWN_CALLS.hold(
            asker.client or asker.principal, lambda: self._end(handle, "its client went away")
        )
        self._store.put(APPROVALS.name, handle, approval)
        return approval

    def answer(self, handle: str, word: Word, reason: str = "") -> Approval:
        """Return the person's word on a pending call; `session` grants that op to its asker.

        `deny` also takes back what was approved and not used, and a grant. RequestError `not_found`
        or, where it is settled, `approval_expired`.
        """
        approval = self.find(handle)
        if word == "deny":
            taken_back = self.withdraw_grant(handle)
            if approval.state not in _OPEN and taken_back:
                return approval
        elif approval.state != "pending":
            raise settled(approval)
        state = "denied" if word == "deny" else "approved"
        answered = self._turn(approval, state, reason) if approval.state in _OPEN else None
        if answered is None:
            raise settled(self.find(handle))
        if word == "session":
            self._grant(answered)
        return answered

    def take(self, handle: str, op: str, args: Mapping[str, Any], asker: Asker) -> frozenset[str]:
        """Use an approval for the call that it was given for; gives the access that it opens.

        Whatever differs, or comes twice, is refused: RequestError `not_found`, `approval_pending`,
        `approval_denied`, `approval_expired`.
        """
        approval = self.of(handle, asker)
        if approval.hash != hash_call(op, args) or approval.boot != self._boot:
            raise unknown(handle)
        if approval.state == "pending":
            raise RequestError("approval_pending", f"{approval.op} waits for the person's word.")
        if approval.state == "denied":
            raise RequestError("approval_denied", f"The person denied {approval.op}.")
        if approval.state != "approved" or self._turn(approval, "used") is None:
            raise settled(approval)
        return frozenset(approval.access)

    def find(self, handle: str) -> Approval:
        """Return an approval as it stands, for the person; RequestError `not_found`."""
        found: Approval | None = self._store.item(APPROVALS.name, handle)
        if found is None:
            known = list(self._store.keys(APPROVALS.name))
            raise RequestError(
                "not_found", f"There is no approval {handle!r}.{did_you_mean(handle, known)}"
            )
        if found.state in _OPEN and self._now() >= found.expires_at:
            expired = self._turn(found, "expired")
            return expired or self.find(handle)
        return found

    def of(self, handle: str, asker: Asker) -> Approval:
        """Return what this very asker asked; another's reads like none."""
        found: Approval | None = self._store.item(APPROVALS.name, handle)
        if found is None or found.asker != asker:
            raise unknown(handle)
        return self.find(handle)

    def wait(
        self,
        handle: str,
        asker: Asker,
        timeout_s: float,
        given_up: Callable[[], bool] = lambda: False,
    ) -> Approval:
        """Wait until the person has answered what was asked; gives it as it stands then.

        `given_up` is asked at each `wake` of the store.
        """
        until = time.monotonic() + timeout_s
        while True:
            seq = self._store.seq
            found = self.of(handle, asker)
            left_s = min(until - time.monotonic(), found.expires_at - self._now())
            if found.state != "pending" or left_s <= 0 or given_up():
                return self.of(handle, asker)
            self._store.wait(seq, left_s, given_up)

    def pending(self) -> list[Approval]:
        """Return what waits for the person's word, the longest first."""
        every = [self.find(handle) for handle in self._store.keys(APPROVALS.name)]
        return sorted((a for a in every if a.state == "pending"), key=lambda a: a.asked_at)

    def withdraw(self, handle: str, asker: Asker) -> None:
        """Take back what this very asker asked, used or not."""
        self._end(self.of(handle, asker).handle, "its caller gave it up")

    def grants(self) -> list[Grant]:
        """Return what needs no asking any more, the oldest first."""
        found: list[Grant] = list(self._store.snapshot(GRANTS.name).values())
        return sorted(found, key=lambda grant: grant.since)

    def withdraw_grant(self, handle: str) -> bool:
        """Let the calls of a grant be asked for again; False if there is none of that handle."""
        self._forget.pop(f"grant {handle}", _do_nothing)()
        return self._store.remove(GRANTS.name, handle)

    def _check_room(self, asker: Asker) -> None:
        waiting = sum(approval.asker == asker for approval in self.pending())
        if waiting >= MOST_PENDING:
            raise RequestError(
                "approval_unavailable",
                f"{waiting} calls of yours wait for the person's word already; nothing was run.",
            )

    def _granted(self, asker: Asker, op: str, access: tuple[str, ...]) -> bool:
        return any(
            grant.asker == asker and grant.op == op and set(access) <= set(grant.access)
            for grant in self.grants()
        )

    def _grant(self, approval: Approval) -> None:
        handle, asker = approval.handle, approval.asker
        grant = Grant(
            handle=handle,
            asker=asker,
            op=approval.op,
            access=approval.access,
            since=self._now(),
        )
        self._forget[f"grant {handle}"] = OWN_CALLS.hold(
            asker.client or asker.principal, lambda: _ignore(self.withdraw_grant(handle))
        )
        self._store.put(GRANTS.name, handle, grant)

    def _end(self, handle: str, why: str) -> None:
        found: Approval | None = self._store.item(APPROVALS.name, handle)
        if found is not None and found.state in _OPEN:
            self._turn(found, "withdrawn", why)

    def _turn(self, approval: Approval, state: str, reason: str = "") -> Approval | None:
        """Return an approval its next state; None if it has turned meanwhile."""
        turned = replace(approval, state=state, reason=reason or approval.reason)
        if not self._store.put(APPROVALS.name, approval.handle, turned, over=approval):
            return None
        if state not in _OPEN:
            self._forget.pop(approval.handle, _do_nothing)()
            self._trim()
        return turned

    def _trim(self) -> None:
        over = list(self._settled())
        for approval in sorted(over, key=lambda a: a.asked_at)[: max(0, len(over) - KEPT)]:
            self._store.remove(APPROVALS.name, approval.handle, only=approval)

    def _settled(self) -> Iterator[Approval]:
        found: Mapping[str, Approval] = self._store.snapshot(APPROVALS.name)
        return (approval for approval in found.values() if approval.state not in _OPEN)


def _do_nothing() -> None:
    return None


def _ignore(_outcome: object) -> None:
    return None


QUEUE = Approvals()
"""The approvals of this process."""
