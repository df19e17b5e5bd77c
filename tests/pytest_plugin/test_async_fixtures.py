"""Async fixtures of pytest-asyncio and anyio: a variant runs on the loop on which they live."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / ".pytest-asyncio"
CONFTEST = """
import asyncio
import pytest

{fixtures}

class Doubler:
    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.asked = asyncio.Queue()
        self.task = self.loop.create_task(self.serve())

    async def serve(self):
        while True:
            n, answer = await self.asked.get()
            answer.set_result(2 * n)

    async def double(self, n):
        assert asyncio.get_running_loop() is self.loop
        answer = self.loop.create_future()
        await self.asked.put((n, answer))
        return await answer


@fixture(scope="session")
async def doubler():
    doubler = Doubler()
    yield doubler
    doubler.task.cancel()
    print("closed on its loop:", asyncio.get_running_loop() is doubler.loop)


@fixture
async def four():
    return 4
"""
STORIES = """
import pytest
import repl_pair
from repl_pair import check, fixture

async def ask(doubler, n=2):
    return await doubler.double(n)

marks = [pytest.mark.usefixtures("backend")]
repl_pair.story("ask", component=ask, args={"doubler": fixture("doubler")})
repl_pair.variant("ask/Two", play=[check.result_equals(4)], marks=marks)
repl_pair.variant("ask/Three", args={"n": 3}, play=[check.result_equals(6)], marks=marks)
eight = check.result_equals(8)
repl_pair.variant("ask/Four", args={"n": fixture("four")}, play=[eight], marks=marks)
"""
ANYIO = """
fixture = pytest.fixture

@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"

@pytest.fixture(scope="session")
def backend(anyio_backend):
    pass
"""
ASYNCIO = """
import pytest_asyncio
fixture = pytest_asyncio.fixture

@pytest.fixture
def backend():
    pass
"""
INI = "[pytest]\nasyncio_default_fixture_loop_scope = {}\n"


TESTS = """
import pytest
from conftest import fixture

@pytest.mark.usefixtures("backend")
class TestClient:
    @fixture(autouse=True)
    async def made(self):
        self.client = "made"
        yield
        self.client = "closed"

    @fixture
    async def port(self):
        self.port = 1
        return 1

    def test_of_a_class(self, port):
        assert (self.client, self.port) == ("made", port)

@fixture
async def none(backend):
    if False:
        yield

@fixture
async def twice(backend):
    yield 1
    yield 2

def test_none(none): pass

def test_twice(twice): pass
"""


def run(folder, fixtures, scope="session", path=(), words=()):
    (folder / "conftest.py").write_text(CONFTEST.replace("{fixtures}", fixtures))
    (folder / "stories_ask.py").write_text(STORIES)
    if path:
        (folder / "pytest.ini").write_text(INI.format(scope))
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *path])},
    )
    return found.stdout


def test_a_variant_runs_on_the_loop_of_its_fixtures_by_anyio(tmp_path):
    shown = run(tmp_path, ANYIO)
    assert "3 passed" in shown, shown
    assert "closed on its loop: True" in shown


@pytest.mark.full
def test_a_variant_runs_on_the_loop_of_its_fixtures_by_pytest_asyncio(tmp_path):
    # `make test-all` installs it there: in the environment it would be part of every session.
    assert PLUGIN.is_dir()
    shown = run(tmp_path, ASYNCIO, path=[str(PLUGIN)])
    assert "3 passed" in shown, shown
    assert "closed on its loop: True" in shown
    shown = run(tmp_path, ASYNCIO, "fixture-scope", path=[str(PLUGIN)])
    assert "1 failed, 2 passed" in shown, shown
    assert "its async fixtures live on several loops: give them one loop scope." in shown


@pytest.mark.parametrize(
    ("fixtures", "path"),
    [(ANYIO, []), pytest.param(ASYNCIO, [str(PLUGIN)], marks=pytest.mark.full)],
    ids=["anyio", "pytest-asyncio"],
)
def test_async_fixtures_of_tests_beside_stories_are_what_they_are_without(tmp_path, fixtures, path):
    (tmp_path / "test_client.py").write_text(TESTS)
    beside = run(tmp_path, fixtures, path=path, words=["test_client.py"])
    alone = run(tmp_path, fixtures, path=path, words=["test_client.py", "-p", "no:repl_pair"])
    for shown in (beside, alone):
        assert "2 passed, 2 errors" in shown, shown
    wanted = [line for line in alone.splitlines() if line.startswith(("E  ", "ERROR"))]
    assert [x for x in beside.splitlines() if x.startswith(("E  ", "ERROR"))] == wanted
