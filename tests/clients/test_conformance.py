"""The protocol's own suite, of both eras: over the real server, and over all of its own fixtures.

The fixtures stand behind the same web stack as the server. What fails has a reason, by name.
"""

import json
import re
from pathlib import Path

import pytest
from authorizing import authorized
from ports import free_ports
from serving import HANDSHAKE, PROGRAM, STATELESS, http_environment, make_token, serve

EXCEPTIONS = json.loads(Path(__file__).with_name("conformance_exceptions.json").read_text())
FIXTURES = Path(__file__).parents[1] / "suite" / "conformance_server.py"
SERVERS = {"real": PROGRAM, "fixtures": (str(FIXTURES),)}
REVISIONS = (HANDSHAKE, STATELESS)


@pytest.fixture(scope="module")
def url(kernel, home, request):
    """A server whose token a proxy adds: the suite can send none."""
    name = request.param
    env = http_environment({"JUPYTER_RUNTIME_DIR": str(kernel.path.parent)}, home / f"of-{name}")
    token = make_token(env, "suite", kernels=(str(kernel.path),))
    (port,) = free_ports(1)
    with authorized() as open_proxy:
        own = open_proxy(port, token)
        sites = [f"{host}:{own}" for host in ("127.0.0.1", "localhost")]
        hosts = [word for site in sites for word in ("--http-host", site)]
        origins = [word for site in sites for word in ("--http-origin", f"http://{site}")]
        with serve(env, *hosts, *origins, place=f"127.0.0.1:{port}", program=SERVERS[name]):
            yield f"http://127.0.0.1:{own}/mcp"


@pytest.fixture(scope="module")
def list_scenarios(clients, run):
    """Lists scenarios for servers, as the suite does: `list_scenarios("--server")`."""

    def read(*words):
        ran = run(clients / "conformance", "list", *words)
        _, _, servers = ran.stdout.partition("Server scenarios")
        required, _, others = servers.partition("Client scenarios")
        return {*re.findall(r"- (\S+)", required), *re.findall(r"- (\S+) \[server\]", others)}

    return read


def read_checks(folder):
    """Return the checks of each scenario that ran, by its name."""
    files = folder.glob("server-*/checks.json")
    pattern = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
    return {pattern.fullmatch(f.parent.name)[1]: json.loads(f.read_text()) for f in files}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("url", SERVERS, indirect=True)
def test_the_protocols_own_suite_fails_only_where_a_reason_is_named(
    url, clients, run, list_scenarios, tmp_path, request, revision
):
    where = ("--requirements", revision, "-o", tmp_path)
    ran = run(clients / "conformance", "server", "--url", url, *where)
    checks = read_checks(tmp_path)
    assert checks.keys() == list_scenarios("--requirements", revision), ran.stdout + ran.stderr
    judged = [(f"{name}:{check['id']}", check) for name in checks for check in checks[name]]
    passed = {name for name, check in judged if check["status"] == "SUCCESS"}
    failed = {name: check for name, check in judged if check["status"] not in ("SUCCESS", "INFO")}
    assert {name.partition(":")[0] for name in (*passed, *failed)} == checks.keys()
    server = request.node.callspec.params["url"]
    named = {
        name
        for exception in EXCEPTIONS["checks"]
        if revision in exception["revisions"] and server in exception["servers"]
        for name in exception["names"]
    }
    new = [f"{n}: {failed[n].get('errorMessage')}" for n in sorted(failed.keys() - named)]
    assert new == [], "\n".join(new)
    assert sorted(named - failed.keys()) == [], "these pass now: take them out of the file"
    print(f"{server}, {revision}: {len(passed)} pass, {len(failed)} named exceptions")


def test_each_scenario_for_servers_runs_or_a_reason_is_named(list_scenarios):
    run = set().union(*(list_scenarios("--requirements", revision) for revision in REVISIONS))
    named = [name for exception in EXCEPTIONS["scenarios"] for name in exception["names"]]
    assert sorted(list_scenarios("--server") - run) == sorted(named)
