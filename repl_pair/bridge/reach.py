"""The ways to a kernel that cost: sockets and process scans, loaded when a call first needs one.

A server answers its first list of tools before it attaches, so it does not wait for these imports.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.link import Link
from repl_pair.wire import View, raise_for_error

if TYPE_CHECKING:
    from repl_pair.bridge.kernels.discover import Sighting
    from repl_pair.bridge.link.glance import Glances, Seen


def scan_kernels() -> Sequence[KernelInfo]:
    """Return every kernel that is found, living ones first."""
    from repl_pair.bridge.kernels.discover import find_kernels

    return find_kernels()


def sight() -> "Sequence[Sighting]":
    """Return every kernel that is found, with what it takes to look closer."""
    from repl_pair.bridge.kernels.discover import sight_kernels

    return sight_kernels()


def open_glances() -> "Glances":
    """Return what looks at kernels without attaching."""
    from repl_pair.bridge.link.glance import Glances

    return Glances()


async def glance_here(link: Link) -> "Seen":
    """Return the kernel of a link into this process with how it is."""
    from repl_pair.bridge.link.glance import read_ping

    reply = await link.request("ping", {}, view=View())
    return link.kernel, read_ping(raise_for_error(reply))


def look_at(path: str) -> KernelInfo | None:
    """Return the kernel of one connection file."""
    from repl_pair.bridge.kernels.discover import find_kernel

    return find_kernel(path)


def link_to(kernel: KernelInfo, *, principal: str = "agent", inject: bool = False) -> Link:
    """Return a link to a kernel; it attaches at its first request."""
    from repl_pair.bridge.link.kernel_link import KernelLink

    return KernelLink(kernel, principal=principal, inject=inject)


def link_here() -> Link:
    """Return a link to the runtime of this process."""
    from repl_pair.bridge.link.direct_link import DirectLink

    return DirectLink()
