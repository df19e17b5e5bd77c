"""The link to a live ipykernel: attaches when needed, and knows which life of it answers."""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import psutil

from repl_pair.bridge import manifest
from repl_pair.bridge.attach import Attachment, attach
from repl_pair.bridge.discover import beats, read_connection
from repl_pair.bridge.line import Line, Lost
from repl_pair.bridge.link import PATIENCE_S, KernelInfo, OnEvent, OnProgress, Undo
from repl_pair.bridge.lost import (
    RESTARTED,
    gone,
    outcome_unknown,
    restarted,
    stopped,
    unresponsive,
)
from repl_pair.bridge.watch import Watch
from repl_pair.errors import KernelError
from repl_pair.wire import (
    CANCEL,
    REPLY,
    REQUEST,
    Reply,
    Request,
    View,
    error_reply,
    raise_for_error,
)

COMEBACK_S = 3.0
"""How long a read that lost its kernel waits for the next life of it."""


class KernelLink:
    """A link over Jupyter's control channel; see `Link`.

    No socket outlives the connection that it was made for, so nothing queued reaches a successor.
    A read that loses the kernel is asked once more of its next life; anything else answers
    `outcome_unknown`. After a restart the first call that is not a read is refused once.
    `reads` says of an op's name whether it may be asked twice.
    """

    def __init__(
        self, kernel: KernelInfo, *, reads: Callable[[str], bool] = manifest.reads
    ) -> None:
        self.kernel = kernel
        self._process = _process(kernel.pid)
        self._reads = reads
        self._line: Line | None = None
        self._attachment: Attachment | None = None
        self._attaching = asyncio.Lock()
        self._closed = False
        self._untold: set[str] = set()
        self._watch = Watch(self.attached)

    @property
    def boot(self) -> str | None:
        """The life of the kernel that was attached to last."""
        return self._attachment.boot if self._attachment else None

    async def request(
        self,
        op: str,
        args: Mapping[str, Any],
        *,
        view: View,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Reply:
        """Run one op and give its reply; see `Link.request`."""
        request = Request(op=op, args=args, call="", view=view)
        try:
            async with asyncio.timeout(timeout_s or PATIENCE_S):
                return await self._ask(request, on_progress)
        except TimeoutError:
            return error_reply(await self._silence(op), boot=self.boot)
        except KernelError as error:
            return error_reply(error, boot=self.boot)

    async def describe(self) -> Sequence[Mapping[str, Any]]:
        """Give the descriptors of the kernel's ops."""
        return raise_for_error(await self.request("describe", {}, view=View()))["ops"]

    def subscribe(self, fn: OnEvent) -> Undo:
        """Call `fn` with each event; give what ends that. See `Link.subscribe`."""
        return self._watch.add(fn)

    async def close(self) -> None:
        """Give the sockets back; pending requests are answered as lost. The kernel stays."""
        self._closed = True
        await self._watch.close()
        if self._line:
            self._line.close()

    async def attached(self) -> tuple[Line, Attachment]:
        """Give the living connection, made anew if there is none; `kernel_gone` and its like."""
        async with self._attaching:
            if self._line and self._attachment and not self._line.lost.is_set():
                return self._line, self._attachment
            self._line = line = Line(await self._connection())
            try:
                attachment = await attach(line, self.kernel)
            except BaseException:
                line.close()
                raise
            if self.boot not in (None, attachment.boot):
                self._untold = {"read", "run"}
            self._attachment = attachment
            self.kernel = replace(self.kernel, pid=attachment.pid, alive=True)
            self._process = _process(attachment.pid)
            return line, attachment

    async def _ask(self, request: Request, on_progress: OnProgress | None) -> Reply:
        reading = self._reads(request.op)
        for last in (False, True):
            try:
                line, attachment = await self.attached()
            except Lost:
                raise gone(self.kernel) from None
            if not reading:
                self._refuse_once()
            bound = replace(request, boot=attachment.boot, call=uuid.uuid4().hex)
            try:
                reply = await self._send(line, bound, on_progress)
            except Lost:
                if not reading:
                    raise outcome_unknown(self.kernel, request.op) from None
                await self._comeback()
                continue
            if not last and _was_restarted(reply):
                line.close()
                continue
            return self._with_news(reply)
        raise gone(self.kernel)

    async def _send(self, line: Line, request: Request, on_progress: OnProgress | None) -> Reply:
        try:
            return await line.ask(REQUEST, request.to_wire(), answer=REPLY, progress=on_progress)
        except asyncio.CancelledError:
            line.tell(CANCEL, {"call": request.call})
            raise

    async def _connection(self) -> Mapping[str, Any]:
        """Give the content of the connection file if that kernel's heart beats."""
        if self._closed:
            raise gone(self.kernel, "the link to it was closed")
        info = read_connection(self.kernel.path)
        if info is None:
            raise gone(self.kernel, "its connection file was removed")
        if not await asyncio.to_thread(beats, info):
            raise self._heartless()
        return info

    async def _comeback(self) -> None:
        """Wait for the next life of the kernel, not longer than its connection file exists."""
        loop = asyncio.get_running_loop()
        until = loop.time() + COMEBACK_S
        while loop.time() < until and not self._closed:
            info = read_connection(self.kernel.path)
            if info is None:
                raise gone(self.kernel, "its connection file was removed")
            if await asyncio.to_thread(beats, info):
                return
        why = "the link to it was closed" if self._closed else "it did not come back"
        raise gone(self.kernel, why)

    def _refuse_once(self) -> None:
        if "run" not in self._untold:
            return
        self._untold.discard("run")
        raise restarted()

    def _with_news(self, reply: Reply) -> Reply:
        if "read" not in self._untold:
            return reply
        self._untold.discard("read")
        return reply | {"notifications": [RESTARTED, *reply.get("notifications", [])]}

    async def _silence(self, op: str) -> KernelError:
        """Say why there was no answer in time."""
        info = read_connection(self.kernel.path)
        if info is None:
            return gone(self.kernel, "its connection file was removed")
        if await asyncio.to_thread(beats, info):
            return unresponsive(self.kernel, op, silent_s=self._silent_s())
        return self._heartless()

    def _heartless(self) -> KernelError:
        connected = self._line is not None and not self._line.lost.is_set()
        return stopped(self.kernel) if connected or _lives(self._process) else gone(self.kernel)

    def _silent_s(self) -> float | None:
        if self._line is None or self._line.lost.is_set():
            return None
        return asyncio.get_running_loop().time() - self._line.heard


def _was_restarted(reply: Reply) -> bool:
    return not reply["ok"] and reply["error"]["code"] == "kernel_restarted"


def _process(pid: int | None) -> psutil.Process | None:
    try:
        return None if pid is None else psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _lives(process: psutil.Process | None) -> bool:
    """Say whether this very process exists; another one with its pid does not count."""
    try:
        return (
            process is not None
            and process.is_running()
            and process.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.NoSuchProcess:
        return False
