"""The hashes of an identity: of data, and of the source of functions and what they reach."""

import ast
from collections import ChainMap, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from repl_pair.runtime.planning.sources import Index, definitions_of, is_edited
from repl_pair.runtime.planning.targets import (
    Target,
    full_name,
    home_of,
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
    to be had, or is of other code than what runs, as in a module that was edited and not reloaded;
    it is comparable within one minor version of Python.
    """
    roots = [unwrap(function) for function in functions]
    syntaxes: list[tuple[str, str]] = []
    for target, syntax, is_other in _walk(roots, named):
        if target is None or is_other or not syntax:
            return UNKNOWN
        syntaxes.append((full_name(target), syntax))
    names = tuple(None if root is None else full_name(root) for root in roots)
    return _hash(names, tuple(sorted(syntaxes)))


def edited_file(
    functions: Sequence[Callable[..., Any]], *, named: Mapping[str, Callable[..., Any]] = _NONE
) -> str:
    """Return the file that `code_hash` finds edited and not reloaded, "" where there is none."""
    for target, _, is_other in _walk(map(unwrap, functions), named):
        if target is not None and is_other:
            code = None if isinstance(target, type) else target.__code__
            return str(_namespace(target).get("__file__")) if code is None else code.co_filename
    return ""


def _walk(
    roots: Iterable[Target | None], named: Mapping[str, Callable[..., Any]]
) -> Iterator[tuple[Target | None, str, bool]]:
    """Give each function and class that is reached, its syntax, and whether that was edited.

    None stands for what is neither; the syntax is "" where the source is not to be had.
    """
    waiting: deque[Target | None] = deque(roots)
    found: dict[int, Target] = {}
    indexes: dict[str, Index] = {}
    while waiting and len(found) < MAX_REACHED:
        target = waiting.popleft()
        if target is None:
            yield None, "", False
        elif id(target) not in found:
            found[id(target)] = target
            syntax, names, texts = _read(tuple(definitions_of(target, indexes)))
            yield target, syntax, is_edited(target, syntax)
            waiting.extend(_reached(target, names))
            waiting.extend(unwrap(named[text]) for text in sorted(texts & named.keys()))


@lru_cache(maxsize=256)
def _hash(roots: tuple[str | None, ...], syntaxes: tuple[tuple[str, str], ...]) -> str:
    return f"rc1:{_digest([list(roots), list(map(list, syntaxes))])}"


def _digest(data: Any) -> str:
    digest = sha256()
    canonical.write(data, digest.update)
    return digest.hexdigest()


def _reached(target: Target, names: Iterable[str]) -> Iterator[Target]:
    space = _namespace(target)
    here = str(space.get("__name__", ""))
    for other in map(unwrap, map(space.get, names)):
        if other is not None and home_of(other) == here:
            yield other


def _namespace(target: Target) -> Mapping[str, Any]:
    if isinstance(target, type):
        own = next(own_functions(target), None)
        return own.__globals__ if own else module_namespace(target)
    if not target.__closure__:
        return target.__globals__
    cells = zip(target.__code__.co_freevars, target.__closure__, strict=True)
    return ChainMap({name: _contents(cell) for name, cell in cells}, target.__globals__)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the enclosing function has not bound the name yet
        return None


@lru_cache(maxsize=2048)
def _read(nodes: tuple[ast.AST, ...]) -> tuple[str, Sequence[str], frozenset[str]]:
    """Return the syntax of definitions, the names that they read, sorted, and their texts."""
    every = [each for node in nodes for each in ast.walk(node)]
    names = [each for each in every if isinstance(each, ast.Name)]
    texts = [each.value for each in every if isinstance(each, ast.Constant)]
    return (
        " ".join(map(ast.dump, nodes)),
        sorted({name.id for name in names if isinstance(name.ctx, ast.Load)}),
        frozenset(str(text) for text in texts if isinstance(text, str)),
    )
