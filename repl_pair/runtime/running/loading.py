"""Loaders, generators and context managers: begun in one phase of a run, ended at teardown."""

from collections.abc import Mapping
from dis import get_instructions
from types import AsyncGeneratorType, FrameType, GeneratorType
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.authoring.agent_data import refs_of_agents
from repl_pair.runtime.registry.registry import REGISTRY, registered
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.secrets.egress import holds_secret
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.secrets.redaction import copy_plain
from repl_pair.runtime.stopping.awaiting import hold_task
from repl_pair.runtime.values.classes import is_exactly, real_class
from repl_pair.runtime.values.frozen import Ref, Secret, ref_places
from repl_pair.runtime.values.hints import ANYTHING
from repl_pair.runtime.values.takes import takes_of
from repl_pair.runtime.values.thaw import thaw, thaw_data

_NOTHING: Any = object()


async def begin(frame: Frame, made: Any, what: str) -> Any:
    """Return what a generator yields and leave its end for teardown; other values as they are.

    What is asynchronous is waited for; `what` names the generator in the RequestError
    `cannot_run` of one that does not yield just once.
    """
    is_async = is_exactly(made, AsyncGeneratorType)
    if not (is_async or is_exactly(made, GeneratorType)):
        return await frame.value_of(made)
    doing = frame.doing
    clean_up: Any = finish_async if is_async else finish

    def end() -> Any:
        frame.doing = doing
        return clean_up(made, what)

    frame.undo.append(end)
    if is_async:
        hold_task()
    value: Any = await frame.wait_for(anext(made, _NOTHING)) if is_async else next(made, _NOTHING)
    if value is _NOTHING:
        raise RequestError("cannot_run", f"{what} yielded nothing; {_ONCE}")
    return value


async def enter(frame: Frame, manager: Any) -> None:
    """Enter a context manager; teardown exits it with the failure of the run, which remains."""
    is_async = not hasattr(real_class(manager), "__enter__")
    if is_async:
        hold_task()
        await frame.wait_for(manager.__aenter__())
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
    """Return whether a value is a context manager, asynchronous or not."""
    cls = real_class(value)
    return hasattr(cls, "__enter__") or hasattr(cls, "__aenter__")


def finish(generator: "GeneratorType[Any, Any, Any]", what: str) -> None:
    """Let a generator that was begun clean up; does nothing for one that has ended.

    RequestError `cannot_run` where it yields again.
    """
    if _has_begun(generator.gi_frame):
        for _ in generator:
            generator.close()
            raise RequestError("cannot_run", f"{what} yielded twice; {_ONCE}")


async def finish_async(generator: "AsyncGeneratorType[Any, Any]", what: str) -> None:
    """Let an asynchronous generator clean up, as `finish` does."""
    if _has_begun(generator.ag_frame):
        async for _ in generator:
            await generator.aclose()
            raise RequestError("cannot_run", f"{what} yielded twice; {_ONCE}")


def _has_begun(frame: FrameType | None) -> bool:
    """Return whether a generator ran at all: an interrupt may come before it does."""
    if frame is None:
        return False
    first = (i.offset for i in get_instructions(frame.f_code) if i.opname == "RETURN_GENERATOR")
    return frame.f_lasti > next(first)


_ONCE = "it yields once, then cleans up."


async def load_args(frame: Frame) -> dict[str, Any]:
    """Call the loaders, then rebuild the args with the current classes."""
    for name in frame.plan.variant.loaders:
        await _call_loader(frame, Ref(name))
    hints = takes_of(frame.plan.component).read
    args: dict[str, Any] = {}
    for name, value in frame.plan.args.items():
        hint, at = hints.get(name, ANYTHING), ("args", name)
        args[name] = await load_data(frame, value, f"args.{name}", hint=hint, at=at)
    return args


async def load_data(
    frame: Frame, frozen: Any, where: str, *, hint: Any = Any, at: tuple[str, ...]
) -> Any:
    """Make fresh values of frozen data; secrets that come to `at` in the record are marked."""
    loaded: dict[int, Any] = {}
    for place, ref, inside in ref_places(frozen):
        loaded[id(ref)] = value = await _call_loader(frame, ref)
        if not inside:
            _refuse_chosen_secret(frame, ref, value)
        loader = registered("loader", ref.loader)
        if inside or (loader is not None and takes_of(loader).gives_secret):
            copy_plain(Secret(value), needles=NEEDLES, rank=Rank.FOUND)
            frame.sensitive.append((*at, *place))
    return thaw(frozen, hint, load=lambda ref: loaded[id(ref)], where=where)


def _refuse_chosen_secret(frame: Frame, ref: Ref, value: Any) -> None:
    """Refuse a secret that only an agent's ref brings to an open place; what it passes chose it."""
    if not frame.plan.written_by_agents:
        return
    entries = [entry for entry in frame.plan.reached.values() if entry is not None]
    if ref in refs_of_agents(entries) and holds_secret(value):
        raise RequestError(
            "cannot_run",
            f"loader {ref.loader!r} gave a secret: only the person says where it goes.",
        )


async def check_complete(frame: Frame) -> None:
    """Refuse to run, by `cannot_run`, if the variant's condition for loading does not hold."""
    condition = frame.plan.variant.loaders_complete_when
    if isinstance(condition, str):
        derive = registered("derived", condition)
        if derive is None:
            raise RequestError("cannot_run", REGISTRY.missing("derived", condition))
        frame.doing = {"derived": condition}
        if not await frame.value_of(derive(frame.state)):
            raise RequestError("cannot_run", f"Loading is not complete: {condition} is not true.")
        frame.doing = {}
        return
    came = {emitted.id for emitted in frame.scope.emitted}
    if missing := [name for name in condition or () if name not in came]:
        there = f"there came {', '.join(sorted(came))}" if came else "no effect came"
        raise RequestError(
            "cannot_run", f"Loading is not complete: {', '.join(missing)} did not come; {there}."
        )


async def _call_loader(frame: Frame, ref: Ref) -> Any:
    load = registered("loader", ref.loader)
    if load is None:
        raise RequestError("cannot_run", REGISTRY.missing("loader", ref.loader))
    kwargs: Mapping[str, Any] = thaw_data(ref.kwargs, "ref")
    before = frame.doing
    frame.doing = {**before, "loader": ref.loader}
    loaded = await begin(frame, load(**kwargs), f"Loader {ref.loader!r}")
    frame.doing = before
    return loaded
