"""What one run found and made, as records."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import record, to_dict
from repl_pair.runtime.model import KINDS, Entry

Rest = tuple[str, str, int]
"""Something that a result rests on: a member of the surface, a key in it, its revision then."""


@record
class Verdict:
    """What one assertion found."""

    passed: bool
    expected: Any = None
    actual: Any = None
    reason: str = ""


@record
class Outcome:
    """One assertion of a play with its recorded verdict."""

    assertion: str
    payload: list[Any]
    passed: bool
    expected: Any = None
    actual: Any = None
    reason: str = ""
    play: str = ""
    """The name of the play, where it has one."""
    step: int = 0
    """The place of the assertion in its play, counted from 0."""


@record
class StepRecord:
    """One step of a play that was done; `state` is the projected state after it, bounded."""

    play: str
    step: int
    line: list[Any]
    state: Any = None
    error: str = ""


@record
class EffectRecord:
    """One effect that a run emitted; `stubbed` tells whether a decorator answered for it."""

    id: str
    payload: Mapping[str, Any]
    stubbed: bool
    response: Any = None


@record
class PhaseRecord:
    """One phase that was walked; `error` is set where it failed."""

    phase: str
    elapsed_ms: float
    error: Mapping[str, Any] | None = None


@record
class Identity:
    """The snapshot identity: which settled state this is, and which code made it."""

    variant_id: str
    active_modes: tuple[str, ...]
    substrate: str
    content_hash: str
    code_hash: str


class Shown:
    """Shows itself in a notebook, once in a cell: as text, and as what CI reads of it."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return _forms().bundle(self)

    def _ipython_display_(self) -> None:
        if not _forms().is_told(self):
            raise NotImplementedError


def _forms() -> Any:
    # Only who looks at results in a notebook pays for the room.
    from repl_pair.runtime import result_forms

    return result_forms


@record
class RunRecord(Shown):
    """Everything one run made; `status` is `pass`, `fail`, `cannot_run` or `error`.

    `total` counts the assertions: a run without any passes if render ran, and says 0.
    Values are the real ones; `sensitive` names the paths that must not leave the kernel.
    """

    variant_id: str
    status: str
    assertions: tuple[Outcome, ...] = ()
    total: int = 0
    elapsed_ms: float = 0.0
    effective_args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    active_modes: tuple[str, ...] = ()
    identity: Identity | None = None
    result: Any = None
    last: Any = None
    state: Any = None
    shown: Any = None
    """The result as bounded JSON without known secrets, once the live one is let go."""
    events: tuple[list[Any], ...] = ()
    """What was dispatched, in order: `[name, {payload}]`."""
    effects: tuple[EffectRecord, ...] = ()
    plays: tuple[str, ...] = ()
    """The names of the plays that ran, in order; the one of `play` has none."""
    steps: tuple[StepRecord, ...] = ()
    rendered_state: Any = None
    """The state before the first step that may change it, bounded."""
    outputs: tuple[Mapping[str, Any], ...] = ()
    phases: tuple[PhaseRecord, ...] = ()
    stdout: str = ""
    stderr: str = ""
    unattributed: str = ""
    """What threads and processes of the run put out, in no order with the rest."""
    warnings: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    reason: str = ""
    still_running: bool = False
    """The run could not be stopped at its deadline; what it makes from then on is dropped."""
    sensitive: tuple[tuple[str, ...], ...] = ()
    asked: Any = None
    """What the caller of an op said for this run: hidden where a secret stands, never learned."""
    registered: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Where the variant was registered, and in which line."""
    rests_on: tuple[Rest, ...] = ()


def rest_on(kind: str, id: str, entry: Entry | None) -> Rest:
    """Say that a result rests on an entry, or on there being none."""
    return KINDS[kind].collection, id, 0 if entry is None else entry.revision


def show_outcome(outcome: Outcome) -> dict[str, Any]:
    """Give an outcome's slots as they are answered; a play without a name goes unsaid."""
    slots = to_dict(outcome)
    return slots if slots["play"] else {n: v for n, v in slots.items() if n != "play"}


def refused(variant_id: str, error: RequestError) -> RunRecord:
    """Give the record of a run that could not be attempted; any other refusal is raised again."""
    if error.code != "cannot_run":
        raise error
    return RunRecord(variant_id=variant_id, status="cannot_run", reason=error.message)
