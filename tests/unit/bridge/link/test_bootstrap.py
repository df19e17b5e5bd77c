import sys

import pytest

from repl_pair.bridge.link.bootstrap import load


class Finder:
    """One that another thread adds."""

    def find_spec(self, name, path=None, target=None):
        return None


@pytest.mark.parametrize("source", ["", "1 / 0"])
def test_shipping_leaves_no_finder_behind_and_keeps_those_that_others_add(source, monkeypatch):
    finders, added = [*sys.meta_path], Finder()
    monkeypatch.setattr(sys, "meta_path", finders)
    monkeypatch.setattr(sys, "added", lambda: finders.append(added), raising=False)
    shipped = {"shipped_probe": ["<shipped>/__init__.py", f"import sys; sys.added(); {source}"]}
    try:
        load("shipped_probe", shipped)
    except ZeroDivisionError:
        assert source
    sys.modules.pop("shipped_probe", None)
    assert [type(finder).__name__ for finder in sys.meta_path if finder not in finders[:-1]] == [
        "Finder"
    ]
