"""What a worker puts out, in whole lines and without the secrets that it holds then."""

import codecs
import fcntl
import os
import select
import sys
import threading
from typing import Any, TextIO, cast

from repl_pair.bridge.background.output import hide_secrets
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.secrets.learning import learn_before_output, learn_secrets

HELD_CHARS = 65_536
"""How much of an unfinished line is kept before it is scrubbed and written."""
WAITING_BYTES = 1 << 20
"""How much others may write while the thread that reads it has no turn."""


class ScrubbedLines:
    """Writes whole lines to a descriptor, without the secrets that this process holds then."""

    def __init__(self, descriptor: int) -> None:
        self._out = open(descriptor, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
        self._held = ""
        self._writing = threading.RLock()

    def write(self, text: str) -> int:
        """Take a text and write its complete lines."""
        with self._writing:
            self._held += text
            lines, end, rest = self._held.rpartition("\n")
            if end:
                self._held = rest
                self._write(lines + end)
            elif len(self._held) > HELD_CHARS:
                self.release()
        return len(text)

    def release(self) -> None:
        """Write what was kept of a line."""
        with self._writing:
            held, self._held = self._held, ""
            self._write(held)

    def _write(self, text: str) -> None:
        learn_secrets()
        learn_before_output(())
        self._out.write(hide_secrets(text))
        self._out.flush()


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
        self._outputs.drain()
        return super().write(text)

    def flush(self) -> None:
        """Do nothing: half a line could hold half a secret."""

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
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._draining = threading.RLock()
        self._end: int | None
        self._end, end = os.pipe()  # `end` stays open: without a writer the pipe would end
        if sys.platform == "linux":
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, WAITING_BYTES)
        os.register_at_fork(after_in_child=self._leave_reading)
        for standard in (sys.stdout, sys.stderr):
            os.dup2(end, standard.fileno())
        self._streams = [ScrubbedText(sys.stdout, self), ScrubbedText(sys.stderr, self)]
        sys.stdout, sys.stderr = (cast("TextIO", stream) for stream in self._streams)
        start_thread(self._read, name="output")

    def drain(self) -> None:
        """Write the complete lines of what has arrived on the descriptors."""
        if self._end is None:
            return
        with self._draining:
            while select.select([self._end], [], [], 0)[0]:
                self._lines.write(self._decoder.decode(os.read(self._end, HELD_CHARS)))

    def release(self) -> None:
        """Write all that has arrived, also what was kept of lines."""
        self.drain()
        for lines in (self._lines, *self._streams):
            lines.release()

    def _leave_reading(self) -> None:
        """Let the parent alone read, in a process that was forked; its locks may be held here."""
        if self._end is not None:
            os.close(self._end)
        self._end = None

    def _read(self) -> None:
        while self._end is not None:
            select.select([self._end], [], [])
            self.drain()
