"""The person's cell that waits for an agent's run says so, and keeps nothing of it."""

import asyncio
import time

import pytest
from bounds import BOUND_S
from waiting import wait_until

from repl_pair.runtime.kernel.pending_cells import NOTICE_S
from repl_pair.wire import PERSON, View

pytestmark = pytest.mark.anyio

TRIES = 20
AGENT = View(principal="claude")
STORY = """
import time
from pathlib import Path
import repl_pair
def wait():
    Path({begun!r}).touch()
    while not Path({gate!r}).exists():
        time.sleep(0.01)
repl_pair.story("shop.slow")(wait)
repl_pair.variant("shop.slow/It")
"""
AWAITS = """
import asyncio, pathlib
while not pathlib.Path({gate!r}).exists(): await asyncio.sleep(0.01)
"""
NOTICE = (
    "repl_pair: this cell waits for a run of shop.slow/It (agent claude); "
    "Stop (the square) ends it."
)


async def in_thread(fn, *args, **named):
    return await asyncio.to_thread(fn, *args, **named)


class Gate:
    """A run on the main thread that lasts until the gate is opened."""

    def __init__(self, link, person, folder):
        self._link, self._begun, self._gate = link, folder / "begun", folder / "gate"
        person.run(STORY.format(begun=str(self._begun), gate=str(self._gate)))

    def ask(self, op, view=AGENT, **args):
        return self._link.request(op, args, view=view, timeout_s=BOUND_S)

    def send(self, view=AGENT):
        call = self.ask("run_variant", view, variant_id="shop.slow/It", timeout_s=25.0)
        return asyncio.create_task(call)

    async def wait(self):
        await in_thread(wait_until, self._begun.exists, what="the run")

    def open(self):
        self._gate.touch()


def send(person, code, **how):
    content = {"code": code, "silent": False, "allow_stdin": False, "stop_on_error": True, **how}
    return person.send("execute_request", content)


def first(person, cell):
    return person._next(person._iopub, cell)


def kinds(ran):
    """Return the kinds of a cell's messages, without those of its status."""
    return [m["msg_type"] for m in ran.messages if m["msg_type"] != "status"]


async def test_a_cell_that_waits_for_an_agents_run_reports_it_until_it_begins(
    link, person, sit_at, kernel, tmp_path
):
    gate, other = await in_thread(Gate, link, person, tmp_path), sit_at(kernel)
    running = gate.send()
    await gate.wait()
    quiet = send(person, "1", silent=True)
    cell, next_cell, elsewhere = send(person, "6 * 7"), send(person, "2"), send(other, "3")
    for someone, its_cell in ((person, cell), (other, elsewhere)):
        shown = await in_thread(first, someone, its_cell)
        assert shown["content"] == {"data": {"text/plain": NOTICE}, "metadata": {}}
    gate.open()
    assert (await running)["result"]["status"] == "pass"
    assert kinds(await in_thread(person.finish, quiet)) == []
    ran = await in_thread(person.finish, cell)
    assert kinds(ran) == ["clear_output", "execute_input", "execute_result"]
    assert ran.messages[0]["content"] == {"wait": False}
    for someone, its_cell, cleared in (
        (person, next_cell, []),
        (other, elsewhere, ["clear_output"]),
    ):
        ran = await in_thread(someone.finish, its_cell)
        assert kinds(ran) == [*cleared, "execute_input", "execute_result"]


async def test_a_run_that_begins_before_a_waiting_cell_is_shown_and_cleared_at_a_detach(
    link, person, tmp_path
):
    gate = await in_thread(Gate, link, person, tmp_path)
    before = tmp_path / "before"
    await in_thread(person.start, AWAITS.format(gate=str(before)))
    assert (await gate.ask("read_failures"))["ok"]
    running = gate.send()
    await asyncio.sleep(0)
    # By its answer the run that was sent before it waits for the cell.
    assert (await gate.ask("read_failures"))["ok"]
    cell = send(person, "1")
    before.touch()
    assert (await in_thread(first, person, cell))["content"]["data"] == {"text/plain": NOTICE}
    await link.close()
    assert (await running)["error"]["code"] == "cancelled"
    ran = await in_thread(person.finish, cell)
    assert kinds(ran) == ["clear_output", "execute_input", "execute_result"]


async def test_of_the_persons_own_run_and_of_an_agents_short_one_no_cell_says_anything(
    link, person, tmp_path
):
    gate = await in_thread(Gate, link, person, tmp_path)
    running = gate.send(view=View(principal=PERSON))
    await gate.wait()
    cell = send(person, "1")
    await asyncio.sleep(NOTICE_S + 0.2)
    gate.open()
    assert (await running)["result"]["status"] == "pass"
    assert kinds(await in_thread(person.finish, cell)) == ["execute_input", "execute_result"]
    for _ in range(TRIES):
        began, again = time.monotonic(), gate.send()
        await asyncio.sleep(0)
        cell = send(person, "2")
        assert (await again)["result"]["status"] == "pass"
        is_short = time.monotonic() - began < NOTICE_S
        ran = await in_thread(person.finish, cell)
        if is_short:
            assert kinds(ran)[0] == "execute_input"
            return
    pytest.fail("no run of the agent was short")
