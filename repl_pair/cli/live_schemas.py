"""Schemas for contracts: those of live stories and functions, and whether one is valid."""

from typing import Any, cast

from repl_pair.cli.callers import Caller
from repl_pair.errors import RequestError, did_you_mean
from repl_pair.wire import raise_for_error


async def read_live_schema(caller: Caller, source: str) -> Any:
    """Return the schema of what `story:ID` takes, or `function:ID` of the app, as its op answers.

    The person saves it: the function need not be exposed. RequestError as the op
    refuses it, `bad_arguments` for another form.
    """
    kind, colon, id = source.partition(":")
    if kind == "story" and colon:
        return raise_for_error(await caller.call("get_story", {"story_id": id}))["args_schema"]
    if kind == "function" and colon:
        return await _read_function(caller, id)
    raise RequestError(
        "bad_arguments",
        f"--from takes story:ID or function:ID, not {source!r}.",
        hints=["--from story:shop.quote"],
    )


async def _read_function(caller: Caller, id: str) -> Any:
    page = raise_for_error(await caller.call_all("list_functions", {}))
    known = {item["id"]: item["schema"] for item in page["items"]}
    if id not in known:
        raise RequestError("not_found", f"There is no function {id!r}.{did_you_mean(id, known)}")
    return known[id]


def check_schema(schema: Any) -> dict[str, Any]:
    """Return what is a valid JSON Schema and an object; `bad_arguments` for the rest."""
    # 0.1 s that only saving needs.
    from jsonschema import Draft202012Validator, SchemaError, validators

    if not isinstance(schema, dict):
        raise RequestError("bad_arguments", "The schema of a contract is a JSON object.")
    found = cast("dict[str, Any]", schema)
    try:
        validators.validator_for(found, default=Draft202012Validator).check_schema(found)
    except SchemaError as error:
        raise RequestError(
            "bad_arguments", f"This is not a JSON Schema: {error.json_path}: {error.message}"
        ) from error
    return found
