"""What one run has put out so far, and which run it is that puts something out now."""

import os
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, cast

from repl_pair.records import Undo
from repl_pair.runtime.capture.bundles import bounded

if TYPE_CHECKING:
    from repl_pair.runtime.capture.pipes import Pipe


LIMIT_CHARS = 1_000_000
"""What one run may say in all its streams, logs and warnings; the rest is counted, not kept."""
LIMIT_OUTPUTS = 200
"""How many bundles of one run are kept."""
LIMIT_OUTPUT_CHARS = 20_000_000
"""What the bundles of one run may hold together."""

RUN, THREAD, POOL = "run", "thread", "pool"
"""Where code of a run stands: in the run, in a thread of it, in one that may later serve others."""
PLACE: ContextVar[str] = ContextVar("repl_pair_place", default=RUN)


_KEPT = ("stdout", "stderr", "unattributed", "logs")


class Captured:
    """What one run has put out so far; once `closed`, the rest of it is dropped."""

    def __init__(self) -> None:
        self.kept: dict[str, list[str]] = {name: [] for name in _KEPT}
        """What was said, by slot of the record; `warnings` only where they are recorded."""
        self.outputs: list[dict[str, Any]] = []
        self.closed = False
        self.forked = False
        """This is the copy in a child process, which nobody asks what it holds."""
        self.writers: dict[str, Any] = {}
        """What the run itself has set as `write` of a stream."""
        self.figures: Any = None
        """The run's own pyplot figures, once it has looked for any."""
        self.at_end: list[Undo] = []
        """What is to be undone; each may be called twice."""
        self._dropped: dict[str, int] = {}
        self._room = LIMIT_CHARS
        self._output_room = LIMIT_OUTPUT_CHARS
        self._shown: dict[str, list[int]] = {}
        self._clears_next = False
        self._pipe: Pipe | None = None
        self._is_ending = False
        # Reentrant: a signal handler or finalizer may print while its own thread is in here.
        self._lock = threading.RLock()

    def write(self, stream: str, text: str) -> int:
        """Take text for `stdout` or `stderr`, as a stream's write does."""
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  the caller is the person's code
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.forked:
            os.write(2 if stream == "stderr" else 1, text.encode(errors="replace"))
        else:
            self._keep(stream if PLACE.get() == RUN else "unattributed", text)
        return len(text)

    def write_unattributed(self, text: str) -> None:
        """Take text of which nobody knows what it came before or after."""
        self._keep("unattributed", text)

    def note(self, kind: str, line: str) -> None:
        """Take one entry of `logs` or `warnings`."""
        self._keep(kind, line)

    def show(
        self, data: Mapping[str, Any], *, display_id: str | None = None, update: bool = False
    ) -> None:
        """Take a MIME bundle; an update takes the place of the bundles of that id."""
        if self.forked:
            self.write("stdout", f"{data.get('text/plain', '')}\n")
            return
        bundle = bounded(data)
        with self._lock:
            if self.closed:
                return
            if self._clears_next:
                self.clear()
            places = self._shown.get(display_id or "", []) if update else []
            for place in places:
                self._replace(place, bundle)
            if not places:
                self._append(bundle, display_id)

    def clear(self, *, wait: bool = False) -> None:
        """Forget the bundles so far, as a front end does; with `wait`, once there is another."""
        with self._lock:
            self._clears_next = wait
            if not wait and not self.closed:
                self.outputs.clear()
                self._shown.clear()
                self._output_room = LIMIT_OUTPUT_CHARS

    def so_far(self, stream: str) -> str:
        """Return a stream's text as it was written; asking again joins only what came since."""
        pieces = self.kept[stream]
        with self._lock:
            # What a signal handler prints meanwhile comes behind these.
            there = len(pieces)
            pieces[:there] = ["".join(pieces[:there])]
            return pieces[0]

    def text(self, stream: str) -> str:
        """Return a stream's text, with a last line that says how much was dropped."""
        dropped = self._dropped.get(stream)
        note = f"\n[{dropped} more characters were not kept]" if dropped else ""
        return self.so_far(stream) + note

    def entries(self, kind: str) -> tuple[str, ...]:
        """Return the entries of `logs` or `warnings`, with a last one on what was dropped."""
        dropped = self._dropped.get(kind)
        note = [f"[{dropped} more characters were not kept]"] if dropped else []
        return (*self.kept.get(kind, ()), *note)

    def bundles(self) -> tuple[dict[str, Any], ...]:
        """Return the outputs, with a last one that says how many were dropped."""
        dropped = self._dropped.get("outputs")
        note = [{"text/plain": f"[{dropped} more outputs were not kept]"}] if dropped else []
        return (*self.outputs, *note)

    def child_end(self) -> int | None:
        """Return a new descriptor that leads to `unattributed`, for the caller to close.

        None once the run is over.
        """
        from repl_pair.runtime.capture.pipes import Pipe  # few components start processes

        with self._lock:
            if self._is_ending:
                return None
            if self._pipe is None:
                self._pipe = Pipe(self.write_unattributed)
            return os.dup(self._pipe.end)

    def become_child(self) -> None:
        """Report that this process is a forked child of the run's."""
        self.forked = True
        if self._pipe is not None:
            os.close(self._pipe.end)

    def close(self) -> None:
        """Wait a moment for what processes still say, then take nothing more."""
        with self._lock:
            self._is_ending = True
            pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.finish()
        with self._lock:
            self.closed = True

    def _keep(self, name: str, text: str) -> None:
        with self._lock:
            if self.closed:
                return
            kept = text[: self._room]
            self._room -= len(kept)
            if kept:
                self.kept[name].append(kept)
            if len(kept) < len(text):
                self._dropped[name] = self._dropped.get(name, 0) + len(text) - len(kept)

    def _append(self, bundle: dict[str, Any], display_id: str | None) -> None:
        size = _size(bundle)
        if len(self.outputs) >= LIMIT_OUTPUTS or size > self._output_room:
            self._dropped["outputs"] = self._dropped.get("outputs", 0) + 1
            return
        self._output_room -= size
        if display_id is not None:
            self._shown.setdefault(display_id, []).append(len(self.outputs))
        self.outputs.append(bundle)

    def _replace(self, place: int, bundle: dict[str, Any]) -> None:
        self._output_room += _size(self.outputs[place]) - _size(bundle)
        self.outputs[place] = bundle


CAPTURED: ContextVar[Captured | None] = ContextVar("repl_pair_captured", default=None)


def current_capture() -> Captured | None:
    """Return the run whose code this is, None for everybody else's."""
    captured = CAPTURED.get()
    if captured is not None and captured.closed and PLACE.get() == POOL:
        return None
    return captured


def wrap(owner: Any, name: str, dispatcher: Callable[[Any], Any]) -> Undo:
    """Let `dispatcher(own)` stand where `own` stands.

    The undo leaves alone what somebody else has put over it meanwhile.
    """
    own = getattr(owner, name)
    own_names = cast("Mapping[str, Any]", vars(owner))
    stood_there = name in own_names
    wrapped = update_wrapper(dispatcher(own), own)
    setattr(owner, name, wrapped)

    def undo() -> None:
        if own_names.get(name) is not wrapped:
            return
        if stood_there:
            setattr(owner, name, own)
        else:
            delattr(owner, name)

    return undo


def _size(bundle: Mapping[str, Any]) -> int:
    return sum(len(data) for data in bundle.values() if isinstance(data, str))
