"""What an assertion looks at: the run as it stands, and whether a secret stands where it looked."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from repl_pair.errors import nearest
from repl_pair.records import record
from repl_pair.runtime.reading.expand import declared_fields, leaves_of, short_secrets
from repl_pair.runtime.reading.fields import declares_secret
from repl_pair.runtime.reading.steps import PathMiss, follow, read_member
from repl_pair.runtime.registry.outcomes import Identity
from repl_pair.runtime.values.marks import is_secret_key, secret_type
from repl_pair.runtime.values.paths import Key, Place, Steps, format_path, meets, parse_path
from repl_pair.wire import REDACTED

Path = str | list[Any]
"""Dotted text such as `result.lines[0].sku`, or a list of keys, from one of the roots."""

Places = tuple[Place, ...]
"""Places from a root on."""


class _Nothing:
    """Stands where nothing is expected at a place that is looked at."""


NOTHING: Any = _Nothing()


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
    raised: BaseException | None = None
    """What the component, or a step, raised last."""
    render_ms: float = 0.0
    secrets: Places = ()
    """The places that are declared secret, from a root on."""
    identify: Callable[[], Identity] | None = None
    """Gives the snapshot identity of the run."""
    about: Callable[[], Mapping[str, Any]] | None = None
    """Gives what is kept of that identity beside a stored output."""
    looks: list[Read] | None = None
    """What was looked at so far; None where that is not wanted."""

    def at(self, path: Path, *, facing: Any = NOTHING) -> Any:
        """Return the value at a path; PathNotFound names what is near where there is none.

        `facing` is what is expected there, if the two are to be compared whole.
        """
        steps = parse_path(path)
        if steps[0] not in ROOTS:
            near = nearest(str(steps[0]), ROOTS)
            hint = f"; nearest: {near[0]}" if near else ""
            raise PathNotFound(f"paths start at {', '.join(ROOTS)}, not at {steps[0]!r}{hint}")
        declared: list[bool] = []
        try:
            value = self._walk(steps, declared)
        except PathMiss as miss:
            self.note(Read(steps=steps, value=NOTHING, facing=facing, declared=any(declared)))
            hint = f"; near: {', '.join(map(str, miss.near))}" if miss.near else ""
            place = miss.reached or steps[0]
            raise PathNotFound(f"{format_path(steps)}: no {miss.step!r} in {place}{hint}") from miss
        self.note(Read(steps=steps, value=value, facing=facing, declared=any(declared)))
        return value

    def declares(self, path: Path) -> bool:
        """Return whether a class on the way to a place declares its field as `Sensitive`."""
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
        """Return a field without a note: what is looked at below it is noted for itself."""
        return object.__getattribute__(self, name)

    def note(self, look: Read) -> None:
        """Note that a place is looked at, where that is wanted."""
        if self.looks is not None:
            self.looks.append(look)


_FIELDS = tuple(f.name for f in fields(RunView))
ROOTS = _FIELDS[: _FIELDS.index("logs") + 1]


BESIDE = ("outputs", "stderr", "played", "raised")
"""What assertions may look at without a path."""


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
    for name, value in {**vars(settled), "looks": looks}.items():
        object.__setattr__(watched, name, value)
    return watched


def secret_place(looks: Iterable[Read], secrets: Places) -> str:
    """Name a place looked at that is known as secret by its path, key or type; else nothing."""
    for look in looks:
        # A declared secret stands at or above the place, or a key of its path is a secret name.
        above = any(len(p) <= len(look.steps) and meets(p, look.steps) for p in secrets)
        is_secret = any(is_secret_key(str(step)) for step in look.steps)
        if look.declared or is_secret or above or secret_type(look.value):
            return format_path(look.steps)
    return ""


def places_within(looks: Iterable[Read], secrets: Places) -> list[Place]:
    """Return the declared places that are inside what was looked at, from there on."""
    return [
        place[len(look.steps) :]
        for look in looks
        for place in secrets
        if len(place) > len(look.steps) and meets(place, look.steps)
    ]


def places_repeating(slots: Mapping[str, Any], looks: Iterable[Read]) -> list[Place]:
    """Return the places in slots of an outcome that repeat a field declared as `Sensitive`.

    Known by the field's name, or by its text. What was looked at is itself no repetition.
    """
    looked = [look.value for look in looks]
    fields = [field for value in looked for field in declared_fields(value)]
    names = {name for name, _ in fields}
    texts = {text for _, text in fields if text}
    own = {slot: v for slot, v in slots.items() if fields and not any(v is one for one in looked)}
    return [
        place
        for place, leaf in leaves_of(own)
        if not names.isdisjoint(place[1:]) or any(text in str(leaf) for text in texts)
    ]


def without_secrets(
    texts: Mapping[str, str], looks: Iterable[Read], secrets: Places
) -> dict[str, str]:
    """Get texts without what was looked at and is secret, but too short to be known elsewhere."""
    left = {name: text for name, text in texts.items() if text}
    for look in looks if left else ():
        for secret in short_secrets(look.value, places_within([look], secrets)):
            left = {name: text.replace(secret, REDACTED) for name, text in left.items()}
    return left


_RECORDED = frozenset((*ROOTS, *BESIDE))
