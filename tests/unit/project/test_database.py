"""The database of a project: what is made when, who sees which change, and what is refused."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from bad_paths import obey_permissions
from bounds import BOUND_S
from hypothesis import given, settings, strategies as st
from waiting import wait_until

from repl_pair.errors import RequestError
from repl_pair.runtime.project import database as databases, opening
from repl_pair.runtime.project.database import Database, kept_project
from repl_pair.runtime.project.root import FOLDER, find_root
from repl_pair.runtime.project.schema import APPLICATION, STEPS, VERSION, new_id


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path)
    yield database
    database.close()


def add(database, subject):
    with database.writing() as connection:
        insert(connection, subject)


def insert(connection, subject):
    connection.execute("INSERT INTO known_contracts VALUES ('realm', ?, '1.0.0')", (subject,))


def subjects(database):
    with database.reading() as connection:
        if connection is None:
            return None
        rows = connection.execute("SELECT subject FROM known_contracts ORDER BY rowid")
        return [row["subject"] for row in rows]


def files_of(database):
    """Return every file in the folder of the database, with its bytes."""
    folder = database.file.parent
    return {file.name: file.read_bytes() for file in folder.iterdir()} if folder.exists() else {}


def in_process(database, code, **how):
    """Run code in another process, where `database` is the same one; gives what it printed."""
    head = (
        "from pathlib import Path; from repl_pair.runtime.project.database import Database\n"
        f"database = Database(Path({str(database.root)!r}))\n"
    )
    words = [sys.executable, "-c", head + code]
    return subprocess.run(words, capture_output=True, text=True, check=True, **how).stdout


# --- what is made


def test_the_project_is_that_of_the_folder_where_it_is_first_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(databases, "_open", [])
    (tmp_path / "shop" / "inner").mkdir(parents=True)
    (tmp_path / "shop" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "shop" / "inner")
    first = databases.project()
    monkeypatch.chdir(tmp_path)
    assert databases.project() is first
    assert first.root == tmp_path / "shop"


def test_reads_make_nothing_and_import_no_sqlite(tmp_path):
    code = (
        "import sys\nwith database.reading() as connection: print(connection)\n"
        "print(database.version(), 'sqlite3' in sys.modules)\n"
        "undo = database.watch(print); undo(); database.close()"
    )
    assert in_process(Database(tmp_path), code) == "None\nNone False\n"
    assert list(tmp_path.iterdir()) == []


def test_importing_the_package_and_calling_other_ops_imports_no_sqlite(tmp_path):
    (tmp_path / "README.md").touch()
    code = """
import asyncio, os, sys
import repl_pair
os.chdir(database.root)

@repl_pair.story("shop.total")
def total(): return 13
repl_pair.variant("shop.total/It")

from repl_pair.bridge.policy import Policy
from repl_pair.bridge.session import Session

async def main():
    session = Session.direct(Policy())
    for op, args in (
        ("list_stories", {}), ("run_variant", {"variant_id": "shop.total/It"}),
        ("create_annotation", {"target": "doc:README.md", "content": "Why?"}),
    ):
        assert (await session.call(op, args))["ok"]
        print("sqlite3" in sys.modules)
    await session.close()
