"""How an import stands to its contract as that is now: its status, and when it is an error."""

import pytest

from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.checks import check_realm
from repl_pair.runtime.realm.status import describe_realm, get_contract

QUOTE = "domains/pricing/contracts/quote.json"
WEB = "domains/pricing/bindings/web.json"
IMPORT = {"contract": "quote", "requirement": ">=1.0", "status": "current"}


def imported(ground, **slots):
    one = IMPORT | {"resolved_version": None} | slots
    ground.edit(WEB, lambda data: data.update(imports=[one]))


def saved(*breaking, at="1.3.0"):
    """Change a contract to what it is after versions, of which some are not compatible."""
    rows = [{"version": v, "changes": "", "compatible": v not in breaking} for v in VERSIONS]
    return lambda data: data.update(version=at, evolution=rows)


VERSIONS = ("1.0.0", "1.1.0", "1.2.0", "1.3.0")
SINCE = {
    "the version": (saved("1.3.0"), {}, "1.3.0"),
    "one between": (saved("1.1.0", "1.2.0"), {}, "1.1.0, 1.2.0"),
    "one before": (saved("1.0.0", "1.1.0"), {"resolved_version": "1.1.0"}, None),
    "one that was taken back": (saved("1.3.0", at="1.0.0"), {}, None),
    "one while it waited": (saved("1.3.0"), {"resolved_version": None}, None),
    "one after what the history lacks": (saved("1.2.0"), {"resolved_version": "1.1.1"}, "1.2.0"),
    "one before what the history lacks": (saved("1.1.0"), {"resolved_version": "1.1.1"}, None),
    "one after what is no version": (saved("1.2.0"), {"resolved_version": "first"}, "1.2.0"),
    "one, by a requirement that cannot be read": (
        saved("1.3.0"),
        {"requirement": "soon"},
        "1.3.0",
    ),
}


@pytest.mark.parametrize("case", SINCE)
def test_what_came_since_an_import_was_bound_and_is_not_compatible_breaks_it(ground, case):
    change, slots, versions = SINCE[case]
    ground.edit(QUOTE, change)
    imported(ground, **{"resolved_version": "1.0.0"} | slots)
    errors = check_realm(ground.open("api"))["errors"]
    expected = [] if versions is None else [("broken_import", WEB)]
    assert [(one["kind"], one["file"]) for one in errors] == expected
    assert all(f", and {versions} after it" in one["message"] for one in errors)


STATUSES = {
    "met, at the version where it was bound": (saved(), {"resolved_version": "1.3.0"}, "current"),
    "met, after it had waited": (saved(), {}, "current"),
    "met, at a later version": (saved(), {"resolved_version": "1.2.0"}, "outdated"),
    "of an earlier version": (
        saved(at="1.0.0"),
        {"resolved_version": "1.3.0", "status": "outdated"},
        "outdated",
    ),
    "met no more": (saved(), {"requirement": "<1.3", "resolved_version": "1.0.0"}, "broken"),
    "met, after what is not compatible": (
        saved("1.1.0"),
        {"resolved_version": "1.0.0"},
        "broken",
    ),
    "marked in its file": (saved(), {"status": "broken"}, "broken"),
    "of what is not there": (saved(), {"contract": "price"}, "pending"),
    "of what cannot be read": (lambda data: data.pop("owner"), {}, "pending"),
    "by what cannot be read": (saved(), {"requirement": "soon"}, "pending"),
    "of what is no version": (saved(at="first"), {}, "pending"),
}


@pytest.mark.parametrize("case", STATUSES)
def test_the_status_of_an_import_is_of_its_contract_as_it_is_now(ground, case):
    change, slots, status = STATUSES[case]
    ground.edit(QUOTE, change)
    imported(ground, **slots)
    found = ground.open("web")
    (domain,) = describe_realm(found, None)["domains"]
    (web,) = (one for one in domain["bindings"] if one["repo"] == "web")
    assert [one["status"] for one in web["imports"]] == [status]
    for contract in domain["contracts"]:
        uses = get_contract(found, "pricing", contract["name"])["bindings"]
        assert {one["status"] for one in uses if "status" in one} <= {status}


def test_an_import_is_whole_again_once_it_is_bound_anew(ground):
    ground.save("api", "1.1.0", compatible=False)
    (fault,) = check_realm(ground.open("api"))["errors"]
    assert fault["message"].endswith("repl-pair realm bind pricing --import quote")
    bind(ground.home["web"], "pricing", imports=["quote"])
    assert check_realm(ground.open("api"), strict=True)["valid"]
