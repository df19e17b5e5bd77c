"""Parts of stored outputs: where they are, what is stored, and what was accepted."""

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
from repl_pair.runtime.snapshots.artifacts import accept_rendered
from repl_pair.runtime.snapshots.forms import (
    compare_images,
    output_images,
    output_texts,
)
from repl_pair.runtime.snapshots.places import file_stem, folder_of, story_file
from repl_pair.runtime.snapshots.records import SnapshotKey, Stored, Unreadable
from repl_pair.runtime.snapshots.review import (
    accept,
    reject,
    waiting_snapshots,
    write_accepted,
)
from repl_pair.runtime.snapshots.states import Unstorable
from repl_pair.runtime.snapshots.store import SNAPSHOTS, SnapshotStore


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setattr(SNAPSHOTS, "folder", tmp_path)
    return SNAPSHOTS


def key(name="", variant="One", modes=()):
    return SnapshotKey(variant_id=f"shop.quote/{variant}", modes=modes, name=name)


ABOUT = {"code_hash": "rc1:c", "slots": {"args": {"hash": "rp1:a", "shown": {"n": "ü\u2028\r"}}}}


def test_what_cannot_be_written_leaves_no_draft_behind(store, tmp_path, monkeypatch):
    def fail(_path, _target):
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="full"):
        store.write(key(), Stored(text="1\n"))
    assert list(tmp_path.iterdir()) == []


def test_what_a_module_registers_is_stored_beside_its_file():
    repl_pair.story("beside", component=lambda: 1)
    repl_pair.variant("beside/It")
    here = Path(__file__).resolve()
    assert folder_of("beside/It") == here.parent / "__repl_pair__" / here.stem


