import hypothesis.core  # noqa: F401
import pytest

import repl_pair

# Sessions that run in this process find these imported; else each imports them anew.
import repl_pair.pytest_plugin.collecting
import repl_pair.runtime.reading.expand


@pytest.fixture(autouse=True)
def _registries_as_before():
    """Sessions that run in this process leave nothing in its registries."""
    undo = repl_pair.registry.checkpoint()
    yield
    undo()
