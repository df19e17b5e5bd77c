"""Attaching to a kernel: by a message where the handlers are in, else by a silent execute."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.attach_code import ANSWER, HOLD_HOOKS, HOLD_PROMPTS, PYTHON, TAKE_IN
from repl_pair.bridge.link.client import Client, is_in
from repl_pair.bridge.link.clock import KernelClock
from repl_pair.bridge.link.control_path import ControlPath
from repl_pair.bridge.link.inject import expression
from repl_pair.bridge.link.line import Channel, Line
from repl_pair.bridge.link.shell_path import ShellPath
from repl_pair.bridge.link.silent_execute import SILENT, HostAnswer, free_channel
from repl_pair.bridge.silence.refusals import import_failed, unsupported
from repl_pair.errors import KernelError, next_step
from repl_pair.version import VERSION
from repl_pair.wire import ATTACH, MIME, PROTOCOL, REPLY, Reply

TRIES = 5
"""How often an execute is sent on shell whose answer may go to a failed cell of the person's."""
FIRST_ANSWER_S = 2.5
"""How long a program that may not be a kernel has to answer the first message."""


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """What a kernel answers when a client attaches.

    `ident` is its iopub topic, `channel` the Jupyter channel that requests go on (`control`, or
    `shell` behind the person's cells, for the reason `why`), `control_tid` the native id of the
    thread that answers, `carrier` what sends requests there.
    """

    boot: str
    pid: int
    ident: str
    carrier: ControlPath | ShellPath
    kernel_clock: KernelClock
    channel: str = "control"
    why: str | None = None
    control_tid: int | None = None


async def attach(line: Line, kernel: KernelInfo, client: Client) -> Attachment:
    """Attach a client, installing the handlers where they are missing; works while a cell runs.

    A kernel that takes no handlers is reached on shell; where it executes nothing on control, this
    waits for its cell too. Has no timeout. Leaves no name in the person's namespace. KernelError
    `cannot_run`, `detached`, `package_missing`, `unsupported_kernel` or `version_mismatch`.
    Whatever it raises, the caller must let the client leave.
    """
    channel: Channel = "control"
    reply = await _attach_to_handlers(line, kernel, client)
    if reply is None:
        if client.refusal and client.refusal[0] is line:
            # One raised again and again would keep the frames of each time.
            raise client.refusal[1].with_traceback(None)
        channel = await free_channel(line, kernel)
        try:
            reply = await _install(line, kernel, client, channel)
        except KernelError as error:
            if not client.inject or error.code != "package_missing":
                raise
            await _ship_source(line, kernel, channel)
            reply = await _install(line, kernel, client, channel)
    if not reply["ok"]:
        refusal = KernelError(
            **reply["error"],
            next_steps=reply.get("next_steps", ()),
            hints=reply.get("hints", ()),
        )
        client.line, client.refusal = None, (line, refusal)
        raise refusal
    result: Mapping[str, Any] = reply["result"]
    if result.get("protocol") != PROTOCOL:
        raise KernelError(
            "version_mismatch",
            f"Kernel {kernel.id} runs repl_pair {result.get('version')} (protocol "
            f"{result.get('protocol')}), this side {VERSION} (protocol {PROTOCOL}).",
            hints=(
                "Ask the person to restart the kernel, and to install one version on both sides.",
            ),
        )
    clock = KernelClock(result["clock"])
    if result.get("channel") == "shell":
        client.shell_path = ShellPath(line, clock, has_control=channel == "control")
    carrier = client.shell_path or ControlPath(line, result["ident"])
    client.refusal = None
    given = {f.name: result[f.name] for f in fields(Attachment) if f.name in result}
    return Attachment(**given, carrier=carrier, kernel_clock=clock)


async def _attach_to_handlers(line: Line, kernel: KernelInfo, client: Client) -> Reply | None:
    """Attach where the handlers are in; None where they are not, or are removed meanwhile.

    A kernel without a known process has limited time for its first answer.
    """
    try:
        async with asyncio.timeout(FIRST_ANSWER_S if kernel.pid is None else None):
            if not await is_in(line):
                return None
    except TimeoutError:
        raise unsupported(
            kernel,
            "its heartbeat answers, but nothing came on its control channel within "
            f"{FIRST_ANSWER_S:g} s, and no process was started with its connection file, which "
            "may be another program's",
        ) from None
    client.line = line
    attaching = asyncio.ensure_future(line.ask(ATTACH, client.info, answer=REPLY))
    try:
        await asyncio.sleep(0)
        # A kernel answers in order: with this answer, the first one is there, or never comes.
        await is_in(line)
        return attaching.result() if attaching.done() else None
    finally:
        attaching.cancel()


