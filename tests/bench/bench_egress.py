"""How fast values leave: MB of JSON out per second, with 10 and 100 known secrets."""

import json
import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

from measure import Row, row, scaled

from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.handles import Handles
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.secrets.truncation import Limits

ROUNDS = 7
BUDGETS = {10: ">= 20", 100: ">= 15"}
WIDE = Limits(width=100_000, nodes=2_000_000)
WORDS = re.findall(
    r"\w+",
    """
    order price total customer shipped quantity discount warning connection timeout user service
    refused while reading the answer of upstream retry in seconds basket currency invoice
""",
)


@dataclass
class Line:
    sku: str
    quantity: int
    price: float
    note: str


def figures() -> list[Row]:
    """Return one row a value and number of secrets; the baseline is `json.dumps` of the same."""
    dice = random.Random(7)
    rows: list[Row] = []
    for name, make in VALUES.items():
        value = make(dice)
        for count in BUDGETS:
            needles = Needles()
            for _ in range(count):
                needles.add(_secret(dice))
            rows.append(_row(f"egress, {name}, {count} secrets", value, needles, count))
    return rows + [_big_row(what, make) for what, make in BIG.items()]


def _big_row(what: str, make: Callable[[int], Any]) -> Row:
    """Return how long a large value keeps the interpreter, beside one of a thousand parts."""
    count, handles = scaled(1_000_000, 5_000), Handles()
    values = [make(count), make(1_000)]
    taken = [_best(lambda v=v: send_out(v, keep=lambda w: handles.keep(w, "a"))) for v in values]
    return row(
        f"reading {what} of {count:,}",
        taken[0] * 1e3,
        "ms",
        baseline=taken[1] * 1e3,
        baseline_what="the same of 1,000",
        budget="<= 150",
    )


def _row(what: str, value: Any, needles: Needles, count: int) -> Row:
    out = send_out(value, limits=WIDE, needles=needles).value
    size = len(json.dumps(out)) / 1e6
    return row(
        what,
        size / _best(lambda: send_out(value, limits=WIDE, needles=needles)),
        "MB/s",
        baseline=size / _best(lambda: json.dumps(out)),
        baseline_what="json.dumps",
        budget=BUDGETS[count],
    )


def _best(call: Callable[[], Any]) -> float:
    times: list[float] = []
    for _ in range(scaled(ROUNDS, 1)):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def _secret(dice: random.Random) -> str:
    return "".join(dice.choices(string.ascii_letters + string.digits, k=24))


def _sentence(dice: random.Random, words: int) -> str:
    return " ".join(dice.choices(WORDS, k=words)) + f" {dice.random()}"


def _order(dice: random.Random) -> dict[str, Any]:
    return {
        "order_id": dice.randrange(10**6),
        "customer": {"name": _sentence(dice, 2), "email": "a.person@example.com", "vip": False},
        "lines": [
            {"sku": f"A-{dice.randrange(999)}", "quantity": 3, "price": dice.random(), "note": None}
            for _ in range(4)
        ],
        "status": "shipped",
        "history": [_sentence(dice, 8) for _ in range(3)],
    }


def _lines(dice: random.Random) -> list[Line]:
    return [
        Line(f"A-{n}", dice.randrange(9), dice.random(), _sentence(dice, 6))
        for n in range(scaled(3000, 10))
    ]


VALUES: dict[str, Callable[[random.Random], Any]] = {
    "orders (nested dicts)": lambda dice: [_order(dice) for _ in range(scaled(1000, 10))],
    "dataclasses": _lines,
    "log lines": lambda dice: [_sentence(dice, 16) for _ in range(scaled(5000, 10))],
    "tracebacks (2 kB texts)": lambda dice: [
        _sentence(dice, 250)[:2000] for _ in range(scaled(500, 10))
    ],
    "numbers": lambda dice: [[dice.random() for _ in range(100)] for _ in range(scaled(300, 10))],
    "a secret in each line": lambda dice: [
        {"password": secret, "text": f"{_sentence(dice, 16)} {secret}"}
        for secret in (_secret(dice) for _ in range(scaled(300, 10)))
    ],
}
BIG: dict[str, Callable[[int], Any]] = {
    "a dict": lambda count: dict.fromkeys(range(count)),
    "a list of rows": lambda count: [{"n": n, "note": f"note {n}"} for n in range(count)],
    "a list of 20 lists": lambda count: [list(range(count // 20)) for _ in range(20)],
    "a text": lambda count: "a word or two " * count,
}
