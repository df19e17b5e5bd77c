"""What a workspace holds."""

from collections.abc import Sequence

from repl_pair.runtime.model import Workspace
from repl_pair.runtime.registry import REGISTRY


def variants_of(body: Workspace) -> Sequence[str]:
    """Name the variants of a workspace, in their order, whether they are registered or not."""
    if body.story is not None:
        return REGISTRY.ids("variant", f"{body.story}/")
    blocks = [block["variant"] for block in body.content if "variant" in block]
    return [*body.variants, *blocks]
