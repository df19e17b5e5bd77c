"""Waits for the panel thread."""

import threading


def flush(thread, timeout_s=5.0):
    """Wait until all tasks and changes so far are handled; False when the time ran out."""
    done = threading.Event()
    thread.submit(thread._publish)
    thread.submit(done.set)
    return done.wait(timeout_s)
