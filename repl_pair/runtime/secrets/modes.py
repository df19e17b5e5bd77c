"""The args of modes, Secrets where some story declares one.

A mode has no component of its own, so every story is asked what it declares.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Annotated, Any

from repl_pair.records import row
from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.origin import is_agents
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Secret, secrets_in, sensitive_paths
from repl_pair.runtime.values.marks import Sensitive, is_secret_key
from repl_pair.runtime.values.takes import takes_of

MAX_HINTS = 64
"""How many different hints of one arg name are tried; where there are more, the arg is secret."""


@row
class _Known:
    """What the stories of one revision of the registry declare about the names of args."""

    revision: int
    declared: frozenset[str]
    """Those that some component declares secret."""
    held: frozenset[str]
    """Those under which some story's args hold a secret, or that are too various to be judged."""
    hints: Mapping[str, list[Any]]


def mode_args(mode: Entry) -> dict[str, Any]:
    """Return a mode's args, Secrets where a story declares one; those of the person are learned."""
    global _latest
    if _latest.revision != REGISTRY.revision:
        _latest = _ask_stories()
    known, fitted = _latest, dict[str, Any]()
    for name, value in mode.body.args.items():
        hint = Annotated[Any, Sensitive]
        hints = [hint] if name in known.declared else known.hints.get(name, ())
        fitted[name] = reduce(freeze, hints, value)
    if not is_agents(mode.origin):
        for secret in secrets_in(fitted):
            NEEDLES.add(secret, rank=Rank.FOUND)
    for name, value in fitted.items():
        if type(value) is not Secret and (name in known.held or is_secret_key(name)):
            fitted[name] = Secret(value)
    return fitted


def mode_secret_paths(modes: Iterable[str]) -> list[tuple[str, ...]]:
    """Return where the args of registered modes hold what some story declares secret."""
    found = [entry for id in modes if (entry := REGISTRY.find("mode", id)) is not None]
    return [path for entry in found for path in sensitive_paths(mode_args(entry))]


def _ask_stories() -> _Known:
    revision, hints = REGISTRY.revision, dict[str, list[Any]]()
    declared, held = set[str](), set[str]()
    for story in REGISTRY.snapshot("story").values():
        held.update(path[0] for path in sensitive_paths(story.body.args) if path)
        takes = takes_of(story.body.component.resolve())
        declared |= takes.secret
        for name, hint in takes.read.items():
            if hint.sensitive or _PLAIN.issuperset(hint.arms):
                continue
            found = hints.setdefault(name, [])
            if len(found) <= MAX_HINTS and takes.hints[name] not in found:
                found.append(takes.hints[name])
    held.update(name for name, found in hints.items() if len(found) > MAX_HINTS)
    return _Known(revision, frozenset(declared), frozenset(held), hints)


_PLAIN = frozenset({bool, int, float, str, bytes})
_latest = _Known(-1, frozenset(), frozenset(), {})
