"""Variants that extend others: the chain from the root down, and how it is merged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.records import row
from repl_pair.runtime.registry.model import Entry, Story, Variant
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.frozen import merge

MAX_DEPTH = 32
SHOWN_IDS = 8


def check_parent(id: str, parent: str | None) -> Sequence[Entry]:
    """Return what a new variant will extend, the root first; AuthoringError for a broken chain."""
    if parent is None:
        return ()
    above, fault = _climb(id, str(parent))
    if fault:
        code = "bad_body" if above or parent == id else "not_found"
        raise AuthoringError(code, f"variant {id!r} extends {str(parent)!r}: {fault}")
    return above[::-1]


def chain_of(entry: Entry) -> Sequence[Entry]:
    """Return a variant's chain, the root first, itself last; `cannot_run` for a broken one."""
    above, fault = _climb(entry.id, entry.body.extends)
    if fault:
        raise RequestError("cannot_run", f"{entry.id} extends {entry.body.extends!r}: {fault}")
    return (*above[::-1], entry)


def reachable_chain(entry: Entry) -> Sequence[Entry]:
    """Return a chain as `chain_of` does; of a broken one, the part that can be found."""
    return (*_climb(entry.id, entry.body.extends)[0][::-1], entry)


def lay_over(chain: Sequence[Entry]) -> Variant:
    """Merge a chain, root first, into the body that runs: plays are the last one's own."""
    bodies: list[Variant] = [entry.body for entry in chain]
    if len(bodies) == 1:
        return bodies[0]
    merged = {n: rule.merge([getattr(body, n) for body in bodies]) for n, rule in RULES.items()}
    return replace(bodies[-1], **merged)


def tags_along(story: Story, chain: Sequence[Entry]) -> tuple[str, ...]:
    """Join the tags of a story and of a chain, root first."""
    return _words_along([story.tags, *(entry.body.tags for entry in chain)])


def modes_along(story: Story | None, chain: Sequence[Entry]) -> tuple[str, ...]:
    """Join the modes that a story and a chain declare, root first."""
    own = () if story is None else story.modes
    return _words_along([own, *(entry.body.modes for entry in chain)])


def _words_along(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Join lists of words, each once; `!word` removes an earlier `word`."""
    joined: dict[str, None] = {}
    for word in (word for words in lists for word in words):
        if word.startswith("!"):
            joined.pop(word[1:], None)
        else:
            joined[word] = None
    return tuple(joined)


def _climb(id: str, parent: str | None) -> tuple[list[Entry], str]:
    """Return the ancestors of `id`, the nearest first, and the fault of the chain, if any."""
    above: list[Entry] = []
    path = [id]
    at = parent
    while at is not None:
        path.append(at)
        if at in path[:-1]:
            return above, f"the chain comes back to itself: {_shown(path)}."
        if len(path) > MAX_DEPTH:
            return above, f"the chain is over {MAX_DEPTH} long: {_shown(path)}."
        entry = REGISTRY.find("variant", at)
        if entry is None:
            return above, f"{REGISTRY.missing('variant', at)} The chain: {_shown(path)}."
        above.append(entry)
        at = entry.body.extends
    return above, ""


def _shown(path: Sequence[str]) -> str:
    return " -> ".join(path if len(path) <= SHOWN_IDS else [*path[:3], "…", *path[-2:]])


def _joined(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(item for value in values for item in value)


def _mapped(values: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {key: item for value in values for key, item in value.items()}


@row
class Rule:
    """How one slot of a chain is merged, also in words; without a rule the last body's is taken."""

    words: str
    merge: Callable[[Sequence[Any]], Any]
    """Gets the slot's values, the root's first."""


_DEEP = Rule("laid over each other deep, the child wins", lambda values: merge({}, *values))
_JOINED = Rule("all, the root's first", _joined)
_ONCE = Rule(
    "all, the root's first, each once", lambda values: tuple(dict.fromkeys(_joined(values)))
)
_LAST = Rule(
    "the nearest that says any",
    lambda values: next((value for value in reversed(values) if value), values[-1]),
)
RULES: Mapping[str, Rule] = {
    "args": _DEEP,
    "argtypes": _DEEP,
    "events": _JOINED,
    "args_to_events": Rule("laid over each other, the child wins", _mapped),
    "loaders": _ONCE,
    "loaders_complete_when": _LAST,
    "loaders_teardown": _JOINED,
    "tags": Rule("all, the root's first; !tag takes out what came before", _joined),
    "modes": Rule("all, the root's first; !mode takes out what came before", _joined),
    "marks": _JOINED,
    "decorators": Rule("all, the root's outermost", _joined),
    "substrates": _LAST,
}
"""What a variant inherits from those it extends, by slot."""
