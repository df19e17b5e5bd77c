"""Where code is defined, in a file that was edited since it was loaded."""

import importlib
import sys

import pytest

from repl_pair.runtime.inspection.sources import source_of

LOADED = 'def price(n):\n    """Of n."""\n    return n\n\n\ndef refund(n):\n    return -n\n'


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "edited_of_sources.py"
    file.write_text(LOADED)
    yield file, importlib.import_module(file.stem)
    del sys.modules[file.stem]


def test_of_a_file_that_was_edited_no_other_definition_is_given(module):
    file, loaded = module
    assert source_of(loaded.refund) == "def refund(n):\n    return -n\n"
    file.write_text("def remove_all(n):\n    raise SystemExit(n)\n\n\n" + LOADED)
    assert (source_of(loaded.price), source_of(loaded.refund)) == ("", "")


def test_of_a_function_that_was_edited_where_it_stands_nothing_is_given(module):
    file, loaded = module
    file.write_text(LOADED.replace("return -n", "return -n * 2"))
    assert source_of(loaded.price).endswith("return n\n")
    assert source_of(loaded.refund) == ""
