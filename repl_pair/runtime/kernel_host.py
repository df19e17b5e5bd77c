"""The host inside an ipykernel: handlers on its control channel, its main thread as main lane."""

import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.errors import KernelError
from repl_pair.runtime import capture
from repl_pair.runtime.cells import CELLS
from repl_pair.runtime.host import Host
from repl_pair.runtime.jobs import Job
from repl_pair.runtime.lanes import Perform, Turns, run_inline, run_on_thread
from repl_pair.runtime.origin import interactive_shell
from repl_pair.runtime.stopping import SignalSection
from repl_pair.wire import CANCEL, EVENT, PROGRESS, REPLY, REQUEST

NEEDED = ("control_handlers", "control_thread", "io_loop", "iopub_socket", "_main_asyncio_lock")
"""What this module leans on in a kernel; some of it is private and may be gone one day."""


class KernelLanes:
    """Inline is the control thread, main the main thread under the kernel's own lock."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._turns = Turns(kernel._main_asyncio_lock, SignalSection)

    def inline(self, job: Job, perform: Perform) -> None:
        """Run a job at once on the control thread."""
        run_inline(job, perform)

    def worker(self, job: Job, perform: Perform) -> None:
        """Run a job on a thread of its own."""
        run_on_thread(job, perform)

    def main(self, job: Job, perform: Perform) -> None:
        """Run a job on the main thread when no cell runs."""
        self._kernel.io_loop.add_callback(self._turns.queue, job, perform)

    def blocked_by(self) -> str | None:
        """Name the cell or call that holds the main thread."""
        cell, held = CELLS.current, self._turns.held_by()
        if cell is not None:
            return f"the person's cell {cell.label} has been running for {cell.seconds:.0f} s"
        if held is None and self._kernel._main_asyncio_lock.locked():
            return "a cell that began before repl_pair was attached is running"
        return held

    def close(self) -> None:
        """Let what waits for its turn go."""
        self._turns.close()


class KernelHost:
    """Speaks with the bridge for one kernel; `detach` takes everything out again."""

    def __init__(self, kernel: Any) -> None:
        missing = [name for name in NEEDED if getattr(kernel, name, None) is None]
        if missing:
            raise KernelError(
                "unsupported_kernel",
                f"This kernel ({type(kernel).__module__}) lacks {', '.join(missing)}; "
                "repl_pair needs ipykernel 7.4 or a later one that it knows.",
            )
        self._kernel = kernel
        self.host = Host(lanes=KernelLanes(kernel), publish=self._publish)
        self._unwatch = CELLS.watch(is_taken=lambda: kernel._main_asyncio_lock.locked())
        capture.put_in()
        kernel.control_handlers[REQUEST] = self._on_request
        kernel.control_handlers[CANCEL] = self._on_cancel

    def greeting(self) -> dict[str, Any]:
        """Say who answers here, where events come from, and which Python this is."""
        return self.host.greeting() | {
            "ident": self._kernel.ident,
            "control_tid": self._kernel.control_thread.native_id,
            "executable": sys.executable,
        }

    def detach(self) -> None:
        """Take the handlers, hooks and dispatchers out."""
        for name in (REQUEST, CANCEL):
            self._kernel.control_handlers.pop(name, None)
        self.host.close()
        self._unwatch()
        capture.take_out()

    def _on_request(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        def send(type_: str) -> Callable[[dict[str, Any]], None]:
            return lambda content: self._send(stream, type_, content, parent, ident)

        self.host.submit(parent["content"], send(REPLY), send(PROGRESS))

    def _on_cancel(self, stream: Any, ident: Any, parent: Mapping[str, Any]) -> None:
        self.host.cancel(str(parent["content"].get("call")))

    def _send(
        self, stream: Any, type_: str, content: dict[str, Any], parent: Any, ident: Any
    ) -> None:
        """Send on the control thread only: its socket is not safe from any other."""
        control = self._kernel.control_thread

        def send() -> None:
            self._kernel.session.send(stream, type_, content, parent, ident=ident)

        if threading.get_ident() == control.ident:
            send()
        else:
            control.io_loop.add_callback(send)

    def _publish(self, content: dict[str, Any]) -> None:
        kernel = self._kernel
        topic = f"kernel.{kernel.ident}.{EVENT}".encode()
        kernel.session.send(kernel.iopub_socket, EVENT, content, parent={}, ident=topic)


_hosts: list[KernelHost] = []


def attach() -> dict[str, Any]:
    """Install the handlers in this kernel, once, and give the greeting; else KernelError."""
    if not _hosts:
        shell = interactive_shell()
        kernel = getattr(shell, "kernel", None)
        if kernel is None:
            raise KernelError("unsupported_kernel", "This process has no Jupyter kernel.")
        _hosts.append(KernelHost(kernel))
    return _hosts[0].greeting()


def is_attached() -> bool:
    """Tell whether this kernel answers agents."""
    return bool(_hosts)


def detach() -> bool:
    """Take everything out of this kernel; False if nothing was in."""
    if not _hosts:
        return False
    _hosts.pop().detach()
    return True
