"""Comms that a run opens: they send nothing and end with it; a widget's last state is its output.

A comm that the person has opened stays the person's: what a run changes of it is sent as usual.
"""

import json
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, cast

from repl_pair.errors import error_text
from repl_pair.records import Undo
from repl_pair.runtime.capture.bundles import LIMIT_CHARS
from repl_pair.runtime.capture.captured import Captured, current_capture
from repl_pair.runtime.capture.wrapping import wrap

COMMS = "comm.base_comm"
VIEW = "application/vnd.jupyter.widget-view+json"
_REFERENCE = re.compile("IPY_MODEL_([0-9a-f]+)")


def hook_module() -> Undo:
    """Hook what opens a comm; COMMS must be imported."""
    return wrap(sys.modules[COMMS].BaseComm, "open", _open)


def _open(own: Any, comm: Any, *args: Any, **named: Any) -> None:
    if (captured := current_capture()) is not None:
        comm.publish_msg = _drop  # for good: its owner may live on, and a comm also closes itself
        captured.comms.append(comm)
    own(comm, *args, **named)


def _drop(*_args: Any, **_named: Any) -> None:
    pass


def show_states(captured: Captured) -> None:
    """Show the run's own widgets, where they were shown, as they are now; runs their code."""
    own = {comm.comm_id: _widget_of(comm) for comm in captured.comms[:]}
    for place, bundle in enumerate(captured.outputs):
        view: Any = bundle.get(VIEW)
        id = str(cast("Any", view).get("model_id")) if isinstance(view, Mapping) else ""
        if own.get(id) is not None:
            data = {**bundle, "text/plain": _text_of(own[id])}
            captured.replace(place, data, own[id], _models_of(id, own))


def close_comms(captured: Captured) -> None:
    """Close what the run has opened, its widgets too; also what a thread of it opened later."""
    for comm in reversed(captured.comms[:]):
        widget = _widget_of(comm)
        ends = [widget.close, partial(_base().close, widget)] if widget is not None else []
        for close in ends or [comm.close]:
            try:
                close()
            except Exception as error:  # noqa: BLE001  a widget may run any code as it closes
                captured.note("stderr", f"close() of a widget: {error_text(error)}\n")
        with suppress(ValueError):  # a thread of the run closes them too
            captured.comms.remove(comm)


def _widget_of(comm: Any) -> Any:
    """Return the widget of ipywidgets that a comm is of, also once it was closed; else None."""
    owner = getattr(getattr(comm, "_msg_callback", None), "__self__", None)
    return owner if "ipywidgets" in sys.modules and isinstance(owner, _base()) else None


def _base() -> Any:
    return sys.modules["ipywidgets"].Widget


def _text_of(widget: Any) -> str:
    try:
        return repr(widget)
    except Exception:  # noqa: BLE001  a bar of tqdm's has none once the loop has ended
        return _base().__repr__(widget)


def _models_of(id: str, own: Mapping[str, Any]) -> str:
    """Return the models that a view of this widget needs, as JSON; "" where that can't be."""
    models: dict[str, Any] = {}
    wanted = [id]
    try:
        while wanted:
            if own.get(id := wanted.pop()) is not None and id not in models:
                models |= own[id].get_manager_state(widgets=[own[id]])["state"]
                wanted += _REFERENCE.findall(json.dumps(models[id]))
        text = json.dumps(models)
    except Exception:  # noqa: BLE001  a widget was closed, or a trait's own serializer failed
        return ""
    return text if len(text) <= LIMIT_CHARS else ""
