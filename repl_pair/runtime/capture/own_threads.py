"""Threads of repl_pair's own, which a debugger of the person neither lists nor stops."""

import threading
from collections.abc import Callable
from typing import Any


def start_thread(target: Callable[..., object], *args: Any, name: str) -> threading.Thread:
    """Start a daemon thread named `repl_pair NAME`; no breakpoint is reached in what it runs.

    pydevd stops every thread that lacks these marks when the person stands at a breakpoint, so
    that no deadline would be kept.
    """
    thread = threading.Thread(target=target, args=args, name=f"repl_pair {name}", daemon=True)
    vars(thread).update(pydev_do_not_trace=True, is_pydev_daemon_thread=True)
    thread.start()
    return thread
