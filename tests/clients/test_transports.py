"""Inspector and mcporter over both transports: all that the server declares, listed and used."""

import json

import pytest
from serving import ERAS

TOTAL, LENGTH = "shop.total/Two", "surface://queue/length"
LISTS = {
    "tools": ("tools/list", "--strict"),
    "resources": ("resources/list",),
    "prompts": ("prompts/list",),
    "completions": (),
}
"""A capability of the server, and how Inspector lists what is of it; it completes nothing."""
USES = {
    "tools/call": ("--tool-name", "run_variant", "--tool-arg", f"variant_id={TOTAL}"),
    "resources/templates/list": (),
    "resources/read": ("--uri", LENGTH),
    "prompts/get": ("--prompt-name", "build-panel", "--prompt-args", "id=spending"),
}
EVERY_TRANSPORT = pytest.mark.parametrize("transport", ["stdio", "http"])


@pytest.fixture
def ask(clients, run, inspect, served, token, transport):
    """Asks by Inspector's command line; gives the result."""

    def ask(method, *words):
        if transport == "stdio":
            ran = inspect(method, *words)
        else:
            place = (served.url, "--transport", "http")
            header = ("--header", f"Authorization: Bearer {token}")
            how = ("--method", method, "--format", "json", *words)
            command = ("mcp-inspector", "--cli", *place, *header, *how)
            ran = run(*command, MCP_INSPECTOR_SECRET_STORE="memory")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout)["result"]

    return ask


@pytest.fixture
def port_to(clients, run, config, served, token, home, transport):
    """Runs mcporter; gives what it printed."""
    file = config()
    if transport == "http":
        file = home / "over-http.json"
        headers = {"Authorization": "Bearer ${REPL_PAIR_TOKEN}"}
        entry = {"baseUrl": served.url, "headers": headers}
        file.write_text(json.dumps({"mcpServers": {"pair": entry}}))

    def port_to(*words):
        ran = run("mcporter", "--config", file, *words, REPL_PAIR_TOKEN=token)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    return port_to


@pytest.fixture(scope="module", params=ERAS)
def declared(served, token, request):
    """An era as Inspector names it, and what the server declares in it."""
    if request.param == "legacy":
        _, opening = served.open_session(token)
        return "legacy", opening.message["result"]["capabilities"]
    return "modern", served.ask(token, "server/discover").message["result"]["capabilities"]


@EVERY_TRANSPORT
def test_inspector_finds_no_fault_in_what_the_server_declares(ask, declared):
    era, capabilities = declared
    listed = {}
    for name in capabilities:
        if LISTS[name]:
            (found,) = ask(*LISTS[name], "--protocol-era", era).values()
            listed[name] = [each.get("uri", each["name"]) for each in found]
            assert listed[name], f"there is nothing of {name}"
    assert "run_variant" in listed["tools"]
    assert LENGTH in listed["resources"]
    assert "build-panel" in listed["prompts"]


@EVERY_TRANSPORT
def test_inspector_uses_what_is_listed(ask, declared):
    era, _ = declared
    used = {method: ask(method, *USES[method], "--protocol-era", era) for method in USES}
    assert used["tools/call"]["structuredContent"]["result"]["status"] == "pass"
    assert used["resources/templates/list"]["resourceTemplates"]
    (content,) = used["resources/read"]["contents"]
    assert json.loads(content["text"])["value"] == 3
    (message,) = used["prompts/get"]["messages"]
    assert "spending" in message["content"]["text"]


@EVERY_TRANSPORT
def test_mcporter_lists_calls_and_reads(port_to):
    assert "run_variant" in port_to("list", "pair", "--schema")
    args = ("--args", json.dumps({"variant_id": TOTAL}), "--output", "json")
    assert json.loads(port_to("call", "pair.run_variant", *args))["result"]["status"] == "pass"
    assert LENGTH in port_to("resource", "pair")
    assert "3" in port_to("resource", "pair", LENGTH)


def test_what_chooses_a_kernel_is_not_there_over_http(served, token):
    with served.connect(token) as opened:
        assert "use_kernel" not in opened.tool_names()
