"""The audit over HTTP: a line for each call of an agent, and no call that has none."""

import asyncio
import json
import logging
import os
import stat
from types import SimpleNamespace

import pytest
from serving import HANDSHAKE, make_token

from repl_pair.bridge.background.calls import PlannedCall
from repl_pair.bridge.background.runs import Run
from repl_pair.bridge.pending_call import PendingCall
from repl_pair.mcp_server.audit import Audit
from repl_pair.mcp_server.web import principal
from repl_pair.wire import ok_reply

SETUP = "import repl_pair"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit"


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_call_of_an_agent_has_a_line_and_nobody_else_has_one(
    own_env, here, path, until, monkeypatch
):
    ada = make_token(own_env, "ada")
    calls = [
        ("list_stories", {}, "ok"),
        ("get_story", {"story_id": SECRET}, "not_found"),
        ("eval_code", {"code": "1"}, "not_found"),
        ("list_stories", {"tags": 1}, "bad_arguments"),
    ]
    count, counted = principal.Principal._count, []

    def note(principal, scope, body):
        release = count(principal, scope, body)
        counted.append(body and body.params.get("name"))
        return release

    monkeypatch.setattr(principal.Principal, "_count", note)
    with here(principal, audit=Audit(str(path)), MAX_CALLS=1) as (server, _):
        for name, args, _verdict in calls:
            server.ask(ada, "tools/call", {"name": name, "arguments": args})
        uri = "surface://none/x"
        server.ask(ada, "resources/read", {"uri": uri})
        server.ask(ada, "tools/list")
        server.ask("rpt_wrong", "tools/call", {"name": "list_stories", "arguments": {}})
        server.ask(ada, "tools/call", {"name": "list_kernels", "arguments": {}}, Host="evil")
        with server.connect(ada) as opened:
            since = opened.ask("read_changes")["result"]["next"]
            waiting = opened.start("read_changes", since=since, wait_s=40)
            busy = {"name": "get_story", "arguments": {"story_id": SECRET}}
            until(lambda: counted.count("read_changes") == 2, "the call that waits")
            assert server.ask(ada, "tools/call", busy).status == 429
            assert server.ask(ada, "prompts/get", {"name": "build-panel"}).status == 429
            assert server.ask(ada, "tools/list").status == 429
            waiting.cancel()
            until(lambda: len(read_lines(path)) >= len(calls) + 5, "the cancelled call")
    lines = read_lines(path)
    assert {line["who"] for line in lines} == {"ada"}
    assert all(set(line) == {"at", "who", "op", "verdict", "args", "ms"} for line in lines)
    kept = [(line["op"], line["verdict"]) for line in lines]
    assert kept[: len(calls)] == [(name, verdict) for name, _, verdict in calls]
    assert kept[len(calls)] == ("read", "not_found")
    assert {
        ("read_changes", "ok"),
        ("get_story", "too_many"),
        ("build-panel", "too_many"),
        ("read_changes", "cancelled"),
    } <= {*kept[len(calls) + 1 :]}
    assert "list_kernels" not in path.read_text()
    assert SECRET not in path.read_text()


def test_each_line_is_json_whatever_numbers_a_call_has(path):
    def refuse(name):
        raise ValueError(name)

    args = {"far": float("inf"), "deep": [{"none": float("nan"), "one": 1.5}]}
    Audit(str(path)).write(who="ada", op="run_op", verdict="ok", args=args, ms=1.0)
    line = json.loads(path.read_text(), parse_constant=refuse)
    assert line["args"] == {"far": "Infinity", "deep": [{"none": "NaN", "one": 1.5}]}


def test_no_call_is_made_while_the_audit_cannot_be_written(own_env, here, path, caplog):
    ada = make_token(own_env, "ada")
    audit = Audit(str(path))
    with here(audit=audit) as (server, _), server.connect(ada) as opened:
        assert opened.ask("list_stories")["ok"]
        kept, broken = os.dup(audit._file), os.open(path, os.O_RDONLY)
        os.dup2(broken, audit._file)
        assert opened.ask("list_stories")["ok"]  # it was made already
        session, _ = server.open_session(ada)
        refused = [server.ask(ada, "tools/call", {"name": "list_stories", "arguments": {}})]
        frame = {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}
        headers = server.headers(ada, HANDSHAKE, **{"Mcp-Session-Id": session})
        refused.append(server.send(headers, frame | {"params": {"uri": "surface://a/b"}}))
        for answer in refused:
            assert b"audit cannot be written, so no call is made" in answer.raw
        assert server.ask(ada, "tools/list").status == 200
        os.dup2(kept, audit._file)
        assert opened.ask("list_stories")["ok"]
        os.close(kept)
        os.close(broken)
    assert [line["op"] for line in read_lines(path)] == ["list_stories"] * 3
    assert [record.levelno for record in caplog.records if "the audit" in record.message] == (
        [logging.ERROR] * 3
    )


