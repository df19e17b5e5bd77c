"""The hooks of a session that has stories, or an option or setting of this package."""

import sys
from collections.abc import Generator, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from repl_pair.pytest_plugin import snapshot_use, workers
from repl_pair.pytest_plugin.files import files_elsewhere
from repl_pair.runtime.capture.captured import CAPTURED, Captured

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

_COLLECTING = f"{__package__}.collecting"
"""The module that is imported once a file has stories."""
_NOTEBOOKS = f"{__package__}.notebooks.cell_variants"
"""The module that is imported where notebooks are run."""
SHOWN = 10
"""How many lines a section at the end has; -v shows all."""


def pytest_configure(config: pytest.Config) -> None:
    """Collect what the project names elsewhere, unless the command line names what it wants."""
    config.args.extend(files_elsewhere(config))
    if config.getini("repl_pair_image_tolerance") != "0":
        _snapshots().rules_in(config)
    runs_nbval = any(config.getoption(flag, default=False) for flag in ("nbval", "nbval_lax"))
    if runs_nbval or config.getoption("pair_notebook"):
        _snapshots().share_rules(config)
    if runs_nbval:
        if config.getoption("pair_notebook"):
            raise pytest.UsageError("--pair-notebook runs notebooks in place of --nbval: give one.")
        # nbval is an extra: who does not ask for it may not have it.
        from repl_pair.pytest_plugin.notebooks.nbval_cells import NbvalHooks

        config.pluginmanager.register(NbvalHooks(), "repl_pair_nbval")
    elif config.getoption("pair_notebook"):
        if find_spec("nbclient") is None:
            raise pytest.UsageError("--pair-notebook needs nbclient: pip install nbclient")
        from repl_pair.pytest_plugin.notebooks.runner import Runner  # only who runs notebooks

        config.pluginmanager.register(Runner(), "repl_pair_notebooks")


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Note that a part is left out: then no stored snapshot of another part is unused."""
    if items:
        snapshot_use.note_left_out(items[0].config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Make tags marks, and deselect what the options do not choose."""
    chosen = {config.getoption("pair_tags"), config.getoption("pair_modes")} - {None}
    if chosen or {_COLLECTING, _NOTEBOOKS} & sys.modules.keys():
        from repl_pair.pytest_plugin import marks, selecting  # only who has variants or wants some

        marks.mark_items(config, items)
        selecting.deselect(config, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which files with stories are run whole: what is stored for them can be unused."""
    if _COLLECTING in sys.modules:
        _snapshots().note_chosen(session.config, session.items)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """Hide the secrets in why a variant was skipped or may fail, whatever its phase or mark."""
    report = yield
    if failing := _failing_of(item):
        with failing.knowing(call.excinfo.value) if call.excinfo else nullcontext():
            failing.scrub_reasons(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hide the secrets in the message by which a variant ends the session: it has no report."""
    try:
        return (yield)
    except pytest.exit.Exception as error:
        if failing := _failing_of(item):
            error.msg = failing.scrub_known(error.msg)
            error.args = (error.msg,)
        raise


def _failing_of(item: pytest.Item):  # noqa: ANN202  the type of a module can only be inferred
    if _COLLECTING in sys.modules:
        from repl_pair.pytest_plugin import failing  # only who has stories

        return failing if isinstance(item, failing.RunningItem) else None
    return None


def pytest_enter_pdb() -> None:
    """Give the debugger the terminal: what a run reads and writes in it is not the run's."""
    if (captured := CAPTURED.get()) is not None:
        _DEBUGGED.set(captured)
        CAPTURED.set(None)


def pytest_leave_pdb() -> None:
    """Go on with the run in which the debugger was entered."""
    if (captured := _DEBUGGED.get()) is not None:
        CAPTURED.set(captured)
        _DEBUGGED.set(None)


_DEBUGGED: ContextVar[Captured | None] = ContextVar("repl_pair_debugged", default=None)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove or report unused snapshots; fail a session whose workers refused the options."""
    if _COLLECTING in sys.modules or snapshot_use.gone_folders(session):
        workers.kept_in(session.config, workers.USES).append(_snapshots().use_in(session))
    if workers.kept_in(session.config, workers.USES):
        from repl_pair.pytest_plugin.unused_snapshots import remove_unused  # only who has stories

        if not remove_unused(session.config) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if workers.kept_in(session.config, workers.UNMATCHED):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: "TerminalReporter") -> None:
    """Write the ids near to unknown ones, and the variants that assert nothing."""
    reporter = terminalreporter
    for line in workers.kept_in(reporter.config, workers.UNMATCHED):
        reporter.write_line(line, red=True)
    passed = [
        (r.nodeid, getattr(r, "user_properties", ())) for r in reporter.stats.get("passed", ())
    ]
    # Those that passed because they could be rendered, and by nothing else.
    silent = [id for id, about in passed if ("assertions", "0") in about]
    left = [f"{id}: {what}" for id, about in passed for name, what in about if name == "not_run"]
    _write_section(reporter, "variants that assert nothing", silent)
    _write_section(reporter, "plays that did not run", left)
    for line in workers.kept_in(reporter.config, workers.USE_LINES):
        reporter.write_line(line)


def _snapshots():  # noqa: ANN202  the type of a module can only be inferred
    # Only who has stories, sets rules for snapshots or runs notebooks needs the runtime.
    from repl_pair.pytest_plugin import snapshots

    return snapshots


def _write_section(reporter: "TerminalReporter", title: str, lines: Sequence[str]) -> None:
    shown = lines if reporter.verbosity > 0 else lines[:SHOWN]
    if shown:
        reporter.section(title)
    for line in shown:
        reporter.write_line(line)
    if len(lines) > len(shown):
        reporter.write_line(f"… {len(lines) - len(shown)} more; -v names all")
