"""The links of one session: which kernel is chosen, and one link to each kernel that was called."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.target import may_have_ended
from repl_pair.bridge.link.link import Detachment, Link
from repl_pair.bridge.session_kernels import SessionKernels
from repl_pair.errors import KernelError
from repl_pair.records import Undo

if TYPE_CHECKING:
    from repl_pair.bridge.link.direct_link import DirectLink


Observer: TypeAlias = Callable[[Literal["held", "left"]], None]


class SessionLinks:
    """The kernels of one session, found when a call first needs one.

    Without `target`, the only living kernel is taken and kept: when it dies, or others come, no
    other is taken in its place. `target`, `within` and `here`, a link to this process, bound the
    kernels that there are for the session; see `SessionKernels`. `shared`: by several clients,
    whose lists must not rest on which calls came before them; so a list looks for the kernel too.
    """

    def __init__(
        self,
        target: str | Sequence[str] | None,
        *,
        principal: str,
        inject: bool,
        here: Link | None,
        within: Sequence[str] = (),
        shared: bool = False,
        root: Path | None = None,
    ) -> None:
        self.kernels = SessionKernels(target, within, here)
        self._shared = shared
        self._root = root
        self._principal = principal
        self._inject = inject
        self._here = self._held = here
        self._is_named = False
        self._ended: Link | None = None
        self._project: Link | None = None
        self._links = {here.kernel.path: here} if here else dict[str, Link]()
        self._choosing = asyncio.Lock()
        self._closed = False
        self._observers: dict[object, Observer] = {}

    async def get(
        self, kernel: str | None = None, *, hold: bool = False, root: Path | None = None
    ) -> Link:
        """Return the link to the named kernel, else the chosen one, else the only living one.

        That is the only one in the project at `root`, where one is given. `hold` chooses it for
        all later calls. `ambiguous_kernel`, `no_kernel`, `kernel_gone`.
        """
        async with self._choosing:
            self._check_open()
            target = kernel if kernel is not None or self._held else self.kernels.target
            if target is None and self._held:
                return self._held
            open_links = self._links.values()
            link = next((x for x in open_links if target in (x.kernel.id, x.kernel.path)), None)
            if link is None or (hold and not link.is_attached):  # its kernel may have ended
                found = await self.kernels.find(target, root)
                self._check_open()
                link = self._links.get(found.path)
                if link is None:
                    from repl_pair.bridge.link.kernel_link import KernelLink

                    link = KernelLink(found, principal=self._principal, inject=self._inject)
                    self._links[found.path] = link
            if (hold or kernel is None) and self._held is not link:
                self._held, self._is_named = link, target is not None
                self._report("held")
            return link

    async def get_project(self) -> Link:
        """Return the chosen kernel; where none runs and none was named, a link to this process.

        It is for ops that need the files of the project only, and is never chosen: as soon as a
        kernel runs, that one answers, and the link is closed; after its end was reported, this
        process answers again. A session that is bound to kernels has no other project. For one with
        a `root` a kernel that works in another project is none.
        """
        try:
            link = await self.get(root=self._root)
            await self._check_lives(link)
        except KernelError as error:
            if error.code != "no_kernel" or self.kernels.are_bound:
                raise
        else:
            left, self._project = self._project, None
            if left is not None:  # a work session that was begun there could not be stopped
                await left.close()
            return link
        async with self._choosing:
            if self._project is None:
                kind = await asyncio.to_thread(import_direct_link)
                self._check_open()
                self._project = kind()
            return self._project

    async def _check_lives(self, link: Link) -> None:
        """Raise `no_kernel` where a kernel that nobody named has ended and no other one lives.

        The first call after its end goes to it, so that a reply reports that.
        """
        if link is self._here or self._is_named or not may_have_ended(link.kernel):
            return
        if self._ended is not link:
            self._ended = link
            return
        try:
            await self.kernels.find(None, self._root)
        except KernelError as error:
            if error.code == "no_kernel":
                raise

    def adopt(self, link: Link, *, lives: Callable[[], bool]) -> Undo:
        """Have a kernel that the session started exist for it alone, until the undo.

        `lives` says whether its process does. Closing the link is the caller's matter.
        """
        path = link.kernel.path
        self._links[path] = link
        forget = self.kernels.adopt(link, lives)

        def disown() -> None:
            forget()
            self._links.pop(path, None)

        return disown

    def is_of_kernel(self, link: Link) -> bool:
        """Return whether a link leads to a kernel, where the person can be asked."""
        return link is not self._project

    async def leave(self, link: Link) -> Detachment:
        """Detach from a kernel, as `Link.leave`."""
        if link is self._held:
            self._report("left")
        return await link.leave()

    def observe(self, fn: Observer) -> Undo:
        """Call `fn` on the event loop, until the undo: `held` when another kernel is the held one.

        And `left` before this session detaches from it.
        """
        token = object()
        self._observers[token] = fn
        return lambda: self._observers.pop(token, None)

    def _report(self, what: Literal["held", "left"]) -> None:
        for fn in tuple(self._observers.values()):
            fn(what)

    @property
    def in_use(self) -> Link | None:
        """The link to the kernel that is held, unless it was left and not asked since."""
        return None if self._held is None or self._held.was_left else self._held

    @property
    def is_chosen(self) -> bool:
        """Whether a kernel was named or is in use; for a list no other one is looked for.

        Of a shared session: whether it has not left its kernel.
        """
        may_look = self._shared or self.kernels.target is not None
        return self.in_use is not None or (self._held is None and may_look)

    @property
    def is_to_be_called(self) -> bool:
        """Return whether a call needs no choice of a kernel: one it left is attached to again."""
        return self.is_chosen or self._held is not None

    @property
    def are_several(self) -> bool:
        """Return whether this session has called more than one kernel."""
        return len(self._links) > 1

    def attached(self, kernel: KernelInfo) -> Link | None:
        """Return the link of this session that is attached to that kernel."""
        link = self._links.get(kernel.path)
        return link if link is not None and link.is_attached else None

    async def close(self) -> None:
        """Close every link, and open none any more; the kernels keep running."""
        self._closed = True
        links, self._links, self._held = list(self._links.values()), {}, None
        project, self._project = self._project, None
        links += [project] if project else []
        await asyncio.gather(*(link.close() for link in links))
        await self.kernels.close()

    def _check_open(self) -> None:
        if self._closed:
            raise KernelError("no_kernel", "This session has ended: it has no kernel.")


def import_direct_link() -> "type[DirectLink]":
    """Import the ops and what runs them: a server beside a kernel needs neither."""
    from repl_pair.bridge.link.direct_link import DirectLink

    return DirectLink
