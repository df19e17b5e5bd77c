"""A realm of three repos over MCP: real git, real kernels in two of them, the person's commands."""

import json
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from repos import SCHEMA, commit, git, make_repo

from repl_pair.__main__ import program
from repl_pair.bridge import manifest
from repl_pair.bridge.scratch_kernel import scratch_kernel
from repl_pair.runtime.project import database

REPOS = ("api", "web", "app")
TOKEN = "Zq7kW2mXv9LbT4nRp6Ys"
TOOLS = {"contract_get", "pr_status", "realm_check", "realm_status", "worktree_create"}


@pytest.fixture
def run_in(monkeypatch):
    """Runs a command of the person in a folder: `run_in(folder, "realm", "check")`."""

    def run(folder, *words, exit_code=0):
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            patch.setattr(database, "_open", [])  # a command opens that of its folder
            ended = CliRunner().invoke(program, words, catch_exceptions=False)
            database.close_project()
        assert ended.exit_code == exit_code, ended.output
        return ended.output

    return run


@pytest.fixture
def repos(tmp_path, run_in):
    """Three git repos with remotes: `api` owns pricing/quote, `web` and `app` import it."""
    folders = {name: tmp_path / name for name in REPOS}
    for folder in folders.values():
        make_repo(folder)
        (folder / ".gitignore").write_text("pair.db*\n")
    run_in(tmp_path, "realm", "init", "shop", "realm")
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    save = ("realm", "save", "pricing", "quote", "--version", "1.0.0", "--schema", str(schema))
    for name, folder in folders.items():
        run_in(folder, "realm", "join", "../realm")
        words = ("--export", "quote") if name == "api" else ("--import", "quote >=1.0,<2")
        if name == "api":
            run_in(folder, *save)
        run_in(folder, "realm", "bind", "pricing", *words)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "Join the realm")
        git(folder, "push", "-q")
    return folders


@pytest.fixture
def agent_in(connect):
    """Opens an agent at a kernel that runs in a folder."""

    @contextmanager
    def begin(folder, *options, **variables):
        with (
            scratch_kernel(cwd=folder, environment=variables) as kernel,
            connect("--kernel", kernel.path, "--toolsets", "realm", *options) as agent,
        ):
            agent.kernel = kernel
            yield agent

    return begin


def notices(folder):
    with closing(sqlite3.connect(folder / ".repl_pair" / "pair.db")) as database:
        return database.execute("SELECT subject, text FROM notices").fetchall()


def test_a_contract_changes_its_consumers_are_notified_once_and_an_rfc_is_made_ready(
    repos, run_in, agent_in, tmp_path
):
    with (
        agent_in(repos["web"], "--allow", "write") as web,
        agent_in(repos["app"]) as app,
    ):
        assert {tool.name for tool in web.tools()} >= TOOLS
        status = web.ask("realm_status")["result"]
        assert (status["realm"], status["current_repo"], status["session"]) == ("shop", "web", None)
        assert [repo["name"] for repo in status["repos"]] == sorted(REPOS)
        assert web.ask("realm_check", strict=True)["result"]["valid"]

        session = web.ask("session_start", goal="Follow pricing.")["result"]["id"]
        assert web.ask("realm_status")["result"]["session"] == session

        # The owner edits the schema in its file, at the version that it has.
        file = tmp_path / "realm" / "domains" / "pricing" / "contracts" / "quote.json"
        data = json.loads(file.read_text())
        data["schema"]["required"] = ["sku"]
        file.write_text(json.dumps(data))
        assert app.ask("realm_check")["result"]["warnings"][0]["kind"] == "changed_schema"
        assert not app.ask("realm_check", strict=True)["result"]["valid"]
        assert "changed_schema" in run_in(repos["api"], "realm", "check", "--strict", exit_code=1)
        save = ("realm", "save", "pricing", "quote", "--version")
        run_in(repos["web"], *save, "1.1.0", exit_code=1)  # not the owner
        assert app.ask("contract_get", domain="pricing", contract="quote")["result"]["changed"]
        run_in(repos["api"], *save, "1.1.0", "--changes", "Sku is required.")
        run_in(repos["api"], "realm", "check", "--strict")
        for agent in (web, app):
            reply = agent.ask("realm_check", strict=True)
            assert reply["result"]["valid"]
            assert reply["notices"]["ids"]
            assert agent.ask("realm_check", strict=True)["result"]["valid"]
        text = "api changed the contract pricing/quote from 1.0.0 to 1.1.0."
        for agent in (web, app):
            listed = agent.ask("notifications_list", state="all")["result"]["items"]
            seen = [(one["text"], one["count"]) for one in listed if one["kind"] == "contract"]
            assert seen == [(text, 1)]
        assert web.ask("session_stop")["result"]["contracts"] == 1
        assert [row for row in notices(repos["api"]) if row[0] == "pricing/quote"] == []
        contract = app.ask("contract_get", domain="pricing", contract="quote")["result"]
        assert contract["schema"] == SCHEMA | {"required": ["sku"]}
        assert contract["evolution"][-1]["changes"] == "Sku is required."
        met = {use["repo"]: use.get("met") for use in contract["bindings"]}
        assert met == {"api": None, "app": True, "web": True}

        # Worktrees, work in each, pushed: ready.
        made = web.ask("worktree_create", rfc="0001-sku")["result"]
        assert (made["created"], made["errors"]) == (["api", "app", "web"], {})
        assert made["reason"] == "They share a domain with web: pricing."
        unready = app.ask("pr_status", rfc="0001-sku")["result"]
        assert not unready["ready"]
        assert {repo["reason"] for repo in unready["repos"]} == {
            "rfc/0001-sku has no upstream: it was never pushed."
        }
        for path in made["paths"].values():
            commit(path, "sku.txt")
            git(path, "push", "-q", "-u", "origin", "HEAD")
        ready = app.ask("pr_status", rfc="0001-sku")["result"]
        assert ready["ready"]
        assert [(repo["proposed"], repo["ahead"]) for repo in ready["repos"]] == [(1, 0)] * 3
        again = web.ask("worktree_create", rfc="0001-sku")["result"]
        assert again["created"] == []
        assert all("there already" in why for why in again["errors"].values())


