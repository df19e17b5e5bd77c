"""The schemas of what the person wrote, fit to leave: their texts hold no known secret."""

from typing import Any, cast

from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.values.marks import is_secret_key

_VALUES = ("const", "default", "enum", "example", "examples")
"""The slots of a schema that hold values."""


def public_schema(schema: Any, *, secret: bool = False) -> Any:
    """Return a schema without secrets: a secret parameter keeps its type, not its values."""
    if isinstance(schema, str):
        return NEEDLES.scrub(schema)[0]
    if type(schema) in (int, float):
        text, found = NEEDLES.scrub(str(schema))
        return text if found else schema
    if isinstance(schema, list):
        return [public_schema(item, secret=secret) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    parts = cast("dict[str, Any]", schema)
    hidden = _VALUES if secret else ()
    public = {
        NEEDLES.scrub(key)[0]: public_schema(part, secret=secret)
        for key, part in parts.items()
        if key not in hidden
    }
    named = parts.get("properties")
    if isinstance(named, dict):
        public["properties"] = {
            NEEDLES.scrub(name)[0]: public_schema(part, secret=secret or is_secret_key(name))
            for name, part in cast("dict[str, Any]", named).items()
        }
    return public
