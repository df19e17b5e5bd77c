"""The documentation of one story as Markdown, written from what is registered; nothing runs."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repl_pair.records import record
from repl_pair.runtime.authoring.args import freeze_by_hints
from repl_pair.runtime.authoring.shared import GLOBAL_DECORATORS
from repl_pair.runtime.planning.planner import global_args_of
from repl_pair.runtime.registry.extending import lay_over, reachable_chain
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry, Story, Use
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.tags import tags_of
from repl_pair.runtime.results.drift import is_current
from repl_pair.runtime.results.forms import in_modes
from repl_pair.runtime.results.last_results import last_verdict
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, section, table
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.modes import mode_args
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.signatures.schema import PARTIAL, parameters_schema
from repl_pair.runtime.store import STORE
from repl_pair.runtime.values.classes import is_map
from repl_pair.runtime.values.frozen import merge, sensitive_paths, to_plain
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.wire import REDACTED


@record
class Reader:
    """What a reader sees of entries: `find` gives one, or None, and `show` an id, or `hidden`."""

    find: Callable[[str, str], Entry | None]
    show: Callable[[str, str], str]


ALL = Reader(find=REGISTRY.find, show=lambda _kind, id: id)

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
    reader: Reader = ALL,
    left_out: int = 0,
) -> Markdown:
    """Write the documentation of a story with these of its variants; equal for equal registries.

    `left_out` counts the variants that are not among the given ones.
    """
    story: Story = entry.body
    uses = [*STORE.get(GLOBAL_DECORATORS.name), *story.decorators]
    variants = table(_VARIANT_HEAD, (_variant_row(id, reader) for id in variant_ids))
    tags = [(code(reader.show("tag", tag)), _doc(reader.find("tag", tag))) for tag in story.tags]
    more = f"{left_out} more variants are not shown." if left_out else ""
    parts = [
        f"# {NEEDLES.scrub(entry.id)[0]}",
        prose(story.doc),
        f"Component: {code(story.component.name)}",
        section("Args", table(("arg", "type", "default", "what it is"), _arg_rows(story))),
        section("Tags", table(("tag", "what it means"), tags)),
        section("Decorators", table(_DECORATOR_HEAD, (_decorator_row(u, reader) for u in uses))),
        section("Modes", table(_MODE_HEAD, (_mode_row(m, story, reader) for m in story.modes))),
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
    given = freeze_by_hints(component, merge(global_args_of(component), story.args))
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


def _decorator_row(use: Use, reader: Reader) -> Sequence[str]:
    id, args = use
    entry = reader.find("decorator", id)
    kind = "" if entry is None else str(entry.body.kind)
    shown = code(reader.show("decorator", id))
    return shown, cell(kind), _value(args) if args else "", _doc(entry)


def _mode_row(mode: str, story: Story, reader: Reader) -> Sequence[str]:
    entry = reader.find("mode", mode)
    if entry is None:
        return code(reader.show("mode", mode)), "", "", ""
    args = _value(freeze_by_hints(story.component.resolve(), mode_args(entry)))
    return code(mode), cell(entry.body.axis or ""), args, _doc(entry)


def _variant_row(id: str, reader: Reader) -> Sequence[str]:
    entry = reader.find("variant", id)
    if entry is None or reader.find("story", story_of(id)) is None:  # unregistered a moment ago
        return code(id), "", "", "", "", "", ""
    body = lay_over(reachable_chain(entry))
    return (
        code(id.partition("/")[2]),
        cell(body.doc.partition("\n\n")[0]),
        ", ".join(code(reader.show("tag", tag)) for tag in tags_of(entry)),
        code(reader.show("variant", body.extends)) if body.extends else "",
        ", ".join(code(play.name) for play in body.plays),
        cell(_status(last_verdict(id), reader)),
        code(f"repl_pair.run({id!r})"),
    )


def _status(record: RunRecord | None, reader: Reader) -> str:
    if record is None:
        return "not run"
    passed = sum(outcome.passed for outcome in record.assertions)
    verdict = f"{record.status}, {passed} of {record.total} assertions"
    stale = "" if is_current(record) else " (stale: changed since)"
    modes = [reader.show("mode", mode) for mode in record.active_modes]
    return f"{verdict}{in_modes(modes)}{stale}"


def _doc(entry: Entry | None) -> str:
    return "" if entry is None else cell(str(entry.body.doc).partition("\n\n")[0])
