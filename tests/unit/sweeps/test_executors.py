"""Sweeps over real pools: what reaches a worker, what comes back, what is lost with one."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import time
import types
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from site import addsitedir
from unittest import mock

import dask
import distributed
import pytest
from bounds import BOUND_S

import repl_pair
from repl_pair.errors import RequestError
from repl_pair.runtime.loading.modules import execute
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.model import Variant
from repl_pair.runtime.registry.origin import agent_origin, is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.drift import counts_as_verdict
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.snapshots.review import waiting_snapshots
from repl_pair.runtime.stopping.loops import PRIVATE
from repl_pair.runtime.sweeps.matrix import Pairing
from repl_pair.runtime.sweeps.shipping import TaskBuilder, refuse_old_modules

SHOP = """
import os, threading
import repl_pair
from repl_pair import check

repl_pair.mode("eur", args={"rate": 2.0}, axis="currency")

@repl_pair.loader
def stock():
    return [os.getpid(), 2, 3]

@repl_pair.effect.impl("mail")
def mail(**payload):
    return payload

@repl_pair.story("swept.price", modes=["eur"], tags=["test"])
def price(rate: float = 1.0, stock: list[int] | None = None, die: bool = False):
    if die:
        os.kill(os.getpid(), 9)
    return {"rate": rate, "pid": os.getpid(), "stock": stock, "held": threading.Lock()}

is_one = [check.path_equals("result.rate", 1.0)]
for number in range(6):
    repl_pair.variant(f"swept.price/Of_{number}", play=is_one)
repl_pair.variant("swept.price/Of_2_dies", args={"die": True}, play=is_one)
repl_pair.variant("swept.price/Stocked", args={"stock": repl_pair.ref("stock")}, play=[
    check.path_equals("result.stock[1]", 2)])
repl_pair.story("swept.word", component=lambda word="one": word)
repl_pair.variant("swept.word/Kept", play=[check.matches_snapshot()])

@repl_pair.loader
def knot():
    held = deep = {"lock": threading.Lock()}
    held["self"] = held
    for _ in range(400):
        deep = [deep]
    return [held, deep]

repl_pair.story("swept.knot", component=lambda knot: len(knot))
repl_pair.variant("swept.knot/A", args={"knot": repl_pair.ref("knot")}, play=[
    check.path_equals("result", 2)])
repl_pair.variant("swept.price/Held", play=[check.path_equals("result.held", None)])
"""
NOTEBOOK = """
import os
from dataclasses import dataclass
import repl_pair
from repl_pair import check

@dataclass
class Line:
    sku: str
    n: int = 1

RATE = 2.0

@repl_pair.assertion
def is_twice(settled, count):
    return settled.result["total"] == count * RATE

@repl_pair.story("cell.total")
def total(lines: list[Line], pid: int = 0):
    return {"total": sum(line.n for line in lines) * RATE, "elsewhere": os.getpid() != pid}

repl_pair.variant("cell.total/Two", args={"lines": [Line("a"), Line("b")], "pid": os.getpid()},
                  play=[check.path_equals("result", {"total": 4.0, "elsewhere": True}),
                        ["is_twice", 2]])
"""
CHANGES = """
import os, pathlib, sys
from repl_pair.errors import RequestError
from repl_pair.runtime.loading.modules import execute
from repl_pair.runtime.sweeps.shipping import refuse_old_modules
print(sys.prefix)
execute("beside_env", file := pathlib.Path(sys.argv[1]), None)
refuse_old_modules()
os.utime(file, (1, 1))
try:
    refuse_old_modules()
except RequestError as refusal:
    print(refusal.message)
"""
OF = [f"swept.price/Of_{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def private_loop_ends():
    yield
    PRIVATE.close_idle()


@pytest.fixture(scope="module")
def pool():
    with repl_pair.process_pool(2) as pool:
        for started in [pool.submit(time.sleep, 0.1) for _ in range(2)]:
            started.result()
        yield pool


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A module with a story, in a folder that is put on the path of this process only."""
    file = tmp_path / "swept_shop.py"
    file.write_text(SHOP)
    monkeypatch.setattr(sys, "path", [*sys.path])
    execute("swept_shop", file, None)
    yield sys.modules["swept_shop"]
    del sys.modules["swept_shop"]


