"""The files and commands of docs/ci.md do what the page says."""

import re
import shlex
from pathlib import Path

import pytest

import repl_pair

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FILES = {
    found[1]: body
    for kind, body in BLOCKS
    if kind == "python" and (found := re.match(r"# (stories_\w+\.py)\n", body))
}
COMMANDS = [
    (line, text.splitlines())
    for kind, body in BLOCKS
    if kind == "console"
    for line, text in re.findall(r"^\$ pytest (.*)\n((?:[^$].*\n)*)", body, re.MULTILINE)
]


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    undo = repl_pair.registry.checkpoint()
    for name, body in FILES.items():
        pytester.path.joinpath(name).write_text(body)
    yield pytester
    undo()


def test_the_page_has_files_and_commands():
    assert sorted(FILES) == ["stories_pricing.py", "stories_stock.py"]
    assert len(COMMANDS) == 4


@pytest.mark.parametrize(("line", "text"), COMMANDS, ids=[line for line, _ in COMMANDS])
def test_a_command_states_what_the_page_states(project, line, text):
    (project.path / "stories_stock.py").unlink(missing_ok=True)
    result = project.runpytest_inprocess("-p", "no:cacheprovider", *shlex.split(line))
    shown = [*result.outlines, *result.errlines]
    if "--collect-only" in line:
        assert [one for one in result.outlines if "::" in one] == text
    for wanted in text:
        assert any(one.startswith(wanted) for one in shown), (wanted, shown)


def test_the_variant_with_a_fixture_gets_it(project):
    project.makeconftest(
        "import pytest\n@pytest.fixture(params=['sqlite', 'postgres'])\n"
        "def db(request): return [1, 2]"
    )
    result = project.runpytest_inprocess("stories_stock.py::stock.count/two[postgres]")
    result.assert_outcomes(passed=1)
