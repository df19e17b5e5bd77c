"""The commands of docs/http.md, as they stand there: each block runs, and prints what it is for."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from ports import free_ports
from serving import http_environment, make_token, serve

PAGE = Path(__file__).parents[2] / "docs" / "http.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
SHELLS = ("sh", "bash")
COMMANDS = [text for language, text in BLOCKS if language in SHELLS]
PRINTS = {
    "repl-pair token add": r"rpt_[\w-]{43}",
    "repl-pair token list": r"\bada\b",
    "repl-pair token remove": "",
    "repl-pair init": r"\"url\": \"http://127\.0\.0\.1:\d+/mcp\"",
    "curl": r"data: .*\"shop\.total\"",
}
"""What the output of a block holds for each of its commands, by how the command begins."""
SERVE = "repl-pair mcp --http"


def test_each_block_of_the_page_is_of_commands_or_of_data():
    assert {language for language, _ in BLOCKS} <= {*SHELLS, "python", "json", "toml", "text"}
    assert len(COMMANDS) > 2


@pytest.mark.parametrize("block", COMMANDS, ids=lambda block: block.split("\n")[0][:40])
def test_the_commands_of_a_block_do_what_the_page_says(run, kernel, home, tmp_path, block):
    (port,) = free_ports(1)
    place = f"127.0.0.1:{port}"  # the page's own port may be taken here
    lines = block.replace("127.0.0.1:7331", place).splitlines()
    env = {"JUPYTER_RUNTIME_DIR": str(kernel.path.parent), "HOME": str(home)}
    env = http_environment(env, tmp_path / "config")
    token = make_token(env, "own", kernels=(str(kernel.path),))
    serving = [line for line in lines if line.startswith(SERVE)]
    (options,) = [shlex.split(line)[3:] for line in serving] or [()]
    with serve(env, *options, place=place) as server:
        env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
        env |= {"URL": server.url, "REPL_PAIR_TOKEN": token}
        rest = "\n".join(line for line in lines if line not in serving)
        ran = run("sh", "-eu", "-c", rest, cwd=tmp_path, **env)
    assert ran.returncode == 0, ran.stderr
    for line in filter(re.compile(r"[^\s#]").match, rest.splitlines()):
        (pattern,) = [PRINTS[begin] for begin in PRINTS if line.startswith(begin)]
        assert re.search(pattern, ran.stdout), (line, ran.stdout)


def test_the_client_in_python_lists_the_stories(run, kernel, home, tmp_path):
    (program,) = [text for language, text in BLOCKS if language == "python"]
    env = {"JUPYTER_RUNTIME_DIR": str(kernel.path.parent), "HOME": str(home)}
    env = http_environment(env, tmp_path / "config")
    env["REPL_PAIR_TOKEN"] = make_token(env, "own", kernels=(str(kernel.path),))
    with serve(env) as server:
        ran = run(sys.executable, "-c", program, cwd=tmp_path, **env, URL=server.url)
    assert "'shop.total'" in ran.stdout, ran.stderr
