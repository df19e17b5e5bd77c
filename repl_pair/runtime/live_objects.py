"""Live objects: variants that stay open and take events until they are closed."""

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.dispatched import about_to_send, tell
from repl_pair.runtime.dispatching import dispatch
from repl_pair.runtime.frame import Frame
from repl_pair.runtime.openings import Opening, open_variant
from repl_pair.runtime.phases import show_figures
from repl_pair.runtime.plan import plan_variant


class Live:
    """A variant that was set up, loaded and rendered, and takes events until it is closed."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._finalizer = weakref.finalize(
            self, opening.close_with_warning, "nothing refers to it any more; close() it"
        )
        self._finalizer.atexit = False

    @property
    def variant_id(self) -> str:
        """Name the variant."""
        return self._opening.plan.variant_id

    @property
    def is_open(self) -> bool:
        """Tell whether it takes events."""
        return self._opening.is_open

    @property
    def result(self) -> Any:
        """What the component returned; of a class, the instance."""
        return self._opening.frame.result

    @property
    def state(self) -> Any:
        """What the story projects of the live object, or that object itself."""
        return self._opening.enter(lambda: self._opening.frame.state)

    @property
    def outputs(self) -> tuple[Mapping[str, Any], ...]:
        """The MIME bundles that render, or the last dispatch, showed."""
        return self._opening.frame.captured.bundles()

    @property
    def stdout(self) -> str:
        """What render, or the last dispatch, printed."""
        return self._opening.frame.captured.text("stdout")

    def dispatch(self, name: str, /, **payload: Any) -> Any:
        """Dispatch one event and give what its handler gave, or raise what it raised.

        A closed one refuses with RequestError `cannot_run`.
        """
        opening = self._opening
        if not opening.is_open:
            raise RequestError("cannot_run", f"The live object of {self.variant_id} is closed.")
        sent = about_to_send(opening.plan, id(opening), opening.frame.live, [name, payload])
        seen = len(opening.frame.events)
        raised = ""
        try:
            opening.walk(lambda: _send(opening.frame, name, payload))
        except BaseException as error:
            raised = type(error).__name__
            raise
        finally:
            if len(opening.frame.events) > seen:
                tell(sent, raised)
        return opening.frame.last

    def close(self) -> None:
        """Tear down: loaders and decorators clean up. Closing twice does nothing."""
        self._finalizer.detach()
        self._opening.close()

    def __enter__(self) -> "Live":
        """Give the live object; the end of the block closes it."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        return f"<live {self.variant_id}, {'open' if self.is_open else 'closed'}>"


def live(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Live:
    """Open a variant and leave it open: it is set up, loaded and rendered; no play runs.

    Its object takes events by `dispatch(name, **payload)` until `close()` or the end of its `with`
    block. What opening raises is raised here, when what was put in is out again.
    """
    plan = plan_variant(variant_id, modes=modes, overrides=overrides, plays=())
    return Live(open_variant(plan))


def opening_of(one: Live) -> object:
    """Give what `Dispatched.opening` says of a live object."""
    return id(one._opening)  # pyright: ignore[reportPrivateUsage]  the two are one thing


async def _send(frame: Frame, name: str, payload: Mapping[str, Any]) -> None:
    frame.doing = {}
    try:
        frame.last = await dispatch(frame, [name, dict(payload)])
    finally:
        show_figures(frame)
