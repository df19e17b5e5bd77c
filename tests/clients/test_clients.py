"""Clients that others wrote, as their users run them, over the real server on a real kernel."""

import json
import sys
import textwrap
import time

import pytest

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import GATED, Policy
from repl_pair.bridge.suggestions import write_step
from repl_pair.cli.setup.hosts import HOSTS
from repl_pair.errors import next_step
from repl_pair.mcp_server.tool_list import list_tools

TOTAL, CHART, WAIT = "shop.total/Two", "shop.chart/Dot", "shop.wait/Long"
LENGTH = "surface://queue/length"
PNG = b"\x89PNG\r\n\x1a\n"
EVERYTHING = Policy(
    allow=frozenset(GATED), toolsets=frozenset(entry["toolset"] for entry in manifest.load())
)
OPEN = ("--allow", ",".join(GATED), "--toolsets", ",".join(sorted(EVERYTHING.toolsets)))
UNPORTABLE = textwrap.dedent(
    """
    import anyio
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.types import ListToolsResult, Tool

    SCHEMA = {"type": "object", "properties": {"any": True}}

    async def on_list_tools(ctx, params):
        return ListToolsResult(tools=[Tool(name="bad", input_schema=SCHEMA)])

    async def main():
        server = Server("bad", on_list_tools=on_list_tools)
        async with stdio_server() as (source, sink):
            await server.run(source, sink, server.create_initialization_options())

    anyio.run(main)
    """
)


def tools_of(policy):
    """Return the tools that a server of this policy lists, in the wire's own form."""
    tools = list_tools(manifest.load(), policy)
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def result(ran):
    """Read what Inspector printed."""
    return json.loads(ran.stdout)["result"]


def shown(ran):
    """Return what came over stderr, without Inspector's words on where it keeps secrets."""
    return [line for line in ran.stderr.splitlines() if not line.startswith("[mcp-inspector] ")]


# --- Inspector


@pytest.mark.parametrize(("options", "policy"), [((), Policy()), (OPEN, EVERYTHING)])
def test_inspector_finds_no_fault_in_the_schema_of_any_tool(inspect, config, options, policy):
    ran = inspect("tools/list", "--strict", file=config(*options))
    assert (ran.returncode, shown(ran)) == (0, [])
    assert result(ran)["tools"] == tools_of(policy)
    print(f"{len(result(ran)['tools'])} tools, no finding")


def test_inspector_does_find_a_fault_where_there_is_one(inspect, home):
    file = home / "unportable.json"
    server = {"command": sys.executable, "args": ["-c", UNPORTABLE]}
    file.write_text(json.dumps({"mcpServers": {"pair": server}}))
    ran = inspect("tools/list", "--strict", file=file)
    assert ran.returncode == 6
    assert 'Error: tool "bad"' in ran.stderr


@pytest.mark.parametrize("era", ["auto", "modern"])
def test_inspector_sees_the_same_tools_in_every_era(inspect, era):
    ran = inspect("tools/list", "--protocol-era", era)
    assert (ran.returncode, shown(ran)) == (0, [])
    assert result(ran)["tools"] == tools_of(Policy())


def test_inspector_lists_the_stories_of_the_kernel(inspect, kernel):
    ran = inspect("tools/call", "--tool-name", "list_stories")
    assert ran.returncode == 0, ran.stderr
    answer = result(ran)
    (text,) = answer["content"]
    envelope = answer["structuredContent"]
    assert json.loads(text["text"]) == envelope
    ids = [item["id"] for item in envelope["result"]["items"]]
    assert ids == ["shop.chart", "shop.total", "shop.wait"]
    assert envelope["kernel"]["id"] == kernel.path.stem.removeprefix("kernel-")


