"""The phases of a run, as data; each walks its part of one run and raises what went wrong."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.assertions import Raised, Settled
from repl_pair.runtime.captured import Captured
from repl_pair.runtime.hints import parameter_hints
from repl_pair.runtime.model import Outcome, Step, Verdict
from repl_pair.runtime.nodes import Ref
from repl_pair.runtime.plain import refs_in
from repl_pair.runtime.plan import Plan, assertion_function
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.rendering import is_figure, rich_values
from repl_pair.runtime.stopping import STOPS
from repl_pair.runtime.thaw import thaw

Settle = Callable[[Awaitable[Any]], Awaitable[Any]]


@dataclass(kw_only=True, eq=False, repr=False)
class Frame:
    """The state of one run between its phases."""

    plan: Plan
    settle: Settle
    captured: Captured
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    result: Any = None
    error: BaseException | None = None
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    refusal: str = ""
    undo: list[Callable[[], Any]] = field(default_factory=list[Callable[[], Any]])

    async def value_of(self, value: Any) -> Any:
        """Wait for what is asynchronous; pass on the rest."""
        return await self.settle(value) if inspect.isawaitable(value) else value


@record
class Phase:
    """One phase: `always` is walked even after a failure."""

    name: str
    walk: Callable[[Frame], Awaitable[None]]
    always: bool = False


async def set_up(frame: Frame) -> None:
    """Refuse what cannot be run before anything of the person's is called."""
    inspect.signature(frame.plan.component)


async def load(frame: Frame) -> None:
    """Call the loaders, then rebuild the args with today's classes."""
    for name in frame.plan.variant.loaders:
        await call_loader(frame, Ref(name))
    hints = parameter_hints(frame.plan.component)
    for name, value in frame.plan.args.items():
        loaded = [(ref, await call_loader(frame, ref)) for ref in refs_in(value)]
        frame.args[name] = thaw(
            value, hints.get(name, Any), load=_answer(loaded), where=f"args.{name}"
        )


async def render(frame: Frame) -> None:
    """Call the component; what it raises is kept for a play that expects it."""
    try:
        frame.result = await frame.value_of(frame.plan.component(**frame.args))
    except (Exception, SystemExit) as error:
        frame.error = error
        show_outputs(frame)
        if not any(step[0] == "raises" for step in frame.plan.variant.play):
            raise
        return
    show_outputs(frame)


async def play(frame: Frame) -> None:
    """Record the outcome of each assertion; a verdict never stops the play."""
    for step in frame.plan.variant.play:
        verdict = await judge(frame, step)
        if verdict is not None:
            frame.outcomes.append(_outcome(step, verdict))
    show_figures(frame)
    consumed = any(o.assertion == "raises" and o.passed for o in frame.outcomes)
    if frame.error is not None and not consumed:
        raise frame.error


async def tear_down(frame: Frame) -> None:
    """Undo in reverse; the first failure is raised when all are undone."""
    failed: list[BaseException] = []
    while frame.undo:
        try:
            await frame.value_of(frame.undo.pop()())
        except BaseException as error:  # noqa: BLE001  one loader's clean-up must not stop another's
            failed.append(error)
    if failed:
        raise next((error for error in failed if isinstance(error, STOPS)), failed[0])


PHASES: tuple[Phase, ...] = (
    Phase(name="setup", walk=set_up),
    Phase(name="load", walk=load),
    Phase(name="render", walk=render),
    Phase(name="play", walk=play),
    Phase(name="teardown", walk=tear_down, always=True),
)


async def call_loader(frame: Frame, ref: Ref) -> Any:
    """Call one loader; a generator's end is left for teardown."""
    entry = REGISTRY.find("loader", ref.loader)
    if entry is None:
        raise RequestError("cannot_run", REGISTRY.missing("loader", ref.loader))
    made = entry.body.component.resolve()(**thaw(ref.kwargs, Any, load=_no_refs, where="ref"))
    if inspect.isgenerator(made):
        frame.undo.append(lambda: _finish(made))
        return next(made)
    if inspect.isasyncgen(made):
        frame.undo.append(lambda: _finish_async(made))
        return await frame.settle(made.__anext__())
    return await frame.value_of(made)


async def judge(frame: Frame, step: Step) -> Verdict | None:
    """Give an assertion's verdict; None where it could not be asked, with the run's refusal set."""
    name, payload = str(step[0]), [thaw(v, Any, load=_no_refs, where="play") for v in step[1:]]
    if frame.error is not None and name != "raises":
        return None
    subject = Raised(error=frame.error) if name == "raises" else settled(frame)
    try:
        found = await frame.value_of(assertion_function(step)(subject, *payload))
    except RequestError as error:
        frame.refusal = frame.refusal or error.message
        return None
    except Exception as error:  # noqa: BLE001  assertions record, they never raise
        return Verdict(passed=False, reason=f"{name} raised {told(error)}")
    return found if isinstance(found, Verdict) else Verdict(passed=bool(found))


def show_outputs(frame: Frame) -> None:
    """Show the rich values of the result, and the figures that are left open."""
    rich = rich_values(frame.result)
    for _, bundle in rich:
        frame.captured.show(bundle)
    show_figures(frame, drawn=[value for value, _ in rich if is_figure(value)])


def show_figures(frame: Frame, *, drawn: Sequence[Any] = ()) -> None:
    """Show and close the figures that are left open; those `drawn` already are only closed."""
    if frame.captured.figures is not None:
        frame.captured.figures.show_open(drawn=drawn)


def told(error: BaseException) -> str:
    """Give an exception's class and text."""
    return f"{type(error).__name__}: {text_of(error)}"


def text_of(error: BaseException) -> str:
    """Give an exception's text, which is code of whoever wrote the exception."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  a broken text must not hide what was raised
        return "<unreadable>"


def settled(frame: Frame) -> Settled:
    """Give what assertions look at, as of now."""
    out = frame.captured
    return Settled(
        args=frame.args,
        result=frame.result,
        last=frame.result,
        stdout="".join(out.kept["stdout"]),
        warnings=tuple(out.kept["warnings"]) if "warnings" in out.kept else None,
        logs=tuple(out.kept["logs"]),
    )


def _outcome(step: Step, verdict: Verdict) -> Outcome:
    return Outcome(
        assertion=str(step[0]),
        payload=list(step[1:]),
        passed=verdict.passed,
        expected=verdict.expected,
        actual=verdict.actual,
        reason=verdict.reason,
    )


def _finish(generator: Generator[Any, Any, Any]) -> None:
    for _ in generator:
        raise RequestError("cannot_run", _YIELDED_TWICE)


async def _finish_async(generator: AsyncGenerator[Any, Any]) -> None:
    async for _ in generator:
        raise RequestError("cannot_run", _YIELDED_TWICE)


_YIELDED_TWICE = "A loader yielded twice; it yields once, then cleans up."


def _answer(loaded: list[tuple[Ref, Any]]) -> Callable[[Ref], Any]:
    return lambda wanted: next(value for ref, value in loaded if ref == wanted)


def _no_refs(ref: Ref) -> Any:
    raise RequestError("cannot_run", f"ref({ref.loader!r}) stands where only data may.")
