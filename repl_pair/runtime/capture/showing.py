"""What a run shows at its end: its value where that is rich, open figures, widgets as they are."""

from collections.abc import Sequence
from typing import Any

from repl_pair.runtime.capture.bundles import figure_of, rich_values
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.capture.comms import show_states


def show_value(captured: Captured, value: Any) -> None:
    """Show what is rich in a value, then what is open; runs their code."""
    rich = rich_values(value)
    for part, bundle in rich:
        captured.note_formatted(bundle, part)
        captured.show(bundle)
    show_open(captured, drawn=[figure_of(part) for part, _ in rich])


def show_open(captured: Captured, *, drawn: Sequence[Any] = ()) -> None:
    """Show widgets as they are now; show and close the open figures, but those `drawn` already."""
    if captured.figures is not None:
        captured.figures.show_open(drawn=drawn)
    if captured.comms:
        show_states(captured)
