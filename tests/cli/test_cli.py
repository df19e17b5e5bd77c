"""The commands over a project's stories in this process, and what they exit with."""

import json
import re
import shlex

import click
import pytest

from repl_pair.__main__ import program as main
from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session
from repl_pair.mcp_server.tool_list import list_tools

COMMANDS = [
    "accept",
    "approvals",
    "approve",
    "demo",
    "deny",
    "doctor",
    "expose",
    "get",
    "identity",
    "init",
    "kernels",
    "lint",
    "list",
    "mcp",
    "op",
    "ops",
    "pause",
    "realm",
    "resume",
    "reviews",
    "run",
    "skill",
    "token",
    "watch",
]


def test_help_lists_every_command_and_the_exit_codes(pair):
    heard = pair("--help")
    assert heard.exit_code == 0
    assert main.list_commands(click.Context(main)) == COMMANDS
    assert all(f"  {name} " in heard.stdout for name in COMMANDS)
    assert "0 pass" in heard.stdout
    assert "3 no kernel" in heard.stdout


@pytest.mark.parametrize("kind", ["story", "stories"])
def test_a_kind_is_listed_by_its_singular_and_its_plural(project, pair, kind):
    listed = pair("list", kind, "--here")
    assert listed.exit_code == 0
    lines = [line.split() for line in listed.stdout.splitlines()]
    assert lines[0] == ["id", "doc", "variants"]
    assert [line[0] for line in lines[1:]] == ["shop.double", "shop.key", "shop.slow"]
    assert lines[1] == ["shop.double", "Double", "a", "number.", "3"]


def test_a_list_that_is_no_page_is_shown_whole_and_get_takes_what_has_an_id(pair, project):
    assert "result_equals" in json.dumps(json.loads(pair("list", "assertions", "--here").stdout))
    refused = pair("get", "story_instructions", "X", "--here")
    assert refused.exit_code == 2
    assert "There is no kind 'story_instructions' here; there are" in refused.stderr
    assert refused.stderr.count("story_instructions") == 1


def test_an_unknown_kind_is_refused_with_the_nearest_one(project, pair):
    refused = pair("list", "varints", "--here")
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert "Nearest: variant" in refused.stderr


def test_arguments_of_the_op_narrow_a_list(project, pair):
    listed = pair("list", "variants", "--here", "--arg", 'story_id="shop.slow"')
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [
        "id",
        "shop.slow/Long",
        "shop.slow/Short",
    ]


def test_a_page_states_how_many_more_there_are_and_how_to_go_on(project, shell):
    first = shell("list", "variants", "--here", "--limit", "4")
    assert "4 of 6; the next: --cursor " in first.stderr
    cursor = first.stderr.split("--cursor ")[1].split()[0]
    second = shell("list", "variants", "--here", "--limit", "4", "--cursor", cursor)
    shown = [*first.stdout.splitlines()[1:], *second.stdout.splitlines()[1:]]
    assert len({line.split()[0] for line in shown}) == 6


@pytest.mark.parametrize("words", [("get", "variant", "zz"), ("run", "zz")])
def test_the_next_command_asks_what_the_refused_one_asked(project, pair, words):
    refused = pair(*words, "--here")
    (line,) = [line for line in refused.stderr.splitlines() if line.startswith("  next: ")]
    command = shlex.split(line.removeprefix("  next: repl-pair "))
    assert json.loads(pair(*command).stdout)["kernel"]["id"] == "here"


def test_a_cursor_of_another_question_exits_2(project, pair):
    first = pair("list", "variants", "--here", "--limit", "4")
    cursor = first.stderr.split("--cursor ")[1].split()[0]
    refused = pair("list", "tags", "--here", "--cursor", cursor)
    assert refused.exit_code == 2
    assert "stale_cursor: " in refused.stderr


def test_json_is_one_envelope_on_one_line(project, pair, envelopes):
    (envelope,) = envelopes(pair("list", "tags", "--here", "--json").stdout)
    assert envelope["ok"] is True
    assert "quick" in [item["id"] for item in envelope["result"]["items"]]
    assert envelope["kernel"]["id"] == "here"


def test_what_story_files_print_stays_out_of_stdout(project, pair):
    listed = pair("list", "stories", "--here", "--json")
    assert listed.stdout.startswith("{")
    assert "printed while loading" in listed.stderr


def test_an_entry_is_read_by_its_id(project, pair):
    found = pair("get", "variant", "shop.double/Good", "--here")
    assert found.exit_code == 0
    assert '"n": 2' in found.stdout


