"""Ops over the functions that an app publishes: what there are, and their calls."""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from repl_pair.errors import AuthoringError, RequestError, next_step
from repl_pair.runtime.clients.approval import approval_required
from repl_pair.runtime.op_base.answers import Fault, Items, Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import DEFAULT_LIMIT, Cursor, Limit, filled, page_of
from repl_pair.runtime.op_base.planned import Wait
from repl_pair.runtime.op_base.previews import preview_function
from repl_pair.runtime.op_base.run_answers import (
    CapturedAnswer,
    answer_captured,
    answer_not_started,
)
from repl_pair.runtime.op_base.table import WAIT_S, Terms, main_op, op, timeout_deadline
from repl_pair.runtime.registry.exposure import is_seen
from repl_pair.runtime.registry.model import Entry, Procedure
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.visible import tool_functions, visible_entry, visible_ids
from repl_pair.runtime.running.captured_calls import CapturedCall
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import learn_before_output
from repl_pair.runtime.secrets.schemas import public_schema
from repl_pair.runtime.signatures.arguments import MAX_S, Bounds
from repl_pair.runtime.surfaces.function_calls import (
    Call as FunctionCall,
    call_function,
    check_function_args,
    function_schema,
)
from repl_pair.runtime.surfaces.functions import FUNCTION_S, check_exposable
from repl_pair.wire import MUTATES, PERSON, View, cut_at_word, monotonic

TOOL_DOC_CHARS = 1_000
FunctionId = Annotated[str, "Such as orders.place"]
Timeout = Annotated[float, Bounds(0, MAX_S), "Seconds the function may take"]


class FunctionLine(TypedDict):
    """A function: its tool, what it takes, whether it changes something, and whom it asks.

    Without `tool` it is called by run_function. `ask`: the person approves each call. `timeout_s`
    is there where it may take longer than 20 s.
    """

    id: str
    tool: NotRequired[str]
    doc: NotRequired[str]
    schema: dict[str, Any]
    mutates: bool
    ask: NotRequired[bool]
    timeout_s: NotRequired[float]


class FunctionTerms(TypedDict):
    """How a function may be called: whether the person is asked, and `timeout_s` of a long one."""

    asks: bool
    timeout_s: NotRequired[float]


class FunctionAnswer(CapturedAnswer):
    """What came of the call of a function; `value` is what it returned."""

    error: NotRequired[Fault]


