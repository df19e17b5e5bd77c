"""Runs of many variants: one after another, so that a cell of the person's comes between two."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from repl_pair.records import record
from repl_pair.wire import Reply


class Run(Protocol):
    """Runs one variant; `done` takes the reply."""

    def __call__(self, variant_id: str, *, done: Callable[[Reply], None]) -> None:
        """Take a run and return at once."""
        ...


@record
class Progress:
    """How far a batch is; `fault` tells why it ended early, if it did."""

    done: int = 0
    total: int = 0
    fault: str = ""

    @property
    def is_over(self) -> bool:
        """Return whether nothing is under way."""
        return self.done == self.total


class Batch:
    """Runs what is added, each id once at a time; call it on the pump's thread only."""

    def __init__(self, run: Run, told: Callable[[], None]) -> None:
        self._run = run
        self._told = told
        self._waiting: deque[str] = deque()
        self._waits: set[str] = set()
        self._is_running = False
        self.progress = Progress()

    def add(self, variant_ids: Iterable[str]) -> None:
        """Have more variants run, behind those that wait; `told` is called at each step."""
        new = [id for id in dict.fromkeys(variant_ids) if id not in self._waits]
        before = Progress() if self.progress.is_over else self.progress
        self._waiting.extend(new)
        self._waits.update(new)
        self.progress = Progress(done=before.done, total=before.total + len(new))
        self._told()
        if not self._is_running:
            self._go_on()

    def stop(self, fault: str = "") -> None:
        """Run nothing of it any more; what runs now runs to its end."""
        if self.progress.is_over:
            return
        self._waiting.clear()
        self._waits.clear()
        done = self.progress.done
        self.progress = Progress(done=done, total=done + self._is_running, fault=fault)
        self._told()

    def _go_on(self) -> None:
        if not self._waiting:
            return
        variant_id = self._waiting.popleft()
        self._waits.discard(variant_id)
        self._is_running = True
        self._run(variant_id, done=self._done)

    def _done(self, reply: Reply) -> None:
        # What left meanwhile is not there to be run; anything else would fail the next one too.
        if not reply["ok"] and reply["error"]["code"] != "not_found":
            self.stop(reply["error"]["message"])
        self._is_running = False
        self.progress = replace(self.progress, done=self.progress.done + 1)
        self._told()
        self._go_on()
