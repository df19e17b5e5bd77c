"""Variants that extend others: the chain from the root down, and how it is merged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.model import Entry, Story, Use, Variant
from repl_pair.runtime.plain import merge
from repl_pair.runtime.registry import REGISTRY

DEEPEST = 32


def check_parent(id: str, parent: str | None) -> str | None:
    """Refuse a parent that is unknown, too deep or a child of `id`; the chain is shown."""
    if parent is None:
        return None
    parent = str(parent)
    if parent == id:
        raise AuthoringError("bad_body", f"variant {id!r} extends itself.")
    if REGISTRY.find("variant", parent) is None:
        missing = REGISTRY.missing("variant", parent)
        raise AuthoringError("not_found", f"variant {id!r} extends {parent!r}: {missing}")
    try:
        _climb([id], parent)
    except RequestError as error:
        raise AuthoringError("bad_body", error.message) from error
    return parent


def chain_of(entry: Entry) -> Sequence[Entry]:
    """Give a variant's entry behind all that it extends, the root first.

    RequestError `cannot_run` shows a chain that is broken, closed or over 32 long.
    """
    if entry.body.extends is None:
        return (entry,)
    return (*_climb([entry.id], entry.body.extends), entry)


def lay_over(chain: Sequence[Entry]) -> Variant:
    """Merge a chain, root first, into the body that runs: plays are the last one's own."""
    bodies: list[Variant] = [entry.body for entry in chain]
    if len(bodies) == 1:
        return bodies[0]
    child = bodies[-1]
    return replace(
        child,
        args=merge({}, *(body.args for body in bodies)),
        argtypes=merge({}, *(body.argtypes for body in bodies)),
        events=_joined(bodies, "events"),
        args_to_events=_mapped(bodies, "args_to_events"),
        loaders=tuple(dict.fromkeys(_joined(bodies, "loaders"))),
        loaders_complete_when=_last(bodies, "loaders_complete_when"),
        loaders_teardown=_joined(bodies, "loaders_teardown"),
        tags=_joined(bodies, "tags"),
        modes=tuple(dict.fromkeys(_joined(bodies, "modes"))),
        decorators=_joined(bodies, "decorators"),
        substrates=_last(bodies, "substrates") or (),
    )


def effective_tags(story: Story, variant: Variant) -> tuple[str, ...]:
    """Join the tags of story and variant in order; `!tag` takes out what came before it."""
    tags = dict.fromkeys(story.tags)
    for word in variant.tags:
        if word.startswith("!"):
            tags.pop(word[1:], None)
        else:
            tags[word] = None
    return tuple(tags)


def decorators_of(given: Sequence[Use] | None, story: Story, variant: Variant) -> tuple[Use, ...]:
    """Give the decorators from the outermost in: those of all, the story's, the variant's."""
    return (*(given or ()), *story.decorators, *variant.decorators)


def _climb(below: list[str], id: str) -> list[Entry]:
    """Give what `id` extends, and itself, the root first; `below` names what came up to it."""
    found: list[Entry] = []
    path = list(below)
    at: str | None = id
    while at is not None:
        path.append(at)
        entry = REGISTRY.find("variant", at)
        if entry is None:
            raise _broken(path, f"there is no variant {at!r}")
        if at in path[:-1]:
            raise _broken(path, "it comes back to itself")
        if len(path) > DEEPEST:
            raise _broken(path, f"it is over {DEEPEST} long")
        found.insert(0, entry)
        at = entry.body.extends
    return found


def _broken(path: Sequence[str], why: str) -> RequestError:
    shown = " -> ".join(path if len(path) <= 6 else [*path[:3], "…", *path[-2:]])
    return RequestError("cannot_run", f"The chain of `extends` is broken, {why}: {shown}.")


def _joined(bodies: Sequence[Variant], slot: str) -> tuple[Any, ...]:
    return tuple(item for body in bodies for item in getattr(body, slot))


def _mapped(bodies: Sequence[Variant], slot: str) -> Mapping[str, Any]:
    return {key: value for body in bodies for key, value in getattr(body, slot).items()}


def _last(bodies: Sequence[Variant], slot: str) -> Any:
    return next((value for body in reversed(bodies) if (value := getattr(body, slot))), None)
