"""What one run found and made, as records."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypedDict

from repl_pair.errors import RequestError, count_of
from repl_pair.records import record
from repl_pair.runtime.registry.outcomes import (
    Dependency,
    EffectRecord,
    Identity,
    Outcome,
    PhaseRecord,
    StepRecord,
)
from repl_pair.runtime.results.forms import (
    Report,
    failure_reason,
    in_modes,
    run_line,
)
from repl_pair.runtime.results.notebook_results import RunResult
from repl_pair.runtime.secrets.known import CallSecrets


class RegisteredAt(TypedDict, total=False):
    """Where a variant was registered, and in which line from 1; empty where that is not known."""

    where: str
    line: int


@record
class RunRecord(Report):
    """Everything one run made; `status` is `pass`, `fail`, `cannot_run` or `error`.

    `total` counts the assertions: a run without any passes if render ran, and has 0.
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
    """The result as bounded JSON without known secrets, once the live one is not kept any more."""
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
    restored: tuple[str, ...] = ()
    """The settings of the process that the run changed and gave back."""
    reason: str = ""
    still_running: bool = False
    """The run could not be stopped at its deadline; what it makes from then on is dropped."""
    sensitive: tuple[tuple[str, ...], ...] = ()
    what_if: tuple[str, ...] = ()
    """What of the call made it no run of the variant as registered: such a run is no verdict."""
    asked: Any = None
    """The overrides of the op that ran it."""
    asked_by: str | None = None
    """The agent whose overrides made this a what-if run of its own; None: all may read it."""
    order: int = field(default=0, compare=False, repr=False)
    """Of a kept run: higher than that of all that were kept before."""
    earlier: "tuple[RunRecord, ...]" = field(default=(), compare=False, repr=False)
    """Of a kept run, the runs that it does not replace, the latest first."""
    secrets: CallSecrets | None = field(default=None, compare=False, repr=False)
    """What the run met that is a secret for its record alone."""
    registered: RegisteredAt = field(default_factory=RegisteredAt)
    dependencies: tuple[Dependency, ...] = ()
    bound: Mapping[str, int] = field(default_factory=dict[str, int], compare=False)
    """Which cell had given each name that the code reads its value, as `Plan.bound`."""

    __repr__ = Report.__repr__

    def lines(self) -> list[RunResult]:
        """Return the one line of the run."""
        reasons: list[str] = []
        for at, outcome in enumerate(self.assertions):
            if not outcome.passed:
                place = ("assertions", str(at))
                hidden = [path[2:] for path in self.sensitive if path[:2] == place]
                reason = failure_reason(outcome, hidden, self.secrets)
                reasons.append(f"{outcome.assertion}: {reason}")
        reasons = reasons or [self.reason]
        hash = self.identity.content_hash if self.identity else ""
        modes = self.active_modes
        return [run_line(self.variant_id, modes, self.status, self.total, reasons, hash)]

    def summary(self) -> str:
        """Describe how the run ended, and why."""
        head = f"{self.variant_id}{in_modes(self.active_modes)}: {self.status}"
        return f"{head}, {count_of(self.total, 'assertion')}. {self.reason}"


def raised_in(record: RunRecord) -> list[dict[str, Any]]:
    """Return what the phases of a run raised, each with its phase."""
    return [{"phase": one.phase, **one.error} for one in record.phases if one.error]


def refused(variant_id: str, error: RequestError) -> RunRecord:
    """Return the record of a run that could not be attempted; any other refusal is raised again."""
    if error.code != "cannot_run":
        raise error
    return RunRecord(variant_id=variant_id, status="cannot_run", reason=error.message)
