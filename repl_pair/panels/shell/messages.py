"""What the shell and its script send each other; the script holds the same shapes."""

from collections.abc import Sequence
from typing import TypedDict


class PanelShown(TypedDict):
    """One panel; `ref` is its widget, None while it is made, or where there is a `fault`.

    `waiting`: how much in it waits for the person.
    """

    id: str
    title: str
    doc: str
    placement: str
    visible: bool
    waiting: int
    ref: str | None
    fault: str | None


class CommandShown(TypedDict):
    """One command of the palette."""

    id: str
    title: str


class Panels(TypedDict):
    """All panels: the start of the shell, and its patch where they came, left or moved."""

    panels: Sequence[PanelShown]
