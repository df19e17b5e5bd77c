"""The same stories give the same in each way of running them, item by item, broken and mended."""

import asyncio
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from notebook_project import new_project

SHOP = """
def total(prices, currency="eur"):
    return {"total": sum(prices), "currency": currency}
"""
STORIES = """
import repl_pair
import shop
from repl_pair import check

repl_pair.tag("quick")
repl_pair.mode("currency/usd", axis="currency", args={"currency": "usd"})
repl_pair.mode("currency/chf", axis="currency", args={"currency": "chf"})
repl_pair.story("shop.total", component=shop.total, modes=["currency/usd", "currency/chf"])
repl_pair.variant(
    "shop.total/One", args={"prices": [1]}, play=[check.path_equals("result.total", 1)]
)
repl_pair.variant(
    "shop.total/Two",
    args={"prices": [1, 2]},
    tags=["quick"],
    play=[check.path_equals("result.total", 3), check.matches_snapshot()],
)
repl_pair.variant(
    "shop.total/Franc",
    args={"prices": [5], "currency": "chf"},
    play=[check.path_equals("result.currency", "chf")],
)
"""
MODES = ("", "currency/chf", "currency/usd")
EVERY = sorted((f"shop.total/{name}", mode) for name in ("One", "Two", "Franc") for mode in MODES)
BROKEN = sorted(("shop.total/Two", mode) for mode in MODES)


def from_junit(file):
    """Return what a JUnit file says of each run: its status, its assertions and its identity."""
    found = {}
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        text = {one.get("name"): one.get("value") for one in case.iter("property")}
        if "variant" not in text:
            continue  # a cell of a notebook
        assert text["variant"] in case.get("name")
        key = text["variant"], text.get("modes", "")
        assert key not in found, key
        marks = {one.tag for one in case} & {"failure", "error"}
        assert bool(marks) == (text["status"] != "pass"), key
        found[key] = text["status"], int(text["assertions"]), text["content_hash"]
    return found


def by_pytest(project):
    ran = project.pytest_as_installed("stories_shop.py")
    return ran.code, from_junit(project.path / "junit.xml")


def by_two_processes(project):
    ran = project.pytest("stories_shop.py", "-n", "2")
    return ran.code, from_junit(project.path / "junit.xml")


def by_nbval(project):
    ran = project.pytest_as_installed("--nbval", "shop.ipynb")
    return ran.code, from_junit(project.path / "junit.xml")


def by_command_line(project):
    words = ["run", "--here", "--modes", "all", "--junit", "cli.xml"]
    ran = subprocess.run(
        [sys.executable, "-m", "repl_pair", *words],
        cwd=project.path, env=project.environ, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return ran.returncode, from_junit(project.path / "cli.xml")


def over_mcp(project):
    result = asyncio.run(_ask(project))
    rows = {
        (row["variant_id"], "+".join(row.get("modes", ()))): (
            row["status"],
            row["total"],
            row["content_hash"],
        )
        for row in result["items"]
    }
    return int(result["status"] != "pass"), rows


async def _ask(project):
    words = ["-m", "repl_pair", "mcp", "--here", "--toolsets", "story"]
    server = StdioServerParameters(
        command=sys.executable, args=words, cwd=project.path, env=project.environ
    )
    async with Client(stdio_client(server)) as client:
        args = {"story_id": "shop.total", "matrix": "all", "limit": 200, "detail": "full"}
        reply = (await client.call_tool("run_variants", args)).structured_content
    assert reply["ok"], str(reply)
    return reply["result"]


WAYS = {
    "pytest": by_pytest,
    "two processes": by_two_processes,
    "nbval": by_nbval,
    "command line": by_command_line,
    "MCP": over_mcp,
}


@pytest.fixture
def project(tmp_path):
    """A project whose snapshots and notebook are stored, and whose shop is then broken."""
    made = new_project(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "stories_shop.py").write_text(STORIES)
    assert made.pytest("stories_shop.py", "--pair-update").code == 0
    made.write(
        "shop.ipynb", "import repl_pair as rp, stories_shop", "rp.run_variants(story='shop.total')"
    )
    (tmp_path / "shop.py").write_text(SHOP.replace("sum(prices)", "sum(prices[:1])"))
    return made


def test_five_ways_fail_by_the_same_names_and_pass_when_that_is_mended(project):
    broken = {way: run(project) for way, run in WAYS.items()}
    for way, (code, rows) in broken.items():
        assert code == 1, way
        assert rows == broken["pytest"][1], way
        assert sorted(key for key, row in rows.items() if row[0] == "fail") == BROKEN, way
        assert sorted(key for key, row in rows.items() if row[0] == "pass") == sorted(
            set(EVERY) - set(BROKEN)
        ), way
    (project.path / "shop.py").write_text(SHOP)
    mended = {way: run(project) for way, run in WAYS.items()}
    for way, (code, rows) in mended.items():
        assert (code, sorted(rows)) == (0, EVERY), way
        assert {row[0] for row in rows.values()} == {"pass"}, way
        assert rows == mended["pytest"][1], way
        hashes = {key: row[2] for key, row in rows.items()}
        assert hashes == {key: row[2] for key, row in broken[way][1].items()}, way
        assert len(set(hashes.values())) == len(EVERY), way
