"""Edits as something to keep: the code that runs them again, and a variant of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import AuthoringError
from repl_pair.panels.base.context import Focus
from repl_pair.records import record
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


@record
class Code:
    """Python that runs what is looked at; `odd` names what has to be filled in first."""

    text: str
    odd: Sequence[str] = ()


def write_run(focus: Focus) -> Code:
    """Write the call that runs what is looked at; secrets stand as names to be filled in."""
    assert focus.variant is not None
    writer = Writer()
    parts = [quoted(focus.variant)]
    parts += [f"modes={_words(focus.modes)}"] if focus.modes else []
    if focus.overrides:
        frozen = freeze_overrides(*_target(focus.variant, focus.overrides))
        parts.append(f"overrides={writer.value(dict(frozen), 'overrides')}")
    if focus.substrate != SUBSTRATE:
        parts.append(f"substrate={quoted(focus.substrate)}")
    lines = [*sorted(writer.imports), call_text("repl_pair.run", parts)]
    return Code(text="\n".join(lines), odd=tuple(writer.odd))


def save_variant(focus: Focus, name: str) -> str:
    """Register a variant that extends the one looked at, with the edits as its args; gives its id.

    AuthoringError `bad_id` for a name that is taken or no name.
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


def without_overrides(focus: Focus, variant_id: str) -> Focus:
    """Look at a variant as it is registered, with the modes and the rendering that stood."""
    return replace(focus, variant=variant_id, overrides={}, moment=None)


def _target(variant_id: str, overrides: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any], Any]:
    entry = REGISTRY.get("variant", variant_id)
    component = story_behind(entry).body.component.resolve()
    return component, overrides, lay_over(reachable_chain(entry)).args_to_events


def _words(words: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, words))}]"