def test_an_unknown_id_is_refused_with_the_nearest_one(project, pair):
    refused = pair("get", "variant", "shop.double/God", "--here")
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert "shop.double/Good" in refused.stderr


def test_a_secret_is_redacted_and_counted(project, pair):
    found = pair("get", "story", "shop.key", "--here")
    assert '"api_key": "[redacted]"' in found.stdout
    assert " redacted\n" in found.stderr
    assert "pk-test" not in found.stdout + found.stderr


def test_a_passing_run_exits_0_with_a_table(project, pair):
    ran = pair("run", "shop.double/Good", "--here")
    assert ran.exit_code == 0
    head, line = ran.stdout.splitlines()
    assert head.split() == ["status", "variant", "total", "ms"]
    assert line.split()[:3] == ["pass", "shop.double/Good", "1"]


def test_a_failing_run_exits_1_and_states_what_was_expected(project, pair):
    ran = pair("run", "shop.double/Good", "shop.double/Bad", "--here")
    assert ran.exit_code == 1
    assert ran.stdout.splitlines()[3:] == [
        "",
        "stories_shop.py:23: shop.double/Bad: fail",
        "  path_equals result",
        "    result: expected 5, got 4",
        "",
        ran.stdout.splitlines()[-1],
    ]
    assert re.fullmatch(r"1 pass, 1 fail in \d+\.\d\d s", ran.stdout.splitlines()[-1])


def test_runs_as_json_are_one_envelope_a_run(project, pair, envelopes):
    ran = pair("run", "shop.double/*", "--here", "--json")
    statuses = [envelope["result"]["status"] for envelope in envelopes(ran.stdout)]
    assert statuses == ["fail", "fail", "pass"]
    assert ran.exit_code == 1


def test_a_selection_that_matches_in_part_runs_nothing(project, pair):
    refused = pair("run", "shop.double/Good", "shop.double/Godo", "shop.nothing/*", "--here")
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert "'shop.double/Godo'" in refused.stderr
    assert "'shop.nothing/*'" in refused.stderr
    assert "Nothing was run" in refused.stderr
    assert not (project / "ran.txt").exists()


def test_a_variant_that_two_words_name_runs_once(project, pair):
    ran = pair("run", "shop.double/Good", "shop.double/G*", "--here")
    assert ran.exit_code == 0
    assert (project / "ran.txt").read_text() == "2\n"


def test_modes_and_overrides_reach_the_run(project, pair):
    assert pair("run", "shop.double/Free", "--here").exit_code == 1
    assert pair("run", "shop.double/Free", "--here", "--mode", "size/big").exit_code == 0
    assert pair("run", "shop.double/Free", "--here", "--override", "n=1000").exit_code == 0
    assert (project / "ran.txt").read_text() == "1\n1000\n1000\n"


def test_the_person_may_override_a_secret(project, pair):
    ran = pair("run", "shop.key/Used", "--here", "--override", 'api_key="pk-test-other-90Lm"')
    assert ran.exit_code == 0, ran.stdout


@pytest.mark.parametrize("pair_text", ["n=two", "n", "=1"])
def test_an_override_that_is_no_json_is_refused_with_a_legal_form(project, pair, pair_text):
    refused = pair("run", "shop.double/Good", "--here", "--override", pair_text)
    assert refused.exit_code == 2
    assert "JSON" in refused.stderr
    assert not (project / "ran.txt").exists()


def test_a_timeout_ends_a_run_with_exit_1(project, pair):
    long = ("shop.slow/Long", "--override", "seconds=60")
    ran = pair("run", *long, "--here", "--timeout", "0.2")
    assert ran.exit_code == 1
    assert "0.2 s" in ran.stdout + ran.stderr


def test_an_identity_is_given_and_nothing_runs(project, pair, envelopes):
    plain = pair("identity", "shop.double/Good", "--here")
    slots = dict(line.split(maxsplit=1) for line in plain.stdout.splitlines())
    (envelope,) = envelopes(pair("identity", "shop.double/Good", "--here", "--json").stdout)
    assert slots["content_hash"] == envelope["result"]["content_hash"]
    assert slots["content_hash"].startswith("rp1:")
    assert not (project / "ran.txt").exists()


def test_op_prints_the_envelope_of_any_op(project, pair, envelopes):
    called = pair("op", "list_variants", "--json", '{"story_id": "shop.key"}', "--here")
    assert called.exit_code == 0
    (envelope,) = envelopes(called.stdout)
    assert [item["id"] for item in envelope["result"]["items"]] == ["shop.key/Used"]


