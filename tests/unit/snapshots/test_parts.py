"""Parts of stored outputs: where they lie, what is stored, what is nearest, what was decided."""

import io
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

import repl_pair
from repl_pair import check
from repl_pair.errors import RequestError
from repl_pair.runtime.snapshots.forms import (
    compare_images,
    fix_ids,
    output_images,
    output_texts,
    without_figures,
)
from repl_pair.runtime.snapshots.review import (
    Decision,
    Rules,
    accept,
    read_review,
    reject,
    rules_of,
    waiting_snapshots,
    write_review,
)
from repl_pair.runtime.snapshots.store import (
    SNAPSHOTS,
    SnapshotKey,
    Stored,
    folder_of,
)


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setattr(SNAPSHOTS, "folder", tmp_path)
    return SNAPSHOTS


def key(digest, name=""):
    return SnapshotKey(variant_id="shop.quote/One", content_hash=f"rp1:{digest}", name=name)


def about(**hashes):
    return {"slots": {slot: {"hash": value} for slot, value in hashes.items()}}


def test_what_a_module_registers_is_stored_beside_its_file():
    repl_pair.story("beside", component=lambda: 1)
    repl_pair.variant("beside/It")
    here = Path(__file__).resolve()
    assert folder_of("beside/It") == here.parent / "__snapshots__" / here.stem


def test_a_process_that_was_reported_of_a_variant_finds_the_same_place(tmp_path):
    (tmp_path / "stories_far.py").touch()
    code = (
        "from repl_pair.runtime.registry.model import Origin, Variant\n"
        "from repl_pair.runtime.registry.registry import REGISTRY\n"
        "from repl_pair.runtime.snapshots.store import folder_of\n"
        "origin = Origin(key='sent:module:stories_far', label='', line=1)\n"
        "REGISTRY.register('variant', 'far/It', Variant(), origin=origin)\n"
        "print(folder_of('far/It'))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(tmp_path.resolve() / "__snapshots__" / "stories_far")


def test_a_stored_output_is_given_back_whole_and_replaced_whole(store):
    first = Stored(text="a\n", about={"slots": {}}, images={"0.png": b"one", "1.png": b"two"})
    store.write(key("aa"), first)
    assert store.find(key("aa")) == first
    second = Stored(text="b\n", images={"0.png": b"other"})
    store.write(key("aa"), second)
    assert store.find(key("aa")) == second
    store.remove(key("aa"))
    assert store.find(key("aa")) is None


def test_the_nearest_of_other_contents_is_of_the_same_modes(store):
    same, far = (
        about(modes="m", substrate="s", args=1, events=1),
        about(modes="m", substrate="s", args=1, events=2),
    )
    store.write(key("aa"), Stored(text="near", about=same))
    store.write(key("bb"), Stored(text="far", about=far))
    store.write(key("cc"), Stored(text="usd", about=about(modes="usd", substrate="s", args=2)))
    store.write(key("dd", "named"), Stored(text="named", about=same))
    now = about(modes="m", substrate="s", args=2, events=1)
    assert store.find_other(key("ee"), now).text == "near"
    assert store.find_other(key("ee"), about(modes="chf", substrate="s", args=2)) is None
    assert store.find_other(key("ee"), None) is not None


def test_ids_that_libraries_make_up_are_numbered_and_others_stay():
    html = (
        '<table id="T_0a1b2"><td id="T_0a1b2_row0" class="x">1</td></table>'
        '<div id="9f8e7d6c-1234-4abc-8def-0123456789ab"></div><p id="total">T_0a1b2</p>'
    )
    assert fix_ids(html) == (
        '<table id="id1"><td id="id1_row0" class="x">1</td></table>'
        '<div id="id2"></div><p id="total">id1</p>'
    )
    assert fix_ids("<dc:date>2026-01-02</dc:date>") == "<dc:date>…</dc:date>"


def test_styled_tables_have_one_text_in_every_process():
    frame = pd.DataFrame({"a": [1, 2]})
    texts = {output_texts([{"text/html": frame.style._repr_html_()}])[0] for _ in range(3)}
    assert len(texts) == 1


def test_bitmaps_are_taken_by_place_and_a_sentence_in_their_stead_is_none():
    bundles = [
        {"text/plain": "1"},
        {"image/png": "AAEC\n", "text/plain": "<Figure>"},
        {"image/jpeg": "[image/jpeg of 9 characters is over the limit of 8]"},
    ]
    assert output_images(bundles) == {"1.png": b"\x00\x01\x02"}


def test_a_figure_is_stored_as_its_image_and_not_as_its_fields():
    from matplotlib.figure import Figure

    assert without_figures(Figure()) == "<Figure>"
    assert without_figures({"plot": Figure(), "n": 1}) == {"plot": "<Figure>", "n": 1}
    assert without_figures([Figure()]) == ["<Figure>"]
    kept = {"n": [1]}
    assert without_figures(kept) is kept


def picture(*dots, size=(20, 10), level=6):
    image = Image.new("RGB", size, "white")
    for dot in dots:
        image.putpixel(dot, (0, 0, 0))
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=level)
    return file.getvalue()


def test_images_differ_by_pixels_and_state_how():
    blank, one = picture(), picture((5, 5))
    assert compare_images(blank, blank, tolerance=0) is None
    assert compare_images(blank, picture(level=0), tolerance=0) is None
    assert compare_images(blank, one, tolerance=1 / 200) is None
    found = compare_images(blank, one, tolerance=0)
    assert found.words == "1 of 200 pixels differ (0.50%), over 0.00%"
    assert Image.open(io.BytesIO(found.diff)).size == (20, 10)
    sizes = compare_images(blank, picture(size=(20, 11)), tolerance=1)
    assert (sizes.words, sizes.diff) == ("it was 20 x 10 pixels and is 20 x 11", b"")
    assert compare_images(blank, b"none", tolerance=1).words.endswith("they are no image")


def test_a_decision_is_of_one_output_and_an_undo_forgets_it(store, tmp_path):
    repl_pair.story("decided", component=lambda: 1)
    repl_pair.variant("decided/It", play=[check.matches_snapshot()])
    path = tmp_path / "review.json"

    def decide(act):
        repl_pair.run("decided/It")
        return act(waiting_snapshots()["decided/It"])

    def written():
        write_review(path)
        return [d for d in read_review(path).values() if d.variant_id == "decided/It"]

    undo = decide(reject)
    assert [one.decision for one in written()] == ["reject"]
    undo()
    assert written() == []
    undo = decide(accept)
    (one,) = written()
    assert (one.decision, one.accepts(store.find(one.key))) == ("accept", True)
    assert not one.accepts(Stored(text="2\n"))
    undo()
    with rules_of(Rules(decided={one.key: one})):
        (found,) = repl_pair.run("decided/It").assertions
    assert (found.passed, found.reason) == (True, "it was stored now: a review said so")


@pytest.mark.parametrize("text", ["{", "[1]", '[{"variant_id": "a/B"}]'])
def test_what_is_no_review_is_refused(tmp_path, text):
    (tmp_path / "review.json").write_text(text)
    with pytest.raises(RequestError, match="is no review"):
        read_review(tmp_path / "review.json")


def test_a_decision_is_one_of_two(tmp_path):
    bad = {"variant_id": "a/B", "content_hash": "c", "digest": "d", "decision": "perhaps"}
    assert Decision(**bad)
    (tmp_path / "review.json").write_text(f"[{bad}]".replace("'", '"'))
    with pytest.raises(RequestError, match="accept or reject, not 'perhaps'"):
        read_review(tmp_path / "review.json")
