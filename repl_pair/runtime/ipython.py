"""IPython, where the person has imported it: the only module that looks for it."""

import sys
from collections.abc import Callable
from typing import Any

from repl_pair.records import Undo


def interactive_shell() -> Any | None:
    """Return the IPython shell that the current code runs in; never imports IPython.

    None without one. On the threads of an embedded kernel that is its shell, on all other threads
    the shell of the prompt.
    """
    ipython: Any = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def kernel_shell() -> Any | None:
    """Return the shell of this process's kernel, the same on each thread.

    Without an embedded kernel that is the running shell, which may have no kernel.
    """
    return _embedded[0].shell if _embedded else interactive_shell()


def known_shells() -> list[Any]:
    """Return the shells in which a person types: that of the prompt, then an embedded kernel's."""
    if not _embedded:
        shell = interactive_shell()
        return [] if shell is None else [shell]
    prompt = _embedded[0].of_prompt()
    return [*([] if prompt is None else [prompt]), _embedded[0].shell]


def user_namespace() -> dict[str, Any]:
    """Return the person's namespace itself: that of the kernel's shell, else of `__main__`."""
    shell = kernel_shell()
    return vars(sys.modules["__main__"]) if shell is None else shell.user_ns


def name_in(module: Any, name: str) -> Any:
    """Return what stands under a name in a module, None without; of its cells first.

    Those of `embed_kernel` in a function have their names beside those of the module.
    """
    shell = kernel_shell()
    if shell is not None and module is shell.user_module and name in shell.user_ns:
        return shell.user_ns[name]
    return getattr(module, name, None)


def ipython_module(name: str = "") -> Any:
    """Return IPython, or a submodule such as `core.displayhook`; None while it is not imported."""
    return sys.modules.get(f"IPython.{name}" if name else "IPython")


def embed_shell(shell: Any, is_own_thread: Callable[[], bool]) -> Undo:
    """Make a shell that of the kernel until the undo: on its own threads, IPython finds it alone.

    IPython keeps one shell a process, in an attribute of a class. Everywhere else code finds there
    what it did before.
    """
    owner = ipython_module("core.interactiveshell").InteractiveShell
    instance = _Instance(shell, is_own_thread, owner)
    _embedded.append(instance)
    owner._instance = instance

    def undo() -> None:
        _embedded.remove(instance)
        # A shell that began meanwhile stays.
        if instance.is_shadowed():
            return
        if instance.had_own:
            owner._instance = instance.before
        else:
            del owner._instance

    return undo


class _Instance:
    """The attribute in which IPython keeps its one shell, of another value on some threads."""

    def __init__(self, shell: Any, is_own_thread: Callable[[], bool], owner: Any) -> None:
        self.shell, self._is_own_thread, self._owner = shell, is_own_thread, owner
        self.had_own = "_instance" in vars(owner)
        self.before: Any = owner._instance

    def __get__(self, _of: Any, _owner: Any) -> Any:
        return self.shell if self._is_own_thread() else self.before

    def of_prompt(self) -> Any | None:
        """Return the shell that is found off the kernel's threads."""
        return self._owner._instance if self.is_shadowed() else self.before

    def is_shadowed(self) -> bool:
        """Return whether a shell that began later stands in the attribute."""
        return self._owner.__dict__.get("_instance") is not self


_embedded: list[_Instance] = []
"""The shell of the embedded kernel, where there is one."""
