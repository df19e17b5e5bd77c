"""Waits for the panel thread."""

import threading

from bounds import BOUND_S


def flush(thread, timeout_s=BOUND_S):
    """Wait until all tasks and changes so far are handled; False when the time ran out."""
    done = threading.Event()
    thread.submit(thread._publish)
    thread.submit(done.set)
    return done.wait(timeout_s)
