"""What assertions look at: one run as it stands now, and the paths into it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from repl_pair.errors import nearest
from repl_pair.records import record
from repl_pair.runtime.members import PathMiss, follow, read_member
from repl_pair.runtime.object_fields import declares_secret
from repl_pair.runtime.outcomes import Identity
from repl_pair.runtime.paths import Key, Steps, format_path, parse_path

Path = str | list[Any]
"""Dotted text such as `result.lines[0].sku`, or a list of keys, from one of the roots."""
Places = tuple[tuple[str, ...], ...]
"""Key paths from a root on; `*` is any key or index."""


class _Nothing:
    """Stands where nothing is expected at a place that is looked at."""


NOTHING: Any = _Nothing()


class Missed(LookupError):
    """A path that led nowhere; its text is a reason to give."""


@record
class Settled:
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
    raised: BaseException | None = None
    """What the component, or a step, raised last."""
    render_ms: float = 0.0
    secrets: Places = ()
    """The places that are declared secret, from a root on."""
    identify: Callable[[], Identity] | None = None
    """Gives the snapshot identity of the run."""
    about: Callable[[], Mapping[str, Any]] | None = None
    """Gives what is kept of that identity beside a stored output."""

    def at(self, path: Path, *, facing: Any = NOTHING) -> Any:
        """Give the value at a path; Missed tells what is near where there is none.

        `facing` is what is expected there, if the two are to be compared whole.
        """
        steps = parse_path(path)
        if steps[0] not in ROOTS:
            raise Missed(_unknown_root(steps[0]))
        declared: list[bool] = []
        try:
            value = self._walk(steps, declared)
        except PathMiss as miss:
            self.note(steps, NOTHING, facing, declared=any(declared))
            raise Missed(_missed(steps, miss)) from miss
        self.note(steps, value, facing, declared=any(declared))
        return value

    def declares(self, path: Path) -> bool:
        """Tell whether a class on the way to a place declares its field as `Sensitive`."""
        declared: list[bool] = []
        with suppress(PathMiss):
            self._walk(parse_path(path), declared)
        return any(declared)

    def _walk(self, steps: Steps, declared: list[bool]) -> Any:
        def step(holder: Any, key: Key) -> Any:
            declared.append(declares_secret(holder, key))
            return read_member(holder, key)

        return follow(self.root(str(steps[0])), steps[1:], step=step)

    def root(self, name: str) -> Any:
        """Give a field, which is no look at all of it."""
        return getattr(self, name)

    def note(
        self, steps: Steps, value: Any, facing: Any = NOTHING, *, declared: bool = False
    ) -> None:
        """Take note that a place is looked at; nobody wants to know it here."""


_FIELDS = tuple(f.name for f in fields(Settled))
ROOTS = _FIELDS[: _FIELDS.index("logs") + 1]


def _unknown_root(root: object) -> str:
    near = nearest(str(root), ROOTS)
    return f"paths start at {', '.join(ROOTS)}, not at {root!r}" + (
        f"; nearest: {near[0]}" if near else ""
    )


def _missed(steps: Steps, miss: PathMiss) -> str:
    near = f"; near: {', '.join(map(str, miss.near))}" if miss.near else ""
    return f"{format_path(steps)}: no {miss.step!r} in {miss.reached or steps[0]}{near}"
