"""The documentation of one story as Markdown, written from what is registered; nothing runs."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from repl_pair.runtime.authoring.args import freeze_by_hints
from repl_pair.runtime.authoring.shared import GLOBAL_ARGS, GLOBAL_DECORATORS
from repl_pair.runtime.registry.extending import lay_over, reachable_chain
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry, Story, Use
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.tags import tags_of
from repl_pair.runtime.results.forms import in_modes
from repl_pair.runtime.results.last_results import is_current, last_verdict
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, section, table
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.entries import mode_args
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.signatures.schema import PARTIAL, parameters_schema
from repl_pair.runtime.store import STORE
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.frozen import merge, sensitive_paths, to_plain
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.wire import REDACTED

FindEntry: TypeAlias = Callable[[str, str], Entry | None]
"""Returns the entry of a kind and id, None where the reader may see none."""

_SHORT = Limits(depth=4, width=12, text=160, nodes=60)
_HOW_TO_RUN = (
    "Over MCP: `run_variant(variant_id=…)`, with `modes=[…]` and `overrides={…}` where wanted; "
    "`read_failures(variant_id=…)` says what failed last."
)


def docs(story_id: str) -> Markdown:
    """Return the documentation of a story, which a notebook shows as Markdown; nothing runs.

    Known secrets stand as `[redacted]`, also here: what is shown is saved with the notebook.
    RequestError `not_found` for an unknown id.
    """
    entry = REGISTRY.get("story", story_id)
    return write_docs(entry, REGISTRY.ids("variant", f"{entry.id}/"))


def write_docs(
    entry: Entry,
    variant_ids: Sequence[str],
    *,
    find: FindEntry = REGISTRY.find,
    left_out: int = 0,
) -> Markdown:
    """Write the documentation of a story with these of its variants; equal for equal registries.

    `find` returns an entry that the story names if the reader may see it; `left_out` counts the
    variants that are not among the given ones.
    """
    story: Story = entry.body
    uses = [*STORE.get(GLOBAL_DECORATORS.name), *story.decorators]
    variants = table(_VARIANT_HEAD, (_variant_row(id, find) for id in variant_ids))
    tags = [(_named("tag", tag, find), _doc(find("tag", tag))) for tag in story.tags]
    more = f"{left_out} more variants are not shown." if left_out else ""
    parts = [
        f"# {NEEDLES.scrub(entry.id)[0]}",
        prose(story.doc),
        f"Component: {code(story.component.name)}",
        section("Args", table(("arg", "type", "default", "what it is"), _arg_rows(story))),
        section("Tags", table(("tag", "what it means"), tags)),
        section("Decorators", table(_DECORATOR_HEAD, (_decorator_row(u, find) for u in uses))),
        section("Modes", table(_MODE_HEAD, (_mode_row(m, story, find) for m in story.modes))),
        section("Variants", variants, more, variants and _HOW_TO_RUN),
    ]
    return Markdown("\n\n".join(part for part in parts if part) + "\n")


_VARIANT_HEAD = ("variant", "what it shows", "tags", "extends", "plays", "last status", "run it")
_DECORATOR_HEAD = ("decorator", "kind", "args", "what it does")
_MODE_HEAD = ("mode", "axis", "args", "what it is")


def _arg_rows(story: Story) -> Iterable[Sequence[str]]:
    component = story.component.resolve()
    schema = parameters_schema(component)
    named: Mapping[str, Any] = schema["properties"]
    global_args: Mapping[str, Any] = STORE.get(GLOBAL_ARGS.name)
    usual = {n: v for n, v in global_args.items() if n in named}
    given = freeze_by_hints(component, merge(usual, story.args))
    for name in [*named, *(n for n in given if n not in named)]:
        part: Mapping[str, Any] = named.get(name, {PARTIAL: True})
        hidden = bool(part.get("writeOnly")) or is_secret_key(name)
        needed = name in schema["required"]
        if name not in given and "default" not in part and (needed or not hidden):
            default = "required" if needed else "optional"
        else:
            default = code(REDACTED) if hidden else _value(given.get(name, part.get("default")))
        about = _about(name, part, story, hidden=hidden)
        yield code(name), cell(_type(part, hidden=hidden)), default, about
    if schema["additionalProperties"]:
        yield cell("any other"), "", "", cell("The component takes further args by name.")


def _value(frozen: Any) -> str:
    shown = send_out(to_plain(frozen), sensitive=sensitive_paths(frozen), limits=_SHORT).value
    return code(json.dumps(shown, ensure_ascii=False))


def _about(name: str, part: Mapping[str, Any], story: Story, *, hidden: bool) -> str:
    """Return the doc of an arg and the rest of its argtypes; without a doc that of its hint."""
    given: Any = to_plain(story.argtypes.get(name, {}))
    slots: dict[str, Any] = dict(given) if is_map(given) else {"doc": given}
    doc = str(slots.get("doc") or slots.get("description") or part.get("description", ""))
    rest = {slot: v for slot, v in slots.items() if slot not in ("doc", "description")}
    hints = [_value(rest)] if rest and not hidden else []
    return " ".join([*([cell(doc)] if doc else []), *hints])


def _type(part: Mapping[str, Any], *, hidden: bool = False) -> str:
    kind = str(part.get("type", "anything"))
    if hidden or part.get("writeOnly"):
        return f"{kind}, secret"
    if "enum" in part:
        return " or ".join(json.dumps(choice, ensure_ascii=False) for choice in part["enum"])
    if "items" in part:
        return f"array of {_type(part['items'])}"
    if part.get("properties"):
        return f"object of {', '.join(part['properties'])}"
    if isinstance(part.get("additionalProperties"), Mapping):
        return f"object with values of {_type(part['additionalProperties'])}"
    return f"{kind} ({part['format']})" if "format" in part else kind


def _decorator_row(use: Use, find: FindEntry) -> Sequence[str]:
    id, args = use
    entry = find("decorator", id)
    kind = "" if entry is None else str(entry.body.kind)
    return _named("decorator", id, find), cell(kind), _value(args) if args else "", _doc(entry)


def _mode_row(mode: str, story: Story, find: FindEntry) -> Sequence[str]:
    entry = find("mode", mode)
    if entry is None:
        return _named("mode", mode, find), "", "", ""
    args = _value(freeze_by_hints(story.component.resolve(), mode_args(entry)))
    return code(mode), cell(entry.body.axis or ""), args, _doc(entry)


def _variant_row(id: str, find: FindEntry) -> Sequence[str]:
    entry = find("variant", id)
    if entry is None or find("story", story_of(id)) is None:  # it was unregistered a moment ago
        return code(id), "", "", "", "", "", ""
    body = lay_over(reachable_chain(entry))
    return (
        code(id.partition("/")[2]),
        cell(body.doc.partition("\n\n")[0]),
        ", ".join(_named("tag", tag, find) for tag in tags_of(entry)),
        _named("variant", body.extends, find) if body.extends else "",
        ", ".join(code(play.name) for play in body.plays),
        cell(_status(last_verdict(id))),
        code(f"repl_pair.run({id!r})"),
    )


def _status(record: RunRecord | None) -> str:
    if record is None:
        return "not run"
    passed = sum(outcome.passed for outcome in record.assertions)
    verdict = f"{record.status}, {passed} of {record.total} assertions"
    stale = "" if is_current(record) else " (stale: changed since)"
    return f"{verdict}{in_modes(record.active_modes)}{stale}"


def _named(kind: str, id: str, find: FindEntry) -> str:
    """Return an id, or `hidden` for an entry that the reader may not see."""
    entry = REGISTRY.find(kind, id)
    is_known = entry is not None and entry.origin.key != "builtin"
    return code("hidden" if is_known and find(kind, id) is None else id)


def _doc(entry: Entry | None) -> str:
    return "" if entry is None else cell(str(entry.body.doc).partition("\n\n")[0])
