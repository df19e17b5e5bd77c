"""Public-style notebooks, alone and beside an agent that reads, runs and stops: no difference."""

import asyncio
import contextlib
import json
from itertools import zip_longest
from pathlib import Path

import pytest
from bounds import BOUND_S
from waiting import eventually

from repl_pair.bridge.kernels.discovery import read_connection
from repl_pair.bridge.link.line import Line
from repl_pair.wire import EVENT
from tests.kernel.public_notebooks.agent import BESIDE, MAIN, Try, agent_at
from tests.kernel.public_notebooks.front_end import STATE, FrontEnd

pytestmark = pytest.mark.anyio

STORIES = "__import__('tests.kernel.public_notebooks.stories', fromlist=['runs']).runs()"
"""What the agent's variants call, imported at the first look; gives their runs so far."""
TRIES = {
    "classes": [
        Try(BESIDE, "open_account", ["Di", 3.0], [["path_equals", "result.balance", 3.0]]),
        Try(BESIDE, "slow_total", ["$bank", 3], [["compare", "result", ">", 1]]),
        Try(MAIN, "total", ["$accounts"]),
        Try(MAIN, "open_account"),
    ],
    "frames": [
        Try(BESIDE, "clean", ["$raw"], [["length", "result", 234]]),
        Try(BESIDE, "by_shop", ["$sales"], [["length", "result", 3]]),
        Try(MAIN, "bootstrap", ["$sales", 20], [["length", "result", 2]]),
        Try(MAIN, "clean", ["$raw"]),
    ],
    "plots": [
        Try(BESIDE, "smooth", ["$drift"], [["length", "result", 10]]),
        Try(MAIN, "plot_year", [1961]),
        Try(MAIN, "plot_all"),
    ],
    "widgets": [
        Try(BESIDE, "monthly", [9000, 5, 4.5], [["compare", "result", ">", 100]]),
        Try(MAIN, "make_form"),
        Try(MAIN, "show_table"),
    ],
    "progress": [
        Try(BESIDE, "quiet", ["$texts"], [["length", "result", 12]]),
        Try(MAIN, "make_text", [4]),
        Try(MAIN, "count", ["$texts"]),
        Try(MAIN, "count_in_notebook"),
    ],
    "fetching": [
        Try(BESIDE, "fetch", [2, 0.02], [["path_equals", "result.status", 200]]),
        Try(BESIDE, "fetch_all", [[1, 2, 3]], [["length", "result", 3]]),
        Try(MAIN, "fetch", [4], [["path_equals", "result.status", 404]]),
        Try(MAIN, "crawl_order", [4], [["length", "result", 4]]),
        Try(MAIN, "input", ["and? "], [["raises", "EOFError"]]),
    ],
    "logging_and_warnings": [
        Try(BESIDE, "work", [6, 0.01], [["path_equals", "result", 6]]),
        Try(BESIDE, "load", [20], [["length", "result", 20]]),
        Try(MAIN, "load", [300], [["length", "result", 300]]),
        Try(MAIN, "check_limit", [5]),
        Try(MAIN, "divide", [1, 0]),
    ],
    # A fit replaces warning filters of the whole process for a moment, which is for lane main only.
    "learning": [
        Try(BESIDE, "make_model", [2.0]),
        Try(BESIDE, "load_iris"),
        Try(MAIN, "accuracy", [0.5], [["compare", "result", ">", 0.5]]),
        Try(MAIN, "grow", [3], [["compare", "result", ">", 0.5]]),
        Try(MAIN, "accuracy"),
    ],
}
OWN_MESSAGES = {"status", EVENT}
"""What belongs to no cell of the person: states on control, and the events of repl_pair."""


def cells_of(name):
    cells = json.loads(Path(__file__).with_name(f"{name}.ipynb").read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.fixture
def sit(start_kernel, tmp_path, monkeypatch):
    """Seats a person at a kernel of their own, in a folder of their own: `await sit(name)`."""
    seated = []

    async def start(name):
        # Under pytest an ipykernel does not watch its file descriptors.
        with monkeypatch.context() as environment:
            environment.delenv("PYTEST_CURRENT_TEST")
            folder = tmp_path / name
            folder.mkdir()
            # What the kernel's debugger prints at its start comes to no cell, sooner or later.
            quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
            kernel = start_kernel(path=folder / "kernel.json", env=quiet)
        seated.append(FrontEnd(kernel))
        # At the first message on control the kernel opens a socket that stays, whoever sends it.
        with contextlib.closing(Line(read_connection(kernel.path))) as line:
            await line.features()
        seated[-1].look(STATE)
        return kernel, seated[-1]

    yield start
    for person in seated:
        person.close()


def parts_that_differ(alone, beside):
    """Return the parts of two mappings that differ, as (alone, beside); of lists what one lacks."""
    found = {}
    for part in {**alone, **beside}:
        one, other = alone.get(part), beside.get(part)
        if isinstance(one, dict) and isinstance(other, dict):
            one, other = parts_that_differ(one, other), {}
        elif isinstance(one, list) and isinstance(other, list) and one != other:
            pairs = [pair for pair in zip_longest(one, other) if pair[0] != pair[1]]
            one, other = pairs[0]
        if one != other:
            found[part] = one, other
    return found


@pytest.mark.parametrize("name", TRIES)
async def test_a_notebook_is_the_same_alone_and_beside_a_busy_agent(name, sit):
    cells, tries = cells_of(name), TRIES[name]
    (_, alone), (kernel, beside) = await sit("alone"), await sit("beside")

    def play_alone():
        for cell in cells:
            alone.play(cell)
        return alone.look(STATE)

    playing = asyncio.create_task(asyncio.to_thread(play_alone))
    try:
        beside.look(STORIES)
        async with agent_at(kernel, tries) as agent:
            for cell in cells:
                done = dict(agent.done)
                await eventually(lambda d=done: agent.did_more(d), what="a run on each lane")
                await asyncio.to_thread(beside.play, cell)
            await eventually(lambda: agent.has_passed_all(), what="a pass of each variant")
            await eventually(lambda: min(agent.stopped.values()) > 1, what="two stops of each kind")
            await eventually(lambda: agent.is_busy(), what="many calls, runs and events")
            runs = await asyncio.to_thread(beside.look, STORIES)
    finally:
        await asyncio.wait({playing})
    during = [r for r in runs if any(r[2] < end and start < r[3] for start, end in beside.spans())]
    expected, found = alone.by_cell(), beside.by_cell()
    print(
        f"{name}: {len(cells)} cells, {sum(map(len, found.values()))} messages compared; "
        f"of an agent {agent.calls.total()} calls, {len(runs)} runs, "
        f"{len(during)} of them beside a cell, {agent.stopped.total()} stopped"
    )
    assert parts_that_differ(expected, found) == {}
    assert beside.of_no_cell().keys() <= OWN_MESSAGES | alone.of_no_cell().keys()
    differences, expected_state = None, playing.result()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BOUND_S):
            while differences != {}:
                state = await asyncio.to_thread(beside.look, STATE)
                if differences := parts_that_differ(expected_state, state):
                    # What either has for a moment, such as a socket, is no difference.
                    expected_state = await asyncio.to_thread(alone.look, STATE)
    assert differences == {}
    assert len(runs) > 30
    assert len(during) > 3
    assert not any(is_main for _, is_main, *_ in during)
