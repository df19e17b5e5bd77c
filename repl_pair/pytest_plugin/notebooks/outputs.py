"""The outputs of one cell held to those that are stored: displays in their order, streams whole."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any, TypeAlias, cast

from repl_pair.runtime.results.notebook_results import RESULTS_MIME
from repl_pair.wire import MIME

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
_LEFT_OUT = frozenset({MIME, RESULTS_MIME, WIDGET_VIEW})
_REFERENCE = re.compile(r"(?:IPY_MODEL_|anywidget:)([\w-]+)")
_OUTPUT = "OutputModel"
_DEEPEST = 20
PATTERNS: Mapping[str, str] = {
    r"\b0x[0-9a-fA-F]{6,}\b": "ADDRESS",
    r"\bmodel_id='?[0-9a-f]{32}'?": "MODEL_ID",
    r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|µs|μs|us|ms|s|min)\b": "DURATION",
}
"""What differs from run to run in any text, and what stands for it where texts are compared."""

Row: TypeAlias = tuple[str, dict[str, Any]]
"""What an output is called, and its parts: the MIME types of data, the text of a stream."""
CompareImages: TypeAlias = Callable[[str, Any, Any], str]
"""Takes a MIME type and two images as outputs hold them; gives how they differ, or nothing."""


def differences(
    stored: Iterable[Any],
    now: Iterable[Any],
    *,
    compare_images: CompareImages,
    stored_widgets: Mapping[str, Any],
    widgets: Mapping[str, Any],
) -> list[str]:
    """Return how what a cell shows differs from what is stored; nothing where it does not."""
    wanted = _rows(stored, stored_widgets)
    found = _rows(now, widgets)
    if [kind for kind, _ in wanted] != [kind for kind, _ in found]:
        return [_diff("outputs", _listed(wanted), _listed(found))]
    texts: list[str] = []
    for (kind, parts), (_, parts_now) in zip(wanted, found, strict=True):
        texts += _differing(kind, parts, parts_now, compare_images)
    return texts


def widget_states(notebook: Any) -> Mapping[str, Any]:
    """Return the states of a notebook's widgets by the ids of their models."""
    return notebook.metadata.get("widgets", {}).get(_WIDGET_STATE, {}).get("state", {})


def open_widgets(
    outputs: Iterable[Any], widgets: Mapping[str, Any], depth: int = _DEEPEST
) -> Iterator[Any]:
    """Yield outputs, each followed by those that a widget in it holds."""
    for output in outputs:
        yield output
        data: Mapping[str, Any] = output.get("data", {})
        if WIDGET_VIEW in data:
            yield from _held_by(data[WIDGET_VIEW]["model_id"], widgets, depth)


def _held_by(id: str, widgets: Mapping[str, Any], depth: int) -> Iterator[Any]:
    if id not in widgets or not depth:
        return
    model, state = widgets[id]["model_name"], widgets[id]["state"]
    if model == _OUTPUT:  # other widgets may have traits of this name, and of the next one
        yield from open_widgets(state["outputs"], widgets, depth - 1)
    children: Any = state.get("children")
    held = cast("Sequence[Any]", children) if isinstance(children, list | tuple) else ()
    for child in held:
        if isinstance(child, str) and (named := _REFERENCE.fullmatch(child)):
            yield from _held_by(named[1], widgets, depth - 1)


def _differing(
    kind: str, wanted: Mapping[str, Any], found: Mapping[str, Any], images: CompareImages
) -> Iterable[str]:
    if "widget" in wanted and wanted["widget"] is None:
        found = {**found, "widget": None}
    if wanted.keys() != found.keys():
        yield _diff(f"MIME types of a {kind}", "\n".join(wanted), "\n".join(found))
        return
    for name, value in wanted.items():
        if name.startswith("image/") and name != "image/svg+xml":
            if difference := images(name, value, found[name]):
                yield f"{name}: {difference}"
        elif sanitise(value) != sanitise(found[name]):
            yield _diff(name, _as_text(value), _as_text(found[name]))


def _rows(outputs: Iterable[Any], widgets: Mapping[str, Any]) -> Sequence[Row]:
    """Return displays and errors in their order, then the whole text of each stream.

    A stream has no place among the displays: the text of a process that a cell starts reaches
    the kernel through a thread, at any moment.
    """
    rows: list[Row] = []
    streams: dict[str, str] = {}
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            name = output["name"]
            streams[name] = streams.get(name, "") + output["text"]
        elif kind == "error":
            rows.append((kind, {"name": output["ename"], "text": output["evalue"]}))
        else:
            data = output["data"]
            parts = {name: data[name] for name in sorted(data) if name not in _LEFT_OUT}
            if WIDGET_VIEW in data:
                parts["widget"] = _widget(data[WIDGET_VIEW]["model_id"], widgets, _DEEPEST)
            rows.append(("display", parts))
    return [*rows, *((name, {name: text}) for name, text in sorted(streams.items()))]


def _widget(id: str, widgets: Mapping[str, Any], depth: int) -> Any:
    """Return a widget without the ids of models; None where its state was not stored."""
    model = widgets.get(id)
    if model is None or not depth:
        return None
    state = model["state"]
    plain = {name: _plain(value, widgets, depth) for name, value in sorted(state.items())}
    if model["model_name"] == _OUTPUT:
        plain |= {"msg_id": "", "outputs": [list(row) for row in _rows(state["outputs"], widgets)]}
    return {"model": model["model_name"], **plain}


def _plain(value: Any, widgets: Mapping[str, Any], depth: int) -> Any:
    if isinstance(value, str) and (named := _REFERENCE.fullmatch(value)):
        return _widget(named[1], widgets, depth - 1)
    if isinstance(value, Mapping):
        slots = cast("Mapping[str, Any]", value)
        return {name: _plain(one, widgets, depth) for name, one in slots.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, widgets, depth) for one in cast("Sequence[Any]", value)]
    return value


def _listed(rows: Iterable[Row]) -> str:
    return "\n".join(f"{kind}: {', '.join(parts)}" for kind, parts in rows)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True)


def sanitise(given: Any) -> Any:
    """Return data with what is volatile replaced in each of its texts."""
    if isinstance(given, str):
        for pattern, standing in PATTERNS.items():
            given = re.sub(pattern, standing, given)
    elif isinstance(given, Mapping):
        slots = cast("Mapping[str, Any]", given)
        return {name: sanitise(value) for name, value in slots.items()}
    elif isinstance(given, list):
        return [sanitise(one) for one in cast("list[Any]", given)]
    return given


def _diff(name: str, wanted: str, found: str) -> str:
    rows = unified_diff(
        sanitise(wanted).splitlines(), sanitise(found).splitlines(), "stored", "now", lineterm=""
    )
    return "\n".join([f"{name} differs:", *rows])
