"""The files of a realm: read with their faults named, and written whole."""

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

from repl_pair.errors import RequestError
from repl_pair.runtime.project.whole_files import write_whole
from repl_pair.runtime.realm.model import ImportStatus, Role

MAX_BYTES = 1_000_000
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
REALM_FILE = "realm.json"
_DEVICE = r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z)"
"""What is a device on Windows, whatever its suffix."""
NAME = re.compile(rf"(?!{_DEVICE})(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.-]{{0,63}}(?<!\.)")
"""What is safe as the name of a file, on every system and in a branch of git."""

Shape: TypeAlias = Any
"""A type, the words that a text may be, a map of slots to shapes, or a list of one shape."""
REALM: Shape = {"name": str, "repos": dict}
HOME: Shape = {"realm": str, "repo": str}
CONTRACT: Shape = {
    "owner": str,
    "version": str,
    "schema": dict,
    "schema_hash": str,
    "compatibility": {"backwards": bool, "forwards": bool},
    "value": object,
    "validation": dict,
    "evolution": [{"version": str, "changes": str, "compatible": bool}],
}
BINDING: Shape = {
    "role": get_args(Role),
    "exports": [str],
    "imports": [
        {
            "contract": str,
            "requirement": str,
            "status": get_args(ImportStatus),
            "resolved_version": str | None,
        }
    ],
}
_WORDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}


def check_name(name: str, what: str) -> str:
    """Return a name that is safe as that of a file; `bad_arguments` for another."""
    if NAME.fullmatch(name):
        return name
    raise RequestError(
        "bad_arguments",
        f"{name!r} is not a name for {what}: letters, digits, -, _, dots, at most 64, a letter, a "
        "digit or _ first, and no name of a device, such as con.",
    )


def read_file(path: str | Path, shape: Shape) -> Any:
    """Read a file of a shape; RequestError `cannot_run` names the file and the place in it."""
    data = read_json(path)
    if fault := _find_fault(data, shape):
        raise bad_file(path, fault.removeprefix(".") if fault[0] != " " else f"it{fault}")
    return data


def read_json(path: str | Path) -> Any:
    """Read a file of JSON, of at most MAX_BYTES; RequestError `cannot_run` as of `read_file`."""
    try:
        file = os.open(path, _READ)
        try:
            content = os.read(file, _size_of(path, file))
        finally:
            os.close(file)
        return _DECODER.decode(content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        why = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise bad_file(path, why) from error
    except UnicodeDecodeError as error:
        raise bad_file(path, f"byte {error.start} is not UTF-8") from error
    except RecursionError as error:
        raise bad_file(path, "it is nested too deeply") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise bad_file(path, f"it cannot be read ({why})") from error


def _size_of(path: str | Path, file: int) -> int:
    found = os.fstat(file)
    size = found.st_size
    if not stat.S_ISREG(found.st_mode):
        raise bad_file(path, "it is not a plain file")
    if size > MAX_BYTES:
        raise bad_file(path, f"it has more than {MAX_BYTES:,} bytes")
    return size


def write_file(path: Path, data: Mapping[str, Any]) -> None:
    """Write a file whole, its keys sorted, so that git merges it; `bad_arguments` for no JSON."""
    try:
        text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        content = f"{text}\n".encode()
    except ValueError as error:
        raise RequestError("bad_arguments", f"This is not JSON: {error}.") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)


def _find_fault(value: Any, shape: Any) -> str:
    """Return where a value is not of a shape and why, empty where it is; unknown slots may stand.

    What is asked of most slots needs no call: a realm has thousands of them.
    """
    kind: Any = shape.__class__
    if kind is dict:
        if type(value) is not dict:
            return " is not an object"
        slots = cast("dict[str, Any]", value)
        for name, part in shape.items():
            if name not in slots:
                return f".{name} is missing"
            if type(slots[name]) is not part and (fault := _find_fault(slots[name], part)):
                return f".{name}{fault}"
        return ""
    if kind is list:
        if type(value) is not list:
            return " is not a list"
        for n, item in enumerate(cast("list[Any]", value)):
            if type(item) is not shape[0] and (fault := _find_fault(item, shape[0])):
                return f"[{n}]{fault}"
        return ""
    if kind is tuple:
        return "" if value in shape else f" is not one of {', '.join(shape)}"
    return "" if isinstance(value, shape) else f" is not {_WORDS.get(shape, 'a text or null')}"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _make_object(slots: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(slots)
    if len(found) < len(slots):
        ((twice, _),) = Counter(name for name, _ in slots).most_common(1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_make_object)


def bad_file(path: str | Path, why: str) -> RequestError:
    """Return the refusal for a file that is not as it has to be."""
    return RequestError("cannot_run", f"{path}: {why}.", detail={"why": f"{why}."})
