"""The op that runs code which an agent sends; shut unless the person opens it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from repl_pair.records import to_dict
from repl_pair.runtime.evaluation.evaluate import Evaluation, evaluate
from repl_pair.runtime.evaluation.spaces import Scope
from repl_pair.runtime.ops.answers import Fault
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.listing import is_filled
from repl_pair.runtime.ops.planned import Wait
from repl_pair.runtime.ops.previews import preview_code
from repl_pair.runtime.ops.running import SHORT_HTML, show_bundle
from repl_pair.runtime.ops.table import WAIT_S, op, timeout_deadline
from repl_pair.runtime.secrets.egress import learn_from
from repl_pair.runtime.secrets.known import within
from repl_pair.runtime.secrets.learning import learn_before_output
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.values.arguments import MOST_S, Bounds, Longest

EVAL_S = 20.0
"""What sent code may take by default, and so hold the person's cells."""
MOST_CHARS = 65_536
_SLOTS = ("stdout", "stderr", "unattributed")

Code = Annotated[str, Longest(MOST_CHARS), "Plain Python; await may stand at the top"]
Where = Annotated[Scope, "user: assigns in the person's namespace"]
Timeout = Annotated[float, Bounds(0, MOST_S), "Seconds the code may take"]


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


class Evaluated(TypedDict):
    """What came of sent code; slots that may be missing are there where they hold something.

    `value` is there where the code ended with an expression. `restored` names the settings of the
    process that the code changed and that were given back. In an `error` of type Stopped the place
    is where the code stood.
    """

    status: Literal["ok", "error", "cannot_run"]
    reason: NotRequired[str]
    still_running: NotRequired[bool]
    value: NotRequired[Any]
    stdout: NotRequired[str]
    stderr: NotRequired[str]
    outputs: NotRequired[list[dict[str, Any]]]
    error: NotRequired[EvalFault]
    names: NotRequired[Names]
    unattributed: NotRequired[str]
    warnings: NotRequired[list[str]]
    logs: NotRequired[list[str]]
    restored: NotRequired[list[str]]
    elapsed_ms: float


def _not_begun(_args: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
    return {**_slots_of(stop), "elapsed_ms": 0.0}


@op(
    access="eval",
    lane="main",
    toolset="eval",
    deadline=timeout_deadline(EVAL_S),
    unfinished=_not_begun,
    stoppable=False,
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
        _answer(call, under_way[0].stopped_meanwhile(stop)) if under_way else _not_begun({}, stop)
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
    if evaluation.is_secret:
        call.sensitive += [("value",), ("outputs",)]
    out, more = evaluation.captured, "print what you need of it"
    found: dict[str, Any] = {slot: out.text(slot) for slot in _SLOTS}
    found |= {slot: list(out.entries(slot)) for slot in ("warnings", "logs")}
    found["outputs"] = [
        show_bundle(call, bundle, html=SHORT_HTML, else_html=more) for bundle in out.bundles()
    ]
    found |= {slot: getattr(evaluation, slot) for slot in ("error", "names")}
    found["restored"] = list(out.restored.values())
    return cast(
        "Evaluated",
        {
            "status": evaluation.status,
            **_slots_of(evaluation.stop),
            **({"value": evaluation.value} if evaluation.has_value else {}),
            **{slot: value for slot, value in found.items() if is_filled(value)},
            "elapsed_ms": evaluation.elapsed_ms,
        },
    )


def _slots_of(stop: Stop | None) -> dict[str, Any]:
    if stop is None:
        return {}
    return {slot: value for slot, value in to_dict(stop).items() if is_filled(value)}
