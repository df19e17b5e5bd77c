"""Which kernels there are for one session: those that it is bound to, and those that it started."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from repl_pair.bridge.kernel_info import KernelInfo, ProbedKernel, check_name
from repl_pair.bridge.kernels.processes import project_of
from repl_pair.bridge.kernels.target import choose_only, named, resolve
from repl_pair.bridge.link.link import Link
from repl_pair.records import Undo

if TYPE_CHECKING:
    from repl_pair.bridge.link.status_probe import StatusProbe


class SessionKernels:
    """The kernels that `target` names, and `within` names too where it names any, or `here`.

    Where nothing is named there are all. Those that the session started itself are there beside
    them, and taken only where they are named.

    A server lists its tools before it attaches, and must not wait for sockets and process scans:
    so what needs them is imported inside the methods.
    """

    def __init__(
        self, target: str | Sequence[str] | None, within: Sequence[str], here: Link | None
    ) -> None:
        names = [target] if isinstance(target, str) else target or ()
        bounds = (tuple(map(check_name, names)), tuple(map(check_name, within)))
        self._bounds = tuple(bound for bound in bounds if bound)
        self.target = next((names[0] for names in self._bounds if len(names) == 1), None)
        """The one kernel that there is for the session, where it is bound to one."""
        self._here = here
        self._own: dict[str, tuple[Link, Callable[[], bool]]] = {}
        self._probe: StatusProbe | None = None

    @property
    def are_bound(self) -> bool:
        """Whether the session is bound to kernels."""
        return bool(self._bounds)

    def adopt(self, link: Link, lives: Callable[[], bool]) -> Undo:
        """Have a kernel that the session started be there, until the undo; see `SessionLinks`."""
        path = link.kernel.path
        self._own[path] = link, lives
        return lambda: self._own.pop(path, None)

    def is_own(self, link: Link) -> bool:
        """Return whether a link leads to a kernel that the session started itself."""
        return link.kernel.path in self._own

    async def probe(self) -> Sequence[ProbedKernel]:
        """Return every kernel with its status, living ones first; attaches to none."""
        from repl_pair.bridge.link.status_probe import StatusProbe

        self._probe = self._probe or StatusProbe()
        if self._here:
            return [await self._probe.read_link(self._here)]
        return await self._probe.find(self._within, own=self._own_kernels())

    async def close(self) -> None:
        """Close what reads the status of kernels."""
        if self._probe:
            await self._probe.close()

    async def find(self, target: str | None, root: Path | None = None) -> KernelInfo:
        """Return the kernel that a name means, without one the only living one, in that project.

        KernelError `ambiguous_kernel`, `no_kernel`, `kernel_gone` or `kernel_unresponsive`.
        """
        from repl_pair.bridge.kernels import discovery

        kernels: Sequence[KernelInfo] = [self._here.kernel] if self._here else []
        given = self.target or target
        if not kernels and given is not None and os.path.isfile(os.path.expanduser(given)):
            kernel = await asyncio.to_thread(discovery.find_kernel, given)
            kernels = [kernel] if kernel else []
        kernels = kernels or await asyncio.to_thread(discovery.find_kernels)
        if not self._here:
            kernels = self._within(kernels)
        if target is None:
            if root is not None:
                kernels = [kernel for kernel in kernels if project_of(kernel.pid) == root]
            return choose_only(kernels)
        return resolve(target, [*kernels, *self._own_kernels()])

    def _own_kernels(self) -> Sequence[KernelInfo]:
        return [
            replace(link.kernel, alive=True)
            if lives()
            else replace(link.kernel, alive=False, pid=None)
            for link, lives in self._own.values()
        ]

    def _within(self, kernels: Sequence[KernelInfo]) -> Sequence[KernelInfo]:
        """Return those that there are for the session."""
        for names in self._bounds:
            given = [kernel for name in names for kernel in named(name, kernels)]
            kernels = [kernel for kernel in kernels if kernel in given]
        return kernels
