"""What `skip` and `xfail` make of a run, as under pytest: as tags, as marks, and when raised."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from repl_pair.cli.project_code import describe_error, settings_here
from repl_pair.cli.verdicts import FAILING
from repl_pair.records import record
from repl_pair.runtime.loading.load import is_outcome
from repl_pair.runtime.registry.extending import lay_over, reachable_chain
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import MODULE
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.tags import ACTING, reason_of, tags_of
from repl_pair.runtime.values.frozen import to_plain

_RAISED = {"Skipped": "skip", "XFailed": "xfail"}
"""The statuses that pytest's own exceptions stand for, by their classes."""


@record
class Expectation:
    """What is expected of the runs of a variant: `skip` or `xfail`, and why.

    `runs`: it is run for that. `strict`: an `xfail` that passes is a failure. `raises`: the classes
    of what an `xfail` excuses, else any failure.
    """

    kind: str
    reason: str
    runs: bool = False
    strict: bool = False
    raises: tuple[type[BaseException], ...] | None = None


def read_expectation(variant_id: str) -> Expectation | None:
    """Return what a variant of this process carries, a skip before an xfail; else None."""
    entry = REGISTRY.find("variant", variant_id)
    found = [] if entry is None else [*_of_marks(marks_of(entry)), *_of_tags(entry)]
    return min(found, key=lambda one: one.kind != "skip", default=None)


def judge_row(
    expected: Expectation | None, row: Mapping[str, Any], raised: Sequence[BaseException]
) -> Mapping[str, Any]:
    """Return the row of a run, which raised this, with the status that pytest reports for it."""
    # What is raised behind the first, as in a teardown, hides no failure.
    errors = raised[:1] if row["status"] == "error" else ()
    for error in errors:
        for kind, status in _RAISED.items():
            if is_outcome(error, kind):
                reason = describe_error(error).partition(": ")[2]
                return {**row, "status": status, "reason": reason}
    if expected is None:
        return row
    if row["status"] in FAILING:
        if expected.raises is not None and not any(isinstance(e, expected.raises) for e in errors):
            return row
        return {**row, "status": "xfail", "reason": expected.reason}
    status = "fail" if expected.strict else "xpass"
    return {**row, "status": status, "reason": f"it passes, though: {expected.reason}"}


def _of_tags(entry: Entry) -> Iterator[Expectation]:
    for tag in tags_of(entry):
        if tag in ACTING:
            fails = tag == "xfail"
            yield Expectation(
                kind=tag, reason=reason_of(tag), runs=fails, strict=settings_here().strict_xfail
            )


def marks_of(entry: Entry) -> Iterator[Sequence[Any]]:
    """Yield the marks of a variant, the last first, then its module's: `[name, args, kwargs]`."""
    yield from map(to_plain, reversed(lay_over(reachable_chain(entry)).marks))
    module = sys.modules.get(entry.origin.key.removeprefix(MODULE))
    given: Any = () if module is None else vars(module).get("pytestmark", ())
    for mark in cast("Iterable[Any]", given if isinstance(given, (list, tuple)) else (given,)):
        yield mark.name, mark.args, mark.kwargs


def _of_marks(marks: Iterable[Sequence[Any]]) -> Iterator[Expectation]:
    for name, args, kwargs in marks:
        given = (kwargs["condition"],) if "condition" in kwargs else args
        conditions = () if name == "skip" else given
        # A condition that is text is code, which only pytest runs.
        holds = not conditions or any(one for one in conditions if not isinstance(one, str))
        if name not in ("skip", "skipif", "xfail") or not holds:
            continue
        raises = kwargs.get("raises")
        yield Expectation(
            kind="xfail" if name == "xfail" else "skip",
            reason=kwargs.get("reason") or (args[0] if name == "skip" and args else name),
            runs=name == "xfail" and kwargs.get("run", True),
            strict=kwargs.get("strict", settings_here().strict_xfail),
            raises=None if raises is None else _classes_of(raises),
        )


def _classes_of(raises: Any) -> tuple[type[BaseException], ...]:
    """Return the classes that a mark names; none of a matcher of pytest's, which only that asks."""
    given = cast("Iterable[Any]", raises if isinstance(raises, tuple) else (raises,))
    return tuple(one for one in given if isinstance(one, type))
