"""Clients from npm, the server's entry as `repl-pair init` prints it, and a kernel with stories."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from bounds import BOUND_S
from missing import miss
from serving import http_environment, make_token, serve

from repl_pair.bridge.scratch_kernel import scratch_kernel

HERE = Path(__file__).parent
BIN = HERE / "node_modules" / ".bin"
STORIES = """
import base64, pathlib, time
import repl_pair
from repl_pair import check

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)

class Picture:
    def _repr_png_(self):
        return PNG

@repl_pair.story("shop.total")
def total(prices: list[float], rate: float = 1.0) -> float:
    return sum(prices) * rate

repl_pair.variant("shop.total/Two", args={"prices": [4, 9]}, play=[check.path_equals("result", 13)])

@repl_pair.story("shop.chart")
def chart():
    return Picture()

repl_pair.variant("shop.chart/Dot")

@repl_pair.story("shop.wait")
def wait(marker: str, seconds: float = 600.0):
    pathlib.Path(marker).write_text("began")
    try:
        time.sleep(seconds)
    finally:
        pathlib.Path(marker).write_text("ended")

repl_pair.variant("shop.wait/Long", args={"marker": "marker"})

queue = repl_pair.surface("queue")
queue.cell("length", int, default=3, expose=True)
queue.cell("owner", str, default="ada")
"""


@pytest.fixture(scope="session")
def clients():
    """The folder of the clients' programs; installs them where that has not been done."""
    if shutil.which("npm") is None and not BIN.exists():
        miss("there is no npm to install the clients with")
    ran = subprocess.run(
        [sys.executable, str(HERE / "install.py")], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return BIN


@pytest.fixture(scope="session")
def kernel(tmp_path_factory):
    """A kernel whose person has registered stories."""
    env = {"JUPYTER_RUNTIME_DIR": str(tmp_path_factory.mktemp("runtime"))}
    with scratch_kernel(cwd=tmp_path_factory.mktemp("kernel"), environment=env) as kernel:
        ran = kernel.run(STORIES)
        assert ran.error is None, ran
        yield kernel


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The home of all that runs here."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def run(home, kernel):
    """Runs a program as a person with that home does; gives what it printed and its exit code."""

    def run(*words, cwd=None, bound_s=BOUND_S, **variables):
        own = {
            "HOME": str(home),
            "PATH": f"{BIN}{os.pathsep}{os.defpath}",
            "JUPYTER_RUNTIME_DIR": str(kernel.path.parent),
        }
        return subprocess.run(
            list(map(str, words)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=bound_s,
            check=False,
            cwd=cwd or home,
            env={**own, **variables},
        )

    return run


@pytest.fixture(scope="session")
def init(run, kernel):
    """Runs `repl-pair init` for that kernel; gives what it printed."""

    def init(*words, **how):
        command = [sys.executable, "-m", "repl_pair", "init", *words, "--kernel", kernel.path]
        ran = run(*command, **how)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return init


@pytest.fixture(scope="session")
def config(init, home):
    """Writes the file that a client starts the server by: `config("--allow", "inspect")`."""

    @cache
    def write(*options, python=()):
        document = json.loads(init("claude", "--print", *options))
        document["mcpServers"]["pair"]["args"][:0] = python
        path = home / f"{len(list(home.glob('*.json')))}.json"
        path.write_text(json.dumps(document))
        return path

    return write


@pytest.fixture(scope="session")
def inspect(clients, run, config):
    """Runs Inspector's command line: `inspect("tools/list", "--strict")`."""

    def inspect(method, *words, file=None):
        place = ("--config", file or config(), "--server", "pair")
        how = ("--method", method, "--format", "json", *words)
        # Not the keychain of whoever runs the tests.
        return run("mcp-inspector", "--cli", *place, *how, MCP_INSPECTOR_SECRET_STORE="memory")

    return inspect


@pytest.fixture(scope="session")
def port(clients, run, config):
    """Runs mcporter: `port("call", "pair.list_stories")`."""
    return lambda *words, file=None, **how: run(
        "mcporter", "--config", file or config(), *words, **how
    )


@pytest.fixture(scope="session")
def http_env(kernel, home):
    """The environment of the server over HTTP."""
    return http_environment({"JUPYTER_RUNTIME_DIR": str(kernel.path.parent)}, home / "config-http")


@pytest.fixture(scope="session")
def token(http_env, kernel):
    """A token of that kernel."""
    return make_token(http_env, "other", kernels=(str(kernel.path),))


@pytest.fixture(scope="session")
def served(http_env, token):
    """A server over HTTP that takes the token."""
    with serve(http_env) as server:
        yield server
