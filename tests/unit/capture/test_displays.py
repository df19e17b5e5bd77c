"""What `display` shows in a run is an output of it, with a shell and without."""

import json
import subprocess
import sys

import pytest

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
    file = tmp_path / "shows.py"
    file.write_text(SHOWS)
    ran = subprocess.run(
        [sys.executable, file, *shell], capture_output=True, text=True, timeout=60, check=True
    )
    first, second, left = (
        json.loads(line[1:]) for line in ran.stdout.splitlines() if line.startswith("=")
    )
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
    file = tmp_path / "updates.py"
    file.write_text(UPDATES)
    ran = subprocess.run(
        [sys.executable, file, *shell], capture_output=True, text=True, timeout=60, check=True
    )
    shown = [json.loads(line[1:]) for line in ran.stdout.splitlines() if line.startswith("=")]
    updated = ["'second'", "4", "4", "'it'", "'filled'", "raw", None, "published"]
    required = "TypeError: display_id required for update_display"
    assert shown == [[updated, ""], [["'new'"], ""], [[], required], ["include", True]]
