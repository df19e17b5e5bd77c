"""What is read of a cell's outputs: its results by name, and how two lists of outputs differ."""

import pytest

from repl_pair.pytest_plugin.notebooks.notebook import results_in
from repl_pair.pytest_plugin.notebooks.outputs import WIDGET_VIEW, differences
from repl_pair.runtime.results.notebook_results import RESULTS_MIME


def result(status="pass", **slots):
    given = {"id": "shop/A", "modes": [], "status": status, "assertions": 1, "failures": []}
    return {**given, "tags": [], "content_hash": "rp1:0", **slots}


def shown(*results, version=1):
    data = {"version": version, "results": list(results)}
    return {"output_type": "display_data", "data": {RESULTS_MIME: data}}


def display(**data):
    return {"output_type": "display_data", "data": data}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def view(id):
    return {"output_type": "display_data", "data": {WIDGET_VIEW: {"model_id": id}}}


def widgets(id, **state):
    return {id: {"model_name": "BoxModel", "state": state}}


def compare(stored, now, stored_widgets=None, now_widgets=None):
    return differences(
        stored,
        now,
        compare_images=lambda _mime, before, after: "" if before == after else "another image",
        stored_widgets=stored_widgets or {},
        widgets=now_widgets or {},
    )


def test_results_have_the_names_of_their_runs_and_one_shown_again_counts_once():
    eur = result(modes=["eur", "dark"])
    found = results_in([shown(result(), eur), shown(result()), shown(result("fail"))])
    assert list(found) == ["shop/A", "shop/A[eur+dark]", "shop/A#2"]
    assert found["shop/A#2"].status == "fail"


def test_results_of_another_version_are_refused():
    with pytest.raises(ValueError, match="execute the notebook and save it"):
        results_in([shown(result(), version=2)])


def test_outputs_are_alike_whatever_is_volatile_in_them():
    before = [stream("a"), stream("b\n"), display(text="<A at 0x7fffabcd1234>, 3.2 ms")]
    after = [stream("ab\n"), display(text="<A at 0x7fff00001111>, 41 ms")]
    assert compare(before, after) == []
    assert compare([display(j={"s": ["12 ms"]})], [display(j={"s": ["9 ms"]})]) == []


def test_text_is_compared_wherever_it_came_between_displays():
    first, second = display(text="1"), display(text="2")
    before = [stream("a"), stream("!", name="stderr"), first, second]
    assert compare(before, [first, stream("a"), second, stream("!", name="stderr")]) == []


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        ([display(text="a")], [display(text="b")], "-a\n+b"),
        ([display(text="a")], [], "-display: text"),
        ([display(text="a"), display(b="b")], [display(b="b"), display(text="a")], "MIME types"),
        ([display(text="a")], [display(text="a", html="b")], "MIME types of a display"),
        ([display(**{"image/png": "x"})], [display(**{"image/png": "y"})], "another image"),
        ([stream("a")], [stream("a", name="stderr")], "+stderr"),
    ],
)
def test_what_differs_is_reported(before, after, seen):
    assert seen in "\n".join(compare(before, after))


@pytest.mark.parametrize(
    "refers",
    [
        lambda id: {"children": [f"IPY_MODEL_{id}"]},
        lambda id: {"start": {"ref": f"anywidget:{id}"}},
    ],
)
def test_widgets_are_compared_by_their_states_not_their_ids(refers):
    before = {**widgets("1", **refers("2")), **widgets("2", value=3)}
    alike = {**widgets("8", **refers("9")), **widgets("9", value=3)}
    other = {**widgets("8", **refers("9")), **widgets("9", value=4)}
    assert compare([view("1")], [view("8")], before, alike) == []
    assert '+   "value": 4' in "\n".join(compare([view("1")], [view("8")], before, other))


def test_a_widget_whose_state_was_not_stored_is_let_be():
    assert compare([view("1")], [view("8")], {}, widgets("8", value=3)) == []
