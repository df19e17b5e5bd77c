"""Registered bodies as JSON data: the keyword arguments that register them again."""

from typing import Any, cast

from repl_pair.records import defaults_of, to_dict
from repl_pair.runtime.registry.model import Component
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.data import to_json_data, without_secrets
from repl_pair.wire import Json


def to_data(kind: str, id: str) -> dict[str, Json]:
    """Return a registered body as JSON data, its empty slots left out.

    The slots are the keyword arguments of `repl_pair.variant` and similar, sorted by name, so that
    `json.dumps` gives the same text in every process. A value that JSON cannot hold becomes a
    marker, a secret `[redacted]`. RequestError `not_found` for an unknown id.
    """
    return cast("Any", without_secrets(body_data(REGISTRY.get(kind, id).body)))


def body_data(body: Any) -> dict[str, Any]:
    """Return a body as JSON data, slots of default values left out; secrets stay `Secret`s."""
    usual = defaults_of(body)
    slots = sorted(to_dict(body).items())
    return {
        name: _slot(name, value)
        for name, value in slots
        if (value or value is False) and value != usual.get(name)
    }


def _slot(name: str, value: Any) -> Any:
    if name == "plays":
        return [
            {"auto_run": p.auto_run, "name": p.name, "steps": to_json_data(list(p.steps))}
            for p in value
        ]
    if name == "args_to_events":  # its order is the order of the events
        return [[arg, event] for arg, event in value.items()]
    if isinstance(value, Component):
        return {"$type": "component", "name": value.name}
    if isinstance(value, tuple):
        return to_json_data(list(cast("tuple[Any, ...]", value)))
    return to_json_data(value)
