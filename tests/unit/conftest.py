import sys
import types

import pytest

from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.runtime.store import STORE


@pytest.fixture(autouse=True)
def registries():
    """Each test begins and ends with what ships, and nothing else, in the registries."""
    undo = REGISTRY.checkpoint()
    yield REGISTRY
    undo()
    STORE.reset(RESULTS.name, {})


@pytest.fixture
def module():
    """Make a module from source that is registered in sys.modules until the test ends."""
    made = []

    def make(name: str, source: str) -> types.ModuleType:
        found = types.ModuleType(name)
        sys.modules[name] = found
        made.append(name)
        exec(compile(source, f"{name}.py", "exec"), found.__dict__)
        return found

    yield make
    for name in made:
        sys.modules.pop(name, None)
