"""How the slots of an agent's body are checked: what they name exists, what they hold is data."""

from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.runtime.agent_lines import (
    check_events,
    check_path,
    check_play,
    check_plays,
    check_uses,
)
from repl_pair.runtime.agent_overrides import override_fault
from repl_pair.runtime.agent_reading import Reading, check_ids, rows_of
from repl_pair.runtime.agent_values import data_faults, given_faults, sent_secrets
from repl_pair.runtime.component_args import freeze_args
from repl_pair.runtime.extending import chain_of, lay_over
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.model import Story, Variant
from repl_pair.runtime.plain import merge, sensitive_paths
from repl_pair.runtime.play_lines import read_arg_events
from repl_pair.runtime.shapes import is_map, is_row


def check_slot(reading: Reading, name: str, value: Any) -> None:
    """Note what is wrong with one slot; what names nothing holds plain data."""
    _CHECKS.get(name, _check_data)(reading, name, value)


def check_args(reading: Reading, story: Story, body: Mapping[str, Any], where: str) -> None:
    """Note args of a body that are secrets, code, unknown, or refused by the story as a whole."""
    component = story.component.resolve()
    reading.blame(override_fault(reading.story_id, story, body))
    _check_foreign_secrets(reading, story, body)
    chained = _chained(reading, body)
    base = merge(story.args, chained.args)
    own = _sent(reading, body.get("args_to_events"))
    reading.blame(*sent_secrets(component, own, base))
    args: Any = body.get("args") or {}
    reading.blame(*given_faults(component, args, where="args", base=base))
    sent: dict[str, str] = {**chained.args_to_events, **own}
    for name, value in args.items():
        one = {name: value}
        reading.read(
            lambda one=one: freeze_args(where, component, one, dispatched=sent, pinned=False)
        )


def _chained(reading: Reading, body: Mapping[str, Any]) -> Variant:
    """Give all that a body extends as one."""
    parent: Any = body.get("extends")
    entry = reading.find("variant", parent) if isinstance(parent, str) else None
    return lay_over(chain_of(entry)) if entry else Variant()


def _check_foreign_secrets(reading: Reading, story: Story, body: Mapping[str, Any]) -> None:
    """Note a parent whose secret args would go to another component than the person meant."""
    chained = _chained(reading, body)
    sent = (chained.args, [*chained.events, *chained.loaders_teardown])
    if not any(map(sensitive_paths, sent)):
        return
    parent: str = body["extends"]
    theirs = reading.find("story", story_of(parent))
    if theirs is None or theirs.body.component != story.component:
        reading.blame(f"extends: {parent!r} holds a secret for the component of another story.")


def _ids_of(kind: str, *, removable: bool = False) -> Callable[[Reading, str, Any], None]:
    def check(reading: Reading, slot: str, value: Any) -> None:
        ids = value if is_row(value) else [value]
        check_ids(reading, kind, slot, ids, removable=removable)

    return check


def _check_condition(reading: Reading, slot: str, value: Any) -> None:
    if isinstance(value, str):
        reading.entry("derived", value, slot)
    elif odd := [name for name in value if not isinstance(name, str) or "." in name]:
        reading.blame(f"{slot}: {odd[0]!r:.60} is no effect.")


def _check_sent_args(reading: Reading, slot: str, value: Any) -> None:
    check_events(reading, slot, list(_sent(reading, value).values()))


def _sent(reading: Reading, given: Any) -> Mapping[str, str]:
    """Give which args go out as events; note what does not say that."""
    return reading.read(lambda: read_arg_events("args_to_events", given or {})) or {}


def _check_content(reading: Reading, slot: str, blocks: Any) -> None:
    rows = rows_of(reading, slot, blocks)
    named = [b["variant"] for b in rows if is_map(b) and "variant" in b]
    check_ids(reading, "variant", slot, named)


def _check_patch(reading: Reading, slot: str, patch: Any) -> None:
    for path, value in patch.items():
        check_path(reading, slot, path)
        reading.blame(*data_faults(value, where=f"{slot} {path}"))


def _check_data(reading: Reading, slot: str, value: Any) -> None:
    reading.blame(*data_faults(value, where=slot))


_CHECKS: Mapping[str, Callable[[Reading, str, Any], None]] = {
    "args_to_events": _check_sent_args,
    "component_of": _ids_of("story"),
    "content": _check_content,
    "decorators": check_uses,
    "events": check_events,
    "extends": _ids_of("variant"),
    "init": check_events,
    "loaders": _ids_of("loader"),
    "loaders_complete_when": _check_condition,
    "loaders_teardown": check_events,
    "modes": _ids_of("mode"),
    "patch": _check_patch,
    "play": check_play,
    "plays": check_plays,
    "render": _ids_of("panel"),
    "story": _ids_of("story"),
    "tags": _ids_of("tag", removable=True),
    "teardown": check_events,
    "variants": _ids_of("variant"),
}
"""How the slots that name something are checked; all others hold plain data."""
