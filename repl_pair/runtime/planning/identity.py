"""The hashes of an identity: of data, and of the source of functions and what they reach."""

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from types import FunctionType
from typing import Any, NamedTuple

from repl_pair.runtime.planning.cells import run_in
from repl_pair.runtime.planning.free_names import free_names
from repl_pair.runtime.planning.source_index import Index
from repl_pair.runtime.planning.sources import (
    Assigned,
    added_to,
    definitions_of,
    is_edited,
    rebound_in,
    syntax_of,
)
from repl_pair.runtime.planning.targets import (
    Target,
    closure_of,
    file_of,
    full_name,
    given_to,
    home_of,
    layers_of,
    namespace_of,
    targets_in,
    unwrap,
)
from repl_pair.runtime.values import canonical
from repl_pair.runtime.values.classes import is_of, real_class
from repl_pair.runtime.values.leaves import leaf_of
from repl_pair.runtime.values.marks import without_url_passwords

UNKNOWN = "unknown"
MAX_REACHED = 200

_NONE: Mapping[str, Any] = {}
_DEEPEST, _LONGEST = 4, 1_000
"""Of data that a callable holds: what is larger is no part of its hash."""
_SCALARS = frozenset(map(id, (type(None), bool, float)))


def content_hash(slots: Mapping[str, Any]) -> str:
    """Hash data, equally in every process; AuthoringError `bad_body` for what is no data.

    Passwords in URLs are markers, as all secrets are; in code a literal counts as it is written.
    """
    return f"rp1:{_digest(slots, _hide_url_passwords)}"


class Code(NamedTuple):
    """The hash of code, and the names that it reads of a namespace in which cells run."""

    hash: str
    names: frozenset[str] = frozenset()


def read_code(
    functions: Sequence[Callable[..., Any]],
    *,
    named: Mapping[str, Callable[..., Any]] = _NONE,
    classes: Iterable[type[Any]] = (),
) -> Code:
    """Hash the syntax of functions and classes, and of what they reach in their module.

    Docstrings, comments, positions and formatting do not show; bodies, defaults, decorators and
    annotations do. What they read of their module is reached: functions, classes, and the
    statements that bind or change a name, as they are written, such as imports, of which no more
    counts; also the functions in a small container. What
    stands in no definition, such as the closure of a function and what a partial was made with,
    shows where it is data that nothing changes. What is `named` is reached by its name as a text.
    `classes` are those of the data that is given, followed where they have source. At most
    MAX_REACHED definitions are followed, nearest first. The hash is UNKNOWN if the source of one of
    them is not to be had, or is of other code than what runs, as in a module that was edited and
    not reloaded; it is comparable within one minor version of Python.
    """
    wrapped = [tuple(layers_of(function)) for function in functions]
    indexes: dict[str, Index] = {}
    parts = {("", text) for layers in wrapped for text in _given_texts(layers, indexes)}
    met: dict[Any, Target | Assigned] = {}
    for target, syntax, is_other in _walk(_behind(wrapped, classes, indexes), named, indexes, met):
        if target is None or is_other or not syntax:
            return Code(UNKNOWN)
        if type(target) is Assigned:
            parts.add((target.name, syntax))
            continue
        parts.add((full_name(target), syntax))
        parts.update((full_name(target), text) for text in _given_texts((target,), indexes))
    roots = (unwrap(layers[-1]) for layers in wrapped)
    names = tuple(None if root is None else full_name(root) for root in roots)
    read = (each for each in met.values() if type(each) is Assigned)
    in_cells = frozenset(each.name for each in read if run_in(namespace_of(each.reader)))
    return Code(_hash(names, tuple(sorted(parts))), in_cells)


def edited_file(
    functions: Sequence[Callable[..., Any]],
    *,
    named: Mapping[str, Callable[..., Any]] = _NONE,
    classes: Iterable[type[Any]] = (),
) -> str:
    """Return the file that `read_code` finds edited and not reloaded, "" where there is none."""
    indexes: dict[str, Index] = {}
    wrapped = map(tuple, map(layers_of, functions))
    for target, _, is_other in _walk(_behind(wrapped, classes, indexes), named, indexes, {}):
        if target is not None and is_other:
            return file_of(target.reader if type(target) is Assigned else target)
    return ""


def _behind(
    wrapped: Iterable[tuple[Any, ...]], classes: Iterable[type[Any]], indexes: dict[str, Index]
) -> Iterator[Target | None]:
    """Return what callables stand for, what of their module they were made with, and classes."""
    for layers in wrapped:
        target = unwrap(layers[-1])
        yield target
        home = None if target is None else home_of(target)
        for layer in layers:
            given = given_to(layer).values()
            held = [each for value in (layer, *given) for each in targets_in(value)]
            for each in (*map(unwrap, given), *_with_source(held, indexes)):
                if each is not None and home_of(each) == home:
                    yield each
    yield from _with_source(classes, indexes)


