"""Calls that need the person's approval: kept here, made once approved, and read later."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from repl_pair.bridge.link.link import DEFAULT_TIMEOUT_S, GRACE_S, Link, OnProgress
from repl_pair.errors import KernelError, RequestError, next_step
from repl_pair.runtime.op_base.table import Preview
from repl_pair.wire import Args, Reply, View, error_reply

ASK_S = 20.0
"""How long a call waits for the person before it answers `approval_pending`."""
EXPIRES_S = 600.0
"""How long the person may take to answer."""
POLL_S = 20.0
"""How long one request to the kernel waits for the person's answer."""
AGAIN_S = 0.5
"""When a kernel that is paused or does not answer is asked again."""
KEPT = 100
"""How many replies are kept to be read."""
_TEMPORARY = frozenset({"paused", "kernel_unresponsive", "deadline"})
"""Refusals after which the kernel may still give the person's answer."""
_LOST = "The kernel was left, lost or restarted before the person answered."


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest:
    """One exact call, which `make` makes.

    `access` are the gates that the person has to open, or the function of theirs that asks.

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
class _PendingCall:
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


class ApprovalCalls:
    """Asks the person to approve calls, and makes each approved call once.

    `wait_s` is how long a call waits for them, `expires_s` how long they may take.
    """

    def __init__(self, *, wait_s: float | None = None, expires_s: float | None = None) -> None:
        self._wait_s = ASK_S if wait_s is None else wait_s
        self._expires_s = EXPIRES_S if expires_s is None else expires_s
        self._calls: dict[str, _PendingCall] = {}
        self._withdrawals: set[asyncio.Task[None]] = set()

    async def call(
        self,
        request: ApprovalRequest,
        on_progress: OnProgress | None = None,
        *,
        wait_s: float | None = None,
    ) -> Reply:
        """Ask the person for a call; return its reply, or `approval_pending` after `wait_s`.

        None waits as long as calls do here. `kernel_gone` where the kernel ended before. Cancelling
        withdraws the request.
        """
        args = {"op": request.op, "args": dict(request.args), "expires_s": self._expires_s}
        args |= {"access": request.access.split(", ")} if request.names_access else {}
        args |= {"preview": request.preview} if request.preview else {}
        asking = asyncio.create_task(request.link.request("ask_approval", args, view=request.view))
        call = None
        try:
            # The kernel may have recorded the question when its caller goes: it is awaited.
            asked = await asyncio.shield(asking)
            if not asked["ok"] and asked["error"]["code"] == "outcome_unknown":
                raise KernelError(
                    "kernel_gone",
                    f"The kernel ended before the person could be asked for {request.op}; nothing "
                    "was run.",
                    next_steps=[next_step("kernel_status")],
                )
            if not asked["ok"]:
                return asked
            call = self._keep(request, asked["result"])
            return await self._wait(call, self._wait_s if wait_s is None else wait_s, on_progress)
        except asyncio.CancelledError:
            if call is not None:
                self._calls.pop(call.handle, None)
                call.answer.cancel()
            task = asyncio.create_task(_withdraw(request, asking))
            self._withdrawals.add(task)
            task.add_done_callback(self._withdrawals.discard)
            raise

    async def read(
        self, handle: str, wait_s: float, on_progress: OnProgress | None = None
    ) -> tuple[Reply, Link]:
        """Return the reply of a call, or `approval_pending`, with its link; `not_found`."""
        call = self._calls.get(handle)
        if call is None:
            raise RequestError(
                "not_found",
                f"No call of yours waits under {handle!r}; nothing was run.",
                hints=["Make the call again: the person is asked anew."],
            )
        reply = await self._wait(call, wait_s, on_progress)
        return reply, call.request.link

    async def close(self) -> None:
        """Cancel every call; none of them is made any more."""
        answers = (call.answer for call in self._calls.values())
        tasks: list[asyncio.Task[Any]] = [*answers, *self._withdrawals]
        self._calls.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep(self, request: ApprovalRequest, asked: Mapping[str, Any]) -> _PendingCall:
        ended = [handle for handle, call in self._calls.items() if call.answer.done()]
        for handle in ended[: max(0, len(ended) - KEPT + 1)]:
            del self._calls[handle]
        until = time.monotonic() + asked["expires_in_s"]
        call = _PendingCall(request=request, handle=asked["handle"], until=until)
        call.answer = asyncio.create_task(_answer(call))
        self._calls[call.handle] = call
        return call

    async def _wait(
        self, call: _PendingCall, wait_s: float, on_progress: OnProgress | None
    ) -> Reply:
        call.on_progress = on_progress
        if not call.decided.is_set():
            call.report({"message": "waiting for the person's approval", "elapsed_s": 0.0})
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await call.decided.wait()
            if call.decided.is_set():
                return await asyncio.shield(call.made or call.answer)
            return call.refusal or error_reply(call.pending())
        finally:
            if call.on_progress is on_progress:  # whose caller no longer takes any
                call.on_progress = None


async def _withdraw(request: ApprovalRequest, asking: "asyncio.Task[Reply]") -> None:
    asked = await asking
    if asked["ok"]:
        args = {"handle": asked["result"]["handle"]}
        await request.link.request("withdraw_approval", args, view=request.view, is_reported=False)


async def _answer(call: _PendingCall) -> Reply:
    try:
        while True:
            answer = await _await_approval(call)
            if not answer["ok"]:
                return answer
            made = call.request.make(on_progress=call.report, approval=call.handle)
            call.made = asyncio.create_task(made)
            call.decided.set()
            reply = await call.made
            if reply["ok"] or reply["error"]["code"] != "paused":
                return reply
            call.decided.clear()
            call.made, call.refusal = None, reply
            await asyncio.sleep(AGAIN_S)
    finally:
        call.decided.set()


async def _await_approval(call: _PendingCall) -> Reply:
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
