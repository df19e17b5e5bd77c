"""What the check of a realm finds: each fault alone, as an error or a warning, at its file."""

import json
from pathlib import Path

import pytest

from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.checks import check_realm

QUOTE = "domains/pricing/contracts/quote.json"
API = "domains/pricing/bindings/api.json"
WEB = "domains/pricing/bindings/web.json"


def put(*path, value):
    def change(data):
        *places, last = path
        for place in places:
            data = data[place]
        data[last] = value

    return change


IMPORT = {"contract": "quote", "requirement": ">=1.0", "status": "current"}


def imported(**slots):
    return put("imports", value=[IMPORT | {"resolved_version": None} | slots])


FAULTS = {
    "a version that is no semver": (QUOTE, put("version", value="1.0"), "no_semver", "'1.0'"),
    "a version of its history that is none": (
        QUOTE,
        put("evolution", 0, "version", value="first"),
        "no_semver",
        "'first'",
    ),
    "an export of nothing": (API, put("exports", value=["price"]), "broken_binding", "price"),
    "an import of nothing": (WEB, imported(contract="price"), "broken_binding", "price"),
    "an import with a typo": (WEB, imported(contract="qoute"), "broken_binding", "Nearest: quote"),
    "a requirement that is unmet": (
        WEB,
        imported(requirement=">=1.1"),
        "unmet_requirement",
        ">=1.1 is required; it is at 1.0.0",
    ),
    "an import that is marked as broken": (
        WEB,
        imported(status="broken"),
        "broken_import",
        "quote",
    ),
    "an export of what another owns": (
        WEB,
        put("exports", value=["quote"]),
        "not_owner",
        "api owns",
    ),
    "a contract without its version": (QUOTE, lambda d: d.pop("version"), "bad_file", "version"),
    "a schema of another type": (QUOTE, put("schema", value=[]), "bad_file", "not an object"),
    "a row of history of another type": (
        QUOTE,
        put("evolution", 0, "compatible", value="yes"),
        "bad_file",
        "evolution[0].compatible is not true or false",
    ),
    "a role that is none": (
        WEB,
        put("role", value="owner"),
        "bad_file",
        "provider, consumer, both",
    ),
    "a status that is none": (WEB, imported(status="ok"), "bad_file", "imports[0].status"),
    "a number that no JSON has": (
        QUOTE,
        put("schema", "maximum", value=10**20),
        "bad_file",
        "RFC 8785",
    ),
}
WARNINGS = {
    "a requirement that cannot be read": (
        WEB,
        imported(requirement="soon"),
        "bad_requirement",
        "'soon'",
    ),
    "an owner that is no repo": (QUOTE, put("owner", value="old"), "unknown_repo", "old"),
}


def faults_of(ground, word, **how):
    return check_realm(ground.open("api"), **how)[word]


def test_what_was_saved_and_bound_by_the_commands_is_valid(ground):
    checked = check_realm(ground.open("web"), strict=True)
    assert checked == {"valid": True, "errors": [], "warnings": []}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_one_error_that_names_its_kind_and_file(ground, case):
    file, change, kind, words = FAULTS[case]
    ground.edit(file, change)
    (fault,) = faults_of(ground, "errors")
    assert (fault["domain"], fault["kind"], fault["file"]) == ("pricing", kind, file)
    assert words in fault["message"]
    assert not check_realm(ground.open("api"))["valid"]


@pytest.mark.parametrize("case", WARNINGS)
def test_what_is_doubtful_is_a_warning_also_where_the_check_is_strict(ground, case):
    file, change, kind, words = WARNINGS[case]
    ground.edit(file, change)
    for strict in (False, True):
        found = {f["kind"]: f for f in faults_of(ground, "warnings", strict=strict)}
        assert words in found[kind]["message"]
        assert found[kind]["file"] == file


def test_a_schema_that_changed_at_its_version_is_a_warning_and_an_error_where_strict(ground):
    ground.edit(QUOTE, put("schema", "title", value="Quote"))
    checked = check_realm(ground.open("web"))
    assert checked["valid"]
    (fault,) = checked["warnings"]
    assert (fault["kind"], fault["file"]) == ("changed_schema", QUOTE)
    assert "repl-pair realm save pricing quote --version" in fault["message"]
    strict = check_realm(ground.open("web"), strict=True)
    assert (strict["valid"], strict["errors"], strict["warnings"]) == (False, [fault], [])


def test_a_realm_that_lost_its_domains_is_a_warning_and_an_error_where_strict(ground):
    (ground.folder / "domains").rename(ground.folder / "away")
    checked = check_realm(ground.open("web"))
    (fault,) = checked["warnings"]
    assert (checked["valid"], fault["kind"], fault["file"]) == (True, "no_domain", "domains")
    strict = check_realm(ground.open("web"), strict=True)
    assert (strict["valid"], strict["errors"], strict["warnings"]) == (False, [fault], [])


