"""Calls that need the project's files only, over a real server, before a kernel runs and after."""

import json
import subprocess
import sys

import pytest

from tests.mcp.conftest import environment

HERE = {"id": "here", "name": "this process"}
LIST_KERNELS = {"op": "list_kernels", "args": {}}
REMARK = {"target": "doc:README.md", "content": "Which unit?"}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "README.md").write_text("# Shop\n\nPrices.\n")
    (tmp_path / "inner").mkdir()
    return tmp_path


@pytest.fixture
def agent(connect, alone, project):
    """An agent at a server that was started inside a project, where no kernel runs."""
    options = ("--toolsets", "review", "--ask", "mutates")
    with connect(*options, runtime=alone, cwd=project / "inner") as agent:
        yield agent


def who(reply):
    return {slot: reply["kernel"][slot] for slot in HERE}


def test_without_a_kernel_the_server_answers_for_the_project_of_its_folder(agent, project):
    empty = agent.ask("list_annotations")
    assert (empty["result"]["items"], who(empty)) == ([], HERE)
    assert not (project / ".repl_pair").exists()
    made = agent.ask("create_annotation", **REMARK)
    assert (made["ok"], "kernel" in made) == (True, False)  # the one that the agent knows
    assert (project / ".repl_pair" / "pair.db").exists()
    ways = (
        agent.ask("list_annotations"),
        agent.ask("read_op", op="list_annotations"),
        agent.ask("run_op", op="list_annotations"),
    )
    assert [reply["result"]["items"] for reply in ways] == [[made["result"]]] * 3


@pytest.fixture
def command(alone, project):
    """Calls an op as the person in the project; gives the envelope."""

    def call(op, *options, **args):
        words = [sys.executable, "-m", "repl_pair", "op", op, "--json", json.dumps(args), *options]
        how = {"cwd": project, "env": environment(alone), "capture_output": True}
        return json.loads(subprocess.run(words, check=False, **how).stdout)

    return call


def test_the_command_line_answers_for_the_same_project(agent, command):
    made = agent.ask("create_annotation", **REMARK)["result"]
    listed = command("list_annotations")
    assert (listed["result"]["items"], who(listed)) == ([made], HERE)
    assert command("list_stories")["error"]["code"] == "no_kernel"


def test_an_entry_is_not_taken_for_gone_where_no_kernel_knows_it(agent, command, project):
    (project / "pyproject.toml").write_text('[tool.repl_pair]\nstories = ["shop.py"]\n')
    (project / "shop.py").write_text("import repl_pair\nrepl_pair.story('a.b')(lambda: 1)\n")
    on_story = {"target": "story:a.b", "content": "Why?"}
    refused = agent.ask("create_annotation", **on_story)
    assert (refused["error"]["code"], refused["next_steps"]) == ("not_found", [LIST_KERNELS])
    assert "%load_ext repl_pair" in str(refused["hints"])
    assert "--here" in str(command("create_annotation", **on_story)["hints"])
    made = command("create_annotation", "--here", **on_story)
    (listed,) = agent.ask("list_annotations")["result"]["items"]
    assert (made["result"]["status"], listed["status"]) == ("draft", "draft")
    # Of another length: Python knows a changed file by its second and its length.
    (project / "shop.py").write_text("import repl_pair\nrepl_pair.story('a.other')(lambda: 1)\n")
    (listed,) = command("list_annotations", "--here")["result"]["items"]
    assert listed["status"] == "orphaned"


@pytest.mark.full
@pytest.mark.parametrize(("option", "code"), [("ask", "approval_unavailable"), ("allow", None)])
def test_for_what_takes_an_approval_nobody_can_be_asked(
    connect, alone, project, command, option, code
):
    theirs = command("create_annotation", **REMARK)["result"]["id"]
    with connect(f"--{option}", "write", runtime=alone, cwd=project) as agent:
        edit = {"annotation_id": theirs, "content": "Which currency?"}
        reply = agent.ask("run_op", op="edit_annotation", args=edit)
        direct = agent.call("edit_annotation", **edit).structured_content
    kept = command("get_annotation", annotation_id=theirs)["result"]["annotation"]["content"]
    if code is None:
        assert (direct["ok"], kept) == (True, "Which currency?")
    else:
        assert (direct["error"]["code"], kept) == (code, REMARK["content"])
    assert not reply["ok"]


def test_what_needs_a_kernel_or_names_one_is_refused_as_ever(agent):
    for op, args in (("list_stories", {}), ("list_annotations", {"kernel": "one-that-is-not"})):
        assert agent.ask(op, **args)["error"]["code"] == "no_kernel"


def test_as_soon_as_a_kernel_runs_it_answers_and_its_end_is_reported_before_another_does(
    agent, alone, start_own_kernel
):
    made = agent.ask("create_annotation", **REMARK)
    assert who(made) == HERE
    kernel = start_own_kernel(runtime=alone)
    there = agent.ask("list_annotations")
    assert (there["result"]["items"], there["kernel"]["id"]) == ([], kernel.id)
    kernel.process.kill()
    kernel.process.wait()
    gone = agent.ask("list_annotations")
    assert gone["error"]["code"] == "kernel_gone"
    again = agent.ask("list_annotations")
    assert (again["result"]["items"], who(again)) == ([made["result"]], HERE)
    assert agent.ask("list_stories")["error"]["code"] == "kernel_gone"


def test_nobody_takes_the_place_of_a_kernel_that_was_named(agent, alone, start_own_kernel):
    kernel = start_own_kernel(runtime=alone)
    assert agent.ask("use_kernel", kernel=kernel.id)["ok"]
    kernel.process.kill()
    kernel.process.wait()
    for _ in range(2):
        assert agent.ask("list_annotations")["error"]["code"] == "kernel_gone"


@pytest.mark.full
def test_of_several_kernels_none_is_taken_and_this_process_neither(agent, alone, start_own_kernel):
    for _ in range(2):
        start_own_kernel(runtime=alone)
    for op, args in (("list_annotations", {}), ("create_annotation", REMARK)):
        assert agent.ask(op, **args)["error"]["code"] == "ambiguous_kernel"


@pytest.mark.full
def test_a_server_for_one_named_kernel_answers_nothing_itself(connect, alone, project):
    with connect("--kernel", "a-name-of-one", runtime=alone, cwd=project) as agent:
        assert agent.ask("list_annotations")["error"]["code"] == "no_kernel"
