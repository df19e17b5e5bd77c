"""What is said when a kernel does not answer: each way of being lost is its own error."""

from repl_pair.bridge.link import KernelInfo
from repl_pair.errors import KernelError

RESTARTED = (
    "The kernel was restarted since the last call: variables, registrations and results of its "
    "earlier life are gone."
)
_OTHERS = (
    "list_kernels() for the living ones",
    'use_kernel(kernel="…") to go on with another',
)


def gone(kernel: KernelInfo, why: str = "its heartbeat does not answer") -> KernelError:
    """Build the refusal of a dead kernel; no other is taken in its place."""
    return KernelError(
        "kernel_gone",
        f"Kernel {_named(kernel)} is dead: {why}. No other kernel was used instead.",
        next_steps=_OTHERS,
    )


def restarted() -> KernelError:
    """Build the one refusal that a call which is not a read meets after a restart."""
    return KernelError(
        "kernel_restarted",
        f"{RESTARTED} Nothing was run.",
        next_steps=(
            "list_stories() to see what is registered now",
            "the same call again, if it is still meant; it is refused only once",
        ),
    )


def outcome_unknown(kernel: KernelInfo, op: str) -> KernelError:
    """Build the answer to a call that was under way when its kernel ended."""
    return KernelError(
        "outcome_unknown",
        f"Kernel {_named(kernel)} ended while {op} was under way. It may have run, wholly or in "
        "part; it was not repeated.",
        next_steps=(
            "kernel_status() to see whether the kernel came back",
            "look at what the call should have changed before calling again",
        ),
    )


def unresponsive(kernel: KernelInfo, op: str, silent_s: float | None) -> KernelError:
    """Build the answer of a kernel whose heart beats but that says nothing.

    `silent_s` is None where not even attaching succeeded.
    """
    since = "nothing yet" if silent_s is None else f"nothing for {silent_s:.1f} s"
    return KernelError(
        "kernel_unresponsive",
        f"Kernel {_named(kernel)} is alive but {op} got no answer in its time; from the kernel "
        f"came {since}. C code may hold the interpreter lock, or the connection file is another's. "
        "The call was cancelled; nothing of the person's was interrupted.",
        detail={} if silent_s is None else {"silent_s": round(silent_s, 1)},
        next_steps=("kernel_status() in a while", "ask the person what the kernel is doing"),
    )


def stopped(kernel: KernelInfo) -> KernelError:
    """Build the answer of a kernel whose process exists but does not run."""
    return KernelError(
        "kernel_unresponsive",
        f"Kernel {_named(kernel)} exists but not even its heartbeat answers: its process is "
        "stopped (a signal, a debugger) or starved. The call was cancelled.",
        next_steps=("kernel_status() in a while", "ask the person to continue the process"),
    )


def _named(kernel: KernelInfo) -> str:
    return f"{kernel.id} ({kernel.notebook or kernel.name})"
