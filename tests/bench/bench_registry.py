"""A hundred thousand variants: registered, listed, and a change among them pushed."""

import asyncio
import time
from bisect import insort
from collections.abc import Generator
from contextlib import contextmanager
from statistics import median
from typing import Any

from jupyter_core.utils import ensure_event_loop
from measure import (
    AGENT,
    Row,
    clocked_ms,
    clocked_ms_of,
    linked_to,
    make_environment,
    median_ms,
    row,
    run,
    scaled,
)

import repl_pair
from repl_pair.bridge.link.direct_link import DirectLink
from repl_pair.bridge.link.iopub import listen
from repl_pair.bridge.scratch_kernel import ScratchKernel, scratch_kernel
from repl_pair.wire import Event

VARIANTS = 100_000
PAGES = 20
CHANGES = 50
BOUND_S = 30.0
FILL = """
import repl_pair
repl_pair.tag("few")
@repl_pair.story("shop.total", args={{"price": 1.0}})
def total(price: float) -> float:
    return price
for number in range({count}):
    repl_pair.variant(f"shop.total/Of_{{number}}", args={{"price": 1.0}})
"""
CHANGE = """
import time
began = time.monotonic_ns()
repl_pair.variant("shop.total/Changed", args={"price": 2.0})
print(began)
"""
BARE = "bench_bare"
BARE_CHANGE = f"""
import time
kernel = get_ipython().kernel
topic = f"kernel.{{kernel.ident}}.{BARE}".encode()
began = time.monotonic_ns()
kernel.session.send(kernel.iopub_socket, "{BARE}", {{}}, parent={{}}, ident=topic)
print(began)
"""


def figures() -> list[Row]:
    count = scaled(VARIANTS, 100)
    with filled_registry(count) as registered_us:
        rows = [register_row(count, registered_us), *asyncio.run(page_rows(count))]
    return [*rows, asyncio.run(push_row(count))]


@contextmanager
def filled_registry(count: int) -> Generator[float]:
    """Register variants in this process during the block; gives the microseconds each."""
    undo = repl_pair.registry.checkpoint()
    try:
        repl_pair.tag("few")
        repl_pair.tag("unasked", default_filter="exclude")
        repl_pair.story("shop.total", component=total)
        yield clocked_ms(lambda: register(count)) * 1e3 / count
    finally:
        undo()


def register(count: int) -> None:
    for number in range(count):
        tags = ["few"] if number % 1000 == 0 else []
        repl_pair.variant(f"shop.total/Of_{number}", args={"price": 1.0}, tags=tags)


def total(price: float) -> float:
    return price


def register_row(count: int, added_us: float) -> Row:
    base_us = clocked_ms(lambda: put_bare(count)) * 1e3 / count
    return row(
        f"registering one of {count:,} variants",
        added_us,
        "us",
        baseline=base_us,
        baseline_what="a dict insert and a sorted insert of its id",
    )


def put_bare(count: int) -> dict[str, Any]:
    items, ids = dict[str, Any](), list[str]()
    for number in range(count):
        id = f"shop.total/Of_{number}"
        items[id] = {"price": 1.0}
        insort(ids, id)
    return items


async def page_rows(count: int) -> list[Row]:
    """Measure the first page of lists, each after a change, as nothing can be kept over that."""
    link = DirectLink()
    items = put_bare(count)
    base = median_ms(lambda: sorted(items)[:25], scaled(PAGES, 2))
    questions = {
        "": {},
        " of a story": {"story_id": "shop.total"},
        " with a tag": {"tags": ["few"]},
        ", one in twenty left out": {},
    }
    rows: list[Row] = []
    for name, args in questions.items():
        if "left out" in name:
            leave_out(count)
        rows.append(
            row(
                f"first page of {count:,} variants{name}",
                await first_page_ms(link, args),
                "ms",
                baseline=base,
                baseline_what="sorted(dict)[:25]",
                budget="<= 10",
            )
        )
    await link.close()
    return rows


def leave_out(count: int) -> None:
    for number in range(0, count, 20):
        repl_pair.variant(f"shop.total/Of_{number}", args={"price": 1.0}, tags=["unasked"])


async def first_page_ms(link: DirectLink, args: dict[str, Any]) -> float:
    taken: list[float] = []
    for _ in range(scaled(PAGES, 2)):
        repl_pair.variant("shop.total/Of_7", args={"price": 2.0})
        taken.append(await clocked_ms_of(link.request("list_variants", args, view=AGENT)))
    return median(taken)


async def push_row(count: int) -> Row:
    with scratch_kernel(environment=make_environment()) as kernel:
        await in_cell(kernel, FILL.format(count=count), "fill")
        async with linked_to(kernel) as link:
            events, base = Arrivals(), Arrivals()
            link.subscribe(events.note_event)
            line, attachment = await link.attached()
            await listen(line, attachment.ident, BARE, base.note)
            taken = [
                # None of our code runs after a cell without an id.
                (
                    await events.ms_after(kernel, CHANGE, "change"),
                    await base.ms_after(kernel, BARE_CHANGE, None),
                )
                for _ in range(scaled(CHANGES, 2))
            ]
    pushed, bare = (median(column) for column in zip(*taken, strict=True))
    return row(
        f"a change among {count:,} pushed to a subscriber",
        pushed,
        "ms",
        baseline=bare,
        baseline_what="a bare message on iopub",
        budget="<= 30",
    )


class Arrivals:
    """When messages came, on the clock that all processes of this machine share."""

    def __init__(self) -> None:
        self._times: asyncio.Queue[int] = asyncio.Queue()

    def note(self, _content: Any) -> None:
        self._times.put_nowait(time.monotonic_ns())

    def note_event(self, event: Event) -> None:
        if event.member == "registry/variant" and event.change == "put":
            self.note(event)

    async def ms_after(self, kernel: ScratchKernel, code: str, cell: str | None) -> float:
        """Run a cell that prints when it sent one message; give how long that took to come."""
        began = int(await in_cell(kernel, code, cell))
        async with asyncio.timeout(BOUND_S):
            return (await self._times.get() - began) / 1e6


async def in_cell(kernel: ScratchKernel, code: str, cell: str | None) -> str:
    return await asyncio.to_thread(run_on_thread, kernel, code, cell)


def run_on_thread(kernel: ScratchKernel, code: str, cell: str | None) -> str:
    try:
        return run(kernel, code, cell=cell)
    finally:
        # jupyter_client makes a loop for each thread, and leaves it open.
        ensure_event_loop().close()
