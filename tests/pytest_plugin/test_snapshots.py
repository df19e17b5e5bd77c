"""Stored snapshots under pytest: beside the stories, updated, accepted, and unused ones found."""

import shutil

import pytest
from bad_paths import BAD
from snapshot_project import new_stories

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
ONE = ["quote/One", "quote/One[currency/usd]"]
TWO = ["quote/Two 'first'", "quote/Two[currency/usd] 'first'"]
BOTH = ONE + TWO
FILE = "__repl_pair__/stories_shop/quote.txt"


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
    shutil.copytree(template.path / "__repl_pair__", project.path / "__repl_pair__")
    return project


def test_what_is_not_stored_fails_until_it_is_stored_beside_the_stories(project):
    failed = project.pytest()
    assert failed.code == 1
    assert "there is no snapshot of quote/One yet. pytest --pair-update stores" in failed.out
    assert project.stored() == []
    updated = project.pytest("--pair-update")
    assert (updated.code, project.stored()) == (0, BOTH), updated.out
    assert f"snapshots stored: {', '.join(BOTH)}" in updated.out
    files = [path.name for path in (project.path / "__repl_pair__").rglob("*.*")]
    assert files == ["quote.txt"]
    again = project.pytest()
    assert again.code == 0
    assert "snapshots" not in again.out


def test_another_output_fails_and_names_what_differs(stored):
    failed = stored.pytest("-k", "quote/One and not usd", PRICE="5")
    assert failed.code == 1
    assert "quote/One is not as it was stored:" in failed.out
    assert '-  "total": 2' in failed.out
    assert '+  "total": 5' in failed.out


def test_a_changed_variant_shows_which_slot_changed_and_the_difference(stored):
    failed = stored.pytest(N="3")
    assert failed.code == 1
    since = "not as it was stored, and since then args.n was 2 and is 3:"
    assert failed.out.count(since) == 2
    assert {'-  "total": 4,', '+  "total": 6,'} <= set(failed.out.splitlines())


@pytest.mark.full
def test_what_changed_is_stored_in_its_place_also_by_two_processes(stored):
    assert "unused" not in stored.pytest(N="3").out
    updated = stored.pytest("--pair-update", "-n", "2", N="3")
    assert (updated.code, "removed" in updated.out) == (0, False), updated.out
    assert stored.stored() == BOTH
    assert stored.pytest(N="3").code == 0


@pytest.mark.parametrize(
    ("selected", "seen"),
    [
        ((), True),
        pytest.param(("-n", "2"), True, marks=pytest.mark.full),
        (("-k", "usd"), False),
        (("--pair-modes", "currency/usd"), True),
        (("stories_shop.py::quote/One[currency/usd]",), False),
    ],
    ids=["all", "two processes", "by name", "by modes", "by id"],
)
def test_what_is_stored_for_a_variant_that_is_gone_is_unused_where_its_file_is_run_whole(
    stored, selected, seen
):
    ran = stored.pytest(*selected, GONE="1")
    assert ran.code == 0, ran.out
    assert ("snapshots unused; --pair-update removes them:" in ran.out) == seen, ran.out
    assert [ran.out.count(f"{FILE}: {label}\n") for label in TWO] == [seen, seen]
    assert stored.stored() == BOTH


MANY_MODES = """
import repl_pair
from repl_pair import check

MODES = [f"m{n}" for n in range(17)]
for mode in MODES:
    repl_pair.mode(mode, args={mode: 1})
repl_pair.story("sum", component=lambda **given: sum(given.values()), modes=MODES)
repl_pair.variant("sum/All", play=[check.matches_snapshot()])
"""


def test_combinations_that_are_named_are_run_also_of_more_modes_than_could_be_combined(tmp_path):
    project = new_stories(tmp_path)
    project.write("stories_sum.py", MANY_MODES)
    of_one = ["--pair-modes", "none"]
    assert project.pytest("--pair-update", *of_one).code == 0
    ran = project.pytest("--pair-update", "--pair-modes", "none,m0+m16")
    assert (ran.code, "2 passed" in ran.out) == (0, True), ran.out
    assert project.stored() == ["sum/All", "sum/All[m0+m16]"]
    ran = project.pytest(*of_one)
    assert (ran.code, "unused" in ran.out) == (0, False), ran.out
    project.write("stories_sum.py", MANY_MODES.replace("(17)", "(16)"))
    ran = project.pytest(*of_one)
    assert (ran.code, ran.out.count("sum/All[m0+m16]")) == (0, 1), ran.out


