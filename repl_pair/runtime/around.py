"""What is begun in one phase of a run and ended at teardown: generators and context managers."""

import inspect
from collections.abc import Generator
from types import AsyncGeneratorType, FrameType, GeneratorType
from typing import Any, cast

from repl_pair.errors import RequestError
from repl_pair.runtime.frame import Frame
from repl_pair.runtime.shapes import class_of_value

_NOTHING: Any = object()


async def begin(frame: Frame, made: Any, what: str) -> Any:
    """Give what a generator yields and leave its end for teardown; other values as they are.

    What is asynchronous is waited for; `what` names the generator where it yields not just once.
    """
    doing = frame.doing

    def end() -> Any:
        frame.doing = doing
        return finish(made, what) if inspect.isgenerator(made) else finish_async(made, what)

    if inspect.isgenerator(made):
        frame.undo.append(end)
        return _yielded(next(made, _NOTHING), what)
    if inspect.isasyncgen(made):
        frame.undo.append(end)
        return _yielded(await frame.settle(anext(made, _NOTHING)), what)
    return await frame.value_of(made)


async def enter(frame: Frame, manager: Any) -> None:
    """Enter a context manager, asynchronous or not; teardown leaves it with the run's failure.

    It cannot take back that failure.
    """
    is_async = not hasattr(class_of_value(manager), "__enter__")
    if is_async:
        await frame.settle(manager.__aenter__())
    else:
        manager.__enter__()
    entered, doing = [manager], frame.doing

    def leave() -> Any:
        if not entered:
            return None
        error, leave_once = frame.failure, entered[0].__aexit__ if is_async else entered[0].__exit__
        frame.doing = doing
        entered.clear()
        if error is None:
            return leave_once(None, None, None)
        return leave_once(type(error), error, error.__traceback__)

    frame.undo.append(leave)


def is_manager(value: Any) -> bool:
    """Tell whether a value is a context manager, asynchronous or not."""
    cls = class_of_value(value)
    return hasattr(cls, "__enter__") or hasattr(cls, "__aenter__")


def _yielded(value: Any, what: str) -> Any:
    if value is _NOTHING:
        raise RequestError("cannot_run", f"{what} yielded nothing; {_ONCE}")
    return value


def finish(generator: "GeneratorType[Any, Any, Any]", what: str) -> None:
    """Let a generator that was begun clean up; once it has, nothing is left to do."""
    if _has_begun(generator.gi_frame):
        for _ in generator:
            raise RequestError("cannot_run", f"{what} yielded twice; {_ONCE}")


async def finish_async(generator: "AsyncGeneratorType[Any, Any]", what: str) -> None:
    """Let an asynchronous generator clean up, as `finish` does."""
    if _has_begun(generator.ag_frame):
        async for _ in generator:
            raise RequestError("cannot_run", f"{what} yielded twice; {_ONCE}")


def _has_begun(frame: FrameType | None) -> bool:
    """Tell whether a generator ran at all: an interrupt may come before it does."""
    return frame is not None and frame.f_lasti > _CREATED


def _never() -> Generator[None]:
    yield


_CREATED: int = cast("Any", _never()).gi_frame.f_lasti
_ONCE = "it yields once, then cleans up."
