from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def executed(monkeypatch, tmp_path):
    def execute(path):
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
        return notebook

    return execute


def shown(cell):
    """What a cell shows: its value as text, else what it printed."""
    parts = [out.get("data", {}).get("text/plain") or out.get("text") for out in cell.outputs]
    return "".join(part for part in parts if part)


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["first_story.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert [c.outputs for c in cells] == [[]] * len(cells)


def test_the_first_story_shows_what_it_tells(executed):
    notebook = executed(ROOT / "notebooks" / "first_story.ipynb")
    assert [shown(c) for c in notebook.cells if c.cell_type == "code"] == [
        "",
        "variant shop.total/Two",
        "('pass', 3, {'total': 13.0, 'currency': 'EUR'}, 'adding 2\\n')",
        "'USD'",
        "\"path_equals: result.totl: no 'totl' in result; near: total\"",
        "True",
        "'fail'",
        "repl_pair 0.1.0, not attached: %pair attach. stories: 1, variants: 2, modes: 1\n",
    ]
