"""Which renderings there are in this kernel; nothing is imported to find out."""

import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

from repl_pair.errors import did_you_mean
from repl_pair.records import record


@record
class Substrate:
    """One rendering: the MIME types that it comes as, and the modules of which one makes it.

    Without modules it is there in every kernel.
    """

    id: str
    mimes: tuple[str, ...]
    made_by: str
    modules: tuple[str, ...] = ()


SUBSTRATES: tuple[Substrate, ...] = (
    Substrate(id="text", mimes=("text/plain",), made_by="the values that a component returns"),
    Substrate(id="html", mimes=("text/html",), made_by="what has `_repr_html_`, such as frames"),
    Substrate(
        id="png",
        mimes=("image/png",),
        made_by="figures and images",
        modules=("matplotlib", "PIL"),
    ),
    Substrate(
        id="widget",
        mimes=("application/vnd.jupyter.widget-view+json",),
        made_by="widgets",
        modules=("ipywidgets", "anywidget"),
    ),
)


def unknown_substrate(id: str) -> str:
    """Report that there is no such rendering, and which there are; nothing if there is."""
    known = [substrate.id for substrate in SUBSTRATES]
    if id in known:
        return ""
    return f"There is no substrate {id!r}.{did_you_mean(id, known)} There are {', '.join(known)}."


def list_substrates() -> list[dict[str, Any]]:
    """Return each rendering with whether this kernel has it, and why."""
    return [_line(substrate) for substrate in SUBSTRATES]


def _line(substrate: Substrate) -> dict[str, Any]:
    found = [word for name in substrate.modules if (word := _state_of(name))]
    there = bool(found) or not substrate.modules
    return {
        "id": substrate.id,
        "available": there,
        "mimes": list(substrate.mimes),
        "why": f"{substrate.made_by}; {_why(substrate.modules, found)}",
    }


def _why(modules: Sequence[str], found: Sequence[str]) -> str:
    if not modules:
        return "it needs no library"
    return ", ".join(found) or f"neither {' nor '.join(modules)} is installed"


def _state_of(module: str) -> str:
    """Describe how a module is there; nothing where it is not."""
    if sys.modules.get(module) is not None:
        return f"{module} is loaded"
    return f"{module} can be imported" if importlib.util.find_spec(module) is not None else ""
