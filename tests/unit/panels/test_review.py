"""The review panel without a browser: what it lists, sends, keeps and refuses."""

import json
import sqlite3
from html import escape

import pytest
from flushing import flush

import repl_pair
from repl_pair.panels.base.context import Focus, PanelContext
from repl_pair.panels.base.panel_thread import PANEL_THREAD
from repl_pair.panels.base.widget import answer, to_html
from repl_pair.panels.review import view as module
from repl_pair.panels.review.view import MAX_LISTED, PAGE, ReviewView
from repl_pair.panels.shell.commands import COMMANDS
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review import annotations
from repl_pair.runtime.review.threads import REPLIES
from repl_pair.wire import View

TWO, THREE, STORY = "variant:shop/Two", "variant:shop/Three", "story:shop"
PAGES = ("doc:README.md", "doc:guide.md")


@pytest.fixture
def database(tmp_path, monkeypatch):
    """The database of a project with two variants and two pages."""

    def add(a: int = 1) -> int:
        return a + 1

    repl_pair.story("shop", component=add)
    repl_pair.variant("shop/Two", args={"a": 1})
    repl_pair.variant("shop/Three", args={"a": 2})
    for name in ("README.md", "guide.md"):
        (tmp_path / name).write_text("# Prices\n\nThe price is two.\n")
    database = Database(tmp_path)
    monkeypatch.setattr(module, "project", lambda: database)
    yield database
    database.close()


@pytest.fixture
def write(database):
    """Writes as an agent, or as another: `write(TWO, "why?", parent_id=id)`; gives the id."""

    def write_as(target, content, who="claude", **more):
        view = View(principal=who)
        made = annotations.create_annotation(database, view, target=target, content=content, **more)
        return made["id"]

    return write_as


@pytest.fixture
def opened(open_view, database):
    """Opens the panel as a page does; closes it in the end."""
    views = []

    def open_panel(**focus):
        view, sent = open_view(ReviewView, **focus)
        views.append(view)
        view.on_state("page")
        assert flush(PANEL_THREAD)
        sent.clear()
        return view, sent

    yield open_panel
    for view in views:
        view.close()


def groups(view):
    """Return what is listed: the contents by target."""
    state = view.on_state("page")
    content = {thread["id"]: thread["content"] for thread in state["threads"]}
    return {g["target"]: [content[id] for id in g["threads"]] for g in state["listing"]["groups"]}


def submit(view, target):
    """Submit what the button of a target counts; gives the answer."""
    return view.on_submit(target, drafts_on(view, target))


def drafts_on(view, target):
    listed = view.on_state("page")["listing"]["groups"]
    return next(group["drafts"] for group in listed if group["target"] == target)


def shown(view, id):
    return next(thread for thread in view.on_state("page")["threads"] if thread["id"] == id)


def test_threads_of_what_the_shell_shows_come_first_and_the_newest_of_each(opened, write):
    about = write(TWO, "first")
    write(TWO, "second")
    write(STORY, "of the story")
    write(PAGES[1], "of the guide")
    write(PAGES[0], "of the readme")
    write(THREE, "of three")
    write(TWO, "an answer", parent_id=about)
    write(TWO, "another", who="person", parent_id=about)
    view, sent = opened(variant="shop/Two", story="shop")
    here = {TWO: ["second", "first"], STORY: ["of the story"]}
    others = {PAGES[0]: ["of the readme"], PAGES[1]: ["of the guide"], THREE: ["of three"]}
    assert list(groups(view).items()) == list((here | others).items())
    replies = [(one["principal"], one["content"]) for one in shown(view, about)["replies"]]
    assert replies == [("claude", "an answer"), ("person", "another")]
    view.context.set_focus(Focus(story="shop", variant="shop/Three"))
    assert flush(PANEL_THREAD)
    assert sent[0] == {"focus": THREE}
    assert list(groups(view))[:2] == [THREE, STORY]
    view.context.set_focus(Focus(story="shop", variant="shop/Three", moment=3))
    assert flush(PANEL_THREAD)
    assert len(sent) == 2  # another line of the same variant calls for nothing


