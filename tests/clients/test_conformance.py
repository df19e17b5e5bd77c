"""The protocol's own suite over the real server, of both eras: what fails has a reason, by name."""

import json
from pathlib import Path

import pytest
from authorizing import authorized
from ports import free_ports
from serving import http_environment, make_token, serve

REASONS = Path(__file__).with_name("conformance_exceptions.json")


@pytest.fixture(scope="module")
def url(kernel, home, tmp_path_factory):
    """A server whose token a proxy adds: the suite can send none."""
    env = http_environment({"JUPYTER_RUNTIME_DIR": str(kernel.path.parent)}, home / "config")
    token = make_token(env, "suite", kernels=(str(kernel.path),))
    (port,) = free_ports(1)
    with authorized() as open_proxy:
        own = open_proxy(port, token)
        sites = [f"{host}:{own}" for host in ("127.0.0.1", "localhost")]
        hosts = [word for site in sites for word in ("--http-host", site)]
        origins = [word for site in sites for word in ("--http-origin", f"http://{site}")]
        with serve(env, *hosts, *origins, place=f"127.0.0.1:{port}"):
            yield f"http://127.0.0.1:{own}/mcp"


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_protocols_own_suite_fails_only_where_a_reason_is_named(
    url, clients, run, tmp_path, revision
):
    folder = tmp_path / "results"
    ran = run(
        clients / "conformance", "server", "--url", url, "--requirements", revision, "-o", folder
    )
    failed, passed = set(), 0
    for file in folder.glob("server-*/checks.json"):
        scenario = file.parent.name.removeprefix("server-").rpartition("-2026-")[0]
        for check in json.loads(file.read_text()):
            passed += check["status"] == "SUCCESS"
            if check["status"] == "FAILURE":
                failed.add(f"{scenario}:{check['id']}")
    assert passed > 30, ran.stdout + ran.stderr
    named = {
        name
        for exception in json.loads(REASONS.read_text())
        for name in exception["checks"]
        if revision in exception["revisions"]
    }
    assert sorted(failed - named) == []
    assert sorted(named - failed) == [], "these pass now: take them out of the file"
    print(f"{revision}: {passed} checks passed, {len(failed)} named exceptions")
