"""Runs sent code once, with the capture, the settings and the stops of a run."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any

from repl_pair.records import mutable
from repl_pair.runtime.capture.capture import capture
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.capture.showing import show_open, show_value
from repl_pair.runtime.evaluation.compiled import (
    NO_CODE,
    Compiled,
    compile_source,
    describe_no_code,
    is_coroutine,
    new_filename,
)
from repl_pair.runtime.evaluation.sources import keep_source, show_source
from repl_pair.runtime.evaluation.spaces import Scope, Space, open_space
from repl_pair.runtime.registry.origin import agent_origin, sent_by
from repl_pair.runtime.running.raised import as_raised, describe, place_of
from repl_pair.runtime.secrets.known import made_of
from repl_pair.runtime.secrets.renderings import leaving_form
from repl_pair.runtime.stopping.loops import WaitFor, close_unstarted, pair_contexts
from repl_pair.runtime.stopping.stop import STOPS, Stop, stop_of, this_section, while_live


@mutable
class Evaluation:
    """What came of sent code so far; `stop` ended it from outside, `error` also says where."""

    captured: Captured
    space: Space
    thread: int = field(default_factory=threading.get_ident)
    has_value: bool = False
    value: Any = None
    is_secret: bool = False
    """Whether the value stands at a secret name of the person's."""
    error: Mapping[str, Any] | None = None
    stop: Stop | None = None
    names: Mapping[str, Any] = field(default_factory=dict[str, Any])
    elapsed_ms: float = 0.0

    @property
    def status(self) -> str:
        """Return ok, error or cannot_run."""
        if self.stop is not None:
            return self.stop.status
        return "ok" if self.error is None else "error"

    def stopped_meanwhile(self, stop: Stop) -> "Evaluation":
        """Return what there is by now of code that runs on, and the line where it stands."""
        place = place_of(self.thread)
        return Evaluation(
            captured=self.captured,
            space=self.space,
            error={"type": "Stopped", "message": stop.reason, **place} if place else None,
            stop=stop,
            names=self.space.changes(),
        )


async def evaluate(
    source: str,
    *,
    scope: Scope,
    principal: str,
    wait_for: WaitFor,
    begun: Callable[[Evaluation], None] = lambda _evaluation: None,
) -> Evaluation:
    """Run sent code in a new copy of the person's namespace or in that itself; never raises for it.

    `begun` is given what fills up while it runs. Must be called in a section that is not live; it
    is while the code runs. It must have the process's settings for itself.
    """
    started = time.perf_counter()
    filename = new_filename(agent_origin(principal).label)
    with (
        capture(exclusive=True, leaving=leaving_form, restores=True) as captured,
        sent_by(principal),
        pair_contexts(),
        made_of(source),
    ):
        evaluation = Evaluation(captured=captured, space=open_space(scope))
        try:
            code = compile_source(source, filename)
        except NO_CODE as error:
            evaluation.error = describe_no_code(error, source)
        else:
            begun(evaluation)
            await _run_stoppable(code, source, evaluation, wait_for)
    evaluation.elapsed_ms = round((time.perf_counter() - started) * 1e3, 3)
    return evaluation


async def _run_stoppable(
    code: Compiled, source: str, evaluation: Evaluation, wait_for: WaitFor
) -> None:
    section = this_section()

    async def show() -> None:
        show_open(evaluation.captured)

    show_source(code.filename, source)
    try:
        await while_live(section, lambda: _run(code, evaluation, wait_for))
    except STOPS as error:
        section.begin_teardown()
        close_unstarted(error)
        evaluation.stop, evaluation.error = stop_of(error), describe(error, {})
        with suppress(*STOPS):
            await while_live(section, show)
    finally:
        evaluation.space.put_back()
        evaluation.names = evaluation.space.changes()
        keep_source(code.filename, code.parts)


async def _run(code: Compiled, evaluation: Evaluation, wait_for: WaitFor) -> None:
    space = evaluation.space
    evaluation.is_secret = code.is_secret
    try:
        for part in code.parts:
            value = eval(part, space.globals, space.locals)
            if is_coroutine(part):
                value = await wait_for(value)
            if part is code.value:
                evaluation.value, evaluation.has_value = value, True
        show_value(evaluation.captured, evaluation.value)
    except STOPS:
        raise
    except BaseException as error:  # noqa: BLE001  whatever the code raises is its answer
        # No local of a frame in the traceback holds the error: that would be a circle.
        evaluation.error = describe(as_raised(error), {})
        show_open(evaluation.captured)
