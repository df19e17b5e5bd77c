"""Variants that extend others: the chain from the root down, and how it is merged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.records import record
from repl_pair.runtime.registry.model import Entry, Story, Use, Variant
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.frozen import merge

MAX_DEPTH = 32
SHOWN_IDS = 8


def check_parent(id: str, parent: str | None) -> Sequence[Entry]:
    """Return the entries that a new variant will extend, the root first; none without a parent.

    AuthoringError shows a chain that is broken, closed or over 32 long.
    """
    if parent is None:
        return ()
    above, fault = _climb(id, str(parent))
    if fault:
        code = "bad_body" if above or parent == id else "not_found"
        raise AuthoringError(code, f"variant {id!r} extends {str(parent)!r}: {fault}")
    return above[::-1]


def chain_of(entry: Entry) -> Sequence[Entry]:
    """Return the chain of a variant: the root first, its own entry last.

    RequestError `cannot_run` shows a chain that is broken, closed or over 32 long.
    """
    if entry.body.extends is None:
        return (entry,)
    above, fault = _climb(entry.id, entry.body.extends)
    if fault:
        raise RequestError("cannot_run", f"{entry.id} extends {entry.body.extends!r}: {fault}")
    return (*above[::-1], entry)


def reachable_chain(entry: Entry) -> Sequence[Entry]:
    """Return a chain as `chain_of` does; of a broken one, the part that can be found."""
    if entry.body.extends is None:
        return (entry,)
    return (*_climb(entry.id, entry.body.extends)[0][::-1], entry)


def lay_over(chain: Sequence[Entry]) -> Variant:
    """Merge a chain, root first, into the body that runs: plays are the last one's own."""
    bodies: list[Variant] = [entry.body for entry in chain]
    if len(bodies) == 1:
        return bodies[0]
    return replace(bodies[-1], **{slot: rule.merge(bodies, slot) for slot, rule in RULES.items()})


def events_of_args(chain: Sequence[Entry]) -> Mapping[str, str]:
    """Return the args that are dispatched as events, each with the event's name."""
    return _mapped([entry.body for entry in chain], "args_to_events")


def effective_tags(story: Story, variant: Variant) -> tuple[str, ...]:
    """Join the tags of a story and a merged variant; `!tag` removes an earlier `tag`."""
    return _resolved_tags([*story.tags, *variant.tags])


def tags_along(story: Story, chain: Sequence[Entry]) -> tuple[str, ...]:
    """Join the tags of a story and of a chain that is not merged yet."""
    if not any(entry.body.tags for entry in chain):
        return story.tags
    return _resolved_tags([*story.tags, *(word for entry in chain for word in entry.body.tags)])


def decorators_of(given: Sequence[Use] | None, story: Story, variant: Variant) -> tuple[Use, ...]:
    """Return the decorators from the outermost in: those of all, the story's, the variant's."""
    return (*(given or ()), *story.decorators, *variant.decorators)


def _climb(id: str, parent: str) -> tuple[list[Entry], str]:
    """Return the ancestors of `id`, the nearest first, and the fault of the chain, if any."""
    above: list[Entry] = []
    path = [id]
    at: str | None = parent
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


def _resolved_tags(words: Sequence[str]) -> tuple[str, ...]:
    tags: dict[str, None] = {}
    for word in words:
        if word.startswith("!"):
            tags.pop(word[1:], None)
        else:
            tags[word] = None
    return tuple(tags)


def _deep(bodies: Sequence[Variant], slot: str) -> Mapping[str, Any]:
    return merge({}, *(getattr(body, slot) for body in bodies))


def _joined(bodies: Sequence[Variant], slot: str) -> tuple[Any, ...]:
    return tuple(item for body in bodies for item in getattr(body, slot))


def _once(bodies: Sequence[Variant], slot: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(_joined(bodies, slot)))


def _mapped(bodies: Sequence[Variant], slot: str) -> Mapping[str, Any]:
    return {key: value for body in bodies for key, value in getattr(body, slot).items()}


def _last(bodies: Sequence[Variant], slot: str) -> Any:
    values = [value for body in bodies if (value := getattr(body, slot))]
    return values[-1] if values else getattr(bodies[-1], slot)


@record
class Rule:
    """How one slot of a chain is merged, also in words; without a rule the last body's is taken."""

    words: str
    merge: Callable[[Sequence[Variant], str], Any]


_DEEP = Rule(words="laid over each other deep, the child wins", merge=_deep)
_JOINED = Rule(words="all, the root's first", merge=_joined)
_ONCE = Rule(words="all, the root's first, each once", merge=_once)
_LAST = Rule(words="the nearest that says any", merge=_last)
RULES: Mapping[str, Rule] = {
    "args": _DEEP,
    "argtypes": _DEEP,
    "events": _JOINED,
    "args_to_events": Rule(words="laid over each other, the child wins", merge=_mapped),
    "loaders": _ONCE,
    "loaders_complete_when": _LAST,
    "loaders_teardown": _JOINED,
    "tags": Rule(words="all, the root's first; !tag takes out what came before", merge=_joined),
    "modes": _ONCE,
    "decorators": Rule(words="all, the root's outermost", merge=_joined),
    "substrates": _LAST,
}
"""What a variant inherits from those it extends, by slot."""
