"""Who may save a contract, under which versions, and what is written."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from repos import SCHEMA

from repl_pair.errors import RequestError
from repl_pair.runtime.realm.bindings import bind, unbind
from repl_pair.runtime.realm.checks import check_realm
from repl_pair.runtime.realm.membership import init_realm, join_realm
from repl_pair.runtime.realm.realms import binding_file, open_realm

OTHER = {"type": "object"}


def refusal(code, fn, *args, **slots):
    with pytest.raises(RequestError) as refused:
        fn(*args, **slots)
    assert refused.value.code == code
    return refused.value.message


def test_only_the_owner_saves_a_contract_and_a_refusal_writes_nothing(ground):
    before = ground.contract().read_bytes()
    message = refusal("forbidden", ground.save, "web", "2.0.0", schema=OTHER)
    assert "owned by api" in message
    assert "this is web" in message
    assert ground.contract().read_bytes() == before


REFUSED = {
    "no semver": ("1.1", {}, "semantic version"),
    "a version that goes down": ("0.9.0", {}, "lower than 1.0.0"),
    "a schema that changed at its version": ("1.0.0", {"schema": OTHER}, "such as 1.1.0, or 2.0.0"),
    "a schema that changed below its version": ("0.9.0", {"schema": OTHER}, "such as 1.1.0"),
    "a number that JSON has not": ("1.1.0", {"schema": {"maximum": 2**60}}, "RFC 8785"),
    "half a pair": ("1.1.0", {"schema": {"title": "\ud800"}}, "RFC 8785"),
    "half a pair in the text": ("1.1.0", {"changes": "\ud800"}, "not JSON"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_saved_is_refused_and_writes_nothing(ground, case):
    version, edition, words = REFUSED[case]
    before = ground.contract().read_bytes()
    assert words in refusal("bad_arguments", ground.save, "api", version, **edition)
    assert ground.contract().read_bytes() == before
    assert [*ground.contract().parent.iterdir()] == [ground.contract()]


COMPATIBLE = {
    "the same major": ("1.1.0", {}, True),
    "another major": ("2.0.0", {}, False),
    "the same major of one that promises nothing": ("1.1.0", {"backwards": False}, False),
    "as it was given": ("1.1.0", {"compatible": False}, False),
    "as it was given for another major": ("2.0.0", {"compatible": True}, True),
}


@pytest.mark.parametrize("case", COMPATIBLE)
def test_a_version_is_appended_with_whether_it_is_compatible(ground, case):
    version, edition, compatible = COMPATIBLE[case]
    made = ground.save("api", version, schema=OTHER, changes="Sku went.", **edition)
    assert made["evolution"] == [
        {"version": "1.0.0", "changes": "", "compatible": True},
        {"version": version, "changes": "Sku went.", "compatible": compatible},
    ]


AMENDED = {
    "words": ({"changes": "Sku went."}, {"changes": "Sku went."}),
    "not compatible": ({"compatible": False}, {"compatible": False}),
    "neither": ({"value": {"read": True}}, {}),
}


@pytest.mark.parametrize("case", AMENDED)
def test_what_is_given_at_the_same_version_amends_its_row_and_the_rest_stays(ground, case):
    edition, slots = AMENDED[case]
    ground.save("api", "1.1.0", schema=OTHER, changes="Sku is gone.")
    made = ground.save("api", "1.1.0", **edition)
    row = {"version": "1.1.0", "changes": "Sku is gone.", "compatible": True}
    first = {"version": "1.0.0", "changes": "", "compatible": True}
    assert made["evolution"] == [first, row | slots]


def test_a_schema_that_was_edited_in_its_file_is_taken_by_a_higher_version(ground):
    ground.edit("domains/pricing/contracts/quote.json", lambda data: data["schema"].clear())
    assert not check_realm(ground.open("api"), strict=True)["valid"]
    refusal("bad_arguments", ground.save, "api", "1.0.0")
    made = ground.save("api", "1.1.0")
    assert made["schema"] == {}
    assert check_realm(ground.open("api"), strict=True)["valid"]


def test_what_is_not_given_stays_also_what_others_wrote_beside_it(ground):
    ground.save("api", "1.0.0", value={"read": True}, validation={"exporter": "make check"})
    ground.edit("domains/pricing/contracts/quote.json", lambda data: data.update(note="mine"))
    ground.save("api", "1.0.1", changes="Words only.")
    data = json.loads(ground.contract().read_text())
    assert (data["value"], data["validation"]) == ({"read": True}, {"exporter": "make check"})
    assert (data["schema"], data["note"]) == (SCHEMA, "mine")


def test_the_files_are_sorted_and_a_part_a_line_so_that_git_merges_them(ground):
    for file in ground.folder.rglob("*.json"):
        text = file.read_text()
        assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def test_two_that_save_first_at_once_do_not_both_own(make_ground):
    ground = make_ground("api", "web", "app")

    def save(repo):
        try:
            return ground.save(repo, "1.0.0", schema=SCHEMA)["owner"]
        except RequestError as error:
            return error.code

    with ThreadPoolExecutor(3) as threads:
        ended = list(threads.map(save, ground.home))
    (owner,) = (end for end in ended if end != "forbidden")
    assert json.loads(ground.contract().read_text())["owner"] == owner


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", ".x", "a\0", "-x", "x" * 65, "a b", "é"])
def test_no_name_leads_out_of_the_realm(ground, name):
    before = sorted(ground.folder.rglob("*"))
    home = ground.home["web"]
    for call in (
        lambda: ground.save("web", "1.0.0", domain=name, schema=SCHEMA),
        lambda: ground.save("web", "1.0.0", contract=name, schema=SCHEMA),
        lambda: bind(home, name, role="consumer"),
        lambda: bind(home, "pricing", exports=[name]),
        lambda: bind(home, "pricing", imports=[name]),
        lambda: unbind(home, name),
        lambda: join_realm(ground.root("web"), ground.folder, name or "."),
        lambda: init_realm(name, ground.folder.parent / "other"),
    ):
        refusal("bad_arguments", call)
    assert sorted(ground.folder.rglob("*")) == before


BOUND = {
    "quote >=1.0,<2": (">=1.0,<2", "current", "1.0.0"),
    "quote>=1.1": (">=1.1", "pending", None),
    "quote ^1.0": ("^1.0", "current", "1.0.0"),
    "quote": (">=1.0", "current", "1.0.0"),
    "quote *": ("*", "current", "1.0.0"),
    "price": ("*", "pending", None),
    "price ~2.1": ("~2.1", "pending", None),
}


@pytest.mark.parametrize("text", BOUND)
def test_an_import_is_bound_with_what_it_resolves_to(ground, text):
    made = bind(ground.home["web"], "pricing", imports=[text])
    name = re.match("[a-z]+", text)[0]
    (one,) = (one for one in made["imports"] if one["contract"] == name)
    assert (one["requirement"], one["status"], one["resolved_version"]) == BOUND[text]
    assert json.loads(binding_file(ground.folder, "pricing", "web").read_text()) == made


def test_a_requirement_that_cannot_be_read_is_not_bound(ground):
    assert ">=1.0,<2" not in refusal(
        "bad_arguments", bind, ground.home["web"], "pricing", imports=["quote >=soon"]
    )


def test_a_role_follows_from_what_is_bound_unless_it_is_given(ground):
    web = ground.home["web"]
    assert bind(web, "pricing", exports=["price"])["role"] == "both"
    assert bind(web, "pricing", role="consumer")["role"] == "consumer"
    assert "needs a role" in refusal("bad_arguments", bind, web, "orders")


def test_a_binding_is_taken_back_in_part_or_whole(ground):
    web, file = ground.home["web"], binding_file(ground.folder, "pricing", "web")
    bind(web, "pricing", imports=["price"])
    left = unbind(web, "pricing", imports=["price"])
    assert [one["contract"] for one in left["imports"]] == ["quote"]
    for named in ({"imports": ["price"]}, {"exports": ["quote"]}):
        ((what, (name,)),) = named.items()
        message = refusal("not_found", unbind, web, "pricing", **named)
        assert message == f"web does not {what[:-1]} {name} in pricing."
    assert unbind(web, "pricing") is None
    assert not file.exists()
    assert "not bound" in refusal("not_found", unbind, web, "pricing")


def test_a_repo_has_one_name_and_one_realm(ground, tmp_path):
    web, before = ground.root("web"), (ground.folder / "realm.json").read_text()
    message = refusal("bad_arguments", join_realm, web, ground.folder, "site")
    assert message.startswith(f"The project {web} is web in this realm")
    assert (ground.folder / "realm.json").read_text() == before
    (tmp_path / "third").mkdir()
    message = refusal("bad_arguments", join_realm, tmp_path / "third", ground.folder, "api")
    assert "--as" in message
    init_realm("other", tmp_path / "other")
    assert "one realm" in refusal("bad_arguments", join_realm, web, tmp_path / "other")
    assert "there already" in refusal("bad_arguments", init_realm, "again", ground.folder)


def test_a_project_that_joins_again_keeps_its_name(make_ground, tmp_path):
    ground, site = make_ground(), tmp_path / "web"
    site.mkdir()
    joined = join_realm(site, ground.folder, "site")
    (site / ".repl_pair" / "realm.json").unlink()
    assert join_realm(site, ground.folder) == joined
    assert open_realm(site).repos == {"site": "../web"}


def test_a_file_of_the_realm_stays_as_closed_to_others_as_it_was(ground, tmp_path):
    head = ground.folder / "realm.json"
    head.chmod(0o640)
    (tmp_path / "app").mkdir()
    join_realm(tmp_path / "app", ground.folder)
    assert "app" in head.read_text()
    assert head.stat().st_mode & 0o777 == 0o640


def test_names_that_are_one_file_or_none_on_another_system_are_found(ground):
    for name in ("con", "Aux.v1", "nul", "COM1"):
        refusal("bad_arguments", ground.save, "api", "1.0.0", contract=name, schema=OTHER)
    for name in ("console", "com", "auxiliary"):
        ground.save("api", "1.0.0", contract=name, schema=OTHER)
    ground.save("web", "1.0.0", contract="Quote", schema=OTHER)
    ground.save("web", "1.0.0", domain="Pricing", schema=OTHER)
    found = check_realm(ground.open("api"))["errors"]
    places = [(one["file"], one["message"]) for one in found if "only the case" in one["message"]]
    why = "On some systems it is one with {}, of which only the case differs."
    assert places == [
        ("domains/pricing", why.format("Pricing")),
        ("domains/pricing/contracts/quote.json", why.format("Quote")),
    ]
