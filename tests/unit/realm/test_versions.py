"""Hashes of schemas, versions and requirements."""

import json
from hashlib import sha256

import pytest
import rfc8785
from hypothesis import example, given, strategies as st

from repl_pair.errors import RequestError
from repl_pair.runtime.realm import versions
from repl_pair.runtime.realm.versions import hash_schema, is_requirement, meets, read_version

SAFE = 2**53 - 1
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-SAFE, SAFE)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=12,
)
SCHEMAS = st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=4)


def shuffled(value, draw):
    """Return equal JSON with the keys of each object in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


@given(SCHEMAS)
@example({"maximum": 1.5e300})
@example({"minimum": 1.0, "maximum": 10**15})
@example({"\ue000": 1, "\U00010000": 2})  # UTF-16 orders them the other way round
@example({"pattern": "a:1.5e3,[-7.0]\x7f\u2028\t"})
def test_the_hash_is_that_of_the_form_of_rfc_8785(schema):
    assert hash_schema(schema) == sha256(rfc8785.dumps(schema)).hexdigest()


@given(SCHEMAS, SCHEMAS, st.data())
def test_hashes_are_equal_exactly_where_schemas_are_whatever_the_order_of_keys(one, other, data):
    again = json.loads(json.dumps(shuffled(one, data.draw)))
    assert hash_schema(again) == hash_schema(one)
    is_equal = rfc8785.dumps(one) == rfc8785.dumps(other)
    assert (hash_schema(one) == hash_schema(other)) == is_equal


@pytest.mark.parametrize("schema", [{"a": 2**53}, {"a": "\ud800"}, {"a": float("inf")}])
def test_what_rfc_8785_has_no_form_for_is_refused(schema):
    with pytest.raises(RequestError, match="RFC 8785") as refused:
        hash_schema(schema)
    assert refused.value.code == "bad_arguments"


def test_a_schema_that_is_nested_too_deeply_is_refused():
    schema = {}
    for _ in range(100_000):
        schema = {"items": schema}
    with pytest.raises(RequestError, match="nested too deeply"):
        hash_schema(schema)


@pytest.mark.parametrize("text", ["1.0", "v1.0.0", "01.0.0", "1.0.0.0", "", "latest", "1.0.0-"])
def test_what_is_no_semver_is_no_version(text):
    assert read_version(text) is None


@pytest.mark.parametrize(
    ("version", "requirement", "met"),
    [
        ("1.4.2", ">=1.0", True),
        ("1.4.2", ">=1.0,<1.4", False),
        ("2.0.0", "^1.4", False),
        ("1.4.9", "~1.4", True),
        ("0.1.0", "*", True),
        ("1.4.2", "soon", None),
        ("1.4", ">=1.0", None),
    ],
)
def test_a_requirement_is_met_or_not_or_cannot_be_decided(version, requirement, met):
    assert meets(version, requirement) is met
    assert is_requirement(requirement) == (requirement != "soon")


def test_a_python_without_the_packages_is_refused_with_what_to_install(monkeypatch):
    def import_none(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(versions, "import_module", import_none)
    read_version.cache_clear()
    for call, name in ((lambda: read_version("1.0.0"), "semantic_version"),
                       (lambda: hash_schema({"a": 1.5}), "rfc8785")):  # fmt: skip
        with pytest.raises(RequestError, match=name) as refused:
            call()
        assert refused.value.code == "cannot_run"
        assert "%pip install rfc8785 semantic-version" in refused.value.hints[0]
