"""`repl-pair init`: what it prints, what it does to a host's file and never does, and --check."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from pathlib import Path

import json5
import pexpect
import pytest

from repl_pair.bridge.policy import GATED
from repl_pair.cli.setup import server_check
from repl_pair.cli.setup.host_files import carry_out, plan
from repl_pair.cli.setup.hosts import HOSTS
from repl_pair.cli.setup.init import MEANINGS
from repl_pair.cli.setup.server_check import check_server
from repl_pair.errors import RequestError

PLACES = {
    ("claude", "project"): "project/.mcp.json",
    ("claude", "user"): "home/.claude.json",
    ("cursor", "project"): "project/.cursor/mcp.json",
    ("cursor", "user"): "home/.cursor/mcp.json",
    ("vscode", "project"): "project/.vscode/mcp.json",
    ("vscode", "user"): "home/.config/Code/User/mcp.json",
    ("codex", "project"): "project/.codex/config.toml",
    ("codex", "user"): "home/.codex/config.toml",
}
EVERYWHERE = pytest.mark.parametrize(("host", "scope"), PLACES, ids=" ".join)
JSON_BEFORE = """\
{
    // what this project uses
    "theme": "dark",  /* odd,  spacing */ "sizes": [1,2,
      3],
    "KEY": {
        "other": {"command": "their-server", "args": ["--port", "1"]}, // keep
        "last": {
            "command": "x//y /* no comment */",
        }
        // "gone": {}
    },
    "after": null,
}
"""
JSON_AFTER = JSON_BEFORE.replace("        }\n        //", "        },\n        //").replace(
    '"gone": {}\n',
    """"gone": {}
        "pair": {
            "type": "stdio",
            "command": "PYTHON",
            "args": [
                "-P",
                "-m",
                "repl_pair",
                "mcp",
                "--as",
                "KNOWN"
            ]
        }
""",
)
TOML_BEFORE = """\
# my settings
model  =  "some-model"

[KEY.other]   # keep
command = 'their-server'
args = [ "--port",
  "1" ]
[KEY.other.env]
A = "b"
"""
TOML_AFTER = (
    TOML_BEFORE
    + """
[KEY.pair]
command = "PYTHON"
args = ["-P", "-m", "repl_pair", "mcp", "--as", "KNOWN"]
"""
)
SECRET = "tok-61Zq0mWv83Lx"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A home and a project of this test's own, and nothing in the environment that leads away."""
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "platform", "linux")
    for name in os.environ:
        if name.startswith(("JUPYTER_", "XDG_", "CODEX_", "CLAUDE_")):
            monkeypatch.delenv(name)
    return tmp_path


def start_of(host, *options):
    words = ["-P", "-m", "repl_pair", "mcp", "--as", host, *options]
    return {"command": sys.executable, "args": words}


def read(host, path):
    """Read a host's servers with a reader of another package."""
    text = path.read_text()
    return (tomllib.loads if host == "codex" else json5.loads)(text)[HOSTS[host].key]


