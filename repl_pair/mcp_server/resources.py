"""The resources of a session: what is listed, read and completed, as its view sees it now."""

from contextlib import aclosing
from pathlib import PurePath
from typing import Any, NamedTuple, NoReturn

from mcp import types
from mcp.shared.exceptions import MCPError

from repl_pair.bridge import manifest
from repl_pair.bridge.call_checks import is_there
from repl_pair.bridge.policy import NAMED, OPEN
from repl_pair.bridge.session import Session
from repl_pair.bridge.suggestions import through_op, write_step
from repl_pair.errors import next_step
from repl_pair.mcp_server import completion, results
from repl_pair.mcp_server.gate.byte_gate import Json, scrub
from repl_pair.mcp_server.notifying import Context
from repl_pair.mcp_server.pages import page_of, read_items
from repl_pair.mcp_server.tool_list import DOC_CHARS, input_schema, unlisted_ops
from repl_pair.mcp_server.uris import (
    CONTEXT,
    LONGEST,
    ROWS,
    TEMPLATES,
    Target,
    find_target,
    member_uri,
)
from repl_pair.wire import OVERFLOW, Reply, cut_at_word

MIME = "application/json"
MAX_MEMBERS = 1_000
"""How many members are listed."""
_MISSING = ("not_found", "bad_arguments")
_COUNTED = ("story", "variant", "function")
_KERNEL = ("id", "name", "alive", "busy", "busy_s", "idle_s", "state", "since_s", "code", "why")


