"""What is secret in a mode: it has no component of its own, so every story is asked."""

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from typing import Annotated, Any

from repl_pair.records import row
from repl_pair.runtime.hints import ANYTHING, Hint, item_hint, parameter_hints, read_hint
from repl_pair.runtime.model import Entry
from repl_pair.runtime.nodes import Record, Ref, Secret
from repl_pair.runtime.origin import is_agents
from repl_pair.runtime.plain import secrets_in, sensitive_paths
from repl_pair.runtime.plan import Plan
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.secret_rules import is_secret_key
from repl_pair.runtime.secrets import NEEDLES, Sensitive
from repl_pair.runtime.shapes import is_map, is_row, is_set
from repl_pair.runtime.values import freeze

MOST_HINTS = 64
"""How many different hints of one arg name are tried; where there are more, the arg is secret."""


@row
class _Said:
    """What the stories of one revision of the registry say of the names of args."""

    revision: int
    declared: frozenset[str]
    """Those that some component declares secret."""
    held: frozenset[str]
    """Those under which some story's args hold a secret, or that are too various to tell."""
    hints: Mapping[str, list[Any]]


def mode_args(mode: Entry) -> dict[str, Any]:
    """Give the args of a mode, what some story calls secret in them as Secrets.

    Secrets that the person wrote are learned.
    """
    said = _said()
    fitted = {name: _fit(name, value, said) for name, value in mode.body.args.items()}
    if not is_agents(mode.origin):
        for secret in secrets_in(fitted):
            NEEDLES.add(secret)
    return {name: _shielded(name, value, said) for name, value in fitted.items()}


def mode_secret_paths(modes: Iterable[str]) -> list[tuple[str, ...]]:
    """Give where the args of registered modes hold what some story calls secret."""
    found = [entry for id in modes if (entry := REGISTRY.find("mode", id)) is not None]
    return [path for entry in found for path in sensitive_paths(mode_args(entry))]


def open_mode_secrets(plan: Plan) -> list[str]:
    """Say which active modes of the person's bring a secret to an open arg of another component.

    A mode that the person's own story or variant names is meant for it.
    """
    meant = {
        word
        for entry in plan.reached.values()
        if entry is not None and entry.kind in ("story", "variant") and not is_agents(entry.origin)
        for word in entry.body.modes
    }
    modes = [e for id in plan.modes if id not in meant and (e := REGISTRY.find("mode", id))]
    found = [(mode.id, name) for mode in modes for name in _open_args(plan, mode)]
    return [
        f"mode {id!r} brings a secret to {name!r}, which {plan.variant_id} keeps open: only the "
        f"person activates it here. Use another mode, or let the person register the story with "
        f"modes=[{id!r}] or the parameter as Annotated[..., Sensitive]."
        for id, name in found
    ]


def _open_args(plan: Plan, mode: Entry) -> list[str]:
    """Name the args of a mode that hold a secret where a plan's component declares none."""
    from repl_pair.runtime.agent_loaders import secret_loaders_in  # only an agent's runs ask

    args, hints = mode_args(mode), parameter_hints(plan.component)
    loaders, sent = secret_loaders_in(args), plan.variant.args_to_events
    read = {n: ANYTHING if n in sent else read_hint(hints.get(n, Any)) for n in args}
    return [name for name, value in args.items() if _is_open(name, value, read[name], loaders)]


def _is_open(key: Any, value: Any, hint: Hint, loaders: Collection[str]) -> bool:
    """Tell whether a secret stands in a value where neither hint, name nor class says so."""
    if hint.sensitive or is_secret_key(str(key)) or type(value) is Record:
        return False
    if type(value) is Secret:
        return True
    if type(value) is Ref:
        return value.loader in loaders
    pairs = value.items() if is_map(value) else enumerate(value if _is_many(value) else ())
    return any(_is_open(key, item, item_hint(hint, key), loaders) for key, item in pairs)


def _is_many(value: Any) -> bool:
    return is_row(value) or is_set(value)


def _fit(name: str, value: Any, said: _Said) -> Any:
    hint = Annotated[Any, Sensitive]
    hints = [hint] if name in said.declared else said.hints.get(name, ())
    return reduce(freeze, hints, value)


def _shielded(name: str, value: Any, said: _Said) -> Any:
    hides = type(value) is not Secret and (name in said.held or is_secret_key(name))
    return Secret(value) if hides else value


def _said() -> _Said:
    global _latest
    if _latest.revision != REGISTRY.revision:
        _latest = _ask_stories()
    return _latest


def _ask_stories() -> _Said:
    revision, hints = REGISTRY.revision, dict[str, list[Any]]()
    declared, held = set[str](), set[str]()
    for story in REGISTRY.snapshot("story").values():
        held.update(path[0] for path in sensitive_paths(story.body.args) if path)
        for name, hint in parameter_hints(story.body.component.resolve()).items():
            flat = read_hint(hint)
            if flat.sensitive:
                declared.add(name)
            elif not _PLAIN.issuperset(flat.arms):
                _keep(hints.setdefault(name, []), hint)
    held.update(name for name, found in hints.items() if len(found) > MOST_HINTS)
    return _Said(revision, frozenset(declared), frozenset(held), hints)


def _keep(found: list[Any], hint: Any) -> None:
    if len(found) <= MOST_HINTS and hint not in found:
        found.append(hint)


_PLAIN = frozenset({bool, int, float, str, bytes})
_latest = _Said(-1, frozenset(), frozenset(), {})
