"""The messages between a panel and its script: both sides hold the same names and shapes."""

import ast
import inspect
import re
import sys
from pathlib import Path
from textwrap import fill
from types import UnionType
from typing import get_args, is_typeddict

import pytest

from repl_pair.panels.base.view import View
from repl_pair.panels.builtin import VIEWS
from repl_pair.panels.shell.view import Shell

PANELS = (*VIEWS, Shell)
SIMPLE = {"str": "string", "int": "number", "float": "number", "bool": "boolean"}
SIMPLE |= {"Any": "any", "Json": "any"}
HEAD = "The messages between the view and this script, of the same shapes as in messages.py."


def tree_of(module):
    return ast.parse(inspect.getsource(sys.modules[module]))


def js(annotation, names):
    """Write an annotation as a type of JSDoc; `names` has the name of a class by its alias."""
    match annotation:
        case ast.Constant(value=None):
            return "null"
        case ast.Constant(value=str(text)):
            return js(ast.parse(text, mode="eval").body, names)
        case ast.Name(id=name):
            return SIMPLE.get(name) or names.get(name, name)
        case ast.Attribute(value=ast.Name(id="messages"), attr=name):
            return name
        case ast.BinOp(left=left, right=right):
            return f"{js(left, names)} | {js(right, names)}"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=slots):
            return " | ".join(f'"{slot.value}"' for slot in getattr(slots, "elts", [slots]))
        case ast.Subscript(value=ast.Name(id="Sequence" | "list"), slice=item):
            inner = js(item, names)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case ast.Subscript(value=ast.Name(id="Mapping" | "dict"), slice=ast.Tuple(elts=[_, item])):
            return f"Record<string, {js(item, names)}>"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=items)):
            return f"[{', '.join(js(item, names) for item in items)}]"
    raise AssertionError(ast.dump(annotation))


def field(name, annotation, names, is_optional):
    match annotation:
        case ast.Subscript(value=ast.Name(id="NotRequired"), slice=inner):
            annotation, is_optional = inner, True
    return f"{name}{'?' if is_optional else ''}: {js(annotation, names)}"


def is_shape(found):
    return is_typeddict(found) or (
        isinstance(found, UnionType) and any(map(is_shape, found.__args__))
    )


def behind(shapes, name):
    """Return the shapes that one names, and itself, each behind those that it names."""
    inner = [word for word in re.findall(r"\w+", str(shapes[name])) if word in shapes]
    return {key: shapes[key] for word in inner for key in behind(shapes, word)} | {
        name: shapes[name]
    }


def shapes_in(module):
    """Return the fields of each TypedDict of a module, and of those that it imports, by name.

    A union of some has its text.
    """
    shapes = {}
    for node in tree_of(module).body:
        match node:
            case ast.ImportFrom(module=str(other)) if other.startswith("repl_pair."):
                names = [alias.name for alias in node.names]
                for name in [one for one in names if is_shape(getattr(sys.modules[other], one))]:
                    shapes |= behind(shapes_in(other), name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as union) if is_shape(
                getattr(sys.modules[module], name)
            ):
                shapes[name] = js(union, {})
            case ast.ClassDef(name=name, bases=[ast.Name(id=base)]) if base in {
                "TypedDict",
                *shapes,
            }:
                is_partial = bool(node.keywords)
                shapes[name] = shapes.get(base, []) + [
                    field(slot.target.id, slot.annotation, {}, is_partial)
                    for slot in node.body
                    if isinstance(slot, ast.AnnAssign)
                ]
    return shapes


def asks_of(view):
    """Return the args and the answer of each ask that a view answers, by name."""
    tree = tree_of(view.__module__)
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = {alias.asname: alias.name for node in imports for alias in node.names if alias.asname}
    body = next(node.body for node in tree.body if getattr(node, "name", "") == view.__name__)
    asks = {}
    for fn in body:
        if isinstance(fn, ast.FunctionDef) and fn.name.startswith("on_"):
            args = fn.args.args[1:]
            first_default = len(args) - len(fn.args.defaults)
            slots = [
                field(arg.arg, arg.annotation, names, at >= first_default)
                for at, arg in enumerate(args)
            ]
            answer = js(fn.returns, names)
            asks[fn.name.removeprefix("on_")] = f"({{{', '.join(slots)}}}) => {answer}"
    return asks


def shapes_of(view):
    return shapes_in(f"{view.__module__.rpartition('.')[0]}.messages")


def typedefs_of(view):
    """Return the comment that stands at the head of a view's script."""
    types = {
        name: slots if isinstance(slots, str) else f"{{ {', '.join(slots)} }}"
        for name, slots in shapes_of(view).items()
    }
    asks = ", ".join(f"{name}: {shape}" for name, shape in asks_of(view).items())
    types["Asks"] = f"{{ {asks} }}"
    lines = [
        fill(
            f"@typedef {{{text}}} {name}",
            116,
            initial_indent=" * ",
            subsequent_indent=" *   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, text in types.items()
    ]
    return "\n".join(["/**", f" * {HEAD}", " *", *lines, " */"])


def script_of(view):
    return Path(inspect.getfile(view)).with_name(f"{view.name}.js").read_text("utf-8")


@pytest.mark.parametrize("view", PANELS, ids=lambda view: view.name)
def test_a_script_describes_the_types_of_its_views_messages(view):
    assert script_of(view).startswith(f"{typedefs_of(view)}\n")


@pytest.mark.parametrize("view", PANELS, ids=lambda view: view.name)
def test_a_script_listens_to_the_patches_that_its_view_sends(view):
    (patch,) = get_args(view.__orig_bases__[0])
    slots = {slot.partition(":")[0].rstrip("?") for slot in shapes_of(view)[patch.__name__]}
    assert set(re.findall(r'\blisten\("(\w+)"', script_of(view))) == slots


@pytest.mark.parametrize("view", PANELS, ids=lambda view: view.name)
def test_a_script_asks_what_its_view_answers(view):
    asked = r'(?:\b(?:ask|read|act|decide|decideThis)\(|\bask: )"(\w+)"'
    assert set(re.findall(asked, script_of(view))) == asks_of(view).keys()
    assert issubclass(view, View)
