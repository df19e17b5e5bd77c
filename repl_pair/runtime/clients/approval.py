"""An approval: one exact call of a client, and what the person decided about it."""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.wire import Request, View

Answer = Literal["once", "session", "deny"]


@record
class Asker:
    """Who asks: a principal and its client id, None where that is not known."""

    principal: str
    client: str | None = None


@record
class Approval:
    """One exact call that needs approval.

    `state` is pending, approved, denied, expired, used or withdrawn. `hash` covers op and args,
    `access` is what the call needs beyond what its view opens. Times are epoch seconds.
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
    preview: Mapping[str, Any] | None = None
    """What shows it to the person, where no op of this process does."""

    def as_request(self) -> Request:
        """Return the call that was asked for, as its asker would have made it."""
        return Request(
            op=self.op,
            args=self.args,
            call=self.handle,
            view=View(principal=self.asker.principal),
            client=self.asker.client,
            approval=self.handle,
        )

    def covers(self, asker: Asker, op: str, access: Iterable[str]) -> bool:
        """Return whether it covers a call of the op too, where it was given for all of them."""
        return self.asker == asker and self.op == op and set(access) <= set(self.access)


def hash_call(op: str, args: Mapping[str, Any]) -> str:
    """Return the hash of one exact call, independent of the order of keys."""
    text = json.dumps([op, args], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def approval_required(op: str, closed: Iterable[str]) -> RequestError:
    """Return the refusal of a call that only the person's approval opens."""
    access = sorted(closed)
    return RequestError(
        "approval_required",
        f"{op} needs the person's approval ({', '.join(access)}); nothing was run.",
        detail={"access": access},
    )


def unknown_handle(handle: str) -> RequestError:
    """Return the refusal of a handle that is not of that call and asker."""
    return RequestError(
        "not_found", f"There is no approval {handle!r} of yours for that call; nothing was run."
    )


def closed_refusal(approval: Approval) -> RequestError:
    """Return the refusal of an approval that is no longer open."""
    why = f": {approval.reason}" if approval.reason else ""
    return RequestError(
        "approval_expired",
        f"The approval {approval.handle} of {approval.op} is {approval.state}{why}. "
        "Nothing was run.",
        detail={"state": approval.state},
    )
