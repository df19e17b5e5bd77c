"""Where the definition of a function or class stands, and whether it was edited since."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.util import decode_source
from operator import is_, ne
from types import FunctionType
from typing import Any, TypeAlias, final
from weakref import ref

from repl_pair.records import record
from repl_pair.runtime.ipython import ipython_module, known_shells
from repl_pair.runtime.planning.cells import cells, run_in
from repl_pair.runtime.planning.source_index import Index, index, index_cell, index_of
from repl_pair.runtime.planning.targets import (
    Target,
    file_of,
    is_definition_of,
    layers_of,
    module_namespace,
    namespace_of,
    own_functions,
)
from repl_pair.runtime.reading.code_files import has_other_code, is_imported
from repl_pair.runtime.registry.component import noted_source
from repl_pair.runtime.values.classes import module_of, name_of, names_in, qualname_of, real_class

_LONG = 4_000


@final
@record
class Assigned:
    """A name of a module, with all that binds or changes it, and the definition that reads it."""

    name: str
    reader: Any
    """A Target; a type checker takes a function that a class has for a method."""


def definitions_of(target: Target | Assigned, indexes: dict[str, Index]) -> Sequence[ast.AST]:
    """Return the definition of `target`; several for lambdas of one line; none without source.

    It is that of the file as it is now; of a name, all statements of its module that bind or change
    it, or of the latest cell that has one; none where that is a plain definition, or gives one its
    name again. `indexes` keeps the index of each file from one call to the next.
    """
    if type(target) is Assigned:
        found = next(filter(None, _assignments(target, indexes)), ())
        return found if len(found) > 1 or not _adds_nothing(target, *found) else ()
    if isinstance(target, type):
        return next(filter(None, _class_definitions(target, indexes)), ())
    code = target.__code__
    known = index_of(code.co_filename, target.__globals__, indexes)
    # `%autoreload` compiles a method alone, in a class of its own, and moves no other code.
    is_alone = code.co_qualname.startswith("__autoreload_class__.")
    named = known.named.get(target.__qualname__ if is_alone else code.co_qualname, [])
    if len(named) == 1 and is_imported(target):
        return named
    return known.functions.get((code.co_firstlineno, code.co_name), [])


def added_to(cls: type[Any], indexes: dict[str, Index]) -> Iterator[FunctionType]:
    """Return the functions of a class that its definition has not: they were set on it later.

    Those without source were generated, as `dataclass` does.
    """
    head, space = f"{qualname_of(cls)}.", module_namespace(cls)
    for function in own_functions(cls):
        is_added = function.__globals__ is space and not function.__qualname__.startswith(head)
        if is_added and definitions_of(function, indexes):
            yield function


def syntax_of(nodes: Iterable[ast.AST]) -> str:
    """Return the syntax of definitions, without positions; "" where calls may not go so deep."""
    try:
        return " ".join(map(_dump, nodes))
    except RecursionError:
        return ""


@lru_cache(maxsize=4096)
def _dump(node: ast.AST) -> str:
    """Write a node, a long one as its hash: many names share one that counts whole."""
    text = ast.dump(node)
    return text if len(text) < _LONG else sha256(text.encode()).hexdigest()


def rebound_in(function: FunctionType, indexes: dict[str, Index]) -> set[str]:
    """Return names that a function of this file binds in the function around it, such as counts."""
    return index_of(function.__code__.co_filename, function.__globals__, indexes).rebound


def _class_definitions(cls: type[Any], indexes: dict[str, Index]) -> Iterator[Sequence[ast.AST]]:
    """Try the file of a method, the file of the module, then the cells, the latest run first."""
    name = qualname_of(cls)
    for method in own_functions(cls):
        code = method.__code__
        found = index_of(code.co_filename, method.__globals__, indexes).classes
        known, line = found.get(name, []), code.co_firstlineno
        yield [node for node in known if node.lineno <= line <= (node.end_lineno or 0)]
    space = module_namespace(cls)
    found = index_of(space.get("__file__") or "", space, indexes).classes
    yield found.get(name, [])[-1:]
    if module_of(cls) == "__main__":
        for source in cells():
            if name_of(cls) in source:
                yield index_cell(source).classes.get(name, [])[-1:]


def _assignments(of: Assigned, indexes: dict[str, Index]) -> Iterator[Sequence[ast.AST]]:
    yield from _in_cells(of)
    known = index_of(file_of(of.reader), namespace_of(of.reader), indexes).assignments
    yield known.get(of.name) or known.get("*", ())


def _in_cells(of: Assigned) -> Iterator[Sequence[ast.AST]]:
    for source in cells() if run_in(namespace_of(of.reader)) else ():
        if of.name in source and re.search(rf"\b{re.escape(of.name)}\b", source):
            yield index_cell(source).assignments.get(of.name, ())


def _adds_nothing(of: Assigned, node: ast.AST | None = None) -> bool:
    """Return whether a node binds just a definition that has the name `of`, by `def` or by name."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
        return is_definition_of(namespace_of(of.reader).get(of.name), of.name)
    is_definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return is_definition and not node.decorator_list


