"""A text as a QR code, by segno where it is installed."""

from binascii import b2a_base64
from io import BytesIO
from typing import Any

from repl_pair.errors import RequestError

_DOTS = 4
"""Pixels of one dot of the code."""


class Svg(str):
    """SVG text that a notebook shows as the image."""

    def _repr_svg_(self) -> str:
        return str(self)


def draw_svg(text: str) -> Svg:
    """Return the code as SVG text, equal for equal texts."""
    image = BytesIO()
    _make(text).save(image, kind="svg", scale=_DOTS, xmldecl=False, nl=False)
    return Svg(image.getvalue().decode())


def draw_png(text: str) -> str:
    """Return the code as a PNG in base64, equal for equal texts."""
    image = BytesIO()
    _make(text).save(image, kind="png", scale=_DOTS)
    return b2a_base64(image.getvalue(), newline=False).decode()


def _make(text: str) -> Any:
    try:
        import segno  # it is an extra, and few sessions draw a code
    except ImportError as error:
        raise RequestError(
            "cannot_run",
            "A QR code needs the package segno in the kernel's Python: "
            'pip install "repl-pair[qr]". Without it, share the URL itself.',
        ) from error
    try:
        return segno.make_qr(text)
    except segno.DataOverflowError as error:
        raise RequestError(
            "cannot_run",
            f"The URL has {len(text)} characters, too many for a QR code: share fewer overrides, "
            "or register them as a variant.",
        ) from error
