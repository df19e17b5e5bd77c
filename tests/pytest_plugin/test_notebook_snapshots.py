"""Snapshots of variants from the cells of notebooks: where they are, and what may be stored."""

import pytest
from notebook_project import new_project

from repl_pair.runtime.snapshots.records import SnapshotKey
from repl_pair.runtime.snapshots.store import SnapshotStore

PRICE = """\
import repl_pair as rp
@rp.story("shop.price")
def price(n):
    return n * {}
rp.variant("shop.price/Bulk", args={{"n": 2}}, play=[rp.check.matches_snapshot()])
None"""
RUN = 'rp.run("shop.price/Bulk")'
TWO = "shop.price/Bulk gave two outputs that differ in one update: give each its own name"


@pytest.fixture
def project(tmp_path):
    made = new_project(tmp_path)
    (tmp_path / ".git").mkdir()
    return made


def stored_text(project):
    store = SnapshotStore(project.path / ".repl_pair" / "snapshots")
    return store.find(SnapshotKey(variant_id="shop.price/Bulk")).text


@pytest.mark.parametrize(
    "words", [("--pair-notebook",), ("--nbval", "--pair-cleared", "-n2", "--dist=loadfile")]
)
def test_an_update_refuses_two_notebooks_that_give_one_name_outputs_that_differ(project, words):
    for name, factor in {"a.ipynb": 1, "b.ipynb": 5, "c.ipynb": 5}.items():
        project.write(name, PRICE.format(factor), RUN, execute=False)
    ran = project.pytest(*words, "--pair-update", "a.ipynb", "b.ipynb")
    assert ran.code == 1, ran.out
    assert TWO in ran.out
    assert project.pytest(*words, "--pair-update", "b.ipynb", "c.ipynb").code == 0
    assert stored_text(project) == "10\n"


def test_an_update_refuses_two_outputs_that_one_notebook_gives_one_name(project):
    project.write("a.ipynb", PRICE.format(1), RUN, PRICE.format(5), RUN, execute=False)
    ran = project.pytest("--pair-notebook", "--pair-update", "a.ipynb")
    assert [name for name, how in ran.outcomes.items() if how == "failure"] == ["In[4]"], ran.out
    assert TWO in ran.out
    assert stored_text(project) == "2\n"


def test_a_notebook_that_changes_its_folder_stores_with_its_project_as_a_person_does(project):
    away = "import os, tempfile\nos.chdir(tempfile.mkdtemp())"
    path = project.write("a.ipynb", away, PRICE.format(1), RUN, execute=False)
    ran = project.pytest("--pair-notebook", "--pair-update", path.name)
    assert ran.code == 0, ran.out
    assert stored_text(project) == "2\n"
    assert project.pytest("--nbval", path.name).code == 0
