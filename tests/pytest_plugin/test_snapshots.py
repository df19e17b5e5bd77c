"""Stored snapshots under pytest: beside the stories, updated, reviewed, and unused ones found."""

import json
import shutil

import pytest
from snapshot_project import Stories, new_stories

STORIES = """
import os
import repl_pair
from repl_pair import check

repl_pair.mode("currency/usd", axis="currency", args={"currency": "usd"})


def quote(n: int = 1, currency: str = "eur"):
    return {"total": n * int(os.environ.get("PRICE", "2")), "currency": currency}


repl_pair.story("quote", component=quote, modes=["currency/usd"])
repl_pair.variant("quote/One", play=[check.matches_snapshot()])
if "GONE" not in os.environ:
    n = int(os.environ.get("N", "2"))
    repl_pair.variant("quote/Two", args={"n": n}, play=[check.matches_snapshot("first")])
"""
BOTH = ["stories_shop/quote/One/result.txt"] * 2 + ["stories_shop/quote/Two/first.txt"] * 2


@pytest.fixture
def project(tmp_path):
    made = new_stories(tmp_path)
    made.write("stories_shop.py", STORIES)
    return made


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A project whose snapshots are stored."""
    made = new_stories(tmp_path_factory.mktemp("stored"))
    made.write("stories_shop.py", STORIES)
    assert made.pytest("--pair-update").code == 0
    return made


@pytest.fixture
def stored(template, project):
    """A copy of it."""
    shutil.copytree(template.path / "__snapshots__", project.path / "__snapshots__")
    return project


def test_what_is_not_stored_fails_until_it_is_stored_beside_the_stories(project):
    failed = project.pytest()
    assert failed.code == 1
    assert "there is no snapshot of quote/One yet. pytest --pair-update stores" in failed.out
    assert project.stored() == []
    updated = project.pytest("--pair-update")
    assert (updated.code, project.stored()) == (0, BOTH), updated.out
    assert "snapshots stored: quote/One, quote/Two 'first'" in updated.out
    again = project.pytest()
    assert again.code == 0
    assert "snapshots" not in again.out


def test_another_output_fails_and_names_what_differs(stored):
    failed = stored.pytest("-k", "quote/One and not usd", PRICE="5")
    assert failed.code == 1
    assert "quote/One is not as it was stored:" in failed.out
    assert '-  "total": 2' in failed.out
    assert '+  "total": 5' in failed.out


def test_a_changed_variant_shows_which_slot_changed_and_of_its_own_modes_only(stored):
    failed = stored.pytest(N="3")
    assert failed.code == 1
    changed = "quote/Two 'first' changed since its snapshot was stored: args.n was 2 and is 3."
    assert failed.out.count(changed) == 2
    assert "modes" not in failed.out.split("changed since")[1].splitlines()[0]


@pytest.mark.full
@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one", "two"])
def test_what_changed_leaves_old_files_that_are_found_once_its_runs_pass_and_removed(
    stored, processes
):
    assert "unused" not in stored.pytest(N="3").out
    narrow = stored.pytest("--pair-update", "-k", "One", N="3")
    assert (narrow.code, "removed" in narrow.out) == (0, False)
    updated = stored.pytest("--pair-update", *processes, N="3")
    assert updated.code == 0
    assert updated.out.count("__snapshots__/stories_shop/quote/Two/first.") == 2
    assert stored.stored() == BOTH
    assert stored.pytest(N="3").code == 0


@pytest.mark.parametrize(
    ("selected", "told"),
    [
        ((), True),
        (("-n", "2"), True),
        (("-k", "usd"), False),
        (("--pair-modes", "currency/usd"), True),
        (("stories_shop.py::quote/One[currency/usd]",), False),
    ],
    ids=["all", "two processes", "by name", "by modes", "by id"],
)
def test_what_is_stored_for_a_variant_that_is_gone_is_unused_where_its_file_is_run_whole(
    stored, selected, told
):
    ran = stored.pytest(*selected, GONE="1")
    assert ran.code == 0, ran.out
    assert ("snapshots unused; --pair-update removes them:" in ran.out) == told, ran.out
    assert ran.out.count("quote/Two/first.") == 2 * told
    assert stored.stored() == BOTH


def test_nothing_is_unused_where_a_run_of_it_failed_or_was_left_out(stored):
    for args, how in [((), {"PRICE": "5"}), (("--pair-modes", "none"), {}), (("-k", "usd"), {})]:
        assert "unused" not in stored.pytest(*args, **how).out


def test_what_is_used_through_a_link_to_the_folder_is_not_unused(stored, tmp_path_factory):
    link = tmp_path_factory.mktemp("links") / "project"
    link.symlink_to(stored.path)
    ran = Stories(link).pytest("--pair-update")
    assert (ran.code, "removed" in ran.out) == (0, False), ran.out
    assert stored.stored() == BOTH


REVIEW = """
import os
os.environ["PRICE"] = "3"
import repl_pair
import stories_shop
from repl_pair.runtime.snapshots.review import reject, waiting_snapshots
for id in ("quote/One", "quote/Two"):
    repl_pair.run(id)
