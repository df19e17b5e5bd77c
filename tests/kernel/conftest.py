"""Real kernels in a runtime dir of their own, and a person who works in them at a front end."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import zmq
from bounds import BOUND_S
from jupyter_client.connect import ConnectionFileMixin
from ports import write_connection_file
from waiting import wait_until

ROOT = Path(__file__).parents[2]


WAITS = """
import pathlib, time
until = time.monotonic() + 90
while not pathlib.Path({gate!r}).exists():
    assert time.monotonic() < until
    time.sleep(0.01)
"""
"""Runs until the gate exists."""
HOLD = """
import ctypes, os, sys
sys.stdout.flush()
os.mkfifo({gate!r})
ctypes.PyDLL(None).open({gate!r}.encode(), os.O_RDONLY)
"""
"""Holds the interpreter lock from when the gate exists until `gate.write_bytes(b"")`.

The flush lets ipykernel's thread send that the cell began, which needs the lock.
"""


@dataclass
class Kernel:
    """A kernel process that we started."""

    path: Path
    module: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, *self.arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.path.parent,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )
        wait_until(self._beats, what=f"a heartbeat of {self.path}\n{self.log.read_text()}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Start anew on the same ports, as front ends do."""
        self.kill()
        self.start()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def id(self) -> str:
        return self.path.stem.removeprefix("kernel-")

    def _beats(self) -> bool:
        from repl_pair.bridge.kernels.discovery import heartbeat_answers, read_connection

        assert self.process.poll() is None, self.log.read_text()
        info = read_connection(self.path)
        return info is not None and heartbeat_answers(info, timeout_s=0.2)


@dataclass
class Ran:
    """What a front end sees of one cell."""

    reply: dict[str, Any]
    messages: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """What the cell printed."""
        return "".join(m["content"]["text"] for m in self.messages if m["msg_type"] == "stream")

    @property
    def value(self) -> str | None:
        """The text of the cell's last expression."""
        for m in self.messages:
            if m["msg_type"] == "execute_result":
                return m["content"]["data"]["text/plain"]
        return None


class Person:
    """A person at a front end of one kernel; one cell at a time, from any one thread at a time."""

    def __init__(self, kernel: Kernel) -> None:
        self._context = zmq.Context()
        self._file = ConnectionFileMixin(context=self._context)
        self._file.load_connection_file(str(kernel.path))
        self._session = self._file.session
        self._iopub = self._file.connect_iopub()
        self._shell = self._file.connect_shell(identity=self._session.bsession)
        self._stdin = self._file.connect_stdin(identity=self._session.bsession)
        wait_until(self._hears, what="the iopub subscription of the person")

    def run(self, code: str) -> Ran:
        """Run a cell to its end; its error fails the test."""
        ran = self.finish(self.start(code))
        assert ran.reply["status"] == "ok", ran.reply
        return ran

    def start(self, code: str) -> str:
        """Run a cell and return once the kernel has begun it."""
        content = {"code": code, "silent": False, "allow_stdin": True, "stop_on_error": True}
        cell = self.send("execute_request", content)
        while self._next(self._iopub, cell)["msg_type"] != "execute_input":
            pass
        return cell

    def send(self, kind: str, content: Mapping[str, Any]) -> str:
        """Send a message on shell; gives its id."""
        return self._session.send(self._shell, kind, dict(content))["header"]["msg_id"]

    def finish(self, cell: str) -> Ran:
        """Wait for the end of a cell that was started."""
        messages = [self._next(self._iopub, cell)]
        while messages[-1]["content"].get("execution_state") != "idle":
            messages.append(self._next(self._iopub, cell))
        return Ran(reply=self._next(self._shell, cell)["content"], messages=messages)

    def answer_input(self, text: str) -> None:
        """Answer the `input()` of the running cell."""
        assert self._stdin.poll(BOUND_S * 1000), "the cell asked nothing"
        _, asked = self._session.recv(self._stdin)
        assert asked["msg_type"] == "input_request"
        self._session.send(self._stdin, "input_reply", {"value": text}, parent=asked)

    def close(self) -> None:
        self._context.destroy(linger=0)

    def _next(self, socket: Any, cell: str) -> dict[str, Any]:
        """Return the next message that belongs to a cell."""
        while True:
            assert socket.poll(BOUND_S * 1000), f"nothing more of the cell within {BOUND_S:g} s"
            _, message = self._session.recv(socket)
            if (message["parent_header"] or {}).get("msg_id") == cell:
                return message

    def _hears(self) -> bool:
        self.send("kernel_info_request", {})
        return bool(self._iopub.poll(200))


def _python_path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def runtime_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Jupyter's runtime dir of this test, and of all that it starts."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return folder


@pytest.fixture
def start_kernel(runtime_dir: Path, tmp_path: Path) -> Iterator[Callable[..., Kernel]]:
    """Starts kernels: `start_kernel(*arguments, path=, module=, spelling=, notebook=, env=)`."""
    started: list[Kernel] = []

    def start(
        *arguments: str,
        path: Path | None = None,
        module: str = "ipykernel_launcher",
        spelling: str = "-f {}",
        notebook: str | None = None,
        env: dict[str, str] | None = None,
    ) -> Kernel:
        path = path or runtime_dir / f"kernel-{uuid.uuid4()}.json"
        named = spelling.format(path).split(" ")
        kernel = Kernel(
            path=path,
            module=module,
            arguments=(*named, "--HistoryManager.enabled=False", *arguments),
            environment={"PYTHONPATH": _python_path(ROOT), **(env or {})},
            log=tmp_path / f"kernel-{len(started)}.log",
        )
        started.append(kernel)
        kernel.start()
        if notebook is not None:
            info = json.loads(kernel.path.read_text())
            kernel.path.write_text(json.dumps(info | {"jupyter_session": notebook}))
        return kernel

    yield start
    for kernel in started:
        kernel.kill()


@pytest.fixture
def write_connection(runtime_dir: Path) -> Iterator[Callable[[str], Path]]:
    """Writes a connection file for a kernel to come: `write_connection("curve" | "ipc")`."""
    sockets = tempfile.TemporaryDirectory(prefix="rp")

    def write(transport: str) -> Path:
        options: dict[str, Any] = {"transport": "ipc", "ip": f"{sockets.name}/s"}
        if transport == "curve":
            public, secret = zmq.curve_keypair()
            options = {"curve_publickey": public, "curve_secretkey": secret}
        path, _ = write_connection_file(
            str(runtime_dir / f"kernel-{transport}.json"), key=b"key", **options
        )
        return Path(path)

    yield write
    sockets.cleanup()


@pytest.fixture
def kernel(start_kernel: Callable[..., Kernel]) -> Kernel:
    """One running kernel."""
    return start_kernel()


@pytest.fixture
def sit_at() -> Iterator[Callable[[Kernel], Person]]:
    """Seats a person at a kernel: `sit_at(kernel)`."""
    seated: list[Person] = []

    def sit(kernel: Kernel) -> Person:
        seated.append(Person(kernel))
        return seated[-1]

    yield sit
    for person in seated:
        person.close()


@pytest.fixture
def person(kernel: Kernel, sit_at: Callable[[Kernel], Person]) -> Person:
    """The person at the one running kernel."""
    return sit_at(kernel)


@pytest.fixture
async def link(kernel: Kernel) -> AsyncIterator[Any]:
    """A link to the one running kernel."""
    from repl_pair.bridge.kernels.discovery import find_kernel
    from repl_pair.bridge.link.kernel_link import KernelLink

    link = KernelLink(find_kernel(kernel.path))
    yield link
    await link.close()
