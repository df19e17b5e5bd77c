"""Sharing a variant: its URL, how far it can be reproduced from that, and its QR code."""

from binascii import b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from io import BytesIO
from typing import Any

from repl_pair.errors import AuthoringError, RequestError
from repl_pair.records import record
from repl_pair.runtime.planning.identity import UNKNOWN
from repl_pair.runtime.planning.plan import SUBSTRATE, Plan
from repl_pair.runtime.planning.planner import plan_variant
from repl_pair.runtime.registry.model import Entry, components_in
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.links import BASE, TABS, Link, fault_of, write_url
from repl_pair.runtime.values.classes import (
    is_map,
    is_row,
    is_secret_class,
    is_set,
    real_class,
    revealed,
)
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Frozen, Ref, Secret, refs_in, sensitive_paths, to_plain
from repl_pair.runtime.values.leaves import leaf_json
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.takes import takes_of
from repl_pair.runtime.values.thaw import thaw


class Svg(str):
    """SVG text that a notebook shows as the image."""

    def _repr_svg_(self) -> str:
        return str(self)


@record
class Share:
    """The URL of a variant; `label` is fully, partly or view-only, and `reasons` are why."""

    url: str
    label: str
    reasons: tuple[str, ...] = ()

    def qr(self) -> Svg:
        """Return the URL's QR code as SVG text, which a notebook shows; equal for equal URLs."""
        return Svg(_draw(self.url, "svg", xmldecl=False, nl=False, light="#fff").decode())

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
    plan = plan_variant(variant_id, modes=modes, overrides=overrides, substrate=substrate)
    link = Link(workspace=workspace, tab=tab, tag_filter=tuple(tag_filter), substrate=substrate)
    return share_plan(plan, link, base_url)


def share_plan(plan: Plan, link: Link, base_url: str) -> Share:
    """Return the URL that opens what was planned, with the rest of a link.

    RequestError `bad_arguments` for an unknown tab, `not_found` for an unknown workspace or tag.
    """
    if link.tab not in TABS:
        raise RequestError("bad_arguments", f"There is no tab {link.tab!r}: {', '.join(TABS)}.")
    beside = [("workspace", link.workspace)] if link.workspace else []
    beside += [("tag", tag) for tag in link.tag_filter]
    named = [REGISTRY.get(kind, id) for kind, id in beside]
    encoded, left_out = _encode_overrides(plan)
    link = replace(
        link,
        variant=plan.variant_id,
        modes=plan.modes,
        tag_filter=tuple(dict.fromkeys(map(str, link.tag_filter))),
        overrides=encoded,
    )
    reasons = _reasons(plan, sorted(encoded), left_out, named)
    return Share(
        url=write_url(link, base_url),
        label=next((label for label, found in reasons.items() if found), "fully"),
        reasons=tuple(dict.fromkeys(reason for found in reasons.values() for reason in found)),
    )


def draw_png(text: str) -> str:
    """Return a text's QR code as a PNG in base64, equal for equal texts."""
    return b2a_base64(_draw(text, "png"), newline=False).decode()


def _draw(text: str, kind: str, **how: Any) -> bytes:
    try:
        import segno  # it is an extra, and few sessions draw a code
    except ImportError as error:
        raise RequestError(
            "cannot_run",
            "A QR code needs the package segno in the kernel's Python: "
            "pip install segno. Without it, share the URL itself.",
        ) from error
    image = BytesIO()
    try:
        segno.make_qr(text).save(image, kind=kind, scale=_DOT_PIXELS, **how)
    except segno.DataOverflowError as error:
        raise RequestError(
            "cannot_run",
            f"The URL has {len(text)} characters, too many for a QR code: share fewer overrides, "
            "or register them as a variant.",
        ) from error
    return image.getvalue()


_DOT_PIXELS = 4


def _reasons(
    plan: Plan, overrides: Sequence[str], left_out: Mapping[str, str], named: Sequence[Entry]
) -> Mapping[str, Sequence[str]]:
    """Return why a plan has no better label, by label, the lowest first.

    view-only: others lack something that it needs. partly: its result depends on more than what is
    registered. Which effects have no override is unknown before a run, and not rated.
    """
    reached = [entry for entry in plan.reached.values() if entry is not None]
    args = plan.all_args
    secrets = {path[0] for path in sensitive_paths(args)} | {n for n in args if is_secret_key(n)}
    loaders = [*plan.variant.loaders, *(ref.loader for ref in refs_in(list(args.values())))]
    shared = [entry for entry in [*reached, *named] if entry.kind not in ("story", "variant")]
    partly = [
        *_registered_here(shared),
        *(f"what loader {loader} makes is made anew by whoever opens it" for loader in loaders),
    ]
    if overrides:
        partly.append(f"overrides ({', '.join(overrides)}) stand in the link only")
    if plan.identity.code_hash == UNKNOWN:
        partly.append(
            "the source of what runs is not to be had, so nobody can tell whether it is the same"
        )
    return {
        "view-only": [
            *(
                f"{part.qualname} is defined in this session, not in a module to import"
                for entry in reached
                for part in components_in(entry.body)
                if part.module in ("", "__main__") or "<" in part.qualname
            ),
            *_registered_here(e for e in reached if e.kind in ("story", "variant")),
            *(f"{name} is a secret, which no link gives away" for name in sorted(secrets)),
            *(f"override {name} is left out: {why}" for name, why in left_out.items()),
        ],
        "partly": partly,
    }


def _registered_here(entries: Iterable[Entry]) -> Iterable[str]:
    for entry in entries:
        place = entry.origin.key
        if place != "builtin" and (not place.startswith("module:") or place == "module:__main__"):
            yield f"{entry.kind} {entry.id} is registered by {entry.origin.label}, not by a module"


def _encode_overrides(plan: Plan) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the overrides that a link can hold, as JSON, and why it cannot hold the others."""
    hints = takes_of(plan.component).hints
    encoded: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name, frozen in plan.overrides.items():
        json = _to_json(frozen)
        fault = fault_of(json) or _changed(frozen, json, hints.get(name, Any))
        if fault:
            left_out[name] = fault
        else:
            encoded[name] = json
    return encoded, left_out


def _changed(frozen: Frozen, json: Any, hint: Any) -> str:
    if not fault_of(frozen):
        return ""
    if refs_in(frozen):
        return "it is made by a loader"
    one = thaw(frozen, hint, load=_no_loader)
    try:
        other = thaw(freeze(json, hint), hint, load=_no_loader)
        same = type(one) is type(other) and bool(one == other)
    except (AuthoringError, RequestError, ValueError):  # ValueError: arrays are not simply equal
        same = False
    return "" if same else f"a {type(one).__name__} does not come back from JSON as it was"


def _to_json(frozen: Frozen) -> Any:
    kind = real_class(frozen)
    if kind is Secret:
        return _to_json(frozen.value)
    if is_secret_class(kind):
        return revealed(frozen)
    if is_map(frozen):
        return {key: _to_json(value) for key, value in frozen.items()}
    if is_set(frozen):
        return sorted(map(_to_json, frozen), key=repr)
    if is_row(frozen):
        return [_to_json(item) for item in frozen]
    plain = to_plain(frozen)
    return leaf_json(frozen) if plain is frozen else _to_json(plain)


def _no_loader(ref: Ref) -> Any:
    raise RequestError("cannot_run", f"{ref.loader} is not loaded to share.")