@op(access="read", toolset="surface")
def list_functions(
    call: Call, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[FunctionLine]:
    """List the functions of the app that you may call: as tools, or with run_function."""
    tools = {entry.id for entry in tool_functions(call.view)}
    return page_of(call, "function", lambda each: _line(call, each, tools), limit, cursor)


@op(access="read", toolset="surface", internal=True)
def list_function_tools(call: Call) -> Items[FunctionLine]:
    """List the functions that are tools, and how many there are in all."""
    lines = [_tool_line(call, entry) for entry in tool_functions(call.view)]
    call.max_items = len(lines)
    return {"items": lines, "total": len(visible_ids(call.view, "function"))}


def _tool_line(call: Call, entry: Entry) -> Any:
    """Return the line of a function with the head of its doc, which no marker replaces."""
    doc = cut_at_word(NEEDLES.scrub(entry.body.doc)[0], TOOL_DOC_CHARS)
    return _line(call, entry, [entry.id]) | ({"doc": call.add_raw_json(doc)} if doc else {})


def _line(call: Call, entry: Entry, tools: Collection[str]) -> Any:
    body: Procedure = entry.body
    schema = public_schema(function_schema(body.component.resolve()))
    return {
        "id": entry.id,
        **filled(tool=body.tool if entry.id in tools else None, doc=body.doc),
        "schema": call.add_raw_json(schema),
        "mutates": body.mutates,
        **filled(ask=body.ask, timeout_s=_longer_s(body)),
    }


def _longer_s(body: Procedure) -> float | None:
    """Return how long a function may take where that is longer than a call does by itself."""
    return body.timeout_s if body.timeout_s > FUNCTION_S else None


def _terms(view: View, args: Mapping[str, Any]) -> Terms:
    """Return the terms of a call; one of a function that is not seen is refused by the op."""
    entry = REGISTRY.find("function", args["function"])
    if entry is None or not is_seen(view, entry):
        return Terms(lane="worker")
    body: Procedure = entry.body
    if body.timeout_s > FUNCTION_S and "timeout_s" not in args:
        raise RequestError(
            "bad_arguments",
            f"{entry.id} may take {body.timeout_s:g} s, longer than a call does by itself: give "
            "timeout_s. Nothing was run.",
            next_steps=[next_step("run_function", **{**args, "timeout_s": body.timeout_s})],
        )
    asks = body.ask or (body.mutates and MUTATES not in view.access)
    return Terms(
        lane="worker" if body.thread_safe else "main",
        deadline_s=float(args.get("timeout_s", body.timeout_s)),
        # An approval for a session covers the calls of this function and of no other.
        access=frozenset({entry.id} if asks and view.principal != PERSON else ()),
    )


def _check(view: View, args: Mapping[str, Any]) -> None:
    entry = visible_entry(view, "function", args["function"])
    check_function_args(entry.id, _resolve(entry), args.get("args") or {})


def _resolve(entry: Entry) -> Callable[..., Any]:
    """Return the function as it is defined now; `cannot_run` where agents could not be given it."""
    fn = entry.body.component.resolve()
    if entry.body.exposed:
        try:
            check_exposable(f"function {entry.id!r}", fn)
        except AuthoringError as refusal:
            words = f"{refusal.message} It was defined so after it was exposed."
            raise RequestError("cannot_run", words) from None
    return fn


class _Reporter:
    """Reports progress, each message after a search for the secrets that may stand in it.

    Searches take a fifth of the time: of the messages in between the latest is sent later.
    """

    def __init__(self, call: Call, fn: Callable[..., Any]) -> None:
        self._call, self._fn = call, fn
        self._latest: str | None = None
        self._next_at = -math.inf

    def __call__(self, text: str) -> None:
        self._latest = text
        if monotonic() >= self._next_at:
            self.send()

    def send(self) -> None:
        """Send the latest message, unless it was sent."""
        if self._latest is not None:
            began = monotonic()
            learn_before_output([self._fn])
            self._next_at = began + 5 * (monotonic() - began)
            self._call.progress(self._latest)
            self._latest = None


@op(access="read", toolset="surface", internal=True)
def check_function(
    call: Call, function: FunctionId, args: dict[str, Any] | None = None
) -> FunctionTerms:
    """Refuse what run_function would refuse, and run nothing."""
    body: Procedure = visible_entry(call.view, "function", function).body
    given = {"function": function, "args": args, "timeout_s": body.timeout_s}
    _check(call.view, given)
    asks = not _terms(call.view, given).access <= call.view.access
    terms: FunctionTerms = {"asks": asks}
    if (timeout_s := _longer_s(body)) is not None:
        terms["timeout_s"] = timeout_s
    return terms


@main_op(
    access="run",
    toolset="surface",
    deadline=timeout_deadline(FUNCTION_S),
    unfinished=answer_not_started,
    preview=preview_function,
    terms=_terms,
    check=_check,
)
async def run_function(
    call: Call,
    function: FunctionId,
    args: Annotated[dict[str, Any] | None, "As list_functions has their schema"] = None,
    wait_s: Wait = WAIT_S,
    timeout_s: Timeout = FUNCTION_S,
) -> FunctionAnswer:
    """Call a function of the app; answer what it returned, put out, or raised.

    It runs between the person's cells unless it is thread_safe. One that changes something may
    wait for the person's approval.
    """
    entry = visible_entry(call.view, "function", function)
    _check_terms(call, entry, {"function": function, "timeout_s": timeout_s})
    fn = _resolve(entry)
    own = check_function_args(entry.id, fn, args or {})
    under_way: list[CapturedCall] = []
    report = _Reporter(call, fn)

    def answer(found: CapturedCall) -> Any:
        learn_before_output([fn])
        call.decide()
        return answer_captured(call, found)

    call.unfinished = lambda stop: (
        answer(under_way[0].stopped_meanwhile(stop)) if under_way else answer_not_started({}, stop)
    )
    found = await call_function(
        entry,
        fn,
        own,
        context=FunctionCall(report, call.cancelled.is_set),
        wait_for=call.wait_for,
        exclusive=not entry.body.thread_safe,
        begun=under_way.append,
    )
    report.send()
    return answer(found)


def _check_terms(call: Call, entry: Entry, args: Mapping[str, Any]) -> None:
    """Refuse a call whose function was registered on other terms while the call waited."""
    now = _terms(call.view, args)
    if closed := now.access - call.view.access:
        raise approval_required("run_function", closed)
    if call.terms is not None and now.lane != call.terms.lane:
        raise RequestError(
            "cannot_run",
            f"{entry.id} was registered anew while the call waited. Call it again.",
        )
