"""What an agent's data is handed to once a run is under way: fields, and takers of events."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.agent_hints import field_hints
from repl_pair.runtime.agent_values import data_faults, given_faults
from repl_pair.runtime.model import Entry
from repl_pair.runtime.plan import Plan
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.shapes import class_of_value, is_map


def check_set(holder: Any, name: Any, value: Any) -> None:
    """Refuse to set what only code answers, or a secret; RequestError `cannot_run`."""
    if is_map(holder):
        return
    hint = field_hints(class_of_value(holder)).get(str(name), Any)
    if faults := data_faults(value, hint=hint, where=str(name)):
        raise RequestError("cannot_run", " ".join(faults))


def check_sent(plan: Plan, entries: Iterable[Entry]) -> None:
    """Refuse entries of agents' whose args go out as events that may not get them."""
    for entry in entries:
        args = getattr(entry.body, "args", {})
        if faults := sent_faults(plan, args, where=f"{entry.kind} {entry.id}: args"):
            raise RequestError("cannot_run", " ".join(faults))


def sent_faults(plan: Plan, given: Mapping[str, Any], *, where: str) -> list[str]:
    """Give what is wrong with args that go out as events, as of what takes each of them."""
    faults: list[str] = []
    for arg, event in plan.variant.args_to_events.items():
        taker = _taker(plan, event) if arg in given else None
        if taker is not None:
            faults += given_faults(taker, {arg: given[arg]}, where=where)
    return faults


def _taker(plan: Plan, event: str) -> Callable[..., Any] | None:
    entry = REGISTRY.find("handler", event)
    return getattr(plan.component, event, None) if entry is None else entry.body.component.resolve()
