"""Rich values as MIME bundles: what a front end would show of a result."""

import base64
import io
import sys
from collections.abc import Iterator, Mapping
from typing import Any, cast

LIMIT_BYTES = 4_000_000
"""The largest image that is kept."""

_METHODS = {
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "image/svg+xml": "_repr_svg_",
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
}


def render_outputs(result: Any) -> list[dict[str, Any]]:
    """Give the bundles of a result and of the rich values at its first level; calls their code."""
    own = mime_bundle(result)
    return [own] if own else [b for value in _first_level(result) if (b := mime_bundle(value))]


def mime_bundle(value: Any) -> dict[str, Any]:
    """Give `{mime: data}`, binary as base64; empty for what is plain text to a front end."""
    if isinstance(value, type):
        return {}
    bundle = _own_bundle(value) | {
        mime: data
        for mime, method in _METHODS.items()
        if (data := _call(value, method)) is not None
    }
    figure = _figure_png(value)
    if figure is not None:
        bundle["image/png"] = figure
    return {mime: _bounded(mime, _text(data)) for mime, data in bundle.items()}


def _first_level(result: Any) -> Iterator[Any]:
    if isinstance(result, Mapping):
        yield from result.values()
    elif isinstance(result, list | tuple):
        yield from result
    elif hasattr(result, "__dataclass_fields__"):
        yield from (getattr(result, name) for name in result.__dataclass_fields__)


def _own_bundle(value: Any) -> dict[str, Any]:
    made = _call(value, "_repr_mimebundle_")
    data = cast("tuple[Any, ...]", made)[0] if isinstance(made, tuple) else made
    return cast("dict[str, Any]", dict(data)) if data else {}


def _call(value: Any, method: str) -> Any:
    if not hasattr(cast("type[Any]", type(value)), method):
        return None
    return getattr(value, method)()


def _figure_png(value: Any) -> bytes | None:
    pyplot = sys.modules.get("matplotlib.figure")
    if pyplot is None or not isinstance(value, pyplot.Figure):
        return None
    buffer = io.BytesIO()
    value.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def _text(data: Any) -> Any:
    return base64.b64encode(data).decode() if isinstance(data, bytes) else data


def _bounded(mime: str, data: Any) -> Any:
    if isinstance(data, str) and len(data) > LIMIT_BYTES:
        return f"[{mime} of {len(data)} characters is over the limit of {LIMIT_BYTES}]"
    return data
