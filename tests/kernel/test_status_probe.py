"""How kernels are, read without attaching to them."""

import asyncio
import json
import time
from dataclasses import replace

import psutil
import pytest
import zmq
from bounds import BOUND_S
from halting import halt
from jupyter_client.connect import ConnectionFileMixin
from waiting import eventually, wait_until

from repl_pair.bridge.kernels.discovery import discover_kernels, find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.link.status_probe import StatusProbe
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.wire import View

from .conftest import HOLD, WAITS

pytestmark = pytest.mark.anyio

late_answers = pytest.mark.unbound("bridge.link.status_probe.CONTROL_S")
ROUNDED_S = 0.1
LASTED_S = 0.3
LOOKS = 5
STATE = """
import json, sys, threading
_kernel = get_ipython().kernel
print(json.dumps([
    [name for name in sys.modules if name.startswith("repl_pair")],
    sorted(_kernel.control_handlers),
    sorted(thread.name for thread in threading.enumerate()),
    len(In),
]))
"""


@pytest.fixture
async def session(runtime_dir):
    session = Session(Policy())
    yield session
    await session.close()


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


async def rows(session):
    """Return the rows of list_kernels without their ages, which are those of the processes."""
    items = (await session.call("list_kernels", {"dead": True}))["result"]["items"]
    for item in items:
        age_s = item.pop("age_s", None)
        if "pid" in item:
            began = psutil.Process(item["pid"]).create_time()
            assert age_s == pytest.approx(time.time() - began, abs=2)
    return items


async def expect_rows(session, *expected):
    """Wait until list_kernels gives these rows.

    On a busy machine a kernel may answer later than one look waits, which makes it `unknown`.
    """
    until = time.monotonic() + BOUND_S
    while (given := await rows(session)) != list(expected):
        assert time.monotonic() < until, given


async def row_with(session, slot, kernel):
    """Return the kernel's row once a time in it is LASTED_S, and when it was asked for."""
    until = time.monotonic() + BOUND_S
    while True:
        asked = time.monotonic()
        item = next(item for item in await rows(session) if item["id"] == kernel.id)
        if item.get(slot, 0.0) >= LASTED_S:
            return item, asked
        assert asked < until, item


def row(kernel, **slots):
    base = {"id": kernel.id, "name": "unnamed", "pid": kernel.pid, "alive": True, "attached": False}
    return base | slots


async def attach(kernel):
    link = KernelLink(find_kernel(kernel.path))
    assert (await link.request("list_stories", {}, view=View(), timeout_s=BOUND_S))["ok"]
    return link


# --- what is reported


async def test_an_idle_kernel_and_a_busy_one_are_distinguished(kernel, person, session, gate):
    await expect_rows(session, row(kernel, state="idle", runtime=False))
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    await expect_rows(session, row(kernel, state="busy", runtime=False))
    gate.touch()
    await asyncio.to_thread(person.finish, cell)
    await expect_rows(session, row(kernel, state="idle", runtime=False))


@late_answers
async def test_where_our_runtime_is_in_it_states_since_when(kernel, person, session, gate):
    link = await attach(kernel)
    await expect_rows(session, row(kernel, state="idle", runtime=True))
    earliest = time.monotonic()
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    latest = time.monotonic()
    item, asked = await row_with(session, "since_s", kernel)
    since_s = item.pop("since_s")
    assert asked - latest - ROUNDED_S <= since_s <= time.monotonic() - earliest + ROUNDED_S
    assert item == row(kernel, state="busy", last_activity_s=0.0, runtime=True)
    earliest = time.monotonic()
    gate.touch()
    await asyncio.to_thread(person.finish, cell)
    latest = time.monotonic()
    item, asked = await row_with(session, "since_s", kernel)
    since_s = item.pop("since_s")
    assert since_s == item.pop("last_activity_s")
    assert asked - latest - ROUNDED_S <= since_s <= time.monotonic() - earliest + ROUNDED_S
    assert item == row(kernel, state="idle", runtime=True)
    await link.close()
    await expect_rows(session, row(kernel, state="idle", runtime=False))


@late_answers
async def test_the_sessions_own_kernel_is_reported_as_attached(kernel, session):
    await session.call("list_stories")
    own = row(kernel, state="idle", runtime=True, attached=True, channel="control")
    await expect_rows(session, own)


async def test_a_kernel_whose_lock_is_held_is_alive_and_unknown(kernel, person, session, gate):
    await expect_rows(session, row(kernel, state="idle", runtime=False))
    cell = await asyncio.to_thread(person.start, HOLD.format(gate=str(gate)))
    await asyncio.to_thread(wait_until, gate.exists, what="the call that holds the lock")
    await expect_rows(session, row(kernel, state="unknown"))
    await asyncio.to_thread(gate.write_bytes, b"")
    await asyncio.to_thread(person.finish, cell)
    await expect_rows(session, row(kernel, state="idle", runtime=False))


