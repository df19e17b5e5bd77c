"""A connection to a kernel that leaves a subscription unread until the next one comes."""

import asyncio
import json
from pathlib import Path

import pytest
import zmq
import zmq.asyncio
from ports import write_connection_file

from repl_pair.bridge.link.iopub import is_welcomed, listen
from repl_pair.bridge.link.line import Line

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


class LateKernel:
    """Sockets of a kernel; it welcomes a subscriber at its second subscription of one kind."""

    def __init__(self, info):
        self.welcomed = False
        self._context = zmq.asyncio.Context()
        self.control = self._context.socket(zmq.ROUTER)
        self.control.bind(f"tcp://127.0.0.1:{info['control_port']}")
        self._iopub = self._context.socket(zmq.XPUB)
        self._iopub.bind(f"tcp://127.0.0.1:{info['iopub_port']}")
        self.unread = []
        self._task = asyncio.ensure_future(self._welcome())

    async def _welcome(self):
        while True:
            topic = (await self._iopub.recv())[1:]
            self.unread.append(topic)
            if topic and topic[:-1] in self.unread:
                for topic in self.unread:
                    await self._iopub.send(topic)
                self.welcomed = True

    def close(self):
        self._task.cancel()
        self._context.destroy(linger=0)


@pytest.fixture
async def late(tmp_path):
    file, _ = write_connection_file(str(tmp_path / "kernel.json"))
    info = json.loads(Path(file).read_text())
    kernel, line = LateKernel(info), Line(info)
    yield kernel, line
    line.close()
    kernel.close()


async def test_a_kernel_that_reads_the_second_subscription_is_welcoming(late):
    assert await is_welcomed(late[1], 4.0)


async def test_who_listens_subscribes_again_until_the_kernel_has_read_it(late):
    kernel, line = late
    await listen(line, "0", "kind", print)
    assert kernel.welcomed


async def test_while_a_probe_is_unanswered_no_second_one_is_sent(late):
    kernel, line = late
    first = line.probe()
    await kernel.control.recv_multipart()
    assert line.probe() is first
    line.send("last", {})
    frames = await kernel.control.recv_multipart()
    assert b'"last"' in b"".join(frames)
    assert not first.done()
    line.close()
    await asyncio.wait({first})
    assert first.cancelled()


async def test_a_line_that_ends_while_it_waits_for_a_welcome_cancels_nobody(late):
    kernel, line = late
    waiting = asyncio.create_task(is_welcomed(line, 60.0))
    while not kernel.unread:
        await asyncio.sleep(0.001)
    line.close()
    assert await waiting is False
