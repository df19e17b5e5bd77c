"""Whatever is called with its args by name."""

import functools
import inspect
from dataclasses import dataclass

import pytest

import repl_pair
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.signatures.schema import parameters_schema


def placed(a, b=2, /, c=3):
    return a, b, c


@functools.singledispatch
def kind_of(value, loud=False):
    return "object"


@kind_of.register
def _(value: int, loud=False):
    return "INT" if loud else "int"


@functools.wraps(kind_of)
def wrapped(*args, **kwargs):
    return kind_of(*args, **kwargs)


class Generic:
    """A generic function as libraries define them."""

    __signature__ = inspect.signature(lambda value: None)

    def dispatch(self, method):
        raise AssertionError("it is not called")

    def __call__(self, *given, **named):
        return type(given[0]).__name__, named


class EqualsAll:
    def __call__(self, value=1):
        return value

    def __eq__(self, other):
        return True

    __hash__ = None


@dataclass
class Scale:
    by: int = 2

    def __call__(self, value: int) -> int:
        return value * self.by


@pytest.mark.parametrize(
    ("component", "args", "result"),
    [
        (placed, {"a": 1}, (1, 2, 3)),
        (placed, {"a": 1, "b": 5, "c": 6}, (1, 5, 6)),
        (kind_of, {"value": 1}, "int"),
        (kind_of, {"value": 1, "loud": True}, "INT"),
        (functools.partial(kind_of, loud=True), {"value": 1}, "INT"),
        (wrapped, {"value": 1}, "int"),
        (Generic(), {"value": 1}, ("int", {})),
        (EqualsAll(), {"value": 3}, 3),
        (Scale(by=3), {"value": 3}, 9),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_component_is_called_as_it_is_defined(component, args, result):
    repl_pair.story("called", component=component)
    repl_pair.variant("called/A", args=args)
    record = repl_pair.run("called/A", check=True)
    assert record.result == result
    assert args.keys() <= parameters_schema(component)["properties"].keys()


@pytest.mark.parametrize("component", [Scale, Scale()], ids=["class", "object"])
def test_the_doc_that_a_dataclass_is_given_with_its_defaults_is_no_doc_of_a_story(component):
    repl_pair.story("called", component=component)
    assert REGISTRY.get("story", "called").body.doc == ""