def test_inspector_runs_a_variant_with_nested_arguments(inspect):
    args = json.dumps({"variant_id": TOTAL, "overrides": {"prices": [1, 2], "rate": 6.5}})
    ran = inspect("tools/call", "--tool-name", "run_variant", "--tool-args-json", args)
    assert ran.returncode == 0, ran.stderr
    verdict = result(ran)["structuredContent"]["result"]
    assert (verdict["status"], verdict["result"], verdict["total"]) == ("fail", 19.5, 1)


def test_inspector_gets_an_image_as_a_file(inspect, tmp_path):
    call = ("--tool-name", "run_variant", "--tool-arg", f"variant_id={CHART}")
    ran = inspect("tools/call", *call, "--output", str(tmp_path / "all.json"))
    assert ran.returncode == 0, ran.stderr
    saved = json.loads((tmp_path / "all.json").read_text())
    blocks = saved.get("result", saved)["content"]
    assert [block["type"] for block in blocks] == ["text", "image"]
    assert blocks[1]["mimeType"] == "image/png"


def test_inspector_reports_an_error_and_the_exact_next_call(inspect):
    call = ("--tool-name", "run_variant", "--tool-arg", "variant_id=shop.total/Tow")
    ran = inspect("tools/call", *call)
    assert ran.returncode == 5
    refused = result(ran)
    assert refused["isError"] is True
    envelope = refused["structuredContent"]
    assert envelope["error"]["code"] == "not_found"
    assert TOTAL in envelope["error"]["message"]
    assert envelope["next_steps"]
    text = refused["content"][0]["text"]
    assert envelope["error"]["message"] in text
    assert all(write_step(step) in text for step in envelope["next_steps"])


def test_inspector_gets_a_call_with_wrong_arguments_mended(inspect):
    args = json.dumps({"variant": TOTAL})
    ran = inspect("tools/call", "--tool-name", "run_variant", "--tool-args-json", args)
    assert ran.returncode == 5
    envelope = result(ran)["structuredContent"]
    assert envelope["error"]["code"] == "bad_arguments"
    assert envelope["next_steps"] == [next_step("run_variant", variant_id=TOTAL)]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_lists_and_reads_what_the_app_exposes(inspect, era):
    ran = inspect("resources/list", "--protocol-era", era)
    assert (ran.returncode, shown(ran)) == (0, [])
    uris = [resource["uri"] for resource in result(ran)["resources"]]
    assert LENGTH in uris
    assert "surface://queue/owner" not in uris
    ran = inspect("resources/templates/list", "--protocol-era", era)
    assert {t["mimeType"] for t in result(ran)["resourceTemplates"]} == {"application/json"}
    ran = inspect("resources/read", "--uri", LENGTH, "--protocol-era", era)
    (content,) = result(ran)["contents"]
    assert json.loads(content["text"])["value"] == 3
    hidden = inspect("resources/read", "--uri", "surface://queue/owner", "--protocol-era", era)
    assert hidden.returncode != 0
    assert "There is no such resource" in hidden.stdout + hidden.stderr


def test_noise_on_the_servers_stderr_disturbs_neither_client(inspect, port, config):
    noisy = config(python=("-X", "importtime"))
    ran = inspect("tools/call", "--tool-name", "list_stories", file=noisy)
    assert ran.stderr.count("import time:") > 100
    assert ran.returncode == 0
    assert result(ran)["structuredContent"]["result"]["total"] == 3
    called = port("call", "pair.list_stories", "--output", "json", file=noisy)
    assert called.returncode == 0, called.stderr[-500:]
    assert json.loads(called.stdout)["result"]["total"] == 3


# --- mcporter


def test_mcporter_lists_the_tools_with_their_schemas(port):
    ran = port("list", "pair", "--schema", "--json")
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["status"] == "ok"
    keys = ("name", "description", "inputSchema")
    listed = [{key: tool[key] for key in keys} for tool in seen["tools"]]
    assert listed == [{key: tool[key] for key in keys} for tool in tools_of(Policy())]


