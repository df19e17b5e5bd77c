"""A batch of runs, one after another, and how far it has come."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from repl_pair.records import record
from repl_pair.wire import Reply

Modes = tuple[str, ...]
Run = Callable[[str, Modes, Callable[[Reply], None]], None]
"""Runs one variant with modes, and returns at once; the last argument takes the reply."""


@record
class Progress:
    """How many runs of a batch have ended; `fault` is why one did not begin, or it ended early."""

    done: int = 0
    total: int = 0
    fault: str = ""

    @property
    def is_over(self) -> bool:
        """Return whether nothing runs or waits."""
        return self.done == self.total


class Batch:
    """Runs variants one at a time, each once with the same modes; for the panel thread only.

    `notify` is called after each change of `progress`.
    """

    def __init__(self, run: Run, notify: Callable[[], None]) -> None:
        self._run = run
        self._notify = notify
        self._waiting: deque[tuple[str, Modes]] = deque()
        self._is_running = False
        self.progress = Progress()

    def add(self, variant_ids: Iterable[str], modes: Modes = ()) -> None:
        """Run more variants, behind those that wait; one that waits already is not added again."""
        waiting = set(self._waiting)
        new = [one for id in dict.fromkeys(variant_ids) if (one := (id, modes)) not in waiting]
        before = Progress() if self.progress.is_over else self.progress
        self._waiting.extend(new)
        self._set_progress(Progress(done=before.done, total=before.total + len(new)))
        if not self._is_running:
            self._run_next()

    def stop(self, fault: str = "") -> None:
        """Drop the variants that wait; the one that runs now runs to its end."""
        if not self.progress.is_over:
            self._waiting.clear()
            done = self.progress.done
            self._set_progress(Progress(done=done, total=done + self._is_running, fault=fault))

    def _run_next(self) -> None:
        if self._waiting:
            self._is_running = True
            self._run(*self._waiting.popleft(), self._end)

    def _end(self, reply: Reply) -> None:
        # What left, or cannot be planned, is passed over; any other error would come again.
        if not reply["ok"] and reply["error"]["code"] == "bad_arguments":
            fault = self.progress.fault or reply["error"]["message"]
            self.progress = replace(self.progress, fault=fault)
        elif not reply["ok"] and reply["error"]["code"] != "not_found":
            self.stop(reply["error"]["message"])
        self._is_running = False
        self._set_progress(replace(self.progress, done=self.progress.done + 1))
        self._run_next()

    def _set_progress(self, progress: Progress) -> None:
        self.progress = progress
        self._notify()
