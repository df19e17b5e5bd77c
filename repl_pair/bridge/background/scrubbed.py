"""What a worker puts out, in whole lines and without the secrets that it holds then."""

import codecs
import os
import select
import sys
import threading
import time
from contextlib import suppress
from typing import Any, TextIO, cast

from repl_pair.bridge.background.output import hide_secrets
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import learn_before_output, learn_secrets

if sys.platform == "linux":
    import fcntl

HELD_CHARS = 65_536
"""How much of an unfinished line is kept before what is older of it is written."""
WAITING_BYTES = 1 << 20
"""How much others may write while the thread that reads it has no turn."""
ORDER_S, END_S = 0.05, 1.0
"""How long a print, and the end of the process, wait until what others wrote before is written."""
POLL_S = 0.001


class ScrubbedLines:
    """Writes whole lines to a descriptor, without the secrets that this process holds then.

    Learning secrets may free objects of the person's, whose finalizers may print or wait for
    another thread that does: no lock is held meanwhile.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._held = ""
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Take a text and write its complete lines; of a long one all but its last characters."""
        with self._lock:
            held = self._held + text
            end = held.rfind("\n") + 1
            self._held = held[end:]
        if end:
            self._write(_scrub(held[:end]))
        if len(self._held) > HELD_CHARS:
            self._write_beginning()
        return len(text)

    def release(self) -> None:
        """Write what was kept of a line."""
        if held := self._take_held():
            self._write(_scrub(held))

    def _write_beginning(self) -> None:
        """Write a line up to where a secret may stand that is not all there."""
        held = _scrub(self._take_held())
        kept = NEEDLES.reach()
        with self._lock:
            self._held = held[-kept:] + self._held
        self._write(held[:-kept])

    def _take_held(self) -> str:
        with self._lock:
            held, self._held = self._held, ""
        return held

    def _write(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        while data:
            data = data[os.write(self.descriptor, data) :]


def _scrub(text: str) -> str:
    learn_secrets()
    learn_before_output(())
    return hide_secrets(text)


class ScrubbedText(ScrubbedLines):
    """A text stream of Python whose lines are written when `write` returns.

    What is written to its `buffer` or its `fileno` goes to the descriptor of `inner`.
    """

    def __init__(self, inner: TextIO, outputs: "ScrubbedOutputs") -> None:
        super().__init__(outputs.descriptor)
        self._inner = inner
        self._outputs = outputs

    def write(self, text: str) -> int:
        """Take a text and write its complete lines, after what others wrote before it."""
        self.flush()
        self._outputs.wait(ORDER_S)
        return super().write(text)

    def flush(self) -> None:
        """Pass on what bypassed this stream; half a line of its own could hold half a secret."""
        with suppress(ValueError):  # it was closed
            self._inner.flush()

    def leave_outputs(self) -> None:
        """Write to the descriptor of `inner` from now on."""
        self.descriptor = self._inner.fileno()
        self._lock = threading.RLock()  # a thread of the parent's may hold the other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class ScrubbedOutputs:
    """stdout and stderr of this process, also for what bypasses Python's streams.

    Descriptors 1 and 2 are a pipe whose lines a thread scrubs and writes to `descriptor`, which is
    what stdout was before. What is in the pipe when the process is killed is lost: nobody else
    knows the secrets of this one.
    """

    def __init__(self) -> None:
        self.descriptor = os.dup(sys.stdout.fileno())
        self._lines = ScrubbedLines(self.descriptor)
        self._is_writing = False
        self._reader: int | None = None
        self._end: int | None
        self._end, end = os.pipe()  # `end` stays open: without a writer the pipe would end
        if sys.platform == "linux":
            with suppress(OSError):  # a user may have so much in pipes, and no more
                fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, WAITING_BYTES)
        os.register_at_fork(after_in_child=self._leave)
        for standard in (sys.stdout, sys.stderr):
            os.dup2(end, standard.fileno())
        self._streams = [ScrubbedText(sys.stdout, self), ScrubbedText(sys.stderr, self)]
        sys.stdout, sys.stderr = (cast("TextIO", stream) for stream in self._streams)
        self._reader = start_thread(self._read, name="output").ident

    def wait(self, most_s: float) -> None:
        """Wait until what has arrived on the descriptors is written, at most so long."""
        until = time.monotonic() + most_s
        while self._has_arrived() and time.monotonic() < until:
            time.sleep(POLL_S)

    def release(self) -> None:
        """Write all that has arrived, also what was kept of lines."""
        for stream in self._streams:
            stream.flush()
        self.wait(END_S)
        for lines in (self._lines, *self._streams):
            lines.release()

    def _has_arrived(self) -> bool:
        if self._end is None or threading.get_ident() == self._reader:
            return False
        return self._is_writing or bool(select.select([self._end], [], [], 0)[0])

    def _leave(self) -> None:
        """Let the parent alone read and write, in a process that was forked.

        It may close every descriptor that it does not know, and open others of the same number.
        """
        if self._end is not None:
            os.close(self._end)
        self._end = None
        for stream in self._streams:
            stream.leave_outputs()

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while self._end is not None:
            select.select([self._end], [], [])
            self._is_writing = True
            data = os.read(self._end, WAITING_BYTES)
            try:
                self._lines.write(decoder.decode(data))
            except Exception as error:  # noqa: BLE001  nobody else reads: writers would wait forever
                why = f"{type(error).__name__} while secrets were looked for in them"
                os.write(self.descriptor, f"[{len(data)} bytes left out: {why}]\n".encode())
            self._is_writing = False