@pytest.mark.parametrize(
    "words",
    [
        ("pair.run_variant", f"variant_id={TOTAL}", 'overrides={"prices":[2,3]}'),
        (
            "pair.run_variant",
            "--args",
            f'{{"variant_id":"{TOTAL}","overrides":{{"prices":[2,3]}}}}',
        ),
        (f'pair.run_variant(variant_id: "{TOTAL}", overrides: {{"prices": [2, 3]}})',),
    ],
    ids=["pairs", "json", "call"],
)
def test_mcporter_passes_arguments_in_each_of_its_ways(port, words):
    ran = port("call", *words, "--output", "json")
    assert ran.returncode == 0, ran.stderr
    envelope = json.loads(ran.stdout)
    assert (envelope["result"]["status"], envelope["result"]["result"]) == ("fail", 5.0)


def test_mcporter_lists_and_reads_resources(port):
    ran = port("resource", "pair")
    assert ran.returncode == 0, ran.stderr
    assert LENGTH in ran.stdout
    assert "surface://queue/owner" not in ran.stdout
    ran = port("resource", "pair", LENGTH, "--output", "json")
    assert ran.returncode == 0, ran.stderr
    assert '"value":3' in ran.stdout.replace("\\", "").replace(" ", "")


def test_mcporter_reports_an_error_with_its_next_call(port):
    ran = port("call", "pair.get_variant", "variant_id=shop.total/Tow", "--output", "json")
    assert ran.returncode == 1
    envelope = json.loads(ran.stdout)
    assert (envelope["ok"], envelope["error"]["code"]) == (False, "not_found")
    assert envelope["next_steps"]


def test_mcporter_gets_a_call_with_wrong_arguments_mended(port):
    ran = port("call", "pair.run_variant", f"variant={TOTAL}", "--output", "json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["next_steps"] == [next_step("run_variant", variant_id=TOTAL)]


def test_mcporter_saves_an_image(port, tmp_path):
    words = ("pair.run_variant", f"variant_id={CHART}", "--save-images", str(tmp_path))
    assert port("call", *words).returncode == 0
    (image,) = tmp_path.iterdir()
    assert image.read_bytes().startswith(PNG)


def test_a_run_that_mcporter_gives_up_is_stopped_and_leaves_the_kernel_free(port, kernel, tmp_path):
    marker = tmp_path / "marker"
    overrides = json.dumps({"marker": str(marker)})
    words = ("pair.run_variant", f"variant_id={WAIT}", f"overrides={overrides}", "timeout_s=120")
    # Its time counts from the start of the server, which takes longer on a busy machine.
    for patience_ms in (5000, 30_000):
        ran = port("call", *words, "--timeout", str(patience_ms))
        assert ran.returncode == 1
        assert "timed out" in (ran.stdout + ran.stderr).lower()
        if marker.exists():
            break
    assert marker.exists(), "the run had not begun"
    began = time.monotonic()
    assert kernel.run("1 + 1").value == "2"
    assert time.monotonic() - began < 10
    assert marker.read_text() == "ended"


# --- what `repl-pair init` wrote, read by another's reader of the hosts' files


def test_mcporter_starts_the_server_by_the_file_of_every_host(init, port, tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    names = []
    for host in HOSTS:
        for scope in ("project", "user"):
            names.append(f"{host}-{scope}")
            init(host, f"--{scope}", "--write", "--name", names[-1], HOME=str(home), cwd=project)
    kinds = {"imports": ["claude-code", "cursor", "vscode", "codex"]}
    file = project / ".mcp.json"  # Claude Code's, whose form is mcporter's own too
    file.write_text(json.dumps(json.loads(file.read_text()) | kinds))
    ran = port(
        "--root",
        project,
        "list",
        "--json",
        "--timeout",
        "200000",  # it starts a server for each
        file=file,
        cwd=project,
        bound_s=240.0,
        HOME=str(home),
    )
    servers = json.loads(ran.stdout)["servers"]
    found = {server["name"]: (server["status"], len(server["tools"])) for server in servers}
    assert found == dict.fromkeys(names, ("ok", len(tools_of(Policy()))))
