"""The resources of a session: what is listed, read and completed, as its view sees it now."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from mcp import types
from mcp.shared.exceptions import MCPError

from repl_pair.bridge import manifest
from repl_pair.bridge.session import Session
from repl_pair.mcp_server import results
from repl_pair.mcp_server.byte_gate import Json, scrub
from repl_pair.mcp_server.expose import DOC_CHARS, input_schema, unlisted_ops
from repl_pair.mcp_server.notifying import Context
from repl_pair.mcp_server.uris import LONGEST, ROWS, TEMPLATES, Target, find_target, member_uri
from repl_pair.wire import OVERFLOW, REDACTED, Reply

MIME = "application/json"
PAGE = 100
MOST_MEMBERS = 1_000
"""How many members are listed."""
LIMIT = 200
_MISSING = ("not_found", "bad_arguments")
_log = logging.getLogger(__name__)


class Resources:
    """The handlers of a session's resources; each request is decided anew by the kernel.

    A URI that is not legal, not there or hidden is one protocol error. Lists attach to no kernel
    that is neither named nor held.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def list_resources(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Answer `resources/list`: a page of what is always there and of the app's members."""
        found = [_resource(row.uri, row.doc) for row in ROWS]
        if self._session.links.is_chosen:
            found += await self._members()
        found.sort(key=lambda resource: resource.uri)
        start = _after(params.cursor if params else None, [each.uri for each in found])
        page = found[start : start + PAGE]
        more = start + PAGE < len(found)
        return types.ListResourcesResult(
            resources=page, next_cursor=_cursor(page[-1].uri) if more else None
        )

    async def list_templates(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Answer `resources/templates/list`, in one page."""
        if params is not None and params.cursor is not None:
            raise MCPError(types.INVALID_PARAMS, "Unknown cursor: the templates are one page.")
        found = [
            types.ResourceTemplate(
                name=row.uri.removeprefix("surface://"),
                uri_template=row.uri,
                description=row.doc,
                mime_type=MIME,
            )
            for row in TEMPLATES
        ]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read(
        self, _ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Answer `resources/read` with the result of the op as compact JSON."""
        uri = str(params.uri)
        target = find_target(uri)
        if target is None:
            refuse_unknown(uri)
        reply = await self._session.call(target.op, target.args, is_reported=False)
        if not reply["ok"]:
            await self._refuse(uri, target, reply)
        text = results.write(self._content(reply, target))
        content = types.TextResourceContents(uri=uri, mime_type=MIME, text=text)
        return types.ReadResourceResult(contents=[content])

    async def complete(
        self, _ctx: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Answer `completion/complete` for a variable of a template."""
        ref, name = params.ref, params.argument.name
        templates = {row.uri: row for row in TEMPLATES}
        row = templates.get(ref.uri) if isinstance(ref, types.ResourceTemplateReference) else None
        if row is None or f"{{{name}}}" not in row.uri:
            raise MCPError(types.INVALID_PARAMS, "There is nothing to complete: no such template.")
        given = (params.context and params.context.arguments) or {}
        asked = {"kind": name.removesuffix("_id"), "prefix": params.argument.value}
        surface = given.get("surface", "")
        if name == "member":
            asked["prefix"] = f"{surface}/{params.argument.value}"
        elif name == "key":
            asked["member"] = f"{surface}/{given.get('member', '')}"
        found: dict[str, Any] = {"values": [], "total": 0}
        if self._session.links.is_chosen:
            reply = await self._session.read_internal("complete_ids", asked)
            found = reply["result"] if reply["ok"] else found
        # What holds a secret cannot be completed.
        values = [value for value in scrub(found["values"]) if REDACTED not in value]
        if name == "member":
            values = [value.removeprefix(f"{surface}/") for value in values]
        left, total = found["total"] - len(found["values"]), len(values)
        completion = types.Completion(values=values, total=total + left, has_more=left > 0)
        return types.CompleteResult(completion=completion)

    async def _members(self) -> list[types.Resource]:
        """Return the members that the view sees; none where the kernel does not answer."""
        found, cursor = list[types.Resource](), None
        while len(found) < MOST_MEMBERS:
            args = {"limit": LIMIT} | ({"cursor": cursor} if cursor else {})
            reply = await self._session.call("list_surfaces", args, is_reported=False)
            if not reply["ok"]:
                _log.warning("resources/list without members: %s", reply["error"]["code"])
                break
            for surface in reply["result"]["items"]:
                for member in surface["members"]:
                    doc = member.get("doc") or f"A {member['kind']} of the app."
                    found.append(_resource(member_uri(member["id"]), doc))
            cursor = reply["result"].get("cursor")
            if cursor is None:
                break
        return found[:MOST_MEMBERS]

    async def _refuse(self, uri: str, target: Target, reply: Reply) -> NoReturn:
        """Refuse a read: what the view does not see as unknown, else for the op's own reason."""
        error = reply["error"]
        if error["code"] in _MISSING:
            await read_mark(self._session, uri, target.watched)
        raise _refusal(uri, reply)

    def _content(self, reply: Reply, target: Target) -> Json:
        """Return the result as a tool gives it; over the budget with the calls that give less."""
        session, op = self._session, target.op
        rendered = results.render(
            reply,
            name=op,
            args=target.args,
            schema=input_schema(manifest.by_name()[op], session.policy),
            unlisted=unlisted_ops(session.descriptors(), session.policy),
        )
        envelope: dict[str, Any] = rendered.structured_content or {}
        result: dict[str, Json] = envelope["result"]
        beside = ("next_steps", "hints") if OVERFLOW in result else ()
        return result | {slot: envelope[slot] for slot in beside if slot in envelope}


class Mark(NamedTuple):
    """How far what is watched was at one moment, in one life of the kernel."""

    at: int
    boot: str


async def read_mark(session: Session, uri: str, watched: str) -> Mark:
    """Return the mark of what a URI stands for; MCPError where the view does not see it."""
    reply = await session.read_internal("await_members", {"watched": [watched]})
    if not reply["ok"]:
        raise _refusal(uri, reply)
    (at,) = reply["result"]["marks"]
    if at < 0:
        refuse_unknown(uri)
    return Mark(at, reply["boot"])


def refuse_unknown(uri: str) -> NoReturn:
    """Refuse a URI that is not legal, not there or hidden: nothing tells the three apart."""
    words = "There is no such resource; resources/list and the templates name those there are."
    raise MCPError(types.INVALID_PARAMS, words, data={"uri": uri[:LONGEST]})


def _refusal(uri: str, reply: Reply) -> MCPError:
    error = reply["error"]
    code = types.INVALID_PARAMS if error["code"] in _MISSING else types.INTERNAL_ERROR
    message = error["message"][: results.ERROR_CHARS]
    return MCPError(code, message, data={"uri": uri, "code": error["code"]})


def _resource(uri: str, doc: str) -> types.Resource:
    name = uri.removeprefix("surface://")
    return types.Resource(uri=uri, name=name, description=doc[:DOC_CHARS], mime_type=MIME)


def _after(cursor: str | None, uris: Sequence[str]) -> int:
    """Return where the page of a cursor begins: behind the URI that the cursor is made of."""
    if cursor is None:
        return 0
    found = next((at for at, uri in enumerate(uris) if _cursor(uri) == cursor), None)
    if found is None:
        raise MCPError(types.INVALID_PARAMS, "Unknown cursor, or the list changed: list anew.")
    return found + 1


def _cursor(uri: str) -> str:
    # A hash: a name that looks like a secret must not leave in a form that no pattern finds.
    return hashlib.sha256(uri.encode()).hexdigest()[:16]
