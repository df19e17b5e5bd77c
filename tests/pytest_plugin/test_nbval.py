"""Notebooks under the real nbval with our plugin: variants are items, and nothing passes unseen."""

import shutil
import subprocess
import sys
import time

import nbformat
import pytest
from notebook_project import BROKEN, DEFINE, SHOP, new_project

CHECKED = 'rp.run("shop.total/Two", check=True)'
PROCESS = """
import os
import select
import sys
import time

os.system("echo from a process")
while select.select([sys.stdout._fid], [], [], 0)[0]:  # a thread of ipykernel reads it
    time.sleep(0.01)
rp.run_variants(story="shop.total")"""
SWEPT = 'rp.run_variants(story="shop.total")'
CELLS = {
    "Cell 0": "passed",
    "Cell 1": "passed",
    "Cell 1[shop.total/Two]": "passed",
    "Cell 2": "passed",
    "Cell 2[shop.total/One]": "passed",
    "Cell 2[shop.total/Two]": "passed",
}
FAILING = ("Cell 1", "Cell 1[shop.total/Two]", "Cell 2", "Cell 2[shop.total/Two]")
BROKEN_CELLS = CELLS | dict.fromkeys(FAILING, "failure")
NEW = """
rp.variant("shop.total/New", args={"prices": []}, play=[rp.check.path_equals("result", 9)])
None"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A project whose notebook shows one variant with `check`, and two without, and a process."""
    made = new_project(tmp_path_factory.mktemp("written"))
    made.write("shop.ipynb", DEFINE, CHECKED, PROCESS)
    return made


@pytest.fixture
def project(written, tmp_path):
    made = new_project(tmp_path)
    shutil.copy(written.path / "shop.ipynb", tmp_path)
    return made


def stored(path, **changes):
    """Change cells of a stored notebook, by their place: what is given replaces their slots."""
    notebook = nbformat.read(path, as_version=4)
    for at, slots in changes.items():
        notebook.cells[int(at.removeprefix("cell"))].update(slots)
    nbformat.write(notebook, path)


def test_each_variant_that_a_cell_shows_is_an_item_with_a_case_of_its_own(project):
    ran = project.pytest("--nbval", "-v")
    assert (ran.code, ran.outcomes) == (0, CELLS), ran.out
    assert "shop.ipynb::Cell 2[shop.total/Two] PASSED" in ran.out
    properties = ran.properties("Cell 1[shop.total/Two]")
    assert properties.pop("content_hash").startswith("rp1:")
    assert properties == {
        "story": "shop.total",
        "variant": "shop.total/Two",
        "modes": "",
        "status": "pass",
        "assertions": "1",
        "tags": "quick",
    }


def test_it_needs_no_package_that_nbval_does_not(project):
    (project.path / "conftest.py").write_text("import sys\nsys.modules['nbclient'] = None\n")
    ran = project.pytest("--nbval")
    assert (ran.code, ran.outcomes) == (0, CELLS), ran.out


@pytest.mark.parametrize("flag", ["--nbval", "--nbval-lax"])
def test_a_broken_variant_fails_by_its_name_and_its_cell_with_or_without_check(project, flag):
    (project.path / "shop.py").write_text(BROKEN)
    ran = project.pytest(flag)
    assert (ran.code, ran.outcomes) == (1, BROKEN_CELLS), ran.out
    assert ran.failure("Cell 2[shop.total/Two]") == (
        "shop.total/Two: path_equals: result: expected 3, got 1\n\n"
        "FAIL shop.total/Two: 1 assertion\n"
        "    path_equals: result: expected 3, got 1\n"
        "Cell 2\n"
        f"Again: pytest {flag} 'shop.ipynb::Cell 2[shop.total/Two]'"
    )
    assert "VariantFailed: shop.total/Two: fail" in ran.failure("Cell 1")
    assert "1 variant did not pass: shop.total/Two" in ran.failure("Cell 2")


@pytest.mark.parametrize(("flag", "name"), [("--nbval", "Cell 1"), ("--pair-notebook", "In[2]")])
def test_what_is_tagged_as_failing_fails_no_cell(project, flag, name):
    (project.path / "shop.py").write_text(BROKEN)
    (project.path / "shop.ipynb").unlink()
    define = DEFINE.replace("quick", "xfail")
    project.write("known.ipynb", define, SWEPT)
    ran = project.pytest(flag, "-v")
    assert ran.code == 0, ran.out
    assert ran.outcomes[f"{name}[shop.total/Two]"] == "skipped"
    new = define.replace("Two", "New")
    stored(project.path / "known.ipynb", cell0={"source": f"{define}\n{new}"})
    ran = project.pytest(flag, "-v", "--pair-tags", "xfail")
    assert "SUBSKIPPED[shop.total/New] (tagged xfail)" in ran.out


