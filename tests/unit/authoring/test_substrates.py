import asyncio
import json
import subprocess
import sys
import types
from dataclasses import replace

import pytest

import repl_pair
from repl_pair.errors import AuthoringError, RequestError, next_step
from repl_pair.runtime.authoring.substrates import list_substrates
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.ops.running import preview_variant, run_variant
from repl_pair.runtime.registry.registry import REGISTRY

LIBRARIES = ("matplotlib", "PIL", "ipywidgets", "anywidget")
WITHOUT_IMPORT = f"""
import json, sys
from repl_pair.runtime.authoring.substrates import list_substrates
told = list_substrates()
print(json.dumps([told, [name for name in {LIBRARIES} if name in sys.modules]]))
"""


def by_id():
    return {line["id"]: (line["available"], line["why"]) for line in list_substrates()}


def test_each_rendering_states_what_makes_it_and_imports_nothing_for_that():
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_IMPORT],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    seen, loaded = json.loads(ran.stdout)
    assert loaded == []
    assert [line["id"] for line in seen] == ["text", "html", "png", "widget"]
    assert [line["available"] for line in seen] == [True] * 4
    assert seen[2]["why"] == ("figures and images; matplotlib can be imported, PIL can be imported")


def test_a_kernel_without_the_libraries_has_text_and_html(monkeypatch):
    for name in LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)
    seen = by_id()
    assert {id: there for id, (there, _) in seen.items()} == {
        "text": True,
        "html": True,
        "png": False,
        "widget": False,
    }
    assert seen["png"][1] == "figures and images; neither matplotlib nor PIL is installed"


def test_what_is_loaded_is_reported_from_what_can_be(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", types.ModuleType("ipywidgets"))
    monkeypatch.setitem(sys.modules, "anywidget", None)
    assert by_id()["widget"] == (True, "widgets; ipywidgets is loaded")


ASKED = [
    lambda: repl_pair.run("shop/A", substrate="htlm"),
    lambda: asyncio.run(repl_pair.arun("shop/A", substrate="htlm")),
    lambda: repl_pair.share("shop/A", substrate="htlm"),
    lambda: asyncio.run(run_variant(Call(), "shop/A", substrate="htlm")),
    lambda: asyncio.run(preview_variant(Call(), "shop/A", substrate="htlm")),
]


@pytest.mark.parametrize("ask", ASKED)
def test_a_rendering_that_is_none_is_refused_with_the_nearest_where_it_is_asked_for(ask):
    repl_pair.story("shop", component=lambda: 1)
    repl_pair.variant("shop/A")
    with pytest.raises(RequestError) as refused:
        ask()
    assert (refused.value.code, refused.value.message, refused.value.next_steps) == (
        "not_found",
        "There is no substrate 'htlm'. Nearest: html. There are text, html, png, widget.",
        (next_step("list_substrates"),),
    )


def print_it(text: str = ""):
    print(text)


WRONG = {"A": {"substrates": ["htlm"]}}


@pytest.mark.parametrize(
    "write",
    [
        lambda: repl_pair.story("shop", component=lambda: 1, substrates=["text", "htlm"]),
        lambda: repl_pair.variant("shop/A", substrates=["htlm"]),
        lambda: repl_pair.story("shop", component=print_it, variants=WRONG),
    ],
)
def test_a_rendering_that_is_none_is_refused_with_the_nearest_where_it_is_registered(write):
    repl_pair.story("shop", component=lambda: 1)
    with pytest.raises(AuthoringError, match=r"no substrate 'htlm'\. Nearest: html") as refused:
        write()
    assert refused.value.code == "not_found"
    assert REGISTRY.find("variant", "shop/A") is None


def test_a_rendering_that_left_the_table_cannot_be_run_in():
    repl_pair.story("shop", component=lambda: 1)
    repl_pair.variant("shop/A")
    entry = REGISTRY.get("variant", "shop/A")
    body = replace(entry.body, substrates=("reagent",))
    REGISTRY.register("variant", "shop/A", body, origin=entry.origin)
    record = repl_pair.run("shop/A")
    assert (record.status, record.reason) == (
        "cannot_run",
        "shop/A: There is no substrate 'reagent'. There are text, html, png, widget.",
    )
