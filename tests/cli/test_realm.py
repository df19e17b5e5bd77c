"""`repl-pair realm`: what it writes, prints and refuses, and its exit codes."""

import json

import pytest
from repos import SCHEMA

from repl_pair.runtime.project import database

STORIES = '''
import repl_pair

@repl_pair.story("shop.double")
def double(n: int = 1) -> int:
    """Double a number."""
    return 2 * n

@repl_pair.surface("orders").function(expose=True)
def place(sku: str, count: int = 1) -> str:
    return f"{count} {sku}"

@repl_pair.surface("orders").function
def drop(order: str) -> None: ...
'''


@pytest.fixture
def joined(project, pair):
    """The project as the repo `api` of a realm, bound to pricing."""
    for words in (
        ("init", "shop", "../realm"),
        ("join", "../realm", "--as", "api"),
        ("bind", "pricing", "--export", "quote"),
    ):
        ended = pair("realm", *words)
        assert ended.exit_code == 0, ended.output
    return project


def read(joined, path):
    return json.loads((joined.parent / "realm" / path).read_text())


QUOTE = "domains/pricing/contracts/quote.json"


def test_the_files_of_a_realm_are_written_and_shown(joined, pair):
    assert read(joined, "realm.json") == {"name": "shop", "repos": {"api": "../project"}}
    own = json.loads((joined / ".repl_pair" / "realm.json").read_text())
    assert own == {"realm": "../realm", "repo": "api"}
    (joined / "quote.json").write_text(json.dumps(SCHEMA))
    saved = pair(
        "realm", "save", "pricing", "quote", "--version", "1.0.0", "--schema", "quote.json"
    )
    assert saved.output == "saved pricing/quote 1.0.0, owned by api\n"
    bound = pair("realm", "bind", "pricing", "--import", "quote ^1.0")
    assert bound.stdout.splitlines() == [
        "domain   repo  role  exports  imports",
        "pricing  api   both  quote    quote ^1.0 (current)",
    ]
    shown = pair("realm", "status").stdout.splitlines()
    assert shown == [
        "repo  path        here",
        "api   ../project  yes",
        "",
        "pricing",
        "name   version  owner",
        "quote  1.0.0    api",
        "repo  role  exports  imports",
        "api   both  quote    quote ^1.0 (current)",
    ]
    waits = pair("realm", "bind", "pricing", "--import", "quote >=2").stdout
    assert waits.endswith("  quote >=2 (broken)\n")
    assert "quote >=2 (broken)" in pair("realm", "status").stdout
    reply = json.loads(pair("realm", "status", "--json").output)
    assert (reply["ok"], reply["result"]["current_repo"]) == (True, "api")
    assert pair("realm", "unbind", "pricing").output == "api is not bound to pricing any more\n"
    assert not (joined.parent / "realm" / "domains/pricing/bindings/api.json").exists()


CHANGES = {
    "join": ("../realm",),
    "save": ("pricing", "quote", "--version", "1.0.0", "--schema", "quote.json"),
    "bind": ("pricing", "--import", "quote"),
    "unbind": ("pricing",),
}


@pytest.mark.parametrize("command", CHANGES)
def test_a_database_that_is_damaged_is_a_note_of_a_command_that_changed_the_realm(
    joined, pair, command
):
    (joined / "quote.json").write_text(json.dumps(SCHEMA))
    database.close_project()
    (joined / ".repl_pair" / "pair.db").write_text("damaged" * 1_000)
    ended = pair("realm", command, *CHANGES[command])
    assert (ended.exit_code, ended.stdout != "") == (0, True), ended.output
    (note,) = ended.stderr.splitlines()
    assert note.startswith("The realm is changed; the notices of this project are not: ")
    assert "pair.db" in note


def test_a_domain_that_a_binding_makes_is_reported_and_goes_with_it(joined, pair):
    made = pair("realm", "bind", "pricng", "--role", "consumer")
    assert made.stderr == "pricng is a new domain. Nearest: pricing.\n"
    assert pair("realm", "bind", "pricng", "--role", "both").stderr == ""
    pair("realm", "unbind", "pricng")
    assert [one.name for one in (joined.parent / "realm" / "domains").iterdir()] == ["pricing"]


def test_the_check_is_for_ci_a_line_a_fault_and_an_exit_code(joined, pair):
    broken = pair("realm", "check")
    assert broken.exit_code == 1
    assert broken.stdout == (
        "error: domains/pricing/bindings/api.json: broken_binding: api exports quote, and there "
        "is no such contract.\n"
    )
    assert broken.stderr == "1 error, 0 warnings\n"
    save = ("realm", "save", "pricing", "quote", "--schema", "quote.json", "--version")
    assert pair(*save, "1.0.0").exit_code == 2  # there is no such file
    (joined / "quote.json").write_text(json.dumps(SCHEMA))
    assert pair(*save, "1.0.0").exit_code == 0
    assert pair("realm", "check", "--strict").exit_code == 0
    data = read(joined, QUOTE)
    data["schema"]["title"] = "Quote"
    (joined.parent / "realm" / QUOTE).write_text(json.dumps(data))
    warned = pair("realm", "check")
    assert (warned.exit_code, warned.stdout.split(":")[0]) == (0, "warning")
    strict = pair("realm", "check", "--strict", "--json")
    assert strict.exit_code == 1
    assert json.loads(strict.output)["result"]["errors"][0]["kind"] == "changed_schema"
    (joined / "quote.json").write_text(json.dumps(data["schema"]), encoding="utf-8-sig")
    refused = pair(*save, "1.0.0")
    assert refused.exit_code == 2
    assert "save it as a higher version, such as 1.1.0" in refused.stderr
    assert pair(*save, "1.1.0").exit_code == 0
    assert pair("realm", "check", "--strict").exit_code == 0


