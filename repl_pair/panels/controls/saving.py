"""Edits to keep: as code that runs them again, and as a variant."""

from repl_pair.errors import AuthoringError
from repl_pair.panels.base.context import Focus
from repl_pair.panels.controls.messages import Code
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.authoring.stories import variant
from repl_pair.runtime.planning.plan import SUBSTRATE
from repl_pair.runtime.planning.planner import freeze_overrides, story_behind
from repl_pair.runtime.registry.extending import lay_over, reachable_chain
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Origin
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.values.leaves import quoted
from repl_pair.runtime.values.python_text import Writer, call_text

_ORIGIN = Origin(key="panel:controls", label="the panel Controls", line=0)


def write_run(focus: Focus) -> Code:
    """Write the call that runs the focus; secrets stand as names to be filled in."""
    assert focus.variant is not None
    writer = Writer()
    parts = [quoted(focus.variant)]
    if focus.modes:
        parts.append(f"modes=[{', '.join(map(quoted, focus.modes))}]")
    if focus.overrides:
        entry = REGISTRY.get("variant", focus.variant)
        component = story_behind(entry).body.component.resolve()
        to_events = lay_over(reachable_chain(entry)).args_to_events
        frozen = freeze_overrides(component, focus.overrides, to_events)
        parts.append(f"overrides={writer.value(dict(frozen), 'overrides')}")
    if focus.substrate != SUBSTRATE:
        parts.append(f"substrate={quoted(focus.substrate)}")
    lines = [*sorted(writer.imports), call_text("repl_pair.run", parts)]
    return {"text": "\n".join(lines), "odd": list(writer.odd)}


def save_variant(focus: Focus, name: str) -> str:
    """Register a variant that extends the one in focus, with the edits as its args; return its id.

    AuthoringError `bad_id` for a name that is taken or is no name.
    """
    assert focus.variant is not None
    base = REGISTRY.get("variant", focus.variant)
    id = name if "/" in name else f"{story_of(focus.variant)}/{name}"
    if REGISTRY.find("variant", id) is not None:
        raise AuthoringError("bad_id", f"There is a variant {id!r} already: choose another name.")
    if story_of(id) != story_of(focus.variant):
        raise AuthoringError("bad_id", f"It is a variant of {story_of(focus.variant)!r}: name it.")
    with entering_from(_ORIGIN):
        return str(variant(id, extends=base.id, args=focus.overrides, tier=base.tier))
