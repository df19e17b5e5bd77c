"""`path_matches` checks the formats of JSON Schema, or says which package that needs."""

import jsonschema
import pytest

import repl_pair
from repl_pair import check


def run(value, schema):
    repl_pair.story("text", component=lambda: value)
    repl_pair.variant("text/A", play=[check.path_matches("result", schema)])
    return repl_pair.run("text/A")


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("date-time", "2026-01-31T12:00:00Z", "hello"),
        ("date-time", "2028-02-29t12:00:00.123456789+01:00", "2026-02-29T12:00:00Z"),
        ("date-time", 5, "2026-01-31T12:00:00"),
        ("time", "12:00:00Z", "12:00:00"),
        ("time", "23:59:59.5-23:59", "24:00:00Z"),
        ("date", "2026-01-31", "hello"),
        ("uri", "https://a.example/b", "hello"),
        ("hostname", "a.example", "-a"),
    ],
)
def test_a_format_is_checked(name, right, wrong):
    assert run(right, {"format": name}).status == "pass"
    assert f"is not a '{name}'" in run(wrong, {"format": name}).assertions[0].reason


@pytest.mark.parametrize("name", ["date-time", "time"])
def test_a_moment_is_checked_without_a_package(monkeypatch, name):
    monkeypatch.delitem(jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers, name)
    assert run("hello", {"format": name}).status == "fail"


def test_a_format_whose_package_is_missing_is_not_passed(monkeypatch):
    monkeypatch.delitem(jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers, "uri")
    for value in ("hello", "https://a.example"):
        found = run(value, {"format": "uri"})
        assert found.status == "cannot_run"
        assert "for the format 'uri': pip install rfc3987" in found.reason
    assert run(5, {"format": "uri"}).status == "pass"
    assert run("hello", {"properties": {"at": {"format": "uri"}}}).status == "pass"


@pytest.mark.parametrize(
    "schema",
    [
        {"format": "sku"},
        {"$schema": "http://json-schema.org/draft-06/schema#", "format": "time"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "format": "duration"},
    ],
)
def test_a_format_that_the_draft_lacks_is_an_annotation(schema):
    assert run("hello", schema).status == "pass"
