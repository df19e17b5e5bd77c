"""Follows in the kernel what clients subscribe to, and notifies them of each change."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from typing import Any, Literal

from mcp import types
from mcp.shared.exceptions import MCPError

from repl_pair.bridge.session import Session
from repl_pair.errors import ReplPairError
from repl_pair.mcp_server.notifying import Notifications
from repl_pair.mcp_server.resources import find_for, read_mark
from repl_pair.mcp_server.uris import find_target
from repl_pair.records import Undo
from repl_pair.wire import CHANGES_WINDOW_S, Reply, error_reply

WAIT_S = 30.0
"""How long one request waits in the kernel."""
RETRY_S = 1.0
"""How long after a failure the kernel is asked again."""
POLL_S = 1.0
"""How often a kernel is asked where requests wait behind cells."""
ENDED = "detached"
"""What a request is refused with after the person detached all agents."""

_log = logging.getLogger(__name__)


class Pusher:
    """One request at a time to the kernel, while somebody subscribes, and none otherwise.

    The request names all that is watched and is sent anew when that changes, or when another kernel
    is chosen. An answer that belongs to an earlier generation does nothing. What fails is tried
    again every second. Each URI is notified at most once in 200 ms, and nothing is replayed.
    """

    def __init__(self, session: Session) -> None:
        self.notifications = Notifications(admit=self._admit, on_change=self.renew)
        self._session = session
        self._generation = 0
        self._following: asyncio.Task[None] | None = None
        self._end_observing: Undo | None = None
        self._marks: dict[str, int] = {}
        self._boot: str | None = None
        self._notified_at = -math.inf

    @asynccontextmanager
    async def serve(self, _server: Any) -> AsyncGenerator[dict[str, Any]]:
        """End all streams and follow nothing any more when the server ends, as its lifespan."""
        try:
            yield {}
        finally:
            self.notifications.end_streams()
            following = self._detach()
            if following is not None:
                await asyncio.wait({following})

    def renew(self) -> None:
        """Follow what is subscribed to now, in the kernel that is held now."""
        self._detach()
        uris = self.notifications.uris
        marks = self._marks
        self._marks = {n: marks.get(n, uris[one]) for n, (one, *_) in self._watched().items()}
        if self._marks:
            links = self._session.links
            self._end_observing = self._end_observing or links.observe(self._note_link)
            follow = self._follow(self._generation)
            self._following = asyncio.get_running_loop().create_task(follow)
        elif self._end_observing is not None:
            self._end_observing()
            self._end_observing = None

    def _note_link(self, what: Literal["held", "left"]) -> None:
        """Follow in another kernel; what is left is followed no more, and nothing attaches anew."""
        if what == "left":
            self.notifications.drop(self.notifications.uris)
        else:
            self.renew()

    def _detach(self) -> asyncio.Task[None] | None:
        self._generation += 1  # first: what the old request still answers is of no generation
        following, self._following = self._following, None
        if following is not None:
            following.cancel()
        return following

    def _watched(self) -> dict[str, list[str]]:
        """Return the URIs that are subscribed to, by each name that is watched for them."""
        watched: dict[str, list[str]] = {}
        for uri in sorted(self.notifications.uris):
            target = find_target(uri)
            for name in target.watched if target else ():
                watched.setdefault(name, []).append(uri)
        return watched

    async def _admit(self, uri: str) -> int:
        target = find_for(self._session, uri)
        if not target.watched:
            words = "Changes of this resource are not reported; read it again."
            raise MCPError(types.INVALID_PARAMS, words, data={"uri": uri})
        mark = await read_mark(self._session, uri, target.watched[0])
        if not self._marks:
            self._boot = mark.boot
        return mark.at

    async def _follow(self, generation: int) -> None:
        is_failing = False
        while generation == self._generation:
            watched = self._watched()
            # What cannot be reached is asked what it answers at once, which is examined.
            reply = await self._ask(list(watched), wait_s=0.0 if is_failing else WAIT_S)
            if generation != self._generation:
                return
            if reply["ok"]:
                is_failing = False
                await self._take(watched, reply)
            elif reply["error"]["code"] == ENDED:
                await self._notify(self.notifications.uris)
                self.notifications.drop(self.notifications.uris)
            else:
                if not is_failing:
                    _log.warning("resources cannot be followed now: %s", reply["error"]["code"])
                is_failing = True
                await asyncio.sleep(RETRY_S)

    async def _ask(self, names: list[str], *, wait_s: float) -> Reply:
        try:
            link = await self._session.links.get()
        except ReplPairError as error:
            return error_reply(error)
        if link.channel == "shell":
            await asyncio.sleep(POLL_S)
            wait_s = 0.0
        asked = {
            "watched": names,
            "marks": [self._marks[name] for name in names],
            "boot": self._boot,
            "wait_s": wait_s,
        }
        return await self._session.read_internal("await_members", asked, wait_s=wait_s)

    async def _take(self, watched: dict[str, list[str]], reply: Reply) -> None:
        """Notify of what changed, and for the last time of what the view sees no longer."""
        found: dict[str, list[int]] = reply["result"]
        uris = list(watched.values())
        gone = {uri for at in found["gone"] for uri in uris[at]}
        await self._notify(gone.union(*(uris[at] for at in found["changed"])))
        # Only now: a change whose notification was interrupted is found again.
        self._marks = dict(zip(watched, found["marks"], strict=True))
        self._boot = reply["boot"]
        if gone:
            self.notifications.drop(gone)

    async def _notify(self, uris: Collection[str]) -> None:
        loop = asyncio.get_running_loop()
        if uris:
            await asyncio.sleep(self._notified_at + CHANGES_WINDOW_S - loop.time())
            self._notified_at = loop.time()
        for uri in sorted(uris):
            await self.notifications.resource_updated(uri)
