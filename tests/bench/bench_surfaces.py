"""Live values: what a change costs its app, unheard and watched, and what a read costs."""

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from statistics import median

from measure import AGENT, Row, clocked_ms, clocked_ms_of, medians_ms, row, scaled

import repl_pair
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.runtime.surfaces.members import Cell
from repl_pair.runtime.surfaces.state import watch

SETS, ROUNDS = 20_000, 15
A_SECOND = 10_000
LOOP_S = 0.3
WINDOW_S = 0.2
READS = 200
VARIANTS = 25


def figures() -> list[Row]:
    undo = repl_pair.registry.checkpoint()
    try:
        loss = repl_pair.surface("bench").cell("loss", float, default=0.0, expose=True)
        return [*set_rows(loss), loop_row(loss), asyncio.run(read_row())]
    finally:
        undo()


def set_rows(loss: Cell) -> list[Row]:
    count, lock, held = scaled(SETS, 100), threading.Lock(), dict[str, float]()
    values = [float(number) for number in range(count)]

    def set_cell() -> None:
        for value in values:
            loss.set(value)

    def set_held() -> None:
        for value in values:
            with lock:
                held["loss"] = value

    each_us = [ms * 1e3 / count for ms in medians_ms([set_cell, set_held], scaled(ROUNDS, 2))]
    measured, base = each_us
    what, baseline_what = "setting a cell that nobody watches", "a dict item set under a lock"
    return [
        row(what, measured, "us", baseline=base, baseline_what=baseline_what, budget="<= 2"),
        row(
            f"{what}, over {baseline_what}",
            measured,
            "us",
            baseline=base,
            baseline_what=baseline_what,
            budget="ratio <= 10",
        ),
    ]


def loop_row(loss: Cell) -> Row:
    """Measure a loop of so many sets a second, with a watcher as the server's updates are."""
    turns = scaled(int(A_SECOND * LOOP_S), 20)
    steps = steps_of(1 / A_SECOND)
    with watched("bench/loss"):
        taken = medians_ms(
            [lambda: loop(turns, steps, loss.set), lambda: loop(turns, steps, float)],
            scaled(ROUNDS, 2),
        )
    return row(
        f"a loop of {A_SECOND:,} sets a second of a watched cell",
        taken[0],
        "ms",
        baseline=taken[1],
        baseline_what="the loop without the sets",
        budget="ratio <= 1.05",
    )


def loop(turns: int, steps: int, use: Callable[[float], object]) -> None:
    for turn in range(turns):
        for _ in range(steps):
            pass
        use(float(turn))


def steps_of(seconds: float) -> int:
    """Return how many empty steps take so long."""
    steps = 200_000
    return max(1, int(steps * seconds * 1e3 / clocked_ms(lambda: loop(1, steps, float))))


@contextmanager
def watched(id: str) -> Generator[None]:
    """Watch a member during the block, and take what changed at the end of each window."""
    changed, over = threading.Event(), threading.Event()

    def take() -> None:
        while not over.is_set():
            if changed.wait(WINDOW_S):
                time.sleep(WINDOW_S)
                changed.clear()

    def note_change(_id: str) -> None:
        if not changed.is_set():
            changed.set()

    stop = watch([id], note_change)
    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        over.set()
        stop()
        thread.join()


async def read_row() -> Row:
    repl_pair.story("bench.story", component=loop)
    for number in range(VARIANTS):
        repl_pair.variant(f"bench.story/Of_{number}", args={"turns": number})
    link, asked = DirectLink(), {"read_member": {"member": "bench/loss"}, "list_variants": {}}
    taken: dict[str, list[float]] = {op: [] for op in asked}
    for _ in range(scaled(READS, 2)):
        for op, args in asked.items():
            taken[op].append(await clocked_ms_of(link.request(op, args, view=AGENT)))
    await link.close()
    return row(
        "read_member of a cell",
        median(taken["read_member"]),
        "ms",
        baseline=median(taken["list_variants"]),
        baseline_what=f"list_variants of {VARIANTS}",
        budget="ratio <= 1.2",
    )
