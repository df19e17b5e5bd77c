"""A pipe whose text is handed on by a thread of its own, until nobody can write to it any more."""

import codecs
import os
import select
import threading
from collections.abc import Callable

GRACE_S = 0.2
"""How long the end of a run waits for what its processes still say."""
_CHUNK = 65_536


class Pipe:
    """A pipe; whoever inherits its `end` may write to it even after `finish`.

    The thread reads on until the last writer is gone, since a process that nobody reads is stopped
    or killed by its own output; what `take` does with late text is its own affair.
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
        """Hand on what is in the pipe now."""
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
        """Return up our own end; the thread ends with the last of the others'."""
        os.close(self.end)

    def finish(self) -> None:
        """Return up our own end, and wait a moment for the others'."""
        self.close()
        self._thread.join(GRACE_S)
        self.drain()

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        while not self._ended:
            poll.poll()
            self.drain()
