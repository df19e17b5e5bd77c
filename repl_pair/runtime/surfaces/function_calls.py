"""Calls of the app's functions: what one takes, its arguments built from JSON, and its call."""

from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.capture.capture import capture
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.running.calling import by_name
from repl_pair.runtime.running.captured_calls import CapturedCall, run_stoppable
from repl_pair.runtime.secrets.known import made_of
from repl_pair.runtime.secrets.renderings import leaving_form
from repl_pair.runtime.signatures.arguments import check_arguments, read_call_arguments
from repl_pair.runtime.signatures.corrections import correct_arguments, suggest_call
from repl_pair.runtime.signatures.schema import Schema, mark_nullable, parameters_schema
from repl_pair.runtime.stopping.awaiting import await_together
from repl_pair.runtime.stopping.loops import WaitFor
from repl_pair.runtime.surfaces.secret_values import followed_ids
from repl_pair.runtime.values.classes import is_awaitable
from repl_pair.runtime.values.hints import ANYTHING
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.takes import takes_of
from repl_pair.runtime.values.thaw import refuse_ref, thaw


class Call:
    """One call of a function of the app; the host gives it to a parameter of this type.

    A call of the person's own takes `Call()`, which reports nowhere and is never cancelled.
    """

    def __init__(
        self,
        report: Callable[[str], None] = lambda _text: None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._report = report
        self._is_cancelled = is_cancelled

    def progress(self, text: str) -> None:
        """Report to the caller how far the call is; from any thread."""
        self._report(str(text))

    @property
    def cancelled(self) -> bool:
        """Whether the caller, the person or the deadline asks the function to end."""
        return self._is_cancelled()


def function_schema(fn: Callable[..., Any]) -> Schema:
    """Return the schema of what a caller gives a function; null is marked where it may stand."""
    takes = takes_of(fn)
    schema = parameters_schema(fn, skip=call_parameters(fn))
    named = schema["properties"].items()
    return schema | {"properties": {n: mark_nullable(p, takes.read[n]) for n, p in named}}


def call_parameters(fn: Callable[..., Any]) -> list[str]:
    """Name the parameters that take the `Call`."""
    return [name for name, hint in takes_of(fn).read.items() if hint.cls is Call]


def check_function_args(id: str, fn: Callable[..., Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON arguments that a function takes; `bad_arguments` with the nearest call."""
    schema = function_schema(fn)
    nulls = {n: None for n, v in args.items() if v is None and n in schema["properties"]}
    legal = {n: v for n, v in nulls.items() if takes_of(fn).read[n].nullable}
    own = read_call_arguments(f"{id} was not called", schema, args) | legal
    if faults := check_arguments(schema, own):
        raise _refused(id, schema, args, faults)
    return own


def build_args(id: str, fn: Callable[..., Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Build checked JSON arguments as the hints declare them; runs the person's constructors.

    `bad_arguments` names every argument that cannot be built.
    """
    hints, built, faults = takes_of(fn).read, dict[str, Any](), list[str]()
    for name, value in args.items():
        try:
            built[name] = thaw(value, hints.get(name, ANYTHING), load=refuse_ref, where=name)
        except RequestError as error:
            faults.append(error.message)
    if faults:
        raise _refused(id, function_schema(fn), args, faults)
    return built


def _refused(id: str, schema: Schema, args: Mapping[str, Any], faults: list[str]) -> RequestError:
    message = f"{id} was not called: {' '.join(faults)}"
    nearest = correct_arguments(schema, args)
    if nearest == args:  # the schema does not say what is wrong with them
        return RequestError("bad_arguments", message)
    steps, hints = suggest_call("run_function", {"function": id, "args": nearest})
    steps = steps or [next_step("list_functions")]
    return RequestError("bad_arguments", message, next_steps=steps, hints=hints)


async def call_function(
    entry: Entry,
    fn: Callable[..., Any],
    args: Mapping[str, Any],
    *,
    context: Call,
    wait_for: WaitFor,
    exclusive: bool,
    begun: Callable[[CapturedCall], None],
) -> CapturedCall:
    """Call a function once with checked arguments; raises `bad_arguments`, else never for it.

    Must be called in a section that is not live; it is while the function runs. `exclusive`: it has
    the process's settings for itself. `begun` is given what fills up while it runs.
    """
    refusals = list[RequestError]()
    given = dict.fromkeys(call_parameters(fn), context)
    with (
        capture(exclusive=exclusive, leaving=leaving_form, restores=True) as captured,
        await_together(),
        made_of(args),
    ):
        found = CapturedCall(captured=captured, is_secret=_gives_secret(entry, fn))
        begun(found)

        async def work() -> None:
            try:
                built = build_args(entry.id, fn, args)
            except RequestError as error:
                refusals.append(error)
                return
            value = by_name(fn)(**built, **given)
            found.give(await wait_for(value) if is_awaitable(value) else value)

        await run_stoppable(found, work)
    if refusals:
        raise refusals[0]
    found.note_elapsed()
    return found


def _gives_secret(entry: Entry, fn: Callable[..., Any]) -> bool:
    """Return whether a function declares what it gives as a secret, or is named after one.

    One that is passed through counts by the name of its source, too.
    """
    names = (id.rpartition(".")[2] for id in followed_ids(entry))
    return takes_of(fn).gives_secret or any(map(is_secret_key, names))
