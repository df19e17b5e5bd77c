import json
import os
import subprocess
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell

import repl_pair
from repl_pair import check
from repl_pair.errors import VariantFailed
from repl_pair.runtime.results import forms
from repl_pair.runtime.results.notebook_results import RESULTS_MIME
from repl_pair.runtime.secrets.known import NEEDLES

SECRET = "s3cr3t-p4ssphrase-9"


class Opaque:
    """Its text has its address."""


def add(a=1, b=2):
    if a == "raise":
        raise ValueError(f"no {Opaque()!r} and no {b}")
    return a + b


@pytest.fixture
def sums():
    repl_pair.tag("quick")
    repl_pair.story("sums", component=add, tags=["quick"])
    repl_pair.variant("sums/Right", play=[check.result_equals(3)])
    repl_pair.variant(
        "sums/Wrong", play=[check.result_equals(4), check.no_warnings(), check.within_ms(0)]
    )
    repl_pair.mode("ten", args={"a": 10})


def test_a_run_is_text_html_and_data(sums):
    shown = forms.mime_bundle(repl_pair.run("sums/Wrong", modes=["ten"]))
    assert list(shown) == ["text/plain", "text/html", RESULTS_MIME]
    assert shown["text/plain"] == (
        "FAIL sums/Wrong [ten]: 3 assertions\n"
        "    result_equals: result: expected 4, got 12\n"
        "    within_ms: render took … ms, not at most 0"
    )
    (result,) = shown[RESULTS_MIME]["results"]
    assert result.pop("content_hash").startswith("rp1:")
    assert shown[RESULTS_MIME] == {"version": 1, "status": "fail", "results": [result]}
    assert result == {
        "id": "sums/Wrong",
        "modes": ["ten"],
        "status": "fail",
        "assertions": 3,
        "failures": [
            "result_equals: result: expected 4, got 12",
            "within_ms: render took … ms, not at most 0",
        ],
        "tags": ["quick"],
    }


def test_a_sweep_reports_each_run_and_what_they_come_to(sums):
    sweep = repl_pair.run_variants(story="sums", modes=[])
    shown = forms.mime_bundle(sweep)
    assert shown["text/plain"].splitlines()[-1] == "Sweep of 2: fail (1 pass, 1 fail)"
    assert [r["id"] for r in shown[RESULTS_MIME]["results"]] == ["sums/Right", "sums/Wrong"]


def test_a_long_sweep_reports_what_did_not_pass_first_and_its_data_has_all(sums):
    for n in range(40):
        repl_pair.variant(f"sums/A{n:02}", play=[check.result_equals(3)])
    shown = forms.mime_bundle(repl_pair.run_variants(story="sums", modes=[]))
    rows = shown["text/plain"].splitlines()
    assert rows[0] == "FAIL sums/Wrong: 3 assertions"
    assert rows[-2:] == ["… 12 more; all stand in .rows", "Sweep of 42: fail (41 pass, 1 fail)"]
    assert len(shown[RESULTS_MIME]["results"]) == 42


def test_no_form_holds_a_secret_an_address_or_markup_of_the_persons(sums):
    NEEDLES.add(SECRET)
    repl_pair.variant("sums/Raises", args={"a": "raise", "b": f"{SECRET}<script>"})
    shown = forms.mime_bundle(repl_pair.run("sums/Raises"))
    seen = json.dumps(shown)
    assert SECRET not in seen
    assert "0x" not in seen
    assert "<script>" not in shown["text/html"]
    assert shown["text/plain"].startswith("ERROR sums/Raises: 0 assertions\n    ")
    with pytest.raises(VariantFailed) as failed:
        repl_pair.run("sums/Raises", check=True)
    assert SECRET not in str(failed.value)
    assert failed.value._render_traceback_() == [f"VariantFailed: {failed.value.message}"]


def test_a_list_of_runs_shows_their_texts_and_no_value_that_ran(sums):
    repl_pair.variant("sums/Login", args={"a": "", "b": "hunter-2"})
    runs = [repl_pair.run("sums/Login"), repl_pair.run_variants(["sums/Login"])]
    assert repr(runs).startswith("[PASS sums/Login: 0 assertions, PASS sums/Login: 0 assertions\n")
    assert "hunter" not in repr(runs)


def test_a_cell_shows_what_it_checks_once(sums):
    shell = InteractiveShell.instance()
    shell.user_ns["run"] = repl_pair.run
    published = []
    shell.display_pub.publish = lambda data, *_, **__: published.append(data["text/plain"])
    shell.displayhook.write_format_data = lambda data, *_: published.append(data["text/plain"])
    try:
        shell.run_cell("record = run('sums/Right', check=True)\nrecord", silent=False)
        assert published == ["PASS sums/Right: 1 assertion"]
        shell.run_cell("record")
        assert published == ["PASS sums/Right: 1 assertion"] * 2
    finally:
        InteractiveShell.clear_instance()


def test_the_forms_are_equal_in_every_process():
    code = (
        "import json, repl_pair as r; from repl_pair.runtime.results.forms import mime_bundle\n"
        "r.tag('b'); r.tag('a'); r.story('s', component=lambda: 2, tags=['b', 'a'])\n"
        "r.variant('s/A', play=[r.check.result_equals(1)])\n"
        "print(json.dumps(mime_bundle(r.run('s/A'))))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
    assert '"status": "fail"' in seen.pop()
