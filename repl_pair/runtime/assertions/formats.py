"""Formats of JSON Schema: the verdict on one does not depend on which packages are installed."""

import re
from datetime import date
from functools import partial
from typing import Any

from repl_pair.errors import RequestError

_DRAFT = re.compile(r"draft[-/]0?(\d+)")
_TIME = r"([01]\d|2[0-3])(:[0-5]\d){2}(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
_TIME_OF_DAY = re.compile(_TIME, re.ASCII | re.IGNORECASE)
_MOMENT = re.compile(rf"(\d{{4}}-\d\d-\d\d)T{_TIME}", re.ASCII | re.IGNORECASE)
_BY_PACKAGES = {
    "hostname": (4, "fqdn"),
    "idn-hostname": (7, "idna"),
    "uri": (3, "rfc3987"),
    "uri-reference": (6, "rfc3987"),
    "uri-template": (6, "uri-template"),
    "iri": (7, "rfc3987"),
    "iri-reference": (7, "rfc3987"),
    "json-pointer": (6, "jsonpointer"),
    "relative-json-pointer": (7, "jsonpointer"),
    "duration": (2019, "isoduration"),
}
"""Formats by the first draft that has them, and the package that jsonschema reads them with."""


def format_checker(jsonschema: Any, validator: Any) -> Any:
    """Return what checks the formats of a draft; `cannot_run` for one whose package is missing.

    The library alone lets every text pass there. A format that the draft lacks is an annotation.
    """
    made = jsonschema.FormatChecker(formats=())
    made.checkers = {**validator.FORMAT_CHECKER.checkers, "date-time": (_is_moment, ())}
    found = _DRAFT.search(str(validator.META_SCHEMA.get("$schema")))
    draft = int(found[1]) if found else 2020
    if draft >= 7:
        made.checkers["time"] = (_is_time, ())
    for name, (since, package) in _BY_PACKAGES.items():
        if draft >= since and name not in made.checkers:
            made.checkers[name] = (partial(_refuse, name, package), ())
    return made


def _is_moment(value: Any) -> bool:
    found = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    if not found:
        return not isinstance(value, str)
    try:
        return bool(date.fromisoformat(found[1]))
    except ValueError:
        return False


def _is_time(value: Any) -> bool:
    return not isinstance(value, str) or bool(_TIME_OF_DAY.fullmatch(value))


def _refuse(name: str, package: str, value: Any) -> bool:
    if isinstance(value, str):
        raise RequestError(
            "cannot_run",
            f"path_matches needs the package {package} in the kernel's environment for the format "
            f"{name!r}: pip install {package}",
        )
    return True
