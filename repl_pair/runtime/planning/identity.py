"""The hashes of an identity: of data, and of the source of functions and what they reach."""

import ast
from collections import ChainMap, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from repl_pair.runtime.planning.sources import (
    Target,
    definitions_of,
    module_namespace,
    own_functions,
    unwrap,
)
from repl_pair.runtime.values import canonical

UNKNOWN = "unknown"
MAX_REACHED = 200

_NONE: Mapping[str, Any] = {}


def content_hash(slots: Mapping[str, Any]) -> str:
    """Hash data, equally in every process; AuthoringError `bad_body` for what is no data."""
    return f"rp1:{_digest(slots)}"


def code_hash(
    functions: Sequence[Callable[..., Any]], *, named: Mapping[str, Callable[..., Any]] = _NONE
) -> str:
    """Hash the syntax of functions and classes, and of those of the same module that they reach.

    Docstrings, comments, positions and formatting do not show; bodies, defaults, decorators and
    annotations do. What is `named` is reached by its name as a text. At most MAX_REACHED
    definitions are followed, nearest first. The hash is UNKNOWN if the source of one of them is not
    to be had; it is comparable within one minor version of Python. The source is what is on disk or
    in the cell, so a module that was edited and not reloaded counts as changed.
    """
    roots = [unwrap(function) for function in functions]
    waiting = deque(root for root in roots if root is not None)
    found: dict[Target, str] = {}
    while waiting and len(found) < MAX_REACHED:
        target = waiting.popleft()
        if target in found:
            continue
        nodes = definitions_of(target)
        if not nodes:
            return UNKNOWN
        found[target] = " ".join(map(_syntax, nodes))
        waiting.extend(_reached(target, nodes))
        texts = {text for node in nodes for text in _texts_in(node)} if named else set[str]()
        for text in sorted(texts & named.keys()):
            other = unwrap(named[text])
            if other is None:
                return UNKNOWN
            waiting.append(other)
    if None in roots:
        return UNKNOWN
    syntaxes = sorted([target.__qualname__, syntax] for target, syntax in found.items())
    return f"rc1:{_digest([[root and root.__qualname__ for root in roots], syntaxes])}"


def _digest(data: Any) -> str:
    digest = sha256()
    canonical.write(data, digest.update)
    return digest.hexdigest()


def _reached(target: Target, nodes: Iterable[ast.AST]) -> Iterator[Target]:
    space = _namespace(target)
    for name in sorted({name for node in nodes for name in _names_read(node)}):
        other = unwrap(space.get(name))
        if other is None:
            continue
        home = other.__module__ if isinstance(other, type) else other.__globals__.get("__name__")
        if home == space.get("__name__"):
            yield other


def _namespace(target: Target) -> Mapping[str, Any]:
    if isinstance(target, type):
        own = next(own_functions(target), None)
        return own.__globals__ if own else module_namespace(target)
    cells = zip(target.__code__.co_freevars, target.__closure__ or (), strict=True)
    return ChainMap({name: _contents(cell) for name, cell in cells}, target.__globals__)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the enclosing function has not bound the name yet
        return None


@lru_cache(maxsize=2048)
def _names_read(node: ast.AST) -> frozenset[str]:
    names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return frozenset(name.id for name in names if isinstance(name.ctx, ast.Load))


@lru_cache(maxsize=2048)
def _texts_in(node: ast.AST) -> frozenset[str]:
    constants = (each for each in ast.walk(node) if isinstance(each, ast.Constant))
    return frozenset(str(each.value) for each in constants if isinstance(each.value, str))


_syntax = lru_cache(maxsize=2048)(ast.dump)
