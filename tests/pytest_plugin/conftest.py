import importlib
import pkgutil

import hypothesis.core  # noqa: F401
import pytest

import repl_pair
import repl_pair.pytest_plugin.collecting
import repl_pair.runtime

# A session that runs in this process takes what it is the first to import out of `sys.modules` at
# its end. Others keep references to it, and a module of the package would be there twice.
for module in pkgutil.walk_packages(repl_pair.runtime.__path__, "repl_pair.runtime."):
    importlib.import_module(module.name)


@pytest.fixture(autouse=True)
def _registries_as_before():
    """Sessions that run in this process leave nothing in its registries."""
    undo = repl_pair.registry.checkpoint()
    yield
    undo()
