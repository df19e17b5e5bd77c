"""The registries as text for a notebook: all stories, one story, a workspace, or a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.panels.base.describing import Hide, hide_of
from repl_pair.records import record
from repl_pair.runtime.registry.ids import check_text, story_of
from repl_pair.runtime.registry.outcomes import Outcome
from repl_pair.runtime.registry.registry import EMPTY, REGISTRY
from repl_pair.runtime.registry.visible import variants_of
from repl_pair.runtime.results.docs import docs
from repl_pair.runtime.results.drift import is_current
from repl_pair.runtime.results.last_results import last_verdict
from repl_pair.runtime.results.links import Link, ReadLink, parse_share_url
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, table
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.running.runner import run
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.values.paths import below

_SHORT = Limits(depth=3, width=8, text=120, nodes=40)


@record
class ShownText:
    """A text to show, what it is about, and the outputs of the run, if one was made."""

    text: Markdown
    about: Link
    outputs: Sequence[Mapping[str, Any]] = ()


def build_text(
    id: str | None = None,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> ShownText:
    """Return what `show` shows, and show nothing; a variant is run."""
    if id is None:
        return ShownText(text=Markdown(stories_text()), about=Link())
    check_text("show takes the id of a story, variant or workspace", id)
    if "?" in id:
        return _shared(parse_share_url(id))
    if "/" not in id:
        return ShownText(text=docs(id), about=Link())
    if REGISTRY.find("variant", id) is None and REGISTRY.find("workspace", id) is not None:
        return _workspace(Link(workspace=id))
    return _run(Link(variant=id, modes=tuple(modes), overrides=overrides or {}))


def _shared(read: ReadLink) -> ShownText:
    """Run what a URL names, as far as it could be read, and list what was dropped of it."""
    link = read.link
    if link.variant is None and link.workspace is None:
        raise RequestError("bad_arguments", "It names no variant and no workspace.")
    shown = _workspace(link) if link.variant is None else _run(link)
    lines = [f"Dropped from the URL: {one.part}: {one.why}." for one in read.dropped]
    if link.workspace and link.variant:
        lines.append(f"Not shown here: workspace {link.workspace}: text holds the variant alone.")
    if link.tag_filter:
        tags = ", ".join(link.tag_filter)
        lines.append(f"Not shown here: tag_filter {tags}: text lists nothing that it would narrow.")
    story_docs = docs(story_of(link.variant)) if link.variant and link.tab == "docs" else ""
    return replace(shown, text=_joined(prose("\n".join(lines)), shown.text, story_docs))


def _run(link: Link) -> ShownText:
    assert link.variant is not None
    record = run(
        link.variant, modes=link.modes, overrides=link.overrides or None, substrate=link.substrate
    )
    head = f"{code(record.variant_id)} **{record.status}**, {record.total} assertions"
    hide = hide_of(record)
    reason = prose(hide(record.reason)) if record.reason else ""
    lines = [_row(record, n, outcome, hide) for n, outcome in enumerate(record.assertions)]
    rows = table(("", "assertion", "expected", "actual"), lines)
    return ShownText(text=_joined(head, reason, rows), about=link, outputs=record.outputs)


def _workspace(link: Link) -> ShownText:
    """List the variants of a workspace with their last statuses; runs nothing."""
    entry = REGISTRY.get("workspace", str(link.workspace))
    hashes = dict[Any, str]()
    rows = [(code(id), cell(_last_status(id, hashes))) for id in variants_of(entry.body)]
    rows_text = table(("variant", "last"), rows)
    return ShownText(text=_joined(code(entry.id), prose(entry.body.doc), rows_text), about=link)


def _joined(*parts: str) -> Markdown:
    return Markdown("\n\n".join(part for part in parts if part))


def stories_text(most: int | None = None) -> str:
    """Return all stories with the last statuses of their variants, or the first `most`."""
    entries = sorted(REGISTRY.snapshot("story").items())
    rows, hashes = list[Sequence[str]](), dict[Any, str]()
    for id, entry in entries[:most]:
        ids = REGISTRY.ids("variant", f"{id}/")
        counts = Counter(_last_status(id, hashes) for id in ids)
        last = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        rows.append((code(id), cell(entry.body.doc.partition("\n")[0]), str(len(ids)), cell(last)))
    more = len(entries) - len(rows)
    text = table(("story", "", "variants", "last"), rows)
    return f"{text}\n\n… and {more} more stories." if more else text or prose(EMPTY)


def _last_status(variant_id: str, hashes: dict[Any, str]) -> str:
    record = last_verdict(variant_id)
    if record is None:
        return "not run"
    return record.status if is_current(record, hashes) else f"{record.status} (stale)"


def _row(record: RunRecord, index: int, outcome: Outcome, hide: Hide) -> Sequence[str]:
    payload = outcome.payload[:1]
    secret = below(below(record.sensitive, "assertions"), index)
    seen = {"expected": outcome.expected, "actual": outcome.actual}
    sent = send_out(seen, sensitive=secret, limits=_SHORT, secrets=record.secrets)
    shown: Any = hide(sent.value)
    sides = [s if isinstance(s, str) else repr(s) for s in (shown["expected"], shown["actual"])]
    words = " ".join([outcome.assertion, *(word for word in payload if isinstance(word, str))])
    return "pass" if outcome.passed else "FAIL", code(hide(words)), *map(cell, sides)