@pytest.mark.full
def test_who_may_not_write_makes_no_worktree_and_who_is_asked_sees_what_would_be_made(
    repos, agent_in, tmp_path
):
    worktrees = tmp_path / "realm" / "worktrees"
    with agent_in(repos["web"], "--ask", "write", "--ask-wait", "0") as agent:
        refused = agent.ask("worktree_create", rfc="a/b")
        assert refused["error"]["code"] == "bad_arguments"  # and the person is not asked
        pending = agent.ask("worktree_create", rfc="0002")
        assert pending["error"]["code"] == "approval_pending"
        assert not worktrees.exists()
        shown = agent.kernel.run(
            "from repl_pair.runtime.clients.approvals import QUEUE\n"
            "from repl_pair.runtime.op_base.approval_rows import preview_call\n"
            "[one] = QUEUE.pending()\n"
            "print(preview_call(one)['title']); print(preview_call(one)['text'])\n"
            "QUEUE.answer(one.handle, 'once')"
        )
        assert shown.error is None, shown
        head, *lines = shown.printed.splitlines()
        assert head == "make 3 worktrees on the branch rfc/0002"
        assert f"web: {worktrees / '0002' / 'web'}" in lines
        handle = pending["error"]["detail"]["handle"]
        done = agent.ask("read_approval", handle=handle, wait_s=20)
        assert done["result"]["created"] == ["api", "app", "web"]
    with agent_in(repos["app"]) as agent:
        assert "worktree_create" not in {tool.name for tool in agent.tools()}
        with pytest.raises(Exception, match="Unknown tool"):
            agent.call("worktree_create", rfc="0003")
    assert [path.name for path in worktrees.iterdir()] == ["0002"]


@pytest.mark.full
def test_a_known_secret_in_a_contract_does_not_reach_an_agent(repos, run_in, agent_in, tmp_path):
    schema = tmp_path / "secret.json"
    text = {"type": "string", "default": TOKEN}
    schema.write_text(
        json.dumps({"properties": {"key": text, "password": {"enum": ["x"], "type": "string"}}})
    )
    value = json.dumps({"endpoint": f"https://x/?t={TOKEN}", "password": "Jx3fDs9Lm6RbVk1P"})
    run_in(
        repos["api"],
        *("realm", "save", "pricing", "key", "--version", "1.0.0", "--schema", str(schema)),
        *("--value", value, "--changes", f"It holds {TOKEN} now."),
    )
    with agent_in(repos["web"], PAYMENTS_API_TOKEN=TOKEN) as agent:
        reply = agent.ask("contract_get", domain="pricing", contract="key")
        refused = agent.ask("contract_get", domain="pricing", contract="keu")
    found = reply["result"]
    assert found["schema"]["properties"]["password"] == {"type": "string"}
    assert found["schema"]["properties"]["key"]["default"] == "[redacted]"
    assert found["value"] == {"endpoint": "https://x/?t=[redacted]", "password": "[redacted]"}
    assert found["evolution"][0]["changes"] == "It holds [redacted] now."
    assert refused["next_steps"][0]["args"] == {"domain": "pricing", "contract": "key"}
    assert TOKEN not in agent.record.out.decode()


@pytest.mark.full
def test_a_project_of_no_realm_is_answered_with_the_commands_for_the_person(
    repos, agent_in, tmp_path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "pyproject.toml").write_text("")
    with agent_in(outside, "--allow", "write") as agent:
        for tool in sorted(TOOLS):
            needed = manifest.by_name()[tool]["input_schema"]["required"]
            reply = agent.ask(tool, **dict.fromkeys(needed, "x"))
            assert reply["error"]["code"] == "not_found", tool
            assert reply["hints"][0] == "repl-pair realm join ../realm"
        for realm in ("../realm", str(tmp_path / "realm"), "/etc", "../api", "nowhere"):
            for tool in sorted(TOOLS):
                needed = manifest.by_name()[tool]["input_schema"]["required"]
                refused = agent.ask(tool, **dict.fromkeys(needed, "pricing"), realm=realm)["error"]
                assert refused["code"] == "not_found", (tool, realm)
                assert refused["message"].startswith(f"There is no realm {realm!r}."), tool
    assert [file.name for file in outside.iterdir()] == ["pyproject.toml"]
    assert Path(tmp_path, "realm", "worktrees").exists() is False
