"""The last results of a variant: one for all, and beside it what agents tried."""

import json

import pytest

import repl_pair
from repl_pair import check
from repl_pair.runtime.results import last_results, retention
from repl_pair.runtime.results.last_results import forget_result, keep_result, last_result
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.store import STORE
from repl_pair.wire import PERSON


def keep(status, asked_by=None):
    what_if = ("overrides",) if asked_by else ()
    keep_result(RunRecord(variant_id="shop/A", status=status, asked_by=asked_by, what_if=what_if))


def seen():
    """Return the last status for two agents and the person."""
    runs = [last_result("shop/A", name) for name in ("ann", "ben", PERSON)]
    return [run and run.status for run in runs]


def test_a_what_if_run_is_the_last_one_for_its_agent_until_a_run_for_all():
    keep("pass")
    keep("fail", "ann")
    assert seen() == ["fail", "pass", "fail"]
    keep("error", "ben")
    assert seen() == ["fail", "error", "error"]
    keep("cannot_run", "ann")
    assert seen() == ["cannot_run", "error", "cannot_run"]
    keep("pass")
    assert seen() == ["pass"] * 3
    assert last_result("shop/A").earlier == ()


def test_no_more_is_kept_than_one_run_of_each_agent_and_one_for_all():
    keep("pass")
    for _ in range(5):
        for name in ("ann", "ben"):
            keep("fail", name)
    latest = last_result("shop/A")
    assert [run.asked_by for run in (latest, *latest.earlier)] == ["ben", "ann", None]
    assert [run.earlier for run in latest.earlier] == [(), ()]


@pytest.mark.parametrize(
    ("name", "left"), [("ann", [None, "error", "error"]), (PERSON, [None, None, None])]
)
def test_an_agent_forgets_what_it_may_read_and_the_person_all(name, left):
    keep("pass")
    keep("fail", "ann")
    keep("error", "ben")
    forget_result("shop/A", name)
    forget_result("shop/Never_run", name)
    assert seen() == left


def test_a_run_that_another_agent_ends_meanwhile_is_not_lost(monkeypatch):
    put = STORE.put

    def late(*place, **over):
        monkeypatch.undo()
        keep("error", "ben")
        return put(*place, **over)

    monkeypatch.setattr(STORE, "put", late)
    keep("fail", "ann")
    assert seen() == ["fail", "error", "fail"]


def test_large_args_are_kept_as_bounded_json_and_the_rest_as_it_is():
    rows = [{"pin": "3358", "notes": "n" * 30_000}, {"pin": "1", "notes": ""}]
    args = {"many": list(range(5000)), "rows": rows, "n": 3, "some": {"a": (1, 2)}}
    hidden = (("effective_args", "rows", "*", "notes"),)
    event = ["add", {"text": b"x" * 30_000}]
    keep_result(
        RunRecord(
            variant_id="shop/A",
            status="pass",
            effective_args=args,
            events=(event,),
            sensitive=hidden,
        )
    )
    run = last_result("shop/A")
    assert run.effective_args["some"] == {"a": (1, 2)}
    assert run.effective_args["n"] == 3
    assert len(run.effective_args["many"]) == retention.SHOWN.width
    assert run.effective_args["rows"][0] == {"pin": "3358", "notes": "[redacted]"}
    assert "$elided" in run.events[0][1]["text"]
    assert args["rows"] is rows


def test_many_texts_of_args_are_kept_up_to_a_bound_in_all():
    texts = [f"{n} " + "x" * 19_000 for n in range(90)]
    args = {"few": texts[:2], "many": texts, "rows": [{"of": texts}]}
    keep_result(RunRecord(variant_id="shop/A", status="pass", effective_args=args))
    kept = last_result("shop/A").effective_args
    assert kept["few"] == texts[:2]
    assert kept["many"][:2] == texts[:2]
    assert len(json.dumps(kept)) < 1_000_000 < len(json.dumps(args))


def test_results_of_variants_that_are_gone_are_bounded_in_number(monkeypatch):
    monkeypatch.setattr(last_results, "MAX_GONE", 3)
    monkeypatch.setattr(last_results, "_LOOK_EACH", 1)
    repl_pair.story("shop", component=lambda: 1)
    repl_pair.variant("shop/Here")
    for id in ("Here", 0, 1, 2, 0, 3):
        keep_result(RunRecord(variant_id=f"shop/{id}", status="pass"))
    assert [id for id in ("Here", *range(4)) if last_result(f"shop/{id}")] == ["Here", 0, 2, 3]


def test_the_earliest_runs_show_no_more_once_all_show_too_much(monkeypatch):
    monkeypatch.setattr(retention, "MAX_CHARS", 250)
    for id in "ABC":
        keep_result(RunRecord(variant_id=f"much/{id}", status="pass", stdout="x" * 100))
    runs = [last_result(f"much/{id}") for id in "ABC"]
    assert [len(run.stdout) for run in runs] == [0, 100, 100]
    assert [run.outputs for run in runs] == [({"text/plain": retention.GONE},), (), ()]
    keep_result(RunRecord(variant_id="much/B", status="pass"))
    keep_result(RunRecord(variant_id="much/A", status="fail", stdout="x" * 100))
    assert [len(last_result(f"much/{id}").stdout) for id in "ABC"] == [100, 0, 100]
    assert last_result("much/A").status == "fail"


def of_itself():
    value = {"text": "plain"}
    value["self"] = value
    return value


def very_deep():
    value = []
    for _ in range(5_000):
        value = [value]
    return value


def wide_of_itself():
    value = dict.fromkeys(map(str, range(3_000)))
    value["0"] = value
    return value


@pytest.mark.parametrize("make", [of_itself, very_deep, wide_of_itself])
def test_a_value_without_an_end_is_kept_as_what_is_shown_of_it(make):
    repl_pair.story("endless", component=make)
    repl_pair.variant("endless/It", play=[check.length("result", 7), check.result_equals(1)])
    record = repl_pair.run("endless/It")
    assert [outcome.passed for outcome in record.assertions] == [False, False]
    last = last_result("endless/It")
    assert last.status == "fail"
    assert len(json.dumps(last.assertions[0].actual)) < 100_000
