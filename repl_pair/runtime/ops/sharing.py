"""The op that gives a variant away as a URL."""

from typing import Annotated, Any, Literal

from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.hiding import shown_words
from repl_pair.runtime.ops.overrides import refuse_secret_overrides
from repl_pair.runtime.ops.run_options import Modes, Overrides
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.ops.visible import VariantId, check_visible, visible_entry
from repl_pair.runtime.secrets import NEEDLES


@op(access="read", toolset="story")
def share_variant(
    call: Call,
    variant_id: VariantId,
    modes: Modes = None,
    overrides: Overrides = None,
    workspace: Annotated[str | None, "Open it in this workspace"] = None,
    tab: Annotated[Literal["dev", "docs", "test"], "Open it on this tab"] = "dev",
    tag_filter: Annotated[list[str] | None, "Open with only these tags listed"] = None,
    substrate: Annotated[str, "The rendering to open with"] = "text",
    base_url: Annotated[str, "A notebook's http(s) URL; without a token"] = "repl-pair:notebook",
    qr: Annotated[bool, "With the QR code as an image"] = False,
) -> dict[str, Any]:
    """Give the URL that opens a variant, and how far it can be reproduced; nothing runs."""
    from repl_pair.runtime.sharing import share  # few kernels need it

    visible_entry(call.view, "variant", variant_id)
    check_visible(call.view, "mode", modes)
    check_visible(call.view, "workspace", [workspace] if workspace else ())
    check_visible(call.view, "tag", tag_filter)
    refuse_secret_overrides(call, variant_id, overrides)
    shared = share(
        variant_id,
        modes=modes or (),
        overrides=overrides,
        workspace=workspace,
        tab=tab,
        tag_filter=tag_filter or (),
        substrate=substrate,
        base_url=base_url,
    )
    reasons = [shown_words(call, reason) for reason in shared.reasons]
    answer = {"url": shared.url, "label": shared.label, "reasons": reasons}
    call.suggest(f"run_variant(variant_id={variant_id!r})")
    return answer | (_drawn(call, shared.url) if qr else {})


def _drawn(call: Call, url: str) -> dict[str, Any]:
    """Give the QR code as an image, unless the URL itself does not leave as it is."""
    from repl_pair.runtime.qr_code import draw_png  # few calls ask for it

    if NEEDLES.scrub(url)[1]:
        call.notifications.append("The URL holds a secret and is redacted: no QR code of it.")
        return {}
    return {"outputs": [{"image/png": call.keep_whole(draw_png(url))}]}