def test_each_call_in_the_background_has_a_line_when_it_is_made_and_each_time_it_has_run(
    own_env, here, path, until
):
    ada = make_token(own_env, "ada", allow=("write",), toolsets=("manage",))
    wanted = {"call": "get_story", "args": {"story_id": SECRET}}
    with here(audit=Audit(str(path))) as (server, _), server.connect(ada) as opened:
        run = opened.ask("trigger_void", **wanted)["result"]["run"]
        assert opened.ask("read_run", run=run)["error"]["code"] == "not_found"
        assert opened.ask("register_trigger", **wanted, on={"every_s": 1})["ok"]

        def runs():
            return [line for line in read_lines(path) if "run" in line]

        until(lambda: len(runs()) >= 3, "the runs of the trigger")
        seen = {(line["who"], line["op"], line["verdict"]) for line in runs()}
        assert seen == {("ada", "get_story", "not_found")}
        assert [line["run"] for line in runs()].count(run) == 1
        since = opened.ask("read_changes")["result"]["next"]
        waiting = {"call": "read_changes", "args": {"since": since, "wait_s": 40}}
        run = opened.ask("trigger_void", **waiting)["result"]["run"]
        until(
            lambda: opened.ask("read_run", run=run, wait_s=0)["result"]["state"] == "running", "it"
        )
        opened.ask("cancel_run", run=run)
        until(lambda: runs()[-1]["run"] == run or runs()[-2]["run"] == run, "the cancelled run")
        (line,) = (line for line in runs() if line["run"] == run)
        assert (line["op"], line["verdict"]) == ("read_changes", "cancelled")
        assert line["ms"] > 0
    made = [line["op"] for line in read_lines(path) if "run" not in line]
    assert made[:3] == ["trigger_void", "read_run", "register_trigger"]
    assert SECRET not in path.read_text()


def test_no_call_is_made_in_the_background_while_the_audit_cannot_be_written(path):
    audit, made = Audit(str(path)), []

    async def make():
        made.append(1)
        return ok_reply({})

    def perform():
        run = Run(call=PlannedCall(call="app.climb", given={}, op="run_function", args={}))
        return asyncio.run(audit.watch_runs("ada")(run, make))

    kept, broken = os.dup(audit._file), os.open(path, os.O_RDONLY)
    os.dup2(broken, audit._file)
    assert perform()["ok"]  # nothing was owed yet
    refused = perform()["error"]
    assert (refused["code"], len(made)) == ("internal", 1)
    assert refused["message"].startswith("this server's audit cannot be written")
    os.dup2(kept, audit._file)
    assert perform()["ok"]
    assert [line["op"] for line in read_lines(path)] == ["app.climb"] * 2
    os.close(kept)
    os.close(broken)


def test_the_audit_goes_on_in_a_file_that_is_there_and_in_one_that_was_emptied(path):
    path.write_text('{"before": 1}\n')
    path.chmod(0o644)
    audit = Audit(str(path))
    line = {"who": "ada", "op": "x", "verdict": "ok", "args": {}, "ms": 1.0}
    audit.write(**line)
    assert [len(each) for each in read_lines(path)] == [1, 6]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    os.truncate(path, 0)
    audit.write(**line)
    assert [each["op"] for each in read_lines(path)] == ["x"]
    deep = []
    for _ in range(990):
        deep = [deep]
    audit.write(**line | {"args": {"deep": deep}})
    assert read_lines(path)[1]["args"]["$elided"]["type"] == "dict"


def test_a_file_that_cannot_be_written_is_refused_before_anything_starts(tmp_path):
    for path in (tmp_path, tmp_path / "none" / "audit"):
        with pytest.raises(Exception, match="Nothing was started"):
            Audit(str(path))


def test_a_call_that_the_person_approved_has_a_line_once_it_is_made(path):
    audit = Audit(str(path))
    call = PendingCall(
        request=SimpleNamespace(op="eval_code", args={"code": "1"}), handle="ab12", until=0.0
    )

    async def make():
        return ok_reply({})

    def perform():
        return asyncio.run(audit.watch_approved("ada")(call, make))

    kept, broken = os.dup(audit._file), os.open(path, os.O_RDONLY)
    os.dup2(broken, audit._file)
    assert perform()["ok"]  # its line is owed
    assert perform()["error"]["code"] == "internal"
    os.dup2(kept, audit._file)
    assert perform()["ok"]
    for file in (kept, broken):
        os.close(file)
    lines = [(line["op"], line["verdict"], line["approval"]) for line in read_lines(path)]
    assert lines == [("eval_code", "ok", "ab12")] * 2
