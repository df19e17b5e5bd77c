"""JupyterLab, Notebook and marimo in a browser, as tests drive them."""

import pytest

ASSERTING = ("bounds", "browsing", "lab", "server", "sessions", "watching")

pytest.register_assert_rewrite(*(f"{__name__}.{room}" for room in ASSERTING))
