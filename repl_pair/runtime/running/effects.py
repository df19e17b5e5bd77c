"""Effects: what a component does outside itself, by id; recorded in a run, or stubbed."""

import inspect
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from repl_pair.errors import AuthoringError, ReplPairError, RequestError, did_you_mean
from repl_pair.records import holding
from repl_pair.runtime.authoring.decorator_uses import RAISE
from repl_pair.runtime.authoring.entries import function_kind
from repl_pair.runtime.registry.outcomes import Dependency, EffectRecord, dependency_on
from repl_pair.runtime.registry.registry import REGISTRY, registered
from repl_pair.runtime.running.copies import copy_containers
from repl_pair.runtime.running.responses import Responses, resolve_dotted
from repl_pair.runtime.running.stubs import stub
from repl_pair.runtime.secrets.places import secret_args, secret_results
from repl_pair.runtime.values.classes import is_awaitable
from repl_pair.runtime.values.frozen import sensitive_paths
from repl_pair.runtime.values.paths import Place


class Scope:
    """The effects of one run; `fault` is the first refusal, which the component may catch."""

    def __init__(self) -> None:
        self.overrides: list[Responses] = []
        self.fault: ReplPairError | None = None
        self._emitted: dict[object, EffectRecord] = {}
        self._declared: dict[object, Sequence[Place]] = {}
        self.originals: dict[str, Callable[..., Any]] = {}
        self._lock = threading.Lock()

    def emit(self, id: str, payload: Mapping[str, Any], *, stubbed: bool) -> Callable[[Any], None]:
        """Record one effect; the function returned records its response."""
        emitted = EffectRecord(id=id, payload=copy_containers(payload), stubbed=stubbed)
        key = object()
        with self._lock:
            self._emitted[key] = emitted

        def record_response(response: Any) -> None:
            answered = replace(emitted, response=copy_containers(response))
            with self._lock:
                if key in self._emitted:
                    self._emitted[key] = answered

        return record_response

    @property
    def emitted(self) -> tuple[EffectRecord, ...]:
        """The effects so far."""
        with self._lock:
            return tuple(self._emitted.values())

    def forget(self) -> None:
        """Forget the effects so far; a response that comes later is forgotten too."""
        with self._lock:
            self._emitted.clear()
            self._declared.clear()

    def answer(self, responses: Responses, payload: Mapping[str, Any]) -> Callable[[], Any]:
        """Record an effect and its next response; the function returned returns or raises that."""
        record_response = self.emit(responses.effect, payload, stubbed=True)
        with self.noting_refusals():
            return responses.take(record_response)

    @contextmanager
    def noting_refusals(self) -> Generator[None]:
        """Keep the first refusal, which the component may catch."""
        try:
            yield
        except ReplPairError as error:
            self.fault = self.fault or error
            raise

    def secrets(self) -> Iterator[tuple[str, ...]]:
        """Return the places in `emitted` that the functions of the effects declare secret."""
        with self._lock:
            every = list(self._emitted.items())
        for place, (key, one) in enumerate(every):
            # Each assertion asks, and a run may emit many.
            if key not in self._declared:
                self._declared[key] = self._declared_in(one)
            yield from ((str(place), *path) for path in self._declared[key])

    def _declared_in(self, one: EffectRecord) -> Sequence[Place]:
        do = self.originals.get(one.id) or registered("effect", one.id)
        payload = sensitive_paths(one.payload) if do is None else secret_args(do, one.payload)
        given = () if do is None else secret_results(do)
        return [("payload", *path) for path in payload] + [("response", *path) for path in given]

    def dependencies(self) -> Iterator[Dependency]:
        """Return the entries that did what was emitted and not stubbed."""
        for id in sorted({one.id for one in self.emitted if not one.stubbed}):
            yield dependency_on("effect", id, REGISTRY.find("effect", id))


_SCOPE: ContextVar[Scope | None] = ContextVar("repl_pair_effects", default=None)