asyncio.run(main())
"""
    assert in_process(Database(tmp_path), code).split() == ["False", "False", "True"]


def test_what_a_change_makes_only_the_owner_can_read_and_git_does_not_take(tmp_path, database):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "kept").touch()
    with database.writing() as connection:
        insert(connection, "one")
        made = {file.name: file.stat().st_mode & 0o777 for file in database.file.parent.iterdir()}
    assert made.pop(".gitignore") == 0o666 & ~umask()
    assert made == dict.fromkeys(("pair.db", "pair.db-wal", "pair.db-shm"), 0o600)
    (database.file.parent / "realm.json").touch()
    words = ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"]
    taken = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert taken == ["??", ".repl_pair/realm.json", "??", "kept"]


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_persons_gitignore_stays_as_it_is(database):
    mine = database.file.with_name(".gitignore")
    mine.parent.mkdir()
    mine.write_text("mine\n")
    add(database, "one")
    assert mine.read_text() == "mine\n"


def test_a_change_that_raises_leaves_nothing(database):
    add(database, "one")

    def change():
        with database.writing() as connection:
            insert(connection, "two")
            assert subjects(database) == ["one", "two"]
            raise KeyError

    with pytest.raises(KeyError):
        change()
    assert subjects(database) == ["one"]
    add(database, "three")
    assert subjects(database) == ["one", "three"]


def test_a_read_sees_one_state_and_waits_for_no_change(database):
    add(database, "one")
    with database.reading() as connection:
        first = connection.execute("SELECT count(*) FROM known_contracts").fetchone()[0]
        other = threading.Thread(target=add, args=(database, "two"))
        other.start()
        other.join(BOUND_S)
        assert connection.execute("SELECT count(*) FROM known_contracts").fetchone()[0] == first
    with database.writing() as connection:
        insert(connection, "three")
        seen = []
        other = threading.Thread(target=lambda: seen.append(subjects(database)))
        other.start()
        other.join(BOUND_S)
        assert seen == [["one", "two"]]
    assert subjects(database) == ["one", "two", "three"]


def test_a_connection_that_reads_cannot_write(database):
    add(database, "one")
    with pytest.raises(RequestError) as refused, database.reading() as connection:
        insert(connection, "two")
    assert refused.value.code == "cannot_run"
    assert subjects(database) == ["one"]


# --- changes are seen


def test_the_version_differs_after_each_change_of_any_process_and_only_then(database):
    seen = [database.version()]
    for n in range(3):
        add(database, n)
        seen.append(database.version())
        in_process(
            database,
            "with database.writing() as c: c.execute('DELETE FROM seen')\n"
            f"with database.writing() as c: c.execute('UPDATE known_contracts SET version={n}')",
        )
        seen.append(database.version())
    assert len(set(seen)) == len(seen)
    assert {database.version() for _ in range(100)} == {seen[-1]}


def test_watchers_are_called_for_changes_of_this_process_and_of_others_until_the_undo(database):
    calls = []
    undo = database.watch(lambda: calls.append(subjects(database)))
    other = database.watch(lambda: None)
    add(database, "one")
    assert calls == [["one"]]
    in_process(database, "with database.writing() as c: c.execute('DELETE FROM known_contracts')")
    wait_until(lambda: calls == [["one"], []])
    undo()
    add(database, "two")
    assert looking()
    other()
    wait_until(lambda: not looking())
    assert calls == [["one"], []]
    again = database.watch(lambda: calls.append("again"))
    in_process(database, "with database.writing() as c: c.execute('DELETE FROM known_contracts')")
    wait_until(lambda: calls[2:] == ["again"])
    again()
    wait_until(lambda: not looking())


def looking():
    return [thread for thread in threading.enumerate() if thread.name == "repl_pair project"]


def test_a_database_that_another_process_makes_is_noticed(database):
    calls = []
    undo = database.watch(lambda: calls.append(subjects(database)))
    in_process(database, "with database.writing(): pass")
    wait_until(lambda: calls == [[]])
    undo()


# --- other processes, and other files in the place of it


def test_a_forked_child_uses_no_connection_of_its_parent(database):
    add(database, "parent")
    with database.writing() as connection:
        insert(connection, "not yet")
        child = os.fork()
        if child == 0:
            seen = subjects(database)
            database.close()
            os._exit(0 if seen == ["parent"] else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert subjects(database) == ["parent", "not yet"]
    assert opening.check_file(database.file) is None


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_database_that_was_deleted_is_made_anew(database, what):
    add(database, "lost")
    version = database.version()
    if what == "folder":
        shutil.rmtree(database.file.parent)
    else:
        database.file.unlink()
    assert subjects(database) is None
    assert database.version() != version
    add(database, "new")
    assert subjects(database) == ["new"]
    in_process(database, "with database.writing() as c: c.execute('DELETE FROM known_contracts')")
    assert subjects(database) == []


def test_a_file_in_the_place_of_its_folder_is_no_database(database):
    add(database, "lost")
    shutil.rmtree(database.file.parent)
    database.file.parent.write_text("")
    assert subjects(database) is None
    assert database.version() is None
    with pytest.raises(RequestError, match="could not be made: File exists"):
        add(database, "new")


def test_another_database_in_its_place_is_opened(tmp_path, database):
    other = Database(tmp_path / "other")
    other.root.mkdir()
    add(other, "other")
    other.close()
    add(database, "lost")
    version = database.version()
    shutil.rmtree(database.file.parent)
    other.file.parent.rename(database.file.parent)
    assert subjects(database) == ["other"]
    assert database.version() != version
    add(database, "new")
    assert subjects(database) == ["other", "new"]
    database.close()
    assert subjects(database) == ["other", "new"]


def test_a_close_leaves_no_file_open_and_the_next_use_opens_it(database):
    add(database, "one")
    assert subjects(database) == ["one"]
    assert database.version()
    assert open_files(database)
    database.close()
    assert open_files(database) == []
    assert sorted(files_of(database)) == [".gitignore", "pair.db"]
    assert subjects(database) == ["one"]


def test_what_uses_it_after_a_close_closes_it_unless_somebody_watches(database):
    add(database, "one")
    database.close()
    undo = database.watch(print)
    assert subjects(database) == ["one"]
    database.close()
    assert database.version()
    assert open_files(database)
    undo()
    assert open_files(database) == []
    with database.writing() as connection:
        insert(connection, "two")
        assert subjects(database) == ["one", "two"]
        assert database.version()
    assert open_files(database) == []


def test_the_end_of_a_process_closes_it(database):
    in_process(
        database,
        "with database.writing(): pass\n"
        "with database.reading() as connection: print(database.version())",
    )
    assert sorted(files_of(database)) == [".gitignore", "pair.db"]


def test_what_is_in_use_is_closed_at_the_end_of_its_use(database):
    with database.writing() as connection:
        insert(connection, "one")
        other = threading.Thread(target=database.close)
        other.start()
        other.join(BOUND_S)
        insert(connection, "two")
    assert open_files(database) == []
    assert subjects(database) == ["one", "two"]


def open_files(database):
    links = (Path("/proc/self/fd") / number for number in os.listdir("/proc/self/fd"))
    named = [os.readlink(link) for link in links if link.is_symlink()]
    return [name for name in named if name.startswith(str(database.root))]


def make_older(database, done):
    """Make a database in which the first steps were done, as an earlier version did."""
    database.file.parent.mkdir()
    with closing(sqlite3.connect(database.file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(";".join(STEPS[:done]))
        insert(connection, "one")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {done}")
        connection.commit()


@pytest.mark.parametrize("done", range(1, VERSION))
@pytest.mark.parametrize("use", [subjects, lambda database: add(database, "two")])
def test_a_database_of_an_earlier_version_is_brought_up_to_date_with_what_it_holds(
    database, done, use
):
    make_older(database, done)
    use(database)
    assert subjects(database)[0] == "one"
    with database.reading() as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
        assert not list(connection.execute("SELECT access FROM annotations"))


# --- what is refused


def make_newer(database):
    add(database, "one")
    database.close()
    with sqlite3.connect(database.file) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()


def make_newer_in_its_log(database):
    """Let the file be older than its log, as a process leaves it that was killed."""
    add(database, "one")
    database.close()
    in_process(
        database,
        "import os, signal, sqlite3; c = sqlite3.connect(database.file)\n"
        f"c.execute('PRAGMA user_version = {VERSION + 1}'); c.commit()\n"
        "os._exit(0)",
    )
    assert files_of(database)["pair.db-wal"]


def make_text(database):
    database.file.parent.mkdir()
    database.file.write_text("not a database, but longer than any header of one " * 100)


def cut_short(database):
    for n in range(50):
        add(database, "word" * 200 + str(n))
    database.close()
    whole = database.file.read_bytes()
    database.file.write_bytes(whole[: len(whole) // 2])


def overwrite_a_page(database):
    for n in range(50):
        add(database, "word" * 200 + str(n))
    database.close()
    whole = bytearray(database.file.read_bytes())
    whole[4096:8192] = os.urandom(4096)
    database.file.write_bytes(whole)


def make_another_programs(database):
    database.file.parent.mkdir()
    with sqlite3.connect(database.file) as connection:
        connection.execute("CREATE TABLE theirs (words)")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (make_newer, f"is of version {VERSION + 1}, and this repl_pair knows versions up to"),
        (make_newer_in_its_log, f"is of version {VERSION + 1}"),
        (make_text, "is damaged (file is not a database)"),
        (cut_short, "is damaged"),
        (overwrite_a_page, "is damaged"),
        (make_another_programs, "is a database of another program"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_refused_and_never_written(database, spoil, words):
    spoil(database)
    before = files_of(database)
    before.pop(".gitignore", None)
    uses = (lambda: subjects(database), lambda: add(database, "x"), database.version)
    for use in (*uses, *uses):
        with pytest.raises(RequestError) as refused:
            use()
        assert refused.value.code == "bad_database"
        assert words in refused.value.message
        assert str(database.file) in refused.value.message
        assert refused.value.hints
    calls = []
    database.watch(lambda: calls.append(1))()
    after = files_of(database)
    for made in (".gitignore", "pair.db-shm"):
        after.pop(made, None), before.pop(made, None)
    assert after == before
    database.file.unlink()
    add(database, "new")
    assert subjects(database) == ["new"]


def test_a_file_that_becomes_newer_while_it_is_open_is_written_no_more(database):
    add(database, "one")
    assert subjects(database) == ["one"]
    in_process(
        database,
        "import sqlite3; c = sqlite3.connect(database.file)\n"
        f"c.execute('PRAGMA user_version = {VERSION + 1}'); c.commit(); c.close()\n",
    )
    for use in (lambda: add(database, "two"), lambda: subjects(database)) * 2:
        with pytest.raises(RequestError, match=f"is of version {VERSION + 1}"):
            use()
    with closing(sqlite3.connect(database.file)) as connection:
        assert connection.execute("SELECT count(*) FROM known_contracts").fetchone() == (1,)


@pytest.mark.parametrize("link", ["folder", "file", "file to be made"])
def test_a_link_out_of_the_project_is_neither_read_nor_written(tmp_path, link):
    outside, database = Database(tmp_path / "outside"), Database(tmp_path / "project")
    outside.root.mkdir()
    database.root.mkdir()
    if link != "file to be made":
        add(outside, "theirs")
        outside.close()
    before = sorted(outside.root.rglob("*")), files_of(outside)
    if link == "folder":
        database.file.parent.symlink_to(outside.file.parent)
    else:
        database.file.parent.mkdir()
        database.file.symlink_to(outside.file)
    refused = [lambda: add(database, "mine")]
    refused += [] if link == "file to be made" else [lambda: subjects(database), database.version]
    words = r"is a link out of the project, to .*outside"
    for use in refused:
        with pytest.raises(RequestError, match=words) as why:
            use()
        assert why.value.code == "bad_database"
    assert (sorted(outside.root.rglob("*")), files_of(outside)) == before


def test_a_link_within_the_project_is_followed(tmp_path, database):
    (tmp_path / "kept").mkdir()
    database.file.parent.symlink_to(tmp_path / "kept")
    add(database, "one")
    assert subjects(database) == ["one"]
    assert (tmp_path / "kept" / "pair.db").stat().st_mode & 0o777 == 0o600


TRIES = """
from repl_pair.errors import RequestError
with database.reading() as c: print(c.execute("SELECT subject FROM known_contracts").fetchone()[0])
try:
    with database.writing() as c: c.execute("DELETE FROM known_contracts")
