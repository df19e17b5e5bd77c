"""The audit: a line of JSON for each call, in a file that only its owner reads."""

import errno
import json
import logging
import os
import stat
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp import types
from mcp.shared.exceptions import MCPError

from repl_pair.errors import ReplPairError
from repl_pair.mcp_server.byte_gate import scrub
from repl_pair.mcp_server.notifying import Context
from repl_pair.wire import REPLY_CHARS, Args

P = TypeVar("P")
T = TypeVar("T")
NAME_CHARS = 200
# What agents write must not come into a file that a link names, nor wait for who reads a pipe.
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFELY
_log = logging.getLogger(__name__)


class Audit:
    """Appends a line for each call: when, who, op, verdict, args, ms.

    The verdict is `ok`, or the code of the error; `cancelled` where nobody waits for it any more.
    What looks like a secret in the args is replaced. Args over 16,000 characters are left out.
    """

    def __init__(self, path: str) -> None:
        try:
            self._file = os.open(path, _FLAGS, 0o600)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise OSError(errno.EINVAL, "it is no file")
            if os.name == "posix":
                os.fchmod(self._file, 0o600)
        except OSError as error:
            why = "it is a link" if os.path.islink(path) else error.strerror
            raise ReplPairError(
                "cannot_run", f"--audit cannot write {path}: {why}. Nothing was started."
            ) from error

    def watch(
        self,
        who: str,
        handler: Callable[[Context, P], Awaitable[T]],
        describe: Callable[[P], tuple[str, Args]],
    ) -> Callable[[Context, P], Awaitable[T]]:
        """Return a handler that writes a line for each request; `describe` gives op and args."""

        async def handle(ctx: Context, params: P) -> T:
            began, verdict = time.monotonic(), "cancelled"
            try:
                result = await handler(ctx, params)
                verdict = _judge(result)
                return result
            except MCPError as error:
                is_unknown = error.error.code == types.INVALID_PARAMS
                verdict = "not_found" if is_unknown else "internal"
                raise
            finally:
                op, args = describe(params)
                ms = round(1000 * (time.monotonic() - began), 1)
                self._write(who=who, op=op[:NAME_CHARS], verdict=verdict, args=args, ms=ms)

        return handle

    def _write(self, *, args: Args, **slots: Any) -> None:
        size = len(json.dumps(args, default=str))
        shown = args if size <= REPLY_CHARS else {"$elided": {"type": "dict", "size": size}}
        line = scrub({"at": round(time.time(), 3), **slots, "args": dict(shown)})
        try:
            os.write(self._file, json.dumps(line).encode() + b"\n")
        except OSError as error:
            _log.error("a call is not in the audit: %s", error.strerror)


def _judge(result: object) -> str:
    if not isinstance(result, types.CallToolResult) or not result.is_error:
        return "ok"
    envelope: dict[str, Any] = result.structured_content or {}
    return envelope.get("error", {}).get("code", "internal")
