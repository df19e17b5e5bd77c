"""Attaching: the one silent execute that installs our handlers in a kernel, and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repl_pair.bridge.line import Line
from repl_pair.bridge.link import KernelInfo
from repl_pair.errors import KernelError
from repl_pair.version import VERSION
from repl_pair.wire import MIME, PROTOCOL

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
_EXPRESSIONS = {
    "python": _ANSWER % (MIME, '__import__("sys").executable'),
    "attached": _ANSWER
    % (MIME, '__import__("repl_pair.runtime.kernel_host", fromlist=["attach"]).attach()'),
}
_REQUEST: Mapping[str, Any] = {
    "code": _HOLD_HOOKS,
    "silent": True,
    "store_history": False,
    "user_expressions": _EXPRESSIONS,
    # The kernel keeps one such flag for all channels: False would make the `input()` of a running
    # cell fail.
    "allow_stdin": True,
    "stop_on_error": False,
}


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """What a kernel says of itself when it answers.

    `ident` is its iopub topic, `channel` the Jupyter channel that requests go on (`control`, or
    `shell` behind the person's cells), `control_tid` the native id of the thread that answers.
    """

    boot: str
    version: str
    pid: int
    ident: str
    channel: str = "control"
    control_tid: int | None = None


async def attach(line: Line, kernel: KernelInfo) -> Attachment:
    """Install the handlers, or find them installed; works while a cell runs, and has no bound.

    Leaves no name in the person's namespace. `package_missing`, `unsupported_kernel` and
    `version_mismatch` say why it cannot be.
    """
    reply = await line.ask("execute_request", _REQUEST, answer="execute_reply")
    answers = reply.get("user_expressions")
    if reply.get("status") != "ok" or not answers or "attached" not in answers:
        raise _unsupported(kernel, reply.get("evalue") or "it evaluates no expressions silently")
    if answers["attached"].get("status") != "ok":
        raise _refused(kernel, answers["attached"], _value(answers.get("python", {})))
    return _checked(kernel, _value(answers["attached"]))


def _value(answer: Mapping[str, Any]) -> Any:
    return answer.get("data", {}).get(MIME)


def _checked(kernel: KernelInfo, said: Mapping[str, Any] | None) -> Attachment:
    if said is None:
        raise _unsupported(kernel, "it answers no rich representations")
    if said.get("protocol") != PROTOCOL:
        raise KernelError(
            "version_mismatch",
            f"Kernel {kernel.id} runs repl_pair {said.get('version')} (protocol "
            f"{said.get('protocol')}), this side {VERSION} (protocol {PROTOCOL}).",
            next_steps=(
                "Ask the person to install one version on both sides and to restart the kernel.",
            ),
        )
    return Attachment(
        boot=said["boot"],
        version=said["version"],
        pid=said["pid"],
        ident=said["ident"],
        control_tid=said.get("control_tid"),
    )


def _refused(kernel: KernelInfo, error: Mapping[str, Any], python: str | None) -> KernelError:
    what = f"{error.get('ename')}: {error.get('evalue')}"
    if error.get("ename") not in ("ImportError", "ModuleNotFoundError"):
        return _unsupported(kernel, what)
    python = python or "the kernel's Python"
    return KernelError(
        "package_missing",
        f"The Python of kernel {kernel.id}, {python}, cannot import repl_pair ({what}).",
        detail={"python": python},
        next_steps=(
            f"Ask the person to run `{python} -m pip install repl-pair`, then call again.",
        ),
    )


def _unsupported(kernel: KernelInfo, why: str) -> KernelError:
    return KernelError(
        "unsupported_kernel",
        f"Kernel {kernel.id} ({kernel.name}) cannot run repl_pair: {why}. It takes an ipykernel.",
        next_steps=("list_kernels() for others",),
    )
