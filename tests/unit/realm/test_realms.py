"""Which realm a project is in, how another is named, and what a name can never reach."""

import json
import os

import pytest

from repl_pair.errors import RequestError
from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.membership import init_realm, join_realm
from repl_pair.runtime.realm.realms import find_home, open_realm
from repl_pair.runtime.realm.status import contract_versions, describe_realm, get_contract


def refused(call):
    with pytest.raises(RequestError) as error:
        call()
    return error.value


def test_a_project_of_no_realm_is_refused_with_the_commands_that_bring_it_into_one(tmp_path):
    root = tmp_path / "web"
    root.mkdir()
    error = refused(lambda: open_realm(root))
    assert error.code == "not_found"
    assert error.hints == ("repl-pair realm join FOLDER", "repl-pair realm init NAME FOLDER")
    init_realm("shop", tmp_path / "shop realm")
    (tmp_path / "no").mkdir()
    (tmp_path / "no" / "realm.json").write_text("{}")
    assert refused(lambda: open_realm(root)).hints[0] == "repl-pair realm join '../shop realm'"


def test_a_realm_that_went_away_is_named_with_the_commands(ground):
    ground.folder.rename(ground.folder.with_name("moved"))
    error = refused(lambda: ground.open("web"))
    assert error.code == "not_found"
    assert "shop-realm" in error.message
    assert error.hints[0] == "repl-pair realm join ../moved"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"worktrees/\n"),
        (b"caf\xe9", b"caf\xe9\nworktrees/\n"),
        (b"a\r\nb\r\n", b"a\r\nb\r\nworktrees/\r\n"),
        (b"worktrees/\r\n", b"worktrees/\r\n"),
    ],
)
def test_what_git_ignores_in_the_folder_of_a_new_realm_stays_to_the_byte(tmp_path, before, after):
    (tmp_path / ".gitignore").write_bytes(before)
    init_realm("shop", tmp_path)
    assert (tmp_path / ".gitignore").read_bytes() == after


def test_a_project_that_cannot_keep_its_realm_joins_none(ground, tmp_path):
    root = tmp_path / "odd"
    root.mkdir()
    (root / ".repl_pair").write_text("a file")
    before = (ground.folder / "realm.json").read_text()
    assert refused(lambda: join_realm(root, ground.folder)).code == "cannot_run"
    (root / ".repl_pair").unlink()
    (root / ".repl_pair" / "realm.json").mkdir(parents=True)
    with pytest.raises(OSError, match=r"realm\.json"):
        join_realm(root, ground.folder)
    assert (ground.folder / "realm.json").read_text() == before


def test_a_realm_above_a_project_is_not_that_of_the_project(ground, tmp_path):
    ground.folder.rename(ground.folder.with_name("moved"))
    init_realm("above", tmp_path)
    assert refused(lambda: ground.open("web")).code == "not_found"


def test_the_file_of_a_project_that_is_bad_is_refused_by_name_and_place(ground):
    file = ground.root("web") / ".repl_pair" / "realm.json"
    file.write_text('{"realm": 1, "repo": "web"}')
    error = refused(lambda: ground.open("web"))
    assert error.code == "cannot_run"
    assert error.message == f"{file}: realm is not a text."


@pytest.mark.parametrize("given", [None, "shop", "../shop-realm", "absolute"])
def test_a_realm_is_named_by_its_name_or_its_folder(ground, given):
    found = ground.open("web", str(ground.folder) if given == "absolute" else given)
    assert (found.folder, found.name, found.repo) == (ground.folder, "shop", "web")


def test_another_realm_is_read_by_its_folder_in_which_the_project_may_be_no_repo(ground, tmp_path):
    init_realm("other", tmp_path / "other")
    found = ground.open("web", "../other")
    assert (found.name, found.repo, found.repos) == ("other", None, {})


@pytest.mark.parametrize(
    "given",
    ["", ".", "/etc", "../shop-realm/realm.json", "a\0b", "x" * 5000, "~", "shpo", "../link"],
)
def test_what_is_no_realm_is_refused_alike_and_says_nothing_of_what_is_there(ground, given):
    secret = ground.folder.parent / "secret"
    secret.write_text(json.dumps({"name": "hunter22", "repos": {}}))
    link = ground.folder.parent / "link"
    link.mkdir()
    (link / "realm.json").symlink_to(secret)
    error = refused(lambda: ground.open("web", given))
    assert error.code == "not_found"
    assert error.message.startswith(f"There is no realm {given!r}.")
    assert "hunter22" not in error.message
    assert ("Nearest: shop" in error.message) == (given == "shpo")
    assert [step["op"] for step in error.next_steps] == ["realm_status"]


@pytest.fixture
def worktree(ground):
    """A worktree of `web` in the folder of the realm, as git makes it of what was committed."""
    worktree = ground.folder / "worktrees" / "0001" / "web"
    (worktree / ".repl_pair").mkdir(parents=True)
    text = (ground.root("web") / ".repl_pair" / "realm.json").read_text()
    (worktree / ".repl_pair" / "realm.json").write_text(text)
    return worktree


@pytest.mark.parametrize("given", [None, "shop", "../../..", "absolute"])
def test_a_worktree_in_the_folder_of_the_realm_is_the_repo_itself(ground, worktree, given):
    named = str(ground.folder) if given == "absolute" else given
    found = open_realm(worktree, named, may_be_foreign=False)
    assert (found.folder, found.repo) == (ground.folder, "web")