@pytest.fixture
def notebook(monkeypatch):
    """A story of the person's namespace."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(compile(NOTEBOOK, "<cell 1>", "exec"), main.__dict__)


def rows(sweep):
    return [(row.variant_id, row.modes, row.status) for row in sweep.rows]


def spawned(workers):
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def test_a_sweep_over_processes_gives_what_one_here_gives(shop, pool):
    here = repl_pair.run_variants(OF)
    there = repl_pair.run_variants(OF, executor=pool)
    plain = [replace(row, elapsed_ms=0.0) for row in there.rows]
    assert plain == [replace(row, elapsed_ms=0.0) for row in here.rows]
    assert (there.status, there.counts) == (here.status, here.counts)
    assert {row.status for row in there.rows} == {"pass", "fail"}


def test_what_runs_over_processes_runs_in_them_and_its_record_comes_back(shop):
    with repl_pair.process_pool(2) as pool:
        repl_pair.run_variants(["swept.price/Stocked"], modes=[], executor=pool)
        changed = repl_pair.run_variants(changed=True, story="swept.price", executor=pool)
    found = last_result("swept.price/Stocked")
    pid = found.effective_args["stock"][0]
    assert (found.status, found.total) == ("pass", 1)
    assert pid != os.getpid()
    assert found.result is None
    assert counts_as_verdict(found)
    assert changed.total > 0
    assert last_result("swept.price/Stocked") == found


def test_values_that_cannot_come_back_come_as_what_can_be_reported_of_them(shop, pool):
    repl_pair.run_variants(["swept.price/Held"], modes=[], executor=pool)
    [outcome] = last_result("swept.price/Held").assertions
    assert (outcome.passed, outcome.actual) == (False, "<lock>")


def test_what_only_this_process_registered_reaches_the_workers(shop, pool):
    repl_pair.mode("many", args={"rate": 7.0})
    repl_pair.variant(
        "swept.price/Mine", modes=["many"], play=[repl_pair.check.path_equals("result.rate", 7.0)]
    )
    swept = repl_pair.run_variants(["swept.price/Mine"], modes="each", executor=pool)
    assert [(row.modes, row.status) for row in swept.rows] == [
        ((), "fail"),
        (("eur",), "fail"),
        (("many",), "pass"),
    ]
    repl_pair.global_args(rate=7.0)
    try:
        swept = repl_pair.run_variants(["swept.price/Mine"], modes=[], executor=pool)
    finally:
        repl_pair.global_args()
    assert swept.status == "pass"


def test_what_a_module_registers_later_than_at_its_import_reaches_the_workers(shop, pool):
    shop.late = lambda: repl_pair.variant("swept.price/Late", args={"rate": 4.0}, play=shop.is_four)
    shop.is_four = [repl_pair.check.path_equals("result.rate", 4.0)]
    exec("late()", shop.__dict__)
    exec("repl_pair.story('swept.late', component=price)", shop.__dict__)
    exec("repl_pair.variant('swept.late/A', play=is_one)", shop.__dict__)
    ids = ["swept.price/Late", "swept.late/A"]
    assert repl_pair.run_variants(ids, modes=[], executor=pool).status == "pass"


def test_a_worker_refuses_to_run_what_was_changed_since_it_was_imported(shop):
    with repl_pair.process_pool(1) as pool:
        assert repl_pair.run_variants(OF[:1], modes=[], executor=pool).status == "pass"
        with open(shop.__file__, "a") as source:
            source.write("# changed")
        swept = repl_pair.run_variants(OF[:1], modes=[], executor=pool)
    assert rows(swept) == [(OF[0], (), "cannot_run")]
    assert swept.rows[0].reason == (
        "swept_shop was changed after this worker process imported it: use fresh workers."
    )


def test_what_was_edited_and_not_loaded_again_is_run_by_no_other_process(shop, pool):
    with open(shop.__file__, "w") as source:
        source.write(SHOP.replace('"rate": rate, ', '"rate": rate + 0.0, '))
    swept = repl_pair.run_variants(OF[:1], modes=[], executor=pool)
    assert rows(swept) == [(OF[0], (), "cannot_run")]
    assert swept.rows[0].reason.startswith(f"{shop.__file__} was edited since it was loaded")


def test_a_value_that_holds_itself_comes_back_from_a_worker(shop, pool):
    swept = repl_pair.run_variants(["swept.knot/A"], executor=pool)
    assert rows(swept) == [("swept.knot/A", (), "pass")], swept


def test_a_pool_that_is_shut_down_without_a_wait_ends_what_it_took():
    pool = repl_pair.process_pool(1)
    assert pool.submit(abs, -9).result(BOUND_S) == 9  # its process is there
    taken = [pool.submit(abs, -n) for n in range(4)]
    pool.shutdown(wait=False)
    assert [one.result(BOUND_S) for one in taken] == [0, 1, 2, 3]


@pytest.mark.parametrize("folder", ["env/lib", "env_stories"])
def test_a_module_in_or_beside_the_folder_of_an_environment_is_one_of_the_persons(tmp_path, folder):
    python, file = tmp_path / "env" / "bin" / "python", tmp_path / folder / "beside_env.py"
    for parent in (python.parent, file.parent):
        parent.mkdir(parents=True)
    (tmp_path / "env" / "pyvenv.cfg").write_text(f"home = {Path(sys._base_executable).parent}")
    python.symlink_to(sys._base_executable)
    file.write_text("")
    run = [python, "-c", CHANGES, file]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(run, env=path, capture_output=True, text=True, check=True, timeout=BOUND_S)
    assert ran.stdout.splitlines()[0] == str(tmp_path / "env")
    assert "beside_env was changed" in ran.stdout


def test_a_package_that_is_installed_in_any_folder_is_none_of_the_persons(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "site-packages" / "in_any_folder.py"
    file.parent.mkdir()
    file.write_text("")
    execute("in_any_folder", file, None)
    try:
        refuse_old_modules()
        os.utime(file, (1, 1))
        refuse_old_modules()
    finally:
        del sys.modules["in_any_folder"]


def test_a_worker_refuses_to_run_another_variant_than_the_one_that_is_meant(shop, tmp_path):
    other = tmp_path / "other" / "swept_shop.py"
    other.parent.mkdir()
    other.write_text(SHOP.replace('"rate": rate, ', '"rate": rate + 0.0, '))
    sys.path.remove(str(tmp_path))
    context = multiprocessing.get_context("spawn")
    found = (str(other.parent),)
    with ProcessPoolExecutor(1, context, initializer=addsitedir, initargs=found) as elsewhere:
        swept = repl_pair.run_variants(OF[:1], modes=[], executor=elsewhere)
    assert rows(swept) == [(OF[0], (), "cannot_run")]
    assert swept.rows[0].reason.startswith(f"In the worker process {OF[0]} is another one")


def test_components_of_a_notebook_are_sent_where_cloudpickle_is_installed(notebook, pool):
    swept = repl_pair.run_variants(["cell.total/Two"], executor=pool)
    assert rows(swept) == [("cell.total/Two", (), "pass")], swept


def test_components_of_a_notebook_cannot_run_in_processes_without_cloudpickle(
    notebook, shop, pool, monkeypatch
):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    swept = repl_pair.run_variants(["cell.total/Two", OF[0]], modes=[], executor=pool)
    assert rows(swept) == [("cell.total/Two", (), "cannot_run"), (OF[0], (), "pass")]
    assert "total is not defined in a module. Move it to a module" in swept.rows[0].reason
    assert "install cloudpickle" in swept.rows[0].reason
    assert swept.status == "cannot_run"


@pytest.mark.parametrize("make", [repl_pair.process_pool, spawned])
def test_a_worker_that_dies_loses_one_row_which_is_named(shop, make):
    with make(2) as pool:
        swept = repl_pair.run_variants([*OF, "swept.price/Of_2_dies"], modes=[], executor=pool)
    lost = [row for row in swept.rows if row.status != "pass"]
    assert [row.variant_id for row in lost] == ["swept.price/Of_2_dies"]
    assert (lost[0].status, swept.status) == ("error", "error")
    assert lost[0].reason.startswith("The worker that ran it was lost: BrokenProcessPool")
    assert swept.counts == {"pass": 6, "fail": 0, "error": 1, "cannot_run": 0, "not_run": 0}
    assert last_result("swept.price/Of_2_dies").status == "error"


def test_a_pool_that_would_fork_this_process_is_refused(shop):
    forking = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
    with forking, pytest.raises(RequestError) as refused:
        repl_pair.run_variants(OF, executor=forking)
    assert "repl_pair.process_pool()" in refused.value.message
    assert last_result(OF[0]) is None


def test_threads_run_only_stories_that_state_they_may(shop):
    repl_pair.story("safe", component=lambda n=1: n, thread_safe=True)
    repl_pair.variant("safe/A", play=[repl_pair.check.path_equals("result", 1)])
    with ThreadPoolExecutor(2) as threads:
        swept = repl_pair.run_variants(["safe/A", OF[0]], modes=[], executor=threads)
    assert rows(swept) == [("safe/A", (), "pass"), (OF[0], (), "cannot_run")]
    assert "thread_safe=True" in swept.rows[1].reason


def test_the_first_failure_ends_a_sweep_over_processes(shop, pool):
    ids = [f"swept.price/Fails_{number:03}" for number in range(60)]
    for id in ids:
        repl_pair.variant(id, play=[repl_pair.check.path_equals("result.rate", 9.0)])
    seen = []
    swept = repl_pair.run_variants(
        ids, modes=[], executor=pool, fail_fast=True, on_progress=lambda *some: seen.append(some)
    )
    begun = 60 - swept.counts["not_run"]
    assert 1 <= begun <= 6
    assert len(swept.rows) == 60
    assert [(done, total) for done, total, _ in seen] == [
        (number, 60) for number in range(1, begun + 1)
    ]


def test_dask_runs_a_sweep_over_its_workers(shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"distributed.scheduler.allowed-failures": 0, "temporary-directory": str(tmp_path)}
    with (
        mock.patch.dict(os.environ),  # a cluster leaves variables there
        dask.config.set(options),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        swept = repl_pair.run_variants(
            [*OF, "swept.price/Of_2_dies", "swept.price/Stocked"],
            modes=[],
            executor=client.get_executor(),
        )
    lost = [row for row in swept.rows if row.status != "pass"]
    assert [row.variant_id for row in lost] == ["swept.price/Of_2_dies"]
    assert lost[0].reason.startswith("The worker that ran it was lost: KilledWorker")
    assert swept.counts == {"pass": 7, "fail": 0, "error": 1, "cannot_run": 0, "not_run": 0}


def test_what_an_agent_wrote_is_an_agents_in_the_worker_too():
    repl_pair.story("swept.plain", component=addsitedir)
    REGISTRY.register("variant", "swept.plain/A", Variant(), origin=agent_origin("a"))
    plan = plan_variant("swept.plain/A")
    task = TaskBuilder().build(Pairing(variant_id="swept.plain/A"), plan)
    sent = pickle.loads(task.entries["variant", "swept.plain/A"])
    assert sent.origin.key != "agent:a"
    assert is_agents(sent.origin)


def test_an_output_of_a_worker_waits_to_be_accepted_here(shop):
    id = "swept.word/Kept"
    with repl_pair.process_pool(1) as pool:  # its own: another one has the module of another folder
        (refused,) = repl_pair.run_variants([id], executor=pool).rows
        assert "there is no snapshot" in refused.reason
        assert repl_pair.accept_snapshot(id) == '"one"\n'
        again = repl_pair.run_variants([id], executor=pool)
    assert again.status == "pass", again.rows
    assert id not in waiting_snapshots()