@pytest.mark.parametrize(
    "processes", [(), pytest.param(("-n", "2"), marks=pytest.mark.full)], ids=["one", "two"]
)
def test_what_is_stored_for_a_file_that_is_gone_is_named_and_removed_on_request(stored, processes):
    (stored.path / "stories_shop.py").rename(stored.path / "stories_store.py")
    partly = stored.pytest("--pair-update", "-k", "One")
    assert (partly.code, "removed" in partly.out) == (0, False), partly.out
    alone = stored.pytest("--pair-update", "stories_store.py")
    assert (alone.code, "removed" in alone.out) == (0, False), alone.out
    seen = stored.pytest(*processes)
    assert (seen.code, seen.out.count(f"  {FILE}: quote/")) == (0, 4), seen.out
    removed = stored.pytest("--pair-update", *processes)
    assert removed.out.count(f"  {FILE}: quote/") == 4
    assert "snapshots removed:" in removed.out
    names = [path.name for path in (stored.path / "__repl_pair__").iterdir()]
    assert names == ["stories_store"]


CASES = """
import repl_pair
repl_pair.story("cases", component=lambda n: n)

def case(name, n):
    play = [repl_pair.check.matches_snapshot()]
    repl_pair.variant(f"cases/{name}", args={"n": n}, play=play)
"""


@pytest.fixture
def helped(stored):
    """Add two files whose variants one helper registers, with their snapshots."""
    stored.write("cases.py", CASES)
    for name in ("One", "Two"):
        stored.write(f"stories_{name}.py", f"import cases, repl_pair\ncases.case({name!r}, 1)\n")
    assert stored.pytest("--pair-update").code == 0
    return stored


@pytest.mark.parametrize(
    "broken", ["1 / 0", "import pytest; pytest.skip('not now', allow_module_level=True)"]
)
def test_of_a_helper_nothing_is_removed_where_a_file_is_not_collected(helped, broken):
    before = helped.stored()
    helped.write("stories_Two.py", f"import repl_pair\n{broken}\n")
    helped.pytest("--pair-update")
    assert helped.stored() == before != BOTH


@pytest.mark.parametrize("left_out", ["--ignore=stories_One.py", "--deselect=stories_One.py"])
def test_of_a_helper_nothing_is_removed_where_a_file_is_left_out(helped, left_out):
    before = helped.stored()
    ran = helped.pytest("--pair-update", left_out)
    assert (ran.code, helped.stored()) == (0, before), ran.out
    helped.write("stories_One.py", "import cases, repl_pair\n")
    assert "snapshots removed:" in helped.pytest("--pair-update").out
    assert before != helped.stored() != BOTH


@pytest.mark.parametrize("bad", BAD)
def test_a_path_that_cannot_be_read_ends_no_session(stored, bad):
    BAD[bad](stored.path)
    stored.write("pytest.ini", "[pytest]\ntestpaths = stories_shop.py\n")
    ran = stored.pytest()
    assert ran.code == 0, ran.out


def test_a_file_in_the_place_of_their_folder_fails_what_is_compared_and_ends_no_session(project):
    (project.path / "__repl_pair__").touch()
    ran = project.pytest()
    assert "shop/quote.txt:1 can't be read: [Errno 20] Not a directory" in ran.out
    assert "4 failed" in ran.out


def test_of_a_helper_nothing_is_removed_where_a_folder_cannot_be_read(helped):
    helped.write("pytest.ini", "[pytest]\ntestpaths = stories_*.py\n")
    helped.write("stories_One.py", "import cases, repl_pair\n")
    BAD["locked"](helped.path)
    before = helped.stored()
    ran = helped.pytest("--pair-update")
    assert (ran.code, helped.stored()) == (0, before), ran.out
    (helped.path / "locked").rmdir()
    assert "snapshots removed:" in helped.pytest("--pair-update").out


@pytest.mark.parametrize("settings", ["[pytest]\npythonpath = ../lib\n", None])
def test_of_a_helper_nothing_is_removed_that_files_elsewhere_use(tmp_path, settings):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "cases.py").write_text(CASES)
    whole = new_stories(tmp_path)
    whole.write("pytest.ini", "[pytest]\npythonpath = lib\ntestpaths = Two\n")
    for name in ("One", "Two"):
        (tmp_path / name).mkdir()
        source = f"import cases, repl_pair\ncases.case({name!r}, 1)\n"
        whole.write(f"{name}/stories_{name}.py", source)
        if settings is not None:  # each is a project
            part = new_stories(tmp_path / name)
            part.write("pytest.ini", settings)
            assert part.pytest("--pair-update").code == 0
    if settings is None:
        assert whole.pytest("One", "Two", "--pair-update").code == 0
        assert whole.pytest("--pair-update").code == 0
    (stored,) = tmp_path.glob("lib/__repl_pair__/cases/*.txt")
    assert [name in stored.read_text() for name in ("cases/One", "cases/Two")] == [True, True]