def test_a_worktree_in_the_folder_of_the_realm_joins_nothing(ground, worktree):
    before = (ground.folder / "realm.json").read_text()
    for name in (None, "web"):
        assert join_realm(worktree, ground.folder, name) == ground.home["web"]
    named = refused(lambda: join_realm(worktree, ground.folder, "web2"))
    assert named.message.startswith(f"The project {worktree} is web in this realm")
    (worktree / ".repl_pair" / "realm.json").unlink()
    error = refused(lambda: join_realm(worktree, ground.folder))
    assert "Join in the folder of its repo, and commit that file." in error.message
    assert (ground.folder / "realm.json").read_text() == before


def test_a_realm_is_described_with_all_that_is_in_it(ground):
    assert describe_realm(ground.open("web"), "ws-1") == {
        "realm": "shop",
        "repos": [{"name": "api", "path": "../api"}, {"name": "web", "path": "../web"}],
        "domains": [
            {
                "name": "pricing",
                "contracts": [{"name": "quote", "version": "1.0.0", "owner": "api"}],
                "bindings": [
                    {"repo": "api", "role": "provider", "exports": ["quote"], "imports": []},
                    {
                        "repo": "web",
                        "role": "consumer",
                        "exports": [],
                        "imports": [
                            {
                                "contract": "quote",
                                "requirement": ">=1.0",
                                "status": "current",
                                "resolved_version": "1.0.0",
                            }
                        ],
                    },
                ],
            }
        ],
        "current_repo": "web",
        "session": "ws-1",
    }


def test_a_contract_is_whole_with_who_uses_it_and_whether_their_requirement_is_met(ground):
    ground.save("api", "2.0.0", schema={"type": "object"}, changes="Sku went.")
    ground.edit(
        "domains/pricing/bindings/web.json",
        lambda data: data["imports"][0].update(requirement="<2"),
    )
    found = get_contract(ground.open("web"), "pricing", "quote")
    assert (found["version"], found["owner"], found["changed"]) == ("2.0.0", "api", False)
    assert found["bindings"] == [
        {"repo": "api", "role": "provider", "relation": "exports"},
        {
            "repo": "web",
            "role": "consumer",
            "relation": "imports",
            "requirement": "<2",
            "met": False,
            "status": "broken",
            "resolved_version": "1.0.0",
        },
    ]


@pytest.mark.parametrize(
    ("domain", "contract", "near"),
    [
        ("pricing", "qoute", "Nearest: quote"),
        ("princing", "quote", "Nearest: pricing"),
        ("pricing", "../../realm", "There is no contract"),
        ("../..", "realm", "There is no domain"),
    ],
)
def test_an_unknown_contract_is_refused_with_the_nearest(ground, domain, contract, near):
    error = refused(lambda: get_contract(ground.open("web"), domain, contract))
    assert error.code == "not_found"
    assert near in error.message
    first = {"op": "contract_get", "args": {"domain": "pricing", "contract": "quote"}}
    assert (error.next_steps[0] == first) == ("Nearest" in near)
    named = refused(lambda: get_contract(ground.open("web", "../shop-realm"), domain, contract))
    assert {step["args"].pop("realm") for step in named.next_steps} == {"../shop-realm"}
    assert named.next_steps == error.next_steps


def test_a_contract_whose_file_is_bad_is_refused_by_its_place(ground):
    ground.contract().write_text("{")
    error = refused(lambda: get_contract(ground.open("web"), "pricing", "quote"))
    assert error.code == "cannot_run"
    assert "line 1, column 2" in error.message


def test_the_versions_of_all_contracts_are_read_and_none_where_there_is_no_realm(ground, tmp_path):
    assert contract_versions(ground.root("web")) == {"pricing/quote": "1.0.0"}
    assert contract_versions(tmp_path) == {}


def test_a_pipe_in_the_place_of_the_file_of_a_realm_is_a_fault_and_holds_nobody(ground):
    (ground.folder / "realm.json").unlink()
    os.mkfifo(ground.folder / "realm.json")
    writer = os.open(ground.folder / "realm.json", os.O_RDWR)  # without it a reader would wait
    try:
        assert [fault["message"] for fault in ground.open("web").faults] == [
            "it is not a plain file."
        ]
    finally:
        os.close(writer)


@pytest.mark.parametrize("place", ["\0", "x" * 5_000, "\ud800"])
def test_what_is_no_path_of_a_realm_is_refused(ground, place):
    file = ground.root("web") / ".repl_pair" / "realm.json"
    file.write_text(json.dumps({"realm": place, "repo": "web"}))
    assert refused(lambda: ground.open("web")).message == f"{file}: realm is not a path."


@pytest.mark.parametrize("name", ["../../../../evil", "", ".."])
def test_the_name_of_a_project_never_leads_out_of_the_realm(ground, name):
    file = ground.root("web") / ".repl_pair" / "realm.json"
    file.write_text(json.dumps({"realm": "../shop-realm", "repo": name}))
    assert refused(lambda: bind(find_home(ground.root("web")), "new", exports=["c"])).message == (
        f"{file}: repo: {name!r} is not a name for a repo."
    )


@pytest.mark.parametrize("place", ["../loop", "a\0b"])
def test_a_repo_whose_path_leads_nowhere_hides_no_realm(ground, tmp_path, place):
    (tmp_path / "loop").symlink_to("loop")
    ground.edit("realm.json", lambda data: data["repos"].update(api=place))
    (tmp_path / "else").mkdir()
    assert open_realm(tmp_path / "else", "../shop-realm").repos["api"] == place
    assert open_realm(tmp_path / "web", "../shop-realm").repo == "web"


def test_a_link_to_itself_is_a_realm_that_is_not_there(ground, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    file = ground.root("web") / ".repl_pair" / "realm.json"
    file.write_text(json.dumps({"realm": "../loop", "repo": "web"}))
    assert refused(lambda: ground.open("web")).code == "not_found"
