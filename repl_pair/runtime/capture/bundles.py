"""Rich values as MIME bundles, and the text form of each."""

import base64
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, cast

LIMIT_CHARS = 4_000_000
"""The largest image or text of a bundle that is kept, in characters as encoded."""
LIMIT_PIXELS = 25_000_000
"""The largest figure that is drawn."""
LIMIT_LOOKED_AT = 1_000
"""How many parts of a result are looked at for rich values."""
DEFAULT_REPR = (
    r"(?s)<\S+ (?:object|(?:object )?at 0x[0-9a-fA-F]+)>"
    r"|alt\.\w+\(\.\.\.\)|<Vega(?:Lite)? \d+ object>.*"
)
"""What says nothing of the object: of Python and IPython, and of altair. `re` compiles it once."""

_METHODS = {
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "image/svg+xml": "_repr_svg_",
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
}


class Output(dict[str, Any]):
    """A MIME bundle as the person sees it; `leaving` is what of it may leave the process."""

    leaving: Mapping[str, Any]
    models: str = ""
    """JSON of a widget as its run left it, and of those in it, by model id; it never leaves."""


def leaving_of(bundle: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what of a MIME bundle may leave the process."""
    return getattr(bundle, "leaving", bundle)


def rich_values(result: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Return the result, else values at its first level, with their bundles; runs their code.

    Of many values the first 1,000 are looked at; of several axes of a figure, the first is drawn.
    """
    own = mime_bundle(result)
    if own:
        return [(result, own)]
    found: list[tuple[Any, dict[str, Any]]] = []
    drawn: set[int] = set()
    for value in islice(_first_level(result), LIMIT_LOOKED_AT):
        figure = figure_of(value)
        if id(figure) not in drawn and (bundle := mime_bundle(value)):
            found.append((value, bundle))
            drawn |= set() if figure is None else {id(figure)}
    return found


def mime_bundle(value: Any) -> dict[str, Any]:
    """Return `{mime: data}`, binary as base64; empty for what is plain text to a front end."""
    if isinstance(value, type) or id(cast("type[Any]", type(value))) in _PLAIN:
        return {}
    bundle = dict(_call(value, "_repr_mimebundle_", include=None, exclude=None) or {})
    for mime, method in _METHODS.items():
        if (data := _call(value, method)) is not None:
            bundle[mime] = data
    return bounded(bundle) | ({} if (figure := figure_of(value)) is None else draw(figure))


def bounded(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return a bundle with binary as base64, and a sentence in place of what is too large."""
    kept: dict[str, Any] = {}
    for mime, data in bundle.items():
        text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
        if isinstance(text, str) and len(text) > LIMIT_CHARS:
            text = f"[{mime} of {len(text)} characters is over the limit of {LIMIT_CHARS}]"
        kept[mime] = text
    return kept


def figure_of(value: Any) -> Any:
    """Return the figure that matplotlib draws a figure, a part of one or axes in; else None."""
    matplotlib, axes = map(sys.modules.get, ("matplotlib.figure", "matplotlib.axes"))
    if axes is not None and isinstance(value, axes.Axes):
        value = value.figure  # None once they were removed
    is_part = matplotlib is not None and isinstance(value, matplotlib.FigureBase)
    return value.figure if is_part else None


def draw(figure: Any) -> dict[str, Any]:
    """Return a figure as a bundle with its image, or with a sentence where it is too large."""
    width, height = (round(inches * figure.dpi) for inches in figure.get_size_inches())
    if width * height > LIMIT_PIXELS:
        text = f"[figure of {width} x {height} pixels is over the limit of {LIMIT_PIXELS}]"
        return {"text/plain": text}
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return bounded({"image/png": buffer.getvalue()})


_PLAIN = frozenset(map(id, (str, bytes, bool, int, float, complex, type(None))))


def _first_level(result: Any) -> Iterable[Any]:
    if _is_map(result):
        return cast("Mapping[Any, Any]", result).values()
    if isinstance(result, list | tuple):
        return cast("Iterable[Any]", result)
    names: Iterable[str] = getattr(cast("Any", type(result)), "__dataclass_fields__", ())
    return (getattr(result, name) for name in names)


def _is_map(value: Any) -> bool:
    # A class without `keys` is not asked whether it is a mapping, which would hash it.
    try:
        is_asked = hasattr(cast("type[Any]", type(value)), "keys")
        return isinstance(value, dict) or (is_asked and isinstance(value, Mapping))
    except Exception:  # noqa: BLE001  the hash of a class may be code of its metaclass
        return False


def _call(value: Any, method: str, **wanted: Any) -> Any:
    """Return the data that a display method gives; metadata beside it is dropped."""
    if not hasattr(cast("type[Any]", type(value)), method):
        return None
    if (method_of := getattr(value, method)) is None:  # of a widget that was closed
        return None
    made = method_of(**wanted)
    return cast("tuple[Any, ...]", made)[0] if isinstance(made, tuple) else made


def texts_of(outputs: Sequence[Mapping[str, Any]], *, whole: bool = False) -> list[str]:
    """Return the text form of each output, and the name of its kind where it has none.

    It is the form that may leave the process; with `whole`, what the person sees.
    """
    found: list[str] = []
    for bundle in outputs if whole else map(leaving_of, outputs):
        texts = (bundle.get(mime) for mime in ("text/plain", "text/markdown", "text/html"))
        kinds = f"<{', '.join(bundle)}>"
        found.append(next((text for text in texts if isinstance(text, str)), kinds))
    return found
