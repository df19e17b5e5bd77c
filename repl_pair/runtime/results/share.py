"""Sharing a variant: its URL, how far it can be reproduced from that, and its QR code."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import record
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.links import BASE, TABS, Link, write_url
from repl_pair.runtime.results.qr_code import Svg, draw_svg
from repl_pair.runtime.results.reproducing import encode_overrides, rate_reproducibility


@record
class Share:
    """The URL of a variant; `label` is fully, partly or view-only, and `reasons` are why."""

    url: str
    label: str
    reasons: tuple[str, ...] = ()

    def qr(self) -> Svg:
        """Return the URL's QR code as SVG text, which a notebook shows."""
        return draw_svg(self.url)

    def __str__(self) -> str:
        return "\n".join(
            [self.url, f"reproducible: {self.label}", *(f"- {r}" for r in self.reasons)]
        )

    def _repr_html_(self) -> str:
        reasons = "".join(f"<li>{escape(reason)}</li>" for reason in self.reasons)
        listed = f"<ul>{reasons}</ul>" if reasons else ""
        url = escape(self.url)
        return f'<a href="{url}">{url}</a><p>Reproducible: <b>{self.label}</b></p>{listed}'


def share(
    variant_id: str,
    *,
    modes: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    workspace: str | None = None,
    tab: str = TABS[0],
    tag_filter: Sequence[str] = (),
    substrate: str = SUBSTRATE,
    base_url: str = BASE,
) -> Share:
    """Return the URL that opens a variant with these modes and overrides; nothing runs.

    Modes keep their order, since later ones lie over earlier ones. The URL holds the real values
    of overrides, secrets too. What is no JSON is left out and named. Refusals are those of `run`,
    and `bad_arguments` for a base that is no http, https or repl-pair URL.
    """
    return share_plan(
        plan_variant(variant_id, modes=modes, overrides=overrides, substrate=substrate),
        overrides=overrides,
        workspace=workspace,
        tab=tab,
        tag_filter=tag_filter,
        substrate=substrate,
        base_url=base_url,
    )


def share_plan(
    plan: Plan,
    *,
    overrides: Mapping[str, Any] | None = None,
    workspace: str | None = None,
    tab: str = TABS[0],
    tag_filter: Sequence[str] = (),
    substrate: str = SUBSTRATE,
    base_url: str = BASE,
) -> Share:
    """Return the URL that opens what was planned; otherwise as `share`."""
    if tab not in TABS:
        raise RequestError("bad_arguments", f"There is no tab {tab!r}: {', '.join(TABS)}.")
    beside = [("workspace", workspace)] if workspace else []
    beside += [("tag", tag) for tag in tag_filter]
    for kind, id in beside:
        REGISTRY.get(kind, id)
    encoded, left_out = encode_overrides(plan.component, overrides or {})
    link = Link(
        variant=plan.variant_id,
        workspace=workspace,
        tab=tab,
        modes=tuple(dict.fromkeys(plan.modes)),
        tag_filter=tuple(dict.fromkeys(map(str, tag_filter))),
        overrides=encoded,
        substrate=substrate,
    )
    rated = rate_reproducibility(plan, overrides=sorted(encoded), left_out=left_out, beside=beside)
    return Share(url=write_url(link, base_url), label=rated.label, reasons=rated.reasons)
