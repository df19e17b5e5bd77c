"""The errors of a kernel that does not answer: one for each reason."""

from collections.abc import Mapping

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.silence.states import Silence, State
from repl_pair.errors import KernelError, next_step

REMOVED = "its connection file was removed"

RESTARTED = (
    "The kernel was restarted since the last call: variables, registrations and results of its "
    "earlier process are gone."
)
_GIVEN_UP = (
    " {op} got no answer in its time and was cancelled: where it had not begun, it will not. "
    "Nothing that the person runs was interrupted."
)
_ASK = "Ask the person what the kernel is doing; read its status again in a while."
_HINTS: Mapping[State, str] = {
    "stopped": "Ask the person to continue it: `fg` in its terminal, or `kill -CONT {pid}`.",
    "control_blocked": "Ask the person which other client uses the kernel.",
    "no_replies": "Ask the person to undo what stops its replies, as a stdout without `flush`.",
    "out_of_files": "Ask the person to close files or connections there, or to raise `ulimit -n`.",
}


def gone(kernel: KernelInfo, why: str = "its heartbeat does not answer") -> KernelError:
    """Build the refusal of a dead kernel; no other is taken in its place."""
    return KernelError(
        "kernel_gone",
        f"Kernel {kernel.label} is dead: {why}. No other kernel was used instead.",
        next_steps=[next_step("list_kernels")],
        hints=["Pass `kernel` to go on with another kernel."],
    )


def restarted() -> KernelError:
    """Build the refusal of the first call after a restart that is not a read."""
    return KernelError(
        "kernel_restarted",
        f"{RESTARTED} Nothing was run.",
        next_steps=[next_step("list_stories")],
        hints=[
            "Call again if it is still meant. Calls are refused, those of triggers too, until an "
            "answer like this one has reported the restart."
        ],
    )


def left() -> KernelError:
    """Build the error of a call whose kernel was left."""
    return KernelError("cancelled", "The kernel was left while the call waited for it.")


def outcome_unknown(kernel: KernelInfo, op: str, how: str) -> KernelError:
    """Build the error of a call that was running when its kernel ended, or was left."""
    return KernelError(
        "outcome_unknown",
        f"Kernel {kernel.label} {how} while {op} was under way. It may have run, wholly or in "
        "part; it was not repeated.",
        next_steps=[next_step("kernel_status")],
        hints=["Look at what the call should have changed before calling again."],
    )


def silent(kernel: KernelInfo, silence: Silence, op: str | None = None) -> KernelError:
    """Build the error of a kernel that does not answer, for a call of `op` if given.

    The code is `kernel_gone` or `kernel_unresponsive`.
    """
    if silence.state == "gone":
        return gone(kernel, silence.why)
    since = {} if silence.since_s is None else {"since_s": silence.since_s}
    tried = _GIVEN_UP.format(op=op) if op else ""
    return KernelError(
        "kernel_unresponsive",
        f"Kernel {kernel.label} is alive, but {silence.why}.{tried}",
        detail={"state": silence.state, **since},
        next_steps=[next_step("kernel_status")],
        hints=[_HINTS.get(silence.state, _ASK).format(pid=kernel.pid)],
    )


def unsupported(kernel: KernelInfo, why: str) -> KernelError:
    """Build the refusal of a kernel that repl_pair cannot run in."""
    return KernelError(
        "unsupported_kernel",
        f"Kernel {kernel.label} cannot run repl_pair: {why}. It takes a Python kernel that "
        "evaluates expressions silently, such as ipykernel or xeus-python.",
        next_steps=[next_step("list_kernels")],
        hints=["Ask the person to open the notebook with an ipykernel or xeus-python kernel."],
    )


def import_failed(kernel: KernelInfo, why: str) -> KernelError:
    """Build the refusal of a kernel that has the package, and could not import it."""
    return KernelError(
        "cannot_run",
        f"repl_pair is installed where kernel {kernel.label} runs, but its import failed there: "
        f"{why}. Nothing was run.",
        next_steps=[next_step("list_kernels")],
        hints=["Ask the person to undo what caused that or restart the kernel, then call again."],
    )
