"""The kernel's busy and idle: ours are kept off iopub, so that they are the person's alone."""

from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.wire import ATTACH, CANCEL, LEAVE, REQUEST

Undo = Callable[[], None]

_OURS = frozenset({ATTACH, CANCEL, LEAVE, REQUEST})


def keep_quiet(kernel: Any) -> Undo:
    """Publish no status for our control messages, until the undo.

    Front ends and servers take each status for that of the person's cell: an `idle` in the middle
    of it lets Jupyter's culler end the kernel. The message that brought us, while a cell runs, ends
    without its `idle` too.
    """
    publish = kernel._publish_status
    bringing = _header(kernel).get("msg_id") if kernel._main_asyncio_lock.locked() else None

    def publish_others(status: str, channel: str, parent: Any = None) -> None:
        if channel != "control" or not is_ours(_header(kernel)):
            publish(status, channel, parent)

    def is_ours(header: Mapping[str, Any]) -> bool:
        brings_us = bringing is not None and header.get("msg_id") == bringing
        return brings_us or header.get("msg_type") in _OURS

    kernel._publish_status = publish_others

    def restore() -> None:
        # Whoever wrapped ours keeps it.
        if kernel.__dict__.get("_publish_status") is publish_others:
            del kernel._publish_status

    # The message that takes us out ends with an `idle` of its own.
    return lambda: kernel.control_thread.io_loop.add_callback(restore)


def _header(kernel: Any) -> Mapping[str, Any]:
    """Give the header of the message that the control thread handles."""
    return kernel.get_parent("control").get("header", {})
