"""The ops about workers: kernels that a session starts to run its own code, until it ends."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from repl_pair.bridge import manifest
from repl_pair.bridge.background.workers import WorkerLine
from repl_pair.bridge.ops.table import TABLE, BridgeCall
from repl_pair.errors import RequestError, next_step
from repl_pair.runtime.op_base.answers import Items
from repl_pair.runtime.op_base.table import Preview
from repl_pair.runtime.signatures.arguments import Longest
from repl_pair.wire import Args

MAX_CHARS = 65_536
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,63})?")

Code = Annotated[str, Longest(MAX_CHARS), "Plain Python; await may stand at the top"]
Name = Annotated[str, "What its kernel is called: letters, digits, - and _"]


class StartedWorker(TypedDict):
    """A worker; `kernel` is what calls name to reach it."""

    worker: str
    kernel: str
    pid: int


def preview_worker(args: Mapping[str, Any], _principal: str) -> Preview:
    """Show the code that would run in a process of its own."""
    title = "run code in a new process of the server, until it is stopped"
    return {"kind": "code", "title": title, "text": str(args.get("code"))}


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise RequestError(
            "bad_arguments",
            f"{name:.80} is not a worker's name: it takes letters, digits, - and _, at most 64, "
            "and a letter first. Nothing was started.",
        )


async def _check_start(here: BridgeCall, args: Args) -> None:
    _check_name(args.get("name", ""))
    here.background.workers.check_start(args["code"])


async def _check_worker(here: BridgeCall, args: Args) -> None:
    here.background.workers.check(args["worker"])


@TABLE.op(
    access="eval",
    toolset=manifest.MANAGE,
    lane="inline",
    preview=preview_worker,
    check=_check_start,
)
async def register_worker(call: BridgeCall, code: Code, name: Name = "") -> StartedWorker:
    """Start a kernel of the server's Python that runs code, for you alone, until stop_worker.

    It ends with the server, and where the code raises; else it stays, and calls reach it by
    `kernel`. What it prints is the `log` of list_workers. bad_arguments: does not compile, nothing
    was started; worker_failed: ended within 200 ms, with its output.
    """
    _check_name(name)
    worker = await call.background.workers.start(code, name)
    call.next_steps += [
        next_step("list_workers"),
        next_step("kernel_status", kernel=worker.kernel.id),
    ]
    return {"worker": worker.id, "kernel": worker.kernel.id, "pid": worker.kernel.pid or 0}


@TABLE.op(access="eval", toolset=manifest.MANAGE, lane="inline", check=_check_worker)
async def stop_worker(call: BridgeCall, worker: Annotated[str, "From list_workers"]) -> WorkerLine:
    """End a worker of yours, and what it started; answers how it ended and the end of its log."""
    return await call.background.workers.stop(worker)


@TABLE.op(access="read", toolset=manifest.MANAGE, lane="inline")
async def list_workers(call: BridgeCall) -> Items[WorkerLine]:
    """List your workers, also those that ended by themselves, with the end of what they printed."""
    items = list(call.background.workers.list())
    return {"items": items, "total": len(items)}


OF_WORKERS = frozenset(op.name for op in TABLE.ops() if op.fn.__module__ == __name__)
"""The ops of this module, which a server of many clients does not have."""
