import pytest

import repl_pair as rp
from repl_pair.runtime.surfaces import state


@pytest.fixture(autouse=True)
def _revisions_begin_anew(monkeypatch):
    """Revisions count on after a member has left, and so from test to test."""
    monkeypatch.setattr(state, "_LEFT", {})


@pytest.fixture
def train():
    return rp.surface("training", doc="A run.")
