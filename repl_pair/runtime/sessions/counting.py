"""What a client did, counted: from the replies to its calls, and where it is done."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, cast

from repl_pair.wire import Reply


class Counts(TypedDict):
    """What was done; runs by their status, approvals that the person answered."""

    runs: dict[str, int]
    registered: int
    evals: int
    approvals: int
    annotations: int


def no_counts() -> Counts:
    """Return the counts of a session in which nothing was done yet."""
    return Counts(runs={}, registered=0, evals=0, approvals=0, annotations=0)


Add = Callable[[Counts, Mapping[str, Any]], None]
"""Adds to the counts what the result of a call reports."""


def _add_run(counts: Counts, result: Mapping[str, Any]) -> None:
    _add_runs(counts, {str(result.get("status")): 1})


def _add_sweep(counts: Counts, result: Mapping[str, Any]) -> None:
    counted: Mapping[str, int] = result.get("counts", {})
    _add_runs(counts, {status: n for status, n in counted.items() if status != "not_run"})


def _add_runs(counts: Counts, runs: Mapping[str, int]) -> None:
    before = counts["runs"]
    before.update({status: before.get(status, 0) + n for status, n in runs.items() if n})


def _add_eval(counts: Counts, result: Mapping[str, Any]) -> None:
    counts["evals"] += result.get("status") != "cannot_run"


def _add_annotation(counts: Counts, result: Mapping[str, Any]) -> None:
    counts["annotations"] += not result.get("duplicate", False)


_ADD: Mapping[str, Add] = {
    "run_variant": _add_run,
    "reset_variant": _add_run,
    "run_variants": _add_sweep,
    "eval_code": _add_eval,
    "create_annotation": _add_annotation,
}


def count_reply(counts: Counts, op: str, reply: Reply) -> None:
    """Add to the counts what a call of an op did, by its reply."""
    add, result = _ADD.get(op), reply.get("result")
    if add is not None and isinstance(result, dict):
        add(counts, cast("dict[str, Any]", result))


def count_changed(before: Mapping[str, str], after: Mapping[str, str]) -> int:
    """Count the subjects whose version changed, that came, or that went."""
    return sum(before.get(subject) != after.get(subject) for subject in {*before, *after})
