"""Attaching: a kernel that has our handlers is greeted, another gets them by a silent execute."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.carrier import Carrier, ControlPath
from repl_pair.bridge.link.client import Visit, is_in
from repl_pair.bridge.link.clock import KernelClock
from repl_pair.bridge.link.inject import inject
from repl_pair.bridge.link.line import Channel, Line
from repl_pair.bridge.link.shell_path import ShellPath
from repl_pair.bridge.link.silent_execute import free_channel
from repl_pair.bridge.silence.lost import unsupported
from repl_pair.errors import KernelError
from repl_pair.version import VERSION
from repl_pair.wire import ATTACH, MIME, PROTOCOL, REPLY, Reply

# A silent execute on the control thread fires the person's `post_execute` hooks there, in the
# middle of their cell: matplotlib's would show and close the figure being drawn. This skips them
# once, for this thread alone. Names that the person may have shadowed are not used.
_HOLD_HOOKS = """\
(lambda events, ident, here: "trigger" in events.__dict__ or events.__dict__.update(
    trigger=lambda event, *args, **kwargs: (
        events.__dict__.pop("trigger", None) and None
        if ident() == here and event == "post_execute"
        else events.__class__.trigger(events, event, *args, **kwargs)
    )
))(get_ipython().events, __import__("threading").get_ident, __import__("threading").get_ident())
"""
_ANSWER = """\
(lambda answer: __import__("builtins").type(
    "Answer", (), {"_repr_mimebundle_": lambda self, **kwargs: {%r: answer}}
)())(%s)"""
_PYTHON = _ANSWER % (MIME, '__import__("sys").executable')
# Every file that an import touches lets the interpreter go, and a cell that loops gives it back
# after the switch interval only: seconds, for all of the runtime's files.
_ARRIVE = """\
import sys
def arrive(client):
    theirs = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    ours = sys.getswitchinterval()
    try:
        from repl_pair.runtime.kernel.attach import admit
        return admit(client)
    finally:
        if sys.getswitchinterval() == ours:
            sys.setswitchinterval(theirs)
"""
_TAKE_IN = f"""\
(lambda names: __import__("builtins").exec({_ARRIVE!r}, names) or names["arrive"](%r))({{}})"""
_REQUEST: Mapping[str, Any] = {
    "code": _HOLD_HOOKS,
    "silent": True,
    "store_history": False,
    # The kernel keeps one such flag for all channels: False would make the `input()` of a running
    # cell fail.
    "allow_stdin": True,
    "stop_on_error": False,
}

TRIES = 5
"""How often a kernel is asked that answers on shell what it should answer to the person's cells."""
MUTE_S = 2.5
"""How long what may be no kernel at all gets to say its first word."""


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """What a kernel says of itself when it answers.

    `ident` is its iopub topic, `channel` the Jupyter channel that requests go on (`control`, or
    `shell` behind the person's cells, then `why` says what for), `control_tid` the native id of the
    thread that answers, `carrier` what carries requests there.
    """

    boot: str
    version: str
    pid: int
    ident: str
    carrier: Carrier
    channel: str = "control"
    why: str | None = None
    control_tid: int | None = None
    clock: KernelClock | None = None


async def attach(line: Line, kernel: KernelInfo, visit: Visit) -> Attachment:
    """Begin a visit, bringing the handlers where they are not; works while a cell runs.

    A kernel that takes no handlers is spoken with on shell; where it executes nothing on control,
    this waits for its cell too. Has no bound. Leaves no name in the person's namespace. `detached`,
    `package_missing`, `unsupported_kernel` and `version_mismatch` say why it cannot be. Whatever it
    raises, the visit is to be ended.
    """
    channel: Channel = "control"
    reply = await _greet(line, kernel, visit)
    if reply is None:
        visit.check_refusal(line)
        channel = await free_channel(line, kernel)
        install = partial(_install, line, kernel, visit, channel)
        evaluate = partial(_evaluate, line, channel)
        reply = await (inject(kernel, install, evaluate) if visit.inject else install())
    if not reply["ok"]:
        refusal = KernelError(**reply["error"], next_steps=reply.get("next_steps", ()))
        visit.take_refusal(line, refusal)
        raise refusal
    said = _checked(kernel, reply["result"])
    clock = KernelClock.of(said["clock"])
    if said.get("channel") == "shell":
        visit.path = ShellPath(line, clock, beside=channel == "control")
    return Attachment(
        boot=said["boot"],
        version=said["version"],
        pid=said["pid"],
        ident=said["ident"],
        carrier=visit.path or ControlPath(line, said["ident"]),
        channel=said.get("channel", "control"),
        why=said.get("why"),
        control_tid=said.get("control_tid"),
        clock=clock,
    )


