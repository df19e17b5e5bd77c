"""What of a schema leaves: one of a live function, and one that a file of a realm holds."""

import pytest

from repl_pair.errors import RequestError
from repl_pair.runtime.secrets.schemas import public_schema


@pytest.mark.parametrize("slot", ["const", "default", "enum", "example", "examples"])
def test_the_values_of_a_secret_parameter_stay_however_deep(slot):
    hidden = {"type": "string", slot: ["hunter2"]}
    deep = {"anyOf": [hidden], "items": hidden, "properties": {"a": hidden, "default": hidden}}
    for schema in (hidden, deep):
        public = public_schema({"properties": {"password": schema, "sku": hidden}})
        assert "hunter2" not in str(public["properties"]["password"])
        assert public["properties"]["sku"] == hidden


@pytest.mark.parametrize("properties", [[1], "x", 3, None])
def test_a_schema_whose_properties_are_none_is_given_as_it_is(properties):
    assert public_schema({"properties": properties}) == {"properties": properties}


def test_a_deep_schema_is_read_once_and_one_that_is_too_deep_is_refused():
    def nested(depth):
        schema = {"default": "sku"}
        for _ in range(depth):
            schema = {"properties": {"part": schema}}
        return schema

    assert public_schema(nested(60)) == nested(60)  # reading each level twice would never end
    with pytest.raises(RequestError, match="nested too deeply"):
        public_schema(nested(2_000))
