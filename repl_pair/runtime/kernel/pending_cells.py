"""The person's cells that wait for the main thread: each shows which agent's run holds it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from repl_pair.records import Undo, mutable
from repl_pair.wire import monotonic

NOTICE_S = 0.5
"""How long a cell waits before it shows what it waits for."""


@mutable
class _Cell:
    """A request to execute that the kernel has received and not begun."""

    parts: list[Any]
    header: Mapping[str, Any]
    since: float = field(default_factory=monotonic)
    shown: bool = False


class PendingCells:
    """Shows in a waiting cell's output what holds the main thread, until the cell begins.

    `held_by` describes the agent's call that does, None where there is none. Of the cells that one
    front end has sent, only the next one shows it. What it shows is cleared when the cell begins.
    """

    def __init__(self, kernel: Any, held_by: Callable[[], str | None]) -> None:
        self._kernel = kernel
        self._held_by = held_by
        self._cells: dict[str, _Cell] = {}
        self._lock = threading.Lock()

    def track(self) -> Undo:
        """Read the requests that arrive, until the undo; nothing where no thread receives them."""
        channel, stream = self._kernel.shell_channel_thread, self._kernel.shell_stream
        if channel is None or getattr(stream, "_recv_callback", None) is None:
            return lambda: None
        channel_loop, self._output_loop = channel.io_loop, self._kernel.iopub_thread.io_loop
        receivers: list[Any] = []

        def see(frames: list[Any]) -> Any:
            self._note(frames)
            return receivers[0](frames)

        def install() -> None:
            receivers.append(stream._recv_callback)
            stream.on_recv(see, copy=False)

        def restore() -> None:
            # If other code wrapped this function meanwhile, the wrapper stays.
            if stream._recv_callback is see:
                stream.on_recv(receivers[0], copy=False)
            for id in list(self._cells):
                self.begin(id)

        # Both on the thread of the stream, so that those of two hosts are in order.
        channel_loop.add_callback(install)
        return lambda: channel_loop.add_callback(restore)

    def begin(self, id: str) -> None:
        """Forget a cell that begins, and clear what it shows."""
        with self._lock:
            cell = self._cells.pop(id, None)
            if cell is not None and cell.shown:
                self._send("clear_output", {"wait": False}, cell)

    def look(self) -> None:
        """Look again which cells wait, after a call has taken the main thread."""
        # The thread of the outputs has a socket to send with; any other would open one that stays.
        if self._cells:
            self._output_loop.add_callback(self._show)

    def _note(self, frames: list[Any]) -> None:
        """Remember a request to execute; called on the thread that receives it."""
        session = self._kernel.session
        try:
            parts = session.feed_identities(frames, copy=False)[1]
            if b"execute_request" not in parts[1].bytes:
                return
            header = session.unpack(parts[1].bytes)
            self._cells[header["msg_id"]] = _Cell(parts=parts, header=header)
        except Exception:  # noqa: BLE001  the kernel itself reports what is no message
            return
        self.look()

    def _show(self) -> None:
        text, shown_to = self._held_by(), set[str]()
        if text is None:
            return
        with self._lock:
            for cell in list(self._cells.values()):
                due_s = cell.since + NOTICE_S - monotonic()
                if due_s > 0:
                    self._output_loop.call_later(due_s, self._show)
                    return
                front_end = str(cell.header.get("session"))
                if front_end in shown_to or not self._has_output(cell):
                    continue
                shown_to.add(front_end)
                if not cell.shown:
                    cell.shown = True
                    content = {"data": {"text/plain": text}, "metadata": {}}
                    self._send("display_data", content, cell)

    def _has_output(self, cell: _Cell) -> bool:
        """Return whether a request is a cell of the main thread's, and truly of a front end."""
        session, header = self._kernel.session, cell.header
        try:
            signed = session.deserialize(cell.parts, content=False, copy=False)
            is_silent = session.unpack(signed["content"]).get("silent")
        except Exception:  # noqa: BLE001  the kernel itself reports what is no message
            return False
        is_cell = header.get("msg_type") == "execute_request" and not header.get("subshell_id")
        return is_cell and not is_silent

    def _send(self, kind: str, content: Mapping[str, Any], cell: _Cell) -> None:
        kernel = self._kernel
        topic, parent = kernel._topic(kind), {"header": cell.header}
        kernel.session.send(kernel.iopub_socket, kind, content, parent=parent, ident=topic)
