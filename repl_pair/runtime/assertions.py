"""The built-in assertions: each looks at what a run settled to and gives a verdict."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from repl_pair.errors import RequestError, nearest
from repl_pair.records import record
from repl_pair.runtime import compare
from repl_pair.runtime.model import Component, Function, Origin
from repl_pair.runtime.paths import PathMiss, follow, format_path, parse_path
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.run_record import Verdict


@record
class Settled:
    """What assertions look at; its fields are the roots of paths."""

    args: Mapping[str, Any]
    result: Any = None
    last: Any = None
    state: Any = None
    effects: tuple[Any, ...] = ()
    events: tuple[Any, ...] = ()
    played: tuple[Any, ...] = ()
    """The events since play began."""
    stdout: str = ""
    warnings: tuple[str, ...] | None = ()
    logs: tuple[str, ...] = ()


@record
class Raised:
    """What an assertion on exceptions looks at: the one that the component raised, if any."""

    error: BaseException | None


ROOTS = tuple(f.name for f in fields(Settled) if f.name != "played")


def path_equals(settled: Settled, path: str | list[Any], expected: Any) -> Verdict:
    """`[path, expected]`: the value at the path equals the expected one, by content."""
    steps = parse_path(path)
    if steps[0] not in ROOTS:
        return Verdict(passed=False, expected=expected, reason=_unknown_root(steps[0]))
    try:
        actual = follow(getattr(settled, str(steps[0])), steps[1:])
    except PathMiss as miss:
        return Verdict(passed=False, expected=expected, reason=_missed(steps, miss))
    reason = compare.difference(expected, actual, format_path(steps))
    return Verdict(passed=reason is None, expected=expected, actual=actual, reason=reason or "")


def no_warnings(settled: Settled) -> Verdict:
    """`[]`: nothing was warned of during the run."""
    if settled.warnings is None:
        raise RequestError(
            "cannot_run",
            "no_warnings: warnings can only be recorded on lane main, one run at a time.",
        )
    found = list(settled.warnings)
    reason = f"{len(found)} warnings, first: {found[0]}" if found else ""
    return Verdict(passed=not found, expected=[], actual=found, reason=reason)


def raises(raised: Raised, exception: str, options: Mapping[str, Any] | None = None) -> Verdict:
    """`[exception, {match}]`: the component raised this exception or a subclass of it."""
    match = (options or {}).get("match")
    expected = exception if match is None else f"{exception} matching {match!r}"
    if raised.error is None:
        return Verdict(passed=False, expected=expected, reason="the component raised nothing")
    actual = f"{type(raised.error).__name__}: {raised.error}"
    if exception not in _names(type(raised.error)):
        return Verdict(passed=False, expected=expected, actual=actual, reason=f"it raised {actual}")
    if match is not None and re.search(match, str(raised.error)) is None:
        return Verdict(
            passed=False, expected=expected, actual=actual, reason="the message does not match"
        )
    return Verdict(passed=True, expected=expected, actual=actual)


def _names(cls: type[BaseException]) -> set[str]:
    return {name for c in cls.__mro__ for name in (c.__name__, f"{c.__module__}.{c.__qualname__}")}


def _unknown_root(root: object) -> str:
    near = nearest(str(root), ROOTS)
    return f"paths start at {', '.join(ROOTS)}, not at {root!r}" + (
        f"; nearest: {near[0]}" if near else ""
    )


def _missed(steps: tuple[str | int, ...], miss: PathMiss) -> str:
    near = f"; near: {', '.join(map(str, miss.near))}" if miss.near else ""
    return f"{format_path(steps)}: no {miss.step!r} in {miss.reached or steps[0]}{near}"


_BUILTIN = Origin(key="builtin", label="repl_pair", line=0)


def register_builtins(functions: tuple[Callable[..., Verdict], ...]) -> None:
    """Enter the assertions that ship with the package."""
    for fn in functions:
        body = Function(component=Component.of(fn), doc=fn.__doc__ or "")
        REGISTRY.register("assertion", fn.__name__, body, origin=_BUILTIN)


register_builtins((path_equals, no_warnings, raises))
