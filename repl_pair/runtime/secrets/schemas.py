"""The schemas of what the person wrote, fit to leave: their texts hold no known secret."""

from typing import Any, cast

from repl_pair.errors import RequestError
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.marks import is_secret_key

_VALUES = ("const", "default", "enum", "example", "examples")
"""The slots of a schema that hold values."""


def public_schema(schema: Any, *, secret: bool = False) -> Any:
    """Return a schema without secrets: a secret parameter keeps its type, not its values.

    RequestError `cannot_run` for one that is nested too deeply to be read.
    """
    try:
        return _public(schema, secret=secret)
    except RecursionError as error:
        raise RequestError("cannot_run", "The schema is nested too deeply to be read.") from error


def _public(schema: Any, *, secret: bool) -> Any:
    if isinstance(schema, str):
        return NEEDLES.scrub(schema)[0]
    if type(schema) in (int, float):
        text, found = NEEDLES.scrub(str(schema))
        return text if found else schema
    if isinstance(schema, list):
        return [_public(item, secret=secret) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    parts = cast("dict[str, Any]", schema)
    secret = secret or parts.get("writeOnly") is True
    hidden = _VALUES if secret else ()
    return {
        NEEDLES.scrub(key)[0]: (_public_slots if key == "properties" else _public)(
            part, secret=secret
        )
        for key, part in parts.items()
        if key not in hidden
    }


def _public_slots(slots: Any, *, secret: bool) -> Any:
    if not isinstance(slots, dict):
        return _public(slots, secret=secret)
    return {
        NEEDLES.scrub(name)[0]: _public(part, secret=secret or is_secret_key(name))
        for name, part in cast("dict[str, Any]", slots).items()
    }
