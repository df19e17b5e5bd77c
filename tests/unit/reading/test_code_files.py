"""Where code stands, and the lines there: as they are now, or as they ran."""

import linecache
import traceback

import pytest

from repl_pair.runtime.reading.code_files import (
    LONGEST_SOURCE,
    is_engine,
    library_path,
    read_lines,
)


def test_a_changed_file_is_read_as_it_is_now_or_as_it_ran(tmp_path):
    source = tmp_path / "shop.py"
    source.write_text("ran = 1\n")
    assert linecache.getlines(str(source)) == ["ran = 1\n"]
    source.write_text("changed = 1\n")
    assert list(read_lines(str(source))) == ["changed = 1\n"]
    assert list(read_lines(str(source), as_run=True)) == ["ran = 1\n"]


def test_no_line_of_a_long_file_is_read(tmp_path):
    source = tmp_path / "long.py"
    for size, count in ((LONGEST_SOURCE, 1), (LONGEST_SOURCE + 1, 0)):
        source.write_text("x" * size)
        assert len(read_lines(str(source))) == count


FILES = [
    (traceback.__file__, "traceback.py", False),
    ("/venv/lib/site-packages/pandas/core/frame.py", "pandas/core/frame.py", False),
    ("C:\\venv\\site-packages\\shop\\carts.py", "shop/carts.py", False),
    ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>", False),
    ("index.pyx", "index.pyx", False),
    ("/home/ann/shop.py", None, False),
    (linecache.__file__.replace("linecache.py", "asyncio/runners.py"), "asyncio/runners.py", True),
]


@pytest.mark.parametrize(("filename", "path", "engine"), FILES)
def test_a_file_is_of_a_library_of_the_engine_or_of_the_person(filename, path, engine):
    assert (library_path(filename), is_engine(filename)) == (path, engine)
