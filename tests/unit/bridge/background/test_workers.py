"""How many workers a session has, whatever is started at once; their processes are stand-ins."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from repl_pair.bridge.background import worker as worker_module
from repl_pair.bridge.background.output import Output
from repl_pair.bridge.background.workers import KEPT_DEAD, MAX_ALIVE, Workers
from repl_pair.bridge.session_links import SessionLinks
from repl_pair.errors import RequestError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


class StandIn:
    """A worker without a process, whose start and end take a turn of the loop each."""

    every: list["StandIn"]

    def __init__(self, name, **_how):
        self.id, self.name, self.exit_code = str(len(self.every)), name, None
        self.began, self.output = time.time(), Output()
        self.kernel = SimpleNamespace(id=self.id, path=self.id, pid=None)
        self.link = SimpleNamespace(kernel=self.kernel)
        self.every.append(self)

    async def run(self, code):
        await asyncio.sleep(0)

    async def end(self):
        await asyncio.sleep(0)
        self.exit_code = 0


@pytest.fixture
def workers(monkeypatch):
    monkeypatch.setattr(StandIn, "every", [], raising=False)
    monkeypatch.setattr(worker_module, "Worker", StandIn)
    links = SessionLinks(None, principal="agent", inject=False, here=None)
    return Workers(links, principal="agent", inject=False)


async def test_workers_that_are_started_at_once_are_no_more_than_may_be_alive(workers):
    for _ in range(2 * KEPT_DEAD):
        (await workers.start("pass", "")).exit_code = 1
    before = len(StandIn.every)
    starts = [workers.start("pass", "") for _ in range(MAX_ALIVE + 2)]
    refused = [
        each
        for each in await asyncio.gather(*starts, return_exceptions=True)
        if isinstance(each, RequestError)
    ]
    assert [each.code for each in refused] == ["cannot_run"] * 2
    assert [one.exit_code for one in StandIn.every[before:]] == [None] * MAX_ALIVE
