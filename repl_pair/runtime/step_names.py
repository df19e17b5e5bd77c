"""The steps of a play that are no assertions: their names, and the words that each takes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import record
from repl_pair.runtime.paths import parse_path
from repl_pair.runtime.shapes import is_map


@record
class StepShape:
    """What follows the name of a step, in words; `fits` says whether given words do."""

    words: str
    fits: Callable[[Sequence[Any]], bool]

    def fault(self, given: Sequence[Any]) -> str:
        """Say what is wrong with the words of a step; nothing if they fit."""
        return "" if self.fits(given) else f"it takes {self.words}, not {list(given)!r:.80}."


def unknown_step(name: str, assertions: Iterable[str]) -> str:
    """Say that a name is neither a step nor one of these assertions, and what is near."""
    return (
        f"There is no step {name!r}.{did_you_mean(name, [*STEPS, *assertions])} A step is "
        f"{', '.join(STEPS)}, or an assertion that is registered."
    )


def _is_event(given: Sequence[Any]) -> bool:
    return len(given) == 1 and isinstance(given[0], list)


def _is_wait(given: Sequence[Any]) -> bool:
    return (
        len(given) == 1
        and isinstance(given[0], (int, float))
        and not isinstance(given[0], bool)
        and 0 <= given[0] <= MOST_MS
    )


def _is_set(given: Sequence[Any]) -> bool:
    if len(given) != 2 or not isinstance(given[0], (str, list, tuple)):
        return False
    try:
        parse_path(cast("Sequence[Any]", given[0]))
    except RequestError:
        return False
    return True


def _is_call(given: Sequence[Any]) -> bool:
    return (
        1 <= len(given) <= 2
        and isinstance(given[0], str)
        and (len(given) == 1 or _are_keywords(given[1]))
    )


def _are_keywords(value: Any) -> bool:
    return is_map(value) and all(isinstance(key, str) for key in value)


MOST_MS = 30_000

STEPS: dict[str, StepShape] = {
    "dispatch": StepShape(words="one event: [name, {payload}]", fits=_is_event),
    "wait": StepShape(words=f"milliseconds from 0 to {MOST_MS}", fits=_is_wait),
    "set": StepShape(words="a path into the live object, and a value", fits=_is_set),
    "call": StepShape(words="a public method's name and perhaps {arguments}", fits=_is_call),
}
"""Every step that is no assertion, by name."""
ACTING = STEPS.keys() - {"wait"}
"""Those that may change the live object."""
