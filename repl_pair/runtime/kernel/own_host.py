"""The person's watches, and a host for own calls where no agent is attached."""

from repl_pair.errors import RequestError
from repl_pair.records import Undo
from repl_pair.runtime.clients.own_calls import OWN_CALLS, PERSON
from repl_pair.runtime.ipython import kernel_shell
from repl_pair.runtime.kernel.host import Host
from repl_pair.runtime.kernel.kernel_lanes import KernelLanes
from repl_pair.runtime.kernel.lanes import Lanes, LocalLanes
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.sweeps.watching import WATCHES, Callback, Watch
from repl_pair.wire import View


def watch(variant_id: str, callback: Callback | None = None) -> Undo:
    """Run a variant again whenever a cell or registration changes what it is, until the undo.

    Nothing runs now. `callback` gets each record; an exception of it becomes a warning. A change
    that alters neither hash, such as of a comment, runs nothing. `%pair detach` ends it too.
    RequestError `cannot_run` where this kernel runs nothing between cells.
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
            on_run=callback,
            serve=serve_own_calls,
        )
    )


def serve_own_calls() -> Undo | None:
    """Make sure that a host runs own calls; None where this kernel runs nothing between cells.

    The undo closes the host, if one was made for this.
    """
    if OWN_CALLS.has_handler:
        return lambda: None
    lanes = _own_lanes()
    if lanes is None:
        return None
    return Host(lanes=lanes, publish=lambda _event: None).close


def can_serve_own_calls() -> bool:
    """Return whether `serve_own_calls` would find or make a host."""
    return OWN_CALLS.has_handler or _own_lanes() is not None


def _own_lanes() -> Lanes | None:
    kernel = getattr(kernel_shell(), "kernel", None)
    if kernel is None:
        return LocalLanes()
    needed = (getattr(kernel, name, None) for name in ("_main_asyncio_lock", "io_loop"))
    return KernelLanes(kernel) if all(one is not None for one in needed) else None
