"""Which renderings this kernel has, found without importing anything."""

import importlib.util
import sys
from typing import TypedDict

from repl_pair.errors import did_you_mean
from repl_pair.records import row

_WIDGET = "application/vnd.jupyter.widget-view+json"


@row
class Substrate:
    """One rendering: its MIME type, and the modules of which one makes it, where it needs any."""

    id: str
    mime: str
    made_by: str
    modules: tuple[str, ...] = ()


SUBSTRATES: tuple[Substrate, ...] = (
    Substrate("text", "text/plain", "the values that a component returns"),
    Substrate("html", "text/html", "what has `_repr_html_`, such as frames"),
    Substrate("png", "image/png", "figures and images", ("matplotlib", "PIL")),
    Substrate("widget", _WIDGET, "widgets", ("ipywidgets", "anywidget")),
)


def unknown_substrate(id: str) -> str:
    """Report that there is no such rendering, and which there are; nothing if there is."""
    known = [substrate.id for substrate in SUBSTRATES]
    if id in known:
        return ""
    return f"There is no substrate {id!r}.{did_you_mean(id, known)} There are {', '.join(known)}."


class SubstrateLine(TypedDict):
    """A rendering, whether this kernel has it, and why."""

    id: str
    available: bool
    mimes: list[str]
    why: str


def list_substrates() -> list[SubstrateLine]:
    """Return each rendering with whether this kernel has it, and why."""
    lines: list[SubstrateLine] = []
    for substrate in SUBSTRATES:
        modules = substrate.modules
        states = [state for name in modules if (state := _state_of(name))]
        libraries = ", ".join(states) or f"neither {' nor '.join(modules)} is installed"
        why = f"{substrate.made_by}; {libraries if modules else 'it needs no library'}"
        available = bool(states) or not modules
        mimes = [substrate.mime]
        lines.append({"id": substrate.id, "available": available, "mimes": mimes, "why": why})
    return lines


def _state_of(module: str) -> str:
    if sys.modules.get(module) is not None:
        return f"{module} is loaded"
    return f"{module} can be imported" if importlib.util.find_spec(module) is not None else ""
