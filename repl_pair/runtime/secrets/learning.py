"""The person's variables, and the secrets that stand among them."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import EnumMeta
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any, cast

from repl_pair.runtime.ipython import user_namespace
from repl_pair.runtime.reading.fields import MACHINERY, keys_are, read_fields
from repl_pair.runtime.secrets.forms import url_passwords
from repl_pair.runtime.secrets.held import DEEPEST, WIDTH, secrets_in
from repl_pair.runtime.secrets.known import NEEDLES, SPACES
from repl_pair.runtime.secrets.needles import Needles, Rank
from repl_pair.runtime.secrets.places import hinted_places
from repl_pair.runtime.secrets.plain_copy import Search
from repl_pair.runtime.secrets.redaction import copy_plain
from repl_pair.runtime.values.classes import (
    is_installed,
    is_of,
    real_class,
    root_of,
    space_of,
)
from repl_pair.runtime.values.frozen import Secret
from repl_pair.runtime.values.hints import ANYTHING
from repl_pair.runtime.values.marks import (
    is_secret_key,
)
from repl_pair.runtime.values.paths import Place
from repl_pair.runtime.values.takes import takes_of

SECRETS, PASS_PARTS = 3_000, 25_000
"""How many secrets of one such are known; how many parts beyond `WIDTH` of each one pass reads."""

DEEP = 5_000
"""How many parts of lists, and of what stands deeper, are read before an op of an agent's."""
SEARCH = Search(parts=20_000, secrets=1000, rows=1000)


def namespace() -> dict[str, Any]:
    """Return a copy of the person's namespace: its names, not keys of other types."""
    space = user_namespace().copy()
    if keys_are(str, space):
        return space
    return {name: value for name, value in space.items() if type(name) is str}


def learn_secrets(*, deep: int = 0) -> None:
    """Learn what the environment and the person's variables now hold in secret.

    A secret is known by its type or by a secret name, of a variable or of what stands below one,
    such as the fields of settings: up to `DEPTH` levels, and up to `DEEPEST` while no more than
    `deep` parts were read. None of their code runs.
    """
    global _learned
    now = dict(getattr(os.environ, "_data", os.environ))  # its encoded form is cheap to compare
    if now != _learned:
        _learned = now
        collect_environment(os.environ)
    NEEDLES.begin_pass()
    learn_held(chain([namespace()], *(give() for give in SPACES)), deep=deep)


def scrub_known(text: str) -> str:
    """Return a text without the secrets that this process holds now, for what others keep."""
    learn_secrets()
    return NEEDLES.scrub(text)[0]


def learn_declared(value: Any, places: Collection[Place]) -> None:
    """Learn what stands at places of a value that are declared secret; none of its code runs."""
    copy_plain(value, needles=NEEDLES, sensitive=places, rank=Rank.FOUND)


def learn_defaults(component: Callable[..., Any]) -> None:
    """Learn the defaults of parameters that are secret by hint or name, for good."""
    takes = takes_of(component)
    for name, parameter in (takes.parameters or {}).items():
        hint = takes.read.get(name, ANYTHING)
        places = [()] if is_secret_key(name) else hinted_places(hint)
        if places and parameter.default is not parameter.empty:
            copy_plain(parameter.default, needles=NEEDLES, sensitive=places, rank=Rank.GIVEN)


def learn_held(
    spaces: Iterable[dict[Any, Any]],
    *,
    needles: Needles = NEEDLES,
    rank: Rank = Rank.HELD,
    deep: int = 0,
) -> None:
    """Learn what stands in secret among these variables of the person's, as `learn_secrets`."""
    left = PASS_PARTS
    for secret in secrets_in(spaces, deep):
        if type(secret) is str or type(secret) is int:
            needles.add(secret, rank=rank)
        else:
            most = WIDTH + left // 2
            search = Search(most, SECRETS, rows=0)
            copy = copy_plain(Secret(secret), needles=needles, rank=rank, search=search)
            left -= max(0, most - copy.room - WIDTH)


_learned: dict[Any, Any] = {}


def collect_environment(environ: Mapping[str, str], needles: Needles = NEEDLES) -> None:
    """Learn, for good, the values of secret-named variables and the passwords in all URLs."""
    for name in list(environ):
        value = environ.get(name, "")  # another thread may have deleted it
        for secret in [value] if is_secret_key(name) else url_passwords(value):
            needles.add(secret, rank=Rank.GIVEN)


def learn_before_output(components: Iterable[Callable[..., Any]]) -> None:
    """Search what the person holds deep, within `SEARCH`, before what a run put out leaves.

    That is their variables, the modules of the components, and the modules and classes in these
    that are not installed, and the defaults of the components as they are now. `unsearched` then
    gives how many parts the budget left out.
    """
    global _unsearched
    for component in (components := list(components)):
        learn_defaults(component)
    modules = [sys.modules.get(getattr(one, "__module__", None) or "") for one in components]
    spaces = [_data_in(namespace()), *map(_variables, modules)]
    values = [value for space in spaces for value in space.values()]
    named = {id(value): value for value in values if real_class(value) is ModuleType}
    spaces += [_variables(v) for v in named.values() if _is_persons(v.__name__.partition(".")[0])]
    values = [value for space in spaces for value in space.values()]
    classes = {id(value): value for value in values if is_of(value, type)}
    roots = [*spaces, *(_attributes(cls) for cls in classes.values() if _is_persons(root_of(cls)))]
    found = copy_plain(roots, needles=NEEDLES, rank=Rank.FOUND, depth=DEEPEST, search=SEARCH)
    _unsearched = found.left_out


def learn_module(component: Callable[..., Any]) -> None:
    """Search the module of a component, as `learn_before_output`, once for each execution of it."""
    name = getattr(component, "__module__", None) or ""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None and _searched.get(name) is not spec:
        _searched[name] = spec
        learn_before_output([component])


_searched: dict[str, Any] = {}


def unsearched() -> int:
    """Return how many parts of what the person holds the last search left out."""
    return _unsearched


_unsearched = 0
_RUNNERS = frozenset({"pytest", "_pytest", "pluggy"})
"""What runs the person's code and holds its names, also where it is not installed as a package."""
_FUNCTIONS = frozenset({id(FunctionType)})
_OF_IPYTHON = frozenset({"In", "_ih", "_oh", "_dh"})


def _data_in(space: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the variables in a space that may hold data, without names of the system's."""
    return {
        name: value
        for name, value in space.items()
        if type(name) is str
        and name[:2] != "__"
        and name not in _OF_IPYTHON
        and id(real_class(value)) not in _FUNCTIONS
    }


def _variables(module: ModuleType | None) -> dict[str, Any]:
    return _data_in(dict(vars(module))) if module and real_class(module) is ModuleType else {}


def _attributes(cls: type[Any]) -> dict[str, Any]:
    """Return the data in a class; of an enumeration the values of its members."""
    if not is_of(cls, EnumMeta):
        return _data_in(space_of(cls))
    members = cast("dict[str, Any]", space_of(cls).get("_member_map_", {}))
    fields = {name: read_fields(member, private=True) for name, member in members.items()}
    return {name: found[0].get("_value_") for name, found in fields.items() if found}


def _is_persons(package: str) -> bool:
    return package not in MACHINERY | _RUNNERS and not is_installed(package)
