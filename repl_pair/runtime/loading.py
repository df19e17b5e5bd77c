"""Loaders: they make what data cannot hold, and clean up after the run."""

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from types import AsyncGeneratorType, FrameType, GeneratorType
from typing import Any, cast

from repl_pair.errors import RequestError
from repl_pair.runtime.frame import Frame, thaw_data
from repl_pair.runtime.hints import parameter_hints
from repl_pair.runtime.nodes import Ref
from repl_pair.runtime.plain import refs_in
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.thaw import thaw


async def load_args(frame: Frame) -> dict[str, Any]:
    """Call the loaders, then rebuild the args with today's classes."""
    for name in frame.plan.variant.loaders:
        await _call_loader(frame, Ref(name))
    hints = parameter_hints(frame.plan.component)
    return {
        name: await _rebuilt(frame, value, hints.get(name, Any), f"args.{name}")
        for name, value in frame.plan.args.items()
    }


async def load_events(frame: Frame) -> list[list[Any]]:
    """Give the events of the variant with fresh payloads; what refs stand for is loaded."""
    return [
        [name, await _rebuilt(frame, payload, Any, f"event {name}")]
        for name, payload in frame.plan.events
    ]


async def check_complete(frame: Frame) -> None:
    """Refuse to go on where the variant's condition for loading does not hold."""
    condition = frame.plan.variant.loaders_complete_when
    if condition is None:
        return
    if isinstance(condition, str):
        holds = REGISTRY.get("derived", condition).body.component.resolve()
        if not await frame.value_of(holds(frame.state)):
            raise RequestError("cannot_run", f"Loading is not complete: {condition} is not true.")
        return
    came = {e.id for e in frame.scope.emitted} | {str(event[0]) for event in frame.events}
    if missing := [name for name in condition if name not in came]:
        raise RequestError(
            "cannot_run",
            f"Loading is not complete: {', '.join(missing)} did not come"
            f"{'; there came ' + ', '.join(sorted(came)) if came else ''}.",
        )


async def _rebuilt(frame: Frame, value: Any, hint: Any, where: str) -> Any:
    loaded = [(ref, await _call_loader(frame, ref)) for ref in refs_in(value)]
    return thaw(value, hint, load=_answer(loaded), where=where)


async def _call_loader(frame: Frame, ref: Ref) -> Any:
    """Call one loader; a generator's end is left for teardown."""
    entry = REGISTRY.find("loader", ref.loader)
    if entry is None:
        raise RequestError("cannot_run", REGISTRY.missing("loader", ref.loader))
    kwargs: Mapping[str, Any] = thaw_data(ref.kwargs, "ref")
    made = entry.body.component.resolve()(**kwargs)
    if inspect.isgenerator(made):
        frame.undo.append(lambda: _finish(made))
        return next(made)
    if inspect.isasyncgen(made):
        frame.undo.append(lambda: _finish_async(made))
        return await frame.settle(made.__anext__())
    return await frame.value_of(made)


def _finish(generator: "GeneratorType[Any, Any, Any]") -> None:
    if _has_begun(generator.gi_frame):
        for _ in generator:
            raise RequestError("cannot_run", _YIELDED_TWICE)


async def _finish_async(generator: "AsyncGeneratorType[Any, Any]") -> None:
    if _has_begun(generator.ag_frame):
        async for _ in generator:
            raise RequestError("cannot_run", _YIELDED_TWICE)


def _has_begun(frame: FrameType | None) -> bool:
    """Tell whether a generator ran at all: an interrupt may come before it does."""
    return frame is not None and frame.f_lasti > _CREATED


def _never() -> Generator[None]:
    yield


_CREATED: int = cast("Any", _never()).gi_frame.f_lasti
_YIELDED_TWICE = "A loader yielded twice; it yields once, then cleans up."


def _answer(loaded: Sequence[tuple[Ref, Any]]) -> Callable[[Ref], Any]:
    return lambda wanted: next(value for ref, value in loaded if ref == wanted)
