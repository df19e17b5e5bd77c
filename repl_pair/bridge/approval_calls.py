"""Calls that need the person's approval: asked for, kept here, and read later."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from repl_pair.bridge.link.link import Link, OnProgress
from repl_pair.bridge.pending_call import (
    ApprovalRequest,
    PendingCall,
    Record,
    answer_call,
    only_make,
)
from repl_pair.errors import KernelError, RequestError, next_step
from repl_pair.wire import Reply, error_reply

ASK_S = 20.0
"""How long a call waits for the person before it answers `approval_pending`."""
KEPT = 100
"""How many replies are kept to be read."""


class ApprovalCalls:
    """Asks the person to approve calls, and makes each approved call once.

    `wait_s` is how long a call waits for them, `expires_s` how long they may take: by
    default as long as the kernel keeps a question. `record` makes each approved call.
    """

    def __init__(self, *, wait_s: float | None = None, expires_s: float | None = None) -> None:
        self._wait_s = ASK_S if wait_s is None else wait_s
        self._own = {} if expires_s is None else {"expires_s": expires_s}
        self.record: Record = only_make
        self._calls: dict[str, PendingCall] = {}
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
        args = {"op": request.op, "args": dict(request.args), **self._own}
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
                    "The connection to the kernel ended before the person could be asked for "
                    f"{request.op}; nothing was run.",
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
        return await self._wait(call, wait_s, on_progress), call.request.link

    async def close(self) -> None:
        """Cancel every call; none of them is made any more."""
        answers = (call.answer for call in self._calls.values())
        tasks: list[asyncio.Task[Any]] = [*answers, *self._withdrawals]
        self._calls.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep(self, request: ApprovalRequest, asked: Mapping[str, Any]) -> PendingCall:
        ended = [handle for handle, call in self._calls.items() if call.answer.done()]
        for handle in ended[: max(0, len(ended) - KEPT + 1)]:
            del self._calls[handle]
        until = time.monotonic() + asked["expires_in_s"]
        call = PendingCall(request=request, handle=asked["handle"], until=until)
        call.answer = asyncio.create_task(answer_call(call, self.record))
        self._calls[call.handle] = call
        return call

    async def _wait(
        self, call: PendingCall, wait_s: float, on_progress: OnProgress | None
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
