"""What no run does to the person: end their kernel, ask them, put pages and cells before them."""

import builtins
import getpass
import os
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeAlias

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


Places: TypeAlias = Sequence[tuple[dict[str, Any], str]]
"""Names and a slot in each, where a function stands that asks."""


def prompt_places(shell: Any | None) -> Places:
    """Return where `input` and `getpass.getpass` stand: ipykernel replaces them during each cell.

    It keeps what they were meanwhile, which is a place too: a run may outlive the cell.
    """
    own: dict[str, Any] = getattr(getattr(shell, "kernel", None), "__dict__", {})
    traits: dict[str, Any] = own.get("_trait_values", {})  # one of the two that it keeps is a trait
    return [
        place
        for names, name, kept in _PROMPTS
        for place in ((names, name), (own, kept), (traits, kept))
    ]


def hook_prompts(places: Places) -> None:
    """Hook the functions in these places."""
    for names, slot in places:
        # A kernel that has run no cell keeps None.
        while (own := names.get(slot)) is not None and not _is_hook(own):
            if id(own) not in _prompt_hooks:
                _prompt_hooks[id(own)] = replacement_of(own, for_run(_refuse_to_ask))
            _swap(names, slot, own, _prompt_hooks[id(own)])


_PROMPTS: Sequence[tuple[Any, str, str]] = (
    (vars(builtins), "input", "_sys_raw_input"),
    (vars(getpass), "getpass", "_save_getpass"),
)
_prompt_hooks: dict[int, Any] = {}
"""The hooks by the id of what they hook, which each keeps; the next run takes them again."""
_MAX_HOOKS = 8
"""How many are kept from one run to the next: ipykernel has another function in each cell."""


def release_prompts(places: Places) -> None:
    """Remove the hooks; it may be called again where a stop interrupts it."""
    # A cell that begins or ends meanwhile takes a hook from one place to the other.
    while any(_put_back(*place) for place in places):
        pass
    if len(_prompt_hooks) > _MAX_HOOKS:
        _prompt_hooks.clear()


def _put_back(names: dict[str, Any], slot: str) -> bool:
    own = names.get(slot)
    return own is not None and _is_hook(own) and _swap(names, slot, own, own.__wrapped__)


def _is_hook(own: Any) -> bool:
    return id(own) in map(id, _prompt_hooks.values())


def _swap(names: dict[str, Any], slot: str, was: Any, to: Any) -> bool:
    """Replace what stands in a slot, if it still does: no other thread gets in between."""
    is_same = slot in names and names[slot] is was
    if is_same:
        names[slot] = to
    return is_same


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