class _Effect:
    """Emits effects; `effect.impl(id)` registers what they do."""

    def __call__(self, id: str, /, **payload: Any) -> Any:
        """Call the function that is registered for an effect, or return the run's response.

        Awaitable where the implementation is a coroutine function, stubbed or not; `later` always.
        """
        id, scope = str(id), _SCOPE.get()
        if scope is None:
            return _implementation(id)(**payload)
        responses = next((one for one in reversed(scope.overrides) if one.effect == id), None)
        if responses is None:
            record_response = scope.emit(id, payload, stubbed=False)
            with scope.noting_refusals():
                do = _implementation(id)
            return _do_and_record(do, payload, record_response)
        respond = scope.answer(responses, payload)

        async def respond_later() -> Any:
            return respond()

        return respond_later() if _is_async(id) else respond()

    async def later(self, id: str, /, **payload: Any) -> Any:
        """Do the same when it is awaited, also where the effect is stubbed or synchronous."""
        given = self(id, **payload)
        return await given if is_awaitable(given) else given

    impl = staticmethod(
        function_kind("effect", "Register a function that does what an effect says.")
    )

    def __repr__(self) -> str:
        return "repl_pair.effect"


effect = _Effect()
"""Emits an effect: `effect("mail/send", to="a@b.c")`; `@effect.impl("mail/send")` does it.

A coroutine awaits `effect.later("mail/send", to="a@b.c")`, also where nothing does it yet.
"""


@contextmanager
def effects_of_run() -> Generator[Scope]:
    """Record the effects of this block, and of what it starts, apart from all others."""
    scope = Scope()
    with holding(_SCOPE, scope):
        yield scope


@contextmanager
def overridden(scope: Scope, overrides: Iterable[Responses]) -> Generator[None]:
    """Apply overrides in a run, from the outermost in; the last one of an effect is used."""
    with ExitStack() as stack:
        for responses in overrides:
            if "." in responses.effect:
                _enter_stub(stack, scope, responses)
            else:
                scope.overrides.append(responses)
                stack.callback(scope.overrides.remove, responses)
        yield


def _enter_stub(stack: ExitStack, scope: Scope, responses: Responses) -> None:
    original = resolve_dotted(responses.effect)
    scope.originals.setdefault(responses.effect, original)

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return scope.answer(responses, _payload(original, args, kwargs))()

    try:
        stack.enter_context(stub(responses.effect, stand_in))
    except AuthoringError as error:
        raise RequestError("cannot_run", error.message) from error


def _implementation(id: str) -> Callable[..., Any]:
    do = registered("effect", id)
    if do is None:
        raise RequestError(
            "cannot_run",
            f"Nothing does the effect {id!r}.{did_you_mean(id, REGISTRY.ids('effect'))} Register "
            f"it with @repl_pair.effect.impl({id!r}), or answer for it in the run with a "
            "decorator of kind fx_override.",
            detail={"effect": id},
        )
    return do


def _do_and_record(
    fn: Callable[..., Any], payload: Mapping[str, Any], record_response: Callable[[Any], None]
) -> Any:
    with _record_error(record_response):
        value = fn(**payload)
    if not is_awaitable(value):
        record_response(value)
        return value

    async def later() -> Any:
        with _record_error(record_response):
            found = await value
        record_response(found)
        return found

    return later()


@contextmanager
def _record_error(record_response: Callable[[Any], None]) -> Generator[None]:
    try:
        yield
    except Exception as error:
        record_response({RAISE: type(error).__name__})
        raise


def _payload(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments by name, as far as its signature names them, without `self`."""
    try:
        given = dict(inspect.signature(original).bind_partial(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {"args": list(args), **kwargs}
    return {name: value for name, value in given.items() if name not in ("self", "cls")}


def _is_async(id: str) -> bool:
    do = registered("effect", id)
    return any(map(inspect.iscoroutinefunction, (do, type(do).__call__)))