def test_a_quote_that_is_gone_orphans_a_thread_as_soon_as_its_variant_changes(
    opened, write, tmp_path
):
    write(TWO, "why one?", quote='"a":1')
    write(PAGES[0], "why two?", quote="price is two")
    view, sent = opened()
    statuses = lambda: [one["status"] for one in view.on_state("page")["threads"]]  # noqa: E731
    assert statuses() == ["submitted", "submitted"]
    repl_pair.variant("shop/Two", args={"a": 3})
    assert flush(PANEL_THREAD)
    assert [one["status"] for one in sent[-1]["threads"]] == ["orphaned"]
    (tmp_path / "README.md").write_text("# Prices\n\nThe price has gone up.\n")
    assert statuses() == ["orphaned", "orphaned"]
    view.on_filter(status="orphaned")
    assert len(statuses()) == 2
    repl_pair.variant("shop/Two", args={"a": 1})
    assert flush(PANEL_THREAD)
    assert statuses() == ["orphaned", "submitted"]


FILTERS = [
    ({}, {"mine", "theirs", "answered"}),
    ({"status": "draft"}, {"mine"}),
    ({"status": "submitted"}, {"theirs"}),
    ({"status": "replied"}, {"answered"}),
    ({"status": "resolved"}, {"done"}),
    ({"status": ""}, {"mine", "theirs", "answered", "done"}),
    ({"author": "human"}, {"mine"}),
    ({"author": "agent"}, {"theirs", "answered"}),
    ({"match": "README"}, {"answered"}),
    ({"status": "", "author": "agent", "match": "shop/t"}, {"theirs", "done"}),
    ({"match": "%"}, set()),
]


def test_filters_narrow_what_is_listed(opened, write):
    write(TWO, "mine", who="person")
    write(TWO, "theirs")
    write(PAGES[0], "yes", parent_id=write(PAGES[0], "answered"))
    done = write(THREE, "done")
    view, _ = opened()
    view.on_resolve(done)
    for given, wanted in FILTERS:
        view.on_filter(**given)
        assert {one for some in groups(view).values() for one in some} == wanted, given
    assert view.on_state("another page")["filter"]["match"] == "%"


def test_a_thread_stays_where_it_is_when_it_no_longer_fits_until_another_filter(opened, write):
    about = write(TWO, "look at this")
    view, sent = opened()
    view.on_resolve(about)
    assert flush(PANEL_THREAD)
    assert [thread["status"] for thread in sent[-1]["threads"]] == ["resolved"]
    assert groups(view) == {TWO: ["look at this"]}
    view.on_filter(status="open")
    assert groups(view) == {}


def test_only_what_changed_is_sent_and_only_while_a_page_shows_it(opened, write):
    ids = [write(TWO, f"remark {n}") for n in range(5)]
    view, sent = opened()
    write(TWO, "an answer", parent_id=ids[2])
    assert flush(PANEL_THREAD)
    (patch,) = sent
    assert [thread["id"] for thread in patch["threads"]] == [ids[2]]
    write(PAGES[0], "elsewhere")
    assert flush(PANEL_THREAD)
    assert [thread["content"] for thread in sent[1]["threads"]] == ["elsewhere"]
    assert sent[1]["listing"]["total"] == 6
    view.on_state("second page")
    view.on_leave("page")
    view.on_leave("second page")
    write(PAGES[0], "later")
    assert flush(PANEL_THREAD)
    assert len(sent) == 2


@pytest.mark.parametrize("end", ["close", "detach"])
def test_it_follows_no_changes_once_it_is_closed_or_the_person_detaches(opened, write, end):
    view, sent = opened()
    view.close() if end == "close" else OWN_CALLS.end()
    assert flush(PANEL_THREAD)
    assert sent == ([] if end == "close" else [{"live": False}])
    sent.clear()
    write(TWO, "later")
    assert flush(PANEL_THREAD)
    assert sent == []
    state = view.on_state("page")
    assert (state["live"], [thread["content"] for thread in state["threads"]]) == (True, ["later"])


def test_a_detach_while_a_page_begins_to_follow_ends_it_after_the_state(opened, write, monkeypatch):
    view, sent = opened()
    view.on_leave("page")
    watch = Database.watch

    def watch_late(database, fn):
        OWN_CALLS.end()
        return watch(database, fn)

    monkeypatch.setattr(Database, "watch", watch_late)
    states = []
    PANEL_THREAD.submit(lambda: states.append(view.on_state("page")))
    assert flush(PANEL_THREAD)
    assert ([state["live"] for state in states], sent) == ([True], [{"live": False}])
    write(TWO, "later")
    assert flush(PANEL_THREAD)
    assert len(sent) == 1


