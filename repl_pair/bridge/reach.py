"""The ways to a kernel that cost: sockets and process scans, loaded when a call first needs one.

A server answers its first list of tools before it attaches, so it does not wait for these imports.
"""

from collections.abc import Sequence

from repl_pair.bridge.link import KernelInfo, Link


def scan_kernels() -> Sequence[KernelInfo]:
    """Give every kernel that is found, living ones first."""
    from repl_pair.bridge.discover import find_kernels

    return find_kernels()


def look_at(path: str) -> KernelInfo | None:
    """Give the kernel of one connection file."""
    from repl_pair.bridge.discover import find_kernel

    return find_kernel(path)


def link_to(kernel: KernelInfo) -> Link:
    """Give a link to a kernel; it attaches at its first request."""
    from repl_pair.bridge.kernel_link import KernelLink

    return KernelLink(kernel)


def link_here() -> Link:
    """Give a link to the runtime of this process."""
    from repl_pair.bridge.direct_link import DirectLink

    return DirectLink()
