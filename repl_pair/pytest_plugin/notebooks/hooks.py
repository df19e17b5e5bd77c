"""Which hooks a run of notebooks needs: those beside nbval, or those of our own runner."""

from importlib.util import find_spec

import pytest


def add_hooks(config: pytest.Config) -> None:
    """Add the hooks; UsageError where both would run each notebook."""
    by_nbval = config.getoption("nbval", default=False) or config.getoption(
        "nbval_lax", default=False
    )
    if by_nbval and config.getoption("pair_notebook"):
        raise pytest.UsageError("--pair-notebook runs notebooks in place of --nbval: give one.")
    if by_nbval:
        # nbval is an extra: who does not ask for it may not have it.
        from repl_pair.pytest_plugin.notebooks.nbval_cells import NbvalHooks

        config.pluginmanager.register(NbvalHooks(config), "repl_pair_nbval")
    else:
        if find_spec("nbclient") is None:
            raise pytest.UsageError("--pair-notebook needs nbclient: pip install 'repl-pair[ci]'")
        from repl_pair.pytest_plugin.notebooks.runner import Runner

        config.pluginmanager.register(Runner(), "repl_pair_notebooks")
