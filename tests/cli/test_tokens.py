"""`repl-pair token`: what is printed once, what is kept, what is refused; and `init --http`."""

import json
import os
import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner

from repl_pair.__main__ import program
from repl_pair.bridge.tokens import FOLDER, Tokens

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
        (("add", "../up"), "not a name for an agent"),
        (("add", "Ada"), "not a name for an agent"),
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


def _write(text):
    return lambda file: file.write_text(text)


def _change(**slots):
    return lambda file: file.write_text(json.dumps(json.loads(file.read_text()) | slots))


def _replace(make):
    def damage(file):
        file.rename(file.with_name("kept"))
        make(file)

    return damage


DAMAGE = {
    "empty": (_write(""), "no token in it"),
    "no object": (_write("[]"), "no token in it"),
    "cut": (_write('{"version": 1, "name": "bob"'), "no token in it"),
    "deep": (_write("[" * 100_000), "no token in it"),
    "other version": (_change(version=2), "no token in it"),
    "other name": (_change(name="ada"), "no token in it"),
    "a name for you": (_change(name="person"), "no token in it"),
    "another slot": (_change(more=1), "no token in it"),
    "a hash of other letters": (_change(sha256="\u00e9" * 64), "no token in it"),
    "a text for a list": (_change(kernels="abc"), "no token in it"),
    "a list of numbers": (_change(allow=[1]), "no token in it"),
    "no time": (_change(added="x"), "no token in it"),
    "a time that no clock shows": (_change(added=1e300), "no token in it"),
    "an access that there is not": (_change(ask=["zz"]), "no token in it"),
    "a toolset that there is not": (_change(toolsets=["zz"]), "no token in it"),
    "a kernel that none can be": (_change(kernels=["\0"]), "no token in it"),
    "read by others": (lambda file: file.chmod(0o644), "chmod 600"),
    "written by others": (lambda file: file.chmod(0o620), "chmod 600"),
    "a link": (_replace(lambda file: file.symlink_to("kept")), "it is a link"),
    "a folder": (_replace(lambda file: file.mkdir()), "it is a link, or not a file"),
    "a pipe": (_replace(os.mkfifo), "it is a link, or not a file"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_file_of_a_token_costs_its_agent_only(pair, tmp_path, what):
    ada, bob = (pair("token", "add", name).stdout.strip() for name in ("ada", "bob"))
    file = tmp_path / "config" / "tokens" / "bob.json"
    tokens, (damage, words) = Tokens(), DAMAGE[what]
    assert tokens.find(bob).name == "bob"
    damage(file)
    assert tokens.find(bob) is None
    assert tokens.find(ada).name == "ada"
    assert [str(file) in str(fault) for fault in tokens.faults] == [True]
    listed = pair("token", "list")
    assert (listed.exit_code, "ada" in listed.stdout, "bob" in listed.stdout) == (1, True, False)
    assert str(file) in listed.stderr
    assert words in listed.stderr
    first, second = map(json.loads, pair("token", "list", "--json").stdout.splitlines())
    assert (first["result"]["total"], second["error"]["code"]) == (1, "unreadable")


def test_a_file_that_is_mended_or_removed_is_no_fault_any_more(pair, tmp_path):
    token = pair("token", "add", "bob").stdout.strip()
    file, tokens = tmp_path / "config" / "tokens" / "bob.json", Tokens()
    file.chmod(0o644)
    assert tokens.find(token) is None
    file.chmod(0o600)
    assert (tokens.find(token).name, tokens.faults) == ("bob", [])
    file.write_text("{")
    assert pair("token", "remove", "bob").exit_code == 0
    assert pair("token", "list").exit_code == 0


def test_a_folder_that_others_may_write_to_opens_nothing(pair, tmp_path):
    token = pair("token", "add", "ada").stdout.strip()
    folder = tmp_path / "config" / "tokens"
    folder.chmod(0o777)
    assert Tokens().find(token) is None
    for words in (("add", "bob"), ("list",)):
        refused = pair("token", *words)
        assert (refused.exit_code, f"chmod 700 {folder}" in refused.stderr) == (1, True)
    started = pair("mcp", "--http", "127.0.0.1:0")
    assert (started.exit_code, f"chmod 700 {folder}" in started.stderr) == (1, True)
    folder.chmod(0o700)
    assert [each.name for each in Tokens().list()] == ["ada"]


def test_files_of_another_user_open_nothing(pair, tmp_path, monkeypatch):
    token = pair("token", "add", "ada").stdout.strip()
    file = tmp_path / "config" / "tokens" / "ada.json"
    if os.getuid() == 0:
        os.chown(file, 12_345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: os.stat(file).st_uid + 1)
    tokens = Tokens()
    assert tokens.find(token) is None
    assert "another user" in str(tokens.faults[0])


@pytest.mark.parametrize("mask", [0, 0o002, 0o077])
def test_what_is_kept_is_the_owners_alone_under_each_umask(pair, tmp_path, mask):
    before = os.umask(mask)
    try:
        assert pair("token", "add", "ada").exit_code == 0
    finally:
        os.umask(before)
    folder = tmp_path / "config"
    for path, mode in {folder: 0o700, folder / "tokens": 0o700}.items():
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE((folder / "tokens" / "ada.json").stat().st_mode) == 0o600


def test_tokens_that_several_add_and_remove_at_once_are_all_there(tmp_path):
    folder = tmp_path / "tokens"
    kept = Tokens(folder).add("kept")
    reader, seen = Tokens(folder), []

    def change(worker):
        mine = Tokens(folder)
        for number in range(10):
            mine.add(f"w{worker}-{number}")
            if number % 2:
                mine.remove(f"w{worker}-{number}")

    with ThreadPoolExecutor(4) as workers:
        changing = [workers.submit(change, worker) for worker in range(4)]
        while not all(each.done() for each in changing):
            seen.append(reader.find(kept) is not None and not reader.faults)
        for each in changing:
            each.result()
    assert all(seen)
    assert len(Tokens(folder).list()) == 1 + 4 * 5
    assert len(list(folder.iterdir())) == 1 + 4 * 5


@pytest.mark.parametrize("host", NAMED)
def test_a_hosts_entry_for_http_names_a_variable_and_no_token(pair, host):
    url = "http://127.0.0.1:7331/mcp"
    made = pair("init", host, "--http", url, "--print")
    assert made.exit_code == 0, made.stderr
    read = tomllib.loads if host == "codex" else json.loads
    (servers,) = read(made.stdout).values()
    assert servers == {"pair": {"url": url, **NAMED[host]}}
    assert "REPL_PAIR_TOKEN" in made.stderr
    assert ("promptString" in made.stderr) == (host == "vscode")


@pytest.mark.parametrize(
    "words",
    [
        ("--http", "http://127.0.0.1:7331/mcp?token=x"),
        ("--http", "http://user:secret@127.0.0.1/mcp"),
        ("--http", "127.0.0.1:7331"),
        ("--http", "http://127.0.0.1:7331/mcp", "--allow", "eval"),
        ("--http", "http://127.0.0.1:7331/mcp", "--kernel", "x"),
        ("--http", "http://127.0.0.1:7331/mcp", "--check"),
        ("--http", "http://127.0.0.1:7331/mcp", "--as", "foo"),
    ],
)
def test_an_entry_for_http_takes_a_url_alone(pair, words):
    assert pair("init", "claude", *words, "--print").exit_code == 2


def test_what_an_entry_for_http_does_not_take_is_named_with_what_does(pair):
    url = "http://127.0.0.1:7331/mcp"
    refused = pair("init", "claude", "--http", url, "--tier", "ops", "--print").stderr
    assert "repl-pair token add NAME --tier" in refused
    assert "curl" not in refused
    assert "call by curl" in pair("init", "claude", "--http", url, "--check", "--print").stderr


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
