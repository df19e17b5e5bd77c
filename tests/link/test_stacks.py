"""Where a kernel stands, asked over each link while nothing runs."""

import pytest

from repl_pair.errors import next_step
from repl_pair.wire import View

pytestmark = pytest.mark.anyio

INSPECTOR = View(principal="agent", access=frozenset({"read", "run", "inspect"}))


async def test_an_idle_process_stands_nowhere_and_has_nothing_to_sample(link):
    await link.define("import threading\nover = threading.Event()\ndef wait(): over.wait()")
    await link.define("thread = threading.Thread(target=wait, name='mine')\nthread.start()")
    found = await link.get("read_stacks", view=INSPECTOR, code=True)
    assert found["cell"] is None
    assert found["threads"][0]["name"] == "MainThread"
    (mine,) = (thread for thread in found["threads"] if thread["name"] == "mine")
    assert (mine["frames"][-1]["function"], mine["frames"][-1]["line"]) == ("wait", 3)
    assert mine["frames"][-1]["code"] == "def wait(): over.wait()"
    assert not [thread for thread in found["threads"] if thread["name"].startswith("repl_pair")]
    await link.define("over.set(); thread.join()")
    reply = await link.ask("read_hot_lines", seconds=0.1)
    assert reply["result"] == {"samples": 0, "seconds": 0.0, "lines": []}
    assert reply["next_steps"] == [next_step("read_stacks")]


async def test_lines_of_source_do_not_exist_for_a_reader(link):
    refused = await link.refusal("read_stacks", code=True)
    assert refused["code"] == "bad_arguments"


@pytest.mark.parametrize("seconds", [0, 0.05, 11, -1])
async def test_sampling_has_bounds(link, seconds):
    assert (await link.refusal("read_hot_lines", seconds=seconds))["code"] == "bad_arguments"
