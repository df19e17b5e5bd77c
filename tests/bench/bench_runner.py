"""What run() adds to a bare call of the component, and whether it grows with the registry."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from measure import Row, medians_ms, row, scaled

import repl_pair
from repl_pair import check

RUNS = 300
FEW, MANY = 10, 10_000
BARE = "a bare call of the component"


def add(a: float, b: float) -> float:
    return a + b


async def add_async(a: float, b: float) -> float:
    return a + b


class Sum:
    def __init__(self, a: float, b: float) -> None:
        self.result = a + b


STORIES = {
    "sum.plain": (add, "result"),
    "sum.class": (Sum, "result.result"),
    "sum.async": (add_async, "result"),
}


def figures() -> list[Row]:
    with registered(FEW):
        few = added_ms()
        rows = [*few_rows(few)]
    with registered(scaled(MANY, FEW)):
        many = added_ms()
    return [
        *rows,
        row(
            f"run() with {MANY:,} variants registered, added",
            many["a plain function"][0],
            "ms",
            baseline=few["a plain function"][0],
            baseline_what=f"the same with {FEW} registered",
            budget="<= 0.5",
        ),
    ]


def few_rows(taken: dict[str, tuple[float, float]]) -> Generator[Row]:
    for what, (added, bare) in taken.items():
        yield row(
            f"run() of {what}, added",
            added,
            "ms",
            baseline=bare,
            baseline_what=BARE,
            budget="<= 0.5",
        )


@contextmanager
def registered(variants: int) -> Generator[None]:
    """Register the stories with so many variants each during the block."""
    undo = repl_pair.registry.checkpoint()
    try:
        for story, (component, path) in STORIES.items():
            repl_pair.story(story, component=component)
            for number in range(variants):
                play = [check.path_equals(path, 3.0)]
                repl_pair.variant(f"{story}/Of_{number}", args={"a": 1.0, "b": 2.0}, play=play)
        yield
    finally:
        undo()


def added_ms() -> dict[str, tuple[float, float]]:
    """Return what a run adds and what the bare call takes, by kind of component."""
    loop = asyncio.new_event_loop()
    calls = {
        "a plain function": ("sum.plain/Of_3", lambda: add(1.0, 2.0)),
        "a class": ("sum.class/Of_3", lambda: Sum(1.0, 2.0)),
        "an async function": (
            "sum.async/Of_3",
            lambda: loop.run_until_complete(add_async(1.0, 2.0)),
        ),
    }
    taken: dict[str, tuple[float, float]] = {}
    for what, (variant, bare) in calls.items():
        whole, alone = medians_ms([lambda variant=variant: passes(variant), bare], runs())
        taken[what] = (whole - alone, alone)
    loop.close()
    return taken


def runs() -> int:
    return scaled(RUNS, 2)


def passes(variant: str) -> None:
    assert repl_pair.run(variant).status == "pass"
