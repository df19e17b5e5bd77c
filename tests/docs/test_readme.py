import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from repl_pair.bridge.scratch_kernel import scratch_kernel

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def blocks(language):
    return [body for kind, body in BLOCKS if kind == language]


IN_CI = [
    line
    for body in blocks("bash")
    for line in body.splitlines()
    if line.startswith("pytest ") or "--here" in line
]


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
    assert {kind for kind, _ in BLOCKS} == {"bash", "ipython", "python", "json", "text"}


def test_the_cells_run_and_the_last_shows_what_the_readme_says(cells):
    (shown,) = blocks("text")
    assert cells[-1].value == shown.strip()


def test_attaching_prints_a_line_that_names_this_kernel(kernel, cells):
    printed = cells[0].printed
    assert "repl_pair mcp --kernel" in printed
    assert str(kernel.path) in printed


def test_the_commands_for_a_kernel_run_against_it(kernel, cells):
    commands = [
        line
        for body in blocks("bash")
        for line in body.splitlines()
        if "make" not in line and line not in IN_CI
    ]
    assert len(commands) == 4
    for command in commands:
        program, *rest = shlex.split(command)
        assert program == "repl-pair"
        target = [] if rest == ["kernels"] else ["--kernel", str(kernel.path)]
        ran = subprocess.run(
            [sys.executable, "-m", "repl_pair", *rest, *target],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=ROOT,
        )
        assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
        shown = {"kernels": "", "init": str(kernel.path)}
        assert shown.get(rest[0], "shop.total/Two") in ran.stdout


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
    targets = [
        line.split()[1] for body in blocks("bash") for line in body.splitlines() if "make" in line
    ]
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
    (entry,) = [json.loads(body)["mcpServers"]["pair"] for body in blocks("json")]
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


def test_the_table_of_ops_is_up_to_date():
    spec = importlib.util.spec_from_file_location("tables", Path(__file__).parent / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    assert tables.replace(README, "ops", tables.ops_table()) == README, "run `make docs`"


def test_each_link_leads_to_a_file():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_rooms_that_the_architecture_page_names_exist():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`((?:runtime|bridge|mcp_server)/[\w/]+\.(?:py|json))`", page))
    assert len(files) > 8
    assert [name for name in files if not (ROOT / "repl_pair" / name).exists()] == []
