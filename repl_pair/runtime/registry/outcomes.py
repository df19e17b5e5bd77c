"""Small records of a run: verdicts, outcomes, steps, effects, phases, identities."""

from collections.abc import Mapping
from typing import Any

from repl_pair.records import record, to_dict
from repl_pair.runtime.registry.model import KINDS, Entry

Dependency = tuple[str, str, int]
"""A dependency of a result: a member of the store, a key in it, its revision then."""


@record
class Verdict:
    """The verdict of one assertion."""

    passed: bool
    expected: Any = None
    actual: Any = None
    reason: str = ""
    compared: bool = True
    """False where there was nothing to compare with: the run is `cannot_run`, for `reason`."""

    @classmethod
    def of(cls, reason: str | None, *, expected: Any = None, actual: Any = None) -> "Verdict":
        """Return a verdict that fails for a reason, and passes without one."""
        return cls(passed=not reason, expected=expected, actual=actual, reason=reason or "")


@record
class Outcome:
    """One assertion of a play, with its verdict."""

    assertion: str
    payload: list[Any]
    passed: bool
    expected: Any = None
    actual: Any = None
    reason: str = ""
    compared: bool = True
    play: str = ""
    """The name of the play, where it has one."""
    step: int = 0
    """The place of the assertion in its play, counted from 0."""


@record
class StepRecord:
    """One step of a play that was run; `state` is the projected state after it, bounded."""

    play: str
    step: int
    line: list[Any]
    state: Any = None
    error: str = ""


@record
class EffectRecord:
    """One effect that a run emitted; `stubbed`: a decorator answered it."""

    id: str
    payload: Mapping[str, Any]
    stubbed: bool
    response: Any = None


@record
class PhaseRecord:
    """One phase that was run; `error` is set where it failed."""

    phase: str
    elapsed_ms: float
    error: Mapping[str, Any] | None = None


HASHES = ("content_hash", "code_hash")


@record
class Identity:
    """The snapshot identity: which settled state this is, and which code made it."""

    variant_id: str
    active_modes: tuple[str, ...]
    substrate: str
    content_hash: str
    code_hash: str


def dependency_on(kind: str, id: str, entry: Entry | None) -> Dependency:
    """Return the dependency of a result on an entry, or on there being none."""
    return KINDS[kind].collection, id, 0 if entry is None else entry.revision


def show_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome's slots as an op answers them, without what holds for most of them."""
    usual = {"play": "", "compared": True}
    return {n: v for n, v in to_dict(outcome).items() if n not in usual or v != usual[n]}