async def test_a_stopped_kernel_and_a_dead_one_are_distinguished(start_kernel, session):
    stopped, dead = start_kernel(), start_kernel()
    dead.kill()
    halt(stopped.pid)
    gone = row(dead, alive=False)
    del gone["pid"]
    shown = {item["id"]: item for item in await rows(session)}
    assert shown == {dead.id: gone, stopped.id: row(stopped, alive=False, state="unknown")}
    listed = (await session.call("list_kernels"))["result"]
    assert [item["id"] for item in listed["items"]] == [stopped.id]
    assert (listed["total"], listed["dead"]) == (1, 1)


@late_answers
async def test_living_kernels_come_first_and_of_them_the_most_recently_active(
    start_kernel, sit_at, session, gate
):
    dead, quiet, recent, busy = (start_kernel() for _ in range(4))
    dead.kill()
    links = [await attach(kernel) for kernel in (quiet, recent)]
    for kernel in (quiet, recent):
        await asyncio.to_thread(sit_at(kernel).run, "1")
        await row_with(session, "last_activity_s", kernel)
    person = sit_at(busy)
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    assert [item["id"] for item in await rows(session)] == [
        kernel.id for kernel in (busy, recent, quiet, dead)
    ]
    gate.touch()
    await asyncio.to_thread(person.finish, cell)
    for link in links:
        await link.close()


async def test_this_process_is_reported_as_a_kernel_where_there_is_no_other():
    session = Session.direct(Policy())
    (item,) = (await session.call("list_kernels"))["result"]["items"]
    assert item.pop("pid") == psutil.Process().pid
    assert item == {
        "id": "here",
        "name": "this process",
        "alive": True,
        "state": "idle",
        "runtime": True,
        "attached": True,
    }
    await session.close()


# --- what it does to a kernel


class Ear:
    """Hears what a kernel publishes, whoever asked for it."""

    def __init__(self, kernel):
        self._file = ConnectionFileMixin(context=zmq.Context())
        self._file.load_connection_file(str(kernel.path))
        self._iopub = self._file.connect_iopub()
        # Of equal subscriptions only the first is welcomed; behind this one stands the other too.
        self._iopub.subscribe(b"ear")
        self.heard("iopub_welcome")

    def heard(self, last, count=1):
        """Return `(kind, kind of the request, state)` of what came, to so many of a last kind."""
        messages = []
        while [kind for kind, _, _ in messages].count(last) < count:
            assert self._iopub.poll(BOUND_S * 1000), messages
            _, message = self._file.session.recv(self._iopub)
            state = message["content"].get("execution_state")
            messages.append((message["msg_type"], message["parent_header"].get("msg_type"), state))
        return messages

    def close(self):
        self._file.context.destroy(linger=0)


async def test_looking_puts_nothing_into_a_kernel(kernel, person, session, gate):
    def state():
        return json.loads(person.run(STATE).text)

    before = await asyncio.to_thread(state)
    for _ in range(LOOKS):
        await rows(session)
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    await rows(session)
    gate.touch()
    await asyncio.to_thread(person.finish, cell)
    after = await asyncio.to_thread(state)
    assert before[0] == []
    assert after == [*before[:3], before[3] + 2], "the two cells of the person and no more"


@late_answers
async def test_a_busy_kernel_is_asked_once_however_often_it_is_looked_at(
    kernel, person, session, gate
):
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    ear = await asyncio.to_thread(Ear, kernel)
    for _ in range(LOOKS):
        assert [item["state"] for item in await rows(session)] == ["busy"]
    during = await asyncio.to_thread(ear.heard, "status", 2 * LOOKS)
    gate.touch()
    await asyncio.to_thread(person.finish, cell)
    await asyncio.to_thread(person.run, "'behind all that was asked'")
    after = await asyncio.to_thread(ear.heard, "execute_result")
    ear.close()
    looked = [("status", "comm_info_request", state) for state in ("busy", "idle")]
    assert during == looked * LOOKS
    assert [m for m in after if m[1] == "comm_info_request"] == looked
    await expect_rows(session, row(kernel, state="idle", runtime=False))


@pytest.mark.parametrize("pid", ["known", "unknown"])
async def test_a_request_that_a_restart_lost_is_sent_again(kernel, sit_at, gate, pid):
    async def expect_state(state):
        seen, until = {}, time.monotonic() + BOUND_S
        while seen.get("state") != state:
            assert time.monotonic() < until, seen
            (found,) = await asyncio.to_thread(discover_kernels)
            if pid == "unknown":
                found = replace(found, kernel=replace(found.kernel, pid=None))
            ((_, seen),) = await probe.read([found])

    probe = StatusProbe()
    person = sit_at(kernel)
    await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    await expect_state("busy")
    await asyncio.to_thread(kernel.restart)
    await expect_state("idle")
    await probe.close()


@late_answers
async def test_two_readings_at_the_same_time_do_not_disturb_each_other(kernel, person, gate):
    probe = StatusProbe()
    cell = await asyncio.to_thread(person.start, WAITS.format(gate=str(gate)))
    found = await asyncio.to_thread(discover_kernels)

    async def are(state):
        both = await asyncio.gather(probe.read(found), probe.read(found))
        return [[how["state"] for _, how in seen] for seen in both] == [[state], [state]]

    assert await are("busy")
    gate.touch()
    await asyncio.to_thread(person.finish, cell)
    await eventually(lambda: are("idle"), what="an idle kernel, twice")
    await probe.close()