def test_the_live_schema_of_a_story_and_of_a_function_is_saved(joined, pair, monkeypatch):
    (joined / "stories_shop.py").write_text(STORIES)
    save = ("realm", "save", "pricing", "quote", "--here", "--version")
    assert pair(*save, "1.0.0", "--from", "story:shop.double").exit_code == 0
    story = json.loads(pair("get", "story", "shop.double", "--here", "--json").output)
    assert read(joined, QUOTE)["schema"] == story["result"]["args_schema"]
    assert read(joined, QUOTE)["schema"]["properties"]["n"] == {"default": 1, "type": "integer"}
    assert pair(*save, "2.0.0", "--from", "function:orders.place").exit_code == 0
    assert read(joined, QUOTE)["schema"]["required"] == ["sku"]
    assert pair(*save, "2.1.0", "--from", "function:orders.drop").exit_code == 0  # not exposed
    assert read(joined, QUOTE)["schema"]["required"] == ["order"]
    for source, words in (
        ("story:shop.duoble", "Nearest: shop.double"),
        ("function:orders.plaec", "Nearest: orders.place"),
        ("shop.double", "story:ID or function:ID"),
    ):
        refused = pair(*save, "3.0.0", "--from", source)
        assert refused.exit_code == 2
        assert words in refused.stderr
    assert read(joined, QUOTE)["version"] == "2.1.0"


@pytest.mark.full
def test_the_story_of_a_live_kernel_is_saved(start, joined, pair):
    kernel = start()
    ended = pair(
        *("realm", "save", "pricing", "key", "--version", "1.0.0", "--from", "story:shop.key"),
        *("--kernel", str(kernel.path), "--json"),
    )
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.output)["result"]["owner"] == "api"
    text = (joined.parent / "realm" / "domains/pricing/contracts/key.json").read_text()
    assert json.loads(text)["schema"]["properties"]["api_key"]["type"] == "string"
    assert "pk-test-61Zq0mWv83Lx" not in text


REFUSED = {
    "a schema that is no JSON": ("{", (), "line 1, column 2"),
    "a schema that is no object": ("[]", (), "a JSON object"),
    "a schema with a key twice": ('{"type": "object", "type": "object"}', (), "stands twice"),
    "a schema that is no JSON Schema": ('{"type": "text"}', (), "$.type"),
    "a value that is no JSON": ("{}", ("--value", "{"), "--value takes JSON"),
    "a validation that is no object": ("{}", ("--validation", "[]"), "--validation takes"),
    "two sources": ("{}", ("--from", "story:x"), "not both"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_contract_is_refused_and_nothing_is_written(joined, pair, case):
    text, more, words = REFUSED[case]
    (joined / "quote.json").write_text(text)
    save = ("realm", "save", "pricing", "quote", "--version", "1.0.0", "--schema", "quote.json")
    refused = pair(*save, *more)
    assert refused.exit_code in (1, 2)
    assert words in refused.stderr
    assert not (joined.parent / "realm" / QUOTE).exists()


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("check",),
        ("bind", "d"),
        ("unbind", "d"),
        ("save", "d", "c", "--version", "1.0.0"),
    ],
)
def test_a_project_of_no_realm_is_refused_with_what_to_join(project, pair, words):
    refused = pair("realm", *words)
    assert refused.exit_code == 2
    assert "This project is in no realm." in refused.stderr
    assert "next: repl-pair realm join FOLDER" in refused.stderr
    assert not (project / ".repl_pair").exists()


def test_the_realm_beside_a_project_is_named_as_the_working_directory_sees_it(
    project, pair, monkeypatch
):
    pair("realm", "init", "shop", "../realm")
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    for words in (("status",), ("bind", "d"), ("check", "--realm", "../realm")):
        assert "next: repl-pair realm join ../../realm\n" in pair("realm", *words).stderr
    assert pair("realm", "join", "../../realm").exit_code == 0


def test_another_realm_is_checked_by_its_folder(joined, pair, monkeypatch):
    assert pair("realm", "init", "other", "../other").exit_code == 0
    assert pair("realm", "check", "--realm", "../other", "--strict").exit_code == 0
    assert pair("realm", "check", "--realm", "../nowhere").exit_code == 2
    (joined / "src").mkdir()
    monkeypatch.chdir(joined / "src")
    assert pair("realm", "check", "--realm", "../../other", "--strict").exit_code == 0
    assert pair("realm", "check", "--realm", "../other").exit_code == 2
    assert pair("realm", "status", "--realm", "shop").stdout == pair("realm", "status").stdout


def test_what_others_wrote_cannot_steer_the_terminal(joined, pair):
    (joined.parent / "realm" / "realm.json").write_text(
        json.dumps({"name": "shop", "repos": {"api": "../project", "\x1b[2Jweb": "\u202ex"}})
    )
    shown = pair("realm", "status").output + pair("realm", "check").output
    assert "x1b[2Jweb" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_project_whose_folder_is_gone_joins_no_realm(tmp_path, monkeypatch, shell):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    refused = shell("realm", "join", ".")
    assert refused.returncode == 1
    assert refused.stderr.startswith("cannot_run: The process works in a folder that is gone")