def test_a_variant_that_is_mended_passes(project):
    (project.path / "shop.py").write_text(BROKEN)
    assert project.pytest("--nbval", "-k", "2").code == 1
    (project.path / "shop.py").write_text(SHOP)
    ran = project.pytest("--nbval", "--last-failed")
    failed = ("Cell 2", "Cell 2[shop.total/Two]")
    assert (ran.code, ran.outcomes) == (0, dict.fromkeys(failed, "passed")), ran.out


def test_without_the_plugin_a_check_fails_its_cell_and_what_is_shown_is_compared(project):
    (project.path / "shop.py").write_text(BROKEN)
    ran = project.pytest("--nbval", "-p", "no:repl_pair")
    assert ran.outcomes == {"Cell 0": "passed", "Cell 1": "failure", "Cell 2": "failure"}
    assert "VariantFailed: shop.total/Two: fail" in ran.failure("Cell 1")


def test_what_is_shown_and_not_stored_is_a_subtest_and_what_is_stored_and_not_shown_fails(project):
    new, raising = {"source": DEFINE + NEW}, {"source": "1 / 0"}
    stored(project.path / "shop.ipynb", cell0=new, cell1=raising)
    ran = project.pytest("--nbval-lax", "-v")
    assert ran.code == 1
    assert "SUBFAILED[shop.total/New]" in ran.out
    assert ran.outcomes["Cell 2"] == "failure"
    assert ran.outcomes["Cell 2[shop.total/Two]"] == "passed"
    seen = ran.failure("Cell 1[shop.total/Two]")
    assert "the cell did not show it" in seen
    assert "Cell 1 raised:" in seen
    assert "ZeroDivisionError" in seen


def test_cells_that_were_cleared_fail_and_state_how_to_execute_them(project):
    cleared = {"outputs": [], "execution_count": None}
    path = project.path / "shop.ipynb"
    stored(path, cell0=cleared, cell1=cleared, cell2=cleared)
    ran = project.pytest("--nbval")
    assert ran.outcomes == {"Cell 0": "failure", "Cell 1": "failure", "Cell 2": "failure"}
    assert "pytest --pair-notebook --pair-update shop.ipynb" in ran.failure("Cell 1")


def test_cleared_cells_that_are_let_be_are_held_to_their_variants_alone(project):
    uncompared = ("# NBVAL_IGNORE_OUTPUT\n3", "")
    project.write("nothing.ipynb", "import repl_pair", "1", "2", *uncompared, execute=False)
    project.write("variants.ipynb", DEFINE, SWEPT, execute=False)
    ran = project.pytest("--nbval", "--pair-cleared", "nothing.ipynb", "variants.ipynb", "-v")
    assert [out for out in ran.out.splitlines() if out.startswith("FAILED")] == [
        "FAILED nothing.ipynb::Cell 2 - Notebook cell execution failed"
    ]
    assert "nothing is checked" in ran.failure("Cell 2")
    assert ran.out.count("SUBPASSED") == 2


def test_one_variant_runs_the_cells_that_it_needs(project):
    ran = project.pytest("--nbval", "shop.ipynb::Cell 2[shop.total/Two]")
    assert (ran.code, ran.outcomes) == (0, {"Cell 2[shop.total/Two]": "passed"}), ran.out


@pytest.mark.parametrize("chosen", [("-m", "quick"), ("-k", "total/Two")])
def test_variants_are_chosen_by_their_tags_and_names(project, chosen):
    ran = project.pytest("--nbval", "--collect-only", "-q", *chosen)
    names = [out for out in ran.out.splitlines() if "::" in out]
    assert names == [f"shop.ipynb::Cell {n}[shop.total/Two]" for n in (1, 2)], ran.out


def test_tags_narrow_the_variants_of_notebooks_and_leave_their_cells(project):
    ran = project.pytest("--nbval", "--collect-only", "-q", "--pair-tags", "not quick")
    names = [out.partition("::")[2] for out in ran.out.splitlines() if "::" in out]
    assert names == ["Cell 0", "Cell 1", "Cell 2", "Cell 2[shop.total/One]"], ran.out


