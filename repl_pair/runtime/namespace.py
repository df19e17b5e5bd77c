"""The person's variables, and the secrets that stand among them under a telling name."""

import os
import sys
from typing import Any

from repl_pair.runtime.origin import interactive_shell
from repl_pair.runtime.secrets import NEEDLES, collect_environment, is_secret_key

_telling: dict[str, bool] = {}
"""Whether a name tells of a secret; names are few and come again with each reply."""


def namespace() -> dict[str, Any]:
    """Give a copy of the person's namespace."""
    shell = interactive_shell()
    return dict(vars(sys.modules["__main__"]) if shell is None else shell.user_ns)


def learn_secrets() -> None:
    """Learn what the environment and the person's variables now hold under telling names."""
    collect_environment(os.environ)
    for name, value in namespace().items():
        if type(value) is str and _tells_of_a_secret(name):
            NEEDLES.add(value)


def _tells_of_a_secret(name: str) -> bool:
    if name not in _telling:
        _telling[name] = is_secret_key(name)
    return _telling[name]
