"""Assertions on the value at one path, and on the text of a run."""

import importlib
from collections.abc import Iterator, Mapping
from functools import partial, reduce
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.assertions.comparison import difference, short
from repl_pair.runtime.assertions.formats import format_checker
from repl_pair.runtime.assertions.operators import lacks, unlike
from repl_pair.runtime.assertions.tolerance import Tolerance, apart
from repl_pair.runtime.assertions.verdicts import judge_at, judge_equal
from repl_pair.runtime.assertions.view import Path, PathNotFound, RunView
from repl_pair.runtime.capture.bundles import texts_of
from repl_pair.runtime.reading.expansion import TooManyPartsError, to_json
from repl_pair.runtime.registry.outcomes import Verdict
from repl_pair.runtime.secrets.renderings import leaving_form
from repl_pair.runtime.values.classes import is_map, real_class
from repl_pair.runtime.values.frozen import to_plain
from repl_pair.runtime.values.paths import format_path, join_path, parse_path
from repl_pair.runtime.values.patterns import finds

MAX_FAULTS = 3
"""How many faults of a value under a schema are named."""


def path_equals(settled: RunView, path: Path, expected: Any) -> Verdict:
    """`[path, expected]`: the value at the path equals the expected one, by content."""
    return judge_equal(settled, path, expected)


def result_equals(settled: RunView, expected: Any) -> Verdict:
    """`[expected]`: the component returned what equals this, by content."""
    return judge_equal(settled, ["result"], expected)


def path_matches(settled: RunView, path: Path, schema: Any) -> Verdict:
    """`[path, schema]`: the value at the path, as JSON, fits the JSON Schema."""
    return judge_at(settled, path, schema, partial(_misfit, schema, settled.by_agent))


def _misfit(schema: Any, by_agent: bool, value: Any, where: str) -> str:
    try:
        jsonschema: Any = importlib.import_module("jsonschema")
    except ImportError as error:
        raise RequestError(
            "cannot_run",
            "path_matches needs the library jsonschema in the kernel's environment: "
            "pip install jsonschema",
        ) from error
    plain = to_plain(schema)
    if not is_map(plain):
        return f"the schema is not valid: it is a mapping, not {short(plain)}"
    default = jsonschema.Draft202012Validator
    validator: Any = jsonschema.validators.validator_for(plain, default=default)
    try:
        validator.check_schema(plain)
    except jsonschema.SchemaError as error:
        return f"the schema is not valid: {error.message}"
    # The library's own registry would fetch what a `$ref` names, from the network or a file.
    known: Any = importlib.import_module("jsonschema_specifications").REGISTRY
    unresolvable: Any = importlib.import_module("referencing.exceptions").Unresolvable
    if by_agent:
        validator = jsonschema.validators.extend(validator, {"pattern": _check_pattern})
    formats = format_checker(jsonschema, validator)
    checker = validator(plain, registry=known, format_checker=formats)
    try:
        found = list(checker.iter_errors(to_json(value)))
    except TooManyPartsError as error:
        return f"{where}: {error}, and is held against a schema whole"
    except unresolvable as error:
        return f"the schema is not valid: {error}; a $ref stays inside its schema"
    faults = sorted(found, key=lambda e: [str(p) for p in e.path])
    shown = [f"{reduce(join_path, e.path, where)}: {e.message}" for e in faults[:MAX_FAULTS]]
    more = [f"{len(faults) - len(shown)} more"] if len(faults) > len(shown) else []
    return "; ".join([*shown, *more])


def _check_pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(value, str) and not finds(pattern, value, by_agent=True):
        error: Any = importlib.import_module("jsonschema").ValidationError
        yield error(f"{value!r} does not match {pattern!r}")


def compare(settled: RunView, path: Path, op: str, x: Any) -> Verdict:
    """`[path, op, x]`: the value is `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `not_in` or `is_close`.

    An array or frame is, if each of its items is; `==`, `in`, and an `x` of many items take it as
    a whole.
    """
    if op == "==":
        return judge_equal(settled, path, x)
    return judge_at(settled, path, x, lambda actual, where: unlike(actual, op, x, where))


