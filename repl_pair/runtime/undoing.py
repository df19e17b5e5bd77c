"""Taking out what agents registered, for the person."""

from repl_pair.runtime.origin import AGENT, is_agents
from repl_pair.runtime.registry import REGISTRY


def undo_agent(principal: str | None = None) -> list[str]:
    """Take out all that agents registered, or that one of them did; gives it as `kind id`.

    What came after one moment only is taken out by what `registry.checkpoint(origin="agent:")` gave
    at that moment.
    """
    gone: list[str] = []
    for kind in REGISTRY.kinds:
        for id, entry in REGISTRY.snapshot(kind).items():
            named = principal is None or entry.origin.key == f"{AGENT}{principal}"
            if named and is_agents(entry.origin) and REGISTRY.unregister(kind, id, entry=entry):
                gone.append(f"{kind} {id}")
    return sorted(gone)
