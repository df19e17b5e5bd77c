"""Runs sent code once, with the capture, the settings and the stops of a run."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Self

from repl_pair.records import mutable, replace
from repl_pair.runtime.capture.capture import capture
from repl_pair.runtime.evaluation.compiled import (
    NO_CODE,
    Compiled,
    compile_source,
    describe_no_code,
    is_coroutine,
)
from repl_pair.runtime.evaluation.sources import keep_source, show_source
from repl_pair.runtime.evaluation.spaces import Scope, Space, open_space
from repl_pair.runtime.registry.origin import agent_origin, sent_by
from repl_pair.runtime.running.captured_calls import CapturedCall, run_stoppable
from repl_pair.runtime.secrets.known import made_of
from repl_pair.runtime.secrets.renderings import leaving_form
from repl_pair.runtime.stopping.awaiting import await_together
from repl_pair.runtime.stopping.loops import WaitFor
from repl_pair.runtime.stopping.stop import Stop

_numbers = itertools.count(1)


@mutable
class Evaluation(CapturedCall):
    """What came of sent code so far."""

    space: Space
    names: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def stopped_meanwhile(self, stop: Stop) -> Self:
        """Return what there is by now of code that runs on, with the names that it changed."""
        return replace(super().stopped_meanwhile(stop), names=self.space.changes())


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
    filename = f"<eval_code {next(_numbers)} of {agent_origin(principal).label}>"
    with (
        capture(exclusive=True, leaving=leaving_form, restores=True) as captured,
        sent_by(principal),
        await_together(),
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
    evaluation.note_elapsed()
    return evaluation


async def _run_stoppable(
    code: Compiled, source: str, evaluation: Evaluation, wait_for: WaitFor
) -> None:
    show_source(code.filename, source)
    try:
        await run_stoppable(evaluation, lambda: _run(code, evaluation, wait_for))
    finally:
        evaluation.space.put_back()
        evaluation.names = evaluation.space.changes()
        keep_source(code.filename, code.parts)


async def _run(code: Compiled, evaluation: Evaluation, wait_for: WaitFor) -> None:
    space = evaluation.space
    evaluation.is_secret = code.is_secret
    for part in code.parts:
        value = eval(part, space.globals, space.locals)
        if is_coroutine(part):
            value = await wait_for(value)
        if part is code.value:
            evaluation.give(value)
