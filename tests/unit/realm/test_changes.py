"""Notices of what other repos changed: who gets them, how often, and when none is made."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from subprocess import run

import pytest
from bounds import BOUND_S
from repos import SCHEMA

from repl_pair.runtime.project.database import Database
from repl_pair.runtime.realm.bindings import bind, unbind
from repl_pair.runtime.realm.changes import report_changes
from repl_pair.runtime.realm.membership import join_realm

OTHER = {"type": "object"}


@pytest.fixture
def databases(ground):
    """The database of each project, which knows its realm as it is."""
    made = {repo: Database(ground.root(repo)) for repo in ground.home}
    for database in made.values():
        report_changes(database, create=True)
    yield made
    for database in made.values():
        database.close()


def notices(database):
    report_changes(database)
    with database.reading() as connection:
        rows = connection.execute("SELECT kind, subject, text, count FROM notices ORDER BY number")
        return [tuple(row) for row in rows]


def test_what_is_seen_first_is_no_news(databases):
    assert [notices(database) for database in databases.values()] == [[], []]


def test_a_new_version_is_one_notice_of_the_consumer_and_none_of_the_owner(ground, databases):
    ground.save("api", "1.1.0", schema=OTHER)
    text = "api changed the contract pricing/quote from {} to {}."
    first = ("contract", "pricing/quote", text.format("1.0.0", "1.1.0"), 1)
    assert notices(databases["web"]) == [first]
    assert notices(databases["web"]) == [first]
    assert notices(databases["api"]) == []
    ground.save("api", "2.0.0")
    # Of one minute it is one notice.
    latest = text.format("1.0.0", "2.0.0, not compatible")
    assert notices(databases["web"]) == [("contract", "pricing/quote", latest, 2)]


CHANGED, GONE = "api changed the contract pricing/{} from {} to {}.", "which was at {}, is gone."
OF_ONE_MINUTE = {
    "a break": (("2.0.0", "2.0.1"), CHANGED.format("quote", "1.0.0", "2.0.1, not compatible")),
    "no break": (("1.1.0", "1.2.0", "1.2.1"), CHANGED.format("quote", "1.0.0", "1.2.1")),
    "it is gone": (("1.1.0", None), GONE.format("1.0.0")),
    "it came back": (("1.1.0", None, "3.0.0"), CHANGED.format("quote", "1.0.0", "3.0.0")),
    "it came": (("price 1.0.0", "price 2.0.0"), "api saved the contract pricing/price at 2.0.0."),
    "it came and went": (("price 1.0.0", None), GONE.format("1.0.0")),
}


@pytest.mark.parametrize("case", OF_ONE_MINUTE)
def test_the_notice_of_a_minute_is_of_all_that_changed_in_it(ground, databases, case):
    changes, latest = OF_ONE_MINUTE[case]
    name = "price" if str(changes[0]).startswith("price") else "quote"
    for change in changes:
        if change is None:
            ground.contract(contract=name).unlink()
        else:
            ground.save("api", change.split()[-1], contract=name, schema=OTHER)
        ((_, subject, text, count),) = notices(databases["web"])
    assert (subject, count) == (f"pricing/{name}", len(changes))
    assert text.endswith(latest)


def test_a_version_between_that_was_not_compatible_is_not_passed_over(ground, databases):
    ground.save("api", "2.0.0", schema=OTHER)
    ground.save("api", "2.1.0")
    ((_, _, text, _),) = notices(databases["web"])
    assert text.endswith("from 1.0.0 to 2.1.0, not compatible.")


def test_a_schema_that_changed_at_its_version_is_no_notice(ground, databases):
    ground.edit("domains/pricing/contracts/quote.json", lambda data: data["schema"].clear())
    assert notices(databases["web"]) == []


def test_bindings_that_come_and_go_are_notices_of_the_others(ground, databases, tmp_path):
    (tmp_path / "app").mkdir()
    app = join_realm(tmp_path / "app", ground.folder)
    bind(app, "pricing", role="consumer")
    bind(app, "orders", role="provider")  # a domain of its own
    came = ("binding", "pricing/app", "app is bound to the domain pricing.", 1)
    assert [notices(database) for database in databases.values()] == [[came], [came]]
    bind(app, "pricing", imports=["quote"])  # it was bound before
    unbind(app, "pricing")
    gone = ("binding", "pricing/app", "app is no longer bound to the domain pricing.", 2)
    assert [notices(database) for database in databases.values()] == [[gone], [gone]]


def test_a_contract_that_is_new_or_gone_is_a_notice(ground, databases):
    ground.save("api", "0.1.0", contract="price", schema=SCHEMA)
    ground.contract().unlink()
    assert [text for _, _, text, _ in notices(databases["web"])] == [
        "api saved the contract pricing/price at 0.1.0.",
        "The contract pricing/quote, which was at 1.0.0, is gone.",
    ]


def test_a_domain_is_news_only_while_the_repo_is_bound_to_it(ground, databases):
    ground.save("api", "1.0.0", domain="orders", contract="order", schema=SCHEMA)
    assert notices(databases["web"]) == []
    bind(ground.home["web"], "orders", imports=["order"])
    assert notices(databases["web"]) == []
    unbind(ground.home["web"], "pricing")
    ground.save("api", "1.1.0")
    assert notices(databases["web"]) == []
    ground.save("api", "1.1.0", domain="orders", contract="order")
    assert len(notices(databases["web"])) == 1


@pytest.mark.parametrize(
    "file",
    ["realm.json", "domains/pricing/contracts/quote.json", "domains/pricing/bindings/web.json"],
)
def test_a_file_that_is_bad_for_a_while_is_no_news_and_hides_none(ground, databases, file):
    path = ground.folder / file
    whole = path.read_text()
    path.write_text("{")
    assert notices(databases["web"]) == []
    path.write_text(whole)
    ground.save("api", "1.1.0")
    assert len(notices(databases["web"])) == 1


def test_several_that_look_at_once_make_one_notice(ground, databases):
    ground.save("api", "1.1.0")
    start = threading.Barrier(4)

    def look(_):
        database = Database(ground.root("web"))
        start.wait(BOUND_S)
        report_changes(database)
        database.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(look, range(4)))
    assert len(notices(databases["web"])) == 1


def test_a_realm_without_news_is_not_written_and_one_without_a_database_makes_none(
    ground, databases, tmp_path
):
    with databases["web"].writing() as connection:
        connection.execute(
            "CREATE TRIGGER no BEFORE DELETE ON known_contracts"
            " BEGIN SELECT RAISE(FAIL, 'written'); END"
        )
    assert notices(databases["web"]) == []
    (tmp_path / "app").mkdir()
    bind(join_realm(tmp_path / "app", ground.folder), "orders", role="provider")
    report_changes(Database(tmp_path / "app"))
    assert [file.name for file in (tmp_path / "app" / ".repl_pair").iterdir()] == ["realm.json"]


def test_looking_where_there_is_no_realm_imports_no_sqlite(tmp_path):
    code = """
import sys
from pathlib import Path
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.realm.changes import report_changes
sys.modules.pop("sqlite3", None)
report_changes(Database(Path.cwd()))
assert "sqlite3" not in sys.modules
"""
    ended = run([sys.executable, "-c", code], cwd=tmp_path, timeout=BOUND_S, check=False)
    assert ended.returncode == 0
    assert [*tmp_path.iterdir()] == []