def put(host, path, json_text, toml_text):
    """Return a host's file a content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = toml_text if host == "codex" else json_text
    text = text.replace("KEY", HOSTS[host].key).replace("KNOWN", host)
    text = text.replace("PYTHON", sys.executable)
    path.write_text(text)
    return text


def files(root):
    return {str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir()}


# --- the host's file


@EVERYWHERE
def test_a_file_that_is_not_there_is_made_with_the_entry_alone(places, pair, host, scope):
    written = pair("init", host, f"--{scope}", "--write")
    assert (written.exit_code, written.stdout) == (0, "")
    assert files(places) == {PLACES[host, scope]}
    path = places / PLACES[host, scope]
    fixed = {} if host == "codex" else {"type": "stdio"}
    assert read(host, path) == {"pair": fixed | start_of(host)}
    assert str(path) in written.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@EVERYWHERE
def test_what_else_a_file_holds_stays_to_the_byte(places, pair, host, scope):
    path = places / PLACES[host, scope]
    put(host, path, JSON_BEFORE, TOML_BEFORE)
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    owner = path.stat().st_uid, path.stat().st_gid
    assert pair("init", host, f"--{scope}", "--write").exit_code == 0
    assert path.read_text() == put(host, places / "expected", JSON_AFTER, TOML_AFTER)
    assert (path.stat().st_uid, path.stat().st_gid) == owner
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert files(places) == {PLACES[host, scope], "expected"}


@EVERYWHERE
def test_an_entry_that_is_there_is_left_as_it_is(places, pair, host, scope):
    path = places / PLACES[host, scope]
    put(host, path, JSON_AFTER, TOML_AFTER)
    before = path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino
    again = pair("init", host, f"--{scope}", "--write")
    assert again.exit_code == 0
    assert "already" in again.stderr
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before


@EVERYWHERE
def test_anothers_entry_of_that_name_is_never_replaced(places, pair, host, scope):
    path = places / PLACES[host, scope]
    taken = json.dumps(
        {"KEY": {"pair": {"command": "a-server", "args": [SECRET], "env": {"T": SECRET}}}}
    )
    table = f'[KEY.pair]\ncommand = "a-server"\nargs = ["{SECRET}"]\nenv = {{ T = "{SECRET}" }}\n'
    before = put(host, path, taken, table)
    refused = pair("init", host, f"--{scope}", "--write")
    assert refused.exit_code == 2
    assert path.read_text() == before
    assert files(places) == {PLACES[host, scope]}
    assert '-command: "a-server"' in refused.stderr
    assert f'+command: "{sys.executable}"' in refused.stderr
    assert "--name" in refused.stderr
    assert SECRET not in refused.stdout + refused.stderr
    assert pair("init", host, f"--{scope}", "--write", "--name", "mine").exit_code == 0
    assert read(host, path)["mine"]["command"] == sys.executable
    assert read(host, path)["pair"]["command"] == "a-server"


@EVERYWHERE
def test_an_entry_for_another_url_is_kept_and_both_urls_are_named(places, pair, host, scope):
    path = places / PLACES[host, scope]
    old, new = (f"http://127.0.0.1:{port}/mcp" for port in (7331, 7332))
    wanted = ("init", host, f"--{scope}", "--write", "--http")
    assert pair(*wanted, old).exit_code == 0
    before = path.read_text()
    refused = pair(*wanted, new)
    assert refused.exit_code == 2
    assert path.read_text() == before
    assert f"at {old}; {new} was asked for" in refused.stderr
    assert f"write {new} into 'pair' by hand" in refused.stderr
    assert f'-url: "{old}"' in refused.stderr


@EVERYWHERE
@pytest.mark.parametrize(
    ("json_text", "toml_text"),
    [
        ('{"KEY": {', "[KEY"),
        ('["KEY"]', "KEY = 1"),
        ('{"KEY": ["pair"]}', 'KEY = { other = { command = "x" } }'),
        ('{"KEY": null}', "[[KEY]]\nname = 1\n"),
    ],
)
def test_a_file_that_cannot_take_the_entry_is_left_and_the_entry_printed(
    places, pair, host, scope, json_text, toml_text
):
    path = places / PLACES[host, scope]
    before = put(host, path, json_text, toml_text)
    refused = pair("init", host, f"--{scope}", "--write")
    assert refused.exit_code == 1
    assert path.read_text() == before
    assert files(places) == {PLACES[host, scope]}
    assert refused.stderr.startswith(f"unreadable: {path} ")
    assert refused.stdout == pair("init", host, f"--{scope}", "--print").stdout != ""


@EVERYWHERE
def test_a_folder_that_cannot_be_written_is_reported_and_the_entry_printed(
    places, pair, host, scope, monkeypatch
):
    shown = pair("init", host, "--print").stdout
    with read_only_folder() as folder:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("HOME", str(folder))
        refused = pair("init", host, f"--{scope}", "--write")
        assert list(folder.iterdir()) == []
    assert refused.exit_code == 1
    assert refused.stderr.startswith("cannot_run: ")
    assert "Nothing changed" in refused.stderr
    assert refused.stdout == shown


@contextmanager
def read_only_folder():
    """Return a folder that this process may not write into, also where it is root's."""
    with tempfile.TemporaryDirectory() as name:
        folder, root = Path(name), os.geteuid() == 0
        folder.chmod(0o555)
        if root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "mcpServers": ENTRY\n}\n'),
        ("{}", '{\n  "mcpServers": ENTRY\n}'),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"pair": INLINE}}'),
        ('{"mcpServers": {"a": {},},}', '{"mcpServers": {"a": {}, "pair": INLINE},}'),
        ('{\r\n\t"a": "//"\r\n}\r\n', None),
        ("\ufeff{}\n", None),
        ("// nothing yet\n", None),
        ('{"mcpServers":\n{} /* } */ }', None),
        ('{"a": "}", "mcp\\u0053ervers": {"b": {}}}', None),
    ],
)
def test_every_way_to_write_json_is_kept(places, pair, before, after):
    path = places / "project" / ".mcp.json"
    path.write_bytes(before.encode())
    assert pair("init", "claude", "--write").exit_code == 0
    text = path.read_bytes().decode()
    entry = {"type": "stdio"} | start_of("claude")
    if after is not None:
        block = json.dumps({"pair": entry}, indent=2).replace("\n", "\n  ")
        assert text == after.replace("ENTRY", block).replace("INLINE", json.dumps(entry))
    kept = iter(text)
    assert all(mark in kept for mark in before), "something was taken out"
    found = json5.loads(text.removeprefix("\ufeff"))
    assert found["mcpServers"]["pair"] == entry
    assert ("\r\n" in before) == ("\r\n" in text)
    assert text.count("\n") == text.count("\r\n") or "\r\n" not in text


