"""The pytest plugin: variants of stories files are items beside the test functions.

Every pytest run of who installs the package loads this module: it holds hooks only, and what they
do is imported once a file with stories is met.
"""

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from repl_pair.pytest_plugin.files import chosen_modules, is_story_file
from repl_pair.pytest_plugin.options import add_options
from repl_pair.pytest_plugin.pins import give_pins, lines_of, settle_pins, take_pins
from repl_pair.pytest_plugin.refusals import is_refused, take_over
from repl_pair.pytest_plugin.reporting import sum_up

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line and of the ini file."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Collect the modules that the ini file names, unless the command line says what to collect."""
    config.args.extend(chosen_modules(config))
    if config.getoption("pair_review") or config.getini("repl_pair_image_tolerance") != "0":
        from repl_pair.pytest_plugin.pinned import rules_in  # only who sets rules for snapshots

        rules_in(config)
    if any(
        config.getoption(flag, default=False) for flag in ("nbval", "nbval_lax", "pair_notebook")
    ):
        from repl_pair.pytest_plugin.notebooks.hooks import add_hooks  # only who runs notebooks

        add_hooks(config)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect files with stories, whatever they are called."""
    found = yield
    if not is_story_file(parent.config, file_path):
        return found
    from repl_pair.pytest_plugin.collecting import StoriesFile, collector_of  # only who has stories

    if any(isinstance(one, StoriesFile) for one in found):
        return found
    return [*found, collector_of(parent, file_path)]


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Collect a file with stories as one, where pytest would collect it as a module of tests."""
    if not is_story_file(parent.config, module_path):
        return None
    from repl_pair.pytest_plugin.collecting import collector_of  # only who has stories

    return collector_of(parent, module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the options do not choose; a choice that chooses nothing is refused."""
    chosen = {config.getoption("pair_tags"), config.getoption("pair_modes")} - {None}
    if chosen or f"{__name__}.collecting" in sys.modules:
        from repl_pair.pytest_plugin.selecting import narrow  # only who has stories or wants some

        narrow(config, items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Hear from a worker of xdist, at its end, what was asked for in vain."""
    take_over(node)
    take_pins(node)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which files with stories are run whole: what is stored for them can be unused."""
    if f"{__name__}.collecting" in sys.modules:
        from repl_pair.pytest_plugin.pinned import note_chosen  # only who has stories

        note_chosen(session.config, session.items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Settle what is stored; fail a session whose workers refused what was asked for."""
    if f"{__name__}.collecting" in sys.modules:
        from repl_pair.pytest_plugin.pinned import pins_of  # only who has stories

        give_pins(session.config, pins_of(session.config))
    settle_pins(session.config)
    if is_refused(session.config):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: "TerminalReporter") -> None:
    """Describe what is near to ids that are not there, and which variants assert nothing."""
    sum_up(terminalreporter)
    for line in lines_of(terminalreporter.config):
        terminalreporter.write_line(line)
