"""What agents hand to a component, which its story may refuse: `agent_overrides=False`."""

from collections.abc import Iterable
from typing import Any

from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Play, Story
from repl_pair.runtime.values.classes import is_map, is_row

_VALUES = ("args", "args_to_events", "patch", "responses")
_CALLS = ("events", "init", "teardown", "loaders_teardown", "decorators")
REMEDY = (
    "Leave them out: extend a variant of this story, activate its modes, dispatch events without "
    "a payload, assert; what else it is to be given the person registers"
)


def override_fault(story_id: str, story: Story, body: Any) -> str:
    """Return what a body of an agent's hands to a component whose story refuses that; else nothing.

    The body may be one as it is given, or as it is registered.
    """
    if story.agent_overrides:
        return ""
    found = [slot for slot in _VALUES if _slot(body, slot)]
    found += [slot for slot in _CALLS if any(map(_gives, _rows(_slot(body, slot))))]
    lines = [line for line in _lines(body) if is_row(line) and line and _hands(line)]
    found += dict.fromkeys(f"step {line[0]!r:.40}" for line in lines)
    parent = _slot(body, "extends")
    if isinstance(parent, str) and parent and story_of(parent) != story_id:
        found.append(f"extends {parent!r}")
    return _refusal(story_id, found) if found else ""


def refused_overrides(story_id: str, names: Iterable[str]) -> str:
    """Report that a story takes none of the args that a caller gives."""
    return _refusal(story_id, [f"overrides of {name!r}" for name in names])


def _refusal(story_id: str, found: list[str]) -> str:
    return (
        f"{', '.join(found)}: story {story_id!r} is registered with agent_overrides=False: it "
        f"takes no data from agents. {REMEDY}."
    )


def _slot(body: Any, name: str) -> Any:
    return body.get(name) if is_map(body) else getattr(body, name, None)


def _rows(value: Any) -> Iterable[Any]:
    return value if is_row(value) else ()


def _gives(call: Any) -> bool:
    return is_row(call) and len(call) > 1 and bool(call[1])


def _hands(line: Any) -> bool:
    """Return whether a line of a play comes with data; what assertions compare with is none."""
    if line[0] == "dispatch":
        return any(map(_gives, line[1:]))
    return line[0] == "set" or (line[0] == "call" and _gives(line[1:]))


def _lines(body: Any) -> Iterable[Any]:
    """Return the lines of all plays, however they are written."""
    yield from _rows(_slot(body, "play"))
    plays = _slot(body, "plays")
    for play in plays.values() if is_map(plays) else _rows(plays):
        steps = play.steps if isinstance(play, Play) else play
        yield from _rows(steps.get("steps") if is_map(steps) else steps)