def test_op_exits_1_for_a_verdict_that_is_no_pass(project, pair):
    assert pair("op", "tests_passing", "--here").exit_code == 1
    assert (
        pair("op", "get_variant", "--json", '{"variant_id": "shop.double/Bad"}', "--here").exit_code
        == 0
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("op", "lst_stories"), "not_found"),
        (("op", "get_story"), "bad_arguments"),
        (("op", "get_story", "--json", "{"), "bad_arguments"),
        (("op", "get_story", "--json", '{"story": "shop.key"}'), "bad_arguments"),
    ],
)
def test_op_refuses_with_an_envelope_and_exit_2(project, pair, envelopes, words, code):
    refused = pair(*words, "--here")
    (envelope,) = envelopes(refused.stdout)
    assert (envelope["ok"], envelope["error"]["code"]) == (False, code)
    assert refused.exit_code == 2


def test_json_that_cannot_be_read_is_refused_with_an_example_of_the_same_option(
    project, pair, envelopes
):
    (envelope,) = envelopes(pair("op", "get_story", "--json", "{", "--here").stdout)
    assert "--json '{" in envelope["error"]["message"]
    assert "--override" not in envelope["error"]["message"]


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        ((), Policy()),
        (("--allow", "inspect"), Policy(allow=frozenset({"inspect"}))),
        (("--ask", "inspect"), Policy(ask=frozenset({"inspect"}))),
        (("--toolsets", "values"), Policy(toolsets=frozenset({"values"}))),
        (
            ("--ask", "write", "--ask", "inspect", "--toolsets", "story", "--toolsets", "values"),
            Policy(ask=frozenset({"write", "inspect"}), toolsets=frozenset({"story", "values"})),
        ),
    ],
)
def test_ops_lists_what_the_server_lists(project, pair, envelopes, options, policy):
    (envelope,) = envelopes(pair("ops", "--json", *options).stdout)
    listed = [item["name"] for item in envelope["result"]["items"]]
    assert listed == [tool.name for tool in list_tools(Session(policy).descriptors(), policy)]


def test_a_closed_gate_reads_like_no_op_at_all(project, pair, envelopes):
    closed, unknown = pair("op", "get_value", "--here"), pair("op", "get_valve", "--here")
    (one,), (other,) = envelopes(closed.stdout), envelopes(unknown.stdout)
    assert (closed.exit_code, one["error"]["code"]) == (2, "not_found")
    assert other["error"]["message"].startswith("There is no op 'get_valve'")
    assert one["error"]["message"].startswith("There is no op 'get_value'")
    assert one["hints"] == other["hints"]
    assert "inspect, write, eval" in one["hints"][0]
    assert "--allow inspect" in one["hints"][0]


def test_a_gate_that_asks_is_refused_while_nobody_can_be_asked(project, pair, envelopes):
    refused = pair("op", "get_value", "--json", '{"path": "x"}', "--here", "--ask", "inspect")
    assert envelopes(refused.stdout)[0]["error"]["code"] == "approval_unavailable"
    assert refused.exit_code == 2


@pytest.mark.parametrize(
    ("options", "near"),
    [(("--allow", "inspekt"), "inspect"), (("--toolsets", "storys"), "story")],
)
def test_a_word_that_is_no_gate_or_toolset_is_refused(project, pair, options, near):
    refused = pair("list", "stories", "--here", *options)
    assert refused.exit_code == 2
    assert f"Nearest: {near}" in refused.stderr


def test_a_tier_hides_what_is_not_of_it(project, pair):
    listed = pair("list", "stories", "--here", "--tier", "agent")
    assert listed.exit_code == 0
    assert listed.stdout == ""


def test_here_and_a_kernel_exclude_each_other(project, pair):
    refused = pair("list", "stories", "--here", "--kernel", "1234")
    assert refused.exit_code == 2
    assert "leave one of the two out" in refused.stderr


def test_a_project_without_story_files_states_how_to_name_them(tmp_path, monkeypatch, pair):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    refused = pair("list", "stories", "--here")
    assert refused.exit_code == 2
    assert "stories_*.py" in refused.stderr


@pytest.mark.parametrize(
    "words", [["run", "--here"], ["lint"], ["list", "stories", "--here"], ["watch"], ["kernels"]]
)
def test_where_the_folder_is_gone_a_command_says_so(tmp_path, monkeypatch, pair, words):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    refused = pair(*words)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("cannot_run: The folder that this command was started in is")