class Resources:
    """The handlers of a session's resources; each request is decided anew by the kernel.

    A URI that is not valid, not there or hidden is one protocol error. Lists attach to no kernel
    that is neither named nor held.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def list_resources(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Answer `resources/list`: a page of what is always there and of the app's members."""
        found = [
            _resource(row.uri, row.doc) for row in ROWS if is_there(self._session.policy, row.op)
        ]
        if self._session.links.is_chosen:
            found += await self._members()
        page, cursor = page_of(params, found, lambda resource: resource.uri)
        return types.ListResourcesResult(resources=page, next_cursor=cursor)

    async def list_templates(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Answer `resources/templates/list`."""
        found = [
            types.ResourceTemplate(
                name=row.uri.removeprefix("surface://"),
                uri_template=row.uri,
                description=row.doc,
                mime_type=MIME,
            )
            for row in TEMPLATES
        ]
        page, cursor = page_of(params, found, lambda template: template.uri_template)
        return types.ListResourceTemplatesResult(resource_templates=page, next_cursor=cursor)

    async def read(
        self, _ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Answer `resources/read` with the result of the op as compact JSON."""
        uri = str(params.uri)
        target = find_for(self._session, uri)
        if uri == CONTEXT:
            found: Json = scrub(await _read_context(self._session))
        else:
            reply = await self._session.call(target.op, target.args, is_reported=False)
            if not reply["ok"]:
                await self._refuse(uri, target, reply)
            found = self._content(reply, target)
        content = types.TextResourceContents(uri=uri, mime_type=MIME, text=results.write(found))
        return types.ReadResourceResult(contents=[content])

    async def complete(
        self, ref: types.ResourceTemplateReference, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Answer `completion/complete` for a variable of a template."""
        name, typed = params.argument.name, params.argument.value
        if all(row.uri != ref.uri for row in TEMPLATES) or f"{{{name}}}" not in ref.uri:
            raise completion.refuse()
        given = (params.context and params.context.arguments) or {}
        surface, kind = f"{given.get('surface', '')}/", name.removesuffix("_id")
        if name == "key":
            member = surface + given.get("member", "")
            return completion.answer(await completion.find_ids(self._session, kind, typed, member))
        if name != "member":
            return completion.answer(await completion.find_ids(self._session, kind, typed))
        found = await completion.find_ids(self._session, kind, surface + typed)
        values = [value.removeprefix(surface) for value in found.values]
        return completion.answer(found._replace(values=values))

    async def _members(self) -> list[types.Resource]:
        """Return the members that the view sees; none where the kernel does not answer."""
        found = list[types.Resource]()
        async with aclosing(read_items(self._session, "list_surfaces")) as surfaces:
            async for surface in surfaces:
                for member in surface["members"]:
                    doc = member.get("doc") or f"A {member['kind']} of the app."
                    found.append(_resource(member_uri(member["id"]), doc))
                if len(found) >= MAX_MEMBERS:
                    break
        return found[:MAX_MEMBERS]

    async def _refuse(self, uri: str, target: Target, reply: Reply) -> NoReturn:
        """Refuse a read: what the view does not see as unknown, else for the op's own reason."""
        error = reply["error"]
        if error["code"] in _MISSING and target.watched:
            await read_mark(self._session, uri, target.watched[0])
        raise _refusal(self._session, uri, reply)

    def _content(self, reply: Reply, target: Target) -> Json:
        """Return the result as a tool gives it, with the calls that give the rest or less of it."""
        session, op = self._session, target.op
        unlisted = unlisted_ops(session.descriptors(), session.policy)
        rendered = results.render(
            reply,
            name=op,
            args=target.args,
            schema=input_schema(manifest.by_name()[op], session.policy),
            unlisted=unlisted,
        )
        envelope: dict[str, Any] = rendered.structured_content or {}
        result: dict[str, Json] = envelope["result"]
        if cursor := result.get("cursor"):
            rest = next_step(op, **target.args, cursor=cursor)
            return result | {"next_steps": [through_op(rest, unlisted)]}
        beside = ("next_steps", "hints") if OVERFLOW in result else ()
        return result | {slot: envelope[slot] for slot in beside if slot in envelope}


def find_for(session: Session, uri: str) -> Target:
    """Return what a URI stands for; MCPError where it is not valid, or its op is not there."""
    target = find_target(uri)
    if target is None or not is_there(session.policy, target.op):
        refuse_unknown(uri)
    return target


class Mark(NamedTuple):
    """How far what is watched was at one moment, in one process of the kernel."""

    at: int
    boot: str


async def read_mark(session: Session, uri: str, watched: str) -> Mark:
    """Return the mark of what a URI stands for; MCPError where the view does not see it."""
    reply = await session.read_internal("await_members", {"watched": [watched]})
    if not reply["ok"]:
        raise _refusal(session, uri, reply)
    (at,) = reply["result"]["marks"]
    if at < 0:
        refuse_unknown(uri)
    return Mark(at, reply["boot"])


def refuse_unknown(uri: str) -> NoReturn:
    """Refuse a URI that is not valid, not there or hidden: all three read alike."""
    words = "There is no such resource; resources/list and the templates name those there are."
    raise MCPError(types.INVALID_PARAMS, words, data={"uri": uri[:LONGEST]})


def _refusal(session: Session, uri: str, reply: Reply) -> MCPError:
    """Build the refusal of a read; it names the tools to call, as no URI names a kernel."""
    reply = scrub(reply)
    error = reply["error"]
    message = error["message"][: results.ERROR_CHARS]
    data = {"uri": uri, "code": error["code"]}
    if error["code"] in _MISSING:
        return MCPError(types.INVALID_PARAMS, message, data=data)
    unlisted = unlisted_ops(session.descriptors(), session.policy)
    steps = [step for step in reply.get("next_steps", ()) if is_there(session.policy, step["op"])]
    calls = [write_step(through_op(step, unlisted)) for step in steps]
    message += f" Next: {', or '.join(calls)}." if calls else ""
    return MCPError(types.INTERNAL_ERROR, message, data=data)


def _resource(uri: str, doc: str) -> types.Resource:
    name = uri.partition("://")[2]
    shown = cut_at_word(doc, DOC_CHARS)
    return types.Resource(uri=uri, name=name, description=shown, mime_type=MIME)


async def _read_context(session: Session) -> dict[str, Any]:
    """Return `pair://context`: the session's name, what is open, the kernel, and what is in it.

    Without a kernel `kernel` has the code, and why. `access` has `allow`, `ask` or `deny` of each.
    """
    policy = session.policy
    reply = await session.call("kernel_status", is_reported=False)
    unlisted = unlisted_ops(session.descriptors(), policy)
    steps = reply.get("next_steps") or [next_step("list_stories")]
    return {
        "principal": session.principal,
        "access": {access: policy.decide(access) for access in (*sorted(OPEN), *NAMED)},
        "toolsets": sorted(policy.listed_toolsets),
        **_describe_kernel(reply),
        "next_steps": [through_op(step, unlisted) for step in steps],
    }


def _describe_kernel(reply: Reply) -> dict[str, Any]:
    if not reply["ok"]:
        error = reply["error"]
        return {"kernel": {"code": error["code"], "why": error["message"]}}
    report: dict[str, Any] = reply["result"]
    kernel = {slot: report[slot] for slot in _KERNEL if report.get(slot) is not None}
    if notebook := report.get("notebook"):
        kernel["notebook"] = PurePath(notebook).name
    counts = report.get("counts", {})
    return {"kernel": kernel, "counts": {kind: counts[kind] for kind in _COUNTED if kind in counts}}
