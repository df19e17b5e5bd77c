"""What a cell of an embedded kernel has for itself while it runs."""

import builtins
import getpass
import sys
import threading
from collections.abc import Callable
from typing import Any

_GET_IPYTHON = "get_ipython"


class CellNames:
    """What a cell of the kernel has for itself while it runs: by thread, not for the process.

    Also `get_ipython`, which magics call, in its namespace. Cells of two channels may overlap.
    """

    def __init__(self, kernel: Any, is_own_thread: Callable[[], bool]) -> None:
        self._kernel, self._is_own_thread = kernel, is_own_thread
        self._lock, self._running = threading.RLock(), 0
        # ipykernel keeps in these attributes of its own what stood there before.
        rows = (
            (sys, "displayhook", "_save_displayhook", kernel.shell.displayhook),
            (builtins, "input", "_sys_raw_input", kernel.raw_input),
            (getpass, "getpass", "_save_getpass", kernel.getpass),
        )
        self._rows = [(*row, self._dispatcher(*row[2:])) for row in rows]

    def begin(self) -> None:
        """Begin a cell."""
        with self._lock:
            self._running += 1
            for owner, name, slot, _, dispatcher in self._rows:
                if getattr(owner, name) is not dispatcher:
                    setattr(self._kernel, slot, getattr(owner, name))
                    setattr(owner, name, dispatcher)
            shell = self._kernel.shell
            shell.user_ns.setdefault(_GET_IPYTHON, shell.get_ipython)

    def end(self) -> None:
        """End a cell; after the last one, all is as before, but for what other code has set."""
        with self._lock:
            self._running -= 1
            if self._running > 0:
                return
            for owner, name, slot, _, dispatcher in self._rows:
                if getattr(owner, name) is dispatcher:
                    setattr(owner, name, getattr(self._kernel, slot))
            shell = self._kernel.shell
            if shell.user_ns.get(_GET_IPYTHON) == shell.get_ipython:
                del shell.user_ns[_GET_IPYTHON]

    def _dispatcher(self, slot: str, own: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            fn = own if self._is_own_thread() else getattr(self._kernel, slot)
            return fn(*args, **named)

        return call
