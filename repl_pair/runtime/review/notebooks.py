"""The cells of a notebook file, and what of each is text."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from repl_pair.records import row

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@row
class Output:
    """A text that a cell put out; `is_result` where it is the text of a value."""

    text: str
    is_result: bool = False


@row
class Cell:
    """A cell: its id, else its number from 1, its number, its kind, its source and its outputs."""

    name: str
    number: int
    kind: str
    source: str
    outputs: Sequence[Output]

    @property
    def text(self) -> str:
        """Source and outputs as one text."""
        return "\n".join(filter(None, (self.source, *(each.text for each in self.outputs))))


def read_cells(text: str) -> Sequence[Cell]:
    """Return the cells of a notebook's JSON in order; none where it is no notebook's."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    cells = _rows(cast("dict[str, Any]", found).get("cells")) if isinstance(found, dict) else []
    return [
        Cell(
            str(cell.get("id") or number),
            number,
            str(cell.get("cell_type")),
            _joined(cell.get("source")),
            [*_outputs(cell)],
        )
        for number, cell in enumerate(cells, 1)
    ]


def _outputs(cell: dict[str, Any]) -> Iterator[Output]:
    for output in _rows(cell.get("outputs")):
        data = output.get("data")
        plain = cast("dict[str, Any]", data).get("text/plain") if isinstance(data, dict) else None
        yield Output(_joined(output.get("text")))
        yield Output(_joined(plain), is_result=True)
        yield Output(_COLOURS.sub("", "\n".join(map(str, _list(output.get("traceback"))))))


def _rows(value: Any) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", one) for one in _list(value) if isinstance(one, dict)]


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _joined(text: Any) -> str:
    return "".join(map(str, _list(text))) if isinstance(text, list) else str(text or "")