@pytest.mark.parametrize("more", [{}, {"type": "stdio"}, {"env": {}}])
def test_an_entry_that_starts_the_same_counts_as_there(places, pair, more):
    path = places / "project" / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {"pair": start_of("claude") | more}}))
    before = path.read_text()
    assert "already" in pair("init", "claude", "--write").stderr
    assert path.read_text() == before


def test_a_file_that_was_changed_meanwhile_is_not_written_over(places):
    path = places / "project" / ".mcp.json"
    path.write_text("{}")
    change = plan(HOSTS["claude"], path, "pair", start_of("claude"))
    path.write_text('{"mine": 1}')
    with pytest.raises(RequestError, match="changed meanwhile"):
        carry_out(change)
    assert path.read_text() == '{"mine": 1}'
    assert files(places) == {"project/.mcp.json"}


def test_a_link_stays_a_link_and_its_file_is_written(places, pair):
    real = places / "dotfiles.json"
    real.write_text("{}")
    link = places / "project" / ".mcp.json"
    link.symlink_to(real)
    assert pair("init", "claude", "--write").exit_code == 0
    assert link.is_symlink()
    assert read("claude", real) == {"pair": {"type": "stdio"} | start_of("claude")}


def test_the_hosts_own_variables_state_where_its_file_is(places, pair, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(places / name))
    for host in ("claude", "codex", "vscode"):
        assert pair("init", host, "--user", "--write").exit_code == 0
    assert files(places) == {
        "CLAUDE_CONFIG_DIR/.claude.json",
        "CODEX_HOME/config.toml",
        "XDG_CONFIG_HOME/Code/User/mcp.json",
    }


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("darwin", {}, "home/Library/Application Support/Code/User/mcp.json"),
        ("win32", {}, "home/AppData/Roaming/Code/User/mcp.json"),
        ("win32", {"APPDATA": "roaming"}, "roaming/Code/User/mcp.json"),
    ],
)
def test_vs_code_keeps_its_file_where_the_system_has_it(
    places, monkeypatch, platform, variables, place
):
    monkeypatch.setattr(sys, "platform", platform)
    for name, folder in variables.items():
        monkeypatch.setenv(name, str(places / folder))
    assert HOSTS["vscode"].user() == places / place


# --- the entry


@pytest.mark.parametrize("host", HOSTS)
def test_without_a_word_it_only_prints(places, pair, host):
    printed = pair("init", host)
    assert printed.exit_code == 0
    assert files(places) == set()
    path = places / "printed"
    path.write_text(printed.stdout)
    assert read(host, path)["pair"]["args"] == start_of(host)["args"]
    assert str(HOSTS[host].file(HOSTS[host].usual)) in printed.stderr
    assert "inspect: closed; write: closed; eval: closed" in printed.stderr