def _with_source(targets: Iterable[Target], indexes: dict[str, Index]) -> Iterator[Target]:
    """Return what can be followed: data may be of classes, and hold functions, without source."""
    return (each for each in targets if definitions_of(each, indexes))


def _given_texts(layers: Iterable[Any], indexes: dict[str, Index]) -> Iterator[str]:
    """Return a hash of the plain data that each layer of a callable was made with.

    What a run may bind anew, such as a count of calls, is left out.
    """
    for layer in layers:
        if given := given_to(layer):
            is_made = real_class(layer) is FunctionType
            rebound = rebound_in(layer, indexes) if is_made else ()
            data = {n: each for n, each in given.items() if n not in rebound and _is_plain(each)}
            if data:
                yield _digest(data)


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether a value is one that nothing changes, or a small tuple of such."""
    kind = real_class(value)
    if kind is tuple or kind is frozenset:
        is_small = depth < _DEEPEST and len(value) <= _LONGEST
        return is_small and all(_is_plain(each, depth + 1) for each in value)
    if kind is int:
        return value.bit_length() <= _LONGEST
    if kind is str or kind is bytes:
        return len(value) <= _LONGEST
    return id(kind) in _SCALARS or leaf_of(kind) is not None or is_of(value, Enum)


def _walk(
    roots: Iterable[Target | None],
    named: Mapping[str, Callable[..., Any]],
    indexes: dict[str, Index],
    found: dict[Any, Target | Assigned],
) -> Iterator[tuple[Target | Assigned | None, str, bool]]:
    """Give each definition that is reached, its syntax, and whether that was edited.

    None stands for what is neither function nor class; the syntax is "" where the source of one
    is not to be had. `found` takes all that is reached.
    """
    waiting: deque[Target | Assigned | None] = deque(roots)
    left = MAX_REACHED
    while waiting and left:
        target = waiting.popleft()
        is_name = type(target) is Assigned
        key = (id(namespace_of(target.reader)), target.name) if is_name else id(target)
        if target is None:
            yield None, "", False
        elif key not in found:
            found[key] = target
            nodes = definitions_of(target, indexes)
            if is_name and not nodes:
                continue
            left -= 1
            syntax, names, texts = _read(nodes)
            yield target, syntax, is_edited(target, syntax)
            waiting.extend(_reached(target, names, indexes))
            if isinstance(target, type):
                waiting.extend(added_to(target, indexes))
            waiting.extend(unwrap(named[text]) for text in sorted(texts & named.keys()))


@lru_cache(maxsize=256)
def _hash(roots: tuple[str | None, ...], parts: tuple[tuple[str, str], ...]) -> str:
    return f"rc1:{_digest([list(roots), list(map(list, parts))])}"


def _digest(data: Any, change: Callable[[bytes], bytes] = bytes) -> str:
    digest = sha256()
    canonical.write(data, lambda stream: digest.update(change(stream)))
    return digest.hexdigest()


def _hide_url_passwords(stream: bytes) -> bytes:
    return without_url_passwords(stream.decode()).encode() if b"://" in stream else stream


def _reached(
    target: Target | Assigned, names: Iterable[str], indexes: dict[str, Index]
) -> Iterator[Target | Assigned]:
    reader = target.reader if type(target) is Assigned else target
    space = namespace_of(reader)
    closure = closure_of(target) if type(target) is FunctionType else _NONE
    here = home_of(reader)
    for name in names:
        value = closure[name] if name in closure else space.get(name)
        found = unwrap(value)
        held = (each for each in targets_in(value) if home_of(each) == here)
        yield from _with_source(held, indexes)
        if found is not None and home_of(found) == here:
            yield found
        if name in space and name not in closure:
            yield Assigned(name=name, reader=reader)
    if reader is target and unwrap(space.get(full_name(reader))) is reader:
        yield Assigned(name=full_name(reader), reader=reader)


def _read(nodes: Sequence[ast.AST]) -> tuple[str, Sequence[str], set[str]]:
    """Return the syntax of definitions, the names that they read, sorted, and their texts."""
    try:
        names = sorted(set[str]().union(*map(_names_read, nodes)))
    except RecursionError:
        return "", (), set()
    return syntax_of(nodes), names, set[str]().union(*map(_texts_in, nodes))


_names_read = lru_cache(maxsize=4096)(free_names)


@lru_cache(maxsize=4096)
def _texts_in(node: ast.AST) -> frozenset[str]:
    values = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
    return frozenset(str(value) for value in values if isinstance(value, str))
