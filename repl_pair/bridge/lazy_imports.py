"""Imports that load late: sockets and process scans, at the first call that needs a kernel.

A server answers its first list of tools before it attaches, so it must not wait for these. Each
function here does no more than import and call.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.link import Link

if TYPE_CHECKING:
    from repl_pair.bridge.kernels.discover import FoundKernel
    from repl_pair.bridge.link.status_probe import StatusProbe


def discover_kernels() -> "Sequence[FoundKernel]":
    """Return every kernel of this machine with where it was found."""
    from repl_pair.bridge.kernels import discover

    return discover.discover_kernels()


def find_kernel(path: str) -> KernelInfo | None:
    """Return the kernel of one connection file."""
    from repl_pair.bridge.kernels import discover

    return discover.find_kernel(path)


def make_status_probe() -> "StatusProbe":
    """Return a probe that reads the status of kernels without attaching."""
    from repl_pair.bridge.link import status_probe

    return status_probe.StatusProbe()


def link_to(kernel: KernelInfo, *, principal: str = "agent", inject: bool = False) -> Link:
    """Return a link to a kernel; it attaches at its first request."""
    from repl_pair.bridge.link.kernel_link import KernelLink

    return KernelLink(kernel, principal=principal, inject=inject)


def link_here() -> Link:
    """Return a link to the runtime of this process."""
    from repl_pair.bridge.link.direct_link import DirectLink

    return DirectLink()