async def _hear(line: Line, kernel: KernelInfo) -> bool:
    """Ask whether our handlers are in; what no process was started for gets a bound to answer."""
    try:
        async with asyncio.timeout(MUTE_S if kernel.pid is None else None):
            return await is_in(line)
    except TimeoutError:
        raise unsupported(
            kernel,
            f"its heartbeat answers, but nothing came on its control channel within {MUTE_S:g} s, "
            "and no process was started with its connection file, which may be another program's",
        ) from None


async def _greet(line: Line, kernel: KernelInfo, visit: Visit) -> Reply | None:
    """Attach where our handlers are in; None where they are not, or are taken out meanwhile."""
    if not await _hear(line, kernel):
        return None
    visit.line = line
    greeted = asyncio.ensure_future(line.ask(ATTACH, visit.client, answer=REPLY))
    try:
        await asyncio.sleep(0)
        # Asked after it, and a kernel answers in order: the greeting is there by then, or never.
        await is_in(line)
        return greeted.result() if greeted.done() else None
    finally:
        greeted.cancel()


async def _install(line: Line, kernel: KernelInfo, visit: Visit, channel: Channel) -> Reply:
    """Attach by the execute that imports the runtime and puts the handlers in.

    It fires the person's `pre_execute` hooks once, on shell the `post_execute` ones instead.
    """
    expressions = {"python": _PYTHON, "attached": _ANSWER % (MIME, _TAKE_IN % (visit.client,))}
    visit.line = line
    reply = await _evaluate(line, channel, expressions)
    visit.line = None
    answers = reply.get("user_expressions")
    if reply.get("status") != "ok" or not answers or "attached" not in answers:
        said = f" ({reply['evalue']})" if reply.get("evalue") else ""
        raise unsupported(kernel, f"it evaluates no expressions silently{said}")
    if answers["attached"].get("status") != "ok":
        raise _refused(kernel, answers["attached"], _value(answers.get("python", {})))
    said = _value(answers["attached"])
    if said is None:
        raise unsupported(kernel, "it answers no rich representations")
    visit.line = line
    return said


async def _evaluate(
    line: Line, channel: Channel, expressions: Mapping[str, str]
) -> Mapping[str, Any]:
    """Evaluate expressions; on shell again where a cell that failed has emptied the queue."""
    # On shell no cell runs whose figures the hooks could show. And the less code xeus has to read,
    # the better: it dies if its own garbage is collected while it makes tokens.
    code = _REQUEST["code"] if channel == "control" else ""
    request = {**_REQUEST, "code": code, "user_expressions": expressions}
    reply: dict[str, Any] = {}
    for _ in range(TRIES if channel == "shell" else 1):
        reply = await line.ask("execute_request", request, answer="execute_reply", channel=channel)
        if reply.get("status") == "ok":
            break
    return reply


def _value(answer: Mapping[str, Any]) -> Any:
    return answer.get("data", {}).get(MIME)


def _checked(kernel: KernelInfo, said: Mapping[str, Any]) -> Mapping[str, Any]:
    if said.get("protocol") != PROTOCOL:
        raise KernelError(
            "version_mismatch",
            f"Kernel {kernel.id} runs repl_pair {said.get('version')} (protocol "
            f"{said.get('protocol')}), this side {VERSION} (protocol {PROTOCOL}).",
            next_steps=(
                "Ask the person to install one version on both sides and to restart the kernel.",
            ),
        )
    return said


def _refused(kernel: KernelInfo, error: Mapping[str, Any], python: str | None) -> KernelError:
    what = f"{error.get('ename')}: {error.get('evalue')}"
    if error.get("ename") not in ("ImportError", "ModuleNotFoundError"):
        return unsupported(kernel, what)
    python = python or "the kernel's Python"
    return KernelError(
        "package_missing",
        f"The Python of kernel {kernel.id}, {python}, cannot import repl_pair ({what}).",
        detail={"python": python},
        next_steps=(
            f"Ask the person to run `{python} -m pip install repl-pair`, then call again.",
            "Or ask them to start this side with --inject, which ships the runtime's source there.",
        ),
    )
