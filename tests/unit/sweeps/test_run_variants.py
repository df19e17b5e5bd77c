from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

import repl_pair
from repl_pair.errors import RequestError, VariantFailed
from repl_pair.runtime.results.last_results import last_result, last_verdict
from repl_pair.runtime.stopping.loops import PRIVATE
from repl_pair.runtime.sweeps.sweep import FAILED_FAST, NOTHING, SweepRow

check = repl_pair.check
CALLS = []


@pytest.fixture(autouse=True)
def private_loop_ends():
    yield
    CALLS.clear()
    PRIVATE.close_idle()


def price(rate: float = 1.0, off: float = 0.0):
    CALLS.append((rate, off))
    return rate - off


@pytest.fixture
def shop():
    repl_pair.mode("eur", args={"rate": 2.0}, axis="currency")
    repl_pair.story("shop", component=price, modes=["eur"], tags=["test"])
    is_one = [check.path_equals("result", 1.0)]
    repl_pair.variant("shop/A", play=is_one)
    repl_pair.variant("shop/B", args={"off": 0.5}, play=is_one)
    repl_pair.variant("shop/C", args={"off": 1.0}, play=is_one, tags=["!test", "docs"])


def rows(sweep):
    return [(row.variant_id, row.modes, row.status) for row in sweep.rows]


def counts(**some):
    return dict.fromkeys(("pass", "fail", "error", "cannot_run", "not_run"), 0) | some


def test_a_sweep_runs_each_variant_in_each_of_its_modes(shop):
    sweep = repl_pair.run_variants(["shop/C", "shop/A"])
    assert rows(sweep) == [
        ("shop/A", (), "pass"),
        ("shop/A", ("eur",), "fail"),
        ("shop/C", (), "fail"),
        ("shop/C", ("eur",), "pass"),
    ]
    assert (sweep.status, sweep.total) == ("fail", 4)
    assert sweep.counts == counts(**{"pass": 2}, fail=2)
    assert [row.variant_id for row in sweep.failing] == ["shop/A", "shop/C"]
    assert CALLS == [(1.0, 0.0), (2.0, 0.0), (1.0, 1.0), (2.0, 1.0)]


def test_a_row_is_what_a_run_of_it_alone_gives(shop):
    [row] = repl_pair.run_variants(["shop/B"], modes=["eur"]).rows
    alone = repl_pair.run("shop/B", modes=["eur"])
    assert row == SweepRow(
        variant_id="shop/B",
        modes=("eur",),
        status="fail",
        reason=alone.reason,
        total=1,
        elapsed_ms=row.elapsed_ms,
        content_hash=alone.identity.content_hash,
    )


def test_a_sweep_passes_only_if_all_passed(shop):
    assert repl_pair.run_variants(["shop/A"], modes=[]).status == "pass"
    assert repl_pair.run_variants(["shop/A", "shop/B"], modes=[]).status == "fail"


def test_nothing_chosen_cannot_be_shown_to_pass(shop):
    for chosen in ({"ids": []}, {"tags": ["internal"]}):
        sweep = repl_pair.run_variants(**chosen)
        assert (sweep.status, sweep.total, sweep.reason) == ("cannot_run", 0, NOTHING)
        assert sweep.counts == counts()


def test_no_tags_are_refused_so_that_nobody_runs_all_by_accident(shop):
    for tags in ([], ()):
        with pytest.raises(repl_pair.ReplPairError, match="tags is empty: name one"):
            repl_pair.run_variants(tags=tags)


def test_variants_are_chosen_by_any_of_the_tags_or_by_story(shop):
    repl_pair.story("other", component=price, tags=["docs"])
    repl_pair.variant("other/X")
    chosen = repl_pair.run_variants(tags=["docs"], modes=[])
    assert [row.variant_id for row in chosen.rows] == ["other/X", "shop/C"]
    chosen = repl_pair.run_variants(tags=["docs", "test"], story="shop", modes=[])
    assert [row.variant_id for row in chosen.rows] == ["shop/A", "shop/B", "shop/C"]
    assert len(repl_pair.run_variants(story="shop", modes=[]).rows) == 3