def is_edited(target: Target | Assigned, syntax: str) -> bool:
    """Return whether a function, class or assignment was edited in its file and not loaded again.

    Its code, and that of its methods, is compared with what the file compiles to, where the plain
    import of a file made it. What else the `syntax` of its definition has, such as defaults,
    decorators and attributes, is compared with what was there when something of its module was
    registered, else with what was first read of it after it was loaded.
    """
    if type(target) is Assigned:  # a cell that runs again changes no code of the reader's
        is_of_file = "__file__" in namespace_of(target.reader) and not any(_in_cells(target))
        return is_of_file and _has_other(target.reader, target, syntax)
    functions = own_functions(target) if isinstance(target, type) else iter((target,))
    return any(map(has_other_code, functions)) or (
        bool(syntax) and _has_other(target, target, syntax)
    )


_InPlace: TypeAlias = tuple[Sequence[object], Sequence[float | None]]
_FIRST_READ: dict[tuple[int, str], tuple[ref[Target], Sequence[object], _InPlace, int]] = {}
"""What was loaded, what loading it again replaces, and the hash of its syntax as first read.

The key is an id, for the metaclass of a class may hash and compare it by code of its own, and the
name of what is assigned. Loading again replaces the spec of the module and the code of functions;
`%autoreload` also sets values in place. Those are noted while the file has what is loaded.
"""


def _has_other(target: Target, of: Target | Assigned, syntax: str) -> bool:
    key, read = (id(target), of.name if type(of) is Assigned else ""), hash(syntax)
    if isinstance(target, type):
        space, functions = module_namespace(target), list(own_functions(target))
    else:
        space, functions = target.__globals__, [target]
    now = _set_in_place(of, functions), _autoreloaded(space)
    loaded = [space.get("__spec__"), *(function.__code__ for function in functions)]
    _, known, before, first = _FIRST_READ.get(key, (None, (), now, read))
    is_same = len(known) == len(loaded) and all(map(is_, known, loaded))
    # A run may bind a name anew too, but moves no time.
    if not is_same or all(map(ne, before, now)):
        # `%autoreload` gives functions other code without loading their module again.
        is_same_load = bool(known) and known[0] is loaded[0]
        there = () if is_same_load else _noted_definition(target, of, functions)
        first = hash(syntax_of(there)) if there else read
    elif first != read:
        now = before
    _FIRST_READ[key] = ref(target, lambda _: _FIRST_READ.pop(key, None)), loaded, now, first
    is_of_module = not isinstance(target, type) or loaded[0] is not None
    return is_of_module and first != read


def _set_in_place(of: Target | Assigned, functions: Iterable[FunctionType]) -> Sequence[object]:
    """Return what `%autoreload` sets of a name or class, as ids, which keep no value.

    What a decorator or metaclass has made of a class is not made again. Code is kept, else new code
    would get the id of what it replaces.
    """
    if type(of) is Assigned:
        layers = list(layers_of(namespace_of(of.reader).get(of.name)))
        codes = [each.__code__ for each in layers if real_class(each) is FunctionType]
        return [id(layers[0]), *map(id, codes), *codes]
    file = module_namespace(of).get("__file__") if isinstance(of, type) else None
    is_generated = any(function.__code__.co_filename != file for function in functions)
    return [] if type(of) is not type or is_generated else [*map(id, names_in(of).values())]


def _autoreloaded(space: Mapping[str, Any]) -> Sequence[float | None]:
    """Return when the file of a module was edited that `%autoreload` last noted or loaded."""
    if ipython_module("extensions.autoreload") is None:
        return ()
    magics = (shell.magics_manager.registry.get("AutoreloadMagics") for shell in known_shells())
    reloaders = (getattr(each, "_reloader", None) for each in magics)
    times = (getattr(each, "modules_mtimes", {}) for each in reloaders)
    return [each.get(space.get("__name__")) for each in times]


def _noted_definition(
    target: Target, of: Target | Assigned, functions: Iterable[FunctionType]
) -> Sequence[ast.AST]:
    """Return the definition in the source that was noted, where loading that made the target.

    `%autoreload` compiles a decorated function again alone, on lines of its own.
    """
    space = namespace_of(target)
    file = space.get("__file__") or ""
    with suppress(SyntaxError, ValueError):  # what it is not written in
        noted = _index_noted(noted_source(space))
        codes = (function.__code__ for function in functions)
        own = [(c.co_firstlineno, c.co_name) for c in codes if c.co_filename == file]
        if all(place in noted.functions for place in own):
            return definitions_of(of, {file: noted})
    return ()


@lru_cache(maxsize=16)
def _index_noted(source: bytes) -> Index:
    """Index a module as it was noted, which each name of it asks for once."""
    return index(decode_source(source))
