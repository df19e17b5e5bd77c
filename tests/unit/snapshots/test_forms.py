"""Images are compared by how they look, those of 16 bits by the values of their pixels."""

import io
import struct
import zlib

import pytest
from PIL import Image

from repl_pair.runtime.snapshots.forms import compare_images

GREY, RGB, GREY_ALPHA, RGBA = (0, 1), (2, 3), (4, 2), (6, 4)
"""PNG's numbers of the kinds of colours, and how many channels each has."""


def png(kind, values, level=9):
    """Return a PNG of 16 bits that is two pixels wide, its channels filled with a value a row."""
    color, channels = kind
    rows = b"".join(b"\0" + struct.pack(">H", value) * 2 * channels for value in values)
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", 2, len(values), 16, color, 0, 0, 0),
        b"IDAT": zlib.compress(rows, level),
        b"IEND": b"",
    }
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def tiff(mode, value):
    file = io.BytesIO()
    Image.new(mode, (2, 2), value).save(file, "TIFF")
    return file.getvalue()


def png_of(mode, value):
    file = io.BytesIO()
    Image.new(mode, (2, 2), value).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("kind", [GREY, RGB, GREY_ALPHA, RGBA])
@pytest.mark.parametrize("values", [(1000, 60_000), (100, 200), (0x1212, 0x1213)])
def test_a_pixel_of_16_bits_differs_where_its_value_does(kind, values):
    before, after = values
    stored, given = png(kind, [before] * 4), png(kind, [before, before, before, after])
    found = compare_images(stored, given, tolerance=0.2)
    assert found.words == "2 of 8 pixels differ (25.00%), over 20.00%"
    drawn = Image.open(io.BytesIO(found.diff)).convert("L")
    assert [drawn.getpixel((0, row)) for row in range(4)] == [0, 0, 0, 255]
    assert compare_images(stored, given, tolerance=0.25) is None
    assert compare_images(stored, png(kind, [before] * 4, level=0), tolerance=0) is None


@pytest.mark.parametrize(
    ("before", "after"), [(tiff("I", 300), tiff("I", 70_000)), (tiff("F", 0.1), tiff("F", 0.9))]
)
def test_whole_numbers_and_floats_above_and_below_8_bits_are_compared(before, after):
    words = "4 of 4 pixels differ (100.00%), over 0.00%"
    assert compare_images(before, after, tolerance=0).words == words


def test_a_white_image_of_8_bits_is_not_one_of_16_whose_values_are_above_255():
    found = compare_images(png_of("L", 255), png_of("I;16", 1000), tolerance=0)
    assert found.words == "its pixels were RGBA and are I;16"


def test_images_of_8_bits_are_compared_as_they_look():
    assert compare_images(png_of("L", 100), png_of("RGB", (101, 100, 100)), tolerance=0) is None
    assert compare_images(png_of("L", 100), png_of("L", 200), tolerance=0) is not None


def gif(*durations):
    file = io.BytesIO()
    first, *others = (Image.new("L", (2, 2), at) for at in range(len(durations)))
    first.save(file, "GIF", save_all=True, append_images=others, duration=durations)
    return file.getvalue()


def test_how_long_the_frames_of_a_gif_stay_is_compared():
    found = compare_images(gif(50, 100), gif(50, 200), tolerance=0)
    assert found.words == "its frames stayed for [50, 100] ms and stay for [50, 200]"
