"""What an app publishes: which view sees it, and why another does not."""

from repl_pair.runtime.registry.model import PUBLISHED, Entry, Outline
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.wire import PERSON, View

_OWN = "repl_pair"


def is_seen(view: View, entry: Entry | Outline) -> bool:
    """Return whether a view may see an entry; one whose check fails is hidden."""
    return not hidden_because(view, entry)


def hidden_because(view: View, entry: Entry | Outline) -> str:
    """Return why a view may not see an entry, empty where it may.

    The names that are never exposed are checked first, then the exposure, then the tier:
    `expose_all` opens the second only.
    """
    try:
        return _reason(view, entry)
    except Exception as error:  # noqa: BLE001  what cannot be decided is denied
        return f"whether it is exposed could not be decided ({type(error).__name__})"


def _reason(view: View, entry: Entry | Outline) -> str:
    if entry.kind not in PUBLISHED or view.principal == PERSON:
        return _tier_reason(view, entry)
    words = entry.id.replace("/", ".").split(".")
    if words[0] == _OWN or any(word.startswith("_") for word in words):
        return "names that begin with _ or repl_pair are never exposed"
    if entry.kind == "surface":
        if not any(is_seen(view, part) for part in parts_of(entry.id)):
            return "it has nothing that is seen"
    elif not entry.exposed and not view.expose_all:
        return "it is not exposed"
    return _tier_reason(view, entry)


def parts_of(surface: str) -> list[Entry]:
    """Return the members and functions of a surface, and not those of a surface below its id."""
    members = [("member", id) for id in REGISTRY.ids("member", f"{surface}/")]
    dotted = [("function", id) for id in REGISTRY.ids("function", f"{surface}.")]
    functions = [(kind, id) for kind, id in dotted if id.rpartition(".")[0] == surface]
    found = [REGISTRY.find(kind, id) for kind, id in (*members, *functions)]
    return [entry for entry in found if entry is not None]


def _tier_reason(view: View, entry: Entry | Outline) -> str:
    if view.tier is None or entry.tier == view.tier:
        return ""
    return f"its tier is {entry.tier or 'none'}, and only {view.tier} is seen"
