"""The one error family: a refusal has a stable code, what was wrong and what to do."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any, TypedDict

CODES: dict[str, str] = {
    "ambiguous_kernel": "several kernels are alive and none was chosen",
    "approval_denied": "the person was asked and refused",
    "approval_expired": "the approval is no longer valid: too late, used or withdrawn",
    "approval_pending": "the person was asked and has not answered yet; nothing was run",
    "approval_required": "the person approves each such call, and was not asked yet",
    "approval_unavailable": "the call needs the person's approval and cannot be asked for",
    "bad_arguments": "an argument is missing, unknown or of the wrong type",
    "bad_body": "a registration's body is not valid",
    "bad_database": "the project's database is damaged or of a newer version; it is not written",
    "bad_id": "an id does not follow its kind's grammar",
    "cannot_run": "the call was valid but could not be attempted; none of the person's code ran",
    "cancelled": "the caller cancelled the call",
    "deadline": "the call did not end in its time",
    "detached": "the person took repl_pair out of the kernel",
    "forbidden": "it belongs to another principal, and changing it needs an access that is closed",
    "internal": "a defect of repl_pair",
    "kernel_gone": "the kernel died or was shut down",
    "kernel_restarted": "the kernel is a new process since the last call",
    "kernel_unresponsive": "the kernel is alive but does not answer",
    "no_kernel": "no live kernel was found",
    "not_found": "there is no such op, entry, path or handle for this caller",
    "outcome_unknown": "the kernel was lost after the call was sent; it may have run",
    "package_missing": "the kernel's Python cannot import repl_pair",
    "paused": "the person paused agents in the kernel",
    "stale_cursor": "the list changed since the cursor was made",
    "unreadable": "the person's object could not be read safely",
    "unsupported_kernel": "the kernel has no way to run repl_pair",
    "variant_failed": "run(..., check=True) ended in anything but pass",
    "version_mismatch": "kernel and server run incompatible versions of repl_pair",
    "worker_failed": "the worker was started and ended at once, as where its code raised",
}


STEP_S = 45
"""The longest wait of a suggested call: with the usual time of a run it ends within 55 seconds.

Hosts of agents end a call after 60.
"""
STEP_CHARS = 600
"""How long what a suggested call repeats may be, as JSON."""


MAX_STEPS = 3


class NextStep(TypedDict):
    """A next call that works as written."""

    op: str
    args: dict[str, Any]


def next_step(op: str, /, **args: Any) -> NextStep:
    """Return a call as a next step; an arg of None is left out."""
    return {"op": op, "args": {name: value for name, value in args.items() if value is not None}}


def first_steps(steps: Iterable[NextStep]) -> list[NextStep]:
    """Return the first three next steps that are not the same; the rest is dropped."""
    found = list[NextStep]()
    for step in steps:
        if step not in found:
            found.append(step)
        if len(found) == MAX_STEPS:
            break
    return found


class Ending(BaseException):
    """Raised by another thread in what it ends; what runs there has not raised it."""


class ReplPairError(Exception):
    """A refusal with a stable `code` (a key of CODES), and `detail` data.

    `next_steps` are calls that work as written, as of `first_steps`; `hints` are words to people.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        detail: Mapping[str, Any] | None = None,
        next_steps: Iterable[NextStep] = (),
        hints: Iterable[str] = (),
    ) -> None:
        assert code in CODES, code
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = dict(detail or {})
        self.next_steps = tuple(first_steps(next_steps))
        self.hints = tuple(hints)

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies, also in other processes, without `__init__`, which takes more than args."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class AuthoringError(ReplPairError):
    """What the person registers is not valid (`bad_id`, `bad_body`, `not_found`)."""


class RequestError(ReplPairError):
    """What the caller asks for cannot be answered (`bad_arguments`, `not_found`, ...)."""


class KernelError(ReplPairError):
    """The kernel cannot be reached, or is not the one that was meant (`kernel_gone`, ...)."""


class VariantFailed(ReplPairError, AssertionError):
    """`run(..., check=True)` ended in anything but pass; `record` holds the run, or the sweep."""

    def __init__(self, message: str, record: Any) -> None:
        super().__init__("variant_failed", message)
        self.record = record

    def _render_traceback_(self) -> list[str]:
        """Get what a notebook shows in place of a traceback, which would explain nothing."""
        return [f"VariantFailed: {self.message}"]


def check_not_empty(name: str, chosen: Sized | None) -> None:
    """Refuse an empty choice, of which nobody knows whether all or none was meant."""
    if chosen is not None and not len(chosen):
        raise RequestError("bad_arguments", f"{name} is empty: name one, or leave {name} out.")


def nearest(word: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return the known words closest to `word`, best first; empty when nothing is near."""
    from difflib import get_close_matches  # only refusals need it; a kernel imports this module

    return get_close_matches(word, list(known), n=limit, cutoff=0.5)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the sentence that follows a not-found message, with a leading space, or nothing."""
    near = nearest(word, known)
    return f" Nearest: {', '.join(near)}." if near else ""


def count_of(number: int, noun: str, several: str = "") -> str:
    """Return a number with its noun, `several` for any but one; by default that ends in an s."""
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def defect(op: str, error: BaseException) -> RequestError:
    """Return the refusal for an exception of an op that is no ReplPairError."""
    if isinstance(error, ImportError) and "repl_pair" in text_of(error):
        return RequestError(
            "version_mismatch",
            f"{op}: the files of repl_pair were replaced while this kernel ran ({text_of(error)}).",
            hints=["Ask the person to restart the kernel, then call again."],
        )
    if isinstance(error, RuntimeError) and text_of(error) == "can't start new thread":
        return RequestError("cannot_run", f"{op}: {text_of(error)}. End threads of this process.")
    return RequestError(
        "internal",
        f"{op} failed: {error_text(error)}",
        detail={"thread": threading.current_thread().name},
    )


def _pydantic_text(error: Any) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in found]
    return f"{error.title}: {'; '.join(lines)}"


_WITHOUT_INPUT: Mapping[str, Callable[[Any], str]] = {
    "pydantic_core.ValidationError": _pydantic_text,
    "jsonschema.ValidationError": lambda error: (
        f"{error.json_path} is not as {error.validator!r} of the schema demands"
    ),
}


def error_text(error: BaseException) -> str:
    """Return an exception's class and text, the class alone where there is no text."""
    return ": ".join(filter(None, (type(error).__name__, message_of(error))))


def message_of(error: BaseException) -> str:
    """Return an exception's text, which is code of whoever wrote the exception.

    A library that quotes heads and tails of its input has its text made anew from place and kind.
    """
    kind = type(error)
    write = _WITHOUT_INPUT.get(f"{kind.__module__.partition('.')[0]}.{kind.__name__}", str)
    return text_of(error, write)


def text_of(error: BaseException, write: Callable[[Any], str] = str) -> str:
    """Return an exception's text as its author wrote it, with whatever input it quotes."""
    try:
        return str.__str__(write(error))  # of a subclass, its code would run later
    except (KeyboardInterrupt, Ending):
        raise
    except BaseException:  # noqa: BLE001  a broken text must not hide what was raised
        return "<unreadable>"
