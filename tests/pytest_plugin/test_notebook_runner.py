"""Our own runner, `--pair-notebook`: what is stored is what must come, however it was shown."""

import os
import shutil
from base64 import b64decode

import nbformat
import pytest
from notebook_project import BROKEN, DEFINE, SHOP, new_project

CHECKED = 'rp.run("shop.total/Two", check=True)'
RICH = """
from IPython.display import clear_output, display
import ipywidgets

print("gone")
clear_output()
handle = display("first", display_id=True)
handle.update("second")
captured = ipywidgets.Output()
with captured:
    print("inside")
slider = ipywidgets.IntSlider(value=3)
print("after")
display(captured)
slider"""
PLOT = """
from io import BytesIO
from IPython.display import Image
from PIL import Image as Pixels

kept = BytesIO()
Pixels.new("RGB", (20, 20), (color, 0, 0)).save(kept, "PNG")
Image(kept.getvalue())"""
ITEMS = (
    "In[1]",
    "In[2]",
    "In[2][shop.total/Two]",
    "In[3]",
    "In[4]",
    "In[5]",
    "In[6]",
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A project whose notebook shows what nbval cannot compare, stored with its outputs."""
    made = new_project(tmp_path_factory.mktemp("written"))
    (made.path / "tint.py").write_text("color = 200\n")
    cells = (DEFINE, CHECKED, RICH, "from tint import color", PLOT, "slider.value = 7")
    made.write("shop.ipynb", *cells)
    return made


@pytest.fixture
def project(written, tmp_path):
    made = new_project(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    for name in ("shop.ipynb", "tint.py"):
        shutil.copy(written.path / name, tmp_path)
    return made


def change(path, at, **slots):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[at].update(slots)
    nbformat.write(notebook, path)


def test_displays_that_change_widgets_and_images_are_compared_and_the_executed_one_kept(project):
    ran = project.pytest("--pair-notebook", "--pair-artifacts", "kept")
    assert (ran.code, ran.outcomes) == (0, dict.fromkeys(ITEMS, "passed")), ran.out
    kept, stored = (
        nbformat.read(project.path / name, as_version=4)
        for name in ("kept/shop.ipynb", "shop.ipynb")
    )
    assert [c.get("execution_count") for c in kept.cells] == [1, 2, 3, 4, 5, 6]
    assert kept.cells[1] == stored.cells[1]
    assert (project.path / "shop.ipynb").read_bytes() == _bytes_of(stored)


def _bytes_of(notebook):
    return (nbformat.writes(notebook) + "\n").encode()


def test_what_an_earlier_run_kept_is_no_notebook_of_the_project(project):
    (project.path / "kept").mkdir()
    shutil.copy(project.path / "shop.ipynb", project.path / "kept")
    ran = project.pytest("--pair-notebook", "--pair-artifacts", "kept", "--collect-only", "-q")
    assert not [line for line in ran.out.splitlines() if line.startswith("kept")], ran.out


def test_what_differs_is_reported_with_the_number_that_the_person_sees(project):
    (project.path / "tint.py").write_text("color = 20\n")
    (project.path / "shop.py").write_text(BROKEN)
    path = project.path / "shop.ipynb"
    rich = RICH.replace('"second"', '"third"').replace("inside", "within")
    change(path, 2, source=rich)
    ran = project.pytest("--pair-notebook", "--pair-artifacts", "kept")
    outcomes = dict.fromkeys(ITEMS, "passed")
    failing = ("In[2]", "In[2][shop.total/Two]", "In[3]", "In[5]")
    assert ran.outcomes == outcomes | dict.fromkeys(failing, "failure"), ran.out
    seen = ran.failure("In[3]")
    assert "-'second'\n+'third'" in seen
    assert "inside" in seen
    assert "within" in seen
    assert "VariantFailed: shop.total/Two: fail" in ran.failure("In[2]")
    assert "400 of 400 pixels differ" in ran.failure("In[5]")
    kept = project.path / "kept" / "shop"
    kinds = ("actual", "diff", "expected")
    assert sorted(os.listdir(kept)) == [f"In[5]-{kind}.png" for kind in kinds]
    (stored,) = nbformat.read(path, as_version=4).cells[4].outputs
    assert (kept / "In[5]-expected.png").read_bytes() == b64decode(stored.data["image/png"])


def test_an_update_stores_what_was_executed_unless_a_variant_does_not_pass(project):
    path = project.write("new.ipynb", DEFINE, CHECKED, "1 + 1", execute=False)
    before = path.read_bytes()
    (project.path / "shop.py").write_text(BROKEN)
    assert project.pytest("--pair-notebook", "--pair-update", "new.ipynb").code == 1
    assert path.read_bytes() == before
    (project.path / "shop.py").write_text(SHOP)
    assert project.pytest("--pair-notebook", "--pair-update", "new.ipynb").code == 0
    again = project.write("again.ipynb", DEFINE, CHECKED, "1 + 1")
    assert _cells(path) == _cells(again)
    ran = project.pytest("--pair-notebook", "new.ipynb::In[2][shop.total/Two]")
    assert (ran.code, ran.outcomes) == (0, {"In[2][shop.total/Two]": "passed"}), ran.out


def _cells(path):
    return nbformat.read(path, as_version=4).cells


def test_a_cell_that_takes_too_long_or_kills_its_kernel_fails_and_those_after_it_state_why(project):
    late, killed = "import time\ntime.sleep(60)", "import os, signal\nos.kill(os.getpid(), 9)"
    project.write("late.ipynb", "1", late, "2", outputs=("1", "", "2"))
    project.write("dead.ipynb", "1", killed, "2", outputs=("1", "", "2"))
    both = ("late.ipynb", "dead.ipynb")
    ran = project.pytest("--pair-notebook", "--pair-cell-timeout", "5", *both)
    seen = [line for line in ran.out.splitlines() if line.startswith("FAILED")]
    assert [line.partition(" - ")[0] for line in seen] == [
        f"FAILED {name}::In[{n}]" for name in both for n in (2, 3)
    ], ran.out
    assert "it took more than 5 s" in ran.out
    assert "the kernel died in it" in ran.out
    assert ran.out.count("the kernel was stopped at an earlier cell") >= 2


WITHIN = "out = ipywidgets.Output()\nwith out:\n    {}\nout"
WIDGETS = f"{DEFINE.removesuffix('None')}import ipywidgets"
CHANGED = {
    "a display that a later cell updates": (
        DEFINE,
        'shown = display(rp.run("shop.total/One"), display_id=True)',
        'shown.update(rp.run("shop.total/Two"))',
        "1 variant did not pass: shop.total/Two",
    ),
    "a widget": (WIDGETS, WITHIN.format(CHECKED), "", "1 variant did not pass: shop.total/Two"),
    "a widget that a later cell fills": (
        WIDGETS,
        WITHIN.format("pass"),
        "with out:\n    assert total([1, 2]) == 3",
        "the outputs are not the stored ones",
    ),
}


@pytest.mark.parametrize("cells", CHANGED.values(), ids=CHANGED)
def test_what_came_into_a_cell_later_or_within_a_widget_is_compared_too(project, cells):
    *cells, why = cells
    path = project.write("new.ipynb", *filter(None, cells))
    before = path.read_bytes()
    (project.path / "shop.py").write_text(BROKEN)
    # An update stores other outputs, and no result that did not pass.
    for options in [(), ("--pair-update",)][: 2 if "variant" in why else 1]:
        ran = project.pytest("--pair-notebook", *options, "new.ipynb")
        assert (ran.code, ran.outcomes["In[2]"]) == (1, "failure"), ran.out
        assert why in ran.out
        assert path.read_bytes() == before


def test_a_sweep_that_chose_nothing_fails_its_cell(project):
    project.write("new.ipynb", DEFINE, "rp.run_variants([])", CHECKED)
    ran = project.pytest("--pair-notebook", "new.ipynb")
    assert (ran.code, ran.outcomes["In[2]"]) == (1, "failure"), ran.out
    assert "a sweep chose no variant, so that none is shown to pass" in ran.out
    assert [name for name in ran.outcomes if name.startswith("In[2]")] == ["In[2]"]


TREE = """
import ipywidgets, traitlets
class Tree(ipywidgets.DOMWidget):
    children = traitlets.List([{"name": "leaf"}]).tag(sync=True)
    outputs = traitlets.List([1.5]).tag(sync=True)
Tree()"""


def test_a_widget_may_have_children_and_outputs_of_its_own_kind(project):
    project.write("new.ipynb", "import repl_pair", TREE)
    ran = project.pytest("--pair-notebook", "new.ipynb")
    assert (ran.code, ran.outcomes) == (0, {"In[1]": "passed", "In[2]": "passed"}), ran.out


def test_a_cell_that_was_not_executed_shows_nothing_of_what_is_stored(project):
    path = project.write("new.ipynb", DEFINE, CHECKED, "1 + 1", CHECKED)
    change(path, 1, source="1 / 0", metadata={"tags": ["skip-execution"]})
    change(path, 2, source="import os\nos._exit(1)")
    ran = project.pytest("--pair-notebook", "new.ipynb")
    assert (ran.outcomes["In[2]"], ran.outcomes["In[4][shop.total/Two]"]) == ("skipped", "failure")
    alone = project.pytest("--pair-notebook", "new.ipynb::In[4][shop.total/Two]")
    assert alone.code == 1, alone.out


def test_a_cell_that_may_raise_fails_where_it_hangs_and_that_is_not_stored(project):
    path = project.write("new.ipynb", "import repl_pair", "1 / 0", tags={1: "raises-exception"})
    change(path, 1, source="while True: pass")
    before = path.read_bytes()
    ran = project.pytest(
        "--pair-notebook", "--pair-update", "--pair-cell-timeout", "1", "new.ipynb"
    )
    assert (ran.code, ran.outcomes["In[2]"]) == (1, "failure"), ran.out
    assert path.read_bytes() == before


SAVES = """
from pathlib import Path
file = Path("new.ipynb")
_ = file.write_text(file.read_text().replace("# before", "# after"))
# before"""


def test_an_update_stores_nothing_over_what_was_saved_meanwhile_and_keeps_a_link(project):
    path = project.write("new.ipynb", SAVES, execute=False)
    ran = project.pytest("--pair-notebook", "--pair-update", "new.ipynb")
    assert ran.code == 1
    assert "new.ipynb was changed while it ran, so it was not stored." in ran.out
    assert "# after" in path.read_text()
    target = project.write("target.ipynb", "import repl_pair", execute=False)
    (project.path / "link.ipynb").symlink_to(target)
    assert project.pytest("--pair-notebook", "--pair-update", "link.ipynb").code == 0
    assert (project.path / "link.ipynb").is_symlink()
    assert nbformat.read(target, as_version=4).cells[0].execution_count == 1


def test_notebooks_are_run_by_one_of_both(project):
    ran = project.pytest("--nbval", "--pair-notebook")
    assert ran.code == 4
    assert "--pair-notebook runs notebooks in place of --nbval" in ran.out
