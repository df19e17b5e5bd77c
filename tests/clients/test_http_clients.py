"""Clients that others wrote, over HTTP: Inspector, mcporter and curl, as the docs name them."""

import json
import shutil
from pathlib import Path

import pytest
from serving import http_environment, make_token, serve

TOTAL = "shop.total/Two"


@pytest.fixture(scope="module")
def token(kernel, home):
    env = http_environment({"JUPYTER_RUNTIME_DIR": str(kernel.path.parent)}, home / "config-http")
    return env, make_token(env, "other", kernels=(str(kernel.path),))


@pytest.fixture(scope="module")
def server(token):
    with serve(token[0]) as server:
        yield server


@pytest.fixture(scope="module")
def inspect_http(clients, run, server, token):
    """Runs Inspector's command line over HTTP."""

    def inspect(method, *words):
        place = (server.url, "--transport", "http", "--header", f"Authorization: Bearer {token[1]}")
        how = ("--method", method, "--format", "json", *words)
        return run("mcp-inspector", "--cli", *place, *how, MCP_INSPECTOR_SECRET_STORE="memory")

    return inspect


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_finds_no_fault_over_http(inspect_http, era):
    ran = inspect_http("tools/list", "--strict", "--protocol-era", era)
    assert ran.returncode == 0, ran.stderr
    names = [tool["name"] for tool in json.loads(ran.stdout)["result"]["tools"]]
    assert "run_variant" in names
    assert "use_kernel" not in names
    args = json.dumps({"variant_id": TOTAL})
    call = ("--tool-name", "run_variant", "--tool-args-json", args)
    ran = inspect_http("tools/call", *call, "--protocol-era", era)
    assert ran.returncode == 0, ran.stderr
    reply = json.loads(ran.stdout)["result"]["structuredContent"]
    assert reply["result"]["status"] == "pass"


def test_mcporter_lists_calls_and_reads_over_http(clients, run, server, token, home):
    file = home / "http.json"
    headers = {"Authorization": "Bearer ${REPL_PAIR_TOKEN}"}
    entry = {"baseUrl": server.url, "headers": headers}
    file.write_text(json.dumps({"mcpServers": {"pair": entry}}))

    def port(*words):
        ran = run("mcporter", "--config", file, *words, REPL_PAIR_TOKEN=token[1])
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    assert "run_variant" in port("list", "pair", "--schema")
    args = ("--args", json.dumps({"variant_id": TOTAL}), "--output", "json")
    assert json.loads(port("call", "pair.run_variant", *args))["result"]["status"] == "pass"
    assert "3" in port("resource", "pair", "surface://queue/length")


CURL = r"""
curl -s $URL -H "Authorization: Bearer $REPL_PAIR_TOKEN" \
  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: list_stories' \
  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_stories",
       "arguments": {}, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
       "io.modelcontextprotocol/clientCapabilities": {}}}}'
"""
"""One call by curl, without a session; docs/http.md shows it."""
PAGE = Path(__file__).parents[2] / "docs" / "http.md"


def test_the_page_shows_the_call_that_is_tested():
    assert f"```sh{CURL}```" in PAGE.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl_calls_a_tool_as_the_docs_show_it(run, server, token):
    ran = run("sh", "-c", CURL, URL=server.url, REPL_PAIR_TOKEN=token[1], PATH="/usr/bin:/bin")
    (line,) = [line for line in ran.stdout.splitlines() if line.startswith("data: ")]
    reply = json.loads(line[6:])["result"]["structuredContent"]
    assert [item["id"] for item in reply["result"]["items"]] == [
        "shop.chart",
        "shop.total",
        "shop.wait",
    ]
