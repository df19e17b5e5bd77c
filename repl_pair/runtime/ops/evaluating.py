"""The op that runs code which an agent sends; shut unless the person opens it."""

from typing import Annotated, NotRequired, TypedDict, cast

from repl_pair.runtime.evaluation.evaluate import Evaluation, evaluate
from repl_pair.runtime.evaluation.spaces import Scope
from repl_pair.runtime.op_base.answers import Fault
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.planned import Wait
from repl_pair.runtime.op_base.previews import preview_code
from repl_pair.runtime.op_base.run_answers import (
    CapturedAnswer,
    answer_captured,
    answer_not_started,
)
from repl_pair.runtime.op_base.table import WAIT_S, main_op, timeout_deadline
from repl_pair.runtime.secrets.egress import learn_from
from repl_pair.runtime.secrets.known import within
from repl_pair.runtime.secrets.learning import learn_before_output
from repl_pair.runtime.signatures.arguments import MAX_S, Bounds, Longest

EVAL_S = 20.0
"""What sent code may take by default, and so hold the person's cells."""
MAX_CHARS = 65_536

Code = Annotated[str, Longest(MAX_CHARS), "Plain Python; await may stand at the top"]
Where = Annotated[Scope, "user: assigns in the person's namespace"]
Timeout = Annotated[float, Bounds(0, MAX_S), "Seconds the code may take"]


class EvalFault(Fault):
    """What the code raised; of a SyntaxError nothing ran: `caret` stands below the `column`."""

    column: NotRequired[int]
    caret: NotRequired[str]
    remedy: NotRequired[str]


class Names(TypedDict):
    """Public names of the person's namespace, also where the code ran over a copy of it."""

    added: NotRequired[list[str]]
    changed: NotRequired[list[str]]
    removed: NotRequired[list[str]]


class Evaluated(CapturedAnswer):
    """What came of sent code; slots that may be missing are there where they hold something.

    `value` is there where the code ended with an expression.
    """

    error: NotRequired[EvalFault]
    names: NotRequired[Names]


@main_op(
    access="eval",
    toolset="eval",
    deadline=timeout_deadline(EVAL_S),
    unfinished=answer_not_started,
    preview=preview_code,
    code="code",
)
async def eval_code(
    call: Call,
    code: Code,
    scope: Where = "scratch",
    timeout_s: Timeout = EVAL_S,
    wait_s: Wait = WAIT_S,
) -> Evaluated:
    """Run code over a new copy of the person's namespace; answer the value of its last expression.

    What it assigns is gone after the call; what it changes of the person's objects stays changed.
    It has the person's rights. Output and figures are in the answer; `_` and Out stay as they are.
    """
    under_way: list[Evaluation] = []
    call.unfinished = lambda stop: (
        _answer(call, under_way[0].stopped_meanwhile(stop))
        if under_way
        else answer_not_started({}, stop)
    )
    evaluation = await evaluate(
        code,
        scope=scope,
        principal=call.view.principal,
        wait_for=call.wait_for,
        begun=under_way.append,
    )
    return _answer(call, evaluation)


def _answer(call: Call, evaluation: Evaluation) -> Evaluated:
    """Return the answer; first learn what the person, and the copy of their names, now holds."""
    learn_before_output(())
    with within(call.secrets):
        learn_from(evaluation.space.assigned)
    call.decide()
    return cast("Evaluated", answer_captured(call, evaluation, names=evaluation.names))
