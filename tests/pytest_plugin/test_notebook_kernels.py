"""The kernel in which a notebook is run, where it is one of another language."""

import nbformat
import pytest
from notebook_project import new_project

ABOUT = {
    "kernelspec": ("kernelspec", {"name": "bash", "display_name": "B", "language": "bash"}, "bash"),
    "language_info": ("language_info", {"name": "R"}, "NAME"),
}


@pytest.mark.parametrize(("slot", "about", "kernel"), ABOUT.values(), ids=ABOUT)
def test_a_notebook_in_another_language_is_refused_unless_a_kernel_is_named(
    tmp_path, slot, about, kernel
):
    project = new_project(tmp_path)
    path = project.write("sh.ipynb", "echo hi", outputs=[""])
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata[slot] = about
    nbformat.write(notebook, path)
    ran = project.pytest("--pair-notebook", path.name)
    language = about.get("language", about["name"])
    how = f"leave it out by --ignore, or give --pair-kernel {kernel}"
    assert f"sh.ipynb is written in {language}: {how}" in ran.out
    assert ran.code == 2, ran.out
    named = project.pytest("--pair-notebook", "--pair-kernel", "any", "--collect-only", "-q")
    assert "sh.ipynb::In[1]" in named.out
