"""The origin of a registration: a module or a notebook cell, and which run of it."""

import os
import sys
from contextlib import AbstractContextManager
from contextvars import ContextVar
from traceback import walk_stack
from types import FrameType, ModuleType
from typing import Any

from repl_pair.records import holding
from repl_pair.runtime.capture.own_threads import frames_of_threads
from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.registry.model import Entry, Origin
from repl_pair.wire import PERSON, may_have

_PACKAGE = __name__.split(".")[0]

MODULE = "module:"
"""Prefix of the origin key of entries of a module, before its name."""
BUILTIN = "builtin"
"""The origin key of entries that ship with the package."""
SENT = "sent:"
"""Prefix of the origin key of entries from another process, before their key there."""
SCRIPT = "script:"
"""Prefix of the origin key of entries from a script of %run, before its file."""
AGENT = "agent:"
"""Prefix of the origin key of entries that a writing op registered, before the principal."""


def agent_origin(principal: str, sent: Any = None) -> Origin:
    """Return the origin of what a caller of writing ops registers, with what it sent."""
    label = "the command line" if principal == PERSON else f"agent {principal}"
    return Origin(key=f"{AGENT}{principal}", label=label, line=0, sent=sent)


def is_agents(origin: Origin) -> bool:
    """Return whether a writing op registered an entry, here or in the process that sent it."""
    return origin.key.removeprefix(SENT).startswith(AGENT)


def is_of_agent(origin: Origin, principal: str) -> bool:
    """Return whether a writing op of this principal registered an entry in this process."""
    return origin.key == f"{AGENT}{principal}"


def may_replace(writer: Origin, entry: Origin) -> bool:
    """Return whether what a writing op registered may replace or unregister an entry.

    It may where a writing op of the same principal registered that entry. The person's writing ops
    may with those of all agents, and with no entry that the person's code registered.
    """
    return is_agents(entry) and may_have(_principal_of(writer), _principal_of(entry))


def _principal_of(origin: Origin) -> str:
    return origin.key.removeprefix(SENT).removeprefix(AGENT)


def outside() -> tuple[FrameType, int]:
    """Return the first frame outside this package, and its `stacklevel` for the caller."""
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]  the cost of inspect.stack is a file read a frame
    while (
        frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == _PACKAGE
    ):
        frame, level = frame.f_back, level + 1
    return frame, level


def find_origin() -> Origin:
    """Return the origin of the first frame outside this package on the caller's stack.

    Of code that an agent sent that is the agent, but for the modules that it imports.
    """
    frame, _ = outside()
    module, file = (frame.f_globals.get(name, "?") for name in ("__name__", "__file__"))
    sender = _SENDER.get()
    if sender and (module == "__main__" or frame.f_globals.get("__spec__") is None):
        return agent_origin(sender)
    shell = interactive_shell()
    # An embedded kernel's cells have the namespace of a module, whose own code has its file.
    is_cell = module == "__main__" or frame.f_code.co_filename != file
    spaces = () if shell is None else (shell.user_ns, shell.user_global_ns)
    if is_cell and any(frame.f_globals is space for space in spaces):
        return cell_origin(shell, frame.f_lineno)
    if shell is not None and frame.f_globals.get("__spec__") is None and file != "?":
        label = os.path.basename(file)
        run = shell.execution_count - 1
        return Origin(key=f"{SCRIPT}{file}", label=label, line=frame.f_lineno, run=run)
    run = module_run(sys.modules.get(module))
    # What runpy runs is no module for longer than that.
    has_file = run is None and file != "?" and not file.startswith("<")  # as in `<stdin>`
    path = os.path.abspath(file) if has_file else None
    return Origin(key=f"{MODULE}{module}", label=module, line=frame.f_lineno, run=run, file=path)


def sent_by(principal: str) -> AbstractContextManager[None]:
    """Let what is registered in this block be of who sent its code; so in the threads it starts."""
    return holding(_SENDER, principal)


_SENDER: ContextVar[str] = ContextVar("repl_pair_sender", default="")


def cell_message(shell: Any) -> tuple[str | None, str | None]:
    """Return the ids of the running cell and of the message that runs it, None without one."""
    get_parent = getattr(shell, "get_parent", None)
    parent: dict[str, dict[str, Any]] = (get_parent() if get_parent is not None else None) or {}
    header, metadata = parent.get("header") or {}, parent.get("metadata") or {}
    return metadata.get("cellId") or None, header.get("msg_id")


def cell_origin(shell: Any, line: int = 0) -> Origin:
    """Return the origin of the running cell; without cell ids all cells are `console`."""
    cell, _ = cell_message(shell)
    # IPython counts up before it runs a cell.
    number = shell.execution_count - 1
    return Origin(
        key=f"cell:{cell}" if cell else "console", label=f"In[{number}]", line=line, run=number
    )


def file_of(origin: Origin) -> str | None:
    """Return the file of the module that registered something, None without one.

    Each `conftest.py` is the module of that name for pytest: the spec has the file.
    """
    if getattr(origin.run, "has_location", False):
        return origin.run.origin
    return origin.file or getattr(
        sys.modules.get(origin.key.removeprefix(MODULE)), "__file__", None
    )


def module_run(module: ModuleType | None) -> Any:
    """Return the spec of a module: the import system sets a new one at each execution."""
    return None if module is None else module.__dict__.get("__spec__")


def is_same_run(one: Any, other: Any) -> bool:
    """Return whether two runs of a place are one: specs of two executions are equal, not one."""
    return one is other or (isinstance(one, int) and one == other)


def is_standing(entry: Entry) -> bool:
    """Return whether the module of an entry is loaded, and was not executed again since."""
    module = sys.modules.get(entry.origin.key.removeprefix(MODULE))
    if module is None or module_run(module) is entry.origin.run:
        return module is not None
    return getattr(module, "__file__", None) != file_of(entry.origin)


def is_executing(module: ModuleType) -> bool:
    """Return whether a thread executes the body of the module now."""
    with frames_of_threads() as latest:
        return any(
            frame.f_code.co_name == "<module>" and frame.f_globals is module.__dict__
            for stack in latest.values()
            for frame, _ in walk_stack(stack)
        )