def test_only_what_changed_since_its_last_run_is_run_again(shop):
    assert len(repl_pair.run_variants(changed=True, modes=[]).rows) == 3
    assert repl_pair.run_variants(changed=True, modes=[]).total == 0
    repl_pair.variant("shop/B", args={"off": 0.0}, play=[check.path_equals("result", 1.0)])
    repl_pair.variant(
        "shop/C",
        args={"off": 1.0},
        play=[check.path_equals("result", 1.0)],
        tags=["!test", "docs"],
        doc="Only this is new.",
    )
    again = repl_pair.run_variants(changed=True, story="shop", modes=[])
    assert rows(again) == [("shop/B", (), "pass")]


def test_what_has_no_source_that_could_be_compared_counts_as_changed(shop):
    space = {}
    exec("def build(n=1):\n    return n", space)
    repl_pair.story("made", component=space["build"])
    repl_pair.variant("made/It")
    for _ in range(2):
        again = repl_pair.run_variants(changed=True, story="made", modes=[])
        assert rows(again) == [("made/It", (), "pass")]


def test_a_variant_that_last_ran_in_modes_of_its_own_has_not_changed(shop):
    repl_pair.run_variants(story="shop", modes=[])
    repl_pair.run("shop/A", modes=["eur"])
    assert rows(repl_pair.run_variants(changed=True, modes=[])) == []


@pytest.mark.parametrize(
    ("chosen", "given"),
    [
        ({"ids": ["shop/A"], "tags": ["test"]}, "ids and tags"),
        ({"tags": ["test"], "changed": True}, "tags and changed"),
        ({"ids": ["shop/A"], "story": "shop"}, "ids and story"),
    ],
)
def test_variants_are_chosen_in_one_way(shop, chosen, given):
    with pytest.raises(RequestError, match=f"Given: {given}. Nothing was run."):
        repl_pair.run_variants(**chosen)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"ids": "shop/A"}, "ids is a list of variant ids, not 'shop/A'; `story='shop/A'` runs"),
        ({"ids": 5}, "ids is a list of variant ids, not 5"),
        ({"tags": "test"}, "tags is a list of tags, not 'test'"),
        ({"story": len}, "story takes the id of a story, and no builtin_function_or_method"),
        ({"modes": None}, "modes is 'all', 'each' or a list of modes, not None"),
    ],
)
def test_a_choice_of_another_type_is_refused_in_words(shop, chosen, words):
    with pytest.raises(RequestError) as refused:
        repl_pair.run_variants(**chosen)
    assert (refused.value.code, CALLS) == ("bad_arguments", [])
    assert refused.value.message.startswith(words)


def test_a_choice_may_be_any_iterable(shop):
    by_ids = repl_pair.run_variants((id for id in ["shop/A"]), modes=iter([]))
    assert rows(by_ids) == rows(repl_pair.run_variants(["shop/A"], modes=[]))
    assert rows(repl_pair.run_variants(tags=iter(["test"]))) == rows(
        repl_pair.run_variants(tags=["test"])
    )


def test_one_unknown_id_and_nothing_runs(shop):
    with pytest.raises(RequestError) as refused:
        repl_pair.run_variants(["shop/A", "shop/Bb", "elsewhere/X"])
    assert refused.value.message == (
        "There is no variant 'shop/Bb'. Nearest: shop/B, shop/C, shop/A. "
        "There is no variant 'elsewhere/X'. Nothing was run."
    )
    assert refused.value.detail == {"unknown": ["shop/Bb", "elsewhere/X"]}
    assert CALLS == []


@pytest.mark.parametrize(
    "chosen", [{"tags": ["test", "tset"]}, {"story": "shpo"}, {"ids": ["shop/A"], "modes": ["eru"]}]
)
def test_what_is_unknown_in_any_other_way_is_refused_too(shop, chosen):
    with pytest.raises(RequestError, match="There is no"):
        repl_pair.run_variants(**chosen)
    assert CALLS == []


def test_the_first_failure_ends_a_sweep_that_is_to_fail_fast(shop):
    sweep = repl_pair.run_variants(story="shop", modes=[], fail_fast=True)
    begun = [("shop/A", (), "pass"), ("shop/B", (), "fail")]
    assert rows(sweep) == [*begun, ("shop/C", (), "cannot_run")]
    assert sweep.rows[2].reason == f"not begun: {FAILED_FAST}"
    assert (sweep.status, sweep.reason) == ("fail", FAILED_FAST)
    assert sweep.counts == counts(**{"pass": 1}, fail=1, not_run=1)


def test_a_run_that_could_not_be_attempted_is_a_row(shop):
    repl_pair.registry.unregister("mode", "eur")
    sweep = repl_pair.run_variants(["shop/A"])
    assert rows(sweep) == [("shop/A", (), "pass"), ("shop/A", ("eur",), "cannot_run")]
    assert sweep.status == "cannot_run"
    assert sweep.rows[1].reason.startswith("There is no mode 'eur'")