def contains(settled: RunView, path: Path, item: Any) -> Verdict:
    """`[path, item]`: the text, mapping's keys, frame's columns or other items hold this one."""
    return judge_at(settled, path, item, lambda actual, where: lacks(settled, actual, item, where))


def length(settled: RunView, path: Path, n: int | Mapping[str, int]) -> Verdict:
    """`[path, n]`: the value has n items, or from min to max of `{min, max}`, both included."""

    def why(actual: Any, where: str) -> str | None:
        is_legal = is_map(n) and n and set(n) <= {"min", "max"}
        if not (is_legal or (isinstance(n, int) and not isinstance(n, bool))):
            return f"a length is a whole number or {{min, max}}, not {short(n)}"
        if not hasattr(real_class(actual), "__len__"):
            return f"{where}: a {type(actual).__name__} has no length"
        count = len(actual)
        bounds: Mapping[str, Any] = n if is_map(n) else {"min": n, "max": n}
        if bounds.get("min", 0) <= count <= bounds.get("max", count):
            return None
        wanted = f"from {n.get('min', 0)} to {n.get('max', 'any')}" if is_map(n) else n
        return f"{where}: expected {wanted} items, got {count}"

    return judge_at(settled, path, n, why)


def approx(
    settled: RunView,
    path: Path,
    expected: Any,
    *,
    abs: float | None = None,
    rel: float | None = None,
) -> Verdict:
    """`[path, expected, {abs, rel}]`: numbers anywhere in the value are near, the rest equals.

    Two numbers are near if they differ by at most `abs` (1e-12), or by `rel` (1e-6) of the larger;
    with `abs` alone there is no `rel`. Arrays and frames are compared by items, whatever dtype.
    """
    try:
        tolerance = Tolerance.of(abs, rel)
    except ValueError as error:
        return Verdict.of(str(error), expected=expected)
    return judge_at(
        settled, path, expected, lambda actual, where: apart(expected, actual, where, tolerance)
    )


def state_is(settled: RunView, path: Path, state: Any) -> Verdict:
    """`[path, state]`: in the state, the machine or value at the path is in this state.

    A machine has it in its `state`; members of an Enum go by name or value.
    """
    steps = parse_path(path)
    inside = steps if steps[0] == "state" and len(steps) > 1 else ("state", *steps)
    try:
        actual = settled.at(list(inside))
    except PathNotFound as miss:
        return Verdict.of(f"there is no machine {format_path(steps)}: {miss}", expected=state)
    if is_map(actual):
        actual = actual.get("state", actual)
    else:
        own: Mapping[str, Any] = getattr(actual, "__dict__", {})
        declared = getattr(real_class(actual), "state", None)
        if "state" in own or isinstance(declared, property):
            actual = getattr(actual, "state", actual)
    reason = difference(state, actual, format_path(inside))
    return Verdict.of(reason, expected=state, actual=actual)


def rendered_text(settled: RunView, text: str | Mapping[str, str]) -> Verdict:
    """`[text]`: what was displayed is this text, or holds what the pattern of `{match}` finds.

    Counts the text form of each output, else of the result; blanks around it do not count.
    """
    shown = text_of(settled)
    found = shown if settled.by_agent else text_of(settled, whole=True)
    pattern = text.get("match") if is_map(text) else None
    if not isinstance(text, str) and not (isinstance(pattern, str) and len(text) == 1):
        reason = f"it takes a text or {{match}}, not {short(text)}"
    elif pattern is not None:
        passed = finds(pattern, found, by_agent=settled.by_agent)
        reason = "" if passed else f"nothing in the text matches {pattern!r}, got {short(shown)}"
    else:
        passed = found.strip() == str(text).strip()
        reason = "" if passed else f"expected the text {short(text)}, got {short(shown)}"
    return Verdict.of(reason, expected=text, actual=shown)


def text_of(settled: RunView, *, whole: bool = False) -> str:
    """Return what was displayed as text: a line or more an output, else the result's own text.

    It is the text that may leave the process; with `whole`, what the person sees.
    """
    if settled.outputs:
        return "\n".join(texts_of(settled.outputs, whole=whole))
    result = settled.result
    if isinstance(result, str):
        return result
    bundle = {"text/plain": repr(result)}
    return str((bundle if whole else leaving_form(result, bundle))["text/plain"])
