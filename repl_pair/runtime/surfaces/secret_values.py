"""What is secret in live values: by the type or the name of their member, or where it stands."""

from collections.abc import Iterator
from typing import Any

from repl_pair.runtime.registry.model import Entry
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.known import SPACES
from repl_pair.runtime.secrets.places import hinted_places
from repl_pair.runtime.store import NOTHING
from repl_pair.runtime.surfaces.state import LOCK, STATES, State
from repl_pair.runtime.values.hints import read_hint
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import Place


def secret_places(id: str, hint: Any) -> list[Place]:
    """Return the places in each value of a member that its name or its type makes secret."""
    if is_secret_key(id) or is_secret_key(id.rpartition("/")[2]):
        return [()]
    return hinted_places(read_hint(hint))


def places_followed(entry: Entry) -> list[Place]:
    """Return the secret places in what a member holds, by all that it is a projection of.

    What is computed of a member that is secret as a whole is so too.
    """
    for id in followed_ids(entry):
        found = REGISTRY.find(entry.kind, id) or entry
        places = secret_places(id, found.body.hint)
        if () in places or (places and found.body.state is entry.body.state):
            return places
    return []


def followed_ids(entry: Entry) -> list[str]:
    """Return the ids of a member or function and of all that it is a projection of."""
    ids = [entry.id]
    for id in ids:
        found = REGISTRY.find(entry.kind, id)
        if found is not None:
            state: State | None = getattr(found.body, "state", None)
            computed = None if state is None else state.computed
            sources = (found.body.source,) if computed is None else computed.sources
            ids += [source for source in sources if source and source not in ids]
    return ids


def _held() -> Iterator[dict[str, Any]]:
    """Yield what members hold that changed since the last search, as variables by their names."""
    for state in tuple(STATES.values()):
        if state.searched != state.revision:
            with LOCK:
                found, state.searched = _new_in(state), state.revision
            yield found


def _new_in(state: State) -> dict[str, Any]:
    if state.kind == "cell":
        return {} if state.value is NOTHING else {"value": state.value}
    if state.kind == "collection":
        return {k: state.items[k] for k, at in state.revisions.items() if at > state.searched}
    return {str(at): value for at, value in state.entries if at > state.searched}


SPACES.append(_held)
