"""Schemas for contracts: those of live stories and functions, and whether one is legal."""

from collections.abc import Mapping
from typing import Any, cast

from repl_pair.cli.answers import Caller
from repl_pair.errors import RequestError, did_you_mean

MOST_FUNCTIONS = 200
"""Listed in one call."""


async def read_live_schema(caller: Caller, source: str) -> Any:
    """Return the schema of what `story:ID` takes, or `function:ID` of the app, as its op answers.

    RequestError as the op refuses it, `bad_arguments` for another form.
    """
    kind, colon, id = source.partition(":")
    if kind == "story" and colon:
        return (await _result(caller, "get_story", {"story_id": id}))["args_schema"]
    if kind == "function" and colon:
        return await _read_function(caller, id)
    raise RequestError(
        "bad_arguments",
        f"--from takes story:ID or function:ID, not {source!r}.",
        hints=["--from story:shop.quote"],
    )


async def _read_function(caller: Caller, id: str) -> Any:
    known, args = dict[str, Any](), {"limit": MOST_FUNCTIONS}
    while True:
        page = await _result(caller, "list_functions", args)
        known |= {item["id"]: item["schema"] for item in page["items"]}
        if id in known:
            return known[id]
        if "cursor" not in page:
            near = did_you_mean(id, known)
            raise RequestError("not_found", f"There is no function {id!r}.{near}")
        args = {"limit": MOST_FUNCTIONS, "cursor": page["cursor"]}


async def _result(caller: Caller, op: str, args: Mapping[str, Any]) -> Any:
    reply = await caller.call(op, args)
    if reply["ok"]:
        return reply["result"]
    error = reply["error"]
    hints = reply.get("hints", ())
    raise RequestError(error["code"], error["message"], hints=hints)


def check_schema(schema: Any) -> dict[str, Any]:
    """Return what is a legal JSON Schema and an object; refuse the rest."""
    # 0.1 s that only saving needs.
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    if not isinstance(schema, dict):
        raise RequestError("bad_arguments", "The schema of a contract is a JSON object.")
    found = cast("dict[str, Any]", schema)
    try:
        validator_for(found, default=Draft202012Validator).check_schema(found)
    except SchemaError as error:
        raise RequestError(
            "bad_arguments", f"This is no JSON Schema: {error.json_path}: {error.message}"
        ) from error
    return found
