"""What counts as done in a work session."""

import pytest
from hypothesis import given, strategies as st

from repl_pair.bridge import manifest
from repl_pair.errors import RequestError
from repl_pair.runtime.sessions import counting
from repl_pair.runtime.sessions.counting import count_changed, count_reply, no_counts
from repl_pair.wire import error_reply, ok_reply

SWEPT = {"pass": 2, "fail": 1, "error": 0, "cannot_run": 3, "not_run": 7}
COUNTED = {
    "a run": ("run_variant", {"status": "fail", "total": 1}, {"runs": {"fail": 1}}),
    "a new run": ("reset_variant", {"status": "pass", "total": 1}, {"runs": {"pass": 1}}),
    "a sweep, but what was not begun": (
        "run_variants",
        {"status": "fail", "total": 13, "counts": SWEPT},
        {"runs": {"pass": 2, "fail": 1, "cannot_run": 3}},
    ),
    "a sweep that never began": ("run_variants", {"status": "cannot_run", "total": 0}, {}),
    "a preview is no run": ("preview_variant", {"rendered": True}, {}),
    "code that raises": ("eval_code", {"status": "error"}, {"evals": 1}),
    "code that was not begun": ("eval_code", {"status": "cannot_run"}, {}),
    "an annotation": ("create_annotation", {"id": "a"}, {"annotations": 1}),
    "an annotation that was there": ("create_annotation", {"id": "a", "duplicate": True}, {}),
    "a read": ("list_stories", {"items": [], "total": 0}, {}),
    "an answer that is elided whole": ("run_variant", "[redacted]", {}),
}


@pytest.mark.parametrize(("op", "result", "counted"), COUNTED.values(), ids=COUNTED)
def test_a_reply_counts_what_it_reports(op, result, counted):
    counts = no_counts()
    count_reply(counts, op, ok_reply(result))
    assert counts == no_counts() | counted


def test_what_was_refused_counts_nothing():
    counts = no_counts()
    for op in counting._ADD:
        count_reply(counts, op, error_reply(RequestError("not_found", "There is none.")))
    assert counts == no_counts()


def test_each_op_that_counts_is_there():
    assert counting._ADD.keys() <= manifest.by_name().keys()


versions = st.dictionaries(st.sampled_from("abcde"), st.sampled_from(("1.0.0", "1.1.0", "2.0.0")))


@given(versions, versions)
def test_contracts_that_came_went_or_changed_are_counted_once(before, after):
    same = {subject for subject in before if before[subject] == after.get(subject)}
    assert count_changed(before, after) == len({*before, *after} - same)
    assert count_changed(before, before) == 0
