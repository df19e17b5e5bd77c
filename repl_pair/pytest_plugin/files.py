"""Which files hold stories in a run of pytest."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from repl_pair.errors import AuthoringError
from repl_pair.pytest_plugin.options import start_of
from repl_pair.runtime.loading.project import INI, Project, find_files, make_project


def project_of(config: pytest.Config) -> Project:
    """Return where stories are in this run; UsageError for what cannot be."""
    found = config.stash.get(_PROJECT, None)
    if found is None:
        found = config.stash[_PROJECT] = _make(config)
    return found


def files_elsewhere(config: pytest.Config) -> Sequence[str]:
    """Return the files that the project names outside of the folders that are collected.

    None where an argument names what is collected. A pattern that fits no file is warned of.
    """
    project = project_of(config)
    if config.args_source is pytest.Config.ArgsSource.ARGS or not project.is_named:
        return ()
    files = find_files(project)
    if not hasattr(config, "workerinput"):
        for text in project.unfit(files).values():
            _warn(config, text)
    return [
        str(file)
        for file in files
        if not any(file.is_relative_to(folder) for folder in project.folders)
    ]


def _warn(config: pytest.Config, text: str) -> None:
    """Warn in the summary; UsageError where the session's filters make warnings errors."""
    try:
        config.issue_config_time_warning(pytest.PytestConfigWarning(text), stacklevel=2)
    except pytest.PytestConfigWarning as error:
        raise pytest.UsageError(text) from error


def _make(config: pytest.Config) -> Project:
    try:
        return make_project(
            config.rootpath,
            config.getini(INI),
            start_of(config),
            folders=[Path(arg).absolute() for arg in config.args],
            not_entered=config.getini("norecursedirs"),
            import_mode=config.getoption("importmode"),
            namespaces=pytest.version_tuple >= (8, 1) and config.getini(_NAMESPACES),
        )
    except AuthoringError as error:
        raise pytest.UsageError(error.message) from error


_NAMESPACES = "consider_namespace_packages"
_PROJECT = pytest.StashKey[Project]()
