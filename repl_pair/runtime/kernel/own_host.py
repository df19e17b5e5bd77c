"""The person's watches, and a host of our own where no agent's takes the runs of them."""

from typing import TYPE_CHECKING

from repl_pair.errors import RequestError
from repl_pair.records import Undo
from repl_pair.runtime.clients.own_calls import OWN_CALLS, PERSON
from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.sweeps.watching import WATCHES, Callback, Watch
from repl_pair.wire import View

if TYPE_CHECKING:
    from repl_pair.runtime.kernel.lanes import Lanes


def watch(variant_id: str, callback: Callback | None = None) -> Undo:
    """Run a variant again whenever a cell or registration changes what it is, until the undo.

    Nothing runs now. `callback` gets each record; what it raises becomes a warning. A change that
    touches neither hash, such as of a comment, runs nothing. `%pair detach` ends it too.
    """
    id = REGISTRY.get("variant", variant_id).id
    if not can_serve_own_calls():
        raise RequestError(
            "cannot_run",
            "This kernel runs nothing between cells unless an agent is attached: %pair attach.",
        )
    return WATCHES.add(
        Watch(
            owner=PERSON,
            what=id,
            choose=lambda: (id,),
            view=View(),
            told=callback,
            serve=serve_own_calls,
        )
    )


def serve_own_calls() -> Undo | None:
    """Make sure that somebody takes errands; None where this kernel runs nothing between cells.

    The undo closes the host that was made for it, if one was.
    """
    if OWN_CALLS.has_handler:
        return _nothing
    lanes = _own_lanes()
    if lanes is None:
        return None
    # Only who has something run without an agent pays for a host.
    from repl_pair.runtime.kernel.host import Host

    return Host(lanes=lanes, publish=lambda _event: None).close


def can_serve_own_calls() -> bool:
    """Return whether `serve_own_calls` would find or make somebody."""
    return OWN_CALLS.has_handler or _own_lanes() is not None


def _nothing() -> None:
    return None


def _own_lanes() -> "Lanes | None":
    kernel = getattr(interactive_shell(), "kernel", None)
    if kernel is None:
        from repl_pair.runtime.kernel.lanes import LocalLanes  # see serve_own_calls

        return LocalLanes()
    if getattr(kernel, "_main_asyncio_lock", None) is None:
        return None
    from repl_pair.runtime.kernel.kernel_lanes import KernelLanes  # see serve_own_calls

    return KernelLanes(kernel)
