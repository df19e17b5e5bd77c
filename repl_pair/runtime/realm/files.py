"""The files of a realm: read with their faults named, and written whole."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from repl_pair.errors import RequestError
from repl_pair.runtime.project.whole_files import write_whole
from repl_pair.runtime.realm.model import ImportStatus, Role

MOST_BYTES = 1_000_000
REALM_FILE = "realm.json"
NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(?<!\.)")
"""What is safe as the name of a file, on every system and in a branch of git."""

Shape = Any
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
        f"{name!r} is no name for {what}: letters, digits, -, _ and dots, at most 64, a letter, a "
        "digit or _ first.",
    )


def read_file(path: Path, shape: Shape) -> Any:
    """Read a file of a shape; RequestError `cannot_run` names the file and the place in it."""
    data = read_json(path)
    if fault := find_fault(data, shape):
        raise bad_file(path, fault)
    return data


def read_json(path: Path) -> Any:
    """Read a file of JSON, of at most MOST_BYTES; RequestError `cannot_run` as of `read_file`."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise bad_file(path, f"it has more than {MOST_BYTES:,} bytes")
        return _DECODER.decode(content.decode())
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


def write_file(path: Path, data: Mapping[str, Any]) -> None:
    """Write a file whole, its keys sorted, so that git merges it."""
    try:
        text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        content = f"{text}\n".encode()
    except ValueError as error:
        raise RequestError("bad_arguments", f"This is no JSON: {error}.") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)


def find_fault(value: Any, shape: Shape, at: str = "") -> str:
    """Return what in a value is not of a shape, empty where all is; unknown slots may stand."""
    if type(shape) is dict:
        if type(value) is not dict:
            return f"{at or 'it'} is not an object"
        slots = cast("dict[str, Any]", value)
        for name, part in cast("dict[str, Shape]", shape).items():
            if name not in slots:
                return f"{at}{name} is missing"
            # What is asked of most slots needs no call.
            if type(slots[name]) is not part and (
                fault := find_fault(slots[name], part, f"{at}{name}.")
            ):
                return fault
        return ""
    at = at.removesuffix(".")
    if type(shape) is list:
        if type(value) is not list:
            return f"{at} is not a list"
        items = enumerate(cast("list[Any]", value))
        faults = (find_fault(item, shape[0], f"{at}[{n}].") for n, item in items)
        return next(filter(None, faults), "")
    if type(shape) is tuple:
        words = cast("tuple[str, ...]", shape)
        return "" if value in words else f"{at} is none of {', '.join(words)}"
    return "" if isinstance(value, shape) else f"{at} is not {_WORDS.get(shape, 'a text or null')}"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def bad_file(path: Path, why: str) -> RequestError:
    """Return the refusal for a file that is not as it has to be."""
    return RequestError("cannot_run", f"{path}: {why}.", detail={"why": f"{why}."})
