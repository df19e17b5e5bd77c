import json
import subprocess
import sys
import types

from repl_pair.runtime.substrates import list_substrates

LIBRARIES = ("matplotlib", "PIL", "ipywidgets", "anywidget")
WITHOUT_IMPORT = f"""
import json, sys
from repl_pair.runtime.substrates import list_substrates
told = list_substrates()
print(json.dumps([told, [name for name in {LIBRARIES} if name in sys.modules]]))
"""


def by_id():
    return {line["id"]: (line["available"], line["why"]) for line in list_substrates()}


def test_each_rendering_says_what_makes_it_and_imports_nothing_for_that():
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_IMPORT],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    told, loaded = json.loads(ran.stdout)
    assert loaded == []
    assert [line["id"] for line in told] == ["text", "html", "png", "widget"]
    assert [line["available"] for line in told] == [True] * 4
    assert told[2]["why"] == ("figures and images; matplotlib can be imported, PIL can be imported")


def test_a_kernel_without_the_libraries_has_text_and_html(monkeypatch):
    for name in LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)
    told = by_id()
    assert {id: there for id, (there, _) in told.items()} == {
        "text": True,
        "html": True,
        "png": False,
        "widget": False,
    }
    assert told["png"][1] == "figures and images; neither matplotlib nor PIL is installed"


def test_what_is_loaded_is_told_from_what_can_be(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", types.ModuleType("ipywidgets"))
    monkeypatch.setitem(sys.modules, "anywidget", None)
    assert by_id()["widget"] == (True, "widgets; ipywidgets is loaded")
