"""Which events of a run an agent wrote, and which methods the lines of an agent's reach."""

from collections.abc import Callable
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.model import Decorator, Entry, Event
from repl_pair.runtime.origin import is_agents
from repl_pair.runtime.plan import Plan
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.shapes import class_of_value


def is_from_agent(plan: Plan, event: Event) -> bool:
    """Tell whether an event of a plan is an agent's, or was meant for another component."""
    entries = [entry for entry in plan.reached.values() if entry is not None]
    if not any(is_agents(entry.origin) for entry in entries):
        return False
    return not any(_is_persons(plan, entry) and _sends(entry, event) for entry in entries)


def method_for_agent(plan: Plan, live: Any, name: str) -> Callable[..., Any]:
    """Give a method that the lines of an agent's may call; RequestError for any other."""
    # Only what agents wrote pays for this room.
    from repl_pair.runtime.agent_lines import own_methods

    component: Any = plan.component
    story = plan.reached.get(("story", story_of(plan.variant_id)))
    known = own_methods(component, None if story is None else story.origin)
    if name in known and issubclass(class_of_value(live), component):
        return getattr(live, name)
    raise RequestError(
        "cannot_run",
        f"{name!r} is none of the public methods that the story's own class defines "
        f"({', '.join(known) or 'there is none'}): what an agent writes calls no other.",
    )


def _is_persons(plan: Plan, entry: Entry) -> bool:
    """Tell whether the person wrote an entry, a variant for the component that runs."""
    if is_agents(entry.origin) or entry.kind != "variant":
        return not is_agents(entry.origin)
    story = REGISTRY.find("story", story_of(entry.id))
    return story is not None and story.body.component == plan.story.component


def _sends(entry: Entry, event: Event) -> bool:
    body = entry.body
    if entry.kind == "variant":
        sent = [*body.events, *body.loaders_teardown]
        arg = next(iter(event[1]), "") if len(event[1]) == 1 else ""
        return _is_among(event, sent) or body.args_to_events.get(arg) == event[0]
    return isinstance(body, Decorator) and _is_among(event, [*body.init, *body.teardown])


def _is_among(event: Event, sent: list[Event]) -> bool:
    return any(event is one for one in sent)