def test_a_domain_that_lost_its_files_is_a_warning_and_an_error_where_strict(ground):
    (ground.folder / "domains" / "orders" / "contracts").mkdir(parents=True)
    checked = check_realm(ground.open("web"))
    (fault,) = checked["warnings"]
    assert (checked["valid"], fault["kind"], fault["file"]) == (True, "no_domain", "domains/orders")
    assert fault["message"] == "orders has no contract and no binding."
    assert check_realm(ground.open("web"), strict=True)["errors"] == [fault]


MISNAMED = {
    "bindings": ("binding", "Nearest: bindings"),
    "contracts": ("Contracts", "Nearest: contracts"),
    "bindings/web.json": ("bindings/web.jsn", "end in .json"),
    "contracts/quote.json": ("quote.json", "not a folder"),
    "bindings/api.json": ("bindings/api.json.txt", "end in .json"),
    "": ("../pricing.json/v1", "not read"),
}


@pytest.mark.parametrize("path", MISNAMED)
def test_what_is_not_read_is_an_error_not_passed_over(ground, path):
    name, words = MISNAMED[path]
    domain = ground.folder / "domains" / "pricing"
    (domain / name).parent.mkdir(exist_ok=True)
    (domain / path).rename(domain / name)
    (fault,) = (one for one in faults_of(ground, "errors") if one["kind"] == "bad_file")
    assert words in fault["message"]


def test_a_domain_whose_name_is_that_of_a_text_is_read(ground):
    (ground.folder / "domains" / "pricing").rename(ground.folder / "domains" / "README")
    ground.edit(QUOTE.replace("pricing", "README"), put("version", value="1.0"))
    assert [fault["domain"] for fault in faults_of(ground, "errors")] == ["README"]


@pytest.mark.parametrize(
    "name",
    [".DS_Store", ".quote.json.swp", "quote.json~", "#quote.json#", "quote.json.orig", "README"],
)
def test_what_is_there_for_people_and_editors_is_no_fault(ground, name):
    for folder in ("domains", "domains/pricing", "domains/pricing/contracts"):
        (ground.folder / folder / name).write_text("not read")
    assert check_realm(ground.open("web"), strict=True)["valid"]


def test_one_bad_file_hides_no_other_fault(ground):
    bind(ground.home["web"], "pricing", imports=["missing", "broken"])
    ground.contract(contract="broken").write_text('{"owner": "api",\n  "version": }')
    (ground.folder / "realm.json").write_text("<<<<<<< HEAD\n")
    found = {fault["file"]: fault for fault in faults_of(ground, "errors")}
    assert found["domains/pricing/contracts/broken.json"]["message"].startswith("line 2, column 14")
    assert found["realm.json"]["message"].startswith("line 1, column 1")
    assert found[WEB]["message"].startswith("missing is imported")  # broken is there, and unread
    assert len(found) == 3


def test_files_of_a_realm_are_plain_files_with_safe_names(ground, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"password": "hunter22"}))
    contracts = ground.contract().parent
    (contracts / "link.json").symlink_to(secret)
    (contracts / "a b.json").write_text("{}")
    (contracts / "notes.txt").write_text("not read")
    (contracts.parents[1] / "elsewhere").symlink_to(tmp_path)
    (contracts.parents[1] / "README.md").write_text("not read")
    found = {fault["file"]: fault["message"] for fault in faults_of(ground, "errors")}
    assert "link" in found["domains/pricing/contracts/link.json"]
    assert "name" in found["domains/pricing/contracts/a b.json"]
    assert "link" in found["domains/elsewhere"]
    assert len(found) == 3
    assert "hunter22" not in str(found)


@pytest.mark.parametrize("path", ["domains", "domains/pricing/bindings"])
@pytest.mark.parametrize("become", [Path.touch, lambda path: path.symlink_to("nowhere")])
def test_a_folder_that_cannot_be_read_is_an_error_not_an_empty_one(ground, path, become):
    folder = ground.folder / path
    folder.rename(ground.folder / "away")
    become(folder)
    (fault,) = (f for f in faults_of(ground, "errors") if f["file"] == path)
    assert fault["kind"] == "bad_file"
    assert "cannot be read" in fault["message"] or "link" in fault["message"]


def test_a_file_that_is_no_text_or_too_large_is_reported_like_any_other(ground):
    ground.contract(contract="bytes").write_bytes(b'"\xff"')
    ground.contract(contract="deep").write_text("[" * 100_000)
    ground.contract(contract="large").write_text(f'"{"x" * 1_000_001}"')
    ground.contract(contract="nan").write_text('{"value": NaN}')
    ground.contract(contract="twice").write_text('{"a": {"version": "1", "b": 1, "version": "2"}}')
    found = {fault["file"][26:-5]: fault["message"] for fault in faults_of(ground, "errors")}
    assert found.keys() == {"bytes", "deep", "large", "nan", "twice"}
    assert "byte 1 is not UTF-8" in found["bytes"]
    assert "nested too deeply" in found["deep"]
    assert "1,000,000 bytes" in found["large"]
    assert "NaN" in found["nan"]
    assert "'version' stands twice in one object" in found["twice"]
