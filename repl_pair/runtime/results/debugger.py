"""A step debugger over the recorded steps of a run: it walks a record, and runs nothing."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.reading.bounded import Change, changes_between
from repl_pair.runtime.registry.outcomes import Outcome, StepRecord
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.results.record import RunRecord

MAX_CHANGES = 100
"""How many differences between two states are listed."""


@record
class Moment:
    """One line of a play as it was done; `index` counts the lines of all plays.

    `state` is the state after it, `changes` are its changes to the state before; an assertion
    changes nothing. `failed`: a failed assertion, or a step that raised.
    """

    index: int
    play: str
    step: int
    line: list[Any]
    state: Any
    changes: tuple[Change, ...] = ()
    outcome: Outcome | None = None
    error: str = ""

    @property
    def name(self) -> str:
        """The name that heads the line."""
        return str(self.line[0])

    @property
    def failed(self) -> bool:
        """Return whether the line raised, or its assertion did not hold."""
        return bool(self.error) or (self.outcome is not None and not self.outcome.passed)


class Debugger:
    """Steps through the lines of one run's plays, forward and back; -1 is before the first."""

    def __init__(self, run: RunRecord) -> None:
        self.run = run
        self.moments = tuple(_moments(run))
        self.position = -1
        self._breakpoints: list[Callable[[Moment], bool]] = []

    @property
    def moment(self) -> Moment | None:
        """The line that was done last; None before the first."""
        return self.moments[self.position] if self.position >= 0 else None

    @property
    def state(self) -> Any:
        """The state after that line."""
        return _first_state(self.run) if self.moment is None else self.moment.state

    def step(self) -> Moment | None:
        """Go one line forward; None, without a move, at the end."""
        if self.position + 1 >= len(self.moments):
            return None
        self.position += 1
        return self.moment

    def step_back(self) -> Moment | None:
        """Go one line back; None before the first."""
        self.position = max(-1, self.position - 1)
        return self.moment

    def rewind(self) -> None:
        """Go before the first line."""
        self.position = -1

    def resume(self) -> Moment | None:
        """Go forward to the next breakpoint; without one go to the end and return None."""
        while (moment := self.step()) is not None:
            if any(breaks(moment) for breaks in self._breakpoints):
                return moment
        return None

    def break_at(self, step: int | str, *, play: str = "") -> None:
        """Stop at a step by its place, or each line of a name; `bad_arguments` for none."""
        lines = [moment for moment in self.moments if moment.play == play or not play]
        matching = {m.index for m in lines if step == (m.step if isinstance(step, int) else m.name)}
        if not matching:
            names = dict.fromkeys(moment.name for moment in self.moments)
            near = did_you_mean(step, names) if isinstance(step, str) else ""
            where = f" of play {play!r}" if play else ""
            fault = f"No line{where} was done at {step!r}.{near}"
            raise RequestError("bad_arguments", f"{fault} {len(self.moments)} were done.")
        self._breakpoints.append(lambda moment: moment.index in matching)

    def break_on_failure(self) -> None:
        """Stop at what raised, and at assertions that did not hold."""
        self._breakpoints.append(lambda moment: moment.failed)

    def clear_breakpoints(self) -> None:
        """Forget the breakpoints."""
        self._breakpoints.clear()

    def __repr__(self) -> str:
        now = self.moment
        at = "before the first" if now is None else f"at {self.position}: {now.line}"
        return f"<Debugger of {self.run.variant_id}: {len(self.moments)} lines, {at}>"


def debug(run: str | RunRecord) -> Debugger:
    """Return a debugger over a run, or the last of a variant; `cannot_run` before the first."""
    record = last_result(run) if isinstance(run, str) else run
    if record is None:
        raise RequestError("cannot_run", f"{run} has not been run yet: repl_pair.run({run!r}).")
    return Debugger(record)


def _first_state(run: RunRecord) -> Any:
    """Return the state before the first line: where nothing changed it, it is the last one too."""
    return run.state if run.rendered_state is None else run.rendered_state


def _moments(run: RunRecord) -> Iterator[Moment]:
    order = {name: place for place, name in enumerate(run.plays)}
    lines: list[StepRecord | Outcome] = [*run.steps, *run.assertions]
    lines.sort(key=lambda line: (order.get(line.play, 0), line.step))
    state = _first_state(run)
    for index, line in enumerate(lines):
        place: dict[str, Any] = {"index": index, "play": line.play, "step": line.step}
        if isinstance(line, Outcome):
            yield Moment(**place, line=[line.assertion, *line.payload], state=state, outcome=line)
        else:
            changes = tuple(islice(changes_between(state, line.state), MAX_CHANGES))
            state = line.state
            yield Moment(**place, line=line.line, state=state, changes=changes, error=line.error)