def test_the_options_stand_in_the_entry_and_paths_become_absolute(places, pair, envelopes):
    kernel = places / "project" / "kernel-1.json"
    kernel.write_text("{}")
    words = ("--kernel", kernel.name, "--allow", "eval, inspect", "--ask", "mutates")
    more = ("--tier", "agent", "--toolsets", "values", "--as", "me", "--expose-all")
    more += ("--ask", "write", "--toolsets", "story")
    (seen,) = envelopes(pair("init", "cursor", *words, *more, "--json").stdout)
    options = ("--kernel", str(kernel), "--allow", "inspect,eval", "--ask", "write,mutates")
    options += ("--toolsets", "values,story", "--tier", "agent", "--expose-all")
    assert seen["result"] == {
        "name": "pair",
        "scope": "project",
        "path": str(places / "project" / ".cursor" / "mcp.json"),
        "state": "printed",
        "entry": {"type": "stdio"} | start_of("me", *options),
        "document": pair("init", "cursor", *words, *more, "--print").stdout,
    }


def test_an_entry_takes_from_the_environment_only_where_kernels_are(
    places, pair, envelopes, monkeypatch
):
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    monkeypatch.setenv("JUPYTER_TOKEN", SECRET)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(places / "runtime"))
    seen = pair("init", "codex", "--json").stdout
    assert SECRET not in seen
    (envelope,) = envelopes(seen)
    kept = {"JUPYTER_RUNTIME_DIR": str(places / "runtime")}
    assert envelope["result"]["entry"] == start_of("codex") | {"env": kept}
    document = tomllib.loads(envelope["result"]["document"])
    assert document["mcp_servers"]["pair"]["env"] == kept


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("--allow", "inspekt"), "Nearest: inspect"),
        (("--name", "two words"), "two words"),
        (("--name", "x" * 17), "x" * 17),
        (("--as", "Two Words"), "Two Words"),
        (("--as", "x" * 33), "x" * 33),
        (("--as", ""), "--as takes"),
        (("--as", "person"), "'person' is you"),
        (("--print", "--write"), "leave one of the two out"),
    ],
)
def test_words_that_mean_nothing_are_refused_before_anything_happens(places, pair, words, about):
    refused = pair("init", "claude", "--write", *words)
    assert refused.exit_code == 2
    assert about in refused.stderr
    assert files(places) == set()


def test_a_refusal_as_json_brings_the_entry_and_the_difference(places, pair, envelopes):
    path = places / "project" / ".mcp.json"
    path.write_text('{"mcpServers": {"pair": {"url": "http://127.0.0.1:1/"}}}')
    refused = pair("init", "claude", "--write", "--json")
    (envelope,) = envelopes(refused.stdout)
    assert refused.exit_code == 2
    assert envelope["error"]["code"] == "bad_arguments"
    detail = envelope["error"]["detail"]
    assert detail["path"] == str(path)
    assert detail["document"] == pair("init", "claude", "--print").stdout
    assert "-url: …" in detail["diff"].splitlines()


# --- questions


@pytest.fixture
def terminal(places):
    """Runs `init` where a person can be asked: `terminal("cursor")`."""
    running = []

    def run(*words):
        command = ["-P", "-m", "repl_pair", "init", *words]
        running.append(pexpect.spawn(sys.executable, command, encoding="utf-8", timeout=30))
        return running[-1]

    yield run
    for program in running:
        program.close(force=True)


def test_the_meanings_that_are_asked_are_those_of_all_gates():
    assert tuple(MEANINGS) == GATED


def test_a_person_is_asked_what_to_allow_and_whether_to_write(places, terminal):
    program = terminal("cursor")
    for gate, answer in (("inspect", "allow"), ("write", ""), ("eval", "ask")):
        program.expect(rf"{gate}: .*\(deny, ask, allow\) \[deny\]: ")
        program.sendline(answer)
    program.expect(r"Put it into .*/project/\.cursor/mcp\.json\? \[y/N\]: ")
    assert files(places) == set()
    program.sendline("y")
    program.expect(pexpect.EOF)
    program.close()
    assert program.exitstatus == 0
    options = ("--allow", "inspect", "--ask", "eval")
    written = read("cursor", places / "project/.cursor/mcp.json")
    assert written == {"pair": {"type": "stdio"} | start_of("cursor", *options)}


def test_a_person_who_refuses_gets_the_entry_printed(places, terminal):
    program = terminal("cursor", "--ask", "inspect")
    program.expect(r"\[y/N\]: ")
    assert "eval:" not in program.before
    program.sendline("")
    program.expect('"mcpServers"')
    program.expect(pexpect.EOF)
    program.close()
    assert program.exitstatus == 0
    assert files(places) == set()


