"""The steps of a play that are no assertions: their names, and the words that each takes."""

from collections.abc import Callable, Sequence
from typing import Any

from repl_pair.records import record


@record
class StepShape:
    """What follows the name of a step, in words; `fits` says whether given words do."""

    words: str
    fits: Callable[[Sequence[Any]], bool]

    def fault(self, given: Sequence[Any]) -> str:
        """Say what is wrong with the words of a step; nothing if they fit."""
        return "" if self.fits(given) else f"it takes {self.words}, not {list(given)!r:.80}."


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
    return len(given) == 2 and isinstance(given[0], (str, list, tuple))


def _is_call(given: Sequence[Any]) -> bool:
    return (
        1 <= len(given) <= 2
        and isinstance(given[0], str)
        and (len(given) == 1 or isinstance(given[1], dict))
    )


MOST_MS = 30_000

STEPS: dict[str, StepShape] = {
    "dispatch": StepShape(words="one event: [name, {payload}]", fits=_is_event),
    "wait": StepShape(words=f"milliseconds from 0 to {MOST_MS}", fits=_is_wait),
    "set": StepShape(words="a path into the live object, and a value", fits=_is_set),
    "call": StepShape(words="a public method's name and perhaps {arguments}", fits=_is_call),
}
"""Every step that is no assertion, by name."""
