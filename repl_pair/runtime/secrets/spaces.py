"""Where else than in the person's namespace variables stand, which may hold secrets."""

from collections.abc import Callable, Iterable
from typing import Any

GiveSpaces = Callable[[], Iterable[dict[Any, Any]]]
"""Gives variables by their names; called before each reply, on its thread."""

SPACES: list[GiveSpaces] = []
"""What is searched whenever the person's variables are."""
