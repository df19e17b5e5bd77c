"""What a notebook shows of the registries: all at a glance, one story, or one variant's run."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.runtime.egress import Limits, send_out
from repl_pair.runtime.markdown import Markdown, cell, code, prose, table
from repl_pair.runtime.model import Entry
from repl_pair.runtime.registry import EMPTY, REGISTRY
from repl_pair.runtime.results import is_stale, last_result
from repl_pair.runtime.run_record import Outcome, RunRecord
from repl_pair.runtime.runner import run
from repl_pair.runtime.share_url import ReadLink, parse_share_url
from repl_pair.runtime.story_docs import docs

_SHORT = Limits(depth=3, width=8, text=120, nodes=40)


def show(
    id: str | None = None,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Markdown:
    """Show every story with its last statuses; by id a story's documentation, or a variant.

    A variant is run, its outputs are displayed, and its assertions are told; the URL of a shared
    one opens it as it was shared. Known secrets stand as `[redacted]`: what is shown is saved with
    the notebook. Equal registries and results give equal text. RequestError `not_found` for an
    unknown id.
    """
    if id is None:
        return Markdown(_all_stories() or prose(EMPTY))
    if "?" in id:
        return _open(parse_share_url(id))
    if "/" not in id:
        return docs(id)
    return _run(id, modes=modes, overrides=overrides)


def _open(read: ReadLink) -> Markdown:
    """Run what a URL says, as far as it could be read, and tell what was dropped of it."""
    link = read.link
    if link.variant is None:
        what = f"The URL opens workspace {link.workspace!r}, which" if link.workspace else "It"
        raise RequestError("bad_arguments", f"{what} names no variant: share one of those.")
    told = _run(link.variant, modes=link.modes, overrides=link.overrides, substrate=link.substrate)
    lines = [f"Dropped from the URL: {one.part}: {one.why}." for one in read.dropped]
    unshown = {"workspace": link.workspace, "tag_filter": ", ".join(link.tag_filter)}
    lines += [f"Not shown here: {name} {said}." for name, said in unshown.items() if said]
    return Markdown("\n\n".join(part for part in (prose("\n".join(lines)), told) if part))


def _run(variant_id: str, **how: Any) -> Markdown:
    record = run(variant_id, **how)
    _display(record.outputs)
    return _told(record)


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
    shown: Any = send_out(seen, sensitive=secret, limits=_SHORT).value
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
