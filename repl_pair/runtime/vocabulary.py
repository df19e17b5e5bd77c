"""The tags that are there from the start."""

from repl_pair.runtime.model import Origin, Tag
from repl_pair.runtime.registry import REGISTRY

CANONICAL: dict[str, str] = {
    "agent": "of interest to an agent",
    "dev": "shown while developing",
    "docs": "shown in the documentation",
    "experimental": "may change",
    "internal": "not for the component's users",
    "screenshot": "has a picture worth keeping",
    "state/empty": "the component with nothing in it",
    "state/large": "the component with much in it",
    "state/medium": "the component with a usual amount in it",
    "state/small": "the component with little in it",
    "state/special": "the component in an unusual state",
    "test": "run in continuous integration",
}

for _id, _doc in CANONICAL.items():
    REGISTRY.register(
        "tag",
        _id,
        Tag(doc=_doc, axis="state" if _id.startswith("state/") else None),
        origin=Origin(key="builtin", label="repl_pair", line=0),
    )
