"""The cells of docs/stories.md run and give what the page shows; docs/tools.md names real tests."""

import ast
import re
from pathlib import Path

import pytest

from repl_pair.bridge import manifest
from repl_pair.bridge.scratch_kernel import scratch_kernel

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "stories.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TOOLS = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| [^|]+ \| (`[a-z_`, ]+) \| [^|]*\| \[\w+\]\(\.\./(\S+) \"(\w+)\"\) \|$",
    TOOLS,
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def ran():
    """Each block of the page with the cell that stands before it, or is it."""
    with scratch_kernel(environment={"PYTHONPATH": str(ROOT)}) as kernel:
        cell, found = None, []
        for kind, body in BLOCKS:
            cell = kernel.run(body) if kind == "python" else cell
            found.append((kind, body, cell))
        yield found


def test_the_cells_run(ran):
    cells = [cell for kind, _, cell in ran if kind == "python"]
    assert len(cells) >= 4
    assert [cell.error for cell in cells] == [None] * len(cells)


def test_the_cells_show_what_the_page_states(ran):
    shown = [(body.strip(), cell.value) for kind, body, cell in ran if kind == "text"]
    assert len(shown) >= 2
    assert [value for _, value in shown] == [body for body, _ in shown]


def texts_of(path, test):
    """Return the texts in a test function of a file, in its fixtures, and in what it reads."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert test in found, (path, test)
    read = {node.id for node in ast.walk(found[test]) if isinstance(node, ast.Name)}
    lines = [node for node in tree.body if isinstance(node, ast.Assign)]
    named = [line for line in lines if ast.unparse(line.targets[0]) in read]
    fixtures = [found[arg.arg] for arg in found[test].args.args if arg.arg in found]
    nodes = [node for root in (found[test], *fixtures, *named) for node in ast.walk(root)]
    return {node.value for node in nodes if isinstance(node, ast.Constant)}


def test_a_test_that_is_not_there_or_names_no_tool_would_be_noticed():
    path = "tests/mcp/test_shapes.py"
    assert "list_tags" in texts_of(path, "test_lists_are_items_with_ids_and_a_total")
    assert "list_tags" not in texts_of(path, "test_the_instructions_are_short")
    with pytest.raises(AssertionError):
        texts_of(path, "test_of_nothing")


def test_each_promised_tool_exists_and_is_driven_by_a_test_that_names_it():
    assert len(ROWS) == len(re.findall(r"^\| .*tests/mcp/", TOOLS, re.MULTILINE)) == 38
    built_in = {entry["name"] for entry in manifest.load()}
    for tools, path, test in ROWS:
        texts = texts_of(path, test)
        for tool in re.findall(r"\w+", tools):
            assert tool in built_in, tool
            assert tool in texts, (tool, path, test)
