"""The captured output of one run, and which run the current code belongs to."""

import os
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture.bundles import Output, bounded
from repl_pair.runtime.capture.descriptors import Pipe
from repl_pair.wire import cut_at_word

MAX_WARNED = 1_000
"""How many warnings of one run can be asserted by their classes."""
LIMIT_CHARS = 1_000_000
"""Characters kept of one run in all streams, logs and warnings; the rest is only counted."""
LIMIT_OUTPUTS = 200
"""Bundles kept of one run."""
LIMIT_OUTPUT_CHARS = 20_000_000
"""Characters in all bundles of one run."""

RUN, THREAD, POOL = "run", "thread", "pool"
"""Where code of a run executes: in the run, in its thread, in a thread that other code uses too."""
PLACE: ContextVar[str] = ContextVar("repl_pair_place", default=RUN)
_KEPT = ("stdout", "stderr", "unattributed", "logs")


Leaving = Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]
"""Takes a value and the MIME bundle that it was rendered as, and returns what of it may leave."""


ON_THREAD_ERROR: list[Callable[[BaseException], None]] = []
"""Called with what ends a thread of a run, before it is reported, on that thread."""


class Captured:
    """The output of one run so far; once it is `closed`, further output is dropped.

    `leaving` finds out what of a rendered value may leave.
    """

    def __init__(self, leaving: Leaving = lambda _value, bundle: bundle) -> None:
        self.kept: dict[str, list[str]] = {name: [] for name in _KEPT}
        """Output by slot of the record; `warnings` only where they are recorded."""
        self.warned: list[tuple[type[Warning], str]] = []
        """The class and text of each warning, where they are recorded."""
        self.outputs: list[dict[str, Any]] = []
        self.closed = False
        self.forked = False
        """Whether this is the copy in a forked child, which is not read."""
        self.writers: dict[str, Any] = {}
        """What the run itself has set as `write` of each stream."""
        self.figures: Any = None
        """The run's own pyplot figures, once it has used pyplot."""
        self.restored: dict[str, str] = {}
        """The settings that the run changed and that were restored, each by its name."""
        self.comms: list[Any] = []
        """The comms that the run has opened and not closed."""
        self.at_end: list[Undo] = []
        """What undoes the capture; each may be called twice."""
        self._leaving = leaving
        self._formatted: tuple[Any, Any] = (None, None)
        self._dropped: dict[str, int] = {}
        self._chars_left = LIMIT_CHARS
        self._output_chars_left = LIMIT_OUTPUT_CHARS
        self._shown: dict[str, list[int]] = {}
        self._clears_next = False
        self._pipe: Pipe | None = None
        self._is_ending = False
        # Reentrant: a signal handler or finalizer may print while its thread holds the lock.
        self._lock = threading.RLock()

    def write(self, stream: str, text: str) -> int:
        """Add text to `stdout` or `stderr`, as `write` of a stream does."""
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  the caller is the person's code
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.forked:
            os.write(2 if stream == "stderr" else 1, text.encode(errors="replace"))
        else:
            self.note(stream if PLACE.get() == RUN else "unattributed", text)
        return len(text)

    def note_formatted(self, data: Mapping[str, Any], value: Any) -> None:
        """Note which value a MIME bundle is of, until the next one is shown."""
        self._formatted = data, value

    def show(
        self, data: Mapping[str, Any], *, display_id: str | None = None, update: bool = False
    ) -> None:
        """Add a MIME bundle; an update replaces the bundles of that id."""
        if self.forked:
            self.write("stdout", f"{data.get('text/plain', '')}\n")
            return
        bundle = Output(bounded(data))
        (of, value), self._formatted = self._formatted, (None, None)
        bundle.leaving = bounded(self._leaving(value, bundle)) if of is data else bundle
        with self._lock:
            if self.closed:
                return
            if self._clears_next:
                self.clear()
            places = self._shown.get(display_id or "", []) if update else []
            for place in places:
                self._put(place, bundle)
            if places:
                return
            size = _size(bundle)
            if len(self.outputs) >= LIMIT_OUTPUTS or size > self._output_chars_left:
                self._drop_output()
                return
            self._output_chars_left -= size
            if display_id is not None:
                self._shown.setdefault(display_id, []).append(len(self.outputs))
            self.outputs.append(bundle)

    def replace(self, place: int, data: Mapping[str, Any], value: Any, models: str) -> None:
        """Put the bundle of a widget in the place of another."""
        bundle = Output(bounded(data))
        bundle.leaving = bounded(self._leaving(value, bundle))
        bundle.models = models
        with self._lock:
            if place < len(self.outputs):
                self._put(place, bundle)

    def _put(self, place: int, bundle: Output) -> None:
        """Put a bundle in the place of another; where it is too large, that one stays."""
        grown = _size(bundle) - _size(self.outputs[place])
        if grown > self._output_chars_left:
            self._drop_output()
            return
        self._output_chars_left -= grown
        self.outputs[place] = bundle

    def _drop_output(self) -> None:
        self._dropped["outputs"] = self._dropped.get("outputs", 0) + 1

    def clear(self, *, wait: bool = False) -> None:
        """Remove the bundles so far, as a front end does; with `wait`, when the next one comes."""
        with self._lock:
            self._clears_next = wait
            if not wait and not self.closed:
                self.outputs.clear()
                self._shown.clear()
                self._output_chars_left = LIMIT_OUTPUT_CHARS

    def so_far(self, stream: str) -> str:
        """Return a stream's text so far; a second call joins only what came since."""
        pieces = self.kept[stream]
        with self._lock:
            # A signal handler may print meanwhile: its text is added after these.
            there = len(pieces)
            pieces[:there] = ["".join(pieces[:there])]
            return pieces[0]

    def text(self, stream: str) -> str:
        """Return a stream's text, with a last line on how much was dropped."""
        return "\n".join([self.so_far(stream), *self._left_out(stream)])

    def entries(self, kind: str) -> tuple[str, ...]:
        """Return the entries of `logs` or `warnings`, with a last one on how much was dropped."""
        return (*self.kept.get(kind, ()), *self._left_out(kind))

    def bundles(self) -> tuple[dict[str, Any], ...]:
        """Return the outputs, with a last one on how many were dropped."""
        notes = self._left_out("outputs", what="outputs")
        return (*self.outputs, *({"text/plain": note} for note in notes))

    def _left_out(self, name: str, *, what: str = "characters") -> list[str]:
        dropped = self._dropped.get(name)
        return [f"[{dropped} more {what} were not kept]"] if dropped else []

    def child_end(self) -> int | None:
        """Return a descriptor to `unattributed`, which the caller closes; None after the run."""
        with self._lock:
            if self._is_ending:
                return None
            if self._pipe is None:
                self._pipe = Pipe(partial(self.note, "unattributed"))
            return os.dup(self._pipe.end)

    def become_child(self) -> None:
        """Report that this process is a forked child of the run's."""
        self.forked = True
        if self._pipe is not None:
            os.close(self._pipe.end)

    def close(self) -> None:
        """Wait up to 0.2 s for output of processes, then drop all further output."""
        with self._lock:
            self._is_ending = True
            pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.finish()
        with self._lock:
            self.closed = True

    def note_warning(self, category: type[Warning], message: str) -> None:
        """Add one entry to `warnings`."""
        self.note("warnings", f"{category.__name__}: {message}")
        if len(self.warned) < MAX_WARNED:
            self.warned.append((category, message))

    def note(self, name: str, text: str) -> None:
        """Add one entry to `logs` or `warnings`, or text of which no order is known."""
        with self._lock:
            if self.closed:
                return
            kept = cut_at_word(text, self._chars_left)
            self._chars_left = 0 if len(kept) < len(text) else self._chars_left - len(kept)
            if kept:
                self.kept[name].append(kept)
            if len(kept) < len(text):
                self._dropped[name] = self._dropped.get(name, 0) + len(text) - len(kept)


CAPTURED: ContextVar[Captured | None] = ContextVar("repl_pair_captured", default=None)


def current_capture() -> Captured | None:
    """Return the capture of the run that the current code belongs to, None outside runs."""
    captured = CAPTURED.get()
    if captured is not None and captured.closed and PLACE.get() == POOL:
        return None
    return captured


def _size(bundle: Mapping[str, Any]) -> int:
    return sum(len(data) for data in bundle.values() if isinstance(data, str))
