"""Figures of the byte gate against the same patterns in the standard library, in the same run."""

import json
import re
from collections.abc import Callable
from time import perf_counter
from typing import Any

from mcp.types import JSONRPCResponse
from measure import Row, row, scaled

from repl_pair.mcp_server.gate.byte_gate import scrub_frame
from repl_pair.mcp_server.gate.patterns import PATTERNS, names_secret
from repl_pair.wire import REDACTED

GOAL_MB_S = 100
ROUNDS = 7
_STDLIB = re.compile("|".join(f"(?:{pattern.text})" for pattern in PATTERNS))


def entry(number: int, note: str) -> dict[str, Any]:
    args = {"customer": "ann", "total": f"{number}.50", "lines": [{"sku": "a-1", "qty": 3}]}
    return {
        "id": f"checkout.cart/Variant_{number}",
        "doc": f"A cart of {number} lines, the customer pays later",
        "tags": ["smoke", "pricing"],
        "origin": {"module": "stories_pricing", "line": number * 3},
        "args": args | ({"password": note} if note == REDACTED else {"note": note}),
        "status": "pass",
    }


def frame(entries: int, note: Callable[[int], str]) -> JSONRPCResponse:
    items = [entry(number, note(number)) for number in range(entries)]
    envelope = {"ok": True, "result": {"items": items, "total": entries}, "boot": "b1"}
    text = json.dumps(envelope, separators=(",", ":"))
    result = {"content": [{"type": "text", "text": text}], "structuredContent": envelope}
    return JSONRPCResponse(jsonrpc="2.0", id=1, result=result)


def samples() -> dict[str, JSONRPCResponse]:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    return {
        "clean reply, 30 kB": frame(60, lambda _: "nothing here"),
        "clean reply, 1.5 MB": frame(scaled(3000, 10), lambda _: "nothing here"),
        "redacted by the kernel, 1.5 MB": frame(scaled(3000, 10), lambda _: REDACTED),
        "a secret in every 100th entry, 1.5 MB": frame(
            scaled(3000, 10),
            lambda number: f"see {secret}" if number % 100 == 0 else "nothing here",
        ),
    }


def leaf_by_leaf(node: Any) -> Any:
    """Scrub as the standard library lets one do it."""
    if isinstance(node, str):
        return _STDLIB.sub(_redact, node)
    if isinstance(node, list):
        return [leaf_by_leaf(value) for value in node]
    if not isinstance(node, dict):
        return node
    return {
        leaf_by_leaf(key): REDACTED if names_secret(key) else leaf_by_leaf(value)
        for key, value in node.items()
    }


def _redact(match: re.Match[str]) -> str:
    group = match.lastindex or 0
    start, stop = (at - match.start() for at in match.span(group))
    return match[0][:start] + REDACTED + match[0][stop:]


def fastest(run: Callable[[], object], rounds: int) -> float:
    def once() -> float:
        start = perf_counter()
        run()
        return perf_counter() - start

    return min(once() for _ in range(rounds))


def figures() -> list[Row]:
    return [figure(what, sample) for what, sample in samples().items()]


def figure(what: str, sample: JSONRPCResponse) -> Row:
    megabytes = len(sample.model_dump_json()) / 1e6
    return row(
        f"byte gate, {what}",
        megabytes / fastest(lambda: scrub_frame(sample), scaled(ROUNDS, 1)),
        "MB/s",
        baseline=megabytes / fastest(lambda: leaf_by_leaf(sample.result), 1),
        baseline_what="the same patterns in re",
        budget=f">= {GOAL_MB_S}",
    )
