"""What one assertion looked at, and whether a secret stands there."""

from collections.abc import Iterable, Mapping
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.paths import Steps, format_path
from repl_pair.runtime.secret_rules import is_secret_key, secret_type
from repl_pair.runtime.settled import NOTHING, ROOTS, Places, Settled
from repl_pair.wire import REDACTED

BESIDE = ("outputs", "stderr", "played", "raised")
"""What assertions may look at without a path."""


@record
class Look:
    """One place that was looked at; `facing` is what it was compared with, whole.

    `declared` tells that a class on the way there declares its field as `Sensitive`.
    """

    steps: Steps
    value: Any
    facing: Any = NOTHING
    declared: bool = False


class Watched(Settled):
    """What is settled, as one assertion looks at it: each look is noted."""

    looks: list[Look]

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name in _WATCHED:
            self.note((name,), value)
        elif name == "__dict__":
            for root in _WATCHED:
                self.note((root,), value[root])
        return value

    def root(self, name: str) -> Any:
        """Give a field without a note: what is looked at below it is noted for itself."""
        return super().__getattribute__(name)

    def note(
        self, steps: Steps, value: Any, facing: Any = NOTHING, *, declared: bool = False
    ) -> None:
        """Note one look."""
        look = Look(steps=steps, value=value, facing=facing, declared=declared)
        self.root("looks").append(look)


def watch(settled: Settled, looks: list[Look]) -> Settled:
    """Give what is settled so that each look at it comes into `looks`."""
    watched = object.__new__(Watched)
    for name, value in {**vars(settled), "looks": looks}.items():
        object.__setattr__(watched, name, value)
    return watched


def secret_place(looks: Iterable[Look], secrets: Places) -> str:
    """Name a place looked at that is known as secret by its path, key or type; else nothing."""
    for look in looks:
        if look.declared or _is_declared(look.steps, secrets) or secret_type(look.value):
            return format_path(look.steps)
    return ""


def places_within(looks: Iterable[Look], secrets: Places) -> list[tuple[str, ...]]:
    """Give the declared places that are inside what was looked at, from there on."""
    return [
        place[len(look.steps) :]
        for look in looks
        for place in secrets
        if len(place) > len(look.steps) and _leads(look.steps, place)
    ]


def places_repeating(said: Mapping[str, Any], looks: Iterable[Look]) -> list[tuple[str, ...]]:
    """Give the places in slots of an outcome that repeat a field declared as `Sensitive`.

    Known by the field's name, or by its text. What was looked at is itself no repetition.
    """
    from repl_pair.runtime.opening import declared_fields, leaves_of  # rarely loaded before a run

    looked = [look.value for look in looks]
    fields = [field for value in looked for field in declared_fields(value)]
    names = {name for name, _ in fields}
    texts = {text for _, text in fields if text}
    own = {slot: v for slot, v in said.items() if fields and not any(v is one for one in looked)}
    return [
        place
        for place, leaf in leaves_of(own)
        if not names.isdisjoint(place[1:]) or any(text in str(leaf) for text in texts)
    ]


def without_secrets(
    texts: Mapping[str, str], looks: Iterable[Look], secrets: Places
) -> dict[str, str]:
    """Give texts without what was looked at and is secret, but too short to be known elsewhere."""
    left = {name: text for name, text in texts.items() if text}
    if not left:
        return left
    from repl_pair.runtime.opening import short_secrets  # what passes mostly has no text

    for look in looks:
        for secret in short_secrets(look.value, places_within([look], secrets)):
            left = {name: text.replace(secret, REDACTED) for name, text in left.items()}
    return left


def secret_within(looks: Iterable[Look], secrets: Places) -> str:
    """Name a place looked at that holds a secret where no marker was expected; else nothing.

    Reads all of what was looked at, as the door out of the kernel does.
    """
    # Only plays that an agent wrote ask for this.
    from repl_pair.runtime.expecting import has_marker
    from repl_pair.runtime.namespace import learn_secrets
    from repl_pair.runtime.redaction import faces, shown_at

    learn_secrets()
    for look in looks:
        shown, hidden = shown_at(look.steps, look.value, secrets)
        if look.declared:
            shown, hidden = REDACTED, 1
        if hidden and not (has_marker(shown) and faces(look.facing, shown)):
            return format_path(look.steps)
    return ""


def _is_declared(steps: Steps, secrets: Places) -> bool:
    """Tell whether a declared secret stands at or above a place, or a key tells of one."""
    return any(is_secret_key(str(step)) for step in steps) or any(
        len(place) <= len(steps) and _leads(steps, place) for place in secrets
    )


def _leads(steps: Steps, place: tuple[str, ...]) -> bool:
    """Tell whether one of the two is the other's beginning."""
    words = map(str, steps)
    return all(own in (word, "*") for own, word in zip(place, words, strict=False))


_WATCHED = frozenset((*ROOTS, *BESIDE))