ROWS = """
import os
import repl_pair as rp
from repl_pair import check

@rp.story("rows")
def rows(db):
    return {"rows": 2 if os.environ.get("BROKEN") == db else 3}

rp.variant("rows/All", args={"db": rp.fixture("db")}, play=[check.matches_snapshot()])
"""
PARAMETERS = """
import pytest

@pytest.fixture(params=["sqlite", "postgres"])
def db(request):
    return request.param
"""


@pytest.mark.parametrize("broken", ["sqlite", "postgres"])
def test_what_differs_with_one_parameter_is_kept_where_it_matches_with_another(stored, broken):
    stored.write("stories_rows.py", ROWS)
    stored.write("conftest.py", PARAMETERS)
    assert stored.pytest("--pair-update").code == 0
    failed = stored.pytest("--pair-artifacts", "out", BROKEN=broken)
    assert failed.code == 1
    kept = [path for path in (stored.path / "out").rglob("*") if path.is_file()]
    assert any("rows" in path.read_text() for path in kept), failed.out


@pytest.mark.parametrize(
    ("parameters", "mark"),
    [
        (PARAMETERS, "pytest.mark.parametrize('db', [one of them], indirect=True)"),
        (
            "def pytest_generate_tests(metafunc):\n"
            "    is_given = list(metafunc.definition.iter_markers('parametrize'))\n"
            "    if 'db' in metafunc.fixturenames and not is_given:\n"
            "        metafunc.parametrize('db', ['sqlite', 'postgres'])\n",
            "pytest.mark.parametrize('db', [one of them])",
        ),
    ],
    ids=["fixture", "no fixture"],
)
def test_outputs_that_differ_by_a_parameter_are_stored_by_the_marks_that_the_refusal_names(
    stored, parameters, mark
):
    stored.write("conftest.py", parameters)
    stored.write("stories_rows.py", ROWS.replace('"rows": 2', '"db": db, "rows": 2'))
    for words in (["--pair-update"], []):
        assert f"its own variant, with marks=[{mark}]." in stored.pytest(*words).out
    own = "\n".join(
        f"rp.variant('rows/{db}', args={{'db': rp.fixture('db')}}, play=[check.matches_snapshot()],"
        f" marks=[{mark.replace('one of them', repr(db))}])"
        for db in ("sqlite", "postgres")
    )
    rows = ROWS.replace('"rows": 2', '"db": db, "rows": 2').partition("rp.variant")[0]
    stored.write("stories_rows.py", f"import pytest\n{rows}{own}")
    assert stored.pytest("--pair-update").code == 0
    changed = stored.pytest(BROKEN="sqlite").out
    assert ("1 failed" in changed, "marks=" in changed) == (True, False), changed


@pytest.mark.full
def test_two_outputs_of_one_name_fail_an_update_in_several_processes_too(stored):
    stored.write("stories_rows.py", ROWS.replace('os.environ.get("BROKEN") == db', "db[0] == 's'"))
    stored.write("conftest.py", PARAMETERS)
    ran = stored.pytest("--pair-update", "-n", "2", "--dist", "load")
    assert ran.code == 1, ran.out
    assert "rows/All" in ran.out.partition("outputs that differ")[2], ran.out


def test_what_is_left_where_no_stories_are_any_more_is_named_and_removed(stored):
    (stored.path / "stories_shop.py").unlink()
    stored.write("test_other.py", "def test_it(): pass\ndef test_more(): pass\n")
    assert "unused" not in stored.pytest("-k", "it").out
    assert "unused" not in stored.pytest("test_other.py").out
    assert f"  {FILE}: quote/One\n" in stored.pytest().out
    assert "snapshots removed:" in stored.pytest("--pair-update").out
    assert not (stored.path / "__repl_pair__").exists()


