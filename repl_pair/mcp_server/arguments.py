"""Arguments against the listed schema: what is wrong, what is legal, how to mend the call."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from repl_pair.errors import did_you_mean, nearest

SHOWN_FAULTS = 5
SHOWN_CHARS = 80
_ARTICLES = {"array": "an array", "integer": "an integer", "object": "an object"}


class Fault(Protocol):
    """What jsonschema says of one fault."""

    validator: str
    validator_value: Any
    instance: Any
    message: str

    @property
    def absolute_path(self) -> Iterable[str | int]:
        """Where it stands in the arguments."""
        ...


@cache
def load_validator() -> Any:
    """Import the validator; safe on any thread."""
    # Inside the function because it takes 60 ms, and near a second beside JupyterLab, whose extras
    # make it build a grammar; the first list of tools does not wait for that.
    import jsonschema

    return jsonschema.Draft202012Validator


def need_no_validator(schema: Mapping[str, Any], args: Mapping[str, Any]) -> bool:
    """Say whether the arguments are legal at a glance: nothing given, nothing required."""
    return not args and not schema.get("required")


def refuse_arguments(name: str, schema: Mapping[str, Any], args: Mapping[str, Any]) -> str | None:
    """Give the text that refuses a call of the tool `name`; None where the arguments are legal."""
    faults: list[Fault] = list(load_validator()(schema).iter_errors(args))
    if not faults:
        return None
    said = list(dict.fromkeys(line for fault in faults for line in _say(fault, schema)))
    more = len(said) - SHOWN_FAULTS
    return "\n".join(
        (
            f"{name} was not called: its arguments are not legal.",
            *said[:SHOWN_FAULTS],
            *((f"And {more} more.",) if more > 0 else ()),
            f"Call: {say_call(name, _mend(schema, args))}",
        )
    )


def say_call(name: str, args: Mapping[str, Any]) -> str:
    """Write a call as text, as next steps have it; values are JSON."""
    said = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in args.items())
    return f"{name}({', '.join(said)})"


def _say(fault: Fault, schema: Mapping[str, Any]) -> list[str]:
    where = ".".join(map(str, fault.absolute_path))
    match fault.validator:
        case "required":
            lacking = [key for key in fault.validator_value if key not in fault.instance]
            return [
                f"{_join(where, key)} is missing{_legal(schema, where, key)}." for key in lacking
            ]
        case "additionalProperties" if not where:
            known = list(schema["properties"])
            return [_say_unknown(key, known) for key in fault.instance if key not in known]
        case "type":
            return [
                f"{where} must be {_article(fault.validator_value)}, not {_cut(fault.instance)}."
            ]
        case "enum":
            legal = ", ".join(map(json.dumps, fault.validator_value))
            near = did_you_mean(str(fault.instance), map(str, fault.validator_value))
            return [f"{where} must be one of {legal}, not {_cut(fault.instance)}.{near}"]
        case _:
            return [f"{where or 'The arguments'}: {fault.message[: SHOWN_CHARS * 2]}."]


def _say_unknown(key: str, known: list[str]) -> str:
    return f"There is no argument {_cut(key)}.{did_you_mean(key, known)} Legal: {', '.join(known)}."


def _legal(schema: Mapping[str, Any], where: str, key: str) -> str:
    part: Mapping[str, Any] = {} if where else schema["properties"][key]
    kind = f": {_article(part['type'])}" if "type" in part else ""
    return f"{kind} ({part['description']})" if "description" in part else kind


def _article(kind: str) -> str:
    return _ARTICLES.get(kind, f"a {kind}")


def _cut(value: Any) -> str:
    said = json.dumps(value, ensure_ascii=False)
    return said if len(said) <= SHOWN_CHARS else said[:SHOWN_CHARS] + "…"


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _mend(schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Give the nearest legal arguments; `<type>` stands where only the caller knows."""
    properties: Mapping[str, Any] = schema["properties"]
    mended: dict[str, Any] = {}
    for key, value in args.items():
        free = [name for name in properties if name not in args]
        name = key if key in properties else next(iter(nearest(key, free, limit=1)), None)
        if name is not None:
            mended[name] = _mend_value(properties[name], value)
    for name in schema.get("required", ()):
        mended.setdefault(name, _placeholder(properties[name]))
    return mended


def _mend_value(part: Mapping[str, Any], value: Any) -> Any:
    is_legal = load_validator()(part).is_valid
    if is_legal(value):
        return value
    try:
        meant = json.loads(value) if isinstance(value, str) else [value]
    except ValueError:
        meant = [value]
    return meant if is_legal(meant) else _placeholder(part)


def _placeholder(part: Mapping[str, Any]) -> Any:
    return part["enum"][0] if "enum" in part else f"<{part.get('type', 'value')}>"
