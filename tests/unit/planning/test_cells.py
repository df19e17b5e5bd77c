"""What a cell ran, behind the magics of IPython that run a text as a cell does."""

import ast

import pytest
from IPython.core import inputtransformer2

from repl_pair.runtime.planning import cells
from repl_pair.runtime.planning.cells import without_magics


def call(kind, *args):
    return f"get_ipython().run_{kind}_magic('time', {', '.join(map(repr, args))})"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (call("cell", "", "RATE = 3"), "RATE = 3"),
        (call("line", "RATE = 3"), "RATE = 3"),
        (call("line", "-l 3 RATE = 3"), "RATE = 3"),
        (call("line", "-" + " (" * 800), None),
        (call("cell", "", "- RATE = 3"), None),
        (call("cell", "", "%pwd\n" * 9), None),  # as IPython refuses those of 500 lines
    ],
)
def test_a_magic_stands_for_the_text_that_it_ran_and_for_itself_where_it_ran_none(
    source, code, monkeypatch
):
    monkeypatch.setattr(inputtransformer2, "TRANSFORM_LOOP_LIMIT", 5)
    tried = []
    monkeypatch.setattr(cells, "parse", lambda text: tried.append(text) or ast.parse(text))
    without_magics.cache_clear()
    assert without_magics(source) == (code or ast.unparse(ast.parse(source)))
    assert len(tried) < 20
