"""What of a rendering may leave: one made of a copy whose secrets were replaced first, or none."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import prod
from typing import Any

from repl_pair.runtime.capture.bundles import figure_of, mime_bundle
from repl_pair.runtime.reading.expansion import has_table
from repl_pair.runtime.secrets.egress import send_out
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.runtime.values.classes import (
    CONTAINER_IDS,
    is_installed,
    is_instance_of,
    is_polars,
    is_row,
    is_table,
    real_class,
    root_of,
)
from repl_pair.runtime.values.leaves import is_leaf
from repl_pair.runtime.values.library import columns_of
from repl_pair.runtime.values.marks import is_secret_label
from repl_pair.wire import REDACTED

MAX_CELLS = 200_000
"""The largest part of a table that is copied; of one that renders more nothing leaves."""

MAX_PARTS = 1000
"""The most parts of one value in which tables of libraries are looked for."""

_NOTHING = {"text/plain": REDACTED}
_TABLES = ("DataFrame", "Series", "Index")


def leaving_form(value: Any, bundle: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what leaves of the MIME bundle that a value was rendered as; the bundle if all does.

    A frame, series or index of pandas is rendered again without its secret columns, labels and
    cells. Of any other value that holds a secret only text leaves, without what stands in it, or
    its data where it holds tables.
    """
    if is_leaf(real_class(value)) or not bundle:
        return bundle
    try:
        if is_instance_of(value, "pandas", *_TABLES):
            copy = _mask_table(_ends(value))
            if copy is None:
                return bundle
            left = f"\n[{len(copy)} of {len(value)} rows]" if len(copy) < len(value) else ""
            return _render(copy, bundle, left)
        if is_polars(value):
            return {"text/plain": repr(send_out(value).value)} if _holds_any(value) else bundle
        if (figure := figure_of(value)) is not None:
            return _NOTHING if NEEDLES.find(texts_of_figure(figure)) else bundle
        others = (value, *_of_libraries(value))
        if any(is_secret_label(name) for one in others for name in _column_names(one)):
            return _NOTHING
        if (frame := _styled(value)) is not None and _mask_table(frame) is not None:
            return _NOTHING
    except Exception:  # noqa: BLE001  the library's code ran over the person's objects
        return _NOTHING
    own, labelled = Needles(), _labelled(value)
    out = send_out(value, needles=own)
    if not out.redacted and not labelled:
        return bundle
    text = bundle.get("text/plain")
    if has_table(value) or not isinstance(text, str):
        return {"text/plain": repr(out.value)}
    text, _ = own.scrub(text)
    for secret in sorted(filter(None, [*out.learned, *labelled]), key=len, reverse=True):
        text = text.replace(repr(secret)[1:-1], REDACTED).replace(secret, REDACTED)
    return {"text/plain": text}


def _render(copy: Any, bundle: Mapping[str, Any], left: str) -> dict[str, Any]:
    made = {"text/plain": repr(copy), **mime_bundle(copy)}
    return {
        mime: f"{made[mime]}{left}" if mime.startswith("text/") else made[mime]
        for mime in bundle
        if mime in made
    }


def _mask_table(table: Any) -> Any:
    """Return a copy without secrets; None where there are none."""
    pandas = sys.modules["pandas"]
    masks = _Masks(getattr(table, "index", ()))
    if is_instance_of(table, "pandas", "Index"):
        copy = masks.index(table)
    elif is_instance_of(table, "pandas", "Series"):
        items = masks.rows(masks.column(table.name, table))
        copy = pandas.Series(items, index=masks.index(table.index), name=masks.label(table.name))
    else:
        columns = {at: masks.column(name, table.iloc[:, at]) for at, name in enumerate(table)}
        columns = {at: masks.rows(items) for at, items in columns.items()}
        copy = pandas.DataFrame(columns, index=range(len(table)))
        copy.columns = masks.index(table.columns)
        copy.index = masks.index(table.index)
    return copy if masks.count else None


def _ends(table: Any) -> Any:
    """Return the first and last rows of a table that is longer than what pandas renders of it."""
    pandas = sys.modules["pandas"]
    most: int | None = pandas.get_option("display.max_rows")
    if not most or len(table) <= 2 * most:
        return table
    if is_instance_of(table, "pandas", "Index"):
        return table[:most].append(table[-most:])
    return pandas.concat([table.iloc[:most], table.iloc[-most:]])


