"""What pytest's own configuration files set for the files of a project, read without pytest."""

import os
import shlex
import tomllib
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from configparser import ConfigParser, Error as ConfigError
from pathlib import Path
from typing import Any, cast

from repl_pair.errors import AuthoringError
from repl_pair.records import record
from repl_pair.runtime.values.takes import is_share

NOT_ENTERED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
"""What pytest's `norecursedirs` is where it is not set."""


@record
class PytestSettings:
    """The settings of one configuration; lists are empty where nothing is set.

    `root` is pytest's rootdir, `namespaces` whether modules are found in folders without
    `__init__.py` (`consider_namespace_packages`).
    """

    root: Path
    stories: Sequence[str] = ()
    testpaths: Sequence[str] = ()
    not_entered: Sequence[str] = NOT_ENTERED
    pythonpath: Sequence[str] = ()
    ignored: Sequence[str] = ()
    enters_venv: bool = False
    import_mode: str = "prepend"
    namespaces: bool = False
    strict_xfail: bool = False
    image_tolerance: float = 0.0


def read_settings(start: Path) -> PytestSettings:
    """Return what pytest uses that is started in a folder; AuthoringError for an invalid file."""
    root, table = _locate(start)
    parser = ArgumentParser(add_help=False, allow_abbrev=False, argument_default=SUPPRESS)
    parser.add_argument("--import-mode", default="prepend")
    parser.add_argument("--collect-in-virtualenv", action="store_true", default=False)
    for name in ("--ignore", "--ignore-glob"):
        parser.add_argument(name, action="append", default=[])
    # Options of the environment stand before those of the command line, so they win.
    words = [*_words(table, "addopts"), *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    given, _ = parser.parse_known_args(words)
    strict_names = ("strict_xfail", "xfail_strict", "strict")
    strict = next((table[name] for name in strict_names if name in table), False)
    return PytestSettings(
        root=root,
        stories=_words(table, "repl_pair_stories"),
        testpaths=_words(table, "testpaths"),
        not_entered=_words(table, "norecursedirs") if "norecursedirs" in table else NOT_ENTERED,
        pythonpath=_words(table, "pythonpath"),
        ignored=[*given.ignore, *given.ignore_glob],
        enters_venv=given.collect_in_virtualenv,
        import_mode=given.import_mode,
        namespaces=_is_on(table.get("consider_namespace_packages")),
        image_tolerance=read_share(table, "repl_pair_image_tolerance"),
        strict_xfail=_is_on(strict),
    )


def read_toml(file: Path) -> Mapping[str, Any]:
    """Return the content of a TOML file; AuthoringError `bad_body` where it is none."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, nested too deeply
        raise AuthoringError("bad_body", f"{file}: {error}") from error


def _locate(start: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return the folder and the settings of the configuration that holds for a folder."""
    project: Path | None = None
    for folder in (start, *start.parents):
        for name, read in _READERS.items():
            if not (file := folder / name).is_file():
                continue
            if (table := read(file)) is not None:
                return folder, table
            if name == "pyproject.toml":
                project = project or folder
    setup = (folder for folder in (start, *start.parents) if (folder / "setup.py").is_file())
    return project or next(setup, start), {}


def _read_toml(file: Path) -> Mapping[str, Any]:
    return read_toml(file).get("pytest", {})


def _read_pyproject(file: Path) -> Mapping[str, Any] | None:
    table: Mapping[str, Any] = read_toml(file).get("tool", {}).get("pytest", {})
    return table.get("ini_options", table or None)


def _read_ini(section: str, *, is_pytests: bool = False) -> Callable[[Path], Any]:
    def read(file: Path) -> Mapping[str, Any] | None:
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(file.read_text(encoding="utf-8"), str(file))
        except ConfigError as error:
            raise AuthoringError("bad_body", str(error)) from error
        return dict(parser[section]) if section in parser else {} if is_pytests else None

    return read


def _words(table: Mapping[str, Any], name: str) -> Sequence[str]:
    found = table.get(name, ())
    return shlex.split(found) if isinstance(found, str) else list(cast("Sequence[str]", found))


def _is_on(value: Any) -> bool:
    return str(value).lower() in ("1", "yes", "true", "on")


def read_share(table: Mapping[str, Any], name: str) -> float:
    """Return a setting that is a share from 0 to 1, 0 if it is not set; `bad_body` for others."""
    try:
        share = float(table.get(name, 0))
    except (TypeError, ValueError):
        share = -1.0
    if is_share(share):
        return share
    raise AuthoringError("bad_body", f"{name} is a share from 0 to 1, not {table[name]!r}.")


_READERS: Mapping[str, Callable[[Path], Mapping[str, Any] | None]] = {
    "pytest.toml": _read_toml,
    ".pytest.toml": _read_toml,
    "pytest.ini": _read_ini("pytest", is_pytests=True),
    ".pytest.ini": _read_ini("pytest", is_pytests=True),
    "pyproject.toml": _read_pyproject,
    "tox.ini": _read_ini("pytest"),
    "setup.cfg": _read_ini("tool:pytest"),
}
"""pytest's configuration files in the order in which it asks them, which is of pytest 9."""
