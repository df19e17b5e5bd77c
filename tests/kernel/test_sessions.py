"""How work sessions end where nobody stops them, and what is kept of them and of notices."""

import asyncio
import sqlite3
import subprocess
import sys

import pytest
from bounds import BOUND_S

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.runtime.notices.deferred_writes import LATER
from repl_pair.wire import PERSON, View

pytestmark = pytest.mark.anyio

ANN, YOU = View(principal="ann"), View(principal=PERSON)
SHOP = """
import repl_pair
repl_pair.story("shop", component=lambda: 1)
repl_pair.variant("shop/One")
"""
WORKS = """
import asyncio, sys
from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View
async def main():
    link = KernelLink(find_kernel(sys.argv[1]), principal="ann")
    for op, args in (("session_start", {}), ("run_variant", {"variant_id": "shop/One"})):
        assert (await link.request(op, args, view=View(principal="ann")))["ok"]
    print("works", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
"""A client that works in a session until it is killed."""


@pytest.fixture
async def connect():
    """Opens links to kernels: `connect(kernel)`."""
    opened = []

    def make(kernel):
        opened.append(KernelLink(find_kernel(str(kernel.path)), principal="ann"))
        return opened[-1]

    yield make
    for link in opened:
        await link.close()


@pytest.fixture
def start_client():
    """Starts clients that work in a session: `await start_client(kernel)`; they are killed."""
    started = []

    async def start(kernel):
        words = [sys.executable, "-c", WORKS, str(kernel.path)]
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE))
        assert await asyncio.to_thread(started[-1].stdout.readline) == b"works\n"
        return started[-1]

    yield start
    for client in started:
        client.kill()
        client.wait()
        client.stdout.close()


async def get(link, op, view=ANN, **args):
    reply = await link.request(op, args, view=view, timeout_s=BOUND_S)
    assert reply["ok"], reply
    return reply["result"]


async def until_counted(link):
    """Return the one session once its run is kept, as the person reads it."""
    async with asyncio.timeout(BOUND_S):
        while (found := (await get(link, "list_sessions", YOU))["items"][0])["runs"] == {}:
            await asyncio.sleep(0.01)
    return found


ENDS = {
    "its client detaches": "leave",
    "its client is killed": "kill",
    "the person detaches agents": "%pair detach",
    "its kernel is killed": "restart",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_a_session_that_nobody_stops_is_abandoned(end, kernel, person, start_client, connect):
    await asyncio.to_thread(person.run, SHOP)
    if end in ("leave", "%pair detach"):
        link = connect(kernel)
        await get(link, "session_start")
        await get(link, "run_variant", variant_id="shop/One")
    else:
        client = await start_client(kernel)
    if end == "leave":
        await link.leave()
    elif end == "kill":
        client.kill()
        client.wait()
    elif end == "restart":
        before = await until_counted(connect(kernel))
        assert before["status"] == "open"
        await asyncio.to_thread(kernel.restart)
    else:
        await asyncio.to_thread(person.run, "%load_ext repl_pair\n%pair detach\n%pair attach")
    (found,) = (await get(connect(kernel), "list_sessions"))["items"]
    assert (found["status"], found["runs"], found["principal"]) == ("abandoned", {"pass": 1}, "ann")
    assert found["ended_at"] >= found["started_at"]
    assert "contracts" not in found


async def test_one_kernel_of_a_project_leaves_the_open_sessions_of_another_alone(
    start_kernel, connect, sit_at
):
    first, second = connect(start_kernel()), connect(start_kernel())
    opened = await get(first, "session_start", goal="Mend the shop.")
    for link in (second, first):
        (found,) = (await get(link, "list_sessions"))["items"]
        assert (found["id"], found["status"]) == (opened["id"], "open")
    refused = await second.request("session_stop", {}, view=ANN)
    assert refused["error"]["code"] == "not_found"
    assert refused["next_steps"] == [{"op": "session_start", "args": {}}]
    assert (await get(first, "session_stop"))["runs"] == {}


async def test_a_session_that_began_without_a_kernel_is_abandoned_where_one_comes(
    start_kernel, own_project
):
    session = Session(Policy(), principal="ann")
    try:
        here = await session.call("session_start", {})
        assert here["kernel"]["id"] == "here"
        await asyncio.to_thread(start_kernel)
        assert (await session.call("session_stop", {}))["error"]["code"] == "not_found"
        LATER.flush()
        with own_project.reading() as connection:
            assert find_statuses(connection) == ["abandoned"]
    finally:
        await session.close()


def find_statuses(connection):
    return [status for (status,) in connection.execute("SELECT status FROM sessions")]


WITHOUT = """
import sys
sys.modules.pop("sqlite3", None)  # IPython keeps the history with it
"""


async def test_a_kernel_whose_project_keeps_nothing_imports_no_sqlite_and_makes_no_file(
    kernel, person, connect
):
    await asyncio.to_thread(person.run, WITHOUT + SHOP)
    link = connect(kernel)
    for _ in range(2):
        await get(link, "run_variant", variant_id="shop/One")

    async def is_imported():
        return (await asyncio.to_thread(person.run, "'sqlite3' in sys.modules")).value

    assert await is_imported() == "False"
    assert list(kernel.path.parent.glob("**/pair.db*")) == []
    await get(link, "session_start")
    assert await is_imported() == "True"
    assert list(kernel.path.parent.glob("**/pair.db")) != []


def make_newer(file):
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize(
    "spoil", [make_newer, lambda file: file.write_bytes(b"no database " * 400)], ids=["newer", "no"]
)
async def test_replies_go_on_without_a_database_that_can_be_read(kernel, connect, spoil):
    file = kernel.path.parent / ".repl_pair" / "pair.db"
    file.parent.mkdir()
    spoil(file)
    before, link = file.read_bytes(), connect(kernel)
    for _ in range(2):
        reply = await link.request("list_tags", {}, view=ANN)
        assert reply["ok"]
        assert "notices" not in reply
    for op in ("notifications_list", "session_start"):
        assert not (await link.request(op, {}, view=ANN))["ok"]
    assert file.read_bytes() == before