def test_watch_refuses_settings_that_it_cannot_follow(project, pair):
    (project / "pyproject.toml").write_text("[tool.repl_pair]\nstorys = []\n")
    refused = pair("watch")
    assert refused.exit_code == 2
    assert "no key 'storys'" in refused.stderr


def test_a_slow_run_is_reported_on_stderr_only(project, pair):
    ran = pair("run", "shop.slow/Long", "--here", "--json")
    assert ran.exit_code == 0
    assert "… run_variant shop.slow/Long" in ran.stderr
    assert "…" not in ran.stdout


def test_a_quick_run_writes_nothing_on_stderr(project, pair):
    ran = pair("run", "shop.slow/Short", "--here")
    assert ran.exit_code == 0
    assert ran.stderr.splitlines() == ["printed while loading"]


APP = """
app = repl_pair.surface("app", tier="ops")
app.cell("shown", expose=True)
app.cell("kept")
app.cell("_floor", expose=True)
repl_pair.function("other.stop", expose=True)(double)
"""


def test_of_many_functions_those_are_shown_with_a_tool_that_are_one(project, pair):
    with (project / "stories_shop.py").open("a") as file:
        file.write("for n in range(18):\n")
        file.write("    repl_pair.function(f'f.n{n:02}', expose=n > 0)(lambda: 1)\n")
    shown = pair("expose", "--here", "--json")
    items = json.loads(shown.stdout)["result"]["items"]
    tools = {item["id"]: item.get("tool") for item in items}
    assert tools == {f"f.n{n:02}": f"f__n{n:02}" if 0 < n < 17 else None for n in range(18)}


def test_a_person_sees_what_an_agent_sees_of_the_app_and_why_not_the_rest(project, pair):
    with (project / "stories_shop.py").open("a") as file:
        file.write(APP)

    def seen(*words):
        shown = pair("expose", *words, "--here")
        assert shown.exit_code == 0, shown.output
        lines = [re.split(r"  +", line) for line in shown.stdout.splitlines()]
        assert lines[0] == ["id", "kind", "seen", "tool", "registered", "why not"]
        return {line[0]: line[2:] for line in lines[1:]}

    where = {id: found[-1] if found[0] == "yes" else found[1] for id, found in seen().items()}
    assert all(re.fullmatch(r"stories_shop:\d+", place) for place in where.values())
    assert seen("other.stop")["other.stop"][:2] == ["yes", "other__stop"]
    reasons = {id: found[-1] for id, found in seen("app").items() if found[0] == "no"}
    assert reasons == {
        "app/_floor": "names that begin with _ or repl_pair are never exposed",
        "app/kept": "it is not exposed",
    }
    assert {id for id, (is_seen, *_) in seen("--expose-all").items() if is_seen == "yes"} == {
        *("app", "app/kept", "app/shown", "other.stop")
    }
    ops = seen("--tier", "ops")
    assert ops["other.stop"][-1] == "its tier is none, and only ops is seen"
    assert ops["app/shown"][0] == "yes"
    refused = pair("expose", "app/show", "--here")
    assert refused.exit_code == 2
    assert "is registered as 'app/show'. Nearest: app/shown" in refused.stderr


def test_a_server_that_exposes_all_reports_it_once_on_stderr(shell):
    warning = "--expose-all is for development"
    opened, usual = shell("mcp", "--expose-all"), shell("mcp")
    assert (opened.stderr.count(warning), usual.stderr.count(warning)) == (1, 0)
    assert (opened.returncode, opened.stdout) == (usual.returncode, usual.stdout) == (0, "")


def test_marks_that_would_steer_the_terminal_are_written_as_escapes(project, pair):
    with (project / "stories_shop.py").open("a") as file:
        file.write('repl_pair.tag("odd", doc="red \\x1b[31m\\nnext")\n')
    listed = pair("list", "tags", "--here")
    assert "red \\x1b[31m\\nnext" in listed.stdout


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\udc80", "x" * 5_000, ""])
@pytest.mark.parametrize(
    "words",
    [
        ["list", "stories"],
        ["kernels"],
        ["approvals"],
        ["mcp"],
        ["pause"],
        ["init", "claude", "--print"],
    ],
    ids=lambda words: words[0],
)
def test_what_can_name_no_kernel_is_refused_as_usage(runtime_dir, pair, words, name):
    refused = pair(*words, "--kernel", name)
    assert refused.exit_code == 2, refused.output
    assert "bad_arguments: kernel is an id, pid, notebook or file" in refused.stderr
    assert len(refused.stderr) < 1_000
    if words == ["pause"]:
        assert pair(*words, name).exit_code == 2
