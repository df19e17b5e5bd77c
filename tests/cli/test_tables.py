"""Tables as text."""

import pytest

from repl_pair.cli.tables import show_kernels

UUID = "4d2ab812-7c1f-4d0e-9f1b-2b7a6c5d4e3f"
FULL = {
    "id": UUID,
    "name": "a-kernel-of-mine",
    "pid": 4194303,
    "notebook": "/home/ann/a folder/a notebook with a very long name.ipynb",
    "alive": True,
    "front_end": "jupyter-server",
    "age_s": 3599.0,
    "state": "busy",
    "since_s": 3599.0,
    "last_activity_s": 3599.0,
    "runtime": True,
    "attached": False,
}
BARE = {"id": "12", "name": "unnamed", "alive": True, "attached": False}


@pytest.fixture
def show(capsys):
    def lines(*kernels):
        show_kernels({"items": list(kernels), "total": len(kernels)})
        return capsys.readouterr().out.splitlines()

    return lines


def test_a_kernel_with_everything_fills_100_columns_at_most(show):
    assert show(FULL) == [
        "id        notebook              name      pid      age     state        active  "
        "front end       runtime",
        "4d2ab812  …ery long name.ipynb  a-kerne…  4194303  59 min  busy 59 min  59 min  "
        "jupyter-server  yes",
    ]


def test_what_is_not_known_is_blank(show):
    assert [line.split() for line in show(BARE)][1:] == [["12", "unnamed"]]


@pytest.mark.parametrize(
    ("slots", "state"),
    [
        ({"state": "idle", "since_s": 3.4}, "idle 3 s"),
        ({"state": "idle", "since_s": 0.2}, "idle 0 s"),
        ({"state": "busy", "since_s": 7300.0}, "busy 2 h"),
        ({"state": "idle", "since_s": 200_000.0}, "idle 2 d"),
        ({"state": "busy"}, "busy"),
        ({"state": "unknown"}, "unknown"),
        ({"alive": False, "state": "unknown"}, "silent"),
        ({"alive": False}, "gone"),
    ],
)
def test_a_state_is_reported_with_its_time(show, slots, state):
    assert show(BARE | slots)[1].split("  ")[-1].strip() == state


def test_names_that_are_alike_are_reported_by_more_of_them(show):
    ids = [f"{UUID[:12]}a", f"{UUID[:12]}b", "unlike-0123456789"]
    notebooks = ["/n/x/a.ipynb", "/n/y/a.ipynb", "/n/b.ipynb"]
    kernels = [BARE | {"id": i, "notebook": n} for i, n in zip(ids, notebooks, strict=True)]
    assert [line.split()[:2] for line in show(*kernels)[1:]] == [
        [ids[0], "x/a.ipynb"],
        [ids[1], "y/a.ipynb"],
        ["unlike-0", "b.ipynb"],
    ]


def test_no_kernels_are_reported_on_stderr(capsys):
    show_kernels({"items": [], "total": 0})
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "none\n")
