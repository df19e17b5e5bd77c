"""Variants that were opened: each in a context of its own, until it is closed."""

import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from repl_pair.errors import RequestError
from repl_pair.records import Undo
from repl_pair.runtime.capture.capture import capture
from repl_pair.runtime.capture.captured import CAPTURED, Captured
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.running.copies import copy_live
from repl_pair.runtime.running.effects import effects_of_run
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.phases import PHASES, tear_down
from repl_pair.runtime.secrets.raised import text_of_raised
from repl_pair.runtime.secrets.renderings import leaving_form
from repl_pair.runtime.stopping.awaiting import await_together
from repl_pair.runtime.stopping.loops import drive, on_private_loop
from repl_pair.runtime.stopping.stop import STOPS, defer_stops, this_section, while_live
from repl_pair.runtime.store import STORE, Change

T = TypeVar("T")


class LiveObjectClosed(UserWarning):
    """A live object was closed for the person, who had left it open."""


@dataclass(kw_only=True, eq=False, repr=False)
class Opening:
    """The state of a live object: the frame of its run, and the context that its code runs in.

    Effects, stubs and what its decorators set apply in that context alone, so code that runs
    between two dispatches does not see them.
    """

    plan: Plan
    frame: Frame
    context: Context
    held: ExitStack = field(default_factory=ExitStack)
    lock: Any = field(default_factory=threading.RLock)
    is_busy: bool = False
    is_open: bool = True

    def enter(self, work: Callable[[], T]) -> T:
        """Do work in the context of the opening; RequestError `cannot_run` from inside itself."""
        with self.lock:
            self.check_idle()
            try:
                self.is_busy = True
                return self.context.run(work)
            finally:
                self.is_busy = False

    def check_idle(self) -> None:
        """Refuse with `cannot_run` what comes from inside a dispatch."""
        if self.is_busy:
            raise RequestError(
                "cannot_run", f"The live object of {self.plan.variant_id} is in a dispatch."
            )

    def walk(self, steps: Callable[[], Any]) -> None:
        """Walk asynchronous steps on this thread; what they put out is taken while they last."""
        section = this_section()

        def captured_steps() -> None:
            section.enter()
            exclusive = threading.current_thread() is threading.main_thread()
            with capture(exclusive=exclusive, leaving=leaving_form) as self.frame.captured:
                drive(while_live(section, steps))

        with defer_stops():
            self.enter(captured_steps)

    def close(self) -> None:
        """Tear down and leave; what was patched is put back. Closing twice does nothing."""
        with self.lock:
            if not self.is_open:
                return
            self.check_idle()
            self.is_open = False
            with _lock:
                _OPENINGS.pop(id(self), None)
                while _SUBSCRIPTION and not _OPENINGS:
                    _SUBSCRIPTION.pop()()
            try:
                self.walk(lambda: tear_down(self.frame))
            finally:
                self.enter(self.held.close)

    def close_with_warning(self, why: str) -> None:
        """Close what the person left open, with a warning to them."""
        if not self.is_open:
            return
        try:
            self.close()
        except STOPS:
            raise
        except Exception as error:  # noqa: BLE001  there is no caller to raise it in
            why = f"{why}; its teardown raised {text_of_raised(error)}"
        copy_context().run(_warn, f"The live object of {self.plan.variant_id} was closed: {why}.")


def open_variant(plan: Plan) -> Opening:
    """Set up, load and render; what that raises is raised after the teardown."""
    context, held = copy_context(), ExitStack()
    scope = context.run(held.enter_context, effects_of_run())
    context.run(held.enter_context, await_together())
    frame = Frame(plan=plan, wait_for=on_private_loop, captured=Captured(leaving_form), scope=scope)
    opening = Opening(plan=plan, frame=frame, context=context, held=held)
    try:
        opening.walk(lambda: _open(frame))
    except BaseException:
        opening.close()
        raise
    with _lock:
        _OPENINGS[id(opening)] = opening
        if not _SUBSCRIPTION:
            _SUBSCRIPTION.append(STORE.subscribe(_close_unregistered))
    return opening


def openings_of(variant_id: str) -> list[Opening]:
    """Return the openings of a variant."""
    return [one for one in tuple(_OPENINGS.values()) if one.plan.variant_id == variant_id]


def close_all(variant_id: str, why: str) -> int:
    """Close all openings of a variant with a warning; return how many there were."""
    openings = openings_of(variant_id)
    for opening in openings:
        # The person's filters may turn the warning into an exception.
        with suppress(LiveObjectClosed):
            opening.close_with_warning(why)
    return len(openings)


async def _open(frame: Frame) -> None:
    try:
        for name, walk in PHASES.items():
            if name not in ("play", "teardown"):
                await walk(frame)
    except BaseException as error:
        frame.failure = error
        raise
    if not frame.is_class:
        # Events change this copy, and the result stays as it was.
        frame.live = copy_live(frame.result)


def _warn(message: str) -> None:
    CAPTURED.set(None)
    warnings.warn(message, LiveObjectClosed, stacklevel=5)


_OPENINGS: dict[int, Opening] = {}
_SUBSCRIPTION: list[Undo] = []
_lock = threading.Lock()


def _close_unregistered(change: Change) -> None:
    if change.member != KINDS["variant"].collection or change.change == "put":
        return
    ids = {one.plan.variant_id for one in tuple(_OPENINGS.values())}
    for id in sorted(id for id in ids if REGISTRY.find("variant", id) is None):
        close = partial(close_all, id, "its variant is no longer registered")
        # A request thread must not run the person's code.
        if threading.current_thread() is threading.main_thread():
            close()
        else:
            start_thread(close, name="closing", runs_cells=True)
