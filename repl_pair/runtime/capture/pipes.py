"""A pipe with a thread that passes its text on, until the last writer has closed it."""

import codecs
import os
import select
import threading
from collections.abc import Callable

GRACE_S = 0.2
"""How long the end of a run waits for output of its processes."""
_CHUNK = 65_536


class Pipe:
    """A pipe; a process that inherits its `end` may write to it even after `finish`.

    The thread reads until the last writer is gone, since a full or closed pipe blocks or kills a
    process that writes. `take` gets late text too.
    """

    def __init__(self, take: Callable[[str], object]) -> None:
        self.take = take
        self._out, self.end = os.pipe()
        os.set_blocking(self._out, False)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._lock = threading.RLock()
        self._ended = False
        self._thread = threading.Thread(target=self._serve, name="repl_pair pipe", daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Pass on what is in the pipe now."""
        with self._lock:
            if self._ended:
                return
            try:
                data = os.read(self._out, _CHUNK)
            except BlockingIOError:
                return
            self.take(self._decode(data, final=not data))
            if not data:
                self._ended = True
                os.close(self._out)

    def close(self) -> None:
        """Close this process's own end; the thread ends when all other ends are closed."""
        os.close(self.end)

    def finish(self) -> None:
        """Close this process's own end, and wait up to 0.2 s for the others."""
        self.close()
        self._thread.join(GRACE_S)
        self.drain()

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        while not self._ended:
            poll.poll()
            self.drain()