async def _install(line: Line, kernel: KernelInfo, client: Client, channel: Channel) -> Reply:
    """Attach by the execute that imports the runtime and installs the handlers.

    It fires the person's `pre_execute` hooks once, on shell the `post_execute` ones instead.
    """
    expressions = {"python": PYTHON, "attached": ANSWER % (MIME, TAKE_IN % (client.info,))}
    client.line = line
    reply = await _evaluate(line, channel, expressions)
    client.line = None
    answers = reply.get("user_expressions")
    if reply.get("status") != "ok" or not answers or "attached" not in answers:
        why = f" ({reply['evalue']})" if reply.get("evalue") else ""
        raise unsupported(kernel, f"it evaluates no expressions silently{why}")
    if answers["attached"].get("status") != "ok":
        python = answers.get("python", {}).get("data", {}).get(MIME)
        raise _import_error(kernel, answers["attached"], python)
    attached = answers["attached"].get("data", {}).get(MIME)
    if attached is None:
        raise unsupported(kernel, "it answers no rich representations")
    client.line = line
    return attached


async def _ship_source(line: Line, kernel: KernelInfo, channel: Channel) -> None:
    reply = await _evaluate(line, channel, {"loaded": expression()})
    loaded = reply.get("user_expressions", {}).get("loaded", {})
    if loaded.get("status") != "ok":
        why = loaded.get("evalue") or reply.get("evalue") or "it evaluates no expressions silently"
        raise KernelError(
            "unsupported_kernel",
            f"Kernel {kernel.label} cannot run repl_pair: its source was shipped there, but {why}.",
            next_steps=[next_step("list_kernels")],
        )


async def _evaluate(line: Line, channel: Channel, expressions: Mapping[str, str]) -> HostAnswer:
    """Evaluate expressions; on shell again where a cell that failed has emptied the queue."""
    # On shell no cell runs whose figures the hooks could show. And the less code xeus has to read,
    # the better: it dies if its own garbage is collected while it makes tokens.
    code = HOLD_HOOKS + HOLD_PROMPTS if channel == "control" else ""
    # The kernel keeps one `allow_stdin` for all channels: False would make the `input()` of a
    # running cell fail.
    request = {**SILENT, "code": code, "allow_stdin": True, "user_expressions": expressions}
    reply: dict[str, Any] = {}
    for _ in range(TRIES if channel == "shell" else 1):
        reply = await line.ask("execute_request", request, answer="execute_reply", channel=channel)
        if reply.get("status") == "ok":
            break
    return reply


def _import_error(kernel: KernelInfo, error: Mapping[str, Any], python: str | None) -> KernelError:
    what = f"{error.get('ename')}: {error.get('evalue')}"
    if error.get("ename") == KernelError.__name__:  # it is imported, and could not take a client in
        return KernelError("kernel_unresponsive", str(error.get("evalue")))
    if error.get("ename") not in ("ImportError", "ModuleNotFoundError"):
        return import_failed(kernel, what)
    python = python or "the kernel's Python"
    is_other = what.endswith("'repl_pair.runtime'")  # a folder of that name, in the kernel's path
    if "'repl_pair." in what and "is not a package" not in what and not is_other:
        return KernelError(
            "version_mismatch",
            f"The files of repl_pair in {python} are not those that kernel {kernel.id} has loaded "
            f"({what}): they were replaced while it ran.",
            hints=("Ask the person to restart the kernel, then call again.",),
        )
    if error.get("ename") != "ModuleNotFoundError" or "repl_pair" not in what:
        return import_failed(kernel, what)
    return KernelError(
        "package_missing",
        f"The Python of kernel {kernel.id}, {python}, cannot import repl_pair ({what}).",
        detail={"python": python},
        hints=(
            f"Ask the person to run `{python} -m pip install .` in the checkout of repl_pair, then "
            "call again.",
            "Or ask them to start this side with --inject, which ships the runtime's source there.",
        ),
    )