def _holds_any(table: Any) -> bool:
    """Return whether a secret stands in what polars may render of a table."""
    rows = int(os.environ.get("POLARS_FMT_MAX_ROWS", 10))
    if 0 <= rows < len(table):
        table = table.head(rows).extend(table.tail(rows))
    if prod(table.shape) > MAX_CELLS:
        raise OverflowError(f"over {MAX_CELLS} cells")
    masks = _Masks(())
    for name, _, items in columns_of(table):
        masks.label(name)
        for item in items:
            masks.cell(item)
        masks.count += is_secret_label(name)
    return masks.count > 0


class _Masks:
    """Replaces the secrets of one table, whose rows have these labels, and counts them."""

    def __init__(self, labels: Iterable[Any]) -> None:
        self.count = 0
        self._secret_rows = [at for at, label in enumerate(labels) if is_secret_label(label)]
        self._room = MAX_CELLS

    def column(self, name: Any, items: Any) -> Sequence[Any]:
        """Return the items of a column or index, all replaced under a secret name."""
        if is_secret_label(name):
            self.count += 1
            return [REDACTED] * len(items)
        if items.dtype.kind not in "OSU" and str(items.dtype) not in ("str", "string", "category"):
            return items.array
        self._room -= len(items)
        if self._room < 0:
            raise OverflowError(f"over {MAX_CELLS} cells")
        return [self.cell(item) for item in items]

    def rows(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return the items of a column, replaced in rows with a secret label."""
        if not self._secret_rows:
            return items
        self.count += len(self._secret_rows)
        left = list(items)
        for at in self._secret_rows:
            left[at] = REDACTED
        return left

    def index(self, index: Any) -> Any:
        """Return labels without secrets, with their names."""
        pandas = sys.modules["pandas"]
        names = [self.label(name) for name in index.names]
        if index.nlevels == 1:
            return pandas.Index(self.column(index.name, index), name=names[0])
        levels = range(index.nlevels)
        arrays = [self.column(index.names[at], index.get_level_values(at)) for at in levels]
        return pandas.MultiIndex.from_arrays(arrays, names=names)

    def label(self, label: Any) -> Any:
        """Return a name without secrets."""
        return self.cell(label) if type(label) is str else label

    def cell(self, item: Any) -> Any:
        """Return a cell without secrets."""
        if type(item) is str:
            text, found = NEEDLES.scrub(item)
            self.count += found
            return text
        if is_leaf(real_class(item)):
            return item
        out = send_out(item, needles=Needles())
        self.count += out.redacted
        return repr(out.value) if out.redacted else item


def _of_libraries(value: Any) -> Iterator[Any]:
    """Return the objects of libraries in containers, whose text holds that of each item."""
    waiting, room = [value], MAX_PARTS
    while waiting and room:
        node: Any = waiting.pop()
        cls: Any = real_class(node)
        room -= 1
        if id(cls) in CONTAINER_IDS:
            waiting.extend(islice(node.values() if cls is dict else node, room))
        elif not is_leaf(cls) and not is_table(node) and is_installed(root_of(cls)):
            yield node


def _column_names(value: Any) -> Sequence[Any]:
    """Return the names of the columns of another library's table."""
    if is_polars(value, "LazyFrame"):  # its `columns` warns
        return value.collect_schema().names()
    names: Any = getattr(value, "columns", None)
    if is_instance_of(names, "pandas", "Index"):
        return list(names)
    names = names or getattr(value, "column_names", None)
    return names if is_row(names) else ()


def _styled(value: Any) -> Any:
    """Return the frame that a styled table of pandas renders all rows of; None for all else."""
    frame = getattr(value, "data", None) if root_of(real_class(value)) == "pandas" else None
    return frame if is_instance_of(frame, "pandas", "DataFrame") else None


def _labelled(value: Any) -> list[str]:
    """Return what stands in the inputs of a widget that are labelled as secret."""
    if not is_instance_of(value, "ipywidgets", "Widget"):
        return []
    parts = [value]
    for part in parts:
        parts += [one for one in getattr(part, "children", ()) if one not in parts]
    secret = (one for one in parts if is_secret_label(getattr(one, "description", "")))
    return [str(getattr(one, "value", "")) for one in secret]


def texts_of_figure(figure: Any) -> str:
    """Return all that is written in a figure of matplotlib; its own code reads it."""
    return "\n".join(part.get_text() for part in figure.findobj() if hasattr(part, "get_text"))
