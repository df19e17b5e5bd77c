"""Who waits for a kernel, and the looks at it while nothing comes from there."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from repl_pair.bridge.link.line import Line, now
from repl_pair.bridge.link.link import OnProgress
from repl_pair.bridge.silence.states import Silence
from repl_pair.wire import Reply, Request

AFTER_S = 0.5
"""How long a caller waits before the kernel is looked at."""
AGAIN_S = 1.0
"""How often it is looked at while it answers; while it does not, the looks follow each other."""
ANSWERING = ("slow_op", "cell_runs", "unknown")
"""States after which there is a pause, as looking takes no time or says nothing."""
LATELY_S = 2.0
"""How long ago the look may be that a second one confirms."""
TOLD_S = 1.0
"""How often a caller is told why it waits."""


@dataclass(kw_only=True, eq=False)
class Waiting:
    """One caller that waits, not longer than `until` on the event loop's clock.

    `sent` is the line its request went over last, and when; `answer` what the bridge answers in the
    kernel's place; `untaken` says that the kernel did not take the request.
    """

    request: Request
    bound: asyncio.Timeout
    on_progress: OnProgress | None = None
    until: float
    since: float = field(default_factory=now)
    sent: tuple[Line, float] | None = None
    answer: Reply | None = None
    untaken: bool = False
    _told: float = 0.0

    @property
    def waited_s(self) -> float:
        """How long the caller has been waiting."""
        return now() - self.since

    def end(self, answer: Reply | None = None) -> None:
        """Let the caller wait no more, with an answer or because the request was not taken."""
        if not self.bound.expired():
            self.answer, self.untaken = answer, answer is None
            self.bound.reschedule(now())

    def tell(self, why: str) -> None:
        """Tell the caller why it waits, once a second."""
        if self.on_progress and now() - self._told >= TOLD_S:
            self._told = now()
            elapsed_s = round(self.waited_s, 1)
            self.on_progress({"call": self.request.call, "message": why, "elapsed_s": elapsed_s})


class Lookout:
    """Looks at a kernel while somebody waits for it longer than half a second.

    `look` takes since when an answer is due and gives what it sees, or None where there is nothing
    to look at. Where the kernel can answer nobody, `tell` takes that once for each caller that
    waits, and from the second such look on `confirm` does first.
    """

    def __init__(
        self,
        look: Callable[[float], Awaitable[Silence | None]],
        tell: Callable[[Waiting, Silence], None],
        confirm: Callable[[Waiting, Silence], None],
    ) -> None:
        self._look = look
        self._tell = tell
        self._confirm = confirm
        self._waiting: dict[Waiting, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        self._seen: tuple[float, Silence] | None = None

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """Who waits, in the order of their coming."""
        return tuple(self._waiting)

    @property
    def silence(self) -> Silence | None:
        """What the last look saw, if it was just now."""
        return self._seen[1] if self._seen and now() - self._seen[0] <= AGAIN_S else None

    @contextmanager
    def attend(self, waiting: Waiting) -> Generator[None]:
        """Look after one caller while it waits."""
        self._waiting[waiting] = None
        self._arm()
        try:
            yield
        finally:
            del self._waiting[waiting]
            if self._looking and not self._waiting:
                self._looking.cancel()
                self._looking = None

    async def close(self) -> None:
        """Look no more."""
        if self._timer:
            self._timer.cancel()
        looking, self._looking = self._looking, None
        if looking:
            looking.cancel()
            await asyncio.wait({looking})

    def _arm(self) -> None:
        if self._timer is None and (self._looking is None or self._looking.done()):
            self._timer = asyncio.get_running_loop().call_later(AFTER_S, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if self._waiting:
            self._looking = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while self._waiting:
            earliest = min(waiting.since for waiting in self._waiting)
            if now() < earliest + AFTER_S:
                await asyncio.sleep(earliest + AFTER_S - now())
                continue
            began = now()
            silence = await self._look(earliest)
            before, self._seen = self._seen, silence and (now(), silence)
            if silence and silence.holds:
                told_before = before and now() - before[0] < LATELY_S and before[1].state
                self._tell_all(silence, confirmed=told_before == silence.state)
            if silence is None or silence.state in ANSWERING:
                await asyncio.sleep(began + AGAIN_S - now())

    def _tell_all(self, silence: Silence, *, confirmed: bool) -> None:
        for waiting in self.waiting:
            if waiting.waited_s < AFTER_S:
                continue
            if confirmed:
                self._confirm(waiting, silence)
            if not waiting.bound.expired() and waiting.answer is None:
                self._tell(waiting, silence)