def test_what_cannot_be_read_is_named_and_fails_also_where_no_variant_asks_for_it(stored):
    path = stored.path / FILE
    good = path.read_text()
    path.write_text(good.replace("quote/Two", "<<<<<<< HEAD\nquote/Two", 1))
    failed = stored.pytest()
    assert "4 failed" in failed.out
    line = good.split("quote/Two")[0].count("\n") + 1
    assert f"{FILE}:{line} can't be read: git could not merge it" in failed.out
    path.rename(path.with_name("old.txt"))
    alone = stored.pytest("-k", "nothing_of_it or One", "--pair-update")
    assert alone.code == 1, alone.out
    assert f"__repl_pair__/stories_shop/old.txt:{line} can't be read" in alone.out
    assert (
        "snapshots removed:\n  __repl_pair__/stories_shop/old.txt\n"
        in stored.pytest("--pair-update").out
    )
    assert stored.stored() == BOTH
    assert stored.pytest().code == 0


def test_comparing_writes_nothing_and_needs_no_right_to(stored):
    assert files_of(stored.path).keys() == {FILE, "stories_shop.py", "pyproject.toml"}
    before = files_of(stored.path)
    assert stored.pytest("-p", "no:cacheprovider").code == 0
    assert stored.pytest("-p", "no:cacheprovider", PRICE="5").code == 1
    assert files_of(stored.path) == before
    stored.write("pytest.ini", "[pytest]\ncache_dir = /proc/nowhere\n")
    failed = stored.pytest("-p", "cacheprovider", PRICE="5")
    assert "4 failed" in failed.out
    assert "The output could not be kept: " in failed.out


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_it_goes_beside_syrupy_which_leaves_our_files_alone(project):
    project.write("test_theirs.py", "def test_it(snapshot):\n    assert [1] == snapshot\n")
    for args in (("--pair-update", "--snapshot-update"), (), ("-n", "2"), ("--snapshot-update",)):
        ran = project.pytest("-p", "syrupy", *args)
        assert (ran.code, "unused" in ran.out) == (0, False), ran.out
        assert project.stored() == BOTH
    assert list(project.path.rglob("*.ambr"))


def test_artifacts_hold_what_was_expected_and_came_and_one_command_accepts_it(stored):
    rendered = stored.pytest("--pair-artifacts", "out", "-n", "2", PRICE="3")
    assert rendered.code == 1
    assert "Both outputs are kept in out/snapshots." in rendered.out
    kept = files_of(stored.path / "out" / "snapshots")
    assert b'  |   "total": 2' in kept["expected/quote.txt"]
    assert b'  |   "total": 3' in kept["actual/quote.txt"]
    diffs = [text.decode() for path, text in sorted(kept.items()) if path.endswith(".diff")]
    assert (
        sorted('-  "total": 2,\n+  "total": 3,\n' in diff for diff in diffs)
        == [False] * 2 + [True] * 2
    )
    accepted = stored.command("accept", "out", GONE="1")
    assert accepted.code == 1
    assert accepted.out.splitlines() == [
        *(f"stored {label}" for label in ONE),
        *(
            f"refused {label}: no story file registers it. Nearest: quote/One. `pytest "
            "--pair-notebook --pair-update NOTEBOOK` stores what is new in a notebook."
            for label in TWO
        ),
        "2 stored, 2 refused",
    ]
    whole = stored.command("accept", "out", N="4")
    assert whole.code == 0
    changed = "; what is here differs from what it was made of: args.n was 2 and is 4"
    assert f"stored {TWO[0]}{changed}\n" in whole.out
    assert stored.pytest("--pair-artifacts", "out", PRICE="3").code == 0
    nothing = stored.command("accept", "out")
    assert (nothing.code, "There is no folder 'actual' with outputs" in nothing.out) == (2, True)


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
    pictures = sorted((tmp_path / "__repl_pair__/stories_pictures/picture").iterdir())
    assert [path.name.partition("~")[0] for path in pictures] == ["Exact", "Near"]
    assert project.pytest(LEVEL="0").code == 0, "other bytes, the same pixels"
    some = project.pytest("--pair-artifacts", "kept", DOTS="5")
    assert "1 failed, 1 passed" in some.out
    assert "image 0.png: 5 of 1000 pixels differ (0.50%), over 0.00%" in some.out
    kept = sorted(path.parts[-3] for path in (tmp_path / "kept").rglob("*.0.png"))
    assert kept == ["actual", "diff", "expected"]
    many = project.pytest(DOTS="15")
    assert "2 failed" in many.out
    assert "15 of 1000 pixels differ (1.50%), over 1.00%" in many.out
    loose = ("-o", "repl_pair_image_tolerance=0.02")
    assert "1 failed, 1 passed" in project.pytest(*loose, DOTS="15").out
    refused = project.pytest("-o", "repl_pair_image_tolerance=2%")
    assert refused.code == 4
    assert "repl_pair_image_tolerance is a share from 0 to 1, not '2%'." in refused.out
