"""The project's code in the process of a command: what it writes to stdout, and what it raises."""

import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from traceback import TracebackException

import click

from repl_pair.cli.tables import escape
from repl_pair.errors import AuthoringError, ReplPairError
from repl_pair.runtime.loading.load import NoStories, load_stories
from repl_pair.runtime.loading.pytest_settings import PytestSettings, read_settings
from repl_pair.runtime.reading.code_files import is_engine
from repl_pair.runtime.secrets.learning import scrub_known
from repl_pair.runtime.secrets.raised import knowing, text_of_raised
from repl_pair.runtime.snapshots.review import Rules, rules_of


@contextmanager
def own_stdout() -> Generator[None]:
    """Keep stdout for the lines of the command: in the block, descriptor 1 leads to stderr.

    So do the processes that are started meanwhile, for as long as they run.
    """
    sys.stdout.flush()
    own, before = os.dup(1), sys.stdout
    os.dup2(2, 1)
    if before is sys.__stdout__:
        sys.stdout = open(  # noqa: SIM115  what the project's code keeps of it stays open
            os.dup(own), "w", encoding=before.encoding, errors=before.errors
        )
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = before
        os.dup2(own, 1)
        os.close(own)


@contextmanager
def rules_here() -> Generator[None]:
    """Hold stored outputs against what comes as this project's ini file says, in the block.

    What differs is accepted by a command: nobody can call anything in this process.
    """
    with rules_of(Rules(accept=_ACCEPT, tolerance=settings_here().image_tolerance)):
        yield


_ACCEPT = "`repl-pair run --here --update` stores what this run gave."


def load_project(*, needs_stories: bool = True, whole: bool = False) -> None:
    """Load the stories of this folder, as pytest does; what they print goes to stderr.

    With `whole` those of its project, wherever in it the command was started.
    AuthoringError `bad_body` for a file that does not load, with its line; its traceback goes to
    stderr. NoStories where stories are needed and there is no file.
    """
    settings = read_settings(Path.cwd())
    _settings[:] = [settings]
    none = () if needs_stories else (NoStories,)
    with own_stdout(), redirect_stdout(sys.stderr), suppress(*none):
        load_stories(settings.root if whole else None, on_error=_refuse)


def settings_here() -> PytestSettings:
    """Return what pytest's ini file sets for the folder that this command was started in.

    That is read before the project's code is loaded, which may change the working directory.
    """
    return _settings[0]


_settings: list[PytestSettings] = []


def _refuse(file: Path, error: Exception) -> None:
    if isinstance(error, ReplPairError):
        raise error
    for shown in traceback_of(error).splitlines():
        click.echo(escape(shown), err=True)
    line = line_in(file, error)
    raise AuthoringError("bad_body", f"{file}:{line}: {describe_error(error)}") from error


def line_in(file: Path, error: BaseException) -> int:
    """Return the line of a file from which an error came, or where its syntax is wrong."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == file]
    return (lines[-1] if lines else getattr(error, "lineno", None)) or 1


def describe_error(error: BaseException) -> str:
    """Return the class and text of an error of the project's code, without known secrets."""
    return scrub_known(text_of_raised(error))


def traceback_of(error: BaseException) -> str:
    """Return a traceback with the frames that are not of this package, without known secrets."""
    shown = TracebackException.from_exception(error)
    _keep_own(shown)
    with knowing(error):
        return scrub_known("".join(shown.format()))


_IMPORTS = "<frozen importlib"


def _keep_own(shown: TracebackException) -> None:
    own = [f for f in shown.stack if not is_engine(f.filename)]
    shown.stack[:] = [f for f in own if not f.filename.startswith(_IMPORTS)] or shown.stack
    for before in filter(None, (shown.__cause__, shown.__context__)):
        _keep_own(before)
