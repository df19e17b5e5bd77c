"""Assertions on what happened: events, effects, warnings, exceptions, time."""

from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any

from repl_pair.errors import RequestError, did_you_mean, text_of
from repl_pair.runtime.assertions.comparison import difference, equal, short
from repl_pair.runtime.assertions.view import Read, RunView
from repl_pair.runtime.reading.exceptions import is_named, short_class_name
from repl_pair.runtime.registry.outcomes import Verdict
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.places import secret_results
from repl_pair.runtime.secrets.raised import text_for_run
from repl_pair.runtime.values.classes import is_awaitable, is_map, is_row
from repl_pair.runtime.values.patterns import finds


def dispatched(settled: RunView, event: Any) -> Verdict:
    """`[event]`: since play began this was dispatched: a name, or `[name, {whole payload}]`."""
    words = [event] if isinstance(event, str) else event
    if not is_row(words) or not 1 <= len(words) <= 2 or not isinstance(words[0], str):
        reason = f"an event is a name or [name, {{payload}}], not {short(event)}"
        return Verdict.of(reason, expected=event)
    came = [list(one) for one in settled.played]
    passed = any(
        one[0] == words[0] and (len(words) == 1 or equal(words[1], one[1])) for one in came
    )
    reason = "" if passed else _not_among("event", words, [(e[0], e[1]) for e in came])
    return Verdict.of(reason, expected=event, actual=came)


def effect_emitted(settled: RunView, id: str, payload: Any = None) -> Verdict:
    """`[id, payload?]`: the run emitted this effect, with at least these items in its payload.

    A stubbed effect counts too.
    """
    wanted: Any = payload or {}
    words = [id] if payload is None else [id, payload]
    pairs = [(effect.id, effect.payload) for effect in settled.effects]
    passed = is_map(wanted) and any(
        name == id and all(k in given and equal(value, given[k]) for k, value in wanted.items())
        for name, given in pairs
    )
    actual = [[name, dict(given)] for name, given in pairs]
    reason = "" if passed else _not_among("effect", words, pairs)
    return Verdict.of(reason, expected=words, actual=actual)


def warns(settled: RunView, category: str, *, match: str | None = None) -> Verdict:
    """`[category, {match}]`: the run gave a warning of this class, or of a subclass of it.

    `match` is a pattern to be found in the message. Takes lane main, which can record warnings.
    """
    found = _recorded(settled, "warns")
    expected = category if match is None else f"{category} matching {match!r}"
    fits = partial(is_warning, category=category, match=match, by_agent=settled.by_agent)
    passed = any(fits(kind, text) for kind, text in settled.root("warned"))
    reason = "" if passed else f"there was no {expected}, but {short(found)}"
    return Verdict.of(reason, expected=expected, actual=found)


def is_warning(
    kind: type[Warning], text: str, *, category: str, match: str | None, by_agent: bool = False
) -> bool:
    """Return whether a warning is what `warns` asks for."""
    if not is_named(kind, category):
        return False
    return match is None or finds(match, text, by_agent=by_agent)


def no_warnings(settled: RunView) -> Verdict:
    """`[]`: nothing was warned of during the run; takes lane main, which can record warnings."""
    found = _recorded(settled, "no_warnings")
    reason = f"{len(found)} warnings, first: {found[0]}" if found else ""
    return Verdict.of(reason, expected=[], actual=found)


def raises(settled: RunView, exception: str, *, match: str | None = None) -> Verdict:
    """`[exception, {match}]`: the component or the step before raised this, or a subclass of it.

    `exception` is the name of its class; that of a builtin class means it alone. `match` is a
    pattern to be found in the message. The run goes on behind it.
    """
    error = settled.raised
    expected = exception if match is None else f"{exception} matching {match!r}"
    if error is None:
        return Verdict.of("the component raised nothing", expected=expected)
    message = text_of(error)
    settled.note(Read(steps=("raised", "message"), value=message))
    actual = f"{short_class_name(type(error))}: {message}"
    reason = ""
    if not is_named(type(error), exception):
        reason = f"it raised {actual}"
    elif match is not None and not finds(match, message, by_agent=settled.by_agent):
        reason = "the message does not match"
    return Verdict.of(reason, expected=expected, actual=actual)


def _recorded(settled: RunView, name: str) -> list[str]:
    if settled.warnings is None:
        raise RequestError(
            "cannot_run",
            f"{name}: warnings can only be recorded on lane main, one run at a time.",
        )
    return list(settled.warnings)


def derived_equals(settled: RunView, derived: Any, expected: Any) -> Verdict | Awaitable[Verdict]:
    """`[derived, expected]`: what this id, or `[id, {args}]`, derives of the state equals it."""
    words = [derived] if isinstance(derived, str) else derived
    kwargs: Any = words[1] if is_row(words) and len(words) == 2 else {}
    if not is_row(words) or not words or not isinstance(words[0], str) or not is_map(kwargs):
        reason = f"a derived value is an id or [id, {{args}}], not {short(derived)}"
        return Verdict.of(reason, expected=expected)
    id = words[0]
    entry = REGISTRY.find("derived", id)
    if entry is None:
        return Verdict.of(REGISTRY.missing("derived", id), expected=expected)
    derive = entry.body.component.resolve()

    def judge(actual: Any) -> Verdict:
        declared = bool(secret_results(derive))
        settled.note(Read(steps=("state", id), value=actual, facing=expected, declared=declared))
        return Verdict.of(difference(expected, actual, id), expected=expected, actual=actual)

    def fail(error: Exception) -> Verdict:
        return Verdict.of(f"{id} raised {text_for_run(error)}", expected=expected)

    async def judge_later(coming: Awaitable[Any]) -> Verdict:
        try:
            actual = await coming
        except Exception as error:  # noqa: BLE001  what a derivation raises is a verdict
            return fail(error)
        return judge(actual)

    try:
        actual = derive(settled.state, **kwargs)
    except Exception as error:  # noqa: BLE001  what a derivation raises is a verdict
        return fail(error)
    return judge_later(actual) if is_awaitable(actual) else judge(actual)


def within_ms(settled: RunView, n: Any) -> Verdict:
    """`[n]`: render took at most so many milliseconds."""
    if not isinstance(n, (int, float)) or isinstance(n, bool) or n < 0:
        return Verdict.of(f"a time is milliseconds from 0, not {short(n)}")
    took = round(settled.render_ms, 3)
    reason = "" if took <= n else f"render took {took} ms, not at most {n}"
    return Verdict.of(reason, expected=n, actual=took)


def _not_among(
    kind: str, words: list[Any] | tuple[Any, ...], came: list[tuple[str, Mapping[str, Any]]]
) -> str:
    name = str(words[0])
    payloads = [payload for one, payload in came if one == name]
    if payloads:
        seen = "; ".join(short(dict(payload)) for payload in payloads[:3])
        return f"{kind} {name!r} came {len(payloads)} times, with {seen}"
    names = list(dict.fromkeys(one for one, _ in came))
    near = did_you_mean(name, names)
    others = f"there came {', '.join(names[:8])}" if names else "none came"
    return f"no {kind} {name!r}; {others}{'.' + near if near else ''}"
