"""What a notebook shows of the registries: all at a glance, one story, or one variant's run."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.outcomes import Outcome
from repl_pair.runtime.registry.registry import EMPTY, REGISTRY
from repl_pair.runtime.registry.visible import variants_of
from repl_pair.runtime.results.docs import docs
from repl_pair.runtime.results.last import is_stale, last_result
from repl_pair.runtime.results.links import Link, ReadLink, parse_share_url
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, table
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.running.runner import run
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.truncate import Limits

_SHORT = Limits(depth=3, width=8, text=120, nodes=40)


def show(
    id: str | None = None,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Markdown:
    """Show every story with its last statuses; by id a story's docs, a variant or a workspace.

    A variant is run, its outputs are displayed, and its assertions are told; the URL of a shared
    one opens it as it was shared. Known secrets stand as `[redacted]`: what is shown is saved with
    the notebook. Equal registries and results give equal text. RequestError `not_found` for an
    unknown id.
    """
    said = say(id, modes=modes, overrides=overrides)
    _display(said.outputs)
    return said.text


@record
class Said:
    """What there is to show as text, with the outputs of a run, and what it is about."""

    text: Markdown
    about: Link
    outputs: Sequence[Mapping[str, Any]] = ()


def say(
    id: str | None = None,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Said:
    """Return what `show` shows, and show nothing; a variant is run."""
    if id is None:
        return Said(text=Markdown(_all_stories() or prose(EMPTY)), about=Link())
    if "?" in id:
        return _open(parse_share_url(id))
    if "/" not in id:
        return Said(text=docs(id), about=Link())
    if REGISTRY.find("variant", id) is None and REGISTRY.find("workspace", id) is not None:
        return _workspace(Link(workspace=id))
    return _run(Link(variant=id, modes=tuple(modes), overrides=overrides or {}))


def _open(read: ReadLink) -> Said:
    """Run what a URL says, as far as it could be read, and tell what was dropped of it."""
    link = read.link
    if link.variant is None and link.workspace is None:
        raise RequestError("bad_arguments", "It names no variant and no workspace.")
    said = _workspace(link) if link.variant is None else _run(link)
    lines = [f"Dropped from the URL: {one.part}: {one.why}." for one in read.dropped]
    if link.workspace and link.variant:
        lines.append(f"Not shown here: workspace {link.workspace}: text holds the variant alone.")
    if link.tag_filter:
        tags = ", ".join(link.tag_filter)
        lines.append(f"Not shown here: tag_filter {tags}: text lists nothing that it would narrow.")
    told = docs(story_of(link.variant)) if link.variant and link.tab == "docs" else ""
    parts = (prose("\n".join(lines)), said.text, told)
    return replace(said, text=Markdown("\n\n".join(part for part in parts if part)))


def _run(link: Link) -> Said:
    assert link.variant is not None
    record = run(
        link.variant, modes=link.modes, overrides=link.overrides or None, substrate=link.substrate
    )
    return Said(text=_told(record), about=link, outputs=record.outputs)


def _workspace(link: Link) -> Said:
    """Tell what a workspace holds, and how each last ended; runs nothing."""
    entry = REGISTRY.get("workspace", str(link.workspace))
    rows = [(code(id), cell(_last_status(id))) for id in variants_of(entry.body)]
    parts = (code(entry.id), prose(entry.body.doc), table(("variant", "last"), rows))
    return Said(text=Markdown("\n\n".join(part for part in parts if part)), about=link)


def _all_stories() -> str:
    entries = REGISTRY.snapshot("story").values()
    rows = [_story_row(entry) for entry in sorted(entries, key=lambda entry: entry.id)]
    return table(("story", "", "variants", "last"), rows)


def _story_row(entry: Entry) -> Sequence[str]:
    ids = REGISTRY.ids("variant", f"{entry.id}/")
    counts = Counter(map(_last_status, ids))
    last = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    summary = entry.body.doc.partition("\n")[0]
    return code(entry.id), cell(summary), str(len(ids)), cell(last)


def _last_status(variant_id: str) -> str:
    record = last_result(variant_id)
    if record is None:
        return "not run"
    return f"{record.status} (stale)" if is_stale(record) else record.status


def _told(record: RunRecord) -> Markdown:
    head = f"{code(record.variant_id)} **{record.status}**, {record.total} assertions"
    reason = prose(record.reason) if record.reason else ""
    lines = [_row(record, n, outcome) for n, outcome in enumerate(record.assertions)]
    rows = table(("", "assertion", "expected", "actual"), lines)
    return Markdown("\n\n".join(part for part in (head, reason, rows) if part))


def _row(record: RunRecord, index: int, outcome: Outcome) -> Sequence[str]:
    payload = outcome.payload[:1]
    secret = [path[2:] for path in record.sensitive if path[:2] == ("assertions", str(index))]
    seen = {"expected": outcome.expected, "actual": outcome.actual}
    out = send_out(seen, sensitive=secret, limits=_SHORT, request=record.asked)
    shown: Any = out.value
    return (
        "pass" if outcome.passed else "FAIL",
        code(" ".join([outcome.assertion, *(word for word in payload if isinstance(word, str))])),
        cell(_text(shown["expected"])),
        cell(_text(shown["actual"])),
    )


def _text(shown: Any) -> str:
    return shown if isinstance(shown, str) else repr(shown)


def _display(outputs: Iterable[Mapping[str, Any]]) -> None:
    shell: Any = sys.modules.get("IPython")
    if shell is None or shell.get_ipython() is None:
        return
    for bundle in outputs:
        shell.display.display(dict(bundle), raw=True)
