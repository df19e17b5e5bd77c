"""A project of stories, and the command line over it: in this process and in one of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bounds import BOUND_S
from click.testing import CliRunner, Result

from repl_pair.__main__ import program as main
from repl_pair.bridge.scratch_kernel import ScratchKernel, scratch_kernel
from repl_pair.runtime.project import database
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.runtime.store import STORE

ROOT = Path(__file__).parents[2]

STORIES = '''
import time
from pathlib import Path
from typing import Annotated

import repl_pair
from repl_pair import Sensitive, check

print("printed while loading")
repl_pair.tag("quick")
repl_pair.mode("size/big", axis="size", args={"n": 1000})


@repl_pair.story("shop.double", modes=["size/big"])
def double(n: int = 1) -> int:
    """Double a number."""
    with Path("ran.txt").open("a") as log:
        log.write(f"{n}\\n")
    return 2 * n


repl_pair.variant("shop.double/Good", args={"n": 2}, play=[check.path_equals("result", 4)])
repl_pair.variant("shop.double/Bad", args={"n": 2}, play=[check.path_equals("result", 5)])
repl_pair.variant("shop.double/Free", play=[check.path_equals("result", 2000)])


@repl_pair.story("shop.slow")
def slow(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


repl_pair.variant("shop.slow/Short", args={"seconds": 0})
repl_pair.variant("shop.slow/Long", args={"seconds": 1.5})


@repl_pair.story("shop.key", args={"api_key": "pk-test-61Zq0mWv83Lx"})
def key(api_key: Annotated[str, Sensitive]) -> str:
    return f"with {api_key}"


repl_pair.variant("shop.key/Used")
'''


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins and ends with what ships, and nothing else, in the registries."""
    monkeypatch.setattr(sys, "path", [*sys.path])  # a command puts its project there
    undo = REGISTRY.checkpoint()
    yield
    undo()
    STORE.reset(RESULTS.name, {})
    sys.modules.pop("stories_shop", None)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with one story file; it is the working directory."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "stories_shop.py").write_text(STORIES)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(database, "_open", [])  # a command opens that of its folder
    yield folder
    database.close_project()


@pytest.fixture
def runtime_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Jupyter's runtime dir of this test, and of all that it starts."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def pair() -> Callable[..., Result]:
    """Runs a command in this process: `pair("list", "stories", "--here")`."""
    return lambda *words: CliRunner().invoke(main, words, catch_exceptions=False)


@pytest.fixture
def shell() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs a command in a process of its own, as the person does."""

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "repl_pair", *words],
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )

    return run


@pytest.fixture
def start(runtime_dir: Path, project: Path) -> Iterator[Callable[..., ScratchKernel]]:
    """Starts kernels, in the project's folder or another, that have run its stories as one cell."""
    environment = {"JUPYTER_RUNTIME_DIR": str(runtime_dir), "PYTHONPATH": str(ROOT)}
    opened = []

    def begin(cwd: Path = project) -> ScratchKernel:
        context = scratch_kernel(cwd=cwd, environment=environment)
        kernel = context.__enter__()
        opened.append(context)
        ran = kernel.run(STORIES, cell="stories")
        assert ran.error is None, ran
        return kernel

    yield begin
    for context in opened:
        context.__exit__(None, None, None)


@pytest.fixture
def kernel(start: Callable[[], ScratchKernel]) -> ScratchKernel:
    """One such kernel."""
    return start()


@pytest.fixture
def envelopes() -> Callable[[str], list[dict]]:
    """Reads what `--json` printed: one envelope a line."""
    return lambda text: [json.loads(line) for line in text.splitlines()]
