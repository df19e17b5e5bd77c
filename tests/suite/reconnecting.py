"""Connects to a kernel again and again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import zmq
from jupyter_client.connect import ConnectionFileMixin

EVERY_S = 1.0


@contextmanager
def reconnecting(path: Path) -> Iterator[None]:
    """Connect to the shell of a kernel each second, in the block.

    The asyncio loop of xeus can miss a message until somebody connects. The links do that for
    their calls; the front end that runs the person's cells in the tests does not.
    """
    ended = threading.Event()

    def connect() -> None:
        with zmq.Context() as context:
            file = ConnectionFileMixin(context=context)
            file.load_connection_file(str(path))
            while not ended.wait(EVERY_S):
                with file.connect_shell():
                    ended.wait(EVERY_S / 4)

    thread = threading.Thread(target=connect, name="reconnecting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
