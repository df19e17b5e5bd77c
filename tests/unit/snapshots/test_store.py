"""Stored outputs whose images change while others read and write, or that cannot be written."""

import fcntl
import multiprocessing
import os
import resource
import signal
from pathlib import Path

import pytest

from repl_pair.runtime.snapshots.records import SnapshotKey, Stored
from repl_pair.runtime.snapshots.store import SnapshotStore

IT = SnapshotKey(variant_id="shop.quote/It")
OLD = Stored(text="1\n", images={"0.png": b"old image"})
SPAWN = multiprocessing.get_context("spawn")


def output(number):
    return Stored(text=f"{number}\n", images={"0.png": b"%d" % number * 20_000})


def fill_the_disk(folder):
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with pytest.raises(OSError, match="File too large"):
        SnapshotStore(folder).write(
            IT, Stored(text="2" * 200_000, images={"0.png": b"new image", "1.png": b"another"})
        )


def store_often(folder):
    for number in range(200):
        SnapshotStore(folder).write(IT, output(number))


def test_a_write_that_fails_leaves_what_was_stored_and_no_new_image(tmp_path):
    SnapshotStore(tmp_path).write(IT, OLD)
    files = sorted(tmp_path.rglob("*"))
    writer = SPAWN.Process(target=fill_the_disk, args=(tmp_path,))
    writer.start()
    writer.join(60)
    assert writer.exitcode == 0
    assert SnapshotStore(tmp_path).find(IT) == OLD
    assert sorted(tmp_path.rglob("*")) == files


def test_what_is_read_while_another_process_stores_is_one_output_whole(tmp_path):
    store, whole = SnapshotStore(tmp_path), {n: output(n) for n in range(200)}
    store.write(IT, whole[0])
    writer = SPAWN.Process(target=store_often, args=(tmp_path,), daemon=True)
    writer.start()
    read = 0
    while writer.is_alive() or not read:
        found = store.find(IT)
        assert isinstance(found, Stored), found
        assert found == whole[int(found.text)]
        read += 1
    assert writer.exitcode == 0
    assert store.find(IT) == whole[199]


@pytest.mark.parametrize("is_removed", [False, True], ids=["replaced", "removed"])
def test_the_folder_of_images_goes_while_no_other_process_may_store_one(
    tmp_path, monkeypatch, is_removed
):
    store, removed = SnapshotStore(tmp_path), []

    def remove(folder):
        other = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
        os.rmdir(folder)
        removed.append(folder)

    monkeypatch.setattr(Path, "rmdir", remove)
    store.write(IT, OLD)
    if is_removed:
        store.remove(IT)
    else:
        store.write(IT, Stored(text="1\n"))
    assert removed == [tmp_path / "shop.quote"]


def test_an_image_is_read_under_its_earlier_name_and_renamed_once_it_is_stored_again(tmp_path):
    store = SnapshotStore(tmp_path)
    store.write(IT, OLD)
    (image,) = tmp_path.rglob("*.png")
    stem, digest, rest = image.name.split(".", 2)
    assert digest in store.path_of(IT).read_text()
    image.rename(image.with_name(f"{stem}.{rest}"))
    assert store.find(IT) == OLD
    store.write(IT, OLD)
    assert list(tmp_path.rglob("*.png")) == [image]
    assert store.find(IT) == OLD


@pytest.mark.parametrize("order", [1, -1])
def test_a_story_whose_id_ends_as_a_file_of_text_shares_no_path_with_another(tmp_path, order):
    store = SnapshotStore(tmp_path)
    keys = [SnapshotKey(variant_id=f"{story}/It") for story in ("report", "report.txt")][::order]
    for number, key in enumerate(keys):
        store.write(key, output(number))
    assert [store.find(key) for key in keys] == [output(0), output(1)]
    for key in keys:
        store.remove(key)
    assert list(tmp_path.iterdir()) == []


def test_an_image_of_a_name_of_long_letters_is_stored(tmp_path):
    store, key = SnapshotStore(tmp_path), SnapshotKey(variant_id="a/It", name="\U00020000" * 70)
    store.write(key, OLD)
    assert store.find(key) == OLD
