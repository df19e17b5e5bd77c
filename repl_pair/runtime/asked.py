"""What is asked of the person, as data: who asks, one exact call, and what was granted."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.surface.primitives import Collection
from repl_pair.runtime.surface.store import PERSONS

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
    """Give the hash of one exact call, whatever the order of its keys."""
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
