"""Silent executes of one expression: the channel that takes them, and how the answer is read."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.line import Channel, Line, now
from repl_pair.bridge.silence.refusals import unsupported
from repl_pair.bridge.silence.states import find_process, is_ipykernel
from repl_pair.errors import KernelError
from repl_pair.wire import MIME

HostAnswer: TypeAlias = dict[str, Any]

IMPORT = (
    "(__builtins__ if __builtins__.__class__ is {}.__class__ else __builtins__.__dict__)"
    '["__import__"]'
)
"""The expression for `__import__`, also where the person has shadowed names of builtins."""
SILENT: Mapping[str, Any] = {
    "code": "",
    "silent": True,
    "store_history": False,
    "stop_on_error": False,
}


async def free_channel(line: Line, kernel: KernelInfo) -> Channel:
    """Return the channel on which a kernel executes an expression now; `unsupported_kernel`.

    An ipykernel does so on control while a cell runs. Others may drop that, or worse, so this waits
    for them on shell.
    """
    if is_ipykernel(find_process(kernel.pid)):
        return "control"
    info = await line.ask("kernel_info_request", {}, answer="kernel_info_reply")
    about: Mapping[str, Any] = info.get("language_info") or {}
    language = about.get("name")
    if language != "python":
        raise unsupported(kernel, f"it runs {language or 'an unnamed language'}, not Python")
    if info.get("implementation") == "ipython":
        return "control"
    line.in_turn_since = now()
    try:
        await line.features("shell")
    finally:
        line.in_turn_since = None
    return "shell"


class Interrupted(Exception):
    """An interrupt came during an expression of this package; what it asked for may be done."""


def execute(expression: str, channel: Channel) -> dict[str, Any]:
    """Return the content of an execute that evaluates one expression and runs nothing else."""
    # No front end could answer what a component asks, so the host puts the person's own flag back.
    # On control that flag is the running cell's: the kernel keeps one for all channels.
    allow_stdin = channel == "control"
    return {**SILENT, "allow_stdin": allow_stdin, "user_expressions": {"answer": expression}}


async def evaluate(line: Line, expression: str, channel: Channel) -> HostAnswer | None:
    """Return the value of an expression; None where it was not evaluated, so nothing was done.

    After a failed cell a kernel answers what waits behind it as `aborted`, or, xeus, as the error.
    Interrupted where the person's stop met it; KernelError `internal` where it raised.
    """
    content = execute(expression, channel)
    reply = await line.ask("execute_request", content, answer="execute_reply", channel=channel)
    answers: Mapping[str, Any] = reply.get("user_expressions") or {}
    answer = answers.get("answer")
    if reply.get("status") != "ok" or not answer:
        return None
    if answer.get("status") == "ok":
        return json.loads(answer["data"][MIME])
    name, text = answer.get("ename"), answer.get("evalue")
    if "KeyboardInterrupt" in str(name):
        raise Interrupted
    raise KernelError("internal", f"The kernel's end failed: {name}: {text}")
