"""The places in events, steps, patches and effects that whoever takes them declares secret."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import AuthoringError
from repl_pair.runtime.registry.registry import registered
from repl_pair.runtime.registry.steps import looks_at, named_by, public_method, taker_of
from repl_pair.runtime.values.classes import (
    hint_class,
    is_map,
    is_row,
    is_set,
)
from repl_pair.runtime.values.declared_fields import is_typed_dict
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Frozen, Secret, sensitive_paths
from repl_pair.runtime.values.hints import (
    ANYTHING,
    Container,
    Hint,
    class_hints,
    declares_secret,
    item_hint,
)
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import Place, keys_of, parse_path
from repl_pair.runtime.values.takes import takes_of


def secret_args(component: Callable[..., Any], args: Mapping[str, Any]) -> list[Place]:
    """Return places in args that a component's hints, or Secrets among the args, make secret."""
    hints: Mapping[str, Hint] = takes_of(component).read if args else {}
    declared = [
        (name, *place)
        for name, value in args.items()
        if name in hints
        for place in places_in(value, hints[name])
    ]
    return list(dict.fromkeys([*sensitive_paths(args), *declared]))


def mark_secrets(value: Frozen, hint: Any) -> Frozen:
    """Return a frozen value with Secrets where a hint declares one; what it refuses may be one."""
    try:
        return freeze(value, hint)
    except AuthoringError:
        return Secret(value)


def secret_names(component: Callable[..., Any], args: Mapping[str, Any]) -> list[Place]:
    """Return the names of args that a component's hints declare secret as a whole."""
    secret = takes_of(component).secret if args else ()
    return [(name,) for name in args if name in secret]


def secret_patches(component: Callable[..., Any], paths: Iterable[str]) -> list[Place]:
    """Return those of the paths from its args or its instance on that a component makes secret."""
    return [tuple(map(str, parse_path(p))) for p in paths if leads_to_declared([component], p)]


def secret_payload(cls: type | None, name: str, payload: Mapping[str, Any]) -> list[Place]:
    """Return the secret places in the payload of an event that goes to its handler, or to `cls`."""
    return _secret_given(taker_of(cls, name), payload)


def secret_arguments(cls: type | None, name: str, given: Mapping[str, Any]) -> list[Place]:
    """Return the secret places in what a public method of a class is called with."""
    return _secret_given(public_method(cls, name), given)


def _secret_given(fn: Callable[..., Any] | None, given: Mapping[str, Any]) -> list[Place]:
    return list(sensitive_paths(given)) if fn is None else secret_args(fn, given)


def answers_secret(id: str) -> bool:
    """Return whether what does an effect declares its response, or what is in it, secret."""
    do = registered("effect", id)
    return do is not None and bool(secret_results(do))


def secret_results(fn: Callable[..., Any]) -> list[Place]:
    """Return the places in what a function gives that its hint declares secret; `*` is any key."""
    return hinted_places(takes_of(fn).gives)


def hinted_places(hint: Hint) -> list[Place]:
    """Return the places in a value that its hint declares secret; `*` is any key."""
    return list(dict.fromkeys(_hinted(hint, _DEEPEST))) if declares_secret(hint) else []


def leads_to_declared(takers: Iterable[Callable[..., Any]], path: Any) -> bool:
    """Return whether a path from an object or its args is secret by a key, field or parameter."""
    keys = keys_of(path)
    if any(is_secret_key(str(key)) for key in keys):
        return True
    for taker in takers if keys else ():
        fields = [class_hints(taker)] if isinstance(taker, type) else []
        if any(_is_declared(hints, keys) for hints in (takes_of(taker).read, *fields)):
            return True
    return False


def secret_line(takers: Sequence[Callable[..., Any]], step: Sequence[Any]) -> list[Place]:
    """Return the secret places in a line of a play; `takers` are what it may act on."""
    return list(dict.fromkeys(_secret_words(takers, step)))


def takers_of(component: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return a component and the classes of what its hint returns."""
    gives = () if isinstance(component, type) else takes_of(component).gives.arms
    return [component, *(cls for cls in map(hint_class, gives) if cls is not None)]


def secret_event(takers: Iterable[Any], event: Any) -> list[Place]:
    """Return the secret places in `[name, {payload}]`."""
    if not is_row(event) or len(event) != 2 or not is_map(event[1]):
        return list(sensitive_paths(event))
    classes: list[type | None] = [taker for taker in takers if isinstance(taker, type)]
    found = [p for cls in classes or [None] for p in secret_payload(cls, str(event[0]), event[1])]
    return [("1", *place) for place in dict.fromkeys(found)]


def _secret_words(takers: Sequence[Callable[..., Any]], step: Sequence[Any]) -> Iterable[Place]:
    yield from sensitive_paths(list(step))
    words, names, looked_at = step[1:], named_by(step), looks_at(step)
    if words and (names == "event" or looked_at in ("event", None)):
        yield from (("1", *place) for place in secret_event(takers, words[0]))
    if names == "path" and words and leads_to_declared(takers, words[0]):
        yield from ((str(at),) for at in range(2, len(step)))
    elif names == "method" and len(words) == 2 and is_map(words[1]):
        for cls in (taker for taker in takers if isinstance(taker, type)):
            yield from (("2", *place) for place in secret_arguments(cls, words[0], words[1]))
    elif looked_at in ("effect", None) and len(words) == 2 and is_map(words[1]):
        do, payload = registered("effect", str(words[0])), words[1]
        yield from (("2", *place) for place in _secret_given(do, payload))


def places_in(value: Any, hint: Hint, depth: int = 64) -> list[Place]:
    """Return the places in a value that its hint declares secret; what is below `depth` is."""
    if not declares_secret(hint):
        return []
    if hint.sensitive or depth == 0:
        return [()]
    if is_map(value):
        pairs = [(key, value[key], item_hint(hint, key)) for key in value]
    elif is_set(value):
        return [("*",)] if item_hint(hint, None).sensitive else []
    elif is_row(value):
        pairs = [(n, item, item_hint(hint, n)) for n, item in enumerate(value)]
    else:
        return []  # the fields of objects are known by their classes
    below = [(str(key), places_in(item, inner, depth - 1)) for key, item, inner in pairs]
    return [(key, *place) for key, places in below for place in places]


def _hinted(hint: Hint, depth: int) -> Iterable[Place]:
    if hint.sensitive:
        yield ()
    elif depth:
        for container in hint.containers:
            for key, inner in _parts_of(container):
                yield from ((key, *place) for place in _hinted(inner, depth - 1))


def _parts_of(container: Container) -> Iterable[tuple[str, Hint]]:
    if is_typed_dict(container.cls):
        return class_hints(container.cls).items()
    if container.is_fixed:
        return [(str(at), part) for at, part in enumerate(container.parts)]
    return [("*", part) for part in container.values]


def _is_declared(hints: Mapping[str, Hint], keys: Sequence[Any]) -> bool:
    hint = hints.get(str(keys[0]), ANYTHING)
    for key in keys[1:]:
        if hint.sensitive:
            return True
        hint = item_hint(hint, key)
    return hint.sensitive


_DEEPEST = 8
"""How many levels of containers a hint is looked through: one may hold itself."""
