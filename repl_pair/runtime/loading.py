"""Loaders: they make what data cannot hold, and clean up after the run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.around import begin
from repl_pair.runtime.frame import Frame
from repl_pair.runtime.hints import gives_secret, parameter_hints
from repl_pair.runtime.nodes import Ref, Secret
from repl_pair.runtime.plain import ref_places, refs_in
from repl_pair.runtime.plain_copy import copy_plain
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secrets import NEEDLES
from repl_pair.runtime.thaw import thaw, thaw_data


async def load_args(frame: Frame) -> dict[str, Any]:
    """Call the loaders, then rebuild the args with today's classes."""
    for name in frame.plan.variant.loaders:
        await _call_loader(frame, Ref(name))
    hints = parameter_hints(frame.plan.component)
    return {
        name: await load_data(
            frame,
            value,
            f"args.{name}",
            hint=hints.get(name, Any),
            at=("effective_args", name),
        )
        for name, value in frame.plan.args.items()
    }


async def load_data(
    frame: Frame, frozen: Any, where: str, *, hint: Any = Any, at: tuple[str, ...]
) -> Any:
    """Make fresh values of frozen data, and what its refs stand for: one loader call each.

    `at` is the place in the record; what is loaded there and secret is learned and marked.
    """
    loaded = [(ref, await _call_loader(frame, ref)) for ref in refs_in(frozen)]
    if loaded:
        _learn_loaded(frame, frozen, loaded, at)
    return thaw(frozen, hint, load=_answer(loaded), where=where)


async def check_complete(frame: Frame) -> None:
    """Refuse to go on where the variant's condition for loading does not hold, before any event."""
    condition = frame.plan.variant.loaders_complete_when
    if condition is None:
        return
    if isinstance(condition, str):
        await _check_derived(frame, condition)
    else:
        _check_came(frame, condition)


async def _check_derived(frame: Frame, name: str) -> None:
    entry = REGISTRY.find("derived", name)
    if entry is None:
        raise RequestError("cannot_run", REGISTRY.missing("derived", name))
    frame.doing = {"derived": name}
    if not await frame.value_of(entry.body.component.resolve()(frame.state)):
        raise RequestError("cannot_run", f"Loading is not complete: {name} is not true.")
    frame.doing = {}


def _check_came(frame: Frame, names: Sequence[str]) -> None:
    came = {emitted.id for emitted in frame.scope.emitted}
    if missing := [name for name in names if name not in came]:
        there = f"there came {', '.join(sorted(came))}" if came else "no effect came"
        raise RequestError(
            "cannot_run",
            f"Loading is not complete: {', '.join(missing)} did not come; {there}.",
        )


async def _call_loader(frame: Frame, ref: Ref) -> Any:
    """Call one loader; a generator's end is left for teardown."""
    entry = REGISTRY.find("loader", ref.loader)
    if entry is None:
        raise RequestError("cannot_run", REGISTRY.missing("loader", ref.loader))
    kwargs: Mapping[str, Any] = thaw_data(ref.kwargs, "ref")
    before = frame.doing
    frame.doing = {**before, "loader": ref.loader}
    made = entry.body.component.resolve()(**kwargs)
    loaded = await begin(frame, made, f"Loader {ref.loader!r}")
    frame.doing = before
    return loaded


def _learn_loaded(
    frame: Frame, frozen: Any, loaded: Sequence[tuple[Ref, Any]], at: tuple[str, ...]
) -> None:
    """Learn what stands in a Secret, and what a loader says is secret; mark its place."""
    answer = _answer(loaded)
    for place, ref, inside in ref_places(frozen):
        entry = REGISTRY.find("loader", ref.loader)
        if inside or (entry is not None and gives_secret(entry.body.component.resolve())):
            copy_plain(Secret(answer(ref)), needles=NEEDLES)
            frame.sensitive.append((*at, *place))


def _answer(loaded: Sequence[tuple[Ref, Any]]) -> Callable[[Ref], Any]:
    """Answer each ref with its own value, each time the same one."""
    return lambda wanted: next(value for ref, value in loaded if ref is wanted)
