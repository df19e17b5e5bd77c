"""An IPython shell over a namespace, which leaves alone what belongs to the process."""

from importlib import import_module
from typing import Any

SHELL_LEAVES = (
    "init_environment",  # TERM, PAGER, FORCE_COLOR and others
    "init_ipython_dir",  # a folder in the person's home
    "init_profile_dir",  # another one
    "init_sys_modules",  # sys.modules["__main__"]
    "init_user_ns",  # In, Out, exit, quit, open, get_ipython
    "init_prompts",  # sys.ps1, sys.ps2
    "_clear_warning_registry",  # warnings that were shown once would be shown again
)
"""Methods of IPython that change what belongs to the process; here they do nothing."""


def do_nothing(*_args: Any, **_named: Any) -> None:
    """Stand for a method that is left out."""


def make(cls: type[Any], **options: Any) -> Any:
    """Make an object where ipykernel asks for the only one of its class."""
    return cls(**options)


def make_shell_class(base: Any, space: dict[str, Any]) -> Any:
    """Return a class of ipykernel's shell whose one namespace is `space`."""
    traps: Any = import_module("IPython.core.display_trap")

    class Trap(traps.DisplayTrap):
        """Sets no hook: `CellNames` does."""

        set = unset = do_nothing

    class Shell(base):
        locals().update(dict.fromkeys(SHELL_LEAVES, do_nothing))
        instance = classmethod(make)

        def prepare_user_module(self, user_module: Any = None, user_ns: Any = None) -> Any:
            return _Space(user_ns), user_ns

        def init_builtins(self) -> None:
            """Make the trap for builtins, with no names in it."""
            trap: Any = import_module("IPython.core.builtin_trap").BuiltinTrap(shell=self)
            trap.auto_builtins = {}
            self.builtin_trap = trap

        def init_displayhook(self) -> None:
            # The display hook sets `_`, `__` and `___` where it begins.
            self.user_ns = dict[str, Any]()
            base.init_displayhook(self)
            self.user_ns, self.display_trap = space, Trap(hook=self.displayhook)

        def push(self, variables: Any, interactive: bool = True) -> None:
            """Set no names that the shell sets by itself, such as `_i1`."""
            if interactive:
                base.push(self, variables)

    return Shell


class _Space:
    """What stands for a module whose names are those of a dict."""

    __name__ = "__main__"

    def __init__(self, names: dict[str, Any]) -> None:
        self.__dict__ = names
