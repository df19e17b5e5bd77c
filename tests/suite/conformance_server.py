"""The fixtures that the protocol's own suite asks for, behind the web stack of this package.

    python conformance_server.py --http HOST:PORT [--http-host HOST …] [--http-origin ORIGIN …]

Tokens, sites, limits, sessions, the byte gate and what is sent unasked are those of
`repl-pair mcp --http`; only what answers tools, resources, prompts and completion is the
suite's.
"""

import argparse
import hmac
import json
import secrets
from contextlib import asynccontextmanager

from conformance_tools import (
    PNG,
    TOOLS,
    answer,
    call_tool,
    embedded,
    form,
    image,
    list_tools,
    needs,
    text,
)
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.request_state import (
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
)
from mcp.shared.exceptions import MCPError

from repl_pair.bridge.tokens import Tokens
from repl_pair.mcp_server.notifying import Notifications, NotifyingServer
from repl_pair.mcp_server.web.principal import Defaults
from repl_pair.mcp_server.web.serving import Serving, parse_place, run

NAME = "conformance"
TEMPLATE = "test://template/{id}/data"
RESOURCES = {
    "test://static-text": {"text": "This is the content of the static text resource."},
    "test://static-binary": {"blob": PNG},
    "test://watched-resource": {"text": "Watched resource content"},
}
PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
LISTS = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)


class Signed:
    """Seals the state of a request in hexadecimal: random letters can look like a secret."""

    def __init__(self):
        self._key = secrets.token_bytes(32)

    def seal(self, payload):
        return payload.hex() + hmac.digest(self._key, payload, "sha256").hex()

    def unseal(self, token):
        try:
            payload = bytes.fromhex(token[:-64])
        except ValueError as error:
            raise InvalidRequestState from error
        if not hmac.compare_digest(self.seal(payload), token):
            raise InvalidRequestState
        return payload


async def list_resources(_ctx, _params):
    found = [types.Resource(uri=uri, name=uri, description=uri) for uri in RESOURCES]
    return types.ListResourcesResult(resources=found)


async def list_templates(_ctx, _params):
    found = types.ResourceTemplate(uri_template=TEMPLATE, name="template", description="A template")
    return types.ListResourceTemplatesResult(resource_templates=[found])


async def read_resource(_ctx, params):
    uri = str(params.uri)
    before, after = TEMPLATE.split("{id}")
    if uri.startswith(before) and uri.endswith(after):
        id = uri.removeprefix(before).removesuffix(after)
        data = {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}
        content = types.TextResourceContents(uri=uri, text=json.dumps(data))
    elif uri in RESOURCES:
        kind = (
            types.BlobResourceContents if "blob" in RESOURCES[uri] else types.TextResourceContents
        )
        mime_type = "image/png" if "blob" in RESOURCES[uri] else "text/plain"
        content = kind(uri=uri, mime_type=mime_type, **RESOURCES[uri])
    else:
        raise MCPError(types.INVALID_PARAMS, "There is no such resource.", {"uri": uri})
    return types.ReadResourceResult(contents=[content])


async def list_prompts(_ctx, _params):
    found = [
        types.Prompt(
            name=name,
            description=name,
            arguments=[types.PromptArgument(name=each, required=True) for each in arguments],
        )
        for name, arguments in PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=found)


async def get_prompt(_ctx, params):
    args = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            blocks = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            words = "arg1='{arg1}', arg2='{arg2}'".format_map(args)
            blocks = [text(f"Prompt with arguments: {words}")]
        case "test_prompt_with_embedded_resource":
            resource = embedded(args["resourceUri"], "Embedded resource content for testing.")
            blocks = [resource, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            blocks = [image(), text("Please analyze the image above.")]
        case "test_input_required_result_prompt":
            if (found := answer(params, "user_context")) is None:
                return needs(user_context=form("Which context?", context={"type": "string"}))
            blocks = [text(f"Use this context: {found.content['context']}")]
        case _:
            raise MCPError(types.INVALID_PARAMS, "Unknown prompt.")
    messages = [types.PromptMessage(role="user", content=block) for block in blocks]
    return types.GetPromptResult(messages=messages)


async def complete(_ctx, _params):
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


async def set_level(_ctx, _params):
    return types.EmptyResult()


async def admit(uri):
    if uri not in RESOURCES:
        raise MCPError(types.INVALID_PARAMS, "There is no such resource.")
    return 0


def build(_session, **_how):
    """Build the server of one token, as `repl_pair.mcp_server.server.build` does."""
    notifications = Notifications(admit=admit, on_change=lambda: None)

    @asynccontextmanager
    async def lifespan(_server):
        yield {"notifications": notifications}
        notifications.end_streams()

    server = NotifyingServer(
        NAME,
        version="1",
        lifespan=lifespan,
        cache_hints=dict.fromkeys(LISTS, CacheHint()),
        get_tool_input_schema=lambda name: TOOLS[name][1] if name in TOOLS else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=set_level,
        on_subscribe_resource=notifications.subscribe,
        on_unsubscribe_resource=notifications.unsubscribe,
        on_subscriptions_listen=notifications.listen,
    )
    security = RequestStateSecurity(codec=Signed())
    server.middleware.append(RequestStateBoundary(security, default_audience=NAME))
    server.middleware.append(notifications.track)
    return server


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", required=True, type=parse_place)
    parser.add_argument("--http-host", action="append", default=[])
    parser.add_argument("--http-origin", action="append", default=[])
    given = parser.parse_args()
    sites = {"hosts": given.http_host, "origins": given.http_origin}
    run(Serving(place=given.http, defaults=Defaults(build=build), tokens=Tokens(), **sites))


if __name__ == "__main__":
    main()