def test_a_page_of_threads_and_the_newest_replies_are_sent_and_more_when_asked_for(opened, write):
    about = write(TWO, "a long talk")
    for n in range(REPLIES + 5):
        write(TWO, f"reply {n}", parent_id=about)
    for n in range(2 * PAGE):
        write(PAGES[0], f"remark {n}")
    view, _ = opened(variant="shop/Two")
    listing = view.on_state("page")["listing"]
    assert (listing["shown"], listing["total"]) == (PAGE, 2 * PAGE + 1)
    long = shown(view, about)
    assert (long["replies"][0]["content"], long["earlier"]) == ("reply 5", 5)
    view.on_more()
    assert view.on_state("page")["listing"]["shown"] == 2 * PAGE
    view.on_earlier(about)
    assert (shown(view, about)["replies"][0]["content"], shown(view, about)["earlier"]) == (
        "reply 0",
        0,
    )


def test_drafts_of_one_target_are_submitted_together_as_the_button_counts_them(opened, database):
    view, _ = opened(variant="shop/Two")
    drawn = [view.on_remark(TWO, content)["id"] for content in ("one", "two")]
    view.on_remark(THREE, "not this one")
    group = view.on_state("page")["listing"]["groups"][0]
    assert (group["target"], group["drafts"]) == (TWO, drawn)
    sent = submit(view, TWO)
    assert sent["count"] == 2
    first, other = view.on_state("page")["listing"]["groups"]
    assert first["reviews"] == [{"id": sent["review"], "status": "submitted"}]
    assert (first["drafts"], len(other["drafts"])) == ([], 1)
    view.on_complete(sent["review"])
    assert view.on_state("page")["listing"]["groups"][0]["reviews"][0]["status"] == "completed"


def test_just_the_drafts_that_the_page_shows_are_submitted_or_none(opened):
    view, _ = opened(variant="shop/Two")
    one, two = drawn = [view.on_remark(TWO, content)["id"] for content in ("one", "two")]
    later = view.on_remark(TWO, "written since")["id"]
    assert drafts_on(view, TWO) == [*drawn, later]
    assert view.on_submit(TWO, drawn)["count"] == 2
    assert drafts_on(view, TWO) == [later]
    assert (
        answer(view, "submit", {"target": TWO, "drafts": [one, later]})["code"] == "bad_arguments"
    )
    view.on_delete(two, agreed=view.on_delete(two))
    assert answer(view, "submit", {"target": TWO, "drafts": [later, two]})["code"] == "not_found"
    assert drafts_on(view, TWO) == [later]


def test_a_deletion_is_done_only_when_the_person_agreed_to_just_what_goes_along(
    opened, write, database
):
    view, _ = opened()
    about = view.on_remark(TWO, "one")["id"]
    review = submit(view, TWO)["review"]
    write(TWO, "an answer", parent_id=about)
    found = view.on_delete(about)
    assert found == {"done": False, "replies": 1, "review_deleted": True}
    write(TWO, "another", parent_id=about)
    found = view.on_delete(about, agreed=found)
    assert found == {"done": False, "replies": 2, "review_deleted": True}
    assert view.on_delete(about, agreed=found)["done"]
    assert groups(view) == {}
    assert answer(view, "complete", {"review": review})["code"] == "not_found"
    lone = write(TWO, "one more")
    assert view.on_delete(lone) == {"done": False, "replies": 0, "review_deleted": False}


def test_the_review_of_a_reply_stays(opened, write):
    view, _ = opened()
    about = view.on_remark(TWO, "one")["id"]
    submit(view, TWO)
    reply = write(TWO, "an answer", parent_id=about)
    assert view.on_delete(reply) == {"done": False, "replies": 0, "review_deleted": False}


