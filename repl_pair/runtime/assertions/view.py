"""What an assertion looks at: the run as it stands, with a note of each look."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from repl_pair.errors import RequestError, nearest
from repl_pair.records import record, to_dict
from repl_pair.runtime.reading.comparing import compares_by_code
from repl_pair.runtime.reading.fields import declares_secret
from repl_pair.runtime.reading.steps import PathMiss, follow, read_member
from repl_pair.runtime.reading.stored_fields import read_field
from repl_pair.runtime.registry.outcomes import Identity
from repl_pair.runtime.secrets.known import open_names
from repl_pair.runtime.values.paths import Key, Place, Steps, format_path, parse_path

Path = str | list[Any]
"""Dotted text such as `result.lines[0].sku`, or a list of keys, from one of the roots."""

Places = tuple[Place, ...]
"""Places from a root on."""


NOTHING: Any = object()
"""Stands where nothing is expected at a place that is looked at."""


class PathNotFound(LookupError):
    """A path that led nowhere; its text is a reason to give."""


@record
class Read:
    """One place that was looked at, what it was compared with, and whether it is declared."""

    steps: Steps
    value: Any
    facing: Any = NOTHING
    declared: bool = False


@record
class RunView:
    """What assertions look at; its fields up to `logs` are the roots of paths."""

    args: Mapping[str, Any]
    result: Any = None
    last: Any = None
    state: Any = None
    effects: tuple[Any, ...] = ()
    events: tuple[Any, ...] = ()
    stdout: str = ""
    warnings: tuple[str, ...] | None = ()
    """None where warnings could not be recorded."""
    logs: tuple[str, ...] = ()
    outputs: tuple[Mapping[str, Any], ...] = ()
    stderr: str = ""
    played: tuple[Any, ...] = ()
    """The events since play began."""
    warned: tuple[tuple[type[Warning], str], ...] = ()
    """The classes and texts of the warnings."""
    raised: BaseException | None = None
    """What the component, or a step, raised last."""
    render_ms: float = 0.0
    secrets: Places = ()
    """The places that are declared secret, from a root on."""
    identify: Callable[[], Identity] | None = None
    """Gives the snapshot identity of the run."""
    about: Callable[[], Mapping[str, Any]] | None = None
    """Gives what is kept of that identity beside a stored output."""
    by_agent: bool = False
    """Whether an agent wrote the play: its paths step through what is stored, and run no code."""
    looks: list[Read] | None = None
    """What was looked at so far; None where that is not wanted."""

    def at(self, path: Path, *, facing: Any = NOTHING) -> Any:
        """Return the value at a path; PathNotFound names what is near where there is none.

        `facing` is what is expected there, if the two are to be compared whole. RequestError
        `cannot_run` where an agent would have code of the value's class answer its guesses.
        """
        steps = parse_path(path)
        if steps[0] not in ROOTS:
            near = nearest(str(steps[0]), ROOTS)
            hint = f"; nearest: {near[0]}" if near else ""
            raise PathNotFound(f"paths start at {', '.join(ROOTS)}, not at {steps[0]!r}{hint}")
        value: Any = NOTHING
        declared: list[bool] = []
        try:
            value = self._walk(steps, declared)
        except PathMiss as miss:
            miss.known = open_names(miss.known)
            hint = f"; near: {', '.join(map(str, miss.near))}" if miss.known else ""
            place = miss.reached or steps[0]
            raise PathNotFound(f"{format_path(steps)}: no {miss.step!r} in {place}{hint}") from miss
        finally:
            self.note(Read(steps=steps, value=value, facing=facing, declared=any(declared)))
        if self.root("by_agent") and (kind := compares_by_code(value)):
            where = format_path(steps)
            text = f"{where} holds a {kind}, which code of its class compares: name its fields."
            raise RequestError("cannot_run", text)
        return value

    def declares(self, path: Path) -> bool:
        """Return whether a class on the way to a place declares its field as `Sensitive`."""
        declared: list[bool] = []
        with suppress(PathMiss):
            self._walk(parse_path(path), declared)
        return any(declared)

    def _walk(self, steps: Steps, declared: list[bool]) -> Any:
        read = read_field if self.root("by_agent") else read_member

        def step(holder: Any, key: Key) -> Any:
            declared.append(declares_secret(holder, key))
            return read(holder, key)

        root = str(steps[0])
        value = self.root(root)
        if root == "effects":  # an assertion gets records of this package, a path their fields
            value = [to_dict(effect) for effect in value]
        return follow(value, steps[1:], step=step)

    def root(self, name: str) -> Any:
        """Return a field without a note: what is looked at below it is noted for itself."""
        return object.__getattribute__(self, name)

    def note(self, look: Read) -> None:
        """Note that a place is looked at, where that is wanted."""
        if self.looks is not None:
            self.looks.append(look)


_FIELDS = tuple(f.name for f in fields(RunView))
ROOTS = _FIELDS[: _FIELDS.index("logs") + 1]


class RecordedView(RunView):
    """What is settled, as one assertion looks at it: each look is noted."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name in _RECORDED:
            self.note(Read(steps=(name,), value=value))
        elif name == "__dict__":
            for root in _RECORDED:
                self.note(Read(steps=(root,), value=value[root]))
        return value


def watch(settled: RunView, looks: list[Read]) -> RunView:
    """Return what is settled so that each look at it comes into `looks`."""
    watched = object.__new__(RecordedView)
    object.__getattribute__(watched, "__dict__").update(vars(settled), looks=looks)
    return watched


_RECORDED = frozenset((*ROOTS, "outputs", "stderr", "played", "raised"))
"""What assertions may look at: the roots of paths, and what has no path."""