def test_what_a_component_raises_ends_its_own_row_only():
    def leave(how: str = ""):
        if how:
            raise {"error": ValueError, "exit": SystemExit}[how]("away")

    repl_pair.story("leave", component=leave)
    for name, how in (("A", "error"), ("B", "exit"), ("C", "")):
        repl_pair.variant(f"leave/{name}", args={"how": how})
    sweep = repl_pair.run_variants(story="leave")
    assert [row.status for row in sweep.rows] == ["error", "error", "pass"]
    assert sweep.status == "error"


def test_the_verdict_is_the_run_without_modes_or_one_in_modes_that_failed(shop):
    def verdict():
        last = last_verdict("shop/A")
        return last and (last.status, last.active_modes)

    sweep = repl_pair.run_variants(["shop/A"])
    assert [row.status for row in sweep.rows] == ["pass", "fail"]
    assert verdict() == ("fail", ("eur",))
    repl_pair.run("shop/A")
    assert verdict() == ("fail", ("eur",))
    repl_pair.mode("eur", args={}, axis="currency")
    assert verdict() == ("pass", ())
    sweep = repl_pair.run_variants(["shop/A"])
    assert [row.status for row in sweep.rows] == ["pass", "pass"]
    assert verdict() == ("pass", ())
    assert last_result("shop/A").result is None


def test_progress_reports_each_run(shop):
    seen = []
    sweep = repl_pair.run_variants(["shop/A"], on_progress=lambda *some: seen.append(some))
    assert seen == [(1, 2, sweep.rows[0]), (2, 2, sweep.rows[1])]


def test_an_interrupt_ends_the_sweep_and_keeps_what_was_found(shop):
    def stop(done, total, row):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repl_pair.run_variants(story="shop", modes=[], on_progress=stop)
    assert [last_result(f"shop/{name}") is None for name in "ABC"] == [False, False, True]


@pytest.mark.parametrize("threads", [0, 2])
def test_an_interrupt_keeps_the_rows_of_runs_in_modes_too(shop, threads):
    repl_pair.story("shop", component=price, modes=["eur"], thread_safe=True)

    def stop(done, total, row):
        if done == 3:
            raise KeyboardInterrupt

    opened = ThreadPoolExecutor(threads) if threads else nullcontext()
    with opened as pool, pytest.raises(KeyboardInterrupt) as stopped:
        repl_pair.run_variants(story="shop", executor=pool, on_progress=stop)
    [note] = stopped.value.__notes__
    assert note == "3 of 6 runs were done: repl_pair.last_sweep() has their rows."
    kept = repl_pair.last_sweep()
    assert (len(kept.rows), kept.total, kept.counts["not_run"]) == (6, 6, 3)
    assert kept.reason == "stopped by KeyboardInterrupt"
    if not threads:
        begun = [(row.variant_id, row.modes) for row in kept.rows if row.status != "cannot_run"]
        assert begun == [("shop/A", ()), ("shop/A", ("eur",)), ("shop/B", ())]
    whole = repl_pair.run_variants(["shop/A"])
    assert repl_pair.last_sweep().rows == whole.rows


def test_asynchronous_components_are_swept_too():
    async def wait(n: int = 1):
        return n

    repl_pair.story("wait", component=wait)
    repl_pair.variant("wait/A", play=[check.path_equals("result", 1)])
    assert repl_pair.run_variants(story="wait").status == "pass"


def test_a_sweep_that_is_checked_is_reported_and_raises_unless_it_passes(shop, capsys):
    with pytest.raises(VariantFailed, match=r"2 of 3 runs did not pass: shop/B, shop/C") as failed:
        repl_pair.run_variants(story="shop", modes=[], check=True)
    assert failed.value.record.rows == repl_pair.last_sweep().rows
    assert capsys.readouterr().out.splitlines() == [
        "PASS shop/A: 1 assertion",
        "FAIL shop/B: 1 assertion",
        "    path_equals: result: expected 1.0, got 0.5",
        "FAIL shop/C: 1 assertion",
        "    path_equals: result: expected 1.0, got 0.0",
        "Sweep of 3: fail (1 pass, 2 fail)",
    ]
    assert repl_pair.run_variants(["shop/A"], modes=[], check=True).status == "pass"
