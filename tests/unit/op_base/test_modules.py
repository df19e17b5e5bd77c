"""Modules are listed and put back while other threads import: of that no call may fail."""

import gc
import importlib
import linecache
import sys
from itertools import count

import pytest

import repl_pair
from repl_pair.runtime.inspection.sources import place_of
from repl_pair.runtime.op_base.modules import hold_modules
from repl_pair.runtime.sweeps.shipping import refuse_old_modules

CELL_CLASS = type("CellClass", (), {"__module__": "__main__"})


@pytest.fixture
def imports_at_each_allocation(monkeypatch):
    """Lets a collection, which any new tuple may begin, add modules as another thread would."""
    numbers = count()

    def add(*_):
        monkeypatch.setitem(sys.modules, f"imported_{next(numbers)}", sys)
        monkeypatch.setitem(linecache.cache, f"imported_{next(numbers)}", (0, None, [], ""))

    before = gc.get_threshold()
    gc.callbacks.append(add)
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(add)


@pytest.mark.parametrize(
    "look",
    [hold_modules, refuse_old_modules, lambda: place_of(CELL_CLASS)],
    ids=["what is held", "files of modules", "cells of a class"],
)
def test_modules_are_listed_while_another_thread_imports(look, imports_at_each_allocation):
    look()


HOLDS = "from repl_pair.runtime.op_base.modules import hold_modules\nhold_modules()\n"


def test_a_module_is_put_back_only_if_its_import_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(repl_pair, "__path__", [*repl_pair.__path__, str(tmp_path)])
    (tmp_path / "half.py").write_text(f"{HOLDS}raise ImportError('no such option')")
    (tmp_path / "whole.py").write_text(HOLDS)
    with pytest.raises(ImportError, match="no such option"):
        importlib.import_module("repl_pair.half")
    whole = importlib.import_module("repl_pair.whole")
    hold_modules()
    del sys.modules["repl_pair.whole"]
    hold_modules()
    assert "repl_pair.half" not in sys.modules
    assert sys.modules["repl_pair.whole"] is whole


def test_a_module_that_is_put_back_is_the_one_of_its_package_too(tmp_path, monkeypatch):
    monkeypatch.setattr(repl_pair, "__path__", [*repl_pair.__path__, str(tmp_path)])
    (tmp_path / "twice.py").write_text("")
    first = importlib.import_module("repl_pair.twice")
    hold_modules()
    del sys.modules["repl_pair.twice"]
    assert importlib.import_module("repl_pair.twice") is not first
    hold_modules()
    assert repl_pair.twice is first
    own = repl_pair.twice = "of the package"
    del sys.modules["repl_pair.twice"]
    hold_modules()
    assert (sys.modules["repl_pair.twice"], repl_pair.twice) == (first, own)
