"""The notebooks of the project, run as a reader's CI would run them, by nbval and by our runner."""

import shutil
from pathlib import Path

import nbformat
import pytest
from notebook_project import new_project

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TOUR = ("authoring_variants", "tour", "variants_in_ci")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = new_project(tmp_path_factory.mktemp("notebooks"))
    for path in NOTEBOOKS:
        shutil.copy(path, made.path)
    return made


def test_a_newcomer_finds_the_tour_and_where_it_leads():
    assert {*TOUR} <= {path.stem for path in NOTEBOOKS}


@pytest.mark.parametrize("flag", ["--nbval", "--pair-notebook"])
def test_each_notebook_runs_top_to_bottom_to_the_outputs_that_it_is_stored_with(project, flag):
    ran = project.pytest(flag, MPLBACKEND="module://matplotlib_inline.backend_inline")
    assert (ran.code, set(ran.outcomes.values())) == (0, {"passed"}), ran.out
    shown = [name for name in ran.cases if name.endswith("[shop.receipt/Plain]")]
    assert len(shown) >= 2, ran.cases


@pytest.mark.parametrize("name", TOUR)
def test_each_shows_something_to_look_at(name):
    cells = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4).cells
    shown = {mime for c in cells for out in c.get("outputs", ()) for mime in out.get("data", ())}
    assert {"image/png", "text/html"} & shown
    assert "application/vnd.repl-pair.results+json" in shown
    assert not [c for c in cells if c.cell_type == "code" and c.execution_count is None]
