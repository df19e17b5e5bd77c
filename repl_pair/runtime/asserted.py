"""The words of assertions that say what those who gave something declare secret."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.declared import Place, secret_results
from repl_pair.runtime.model import Step, Story
from repl_pair.runtime.paths import parse_path
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.shapes import is_row

_WHOLE = frozenset({"result_equals", "rendered_text"})
"""The assertions that look at all of the result without a path."""


def secret_expectations(story: Story, steps: Sequence[Step]) -> list[Place]:
    """Give the words of a play, by step and word, that stand beside what is given as a secret."""
    given = _given(story, steps)
    return [
        (str(index), str(word))
        for index, step in enumerate(steps)
        for word in range(_first_word(step, given), len(step))
    ]


def _given(story: Story, steps: Sequence[Step]) -> Mapping[str, Sequence[Place]]:
    """Give the secret places of each root; `last` is what any step of the play may have left."""
    component = story.component.resolve()
    result = [] if isinstance(component, type) else secret_results(component)
    state = result if story.state is None else secret_results(story.state.resolve())
    acting = [fn for step in steps if (fn := _taker(component, step)) is not None]
    last = [*result, *(place for fn in acting for place in secret_results(fn))]
    return {"result": result, "state": state, "last": last}


def _taker(component: Callable[..., Any], step: Step) -> Callable[..., Any] | None:
    """Give what a step calls: a handler, or a method of the component's."""
    word: Any = step[1] if len(step) > 1 else ""
    name = str(word[0] if is_row(word) and word else word)
    entry = REGISTRY.find("handler", name) if step[0] == "dispatch" else None
    if entry is not None:
        return entry.body.component.resolve()
    found = getattr(component, name, None) if step[0] in ("dispatch", "call") else None
    return found if callable(found) else None


def _first_word(step: Step, given: Mapping[str, Sequence[Place]]) -> int:
    """Give the place of the first word that tells of a secret, past the last where none does."""
    name, none = step[0], len(step)
    if name in _WHOLE:
        return 1 if given["result"] else none
    if none < 3:
        return none
    if name == "derived_equals":
        id = str(step[1][0] if is_row(step[1]) and step[1] else step[1])
        entry = REGISTRY.find("derived", id)
        return 2 if entry and secret_results(entry.body.component.resolve()) else none
    return 2 if _leads(step[1], given) else none


def _leads(path: Any, given: Mapping[str, Sequence[Place]]) -> bool:
    try:
        root, *keys = map(str, parse_path(path))
    except (RequestError, TypeError):
        return False  # what is no path leads nowhere
    return any(_meet(keys, place) for place in given.get(root, ()))


def _meet(keys: Iterable[str], place: Place) -> bool:
    return all(own in (key, "*") for key, own in zip(keys, place, strict=False))