def test_a_process_that_was_reported_of_a_variant_finds_the_same_place(tmp_path):
    (tmp_path / "stories_far.py").touch()
    code = (
        "from repl_pair.runtime.registry.model import Origin, Variant\n"
        "from repl_pair.runtime.registry.registry import REGISTRY\n"
        "from repl_pair.runtime.snapshots.places import folder_of\n"
        "origin = Origin(key='sent:module:stories_far', label='', line=1)\n"
        "REGISTRY.register('variant', 'far/It', Variant(), origin=origin)\n"
        "print(folder_of('far/It'))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(tmp_path.resolve() / "__repl_pair__" / "stories_far")


def test_a_stored_output_is_given_back_whole_and_replaced_whole(store):
    first = Stored(text="a\n", about=ABOUT, images={"0.png": b"one", "1.png": b"two"})
    store.write(key(), first)
    assert store.find(key()) == first
    assert SnapshotStore(store.folder).find(key()) == first
    second = Stored(text="b\n", images={"0.png": b"other"})
    store.write(key(), second)
    assert store.find(key()) == second
    assert len(list(store.folder.rglob("*.png"))) == 1
    store.remove(key())
    assert store.find(key()) is None
    assert list(store.folder.iterdir()) == []


TEXTS = [
    "",
    "\n",
    "no newline",
    "\n\n a \n\n",
    "shop.quote/Two\n<<<<<<< HEAD\nend\n  | x\n: y\n\\ no newline at the end",
    "a\rb\r\n\x00\x85\u2028\u3000 \t|\ud800\x0c",
    "中文\n🙂\n\ttab",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_every_text_comes_back_as_it_was_also_where_git_wrote_other_line_ends(store, text, ends):
    store.write(key("it"), Stored(text=text, about=ABOUT))
    store.write(key(), Stored(text="other\n"))
    (path,) = store.folder.glob("*.txt")
    path.write_bytes(path.read_bytes().replace(b"\n", ends))
    assert store.find(key("it")) == Stored(text=text, about=ABOUT)
    assert store.find(key()) == Stored(text="other\n")


NAMES = ["a b", "a_b", "A b", "a/b", "一", "二", "", 'say "x"', "x" * 300, "x" * 301, "con", "\n"]


def test_names_and_ids_never_share_a_file_on_any_disk_and_can_be_read(store):
    keys = [key(name, variant, modes) for name in NAMES for variant in ("One", "one")
            for modes in ((), ("usd",), ("dark", "usd"))]  # fmt: skip
    for number, one in enumerate(keys):
        store.write(one, Stored(text=f"{number}\n", images={"0.png": b"%d" % number}))
    for number, one in enumerate(keys):
        found = store.find(one)
        assert (found.text, found.images) == (f"{number}\n", {"0.png": b"%d" % number})
    files = {path.name.lower() for path in store.folder.rglob("*.png")}
    assert len(files) == len(keys)
    assert max(len(name.encode()) for name in files) < 120
    assert file_stem(key("一 first", modes=("currency/usd",))).startswith(
        "One_currency_usd_一_first~"
    )
    stories = {story_file(Path(), f"{id}/One").name.lower() for id in ("shop", "Shop", "SHOP")}
    assert len(stories) == 3


def test_an_image_that_is_cut_or_gone_is_named_and_the_other_entries_are_read(store):
    store.write(key(), Stored(text="a\n", images={"0.png": b"image"}))
    store.write(key("two"), Stored(text="b\n"))
    (image,) = store.folder.rglob("*.png")
    for spoil, what in (
        (lambda: image.write_bytes(b"imag"), "it is not the image that was stored"),
        (image.unlink, "there is no such image"),
    ):
        spoil()
        found = store.find(key())
        assert isinstance(found, Unreadable)
        assert found.place.endswith("shop.quote.txt:3")
        assert found.what.endswith(f"{image.name}: {what}")
        assert store.find(key("two")).text == "b\n"


STORING = """
import sys
from pathlib import Path
from repl_pair.runtime.snapshots.store import SnapshotStore
from repl_pair.runtime.snapshots.records import SnapshotKey, Stored
store = SnapshotStore(Path(sys.argv[1]))
sys.stdin.readline()
for n in range(25):
    key = SnapshotKey(variant_id="s/It", name=f"{sys.argv[2]} {n}")
    store.write(key, Stored(text="x", images={"0.png": b"x"} if n % 5 == 0 else {}))
"""


def test_processes_that_store_at_once_lose_nothing(tmp_path):
    running = [
        subprocess.Popen([sys.executable, "-c", STORING, str(tmp_path), who], stdin=subprocess.PIPE)
        for who in "ab"
    ]
    for one in running:
        one.stdin.write(b"go\n")
        one.stdin.flush()
    assert [one.wait(60) for one in running] == [0, 0]
    for one in running:
        one.stdin.close()
    store = SnapshotStore(tmp_path)
    assert {key.name for key in store.listed()} == {f"{who} {n}" for who in "ab" for n in range(25)}
    assert all(isinstance(store.find(key), Stored) for key in store.listed())


def git(folder, *args):
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *args],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_git_merges_entries_that_are_apart_and_what_it_cannot_is_unreadable(tmp_path):
    store = SnapshotStore(tmp_path / "kept")
    for name in "adg":
        store.write(key(name), Stored(text=f"{name}\n1\n2\n3\n"))

    def branch(base, name, **texts):
        git(tmp_path, "checkout", "-q", "-b", name, *([base] if base else []))
        for entry, text in texts.items():
            store.write(key(entry), Stored(text=text))
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", name)

    git(tmp_path, "init", "-q")
    branch(None, "base")
    branch("base", "one", b="new b\n", g="g\n1\n")
    branch("base", "two", e="new e\n", a="a\n5\n")
    branch("base", "three", e="another e\n")
    git(tmp_path, "checkout", "-q", "one")
    assert git(tmp_path, "merge", "-q", "two", "-m", "merged").returncode == 0
    texts = {name: store.find(key(name)).text for name in "abdeg"}
    expected = {"a": "a\n5\n", "b": "new b\n", "d": "d\n1\n2\n3\n", "e": "new e\n", "g": "g\n1\n"}
    assert texts == expected
    assert git(tmp_path, "merge", "three").returncode == 1
    found = store.find(key("e"))
    assert isinstance(found, Unreadable)
    assert "git could not merge it" in found.what


CONFLICTS = {
    "both of two": ({"A": "A0", "B": "B0"}, {"A": "A1", "B": "B1"}, {"A": "A2", "B": "B2"}),
    "one, and a new one": ({"A": "A0"}, {"A": "A1"}, {"A": "A2", "B": "B2"}),
    "new ones with the same text": ({"C": "C0"}, {"B": "AB"}, {"A": "AB"}),
}
"""Texts of outputs in the base of two branches, and in each; a text names those that have it."""


@pytest.mark.parametrize("style", ["merge", "diff3"])
@pytest.mark.parametrize("texts", CONFLICTS.values(), ids=CONFLICTS)
def test_what_a_conflict_has_of_an_output_stays_until_that_one_is_stored(tmp_path, texts, style):
    store = SnapshotStore(tmp_path / "kept")
    git(tmp_path, "init", "-q")
    for name, given in zip(("base", "one", "two"), texts, strict=True):
        git(tmp_path, "checkout", "-q", "-b", name, *(["base"] if name != "base" else []))
        for variant, text in given.items():
            store.write(key(variant=variant), Stored(text=text))
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", name)
    assert git(tmp_path, "-c", f"merge.conflictStyle={style}", "merge", "one").returncode == 1
    path = store.path_of(key())
    conflicted = path.read_text()
    for order in ("ABC", "BAC"):
        path.write_text(conflicted)
        for variant in order:
            store.write(key(variant=variant), Stored(text="new"))
            left = order.partition(variant)[2]
            lines = [line for line in conflicted.splitlines() if line[:3] == "  |"]
            assert {line for line in lines if {*left} & {*line}} <= {*path.read_text().splitlines()}
        assert {store.find(key(variant=variant)).text for variant in order} == {"new"}


TWO = b"shop.quote/Two\n  | 2\n"
SPOILT = {
    "a conflict in one output": b"<<<<<<< a\nshop.quote/Two\n  | 2\n=======\n"
    b"shop.quote/Two\n  | 3\n>>>>>>> b\n",
    "a conflict with empty lines": b"<<<<<<< a\n\nshop.quote/Two\n  | 2\n\n=======\n\n"
    b"shop.quote/Two\n  | 3\n\n>>>>>>> b\n",
    "one there twice": TWO + b"\nshop.quote/Two\n  | 3\n",
    "one with an empty line": TWO + b"\n  | 3\n",
    "one that is no text": b"shop.quote/Two\n  | \xff\n",
    "one with bad JSON": b'shop.quote/Two\n  : "2\n',
    "one that was cut": None,
}


def test_a_conflict_over_several_outputs_ends_once_all_of_them_are_stored(store):
    names = ("A", "B", "C", "D")
    for name in names[:2]:
        store.write(key(variant=name), Stored(text=f"{name}\n"))
    path = store.path_of(key())
    path.write_bytes(
        path.read_bytes()
        .replace(b"shop.quote/B", b"<<<<<<< a\nshop.quote/B")
        .replace(
            b"\n\nend",
            b"\n\nshop.quote/C\n  | C\n=======\nshop.quote/D\n  | D\n\nshop.quote/B\n"
            b"  | other\n>>>>>>> b\n\nend",
        )
    )
    for name in ("A", "C", "B"):
        store.write(key(variant=name), Stored(text=f"{name}\n"))
        assert isinstance(store.find(key(variant="D")), Unreadable)
    store.write(key(variant="D"), Stored(text="D\n"))
    assert [store.find(key(variant=name)).text for name in names] == [f"{n}\n" for n in names]


@pytest.mark.parametrize("spoilt", SPOILT.values(), ids=SPOILT)
def test_what_is_spoilt_stays_and_is_named_until_that_output_is_stored_again(store, spoilt):
    one, two = key(), key(variant="Two")
    for each, text in ((one, "1\n"), (two, "2\n")):
        store.write(each, Stored(text=text))
    path = store.path_of(one)
    good = path.read_bytes()
    assert TWO in good
    path.write_bytes(good[: -len(b"\nend\n")] if spoilt is None else good.replace(TWO, spoilt))
    for _ in range(2):
        store.write(one, Stored(text="1\n"))
        assert isinstance(store.find(two), Unreadable)
        kept = path.read_bytes()
        for line in (TWO if spoilt is None else spoilt).splitlines():
            assert line in kept or line.startswith((b"<", b"=", b">"))
        assert kept.count(b"/Two") == (1 if spoilt is None else spoilt.count(b"/Two"))
    store.write(two, Stored(text="2\n"))
    assert path.read_bytes() == good


def test_styled_tables_have_one_text_in_every_process():
    frame = pd.DataFrame({"a": [1, 2]})
    texts = {output_texts([{"text/html": frame.style._repr_html_()}], str)[0] for _ in range(3)}
    assert len(texts) == 1


def test_bitmaps_are_taken_by_place_and_a_sentence_in_their_stead_is_refused():
    cut = "[image/jpeg of 9 characters is over the limit of 8]"
    bundles = [{"text/plain": "1"}, {"image/png": "AAEC\n", "text/plain": "<Figure>"}]
    assert output_images(bundles) == {"1.png": b"\x00\x01\x02"}
    with pytest.raises(Unstorable, match=r"was not kept whole: \[image/jpeg of 9 c"):
        output_images([*bundles, {"image/jpeg": cut}])


def picture(*dots, size=(20, 10), level=6):
    image = Image.new("RGB", size, "white")
    for dot in dots:
        image.putpixel(dot, (0, 0, 0))
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=level)
    return file.getvalue()


