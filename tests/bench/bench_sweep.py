"""What a sweep adds to each run beyond the bare call, and how that grows with the registry."""

from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from statistics import median

from measure import Row, clocked_ms, row, scaled

import repl_pair
from repl_pair import check

MANY, MORE = 10_000, 100_000
SAMPLE = 2_000
TIMES = 3
WORKERS = 2


def add(a: float, b: float) -> float:
    return a + b


def figures() -> Generator[Row]:
    many, more, sample = scaled(MANY, 20), scaled(MORE, 40), scaled(SAMPLE, 10)
    bare = bare_ms(many)
    with registered(many):
        yield row(
            f"run_variants() of {many:,} variants, added per run",
            per_run_ms(many, many, times=1) - bare,
            "ms",
            baseline=bare,
            baseline_what="a bare call of the component",
            budget="<= 0.5",
        )
        few = per_run_ms(sample, many)
        with repl_pair.process_pool(WORKERS) as pool:
            sweep_over(pool, min(sample, 50))
            spread = clocked_ms(lambda: sweep_over(pool, sample)) / sample
        yield row(
            f"the same over {WORKERS} processes, per run",
            spread,
            "ms",
            baseline=few,
            baseline_what="one after the other here",
        )
    with registered(more):
        yield row(
            f"run_variants() of {sample:,} among {more:,} registered, per run",
            per_run_ms(sample, more),
            "ms",
            baseline=few,
            baseline_what=f"among {many:,}",
            budget="ratio <= 1.5",
        )


@contextmanager
def registered(variants: int) -> Generator[None]:
    """Register a story with so many variants during the block."""
    undo = repl_pair.registry.checkpoint()
    try:
        repl_pair.story("sum.swept", component=add)
        for number in range(variants):
            args = {"a": float(number), "b": 2.0}
            play = [check.path_equals("result", number + 2.0)]
            repl_pair.variant(f"sum.swept/Of_{number:06}", args=args, play=play)
        yield
    finally:
        undo()


def bare_ms(calls: int) -> float:
    """Return what one call of the component takes."""

    def call_all() -> None:
        for number in range(calls):
            add(float(number), 2.0)

    return median(clocked_ms(call_all) for _ in range(TIMES)) / calls


def per_run_ms(swept: int, among: int, *, times: int = TIMES) -> float:
    """Return what one run of a sweep takes, the sweep's own beginning and end included."""
    ids = ids_of(swept, among)

    def sweep() -> None:
        assert repl_pair.run_variants(ids).counts["pass"] == swept

    return median(clocked_ms(sweep) for _ in range(scaled(times, 1))) / swept


def sweep_over(pool: Executor, swept: int) -> None:
    """Sweep over processes that stand ready."""
    assert repl_pair.run_variants(ids_of(swept, swept), executor=pool).counts["pass"] == swept


def ids_of(swept: int, among: int) -> list[str]:
    """Return evenly spread ids."""
    return [f"sum.swept/Of_{number:06}" for number in range(0, among, among // swept)][:swept]