except RequestError as error: print(error.code, error.message)
with database.reading() as c: print(c.execute("SELECT count(*) FROM known_contracts").fetchone()[0])
print(len({database.version() for _ in range(9)}))
"""


@pytest.mark.parametrize("what", ["folder", "file", "both"])
def test_what_is_read_only_answers_reads_and_refuses_changes(database, what):
    add(database, "one")
    database.close()
    if what != "folder":
        database.file.chmod(0o400)
    if what != "file":
        database.file.parent.chmod(0o500)
    try:
        lines = in_process(database, TRIES, preexec_fn=obey_permissions).splitlines()
    finally:
        database.file.parent.chmod(0o700)
    read, refused, *after = lines
    assert (read, after) == ("one", ["1", "1"])
    assert refused.startswith(f"cannot_run {database.file}")
    assert refused.endswith("Nothing was changed.")


@pytest.mark.parametrize("done", range(1, VERSION))
def test_what_is_read_only_and_of_an_earlier_version_is_read_as_one_of_this(database, done):
    make_older(database, done)
    before = files_of(database)
    database.file.parent.chmod(0o500)
    read = (
        "with database.reading() as c: print(*c.execute('SELECT count(*), {} FROM {}').fetchone())"
    )
    reads = (("count(access)", "annotations"), ("1", "deleted_annotations"))
    code = "\n".join(read.format(*names) for names in reads)
    try:
        lines = in_process(database, TRIES + code, preexec_fn=obey_permissions).splitlines()
    finally:
        database.file.parent.chmod(0o700)
    subject, refused, *after = lines
    assert (subject, after) == ("one", ["1", "1", "0 0", "0 1"])
    assert refused.startswith(f"cannot_run {database.file}")
    assert files_of(database) == before


def test_a_folder_that_cannot_be_made_refuses_changes(database):
    code = """
