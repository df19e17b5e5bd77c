import pytest

import repl_pair


@pytest.fixture(autouse=True)
def _registries_as_before():
    """Sessions that run in this process leave nothing in its registries."""
    undo = repl_pair.registry.checkpoint()
    yield
    undo()
