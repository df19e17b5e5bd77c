"""The person at a debugger's breakpoint: callers are answered, and repl_pair's threads go on."""

import asyncio
from functools import partial

import pytest
from bounds import BOUND_S, DEADLINES_S, PATIENT
from waiting import wait_until

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
COMPONENT = """import repl_pair
def price(n=21):
    return n * 2
repl_pair.story("shop.price", thread_safe=True)(price)
repl_pair.variant("shop.price/It")
"""
CELL = "seen = 1\nseen = seen + 1\nseen"


class Debugger:
    """A front end's debugger at the kernel of a person: `debug_request` messages on control."""

    def __init__(self, person):
        self._person, self._seq = person, 0
        self._control = person._file.connect_control(identity=person._session.bsession)

    def __enter__(self):
        self.ask("debugInfo")
        self.ask("initialize", clientID="test", adapterID="")
        self.ask("attach")
        return self

    def __exit__(self, *_):
        self.ask("disconnect", restart=False, terminateDebuggee=False)
        self._control.close(0)

    def ask(self, command, **arguments):
        """Send one request of the protocol and return its answer."""
        self._seq += 1
        request = {"type": "request", "seq": self._seq, "command": command, "arguments": arguments}
        session = self._person._session
        sent = session.send(self._control, "debug_request", request)["header"]["msg_id"]
        while True:
            assert self._control.poll(BOUND_S * 1000), f"no answer to {command}"
            _, message = session.recv(self._control)
            if message["parent_header"].get("msg_id") == sent:
                assert message["content"].get("success", True), message["content"]
                return message["content"].get("body", {})

    def set_breakpoint(self, code, line):
        """Set a breakpoint in a cell that will run."""
        source, lines = {"path": self.ask("dumpCell", code=code)["sourcePath"]}, [{"line": line}]
        self.ask("setBreakpoints", source=source, breakpoints=lines, sourceModified=False)
        self.ask("configurationDone")

    def break_in(self, code, line):
        """Run a cell to a breakpoint in it; return the cell once it stands there."""
        self.set_breakpoint(code, line)
        cell = self._person.start(code)
        wait_until(self.stopped, what="the breakpoint")
        return cell

    def stopped(self):
        return self.ask("debugInfo")["stoppedThreads"]

    def threads(self):
        return {thread["name"] for thread in self.ask("threads")["threads"]}


async def in_thread(fn, *args, **named):
    return await asyncio.to_thread(fn, *args, **named)


async def run(link, **args):
    args = {"variant_id": "shop.price/It", **args}
    reply = await link.request("run_variant", args, view=AGENT, timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    return reply["result"]


async def test_at_a_breakpoint_callers_are_answered_and_our_threads_are_not_the_debuggers(
    link, person
):
    await in_thread(person.run, COMPONENT)
    assert (await run(link))["status"] == "pass"
    with Debugger(person) as debugger:
        cell = await in_thread(debugger.break_in, CELL, 2)
        stopped = await in_thread(debugger.stopped)
        for _ in range(5):
            ran = await run(link, wait_s=0.05)
            why = "not started within 0.05 s: the person stands at a breakpoint in cell In[2]"
            assert (ran["status"], ran["reason"]) == ("cannot_run", why)
        assert await in_thread(debugger.threads) == {"MainThread"}
        # A worker reads and runs beside it, and reaches no breakpoint itself.
        assert (await run(link, lane="worker"))["status"] == "pass"
        waiting = asyncio.create_task(run(link))
        await in_thread(debugger.ask, "continue", threadId=stopped[0])
        assert (await in_thread(person.finish, cell)).value == "2"
        assert (await waiting)["status"] == "pass"


async def test_a_run_that_reaches_a_breakpoint_of_the_persons_ends_at_its_deadline(link, person):
    with Debugger(person) as debugger:
        await in_thread(debugger.set_breakpoint, COMPONENT, 3)
        await in_thread(person.run, COMPONENT)
        await in_thread(person.run, PATIENT)
        assert (await run(link, lane="worker"))["status"] == "pass"
        for limit_s in DEADLINES_S[1:]:
            standing = asyncio.create_task(run(link, timeout_s=limit_s))
            is_seen = partial(lambda run: debugger.stopped() or run.done(), standing)
            await in_thread(wait_until, is_seen, "the breakpoint")
            behind = await run(link, wait_s=0.05)
            ran = await standing
            assert (ran["status"], ran["reason"]) == ("error", f"not done within {limit_s:g} s")
            if behind["status"] == "cannot_run":
                break
        assert behind["reason"].endswith(": the person stands at a breakpoint")
        assert (await in_thread(person.run, "1 + 1")).value == "2"
