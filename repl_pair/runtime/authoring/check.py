"""Typed builders of the assertions that a play may hold; each returns a list."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.runtime.authoring.args import check_mapping
from repl_pair.runtime.reading.exceptions import short_class_name
from repl_pair.runtime.registry.model import BuiltStep, Step
from repl_pair.runtime.values.paths import LEGAL_FORM

Path = str | Sequence[str | int]
"""Dotted text such as `result.lines[0].sku`, or a list of keys, over args, result, last, state,
effects, events, stdout, warnings, logs."""
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not_in", "is_close"]


def path_equals(path: Path, expected: Any) -> Step:
    """Expect the value at a path; JSON is taken to the actual value's type before comparing.

    `"[redacted]"` stands for a value that no agent gets to see, and for no other.
    """
    return BuiltStep("path_equals", _plain(path), expected)


def path_matches(path: Path, schema: Mapping[str, Any]) -> Step:
    """Expect that the value at a path, as JSON, fits a JSON Schema."""
    return BuiltStep(
        "path_matches", _plain(path), dict(check_mapping("path_matches: the schema", schema))
    )


def derived_equals(id: str, expected: Any, **kwargs: Any) -> Step:
    """Expect what a registered `derived` function gives for the state, and these arguments."""
    return BuiltStep("derived_equals", [str(id), kwargs] if kwargs else str(id), expected)


def dispatched(event: str, payload: Mapping[str, Any] | None = None) -> Step:
    """Expect an event since play began; with a payload, the whole of it."""
    return BuiltStep("dispatched", event if payload is None else [event, dict(payload)])


def state_is(path: Path, state: Any) -> Step:
    """Expect a machine, or any value in the state, to be in a state; Enums go by name or value."""
    return BuiltStep("state_is", _plain(path), state)


def warns(category: str | type[Warning], *, match: str | None = None) -> Step:
    """Expect that the run has warned so; takes lane main, where warnings can be recorded.

    `category` and `match` are as in `raises`. Under pytest it is no warning of the session, and
    `-W error` passes.
    """
    return BuiltStep("warns", _class_name("warns", category), *_options(match=match))


def no_warnings() -> Step:
    """Expect that the run warned of nothing; takes lane main, where warnings can be recorded."""
    return BuiltStep("no_warnings")


def effect_emitted(id: str, **payload: Any) -> Step:
    """Expect that the run emitted an effect, stubbed or not, with at least this in its payload."""
    return BuiltStep("effect_emitted", str(id), *([payload] if payload else []))


def raises(exception: str | type[BaseException], *, match: str | None = None) -> Step:
    """Expect that the component, or the step before, raised; the exception is consumed.

    `exception` is a class or its name, with or without its module, and covers subclasses; the name
    of a builtin class means that class alone. `match` is a regular expression searched in the
    message.
    """
    return BuiltStep("raises", _class_name("raises", exception), *_options(match=match))


def result_equals(expected: Any) -> Step:
    """Expect what the component returned; for a class, its instance."""
    return BuiltStep("result_equals", expected)


def compare(path: Path, op: Operator, x: Any) -> Step:
    """Expect that the operator holds between the value at a path, or each element of it, and `x`.

    Elements are those of an array, a column or a frame, of which there must be one; `==` and `in`,
    and an `x` that is an array or a list, take it as a whole.
    """
    return BuiltStep("compare", _plain(path), op, x)


def contains(path: Path, item: Any) -> Step:
    """Expect an item in the value at a path: a part of a text, a key, a column, a member."""
    return BuiltStep("contains", _plain(path), item)


def length(
    path: Path, n: int | None = None, *, min: int | None = None, max: int | None = None
) -> Step:
    """Expect how many items the value at a path has: exactly, or between two bounds, included."""
    bounds = _options(min=min, max=max)
    return BuiltStep("length", _plain(path), *(bounds or [n]))


def approx(
    path: Path, expected: Any, *, abs: float | None = None, rel: float | None = None
) -> Step:
    """Expect the value at a path with its numbers nearly equal: data, arrays, frames.

    Two numbers may differ by `abs` (1e-12), or by `rel` (1e-6) of the larger; with `abs` alone
    there is no `rel`.
    """
    return BuiltStep("approx", _plain(path), expected, *_options(abs=abs, rel=rel))


def matches_snapshot(name: str = "", *, tolerance: float | None = None) -> Step:
    """Expect result and outputs as they were when the person accepted them.

    `name` tells several snapshots of one variant apart. `tolerance` is the share of an image's
    pixels, 0 to 1, that may look different: 0, unless pytest's ini file sets more.
    """
    options = _options(tolerance=tolerance)
    return BuiltStep("matches_snapshot", *([name] if name or options else []), *options)


def rendered_text(text: str | None = None, *, match: str | None = None) -> Step:
    """Expect the text that was displayed, or a pattern in it; blanks around it do not count."""
    return BuiltStep("rendered_text", *(_options(match=match) or [text]))


def within_ms(n: float) -> Step:
    """Expect that render took at most so many milliseconds."""
    return BuiltStep("within_ms", n)


def no_secret() -> Step:
    """Expect that no known secret stands in anything that the run put out."""
    return BuiltStep("no_secret")


def _class_name(step: str, given: Any) -> str:
    if not isinstance(given, str | type):
        raise AuthoringError("bad_body", f"{step} takes one class or its name, not {given!r}.")
    return given if isinstance(given, str) else short_class_name(given)


def _plain(path: Any) -> str | list[str | int]:
    if not isinstance(path, str | list | tuple):
        raise AuthoringError("bad_body", f"a path is {LEGAL_FORM}, not {path!r}.")
    return path if isinstance(path, str) else list(cast("Sequence[str | int]", path))


def _options(**given: Any) -> list[dict[str, Any]]:
    options = {name: value for name, value in given.items() if value is not None}
    return [options] if options else []


def __getattr__(name: str) -> Any:
    raise AttributeError(f"repl_pair.check has no {name!r}.{did_you_mean(name, __dir__())}")


def __dir__() -> list[str]:
    own = (name for name, it in globals().items() if getattr(it, "__module__", "") == __name__)
    return sorted(name for name in own if not name.startswith("_"))
