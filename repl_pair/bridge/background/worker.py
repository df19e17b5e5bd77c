"""One worker: a kernel of this Python that runs given code, and ends with this process."""

import asyncio
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from repl_pair.bridge.background.output import Output
from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discovery import read_connection
from repl_pair.bridge.kernels.processes import WORKER, WORKER_BEGAN, WORKER_FILE
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.link.line import ConnectionLost, Line
from repl_pair.errors import KernelError, RequestError
from repl_pair.runtime.evaluation.compiled import NO_CODE, compile_source, describe_no_code
from repl_pair.wire import View, raise_for_error

START_S = 30.0
"""How long a kernel may take to be ready for its code."""
ALIVE_S = 0.2
"""How long a worker must live once its code runs."""
OUTPUT_S = 0.2
"""How long its last output may take to arrive; what it has started may hold the pipe."""
REPORT_S = 5.0
"""How long a worker whose code raised may take to write its traceback."""
END_S = 0.5
"""How long a worker may take to end by itself once it was asked to."""
POLL_S, WATCH_S = 0.01, 0.1
"""How often the end of a process is looked for while a caller waits for it, and while none does."""
REFUSAL_CHARS = 4_000
"""How much of the output a refusal shows."""
_MODULE = "repl_pair.bridge.background.worker_process"
_EXECUTE: Mapping[str, Any] = {
    "silent": False,
    "store_history": True,
    "user_expressions": {},
    "allow_stdin": False,
}


def check_code(code: str) -> None:
    """Refuse, as `bad_arguments`, what is no code, with its line and a caret below the place."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile_source(code, "<worker>")
    except NO_CODE as error:
        found = describe_no_code(error, code)
        lines = [f"{found['type']}: {found['message']}"]
        if "caret" in found:
            lines += [f"line {found['line']}:", found["code"], found["caret"]]
        raise RequestError(
            "bad_arguments",
            "\n".join(["The code does not compile; nothing was started.", *lines]),
            detail={"error": found},
            hints=[found["remedy"]] if "remedy" in found else (),
        ) from None


class Worker:
    """A kernel process, its output, and the link to it.

    Its connection file is in a folder that only this process knows, and that its command line
    names as no connection file: so nobody else takes it for one of the person's kernels.
    """

    def __init__(self, name: str, *, principal: str, inject: bool) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.name = name
        self.began = time.time()
        self.output = Output()
        self._folder = Path(tempfile.mkdtemp(prefix="repl_pair-"))
        self._process = _start(self._folder)
        self._drain: asyncio.BaseTransport | None = None
        self._watch: asyncio.Task[None] | None = None
        self.kernel = KernelInfo(
            id=str(uuid.uuid4()),
            name=name or WORKER,
            pid=self._process.pid,
            path=str(self._folder / WORKER_FILE),
            notebook=None,
            alive=True,
            began=self.began,
            front_end=WORKER,
        )
        self.link = KernelLink(self.kernel, principal=principal, inject=inject)

    @property
    def exit_code(self) -> int | None:
        """The status that the process ended with, negative for a signal; None while it lives.

        It is not reaped before `end`: till then no other group of processes gets its id.
        """
        try:
            ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except (AttributeError, ChildProcessError):  # macOS lacks it; or the process is reaped
            return self._process.poll()
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    async def run(self, code: str) -> None:
        """Attach to the kernel once it is ready, and run the code there.

        Returns when the code has run, or could have run, for `ALIVE_S`. RequestError
        `worker_failed` where the process ends before, as it does when the code raises.
        """
        loop, path = asyncio.get_running_loop(), self.kernel.path
        self._watch = loop.create_task(self._end_children())
        self._drain, _ = await loop.connect_read_pipe(lambda: self.output, self._process.stdout)
        try:
            async with asyncio.timeout(START_S):
                await self._wait_for_end(until=lambda: read_connection(path) is not None)
                if (connection := read_connection(path)) is None:
                    raise ConnectionLost
                with closing(Line(connection)) as line:
                    await line.features("shell")
                    raise_for_error(await self.link.request("ping", {}, view=View()))
                    self.output.clear()
                    line.send("execute_request", {**_EXECUTE, "code": code}, channel="shell")
                    await self._wait_for_end(until=(self._folder / WORKER_BEGAN).exists)
                    await self._wait_for_end(ALIVE_S)
        except (ConnectionLost, KernelError, TimeoutError) as error:
            raise await self._failure("its kernel did not get ready") from error
        if self.exit_code is not None or not os.path.exists(self.kernel.path):
            await self._wait_for_end(REPORT_S)
            why = f"its code raised, or ended the process, within {ALIVE_S * 1000:.0f} ms"
            raise await self._failure(why)

    async def _wait_for_end(
        self,
        most_s: float = math.inf,
        *,
        until: Callable[[], bool] = lambda: False,
        poll_s: float = POLL_S,
    ) -> None:
        """Wait until the process has ended or `until` holds, at most so long."""
        last = time.monotonic() + most_s
        while self.exit_code is None and not until() and time.monotonic() < last:
            await asyncio.sleep(poll_s)

    async def _end_children(self) -> None:
        """End what the process has started once it has ended, while nobody waits for that."""
        await self._wait_for_end(poll_s=WATCH_S)
        self._signal(signal.SIGKILL)

    async def _failure(self, why: str) -> RequestError:
        """Build the refusal of a worker that does not run, with the end of its output."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.output.ended.wait(), OUTPUT_S)
        log = self.output.tail(REFUSAL_CHARS)
        status = {} if self.exit_code is None else {"exit_code": self.exit_code}
        ended = f" with status {self.exit_code}" if status else ""
        return RequestError(
            "worker_failed",
            f"The worker ended{ended}: {why}.\n{log}".rstrip(),
            detail={**status, "log": log},
        )

    async def end(self) -> None:
        """End the process and what it has started, and its link; what is left of it goes too."""
        try:
            if self.exit_code is None:
                self._signal(signal.SIGTERM)
                await self._wait_for_end(END_S)
        finally:
            self._signal(signal.SIGKILL)
            self._process.wait()
            if self._drain is not None:
                self._drain.close()
            if self._process.stdin is not None:
                self._process.stdin.close()
            shutil.rmtree(self._folder, ignore_errors=True)
        await self.link.close()

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and what it has started, if it is not reaped."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def _start(folder: Path) -> "subprocess.Popen[bytes]":
    """Start the process; `cannot_run`, and no folder any more, where the system refuses that."""
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        message = f"The process of the worker was not started: {error.strerror}."
        raise RequestError("cannot_run", message) from error