def animation(*dots, frames=2):
    """Make a GIF whose frames each have one black dot, and the others a white one."""
    images = [Image.open(io.BytesIO(picture((at, 0), *dots[at : at + 1]))) for at in range(frames)]
    file = io.BytesIO()
    images[0].save(file, "GIF", save_all=True, append_images=images[1:])
    return file.getvalue()


def test_every_frame_of_an_animation_is_compared():
    one = animation()
    assert compare_images(one, animation((0, 0)), tolerance=0) is None
    other = animation((0, 0), (9, 9))
    found = compare_images(one, other, tolerance=0)
    assert found.words == "1 of 200 pixels differ (0.50%), over 0.00%"
    assert compare_images(one, other, tolerance=1 / 200) is None
    longer = compare_images(one, animation(frames=3), tolerance=1)
    assert (longer.words, longer.diff) == ("it had 2 frames and has 3", b"")


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
    for bad in (b"none", one[:60]):
        assert compare_images(blank, bad, tolerance=1).words.endswith("they are not an image")


@pytest.fixture
def decided(store):
    repl_pair.story("decided", component=lambda: 1)
    repl_pair.variant("decided/It", play=[check.matches_snapshot()])

    def decide(act):
        repl_pair.run("decided/It")
        return act(waiting_snapshots()["decided/It"])

    return decide


