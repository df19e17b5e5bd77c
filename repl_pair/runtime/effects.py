"""What a component does to the world, by name: recorded in a run, and answered where stubbed."""

import builtins
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any, cast

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.authoring import function_kind
from repl_pair.runtime.nodes import Ref
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.run_record import EffectRecord
from repl_pair.runtime.thaw import thaw

RAISE = "$raise"
"""Heads a response that is raised: `{"$raise": "TimeoutError", "message": "too slow"}`."""


@record
class Override:
    """What answers for an effect: its id, or a dotted Python name, and the responses in order.

    The last response is given again and again where it `repeats`.
    """

    effect: str
    responses: tuple[Any, ...]
    repeats: bool = True


class Answers:
    """The responses of one override, each taken once."""

    def __init__(self, override: Override) -> None:
        self.effect = override.effect
        self._override = override
        self._taken = 0

    def take(self) -> Any:
        """Give the next response, fresh; RequestError `cannot_run` when they ran out."""
        responses = self._override.responses
        last = len(responses) - 1
        index = min(self._taken, last) if self._override.repeats else self._taken
        self._taken += 1
        if index > last:
            raise RequestError(
                "cannot_run",
                f"The responses to effect {self.effect!r} ran out: {len(responses)} were given, "
                f"and this is call {self._taken}.",
            )
        return thaw(responses[index], Any, load=_no_refs, where=f"response to {self.effect}")


class Scope:
    """The effects of one run: who answers for them, and what was emitted."""

    def __init__(self) -> None:
        self.answers: list[Answers] = []
        self.emitted: list[EffectRecord] = []

    def answer_for(self, id: str) -> Answers | None:
        """Give what answers for an effect: the innermost override of it."""
        return next((one for one in reversed(self.answers) if one.effect == id), None)

    def emit(self, id: str, payload: Mapping[str, Any], *, stubbed: bool) -> Callable[[Any], None]:
        """Record one effect; the function given takes its response."""
        index = len(self.emitted)
        self.emitted.append(EffectRecord(id=id, payload=payload, stubbed=stubbed))

        def answered(response: Any) -> None:
            self.emitted[index] = replace(self.emitted[index], response=response)

        return answered


_SCOPE: ContextVar[Scope | None] = ContextVar("repl_pair_effects", default=None)


class _Effect:
    """Emits effects; `effect.impl(id)` registers what they do."""

    def __call__(self, id: str, /, **payload: Any) -> Any:
        """Do what is registered for an effect, or give the response that a run has for it.

        Awaitable where the implementation is a coroutine function, stubbed or not.
        """
        id, scope = str(id), _SCOPE.get()
        if scope is None:
            return _implementation(id)(**payload)
        answers = scope.answer_for(id)
        answered = scope.emit(id, payload, stubbed=answers is not None)
        if answers is None:
            return _recorded(_implementation(id)(**payload), answered)
        entry = REGISTRY.find("effect", id)
        is_later = entry is not None and _is_later(entry.body.component.resolve())
        return _respond_later(answers, answered) if is_later else _respond(answers, answered)

    impl = staticmethod(
        function_kind("effect", "Register a function that does what an effect says.")
    )

    def __repr__(self) -> str:
        return "repl_pair.effect"


effect = _Effect()
"""Emits an effect: `effect("mail/send", to="a@b.c")`; `@effect.impl("mail/send")` does it."""


@contextmanager
def effects_of_run() -> Generator[Scope]:
    """Record the effects of this block, and of what it starts, apart from all others."""
    scope = Scope()
    token = _SCOPE.set(scope)
    try:
        yield scope
    finally:
        _SCOPE.reset(token)


@contextmanager
def overridden(scope: Scope, overrides: Iterable[Override]) -> Generator[None]:
    """Let overrides answer in a run, from the outermost in; the last one of an effect wins."""
    with ExitStack() as stack:
        for override in overrides:
            answers = Answers(override)
            if "." in override.effect:
                stack.enter_context(_stubbed(scope, answers))
            else:
                scope.answers.append(answers)
                stack.callback(scope.answers.remove, answers)
        yield


def _stubbed(scope: Scope, answers: Answers) -> Any:
    """Put answers in the place of a Python function, for this run alone."""
    # Only runs that stub a Python name pay for the dispatcher.
    from repl_pair.runtime.stubs import stub

    original = _resolve(answers.effect)

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        payload = _payload(original, args, kwargs)
        return _respond(answers, scope.emit(answers.effect, payload, stubbed=True))

    return stub(answers.effect, stand_in)


def _implementation(id: str) -> Callable[..., Any]:
    entry = REGISTRY.find("effect", id)
    if entry is None:
        raise RequestError(
            "cannot_run",
            f"Nothing does the effect {id!r}.{did_you_mean(id, REGISTRY.ids('effect'))} Register "
            f"it with @repl_pair.effect.impl({id!r}), or answer for it in the run with a "
            "decorator of kind fx_override.",
            detail={"effect": id},
        )
    return entry.body.component.resolve()


def _recorded(value: Any, answered: Callable[[Any], None]) -> Any:
    if not inspect.isawaitable(value):
        answered(value)
        return value

    async def later() -> Any:
        found = await value
        answered(found)
        return found

    return later()


def _respond(answers: Answers, answered: Callable[[Any], None]) -> Any:
    response = answers.take()
    answered(response)
    if isinstance(response, Mapping) and RAISE in response:
        raise _exception(cast("Mapping[str, Any]", response))
    return cast("Any", response)


async def _respond_later(answers: Answers, answered: Callable[[Any], None]) -> Any:
    return _respond(answers, answered)


def _exception(response: Mapping[str, Any]) -> Exception:
    """Make the exception that a response names, by its builtin or dotted name."""
    name = str(response[RAISE])
    cls: Any = getattr(builtins, name, None) if "." not in name else _resolve(name)
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        raise RequestError(
            "cannot_run", f"{name!r} in a response is no exception; name one, as in TimeoutError."
        )
    message = response.get("message")
    return cls() if message is None else cls(message)


def _resolve(name: str) -> Any:
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError("cannot_run", f"There is nothing at {name!r}: {error}.") from error


def _payload(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Give a call's arguments by name, as far as the function says them."""
    try:
        return dict(inspect.signature(original).bind_partial(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {"args": list(args), **kwargs}


def _is_later(fn: Any) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)


def _no_refs(ref: Ref) -> Any:
    raise RequestError("cannot_run", f"ref({ref.loader!r}) stands where only data may.")
