from repl_pair.panels.base.batch import Batch, Progress


def test_a_batch_runs_one_at_a_time_and_stops_when_asked():
    begun, noted = [], []
    batch = Batch(
        lambda id, _modes, done: begun.append((id, done)), lambda: noted.append(batch.progress)
    )
    batch.add(["a", "b", "c"])
    batch.add(["b", "d"])
    assert [id for id, _ in begun] == ["a"]
    begun[0][1]({"ok": True})
    assert [id for id, _ in begun] == ["a", "b"]
    assert batch.progress == Progress(done=1, total=4)
    batch.stop()
    begun[1][1]({"ok": True})
    assert [id for id, _ in begun] == ["a", "b"]
    assert noted[-1] == Progress(done=2, total=2)


def test_a_batch_goes_on_behind_what_left_and_ends_where_nothing_can_run():
    begun = []
    batch = Batch(lambda id, _modes, done: begun.append((id, done)), lambda: None)
    batch.add(["a", "b", "c"])
    begun[0][1]({"ok": False, "error": {"code": "not_found", "message": "gone"}})
    begun[1][1]({"ok": False, "error": {"code": "cannot_run", "message": "no lane"}})
    assert [id for id, _ in begun] == ["a", "b"]
    assert batch.progress == Progress(done=2, total=2, fault="no lane")
    batch.add(["c"])
    assert batch.progress == Progress(done=0, total=1)


def test_the_same_variant_waits_once_with_each_modes():
    begun = []
    batch = Batch(lambda id, modes, done: begun.append((id, modes, done)), lambda: None)
    for modes in ((), ("ten",), ("ten",)):
        batch.add(["a", "b"], modes)
    for at in range(4):
        begun[at][2]({"ok": True})
    assert [(id, *modes) for id, modes, _ in begun] == [("a",), ("b",), ("a", "ten"), ("b", "ten")]
