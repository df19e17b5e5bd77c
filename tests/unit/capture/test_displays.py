"""What `display` shows in a run is an output of it, with a shell and without."""

import json
import subprocess
import sys

import pytest


def shown_by(tmp_path, source, *args):
    """Return what a script prints as JSON."""
    file = tmp_path / "script.py"
    file.write_text(source)
    ran = subprocess.run(
        [sys.executable, file, *args], capture_output=True, text=True, timeout=60, check=True
    )
    return [json.loads(line[1:]) for line in ran.stdout.splitlines() if line.startswith("=")]


SHOWS = """
import json, sys
from IPython.core import display_functions
from IPython.display import clear_output, display
import repl_pair

if sys.argv[1:]:
    from IPython.core.interactiveshell import InteractiveShell
    InteractiveShell.instance()

class Card:
    def __repr__(self): return "Card"
    def _repr_html_(self): return "<b>card</b>"

@repl_pair.story("app")
def app(clears: bool = False):
    display(Card(), {"n": 1})
    if clears:
        clear_output()
    display(2)
    print("printed")

repl_pair.variant("app/A")
repl_pair.variant("app/B", args={"clears": True})
for id in ("app/A", "app/B"):
    ran = repl_pair.run(id, check=True)
    print("=" + json.dumps([id, ran.stdout, [dict(shown) for shown in ran.outputs]]))
repl_pair.runtime.capture.capture.uninstall()
print("=" + json.dumps("print" in vars(display_functions)))
"""
CARD = {"text/plain": "Card", "text/html": "<b>card</b>"}


@pytest.mark.parametrize("shell", [[], ["with a shell"]], ids=["no shell", "a shell"])
def test_what_a_run_displays_is_its_output_with_a_shell_and_without(tmp_path, shell):
    first, second, left = shown_by(tmp_path, SHOWS, *shell)
    assert first == ["app/A", "printed\n", [CARD, {"text/plain": "{'n': 1}"}, {"text/plain": "2"}]]
    assert second == ["app/B", "printed\n", [{"text/plain": "2"}]]
    assert left is False


UPDATES = """
import json, sys
from IPython.display import DisplayHandle, clear_output, display
from IPython.display import publish_display_data, update_display
import repl_pair

if sys.argv[1:]:
    from IPython.core.interactiveshell import InteractiveShell
    InteractiveShell.instance()

class Bold:
    def _repr_html_(self): return "<b>"

@repl_pair.story("app")
def app():
    handle = display("first", display_id=True)
    named = display(1, 2, display_id="named")
    handle.update("second")
    named.update(3)
    update_display(4, display_id=named.display_id)
    DisplayHandle("later").display("it")
    display(display_id="empty").update("filled")
    display({"text/plain": "raw"}, raw=True)
    display(Bold(), exclude=["text/plain"])
    publish_display_data({"text/plain": "published"})

@repl_pair.story("clears")
def clears():
    display("old")
    clear_output(wait=True)
    display("new", clear=True)
    clear_output(wait=True)

@repl_pair.story("fails")
def fails():
    display(1, update=True)

for story in ("app", "clears", "fails"):
    ran = repl_pair.run(repl_pair.variant(f"{story}/It"))
    print("=" + json.dumps([[shown.get("text/plain") for shown in ran.outputs], ran.reason]))
repl_pair.runtime.capture.capture.uninstall()
print("=" + json.dumps([display.__code__.co_varnames[0], "raw" in display.__kwdefaults__]))
"""


@pytest.mark.parametrize("shell", [[], ["with a shell"]], ids=["no shell", "a shell"])
def test_a_display_with_an_id_gives_its_handle_and_all_options_do_what_they_do(tmp_path, shell):
    shown = shown_by(tmp_path, UPDATES, *shell)
    updated = ["'second'", "4", "4", "'it'", "'filled'", "raw", None, "published"]
    required = "TypeError: display_id required for update_display"
    assert shown == [[updated, ""], [["'new'"], ""], [[], required], ["include", True]]


FIGURES = """
import json, sys
from IPython.display import display
from matplotlib import pyplot
from matplotlib.figure import Figure
import repl_pair
from repl_pair.runtime.snapshots.forms import output_images, output_texts

if sys.argv[1:]:
    from IPython.core.interactiveshell import InteractiveShell
    InteractiveShell.instance()

def closed():
    figure, axes = pyplot.subplots()
    display(figure)
    pyplot.close(figure)

def left_open():
    display(pyplot.subplots()[0])

for component in (closed, left_open, lambda: display(Figure()), Figure):
    repl_pair.story("drawn", component=component)
    ran = repl_pair.run(repl_pair.variant("drawn/It"))
    print("=" + json.dumps([output_texts(ran.outputs, str), [*output_images(ran.outputs)]]))
"""


@pytest.mark.parametrize("shell", [[], ["with a shell"]], ids=["no shell", "a shell"])
def test_a_figure_that_is_displayed_is_an_output_with_its_image(tmp_path, shell):
    assert shown_by(tmp_path, FIGURES, *shell) == [[["<image/png>"], ["0.png"]]] * 4


PLOTLY = {
    "basedatatypes.py": """
class BaseFigure:
    def show(self, renderer=None):
        from plotly.io._renderers import show
        show({"y": 1}, renderer)

    def _ipython_display_(self):
        print("no renderer")
""",
    "io/_renderers.py": """
from IPython.display import display

class Renderers(dict):
    def _build_mime_bundle(self, figure, renderers_string=None):
        return {"image/png": "AAAA"} if renderers_string else {}

    def _perform_external_rendering(self, figure, renderers_string=None):
        print("opens a browser")

class Mimetype:
    def to_mimebundle(self, figure):
        return {"application/vnd.plotly.v1+json": figure}

renderers = Renderers(plotly_mimetype=Mimetype())

def show(figure, renderer):
    if bundle := renderers._build_mime_bundle(figure, renderers_string=renderer):
        display(bundle, raw=True)
    renderers._perform_external_rendering(figure, renderers_string=renderer)
""",
}
SHOWS_PLOTLY = """
import json
from IPython.display import display
import repl_pair

@repl_pair.story("app")
def app():
    from plotly.basedatatypes import BaseFigure
    display(BaseFigure())
    BaseFigure().show()
    BaseFigure().show("png")

ran = repl_pair.run(repl_pair.variant("app/It"))
print("=" + json.dumps([ran.stdout, *ran.outputs]))
repl_pair.runtime.capture.capture.uninstall()
app()
"""


def test_without_a_shell_plotly_shows_what_it_does_in_a_kernel_and_opens_no_browser(tmp_path):
    for name, source in PLOTLY.items():
        file = tmp_path / "plotly" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    chart = {"application/vnd.plotly.v1+json": {"y": 1}}
    assert shown_by(tmp_path, SHOWS_PLOTLY) == [["", chart, chart, {"image/png": "AAAA"}]]