@pytest.mark.parametrize(("word", "written"), [("--yes", True), ("--print", False)])
def test_a_word_that_settles_it_keeps_the_person_from_being_asked(places, terminal, word, written):
    program = terminal("cursor", word)
    program.expect(pexpect.EOF)
    program.close()
    assert (program.exitstatus, bool(files(places))) == (0, written)


# --- the check


def findings_of(ran, envelopes):
    return envelopes(ran.stdout)[0]["result"]["check"]


def test_a_check_starts_the_server_and_finds_the_kernel(kernel, pair, envelopes):
    ran = pair("init", "claude", "--check", "--json")
    found = findings_of(ran, envelopes)
    id = kernel.path.stem.removeprefix("kernel-")
    assert ran.exit_code == 0, found
    assert all(finding["well"] for finding in found)
    served, tools, living, chosen = (finding["what"] for finding in found)
    assert served.startswith("the server answers after ")
    assert served.endswith(", MCP 2025-11-25")
    assert tools.startswith("tools: ")
    assert {"list_kernels", "run_variant"} <= set(tools.partition("(")[2][:-1].split(", "))
    assert living == f"live kernels: {id} (python3)"
    assert chosen == f"calls go to {id} (python3), which answers"


def test_a_check_without_a_kernel_is_well_unless_the_entry_names_one(
    runtime_dir, places, pair, envelopes, monkeypatch
):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime_dir))
    ran = pair("init", "claude", "--check", "--json")
    assert ran.exit_code == 0
    *_, living, chosen = findings_of(ran, envelopes)
    assert living["what"] == "live kernels: none"
    assert chosen["well"]
    assert "JupyterLab" in chosen["remedy"]
    named = pair("init", "claude", "--check", "--json", "--kernel", "gone.ipynb")
    assert named.exit_code == 1
    *_, chosen = findings_of(named, envelopes)
    assert not chosen["well"]
    assert "gone.ipynb" in chosen["remedy"]


@pytest.mark.full
def test_a_check_in_words_goes_to_stderr_after_the_write(places, pair):
    ran = pair("init", "codex", "--write", "--check", "--kernel", "gone.ipynb")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert files(places) == {"home/.codex/config.toml"}
    stated = [line.split()[0] for line in ran.stderr.splitlines()[-5:]]
    assert stated == ["ok", "ok", "ok", "warn", "No"]


@pytest.mark.parametrize(
    ("program", "about", "bound_s"),
    [
        ("raise SystemExit('no such thing here')", "no such thing here", 30.0),
        ("print('not a frame')", "It wrote nothing.", 30.0),
        ("import sys, time; print('asleep', file=sys.stderr); time.sleep(60)", "asleep", 4.0),
    ],
)
def test_a_server_that_does_not_serve_is_reported_in_words(monkeypatch, program, about, bound_s):
    monkeypatch.setattr(server_check, "BOUND_S", bound_s)
    (finding,) = check_server({"command": sys.executable, "args": ["-c", program]}, None)
    assert (finding.what, finding.well) == ("the server does not serve", False)
    assert about in finding.remedy
    assert "Traceback" not in finding.remedy


def test_a_program_that_is_not_there_is_reported_in_words(tmp_path):
    (finding,) = check_server({"command": str(tmp_path / "python"), "args": []}, None)
    assert not finding.well
    assert "could not be started" in finding.remedy
    assert str(tmp_path / "python") in finding.remedy


def test_a_check_gives_the_server_what_the_strictest_host_gives_and_no_more(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere/bin")
    stated = "import os, sys; sys.exit(repr((dict(os.environ), os.getcwd())))"
    entry = {"command": sys.executable, "args": ["-c", stated], "env": {"MINE": "1"}}
    (finding,) = check_server(entry, None)
    variables, folder = eval(finding.remedy.rpartition("It wrote: ")[2].rpartition(" | ")[2])
    assert set(variables) <= {*server_check.PASSED_ON, "PATH", "MINE", "LC_CTYPE"}
    assert (variables["PATH"], variables["MINE"]) == (os.defpath, "1")
    assert folder != os.getcwd()
    assert not Path(folder).exists()


@pytest.mark.full
def test_a_folder_of_the_projects_named_like_a_package_does_not_break_the_server(places, pair):
    for name in ("mcp", "click", "repl_pair"):
        (places / "project" / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    entry = json.loads(pair("init", "claude", "--print").stdout)["mcpServers"]["pair"]
    ran = subprocess.run(
        [entry["command"], *entry["args"]],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=places / "project",
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
