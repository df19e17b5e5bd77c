"""The audit: a line of JSON for each call, in a file that only its owner reads."""

import errno
import json
import logging
import os
import stat
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

from mcp import types
from mcp.shared.exceptions import MCPError

from repl_pair.bridge.background.runs import Make, Run
from repl_pair.bridge.pending_call import PendingCall, Record
from repl_pair.errors import ReplPairError
from repl_pair.mcp_server.gate.byte_gate import scrub
from repl_pair.mcp_server.notifying import Context
from repl_pair.wire import REPLY_CHARS, Args, Reply, error_reply

P = TypeVar("P")
T = TypeVar("T")
NAME_CHARS = 200
NOT_WRITTEN = (
    "this server's audit cannot be written, so no call is made. "
    "The person finds the reason in its stderr."
)
# What agents write must not come into a file that a link names, nor wait for who reads a pipe.
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFELY
_log = logging.getLogger(__name__)


class Audit:
    """Appends a line for each call, also those in the background: when, who, op, verdict, args, ms.

    The verdict is `ok`, or the code of the error; `cancelled` where nobody waits for it any more,
    `too_many` where it was refused as one too many. What looks like a secret in the args is
    replaced. Args over 16,000 characters are left out. A line that cannot be written is kept, and
    no call is made before it is.
    """

    def __init__(self, path: str) -> None:
        try:
            self._file = os.open(path, _FLAGS, 0o600)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise OSError(errno.EINVAL, "it is not a file")
            if os.name == "posix":
                os.fchmod(self._file, 0o600)
        except OSError as error:
            why = "it is a link" if os.path.islink(path) else error.strerror
            raise ReplPairError(
                "cannot_run", f"--audit cannot write {path}: {why}. Nothing was started."
            ) from error
        self._owed = b""

    def watch(
        self,
        who: str,
        handler: Callable[[Context, P], Awaitable[T]],
    ) -> Callable[[Context, P], Awaitable[T]]:
        """Return a handler of calls that writes a line for each, as `describe_call` names it."""

        async def handle(ctx: Context, params: P) -> T:
            if not self._write_owed():
                raise MCPError(types.INTERNAL_ERROR, f"internal: {NOT_WRITTEN}")
            began, verdict = time.monotonic(), "cancelled"
            try:
                result = await handler(ctx, params)
                verdict = _judge(result)
                return result
            except MCPError as error:
                is_unknown = error.error.code == types.INVALID_PARAMS
                given: Any = error.error.data
                code = given.get("code") if hasattr(given, "get") else None
                verdict = str(code or ("not_found" if is_unknown else "internal"))
                raise
            finally:
                call = describe_call(ctx.method, vars(params))
                assert call is not None, "only handlers of calls are watched"
                ms = round(1000 * (time.monotonic() - began), 1)
                self.write(who=who, op=call[0], verdict=verdict, args=call[1], ms=ms)

        return handle

    def watch_runs(self, who: str) -> Callable[[Run, Make], Awaitable[Reply]]:
        """Return what makes the call of a run in the background, and writes a line for it."""

        async def record(run: Run, make: Make) -> Reply:
            call = run.call
            return await self._record(make, who, call.call, call.given, {"run": run.id})

        return record

    def watch_approved(self, who: str) -> Record:
        """Return what makes a call that the person approved, and writes a line for it."""

        async def record(call: PendingCall, make: Make) -> Reply:
            request = call.request
            return await self._record(
                make, who, request.op, request.args, {"approval": call.handle}
            )

        return record

    async def _record(
        self, make: Make, who: str, op: str, args: Args, made_as: Mapping[str, str]
    ) -> Reply:
        if not self._write_owed():
            return error_reply(ReplPairError("internal", NOT_WRITTEN))
        began, verdict = time.monotonic(), "cancelled"
        try:
            reply = await make()
            verdict = "ok" if reply["ok"] else reply["error"]["code"]
            return reply
        finally:
            ms = round(1000 * (time.monotonic() - began), 1)
            self.write(who=who, op=op, verdict=verdict, args=args, ms=ms, made_as=made_as)

    def write(
        self,
        *,
        who: str,
        op: str,
        verdict: str,
        args: Args,
        ms: float,
        made_as: Mapping[str, str] = {},
    ) -> None:
        """Append one line; where that fails, it is appended before the next call is made.

        `made_as` is the run of a call in the background, or the approval of one that waited.
        """
        slots = {
            "who": who,
            "op": scrub(op[:REPLY_CHARS])[:NAME_CHARS],
            "verdict": verdict,
            "ms": ms,
            **made_as,
        }
        line = {"at": round(time.time(), 3), **slots, "args": _show(args)}
        self._owed += json.dumps(line).encode() + b"\n"
        self._write_owed()

    def _write_owed(self) -> bool:
        try:
            while self._owed:
                self._owed = self._owed[os.write(self._file, self._owed) :]
        except OSError as error:
            _log.error("the audit is not written, and no call made: %s", error.strerror)
        return not self._owed


def describe_call(method: str | None, params: Mapping[str, Any]) -> tuple[str, Args] | None:
    """Name the op and the args of a request as it came; None for one that is no call."""
    if method == "resources/read":
        return "read", {"uri": str(params.get("uri"))}
    if method not in ("tools/call", "prompts/get"):
        return None
    args: Any = params.get("arguments")
    return str(params.get("name")), cast("Args", args) if isinstance(args, dict) else {}


def _show(args: Args) -> Args:
    size: int | None = None
    try:
        text = json.dumps(args, default=str)
        size = len(text)
        if size <= REPLY_CHARS:
            return scrub(json.loads(text, parse_constant=str))  # as text: JSON has no such numbers
    except RecursionError:
        _log.info("args of a call are too deep for the audit")
    return {"$elided": {"type": "dict", "size": size}}


def _judge(result: object) -> str:
    if not isinstance(result, types.CallToolResult) or not result.is_error:
        return "ok"
    envelope: dict[str, Any] = result.structured_content or {}
    return envelope.get("error", {}).get("code", "internal")