def test_what_was_accepted_here_is_accepted_elsewhere_and_an_undo_forgets_it(
    decided, store, tmp_path, monkeypatch
):
    def written(name):
        write_accepted(tmp_path / name)
        return {key.variant_id for key in SnapshotStore(tmp_path / name / "actual").listed()}

    decide = decided
    decide(reject)()
    assert "decided/It" not in written("first")
    decide(accept)()
    assert "decided/It" not in written("second")
    decide(accept)
    assert "decided/It" in written("third")
    monkeypatch.setattr(SNAPSHOTS, "folder", tmp_path / "elsewhere")
    assert repl_pair.run("decided/It").status == "cannot_run"
    found = {one.label: one.refusal for one in accept_rendered(tmp_path / "third")}
    assert found["decided/It"] == ""
    assert repl_pair.run("decided/It").status == "pass"


NEW = "`pytest --pair-notebook --pair-update NOTEBOOK` stores what is new in a notebook."


def test_what_belongs_to_nothing_here_is_not_accepted(decided, store, tmp_path):
    rendered = {name: SnapshotStore(tmp_path / name / "actual") for name in ("py1", "py2")}
    it = SnapshotKey(variant_id="decided/It")
    for name, one in rendered.items():
        one.write(it, Stored(text=f"{name}\n"))
    usd = SnapshotKey(variant_id="decided/It", modes=("usd-",))
    rendered["py1"].write(usd, Stored(text="1\n"))
    rendered["py1"].write(SnapshotKey(variant_id="decided/Ti"), Stored(text="1\n"))
    rendered["py1"].write(SnapshotKey(variant_id="far/It"), Stored(text="1\n"))
    path = tmp_path / "py1" / "actual" / "far.txt"
    path.write_text("repl-pair outputs 1\n")
    found = {one.label.rpartition("/actual/")[2]: one.refusal for one in accept_rendered(tmp_path)}
    assert found == {
        "far.txt:2": "it was cut: the last line is not 'end'",
        "decided/It": "several runs gave outputs that differ; give the folder of one of them",
        "decided/It[usd-]": "there is no mode 'usd-'.",
        "decided/Ti": f"no story file registers it. Nearest: decided/It. {NEW}",
    }
    assert store.find(it) is None
    assert {one.refusal for one in accept_rendered(tmp_path / "py2")} == {""}
    assert store.find(it).text == "py2\n"
    with pytest.raises(RequestError, match="There is no folder 'actual' with outputs below"):
        accept_rendered(tmp_path / "py2" / "actual" / "nothing")
