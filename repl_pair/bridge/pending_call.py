"""One call that waits for the person's approval, and is made once they gave it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from repl_pair.bridge.link.link import DEFAULT_TIMEOUT_S, GRACE_S, Link, OnProgress
from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.op_base.table import Preview
from repl_pair.wire import Args, Reply, View, error_reply

POLL_S = 20.0
"""How long one request to the kernel waits for the person's answer."""
AGAIN_S = 0.5
"""When a kernel that is paused or does not answer is asked again."""
_TEMPORARY = frozenset({"paused", "kernel_unresponsive", "deadline"})
"""Refusals after which the kernel may still give the person's answer."""
_LOST = "The kernel was left, lost or restarted before the person answered."


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest:
    """One exact call, which `make` makes.

    `access` are the gates that the person has to open, or the function that asks.

    With `names_access` the kernel asks for it as it is named: no kernel knows the op, or the op
    itself found out at the call what it takes. `preview` shows the person a call that no kernel
    knows.
    """

    link: Link
    op: str
    args: Args
    view: View
    access: str
    names_access: bool = False
    preview: Preview | None = None
    make: Callable[..., Coroutine[Any, Any, Reply]]


@dataclass(kw_only=True, eq=False)
class PendingCall:
    """A call that the person was asked for; `refusal` is why there is no answer for now.

    `made` is the call itself once it is approved. `answer` ends with the final reply: while the
    person pauses agents, the call is made again and again.
    """

    request: ApprovalRequest
    handle: str
    until: float
    decided: asyncio.Event = field(default_factory=asyncio.Event)
    refusal: Reply | None = None
    on_progress: OnProgress | None = None
    made: "asyncio.Task[Reply] | None" = None
    answer: "asyncio.Task[Reply]" = field(init=False)

    @property
    def left_s(self) -> float:
        """How long the person may still take."""
        return max(0.0, self.until - time.monotonic())

    def report(self, progress: Mapping[str, Any]) -> None:
        """Pass progress to the caller that waits now."""
        if self.on_progress is not None:
            self.on_progress(progress)

    def pending(self) -> RequestError:
        """Build the refusal while the person has not answered; it names how they do."""
        request = self.request
        return self._refusal(
            "approval_pending",
            f"{request.op} waits for the person's approval ({request.access}); nothing was run "
            "yet. They answer in the notebook's panel, or with "
            f"`repl-pair approve {self.handle} --kernel {request.link.kernel.id}`. It is run by "
            "itself, once, when they approve: read its answer, do not call it again.",
            {"expires_in_s": round(self.left_s)},
            next_steps=[next_step("read_approval", handle=self.handle)],
        )

    def denied(self, reason: str) -> RequestError:
        """Build the refusal of a call that the person denied, with their reason."""
        why = f": {reason}" if reason else ", without a reason."
        return self._refusal(
            "approval_denied",
            f"The person denied {self.request.op}{why} Nothing was run.",
            {"reason": reason} if reason else {},
            hints=["Ask the person what they would rather have."],
        )

    def expired(self, why: str) -> RequestError:
        """Build the refusal of a call that will not be made."""
        return self._refusal(
            "approval_expired",
            f"{self.request.op} was asked for and is not any more. {why} Nothing was run.",
            hints=["Make the call again if it is still meant: the person is asked anew."],
        )

    def _refusal(
        self, code: str, message: str, detail: Mapping[str, Any] = {}, **how: Any
    ) -> RequestError:
        return RequestError(code, message, detail={"handle": self.handle, **detail}, **how)


Make: TypeAlias = Callable[[], Awaitable[Reply]]
Record: TypeAlias = Callable[[PendingCall, Make], Coroutine[Any, Any, Reply]]
"""Makes an approved call, and may record it."""


async def only_make(_call: object, make: Make) -> Reply:
    """Make a call, and record nothing."""
    return await make()


async def answer_call(call: PendingCall, record: Record) -> Reply:
    """Make a call once it is approved, and again while agents are paused; return the reply."""
    try:
        while True:
            answer = await _await_approval(call)
            if not answer["ok"]:
                return answer
            make = partial(call.request.make, on_progress=call.report, approval=call.handle)
            call.made = asyncio.create_task(record(call, make))
            call.decided.set()
            reply = await call.made
            if reply["ok"] or reply["error"]["code"] != "paused":
                return reply
            call.decided.clear()
            call.made, call.refusal = None, reply
            await asyncio.sleep(AGAIN_S)
    finally:
        call.decided.set()


async def _await_approval(call: PendingCall) -> Reply:
    """Return an ok reply once the call is approved, or the refusal where it never will be."""
    link = call.request.link
    while link.is_attached and time.monotonic() < call.until + GRACE_S:
        left_s = min(POLL_S, max(call.left_s, AGAIN_S))
        answer = await link.request(
            "await_approval",
            {"handle": call.handle, "wait_s": left_s},
            view=call.request.view,
            timeout_s=left_s + DEFAULT_TIMEOUT_S,
            is_reported=False,
        )
        if not answer["ok"] and answer["error"]["code"] in _TEMPORARY:
            call.refusal = answer
            await asyncio.sleep(AGAIN_S)
            continue
        call.refusal = None
        state = answer["result"]["state"] if answer["ok"] else "lost"
        if state == "approved":
            return answer
        if state == "denied":
            return error_reply(call.denied(answer["result"].get("reason", "")))
        if state != "pending":
            why = f"It is {state}." if answer["ok"] else _LOST
            notes = answer.get("notifications", ())
            return error_reply(call.expired(why), notifications=notes)
    return error_reply(call.expired(_LOST))
