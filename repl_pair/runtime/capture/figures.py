"""pyplot's figures: each run has its own, apart from the person's and other runs'.

`Gcf.figs`, where pyplot keeps its figures, is replaced by a view that shows each run its own. The
list of figures that matplotlib's inline backend is about to draw is replaced in the same way.
"""

import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from repl_pair.errors import error_text
from repl_pair.records import Undo
from repl_pair.runtime.capture.bundles import draw
from repl_pair.runtime.capture.captured import Captured, current_capture

REGISTRY = "matplotlib._pylab_helpers"
INLINE = "matplotlib_inline.backend_inline"

Managers = OrderedDict[Any, Any]


class Figures:
    """The figures of one run, and the inline backend's state for them."""

    def __init__(self, captured: Captured) -> None:
        self.managers: Managers = OrderedDict()
        self.pending: dict[str, Any] = {"_to_draw": [], "_draw_called": False}
        self._displaced: list[Any] = []
        self._captured = captured
        captured.at_end.append(self.close)

    def add(self, number: Any, manager: Any) -> None:
        """Add a figure; an earlier one of this number stays open, but pyplot does not see it."""
        if self.managers.get(number, manager) is not manager:
            self._displaced.append(self.managers[number])
        self.managers[number] = manager

    def show_open(self, *, drawn: Sequence[Any] = ()) -> None:
        """Show the figures that the run has left open, and close them.

        Figures in `drawn` are not shown again, nor those whose image the run has already shown.
        """
        shown = [bundle.get("image/png") for bundle in self._captured.outputs]
        for manager in self._own():
            figure = manager.canvas.figure
            if not any(figure is other for other in drawn):
                try:
                    bundle = draw(figure)
                    self._captured.note_formatted(bundle, figure)
                except Exception as error:  # noqa: BLE001  drawing runs the person's code, and the run has ended well
                    bundle = {"text/plain": f"[figure could not be drawn: {error_text(error)}]"}
                if bundle.get("image/png", "") not in shown:
                    self._captured.show(bundle)
        self.close()

    def close(self) -> None:
        """Close the run's own figures; a figure of the person that it made current stays open."""
        for manager in self._own():
            # What `Gcf.destroy` does with a figure of its registry.
            if hasattr(manager, "_cidgcf"):
                manager.canvas.mpl_disconnect(manager._cidgcf)
            manager.destroy()
        self.managers.clear()
        self._displaced.clear()

    def _own(self) -> list[Any]:
        figs = sys.modules[REGISTRY].Gcf.figs
        persons = list((figs.own if isinstance(figs, _View) else figs).values())
        managers = [*self._displaced, *self.managers.values()]
        return [one for one in managers if not any(one is other for other in persons)]


def figures_of(captured: Captured) -> Figures:
    """Return the figures of a run."""
    if captured.figures is None:
        captured.figures = Figures(captured)
    return captured.figures


def hook_module(name: str) -> Undo:
    """Give each run its own state of REGISTRY or INLINE; that module must be imported."""
    module: Any = sys.modules[name]
    owner, slot = (module.Gcf, "figs") if name == REGISTRY else (module, "show")
    own = getattr(owner, slot)
    made = _View(own) if name == REGISTRY else _Show(own)
    setattr(owner, slot, made)

    def undo() -> None:
        if getattr(owner, slot) is made:
            setattr(owner, slot, own)

    return undo


class _View:
    """A mapping that is another one in each run; `own` is that outside runs."""

    def __init__(self, own: Managers) -> None:
        self.own = own

    def _now(self) -> Managers:
        captured = current_capture()
        return self.own if captured is None else figures_of(captured).managers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now(), name)

    def __setitem__(self, key: Any, manager: Any) -> None:
        captured = current_capture()
        if captured is None:
            self.own[key] = manager
        else:
            figures_of(captured).add(key, manager)

    def __copy__(self) -> Managers:
        return self._now().copy()

    __hash__ = None  # type: ignore[assignment]


def _pass_on(name: str) -> None:
    def call(view: _View, *args: Any) -> Any:
        return getattr(view._now(), name)(*args)  # pyright: ignore[reportPrivateUsage]

    setattr(_View, name, call)


for _name in ("len", "iter", "reversed", "contains", "getitem", "delitem", "eq", "ne", "repr"):
    _pass_on(f"__{_name}__")


class _Show:
    """The inline backend's `show`; each run has its own attributes, the figures to draw."""

    def __init__(self, own: Any) -> None:
        vars(self)["_own"] = own

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._own(*args, **named)

    def __getattr__(self, name: str) -> Any:
        captured = current_capture()
        if captured is not None and name in (pending := figures_of(captured).pending):
            return pending[name]
        return getattr(vars(self)["_own"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        captured = current_capture()
        if captured is not None and name in (pending := figures_of(captured).pending):
            pending[name] = value
        else:
            setattr(self._own, name, value)