from repl_pair.errors import RequestError
with database.reading() as connection: print(connection)
try:
    with database.writing(): pass
except RequestError as error: print(error.code, error.message)
"""
    database.root.chmod(0o500)
    try:
        lines = in_process(database, code, preexec_fn=obey_permissions).splitlines()
    finally:
        database.root.chmod(0o700)
    why = f"{database.file} could not be made: Permission denied. Nothing was written."
    assert lines == ["None", f"cannot_run {why}"]


def test_a_change_that_waits_too_long_for_another_process_is_refused_and_changes_nothing(
    database, monkeypatch
):
    monkeypatch.setattr(opening, "BUSY_S", 0.05)
    add(database, "one")
    other = Database(database.root)
    with other.writing() as connection:
        insert(connection, "theirs")
        with pytest.raises(RequestError, match="another process has been changing it") as refused:
            add(database, "mine")
        assert refused.value.code == "cannot_run"
        assert subjects(database) == ["one"]
    other.close()
    add(database, "later")
    assert subjects(database) == ["one", "theirs", "later"]


def test_a_change_for_which_the_disk_has_no_room_is_refused_and_changes_nothing(database):
    add(database, "one")
    code = """
import resource
from repl_pair.errors import RequestError
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    with database.writing() as c:
        c.execute("INSERT INTO known_contracts VALUES ('r', 'small', '1')")
        c.execute("INSERT INTO known_contracts VALUES ('r', 'large', ?)", ("x" * 10_000_000,))
