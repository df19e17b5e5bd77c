"""What no run does to the person: end their kernel, ask them, put pages and cells before them."""

import builtins
import getpass
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import Captured, current_capture
from repl_pair.runtime.capture.wrapping import for_run, replacement_of, wrap

NO_STDIN = (
    "A run or an eval has no stdin, so it can't ask the person. Pass the answer as an argument, or "
    "stub the function that asks."
)


def hook_exit() -> Undo:
    """Hook `os._exit`, which ends the process and runs no handler."""
    return wrap(os, "_exit", _exit)


def hook_calls(shell: Any | None) -> Iterator[Undo]:
    """Hook what ends, asks and shows through a shell and its kernel."""
    if shell is None:
        return
    if hasattr(shell, "ask_exit"):  # xeus-python's has none
        yield wrap(shell, "ask_exit", for_run(_refuse_exit))
    if (payloads := getattr(shell, "payload_manager", None)) is not None:
        yield wrap(payloads, "write_payload", for_run(_show_payload))
    if hasattr(kernel := getattr(shell, "kernel", None), "_input_request"):
        yield wrap(kernel, "_input_request", for_run(_refuse_to_ask))


def hook_prompts(shell: Any | None) -> Undo:
    """Hook `input` and `getpass.getpass`, which ipykernel replaces during each cell.

    It keeps what they were in the meantime, so the undo looks there too.
    """
    for owner, name, _ in _PROMPTS:
        own = hook = None
        # A cell may begin or end meanwhile, and what it sets is not overwritten.
        while own is not (own := getattr(owner, name)):
            hook = _prompt_hooks.get(name)
            if hook is None or (own is not hook and own is not hook.__wrapped__):
                # It is not read back: a cell may set its own on another thread meanwhile.
                hook = _prompt_hooks[name] = replacement_of(own, for_run(_refuse_to_ask))
        setattr(owner, name, hook)
    return partial(_release_prompts, getattr(shell, "kernel", None))


_PROMPTS = ((builtins, "input", "_sys_raw_input"), (getpass, "getpass", "_save_getpass"))
_prompt_hooks: dict[str, Any] = {}
"""The hooks by name, made once: they are set for each run."""


def _release_prompts(kernel: Any) -> None:
    for owner, name, kept in _PROMPTS:
        hook = _prompt_hooks[name]
        # A cell that ends meanwhile puts back what is kept, and one that begins keeps what is set.
        places = (kernel, kept), (owner, name)
        while held := [one for one in places if getattr(*one, None) is hook]:
            for holder, slot in held:
                setattr(holder, slot, hook.__wrapped__)


def _exit(own: Any, status: int) -> None:
    captured = current_capture()
    if captured is None or captured.forked:
        own(status)
    raise SystemExit(
        f"os._exit({status}) was called in a run or an eval; it would end the process."
    )


def _refuse_exit(_captured: Captured) -> NoReturn:
    raise SystemExit("A run or an eval was asked to end; it would end the kernel.")


def _refuse_to_ask(_captured: Captured, *_args: Any, **_named: Any) -> NoReturn:
    raise EOFError(NO_STDIN)


def _show_payload(captured: Captured, data: Any, single: bool = True) -> None:
    """Show as an output what would be a page or a new cell of the person's."""
    shown = data.get("data") or {"text/plain": str(data.get("text") or data.get("filename") or "")}
    captured.show(shown)
