"""A temporary ipykernel, and cells run in it as a front end runs them."""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

from repl_pair.bridge.kernels.discovery import heartbeat_answers, read_connection
from repl_pair.errors import KernelError

BOUND_S = 30.0
POLL_S = 0.01
FORGET = "--HistoryManager.enabled=False"


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """What a front end got from one cell; `error` is the exception's name and text."""

    count: int
    printed: str = ""
    value: str | None = None
    error: str | None = None


class ScratchKernel:
    """A kernel process with one front end; one cell at a time."""

    def __init__(self, process: "subprocess.Popen[bytes]", path: Path, log: Path) -> None:
        self.process = process
        self.pid = process.pid
        self.path = path
        self.log = log
        self._client: Any = BlockingKernelClient()

    def run(self, code: str, *, cell: str | None = None) -> CellResult:
        """Run a cell to its end; `cell` is the id that a notebook would give it."""
        return self.finish(self.start(code, cell=cell))

    def start(self, code: str, *, cell: str | None = None) -> str:
        """Start a cell and return the id of its message, which `finish` takes, once it runs."""
        content = {"code": code, "silent": False, "store_history": True, "stop_on_error": True}
        content |= {"user_expressions": {}, "allow_stdin": False}
        message = self._client.session.msg("execute_request", content)
        message["metadata"] = {"cellId": cell} if cell else {}
        self._client.shell_channel.send(message)
        begun = message["header"]["msg_id"]
        while self._next_of(begun, self._client.get_iopub_msg)["msg_type"] != "execute_input":
            continue
        return begun

    def finish(self, begun: str) -> CellResult:
        """Wait for the end of a cell that was started."""
        printed: list[str] = []
        value: str | None = None
        content: Mapping[str, Any] = {}
        while content.get("execution_state") != "idle":
            message = self._next_of(begun, self._client.get_iopub_msg)
            content = message["content"]
            if message["msg_type"] == "stream":
                printed.append(content["text"])
            elif message["msg_type"] == "execute_result":
                value = content["data"]["text/plain"]
        reply = self._next_of(begun, self._client.get_shell_msg)["content"]
        failed = reply["status"] != "ok"
        error = f"{reply.get('ename')}: {reply.get('evalue')}" if failed else None
        count = reply.get("execution_count", 0)
        return CellResult(count=count, printed="".join(printed), value=value, error=error)

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self.process.kill()
        self.process.wait()

    def open(self) -> None:
        """Wait until the kernel answers; `kernel_gone` if it ends before."""
        until = time.monotonic() + BOUND_S
        while (info := read_connection(self.path)) is None or not heartbeat_answers(
            info, timeout_s=0.2
        ):
            if self.process.poll() is not None or time.monotonic() > until:
                log = self.log.read_text(encoding="utf-8", errors="replace")
                raise KernelError("kernel_gone", f"The kernel did not start: {log[-2000:]}")
            time.sleep(POLL_S)
        # As programs do that start kernels by a spec.
        content = json.loads(self.path.read_text(encoding="utf-8"))
        self.path.write_text(json.dumps(content | {"kernel_name": "python3"}), encoding="utf-8")
        self._client.load_connection_file(str(self.path))
        self._client.start_channels(hb=False, stdin=False)
        self._client.wait_for_ready(timeout=BOUND_S)

    def close(self) -> None:
        """End the process and the front end."""
        if self._client.channels_running:
            self._client.stop_channels()
        self.kill()

    def _next_of(self, begun: str, get: Callable[..., Mapping[str, Any]]) -> Mapping[str, Any]:
        while True:
            message = get(timeout=BOUND_S)
            parent: Mapping[str, Any] = message["parent_header"] or {}
            if parent.get("msg_id") == begun:
                return message


@contextmanager
def scratch_kernel(
    *, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> Generator[ScratchKernel]:
    """Start a kernel of this Python and end it after the block.

    `environment` goes over this process's own. Its runtime dir, `path.parent`, is private unless
    `environment` names one by JUPYTER_RUNTIME_DIR; it has no start-up files and no history.
    """
    with tempfile.TemporaryDirectory(prefix="repl_pair-") as private:
        env = {"JUPYTER_RUNTIME_DIR": private, "IPYTHONDIR": str(Path(private, "ipython"))}
        env["JPY_PARENT_PID"] = str(os.getpid())  # it ends where this process is killed
        env = {**os.environ, **env, **(environment or {})}
        path = Path(env["JUPYTER_RUNTIME_DIR"], f"kernel-{uuid.uuid4()}.json")
        log = Path(private, "kernel.log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "ipykernel_launcher", "-f", str(path), FORGET],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=cwd or path.parent,
                env=env,
                start_new_session=True,
            )
        kernel = ScratchKernel(process, path, log)
        try:
            kernel.open()
            yield kernel
        finally:
            kernel.close()
