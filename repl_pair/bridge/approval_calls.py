"""Calls that wait for the person's word: held here, made once they are approved, and read later."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from repl_pair.bridge.approval_replies import (
    LOST,
    ApprovalRequest,
    denied,
    expired,
    pending,
    question_lost,
)
from repl_pair.bridge.link.link import DEFAULT_TIMEOUT_S, GRACE_S, Link, OnProgress
from repl_pair.errors import RequestError
from repl_pair.wire import Reply

ASK_S = 20.0
"""How long a call waits for the person's word before its caller is told to read on."""
EXPIRES_S = 600.0
"""How long the person may take."""
MOST_WAIT_S = 50.0
POLL_S = 20.0
"""How long the kernel is asked at a time whether the person has answered."""
AGAIN_S = 0.5
"""How soon a kernel that takes nothing up now is asked again."""
KEPT = 100
"""How many answers are kept to be read."""
_LATER = frozenset({"paused", "kernel_unresponsive", "deadline"})
"""Refusals behind which the kernel may still say what the person said."""


@dataclass(kw_only=True, eq=False)
class _Held:
    """A call that was asked for; `trouble` is what keeps it from being answered now.

    `made` is the call itself once it is approved, `answer` what it all comes to: a pause puts the
    call off.
    """

    asked: ApprovalRequest
    handle: str
    until: float
    decided: asyncio.Event = field(default_factory=asyncio.Event)
    trouble: Reply | None = None
    hear: OnProgress | None = None
    made: "asyncio.Task[Reply] | None" = None
    answer: "asyncio.Task[Reply]" = field(init=False)

    @property
    def left_s(self) -> float:
        """Return how long the person may still take."""
        return max(0.0, self.until - time.monotonic())

    def tell(self, told: Mapping[str, Any]) -> None:
        """Pass progress on to who waits now."""
        if self.hear is not None:
            self.hear(told)


class ApprovalCalls:
    """Asks the person, and makes each call that they approve, once.

    `wait_s` is what a call waits for them, `expires_s` what they may take.
    """

    def __init__(self, *, wait_s: float = ASK_S, expires_s: float = EXPIRES_S) -> None:
        self._wait_s = wait_s
        self._expires_s = expires_s
        self._held: dict[str, _Held] = {}
        self._loose: set[asyncio.Task[Reply]] = set()

    async def call(self, asked: ApprovalRequest, on_progress: OnProgress | None = None) -> Reply:
        """Ask for a call; gives its answer, or `approval_pending` behind the wait.

        Cancelling takes the question back.
        """
        told = await asked.link.request(
            "ask_approval",
            {"op": asked.op, "args": dict(asked.args), "expires_s": self._expires_s},
            view=asked.view,
        )
        if not told["ok"]:
            return question_lost(told, asked)
        held = self._hold(asked, told["result"])
        try:
            return await self._wait(held, self._wait_s, on_progress)
        except asyncio.CancelledError:
            self._give_up(held)
            raise

    async def read(
        self, handle: str, wait_s: float, on_progress: OnProgress | None = None
    ) -> tuple[Reply, Link]:
        """Return the answer of a call that was asked for here, or what is known, with its link."""
        held = self._held.get(handle)
        if held is None:
            raise RequestError(
                "not_found",
                f"No call of yours waits under {handle!r}; nothing was run.",
                next_steps=("the call itself again: the person is asked anew",),
            )
        reply = await self._wait(held, min(max(wait_s, 0.0), MOST_WAIT_S), on_progress)
        return reply, held.asked.link

    async def close(self) -> None:
        """Let go of every call; none of them is made any more."""
        tasks = [held.answer for held in self._held.values()] + list(self._loose)
        self._held.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _hold(self, asked: ApprovalRequest, said: Mapping[str, Any]) -> _Held:
        ended = [handle for handle, held in self._held.items() if held.answer.done()]
        for handle in ended[: max(0, len(ended) - KEPT + 1)]:
            del self._held[handle]
        until = time.monotonic() + said["expires_in_s"]
        held = _Held(asked=asked, handle=said["handle"], until=until)
        held.answer = asyncio.create_task(_answer(held))
        self._held[held.handle] = held
        return held

    async def _wait(self, held: _Held, wait_s: float, on_progress: OnProgress | None) -> Reply:
        held.hear = on_progress
        if not held.decided.is_set():
            held.tell({"message": "waiting for the person's approval", "elapsed_s": 0.0})
        try:
            async with asyncio.timeout(wait_s):
                await held.decided.wait()
        except TimeoutError:
            return held.trouble or pending(held.asked, held.handle, held.left_s)
        return await asyncio.shield(held.made or held.answer)

    def _give_up(self, held: _Held) -> None:
        self._held.pop(held.handle, None)
        held.answer.cancel()
        link, view = held.asked.link, held.asked.view
        args = {"handle": held.handle}
        task = asyncio.create_task(link.request("withdraw_approval", args, view=view))
        self._loose.add(task)
        task.add_done_callback(self._loose.discard)


async def _answer(held: _Held) -> Reply:
    """Wait for the person's word on a call, and make it if they say so."""
    try:
        while True:
            told = await _await_word(held)
            if not told["ok"]:
                return told
            held.made = asyncio.create_task(_make(held))
            held.decided.set()
            reply = await held.made
            if reply["ok"] or reply["error"]["code"] != "paused":
                return reply
            held.decided.clear()
            held.made, held.trouble = None, reply
            await asyncio.sleep(AGAIN_S)
    finally:
        held.decided.set()


async def _await_word(held: _Held) -> Reply:
    """Return an ok reply once the call is approved, and the refusal where it never will be."""
    link = held.asked.link
    while link.is_attached and time.monotonic() < held.until + GRACE_S:
        left_s = min(POLL_S, max(held.left_s, AGAIN_S))
        told = await link.request(
            "await_approval",
            {"handle": held.handle, "wait_s": left_s},
            view=held.asked.view,
            timeout_s=left_s + DEFAULT_TIMEOUT_S,
        )
        if not told["ok"] and told["error"]["code"] in _LATER:
            held.trouble = told
            await asyncio.sleep(AGAIN_S)
            continue
        held.trouble = None
        if not told["ok"]:
            return expired(held.asked, held.handle, LOST, told)
        state = told["result"]["state"]
        if state == "approved":
            return told
        if state == "denied":
            return denied(held.asked, held.handle, told["result"].get("reason", ""))
        if state != "pending":
            return expired(held.asked, held.handle, f"It is {state}.", told)
    return expired(held.asked, held.handle, LOST, {})


async def _make(held: _Held) -> Reply:
    asked = held.asked
    return await asked.link.request(
        asked.op,
        asked.args,
        view=asked.view,
        timeout_s=asked.timeout_s,
        on_progress=held.tell,
        approval=held.handle,
    )
