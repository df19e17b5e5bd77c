"""The tools that the protocol's own suite asks for, by the names that it gives them.

Each is a function of the context and the parameters of a call, which gives blocks, or a result.
"""

import json

from mcp import types
from mcp.shared.exceptions import MCPError

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"
    "gg=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
SCHEMA_OF_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(words):
    return types.TextContent(type="text", text=words)


def image():
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri, words, mime_type="text/plain"):
    content = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=content)


def strings(**properties):
    """Return the schema of an object of texts; a value adds to the schema of its property."""
    return {
        "type": "object",
        "properties": {n: {"type": "string"} | p for n, p in properties.items()},
    }


TOOLS = {}


def tool(schema=None, name=None):
    """Make a function a tool, named `test_` and its own name."""

    def add(function):
        found = name or f"test_{function.__name__}"
        TOOLS[found] = (function, schema or {"type": "object"})
        return function

    return add


@tool()
async def simple_text(_ctx, _params):
    return [text("This is a simple text response for testing.")]


@tool()
async def image_content(_ctx, _params):
    return [image()]


@tool()
async def audio_content(_ctx, _params):
    return [types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")]


@tool()
async def embedded_resource(_ctx, _params):
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


@tool()
async def multiple_content_types(_ctx, _params):
    data = json.dumps({"test": "data", "value": 123})
    resource = embedded("test://mixed-content-resource", data, "application/json")
    return [text("Multiple content types test:"), image(), resource]


@tool()
async def error_handling(_ctx, _params):
    words = "This tool intentionally returns an error for testing"
    return types.CallToolResult(content=[text(words)], is_error=True)


@tool(SCHEMA_OF_2020, name="json_schema_2020_12_tool")
async def schema_of_2020(_ctx, _params):
    return [text("called")]


@tool(strings(region={"x-mcp-header": "Region"}))
async def x_mcp_header(_ctx, params):
    return [text(f"region={(params.arguments or {}).get('region')}")]


@tool()
async def tool_with_logging(ctx, _params):
    for step in ("started", "processing", "completed"):
        await ctx.session.send_log_message("info", f"Tool {step}", None, ctx.request_id)
    return [text("Tool with logging executed successfully")]


tool(name="test_logging_tool")(tool_with_logging)


@tool()
async def tool_with_progress(ctx, _params):
    for step in (0, 50, 100):
        await ctx.session.report_progress(step, 100, f"Completed step {step} of 100")
    return [text("completed")]


@tool()
async def trigger_tool_change(ctx, _params):
    await ctx.lifespan_context["notifications"].tools_changed()
    return [text("changed")]


@tool()
async def missing_capability(ctx, _params):
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "It needs sampling.", needed)
    return [text("The client has what it needs.")]


# --- tools that ask the client, in the 2025 era by a request of their own


@tool(strings(prompt={}))
async def sampling(ctx, params):
    messages = [types.SamplingMessage(role="user", content=text(params.arguments["prompt"]))]
    answer = await ctx.session.create_message(
        messages, max_tokens=100, related_request_id=ctx.request_id
    )
    return [text(f"LLM response: {answer.content.text}")]


async def elicit(ctx, message, properties):
    schema = {"type": "object", "properties": properties, "required": []}
    answer = await ctx.session.elicit_form(message, schema, ctx.request_id)
    return [text(f"action={answer.action}, content={json.dumps(answer.content)}")]


@tool(strings(message={}))
async def elicitation(ctx, params):
    response = {"type": "string", "description": "User's response"}
    return await elicit(ctx, params.arguments["message"], {"response": response})


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


def titled(*names):
    return [{"const": name, "title": name.title()} for name in names]


ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["active", "inactive", "pending"]},
    "titledSingle": {"type": "string", "oneOf": titled("low", "medium", "high")},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["read", "write"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": titled("feature", "bug", "docs")}},
    "legacyEnum": {
        "type": "string",
        "enum": ["small", "medium", "large"],
        "enumNames": ["Small Size", "Medium Size", "Large Size"],
    },
}


@tool()
async def elicitation_sep1034_defaults(ctx, _params):
    return await elicit(ctx, "Please provide user information", DEFAULTS)


@tool()
async def elicitation_sep1330_enums(ctx, _params):
    return await elicit(ctx, "Please select values", ENUMS)


# --- tools that ask the client, in the 2026 era by a result that names what is needed


def needs(state=None, **requests):
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def form(message, **properties):
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.ElicitRequest(params=params)


def ask_name():
    return form("What is your name?", name={"type": "string"})


def ask_model(words):
    messages = [types.SamplingMessage(role="user", content=text(words))]
    params = types.CreateMessageRequestParams(messages=messages, max_tokens=100)
    return types.CreateMessageRequest(params=params)


def answer(params, name, kind=types.ElicitResult):
    """Return what the client answered under a name, None where it is of another kind."""
    found = (params.input_responses or {}).get(name)
    return found if isinstance(found, kind) else None


@tool()
async def input_required_result_elicitation(_ctx, params):
    if found := answer(params, "user_name"):
        return [text(f"Hello, {found.content['name']}!")]
    return needs(user_name=ask_name())


tool(name="test_streaming_elicitation")(input_required_result_elicitation)


@tool()
async def input_required_result_sampling(_ctx, params):
    if found := answer(params, "capital_question", types.CreateMessageResult):
        return [text(found.content.text)]
    return needs(capital_question=ask_model("What is the capital of France?"))


@tool()
async def input_required_result_list_roots(_ctx, params):
    if found := answer(params, "client_roots", types.ListRootsResult):
        return [text(f"{len(found.roots)} roots")]
    return needs(client_roots=types.ListRootsRequest())


@tool()
async def input_required_result_request_state(_ctx, params):
    if answer(params, "confirm") and params.request_state == "nonce":
        return [text("state-ok")]
    return needs("nonce", confirm=form("Please confirm", ok={"type": "boolean"}))


@tool()
async def input_required_result_multiple_inputs(_ctx, params):
    if {"user_name", "greeting", "client_roots"} <= {*(params.input_responses or {})}:
        return [text("all inputs")]
    model, roots = ask_model("Generate a greeting"), types.ListRootsRequest()
    return needs("multiple", user_name=ask_name(), greeting=model, client_roots=roots)


@tool()
async def input_required_result_multi_round(_ctx, params):
    if params.request_state == "1" and answer(params, "step1"):
        return needs("2", step2=form("Your favorite color?", color={"type": "string"}))
    if params.request_state == "2" and answer(params, "step2"):
        return [text("all rounds")]
    return needs("1", step1=ask_name())


@tool()
async def input_required_result_tampered_state(_ctx, params):
    if params.request_state is not None:
        return [text("state-ok")]
    return needs("round", confirm=form("Please confirm", ok={"type": "boolean"}))


@tool()
async def input_required_result_capabilities(ctx, _params):
    capabilities = ctx.session.client_capabilities
    wanted = {"sampling": ask_model("Say hello"), "elicitation": ask_name()}
    return needs("gated", **{n: one for n, one in wanted.items() if getattr(capabilities, n)})


async def list_tools(_ctx, _params):
    found = [types.Tool(name=n, description=n, input_schema=s) for n, (_, s) in TOOLS.items()]
    return types.ListToolsResult(tools=found)


async def call_tool(ctx, params):
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, "Unknown tool.")
    found = await TOOLS[params.name][0](ctx, params)
    return types.CallToolResult(content=found) if isinstance(found, list) else found
