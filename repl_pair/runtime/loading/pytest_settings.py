"""What pytest's own configuration files set for the files of a project, read without pytest."""

import os
import shlex
import tomllib
from argparse import SUPPRESS, ArgumentError, ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from configparser import ConfigParser, Error as ConfigError
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard, cast

from repl_pair.errors import AuthoringError
from repl_pair.records import record
from repl_pair.runtime.values.takes import is_share

NOT_ENTERED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
"""What pytest's `norecursedirs` is where it is not set."""


@record
class PytestSettings:
    """The settings of one configuration; lists are empty where nothing is set.

    `root` is pytest's rootdir, `file` what sets something, `namespaces` whether modules are found
    in folders without `__init__.py` (`consider_namespace_packages`).
    """

    root: Path
    file: Path | None = None
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
    root, file, table = _locate(start)

    def words(name: str) -> Sequence[str]:
        return _words(table.get(name, []), f"{file}: {name}")

    how: dict[str, Any] = {"add_help": False, "allow_abbrev": False, "exit_on_error": False}
    parser = ArgumentParser(argument_default=SUPPRESS, **how)
    parser.add_argument("--import-mode", default="prepend")
    parser.add_argument("--collect-in-virtualenv", action="store_true", default=False)
    for name in ("--ignore", "--ignore-glob"):
        parser.add_argument(name, action="append", default=[])
    # Options of the environment stand before those of the command line, so they win.
    added = _words(os.environ.get("PYTEST_ADDOPTS", ""), "PYTEST_ADDOPTS")
    try:
        given, _ = parser.parse_known_args([*words("addopts"), *added])
    except ArgumentError as error:
        where = f"{file}: addopts, or PYTEST_ADDOPTS"
        raise AuthoringError("bad_body", f"{where}: {error}.") from error
    strict_names = ("strict_xfail", "xfail_strict", "strict")
    strict = next((table[name] for name in strict_names if name in table), False)
    return PytestSettings(
        root=root,
        file=file,
        stories=words("repl_pair_stories"),
        testpaths=words("testpaths"),
        not_entered=words("norecursedirs") if "norecursedirs" in table else NOT_ENTERED,
        pythonpath=words("pythonpath"),
        ignored=[*given.ignore, *given.ignore_glob],
        enters_venv=given.collect_in_virtualenv,
        import_mode=given.import_mode,
        namespaces=_is_on(table.get("consider_namespace_packages")),
        image_tolerance=read_share(table, "repl_pair_image_tolerance", f"{file}: "),
        strict_xfail=_is_on(strict),
    )


def read_toml(file: Path) -> Mapping[str, Any]:
    """Return the content of a TOML file; AuthoringError `bad_body` where it is none."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, nested too deeply
        raise AuthoringError("bad_body", f"{file}: {error}") from error


def read_table(file: Path, *names: str) -> Mapping[str, Any]:
    """Return a table of a TOML file, empty where it is not there; `bad_body` where it is none."""
    table = read_toml(file)
    for at, name in enumerate(names, 1):
        found: Any = table.get(name, {})
        if not isinstance(found, dict):
            raise AuthoringError("bad_body", f"{file}: [{'.'.join(names[:at])}] is no table.")
        table = cast("Mapping[str, Any]", found)
    return table


def _locate(start: Path) -> tuple[Path, Path | None, Mapping[str, Any]]:
    """Return the folder, the file and the settings of the configuration of a folder."""
    project: Path | None = None
    for folder in (start, *start.parents):
        for name, read in _READERS.items():
            if not (file := folder / name).is_file():
                continue
            if (table := read(file)) is not None:
                return folder, file, table
            if name == "pyproject.toml":
                project = project or folder
    setup = (folder for folder in (start, *start.parents) if (folder / "setup.py").is_file())
    return project or next(setup, start), None, {}


def _read_toml(file: Path) -> Mapping[str, Any]:
    return read_table(file, "pytest")


def _read_pyproject(file: Path) -> Mapping[str, Any] | None:
    names = ("tool", "pytest", "ini_options")
    table = read_table(file, *names[:2])
    return read_table(file, *names) if names[2] in table else table or None


def _read_ini(section: str, *, is_pytests: bool = False) -> Callable[[Path], Any]:
    def read(file: Path) -> Mapping[str, Any] | None:
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(file.read_text(encoding="utf-8-sig"), str(file))
        except ConfigError as error:
            raise AuthoringError("bad_body", str(error)) from error
        except UnicodeDecodeError as error:
            raise AuthoringError("bad_body", f"{file}: {error}. Save it as UTF-8.") from error
        return dict(parser[section]) if section in parser else {} if is_pytests else None

    return read


def _words(found: Any, where: str) -> Sequence[str]:
    """Return the words of a setting, a text or a list; `bad_body` for what is neither."""
    with suppress(ValueError):
        words = shlex.split(found) if isinstance(found, str) else found
        if is_texts(words):
            return words
    what = "is words, with each quote closed, or a list of texts."
    raise AuthoringError("bad_body", f"{where} {what}")


def is_texts(found: Any) -> TypeGuard[Sequence[str]]:
    """Return whether a value of a setting is a list of texts."""
    return isinstance(found, list) and all(isinstance(one, str) for one in cast("list[Any]", found))


def _is_on(value: Any) -> bool:
    return str(value).lower() in ("1", "yes", "true", "on")


def read_share(table: Mapping[str, Any], name: str, where: str = "") -> float:
    """Return a setting that is a share from 0 to 1, 0 if it is not set; `bad_body` for others."""
    try:
        share = float(table.get(name, 0))
    except (TypeError, ValueError):
        share = -1.0
    if is_share(share):
        return share
    raise AuthoringError("bad_body", f"{where}{name} is a share from 0 to 1, not {table[name]!r}.")


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
