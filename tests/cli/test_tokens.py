"""`repl-pair token`: what is printed once, what is kept, what is refused; and `init --http`."""

import json
import stat
import tomllib

import pytest
from click.testing import CliRunner

from repl_pair.__main__ import program
from repl_pair.bridge.tokens import FOLDER, Tokens
from repl_pair.errors import RequestError

NAMED = {
    "claude": {"type": "http", "headers": {"Authorization": "Bearer ${REPL_PAIR_TOKEN}"}},
    "cursor": {"headers": {"Authorization": "Bearer ${env:REPL_PAIR_TOKEN}"}},
    "vscode": {"type": "http", "headers": {"Authorization": "Bearer ${env:REPL_PAIR_TOKEN}"}},
    "codex": {"bearer_token_env_var": "REPL_PAIR_TOKEN"},
}


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """Runs a command of repl-pair, in a folder of this test's own."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(program, list(words))


def test_a_token_is_printed_once_and_only_its_hash_is_kept(pair, tmp_path):
    made = pair("token", "add", "ada", "--tier", "user", "--allow", "eval", "--kernel", "a.ipynb")
    token = made.stdout.strip()
    assert made.exit_code == 0
    assert token.startswith("rpt_")
    (file,) = (tmp_path / "config" / "tokens").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert token not in file.read_text()
    found = Tokens().find(token)
    assert (found.name, found.tier, found.kernels) == ("ada", "user", ("a.ipynb",))
    assert found.policy().view("ada").access >= {"eval", "read", "run"}
    listed = pair("token", "list")
    assert "ada" in listed.stdout
    assert token not in listed.stdout
    assert found.sha256 not in listed.stdout


def test_a_removed_token_is_not_found_any_more(pair):
    token = pair("token", "add", "ada").stdout.strip()
    tokens = Tokens()
    assert tokens.find(token).name == "ada"
    assert pair("token", "remove", "ada").exit_code == 0
    assert tokens.find(token) is None
    again = pair("token", "add", "ada").stdout.strip()
    assert tokens.find(token) is None
    assert tokens.find(again).name == "ada"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", "person"), "'person' is you"),
        (("add", "../up"), "no name for an agent"),
        (("add", "Ada"), "no name for an agent"),
        (("add", "ada", "--allow", "evil"), "Nearest: eval"),
        (("add", "ada", "--kernel", ""), "kernel is an id"),
        (("add", "taken"), "There is a token 'taken' already"),
        (("remove", "takn"), "Nearest: taken"),
    ],
)
def test_what_is_no_token_is_refused_and_nothing_changes(pair, words, code):
    first = pair("token", "add", "taken").stdout.strip()
    refused = pair("token", *words)
    assert refused.exit_code == 2
    assert code in refused.stderr
    assert [token.name for token in Tokens().list()] == ["taken"]
    assert Tokens().find(first).name == "taken"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 2}', "nul"])
def test_a_file_that_holds_no_token_is_named(pair, tmp_path, text):
    pair("token", "add", "ada")
    file = tmp_path / "config" / "tokens" / "ada.json"
    file.write_text(text)
    refused = pair("token", "list")
    assert refused.exit_code == 1
    assert str(file) in refused.stderr
    with pytest.raises(RequestError):
        Tokens().find("rpt_x")


@pytest.mark.parametrize("host", NAMED)
def test_a_hosts_entry_for_http_names_a_variable_and_no_token(pair, host):
    url = "http://127.0.0.1:7331/mcp"
    made = pair("init", host, "--http", url, "--print")
    assert made.exit_code == 0, made.stderr
    read = tomllib.loads if host == "codex" else json.loads
    (servers,) = read(made.stdout).values()
    assert servers == {"pair": {"url": url, **NAMED[host]}}
    assert "REPL_PAIR_TOKEN" in made.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--http", "http://127.0.0.1:7331/mcp?token=x"),
        ("--http", "http://user:secret@127.0.0.1/mcp"),
        ("--http", "127.0.0.1:7331"),
        ("--http", "http://127.0.0.1:7331/mcp", "--allow", "eval"),
        ("--http", "http://127.0.0.1:7331/mcp", "--kernel", "x"),
        ("--http", "http://127.0.0.1:7331/mcp", "--check"),
    ],
)
def test_an_entry_for_http_takes_a_url_alone(pair, words):
    assert pair("init", "claude", *words, "--print").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [("--allow", "eval"), ("--tier", "t"), ("--as", "ada"), ("--here",), ("--expose-all",)],
)
def test_what_tokens_say_is_no_option_of_the_server(pair, words):
    pair("token", "add", "ada")
    refused = pair("mcp", "--http", "127.0.0.1:0", *words)
    assert refused.exit_code == 2
    assert "the token of each agent says that" in refused.stderr


@pytest.mark.parametrize("place", ["x:y", "a:b:c", "127.0.0.1:99999", "http://x", ""])
def test_what_is_no_place_is_refused(pair, place):
    pair("token", "add", "ada")
    assert pair("mcp", f"--http={place}").exit_code == 2


def test_options_of_http_need_it(pair):
    refused = pair("mcp", "--http-host", "box.lan")
    assert refused.exit_code == 2
    assert "--http-host goes with --http only" in refused.stderr