except RequestError as error: print(error.code, error.message)
"""
    refused = in_process(database, code)
    assert refused.startswith(f"cannot_run {database.file}: the disk ")
    assert subjects(database) == ["one"]
    add(database, "two")
    assert subjects(database) == ["one", "two"]


def test_damage_that_is_met_later_is_refused_alike_and_a_mended_file_is_taken(database):
    for n in range(50):
        add(database, "word" * 200 + str(n))
    database.close()
    whole = database.file.read_bytes()
    with database.reading() as connection:
        assert connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    with database.file.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (len(whole) - 4096))
    for _ in range(2):
        with pytest.raises(RequestError, match="is damaged") as refused:
            subjects(database)
        assert refused.value.code == "bad_database"
    database.file.write_bytes(whole)
    assert len(subjects(database)) == 50


def test_a_defect_of_a_statement_is_no_refusal(database):
    add(database, "one")
    with pytest.raises(sqlite3.IntegrityError):
        add(database, "one")
    with pytest.raises(sqlite3.OperationalError, match="no such table"), database.reading() as c:
        c.execute("SELECT * FROM unknown")
    assert subjects(database) == ["one"]


def test_a_step_that_fails_takes_the_steps_before_it_back(database, monkeypatch):
    steps = (*opening.STEPS, "CREATE TABLE added (n); CREATE TABLE added (n)")
    add(database, "one")
    database.close()
    before = database.file.read_bytes()
    monkeypatch.setattr(opening, "STEPS", steps)
    monkeypatch.setattr(opening, "VERSION", len(steps))
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        add(database, "two")
    assert database.file.read_bytes() == before
    monkeypatch.setattr(opening, "STEPS", (*steps[:-1], "CREATE TABLE added (n)"))
    add(database, "two")
    with database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM added").fetchone()[0] == 0
    assert subjects(database) == ["one", "two"]


# --- laws


ACTS = ("add", "add elsewhere", "fail", "close", "delete folder")


@settings(max_examples=40)
@given(st.lists(st.sampled_from(ACTS), max_size=12))
def test_two_processes_see_the_same_and_a_version_never_stands_for_two_states(acts):
    """Each `Database` stands for a process: they share no connection."""
    with TemporaryDirectory() as folder:
        here, elsewhere = Database(Path(folder)), Database(Path(folder))
        model, states = None, {}
        try:
            for n, act in enumerate(acts):
                if act in ("add", "add elsewhere"):
                    add(here if act == "add" else elsewhere, str(n))
                    model = [*(model or []), str(n)]
                elif act == "fail":
                    with suppress(ZeroDivisionError), here.writing() as connection:
                        insert(connection, "never")
                        1 / 0  # noqa: B018
                    model = model or []
                elif act == "close":
                    here.close()
                else:
                    shutil.rmtree(here.file.parent, ignore_errors=True)
                    model = None
                assert (subjects(here), subjects(elsewhere)) == (model, model)
                assert states.setdefault(here.version(), model) == model
        finally:
            here.close()
            elsewhere.close()


def test_no_id_reads_as_a_number():
    assert all("a" <= new_id()[0] <= "f" for _ in range(500))


def test_a_project_whose_folder_may_not_be_read_keeps_nothing(own_project, monkeypatch):
    with own_project.writing():
        pass
    assert kept_project() is own_project
    stat = os.stat

    def refuse(path, **options):
        if FOLDER in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", refuse)
        assert kept_project() is None
        assert find_root(own_project.root / "a") == own_project.root / "a"