def test_workers_of_xdist_find_the_same(project):
    (project.path / "shop.py").write_text(BROKEN)
    ran = project.pytest("--nbval", "-n2", "--dist", "loadfile")
    assert ran.outcomes == BROKEN_CELLS, ran.out


def test_a_cell_that_is_meant_to_fail_is_held_to_how_it_is_stored(project):
    (project.path / "shop.py").write_text(BROKEN)
    path = project.write("meant.ipynb", DEFINE, CHECKED, tags={1: "raises-exception"})
    names = ("Cell 0", "Cell 1", "Cell 1[shop.total/Two]")
    ran = project.pytest("--nbval", str(path))
    assert (ran.code, ran.outcomes) == (0, dict.fromkeys(names, "passed")), ran.out
    (project.path / "shop.py").write_text(SHOP)
    mended = project.pytest("--nbval-lax", str(path))
    assert mended.outcomes["Cell 1[shop.total/Two]"] == "failure", mended.out


def test_what_is_volatile_is_compared_in_notebooks_of_others_only(project):
    cells, texts = ("object()", "'took 41 ms'"), ("<object at 0x7f00a0b0c0d0>", "'took 3.2 ms'")
    project.write("theirs.ipynb", "1", *cells, outputs=("1", *texts))
    project.write("cleared.ipynb", "1", execute=False)
    project.write("ours.ipynb", "import repl_pair\n1", *cells, outputs=("1", *texts))
    ran = project.pytest("--nbval", "theirs.ipynb", "cleared.ipynb", "ours.ipynb")
    assert [out for out in ran.out.splitlines() if out.startswith("FAILED")] == [
        f"FAILED theirs.ipynb::Cell {n} - Notebook cell execution failed" for n in (1, 2)
    ]


def test_a_notebook_executed_twice_is_equal_byte_for_byte(project):
    first = (project.path / "shop.ipynb").read_bytes()
    again = project.write("again.ipynb", DEFINE, CHECKED, PROCESS)
    assert again.read_bytes() == first


def test_the_plugin_imports_neither_runtime_nor_nbclient_where_no_notebook_is_run(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    code = (
        "import sys, pytest; code = pytest.main(['-q', 'test_it.py'])\n"
        "late = ('nbclient', 'repl_pair.runtime.running.runner')\n"
        "print(code, [m for m in late if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.splitlines()[-1] == "0 []", ran.stdout + ran.stderr


def test_a_kernel_that_dies_fails_its_cell_and_those_behind_it_at_once(project):
    kill = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    project.write("prices.ipynb", DEFINE, kill, "1 + 1", outputs=["", "", "2"])
    began = time.monotonic()
    ran = project.pytest("--nbval", "--nbval-cell-timeout=600", "prices.ipynb")
    assert time.monotonic() - began < 300
    assert "Cell 1: the kernel died in it" in ran.out
    assert "Kernel dead on test start" in ran.out
    assert [ran.outcomes[name] for name in ("Cell 1", "Cell 2")] == ["failure"] * 2


KEPT = """
rp.variant("shop.total/Kept", args={"prices": [1, 2]}, play=[rp.check.matches_snapshot()])
rp.run("shop.total/Kept")"""


@pytest.mark.parametrize("flag", ["--nbval", "--pair-notebook"])
def test_the_options_for_snapshots_reach_the_kernels_of_notebooks(project, flag):
    (project.path / "shop.ipynb").unlink()
    project.write("kept.ipynb", DEFINE, KEPT, execute=False)
    words = (flag, "--pair-cleared", "kept.ipynb")
    missing = project.pytest(*words)
    assert missing.code == 1
    assert "there is no snapshot of shop.total/Kept yet" in missing.out
    assert "pytest --pair-update stores what this run gave." in missing.out
    assert "accept_snapshot" not in missing.out
    assert project.pytest(*words, "--pair-update").code == 0
    assert project.pytest(*words, "--pair-artifacts=out").code == 0
    (project.path / "shop.py").write_text(BROKEN)
    changed = project.pytest(*words, "--pair-artifacts=out")
    assert changed.code == 1
    kept = sorted(path.name for path in (project.path / "out" / "snapshots").iterdir())
    assert kept == ["actual", "diff", "expected"]
