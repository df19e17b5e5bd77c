import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from repl_pair.bridge.scratch_kernel import scratch_kernel
from repl_pair.cli.setup.hosts import HOSTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def blocks_of(page):
    return re.findall(r"^```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


BLOCKS = blocks_of(README)


def blocks(language, page=README):
    return [body for kind, body in blocks_of(page) if kind == language]


def commands(program, page=README):
    return [
        line
        for body in blocks("bash", page)
        for line in body.splitlines()
        if line.startswith(f"{program} ")
    ]


IN_CI = [*commands("pytest"), *(line for line in commands("repl-pair") if "--here" in line)]


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("tables", Path(__file__).parent / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kernel():
    with scratch_kernel(environment={"PYTHONPATH": str(ROOT)}) as kernel:
        yield kernel


@pytest.fixture(scope="module")
def cells(kernel):
    """What each cell of the README gave, run in order in one kernel."""
    ran = [kernel.run(body) for body in (*blocks("ipython"), *blocks("python"))]
    assert [cell.error for cell in ran] == [None] * len(ran)
    return ran


def test_every_block_is_of_a_kind_that_is_run_here():
    assert {kind for kind, _ in BLOCKS} == {"bash", "ipython", "python", "text"}
    assert {kind for kind, _ in blocks_of(INSTALL)} == {"bash", "ipython", "json"}
    assert set(blocks("ipython", INSTALL)) <= set(blocks("ipython"))
    lines = [
        line
        for page in (README, INSTALL)
        for body in blocks("bash", page)
        for line in body.splitlines()
    ]
    assert {line.split()[0] for line in lines} == {"pip", "repl-pair", "make", "pytest"}


def test_the_package_is_installed_from_a_checkout_of_this_repository():
    """`.` is a project that pip can build, and it has the command that the next line runs."""
    assert commands("pip") == commands("pip", INSTALL) == ["pip install ."]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "repl-pair"
    assert "repl-pair" in project["scripts"]
    extras = re.findall(r"^\| `\.\[(\w+)\]` ", INSTALL, re.MULTILINE)
    assert sorted(extras) == sorted(project["optional-dependencies"])


def test_the_cells_run_and_show_what_the_readme_states_below_them(cells):
    ran = dict(zip((*blocks("ipython"), *blocks("python")), cells, strict=True))
    shown = [(above, body) for (_, above), (kind, body) in pairwise(BLOCKS) if kind == "text"]
    assert shown
    for above, body in shown:
        assert ran[above].value == body.strip()


def test_attaching_prints_a_line_that_names_this_kernel(kernel, cells):
    printed = cells[0].printed
    assert "repl_pair mcp --kernel" in printed
    assert str(kernel.path) in printed


def test_the_commands_for_a_kernel_run_against_it(kernel, cells, tmp_path):
    lines = [line for line in commands("repl-pair") if line not in IN_CI]
    lines += commands("repl-pair", INSTALL)
    assert len(lines) == 7
    for line in lines:
        _, *rest = shlex.split(line)
        target = [] if rest == ["kernels"] else ["--kernel", str(kernel.path)]
        ran = subprocess.run(
            [sys.executable, "-m", "repl_pair", *rest, *target],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert ran.returncode == 0, (line, ran.stdout, ran.stderr)
        written = "--write" in rest
        output = (tmp_path / ".mcp.json").read_text() if written else ran.stdout
        expected = {"kernels": "", "init": str(kernel.path)}
        expected |= {"reviews": "1 submitted" if "submit" in rest else "Why is it 13?"}
        assert expected.get(rest[0], "shop.total/Two") in output


def test_the_page_names_each_client_with_the_file_that_init_writes():
    rows = re.findall(r"^\| (.+) \| `repl-pair init (\w+)` \| `(.+)` \|$", INSTALL, re.MULTILINE)
    assert {(word, title, file) for title, word, file in rows} == {
        (word, host.title, host.project) for word, host in HOSTS.items()
    }


def test_the_commands_for_ci_run_the_readmes_story(tmp_path):
    assert len(IN_CI) == 2
    story = next(body for body in blocks("python") if "rp.story" in body)
    (tmp_path / "stories_shop.py").write_text(story)
    for command in IN_CI:
        program, *rest = shlex.split(command)
        module = {"pytest": "pytest", "repl-pair": "repl_pair"}[program]
        ran = subprocess.run(
            [sys.executable, "-m", module, *rest],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
    assert "shop.total/Two" in (tmp_path / "out.xml").read_text()


def test_the_make_commands_are_targets_that_do_their_own_set_up():
    targets = [line.split()[1] for line in commands("make")]
    assert targets == ["demo", "test"]
    for target in targets:
        plan = subprocess.run(
            ["make", "--dry-run", "--always-make", target],
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=60,
            check=True,
        ).stdout
        assert "-m venv" in plan
        assert {"demo": "repl-pair demo", "test": "-m pytest"}[target] in plan


def test_the_server_entry_starts_a_server_that_answers_for_the_kernel(kernel, cells):
    (entry,) = [json.loads(body)["mcpServers"]["pair"] for body in blocks("json", INSTALL)]
    assert entry["command"] == "repl-pair"
    args = [str(kernel.path) if word == "KERNEL" else word for word in entry["args"]]
    frames = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "list_variants", "arguments": {}}},
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "repl_pair", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    ) as server:
        for frame in frames:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
            server.stdin.flush()
        replies = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        server.wait(30)
    listed = replies[1]["result"]["structuredContent"]["result"]["items"]
    assert [item["id"] for item in listed] == ["shop.total/Two"]


def test_the_generated_parts_are_up_to_date(tables):
    pages = tables.generated()
    assert {page.name for page in pages} == {
        "README.md",
        "ARCHITECTURE.md",
        "stories.md",
        "tools.md",
    }
    for page, text in pages.items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name}: run `make docs`"


def test_the_readme_has_eight_of_the_figures(tables):
    assert len(set(tables.HEADLINES)) == 8
    table = re.search("<!-- headlines -->\n(.*?)<!-- /headlines -->", README, re.DOTALL)[1]
    assert len(table.splitlines()) == 2 + 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_to_a_file(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    files = [link for link in links if not link.startswith("https:")]
    assert [link for link in files if not (page.parent / link).exists()] == []


def test_the_index_names_each_page_and_each_notebook():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    notebooks = [f"../notebooks/{file.name}" for file in (ROOT / "notebooks").glob("*.ipynb")]
    assert [page for page in (*pages, *notebooks) if f"({page})" not in index] == []


def test_the_files_that_the_architecture_page_names_exist():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`([a-z_]+/[\w/]*(?:\.(?:py|json)|/))`", page))
    assert len(files) > 25
    homes = (ROOT / "repl_pair", ROOT)
    assert [name for name in files if not any((home / name).exists() for home in homes)] == []
    assert len(page.splitlines()) <= 200
