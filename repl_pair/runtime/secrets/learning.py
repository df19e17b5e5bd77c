"""The person's variables, and the secrets that stand among them."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from repl_pair.runtime.ipython import interactive_shell
from repl_pair.runtime.reading.fields import read_fields
from repl_pair.runtime.secrets.needles import NEEDLES, collect_environment
from repl_pair.runtime.secrets.redact import copy_plain
from repl_pair.runtime.values.classes import real_class
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.marks import is_secret_key, secret_type

DEPTH, WIDTH = 2, 100
"""How far below a variable secrets are looked for, and in dicts and objects of how many parts."""

_NO_DATA = frozenset(map(id, (bool, int, float, type(None), type, FunctionType, ModuleType)))
_CONTAINERS = frozenset(map(id, (dict, list, tuple, set, frozenset)))


def namespace() -> dict[str, Any]:
    """Return a copy of the person's namespace."""
    shell = interactive_shell()
    return dict(vars(sys.modules["__main__"]) if shell is None else shell.user_ns)


def learn_secrets() -> None:
    """Learn what the environment and the person's variables now hold in secret.

    A secret is known by its type or by a secret name, of a variable or of what stands up to
    `DEPTH` levels below one, such as the fields of settings. None of their code runs.
    """
    global _learned
    now = dict(getattr(os.environ, "_data", os.environ))  # its encoded form is cheap to compare
    if now != _learned:
        _learned = now
        collect_environment(os.environ)
    _learn_from(namespace())


_learned: dict[Any, Any] = {}


def learn_beside(component: Callable[..., Any]) -> None:
    """Learn what the module of a function or class holds in secret, as `learn_secrets` does."""
    module = sys.modules.get(getattr(component, "__module__", None) or "")
    if real_class(module) is ModuleType:
        _learn_from(dict(vars(module)))


def _learn_from(space: Mapping[Any, Any]) -> None:
    for secret in _secrets_in(space, DEPTH):
        if type(secret) is str:
            NEEDLES.add(secret)
        else:
            copy_plain(Secret(secret), needles=NEEDLES)


def _secrets_in(space: Mapping[Any, Any], depth: int) -> Iterator[Any]:
    for name, value in space.items():
        kind = real_class(value)
        if id(kind) in _NO_DATA:
            continue
        is_secret = type(name) is str and is_secret_key(name)
        if kind is str:
            if is_secret:
                yield value
        elif secret_type(value) or (
            is_secret and (id(kind) not in _CONTAINERS or len(value) <= WIDTH)
        ):
            yield value
        elif depth:
            fields, private = (None if kind is dict else read_fields(value)) or ({}, [])
            yield from private
            parts: Any = value if kind is dict else fields
            if len(parts) <= WIDTH:
                yield from _secrets_in(parts.copy(), depth - 1)
