"""The text of sent code: there while something of the code lives, and bounded."""

import gc
import inspect
import linecache

import pytest

from repl_pair.runtime.evaluation import sources
from repl_pair.runtime.evaluation.compiled import compile_source
from repl_pair.runtime.evaluation.sources import keep_source, show_source

TEXT = "def f():\n    return [n for n in ()]\nclass C:\n    def m(self): pass\n"


@pytest.fixture(autouse=True)
def none_left():
    yield
    gc.collect()
    for name in list(sources._kept):
        sources.forget_source(name)
    assert not [name for name in linecache.cache if name.startswith("<sent")]


def run(source, name="<sent>"):
    """Run a source as sent code; give its names."""
    code, space = compile_source(source, name), {}
    show_source(name, source)
    for part in code.parts:
        exec(part, space)
    keep_source(name, code.parts)
    return space


@pytest.mark.parametrize("source", ["1 + 1", "x = 1", "def f(): pass\ndel f"])
def test_the_text_of_what_leaves_nothing_is_gone(source):
    run(source)
    gc.collect()
    assert "<sent>" not in linecache.cache


@pytest.mark.parametrize("kept", ["f", "C"])
def test_the_text_stays_as_long_as_a_function_or_class_of_it_lives(kept):
    space = run(TEXT)
    held = space[kept] if kept == "f" else space[kept].m
    space.clear()
    gc.collect()
    assert linecache.getline("<sent>", held.__code__.co_firstlineno).strip().startswith("def ")
    assert inspect.getsource(held).strip().startswith("def ")
    linecache.checkcache()
    assert "<sent>" in linecache.cache
    del held
    gc.collect()
    assert "<sent>" not in linecache.cache


def test_the_texts_that_are_kept_are_the_latest():
    spaces = [run(TEXT, f"<sent {n}>") for n in range(sources.MOST + 5)]
    kept = [name for name in linecache.cache if name.startswith("<sent")]
    assert kept == [f"<sent {n}>" for n in range(5, sources.MOST + 5)]
    spaces.clear()


def test_lines_are_counted_as_python_does():
    source = "a = '\x0c\x85\u2028'\r\nb = 1\rdef f():\n    raise ValueError\n"
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        run(source)["f"]()
    entry = raised.traceback[-1]
    assert (entry.lineno + 1, linecache.getline("<sent>", entry.lineno + 1).strip()) == (
        4,
        "raise ValueError",
    )