before = {p: p.read_bytes() for p in __import__("pathlib").Path("__snapshots__").rglob("*.*")}
repl_pair.accept_snapshot("quote/One")
reject(waiting_snapshots()["quote/Two#first"])
for path, content in before.items():
    path.write_bytes(content)
print(repl_pair.write_review("review.json"))
"""


def test_a_review_stores_the_very_outputs_that_it_accepts(stored):
    stored.write("review.py", REVIEW)
    assert stored.python("review.py") == "2\n"
    told = json.loads((stored.path / "review.json").read_text())
    assert [(one["variant_id"], one["name"], one["decision"]) for one in told] == [
        ("quote/One", "", "accept"),
        ("quote/Two", "first", "reject"),
    ]
    other = stored.pytest("--pair-review", "review.json", PRICE="4")
    assert other.code == 1
    assert "The review says to accept another output than this." in other.out
    ran = stored.pytest("--pair-review", "review.json", "-k", "not usd", PRICE="3")
    assert ran.code == 1
    assert "snapshots stored: quote/One" in ran.out
    assert "The review says to reject this output." in ran.out
    again = stored.pytest("-k", "not usd", PRICE="3")
    assert "1 failed, 1 passed" in again.out


def test_a_file_that_is_no_review_is_refused(stored):
    stored.write("review.json", '[{"variant_id": "quote/One"}]')
    refused = stored.pytest("--pair-review", "review.json")
    assert refused.code == 4
    assert "review.json is no review" in refused.out


IMAGES = """
import io, os
import repl_pair
from PIL import Image
from repl_pair import check


class Picture:
    def _repr_png_(self):
        image = Image.new("RGB", (40, 25), "white")
        for x in range(int(os.environ.get("DOTS", "0"))):
            image.putpixel((2 * x, 10), (0, 0, 0))
        file = io.BytesIO()
        image.save(file, "PNG", compress_level=int(os.environ.get("LEVEL", "6")))
        return file.getvalue()


repl_pair.story("picture", component=Picture)
repl_pair.variant("picture/Exact", play=[check.matches_snapshot()])
repl_pair.variant("picture/Near", play=[check.matches_snapshot(tolerance=0.01)])
"""


@pytest.mark.full
def test_images_are_stored_and_may_differ_by_as_many_pixels_as_are_allowed(tmp_path):
    project = new_stories(tmp_path)
    project.write("stories_pictures.py", IMAGES)
    assert project.pytest("--pair-update").code == 0
    assert project.stored("*.png") == [
        "stories_pictures/picture/Exact/result.0.png",
        "stories_pictures/picture/Near/result.0.png",
    ]
    assert project.pytest(LEVEL="0").code == 0, "other bytes, the same pixels"
    some = project.pytest("--pair-artifacts", "kept", DOTS="5")
    assert "1 failed, 1 passed" in some.out
    assert "image 0.png: 5 of 1000 pixels differ (0.50%), over 0.00%; see " in some.out
    kept = sorted(path.name for path in (tmp_path / "kept").rglob("*.png"))
    assert kept == ["actual.0.png", "diff.0.png", "expected.0.png"]
    many = project.pytest(DOTS="15")
    assert "2 failed" in many.out
    assert "15 of 1000 pixels differ (1.50%), over 1.00%" in many.out
    loose = ("-o", "repl_pair_image_tolerance=0.02")
    assert "1 failed, 1 passed" in project.pytest(*loose, DOTS="15").out
    refused = project.pytest("-o", "repl_pair_image_tolerance=2%")
    assert refused.code == 4
    assert "repl_pair_image_tolerance is a share from 0 to 1, not '2%'." in refused.out