def test_words_are_edited_by_the_person_whoever_wrote_them(opened, write):
    about = write(TWO, "It is\u202e two")
    view, _ = opened()
    assert view.on_words(about) == "It is\u202e two"
    view.on_edit(about, "It is three")
    assert groups(view) == {TWO: ["It is three"]}
    view.on_reply(about, "I made it shorter")
    assert [r["author"] for r in shown(view, about)["replies"]] == ["human"]
    view.on_resolve(about)
    view.on_reopen(about)
    assert shown(view, about)["status"] == "submitted"


def test_what_the_service_refuses_is_answered_with_its_code_and_changes_nothing(opened):
    view, _ = opened()
    for ask, args in {
        "remark": {"target": "variant:shop/Tow", "content": "x"},
        "edit": {"id": "ffffffff", "content": "x"},
        "delete": {"id": "ffffffff"},
        "reply": {"id": "ffffffff", "content": "x"},
        "resolve": {"id": "ffffffff"},
    }.items():
        assert answer(view, ask, args)["code"] == "not_found", ask
    assert groups(view) == {}


MARK = "\u202e\u200bbad"
SHOWN = "<U+202E><U+200B>bad"


def test_no_text_of_an_agent_hides_what_it_holds_and_nothing_is_markup(opened, write):
    html = "<img src=x onerror=alert(1)> ![x](http://example.com/x.png)"
    about = write(TWO, f"{html} {MARK}", who=f"cla{MARK}", section=MARK, quote=MARK)
    write(TWO, f"two\nlines {MARK}", parent_id=about)
    view, _ = opened()
    thread = shown(view, about)
    assert thread["content"] == f"{html} {SHOWN}"
    assert (thread["section"], thread["quote"], thread["principal"]) == (
        SHOWN,
        SHOWN,
        f"cla{SHOWN}",
    )
    assert thread["replies"][0]["content"] == f"two\nlines {SHOWN}"
    assert "\u202e" not in json.dumps(view.on_state("page"), ensure_ascii=False)
    assert to_html(view.text()).count("<img") == 0
    assert SHOWN.replace("<", "&lt;") in view.text()


LINKS = (
    "[a](http://example.com)",
    "\\[a](http://example.com)",
    "![a](http://example.com/a.png)",
    "!\\[a](http://example.com/a.png)",
    "<http://example.com>",
    "<a href=http://example.com>a</a>",
    "[a]: http://example.com",
    "`` ` [a](http://example.com) ``",
)


@pytest.mark.parametrize("words", LINKS)
def test_what_anyone_writes_makes_no_link_in_a_saved_notebook(opened, write, words):
    view, _ = opened()
    write(TWO, words, who=words, section=words)
    html = to_html(view.text())
    assert ("<a" in html, "<img" in html) == (False, False), html
    assert html.count(escape(words)) == 3


def test_reading_makes_no_database_and_a_fault_is_shown(opened, database):
    view, sent = opened(variant="shop/Two")
    assert groups(view) == {TWO: []}
    assert view.text() == "No open remarks."
    assert not database.file.exists()
    view.on_remark(TWO, "one")
    assert flush(PANEL_THREAD)
    sent.clear()
    database.close()
    newer = sqlite3.connect(database.file)
    newer.execute("PRAGMA user_version = 999")
    newer.close()
    PANEL_THREAD.mark_changed(module.THREADS, None)
    assert flush(PANEL_THREAD)
    assert [patch.keys() for patch in sent] == [{"fault"}]
    assert answer(view, "state", {"page": "page"})["code"] == "bad_database"
    assert "cannot be read: bad_database" in view.text()


def test_its_text_is_the_open_threads_by_target_without_times(opened, write):
    view, _ = opened()
    view.on_remark(THREE, "a | draft")
    about = write(TWO, f"why\n\n{'x' * 200}", section="Price")
    write(TWO, "so", parent_id=about)
    view.on_resolve(write(TWO, "resolved"))
    assert view.text().splitlines()[2:] == [
        "| `variant:shop/Three` |  | draft | person | a \\| draft | 0 |",
        "| `variant:shop/Two` | Price | replied | claude | why … 200 | 1 |",
    ]
    for n in range(MAX_LISTED):
        write(PAGES[0], f"remark {n}")
    assert view.text().endswith("… and 2 more remarks.")
    assert view.start() == {}


def test_the_palette_opens_it():
    asked = []
    context = PanelContext()
    context.open_panel = asked.append
    COMMANDS["remarks"].act(context)
    assert asked == ["review"]
