"""The tags and decorators that are there from the start."""

from repl_pair.runtime.model import Decorator, Origin, Tag
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

FORCE_FX_STUB = Decorator(
    kind="fx_override",
    doc='Answer for an effect: ["force_fx_stub", {"effect": id, "response": value}], or '
    '"responses": [...], one a call.',
)
_BUILTIN = Origin(key="builtin", label="repl_pair", line=0)

for _id, _doc in CANONICAL.items():
    _tag = Tag(doc=_doc, axis="state" if _id.startswith("state/") else None)
    REGISTRY.register("tag", _id, _tag, origin=_BUILTIN)
REGISTRY.register("decorator", "force_fx_stub", FORCE_FX_STUB, origin=_BUILTIN)
