"""The steps of plays that are no assertions, a row each, and what takes the events of a run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from repl_pair.records import record
from repl_pair.runtime.registry.model import AssertionSignature, Entry, LooksAt
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.frozen import is_payload
from repl_pair.runtime.values.paths import keys_of

Named = Literal["event", "method", "path", ""]


@record
class StepSignature:
    """What follows the name of a step, in words; `fits` checks what is given.

    `names`: what its first word is, `[name, {payload}]`, a method of the live object or a path into
    it. What is behind it, and every word where it names nothing, is data. `acts`: that data goes to
    the live object, which the step may change.
    """

    words: str
    fits: Callable[[Sequence[Any]], bool]
    names: Named = ""
    acts: bool = True

    def fault(self, given: Sequence[Any]) -> str:
        """Describe what is wrong with the words of a step; nothing if they fit."""
        return "" if self.fits(given) else f"it takes {self.words}, not {list(given)!r:.80}."

    def hands(self, given: Sequence[Any]) -> bool:
        """Return whether words bring data to the live object; an empty payload is none."""
        if self.names not in ("event", "method"):
            return self.acts and bool(given)
        event: Any = given[0] if self.names == "event" and given and is_row(given[0]) else ()
        return any(not is_map(part) or part for part in (*event[1:], *given[1:]))


def _is_wait(given: Sequence[Any]) -> bool:
    ms: Any = given[0] if len(given) == 1 else None
    is_number = isinstance(ms, (int, float)) and not isinstance(ms, bool)
    return is_number and 0 <= ms <= MAX_MS


def _is_set(given: Sequence[Any]) -> bool:
    return len(given) == 2 and isinstance(given[0], (str, list, tuple)) and bool(keys_of(given[0]))


def _is_call(given: Sequence[Any]) -> bool:
    return 1 <= len(given) <= 2 and isinstance(given[0], str) and all(map(is_payload, given[1:]))


MAX_MS = 30_000

STEPS: dict[str, StepSignature] = {
    "dispatch": StepSignature(
        words="one event: [name, {payload}]",
        fits=lambda given: len(given) == 1 and isinstance(given[0], list),
        names="event",
    ),
    "wait": StepSignature(words=f"milliseconds from 0 to {MAX_MS}", fits=_is_wait, acts=False),
    "set": StepSignature(
        words="a path into the live object, and a value", fits=_is_set, names="path"
    ),
    "call": StepSignature(
        words="a public method's name and perhaps {arguments}", fits=_is_call, names="method"
    ),
}
"""Every step that is no assertion, by name."""

ACTING = {name for name, row in STEPS.items() if row.acts}
"""Those that may change the live object."""


def named_by(line: Sequence[Any]) -> Named:
    """Return what the first word of a line names; nothing for a step of data, and an assertion."""
    row = STEPS.get(str(line[0]))
    return "" if row is None else row.names


def _signature_of(line: Sequence[Any]) -> AssertionSignature | None:
    """Return what is known of the assertion of a line; None of a step, and of the person's own."""
    entry = REGISTRY.find("assertion", str(line[0]))
    return None if entry is None else entry.body.signature


def looks_at(line: Sequence[Any]) -> LooksAt | None:
    """Return what an assertion looks at, nothing for a step; None where that is not known."""
    if line[0] in STEPS:
        return ""
    signature = _signature_of(line)
    return None if signature is None else signature.looks_at


def plain_words(line: Sequence[Any]) -> int:
    """Return how many words behind the name of an assertion hold no value; none where unknown."""
    signature = _signature_of(line)
    return 0 if signature is None else signature.plain_words


def name_in(word: Any) -> str:
    """Return the name in a word that is `name` or `[name, {payload}]`."""
    return str(word[0] if is_row(word) and word else word)


def taker_of(
    cls: Any,
    name: str,
    own: Mapping[str, Callable[..., Any]] | None = None,
    find: Callable[[str, str], Entry | None] = REGISTRY.find,
) -> Callable[..., Any] | None:
    """Return what takes an event: the handler of its name, else that method of the class it is for.

    `own`: the methods that an agent's events may go to, in place of all public ones; `find`: how
    handlers are found.
    """
    handler = find("handler", name)
    if handler is not None:
        return handler.body.component.resolve()
    return public_method(cls, name) if own is None else own.get(name)


def public_method(cls: Any, name: str) -> Callable[..., Any] | None:
    """Return the public method of a name; None too for what is no class, or one of mappings."""
    if name.startswith("_") or not isinstance(cls, type) or issubclass(cls, Mapping):
        return None
    found = getattr(cast("Any", cls), name, None)
    return found if callable(found) else None


def public_methods(cls: Any) -> list[str]:
    """Name the methods of a class that events may go to."""
    return [name for name in dir(cls) if public_method(cls, name) is not None]
