import pytest
from flushing import flush
from waiting import wait_until

from repl_pair.panels.base.context import Focus, PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD


@pytest.fixture(scope="session")
def eventually():
    """Waits until a condition holds: `eventually(lambda: view.done)`."""

    return wait_until


@pytest.fixture
def sent():
    """The patches that a view sends."""
    return []


@pytest.fixture
def open_view():
    """Opens a view: `view, sent = open_view(PlayView, variant="a/B")`."""
    undos = []
    assert flush(PANEL_THREAD)  # a shell that an earlier test left listens still

    def open_at(view_class, **focus):
        sent = []
        view = view_class(PanelContext(Focus(**focus)), sent.append)
        undos.extend((view.context.follow(view.handle_changes), view.close))
        return view, sent

    yield open_at
    for undo in undos:
        undo()
    assert flush(PANEL_THREAD)


@pytest.fixture
def open_context(eventually):
    """Makes contexts; waits at the end until their runs have ended."""
    made = []

    def make(**focus):
        made.append(PanelContext(Focus(**focus)))
        return made[-1]

    yield make
    eventually(lambda: not any(context.running for context in made))
    for context in made:
        context.close()
