import pytest

import repl_pair as rp
from repl_pair.runtime.store import STORE
from repl_pair.runtime.surfaces import state


@pytest.fixture(autouse=True)
def _revisions_and_watchers_begin_anew(monkeypatch):
    """Revisions count on after a member has left, and so from test to test; watchers stay.

    Here revisions begin at 0, in a process where its clock says.
    """
    monkeypatch.setattr(STORE, "first", 0)
    monkeypatch.setattr(state, "_LEFT", {})
    monkeypatch.setattr(state, "_WATCHERS", {})


@pytest.fixture
def train():
    return rp.surface("training", doc="A run.")
