import re
from pathlib import Path

import repl_pair
from repl_pair.panels.base.context import PanelContext
from repl_pair.panels.base.opening import open_entry
from repl_pair.panels.builtin import VIEWS
from repl_pair.runtime.registry.registry import REGISTRY

PAGE = (Path(__file__).parents[2] / "docs" / "panels.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\w+) \| (\w+) \| .+ \|.*\|$", re.MULTILINE)
CELLS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_names_every_panel_in_its_place():
    named = {title: place for title, place in ROW.findall(PAGE) if title != "panel"}
    assert named == {view.title: view.placement for view in VIEWS}


def test_the_panel_of_the_page_shows_what_it_states():
    undo = REGISTRY.checkpoint()
    assert CELLS
    for cell in CELLS:
        exec(cell, {"__name__": "panels_page"})
    widget = open_entry(repl_pair.registry.get("panel", "spending"), PanelContext())
    assert str(widget.view.text()) == "12 EUR so far"
    widget.close()
    undo()
