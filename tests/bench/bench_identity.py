"""Figures of content identity against joblib.hash, measured in the same run."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import joblib
import numpy
import pandas
from measure import Row, row, scaled

from repl_pair.runtime.planning.identity import content_hash

ROUNDS = 3


@dataclass(frozen=True)
class Branch:
    name: str
    weight: float
    children: tuple["Branch", ...]


def nested(dicts: int) -> dict[str, Any]:
    rows = (
        {"sku": f"s-{at}", "n": at, "price": at / 7, "live": at % 2 == 0, "tags": ["a", "b"]}
        for at in range(dicts // 2)
    )
    return {f"k{at}": {"row": row} for at, row in enumerate(rows)}


def tree(depth: int) -> Branch:
    children = tuple(tree(depth - 1) for _ in range(4)) if depth else ()
    return Branch(f"b{depth}", depth / 3, children)


def frame(rows: int) -> pandas.DataFrame:
    draw = numpy.random.default_rng(0)
    numbers = {f"x{at}": draw.random(rows) for at in range(6)}
    return pandas.DataFrame(
        numbers
        | {
            "count": draw.integers(0, 1000, rows),
            "when": pandas.date_range("2026-01-01", periods=rows, freq="s"),
            "sku": [f"s-{at % 5000}" for at in range(rows)],
            "kind": pandas.Categorical(draw.choice(["a", "b", "c"], rows)),
        }
    )


def samples() -> dict[str, Any]:
    draw = numpy.random.default_rng(0)
    gaps = draw.random(scaled(2_500_000, 1000))
    gaps[::7] = numpy.nan
    return {
        "nested dict, 25k dicts": nested(scaled(25_000, 1000)),
        "ndarray, 20 MB": draw.random(scaled(2_500_000, 1000)),
        "ndarray with NaN, 20 MB": gaps,
        "ndarray, Fortran order, 20 MB": numpy.asfortranarray(draw.random((2500, 1000))),
        "DataFrame 200k x 10": frame(scaled(200_000, 1000)),
        "DataFrame of numbers 200k x 10": pandas.DataFrame(draw.random((200_000, 10))),
        "dataclass tree, 21,845 nodes": tree(scaled(7, 2)),
        "set of 100k str": {f"item {at}" for at in range(scaled(100_000, 1000))},
        "list of 200k floats": [at / 7 for at in range(scaled(200_000, 1000))],
        "list of 200k mixed": [at if at % 2 else str(at) for at in range(scaled(200_000, 1000))],
        "args of a small variant": {"sku": "s-1", "n": 3, "rates": [0.1, 0.2], "to": {"x": None}},
    }


def best_ms(call: Callable[[], object]) -> float:
    def once() -> float:
        start = perf_counter()
        call()
        return (perf_counter() - start) * 1000

    return min(once() for _ in range(scaled(ROUNDS, 1)))


def figures() -> list[Row]:
    """Measure each sample against joblib.hash of the same."""
    return [figure(what, value) for what, value in samples().items()]


def figure(what: str, value: Any) -> Row:
    return row(
        f"identity, {what}",
        best_ms(lambda: content_hash({"args": value})),
        "ms",
        baseline=best_ms(lambda: joblib.hash({"args": value})),
        baseline_what="joblib.hash",
        budget="ratio <= 0.2" if what.startswith("nested") else "ratio <= 1",
    )
