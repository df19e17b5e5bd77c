"""Remarks and reviews: what is refused, who may change what, and what goes with what."""

import time

import pytest

import repl_pair
from repl_pair.errors import RequestError
from repl_pair.runtime.notices.notices import AGENTS, list_notices
from repl_pair.runtime.review.annotations import (
    create_annotation,
    delete_annotation,
    edit_annotation,
    get_annotation,
    list_annotations,
    reopen_annotation,
    resolve_annotation,
)
from repl_pair.runtime.review.reviews import (
    complete_review,
    get_review,
    list_reviews,
    submit_review,
)
from repl_pair.runtime.review.rules import MAX_IN_AN_HOUR
from repl_pair.runtime.review.threads import list_threads
from repl_pair.wire import PERSON, View

from .conftest import CLAUDE, CODEX, ME

WRITER = View(principal="claude", access=frozenset({"read", "run", "write"}))
PAGE = "doc:README.md"


@pytest.fixture
def remark(database):
    """Make a remark on the page, or a reply to one."""

    def make(view, content="Mend it.", target=PAGE, **more):
        return create_annotation(database, view, target=target, content=content, **more)

    return make


def refusal(call, *args, **more):
    with pytest.raises(RequestError) as refused:
        call(*args, **more)
    return refused.value


def notices(database):
    """Return the recipient, the subject, the last text and the count of what was reported."""
    with database.reading() as connection:
        query = "SELECT recipient, subject, text, count FROM notices ORDER BY number"
        return list(map(tuple, connection.execute(query)))


def ids_of(items):
    return [one["id"] for one in items]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"content": ""}, "content is empty"),
        ({"content": " \n\t\u2003"}, "content is empty"),
        ({"content": "a" * 8001}, "8,001 characters; at most 8,000"),
        ({"content": "\ud800"}, "not text"),
        ({"quote": "a" * 2001}, "quote has 2,001"),
        ({"section": "a" * 201}, "section has 201"),
    ],
)
def test_what_says_nothing_or_too_much_is_refused_and_nothing_is_made(
    database, remark, given, words
):
    error = refusal(remark, ME, **given)
    assert (error.code, words in error.message) == ("bad_arguments", True), error
    assert not database.file.exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda db: get_annotation(db, CLAUDE, "0" * 8),
        lambda db: edit_annotation(db, CLAUDE, "0" * 8, "x"),
        lambda db: delete_annotation(db, ME, "0" * 8),
        lambda db: complete_review(db, ME, "0" * 8),
        lambda db: submit_review(db, ME, PAGE),
        lambda db: create_annotation(db, ME, target=PAGE, content="x", parent_id="0" * 8),
    ],
)
def test_reads_and_refused_changes_make_no_database(database, call):
    assert list_annotations(database, CLAUDE, limit=5) == list_reviews(database, CLAUDE) == ([], 0)
    assert refusal(call, database).code in ("not_found", "bad_arguments")
    assert not database.file.exists()


def test_what_does_not_fit_together_is_refused_with_what_would(database, remark):
    one = remark(ME)
    reply = remark(CLAUDE, "Done.", parent_id=one["id"])
    review = submit_review(database, ME, PAGE)["review_id"]
    other = remark(ME, target=f"{PAGE}#Install")
    near = f"{one['id'][:-1]}{'0' if one['id'][-1] != '0' else '1'}"
    cases = [
        ({"parent_id": near}, "not_found", f"Nearest: {one['id']}"),
        ({"parent_id": reply["id"]}, "bad_arguments", f"reply to {one['id']}"),
        ({"parent_id": one["id"], "target": f"{PAGE}#Install"}, "bad_arguments", f"on {PAGE}, not"),
        ({"parent_id": one["id"], "target": "doc:NONE.md"}, "not_found", "no page"),
        ({"parent_id": one["id"], "review_id": "0" * 8}, "bad_arguments", f"is of review {review}"),
        ({"review_id": "0" * 8}, "not_found", "no review"),
    ]
    repl_pair.story("shop.quote")(lambda n=1: n)
    cases.append(({"review_id": review, "target": "story:shop.quote"}, "bad_arguments", PAGE))
    for given, code, words in cases:
        error = refusal(remark, CLAUDE, **given)
        assert (error.code, words in error.message) == (code, True), (given, error)
    covered = remark(CLAUDE, target=f"{PAGE}#Usage", review_id=review)
    assert (covered["review_id"], other["review_id"]) == (review, None)
    assert list_annotations(database, ME, limit=9)[1] == 4


def test_a_reply_takes_target_section_and_review_of_its_remark_over(database, remark):
    one = remark(ME, target=f"{PAGE}#install", section="Usage")
    early = remark(CLAUDE, "Which one?", f"{PAGE}#Install", parent_id=one["id"])
    submitted = submit_review(database, ME, PAGE)
    late = remark(CLAUDE, "Done.", f"{PAGE}#install", parent_id=one["id"])
    replies = get_annotation(database, ME, one["id"])["replies"]
    assert ids_of(replies) == [early["id"], late["id"]]
    same = {"target": f"{PAGE}#Install", "section": "Usage", "review_id": submitted["review_id"]}
    assert all(same.items() <= reply.items() for reply in replies)
    assert ids_of(submitted["items"]) == [one["id"]]
    whole = get_review(database, CLAUDE, submitted["review_id"])["annotations"]
    assert ids_of(whole) == [one["id"], early["id"], late["id"]]


def test_a_reply_is_possible_though_its_target_is_gone(database, project, remark):
    one = remark(ME, target=f"{PAGE}#Install")
    (project / "README.md").unlink()
    reply = remark(CLAUDE, "I took it out.", one["target"], parent_id=one["id"])
    assert (reply["target"], reply["status"]) == (one["target"], "orphaned")


def test_the_same_words_are_one_remark_for_half_a_minute(database, remark):
    first = remark(CLAUDE)
    again = remark(CLAUDE, target="doc:./README.md")
    assert again == {**first, "duplicate": True}
    for view, more in [
        (CODEX, {}),
        (ME, {}),
        (CLAUDE, {"content": "Mend it!"}),
        (CLAUDE, {"quote": "fresh"}),
        (CLAUDE, {"section": "Usage"}),
        (CLAUDE, {"target": f"{PAGE}#Usage"}),
        (CLAUDE, {"parent_id": first["id"]}),
    ]:
        assert "duplicate" not in remark(view, **more), more
    with database.writing() as connection:
        connection.execute("UPDATE annotations SET created_at = created_at - 31")
    later = remark(CLAUDE)
    assert "duplicate" not in later
    assert later["id"] != first["id"]
    assert sum(count for *_, count in notices(database)) == 8


def test_the_same_words_are_one_remark_also_where_the_first_is_in_a_review_meanwhile(
    database, remark
):
    first = remark(CLAUDE)
    review_id = submit_review(database, CLAUDE, target=PAGE)["review_id"]
    assert (remark(CLAUDE)["id"], remark(CODEX)["id"] == first["id"]) == (first["id"], False)
    assert remark(CLAUDE, review_id=review_id)["id"] == first["id"]


def test_the_words_of_a_remark_that_is_resolved_are_a_new_remark(database, remark):
    first = remark(CLAUDE)
    resolve_annotation(database, ME, first["id"])
    again = remark(CLAUDE)
    assert (again["status"], again["id"] == first["id"]) == ("submitted", False)
    assert "duplicate" not in again


def test_replies_stand_in_the_order_of_their_writing_though_a_clock_is_set_back(
    database, remark, monkeypatch
):
    first, now = remark(ME), time.time()
    for n in range(4):
        monkeypatch.setattr(time, "time", lambda n=n: now - n * 1000)
        remark(CLAUDE, f"{n}", parent_id=first["id"])
    monkeypatch.undo()
    listed = list_threads(database, ME, limit=1)["threads"][0]["replies"]
    read = get_annotation(database, ME, first["id"])["replies"]
    assert [[one["content"] for one in replies] for replies in (listed, read)] == [[*"0123"]] * 2


def test_where_the_folder_of_the_project_is_gone_a_read_says_so(database, project, remark):
    remark(ME)
    moved = project.rename(project.with_name("moved"))
    refused = refusal(list_annotations, database, ME, limit=1)
    assert refused.code == "cannot_run"
    assert f"folder of the project is gone: {project}" in refused.message
    moved.rename(project)
    assert list_annotations(database, ME, limit=1)[1] == 1


def test_an_agent_writes_so_many_remarks_an_hour_and_others_go_on(database, remark):
    first = remark(CLAUDE, "0")
    for n in range(1, MAX_IN_AN_HOUR):
        remark(CLAUDE, f"{n}", parent_id=first["id"])
    refused = refusal(remark, CLAUDE, "one more")
    assert refused.code == "cannot_run"
    assert refused.message.startswith(f"{MAX_IN_AN_HOUR} remarks of yours")
    assert remark(CLAUDE, "0")["duplicate"]
    remark(CODEX, "one more")
    for n in range(MAX_IN_AN_HOUR + 1):
        remark(ME, f"{n}")
    with database.writing() as connection:
        connection.execute("UPDATE annotations SET created_at = created_at - 3600")
    remark(CLAUDE, "one more")


def test_what_an_agent_deletes_counts_on_for_an_hour(database, remark):
    first = remark(CLAUDE, "0")
    for n in range(1, MAX_IN_AN_HOUR - 1):
        remark(CLAUDE, f"{n}", parent_id=first["id"])
    delete_annotation(database, CLAUDE, first["id"])
    delete_annotation(database, CLAUDE, remark(CLAUDE, "again")["id"])
    assert refusal(remark, CLAUDE, "one more").code == "cannot_run"
    remark(CODEX, "one more")
    with database.writing() as connection:
        connection.execute("UPDATE deleted_annotations SET created_at = created_at - 3601")
    delete_annotation(database, CLAUDE, remark(CLAUDE, "one more")["id"])
    with database.reading() as connection:
        assert len(connection.execute("SELECT 1 FROM deleted_annotations").fetchall()) == 1


def test_remarks_of_a_clock_that_was_ahead_stand_in_the_way_of_none(database, remark):
    first = remark(CLAUDE, "0")
    for n in range(1, MAX_IN_AN_HOUR):
        remark(CLAUDE, f"{n}", parent_id=first["id"])
    with database.writing() as connection:
        connection.execute("UPDATE annotations SET created_at = created_at + 86400")
    later = remark(CLAUDE, "0")
    assert "duplicate" not in later
    assert later["id"] != first["id"]


def test_two_replies_in_the_same_words_to_two_remarks_are_two(database, remark):
    replies = [
        remark(CLAUDE, "Done.", parent_id=remark(ME, words)["id"]) for words in ("One.", "Two.")
    ]
    assert len({reply["id"] for reply in replies}) == 2


@pytest.mark.parametrize("view", [CLAUDE, WRITER, ME], ids=["closed", "write", "person"])
def test_what_another_wrote_is_changed_by_the_person_or_with_write(database, remark, view):
    own = remark(view, "Mine.")
    changes = {
        "edit": lambda id: edit_annotation(database, view, id, "Other words."),
        "delete": lambda id: delete_annotation(database, view, id),
        "submit": lambda id: submit_review(database, view, PAGE, [id]),
    }
    for author in (ME, CODEX):
        for name, change in changes.items():
            id = remark(author, f"{name} {author.principal}")["id"]
            if view is CLAUDE:
                error = refusal(change, id)
                assert (error.code, error.detail) == ("forbidden", {"access": ["write"]})
                assert get_annotation(database, ME, id)["annotation"]["content"].startswith(name)
            else:
                change(id)
    answered = remark(CODEX, "A reply.", parent_id=own["id"])
    if view is CLAUDE:  # what goes along is another's too
        assert refusal(delete_annotation, database, view, own["id"]).code == "forbidden"
        delete_annotation(database, CODEX, answered["id"])
    assert delete_annotation(database, view, own["id"])["replies"] == (view is not CLAUDE)


def test_both_sides_resolve_and_reopen_what_the_other_wrote(database, remark):
    mine, its = remark(ME)["id"], remark(CLAUDE)["id"]
    submit_review(database, ME, PAGE, [mine])
    for view, id in ((CLAUDE, mine), (ME, its)):
        assert resolve_annotation(database, view, id)["status"] == "resolved"
        assert resolve_annotation(database, view, id)["status"] == "resolved"
        assert reopen_annotation(database, view, id)["status"] == "submitted"
        assert reopen_annotation(database, view, id)["status"] == "submitted"


def test_an_agent_submits_no_draft_of_the_person_by_resolving_and_reopening_it(database, remark):
    id = remark(ME)["id"]
    error = refusal(resolve_annotation, database, CLAUDE, id)
    assert (error.code, error.detail) == ("forbidden", {"access": ["write"]})
    assert reopen_annotation(database, CLAUDE, id)["status"] == "draft"
    for view in (WRITER, ME):
        id = remark(ME, f"For {view.principal}.")["id"]
        assert resolve_annotation(database, view, id)["status"] == "resolved"


def test_editing_refreshes_the_time_and_names_who_else_wrote_it(database, remark):
    made = remark(CLAUDE)
    own = edit_annotation(database, CLAUDE, made["id"], "Mend it now.")
    assert own["updated_at"] > made["updated_at"]
    assert (own["created_at"], own["content"]) == (made["created_at"], "Mend it now.")
    assert "edited_by" not in own
    assert edit_annotation(database, ME, made["id"], "No.")["edited_by"] == PERSON


def test_deleting_takes_replies_and_an_emptied_review_along(database, remark):
    kept, gone = remark(ME, "Kept."), remark(ME, "Gone.")
    reply = remark(CLAUDE, "Why?", parent_id=gone["id"])
    review = submit_review(database, ME, PAGE)["review_id"]
    deleted = delete_annotation(database, ME, gone["id"])
    assert deleted == {"deleted": gone["id"], "replies": 1, "review_deleted": False}
    assert refusal(get_annotation, database, ME, reply["id"]).code == "not_found"
    answer = remark(CLAUDE, "Done.", parent_id=kept["id"])
    assert delete_annotation(database, CLAUDE, answer["id"])["review_deleted"] is False
    assert get_annotation(database, ME, kept["id"])["annotation"]["status"] == "submitted"
    assert delete_annotation(database, ME, kept["id"])["review_deleted"] is True
    assert refusal(get_review, database, ME, review).code == "not_found"
    assert list_reviews(database, ME) == ([], 0)


def test_a_review_takes_all_or_nothing(database, remark):
    repl_pair.story("shop.quote")(lambda n=1: n)
    one, two = remark(ME, "One."), remark(ME, "Two.", f"{PAGE}#Usage")
    elsewhere = remark(ME, "Three.", "story:shop.quote")
    reply = remark(CLAUDE, "A reply.", parent_id=remark(CLAUDE, "Own.")["id"])
    for ids, code, words in [
        ([one["id"], "0" * 8], "not_found", "no annotation"),
        ([one["id"], elsewhere["id"]], "bad_arguments", "story:shop.quote, not on"),
        ([one["id"], reply["id"]], "bad_arguments", "is a reply"),
        ([], "bad_arguments", "annotation_ids is empty"),
    ]:
        error = refusal(submit_review, database, ME, PAGE, ids)
        assert (error.code, words in error.message) == (code, True), error
    assert list_reviews(database, ME) == ([], 0)
    made = submit_review(database, ME, PAGE, [one["id"], one["id"]])
    assert ids_of(made["items"]) == [one["id"]]
    assert "already" in refusal(submit_review, database, ME, PAGE, [one["id"]]).message
    assert ids_of(submit_review(database, ME, PAGE)["items"]) == [two["id"]]
    error = refusal(submit_review, database, ME, PAGE)
    assert (error.code, "2 submitted" in error.message) == ("bad_arguments", True), error
    assert list_reviews(database, ME)[1] == list_reviews(database, ME, PAGE)[1] == 2


def test_an_agents_reply_neither_submits_a_draft_of_the_person_nor_lets_it_resolve_it(
    database, remark
):
    draft = remark(ME, "A draft.")["id"]
    reply = remark(CLAUDE, "Done.", parent_id=draft)["id"]
    assert refusal(resolve_annotation, database, CLAUDE, draft).code == "forbidden"
    assert get_annotation(database, ME, draft)["annotation"]["status"] == "draft"
    (submitted,) = submit_review(database, ME, PAGE)["items"]
    assert (submitted["id"], submitted["status"]) == (draft, "replied")
    delete_annotation(database, CLAUDE, reply)
    assert get_annotation(database, ME, draft)["annotation"]["status"] == "submitted"


def test_a_draft_of_another_review_leaves_it_and_takes_it_along_where_it_was_the_last(
    database, remark
):
    first = remark(ME)
    old = submit_review(database, ME, PAGE)["review_id"]
    draft = remark(ME, "Late.", review_id=old)
    assert (draft["status"], draft["review_id"]) == ("draft", old)
    delete_annotation(database, ME, first["id"])
    new = submit_review(database, ME, PAGE)
    assert ids_of(new["items"]) == [draft["id"]]
    assert ids_of(list_reviews(database, ME)[0]) == [new["review_id"]]


def test_an_agent_submits_its_own_remarks_and_learns_that_drafts_are_anothers(database, remark):
    draft = remark(ME, "A draft.")
    error = refusal(submit_review, database, CLAUDE, PAGE)
    assert (error.code, error.detail) == ("forbidden", {"access": ["write"]})
    own = remark(CLAUDE, "Own.")
    assert ids_of(submit_review(database, CLAUDE, PAGE)["items"]) == [own["id"]]
    assert ids_of(submit_review(database, WRITER, PAGE)["items"]) == [draft["id"]]


def test_reviews_are_completed_and_filtered(database, remark):
    remark(ME)
    review = submit_review(database, ME, PAGE)["review_id"]
    completed = complete_review(database, CLAUDE, review)
    assert completed["status"] == "completed"
    assert complete_review(database, ME, review) == completed
    assert list_reviews(database, ME, status="submitted") == ([], 0)
    assert ids_of(list_reviews(database, ME, status="completed")[0]) == [review]
    assert refusal(complete_review, database, ME, "0" * 8).code == "not_found"


def test_filters_cover_parts_of_a_target_and_of_a_section(database, remark):
    repl_pair.story("shop.quote")(lambda n=1: n)
    whole, part = remark(ME, "Whole."), remark(ME, "Part.", f"{PAGE}#Usage", section="Install")
    other = remark(ME, "Other.", "story:shop.quote", section="play")
    for given, found in [
        ({"target": PAGE}, [part, whole]),
        ({"target": "doc:./README.md#usage"}, [part]),
        ({"section": "nst"}, [part]),
        ({"section": "l", "status": "draft"}, [other, part]),
        ({"status": "submitted"}, []),
        ({}, [other, part, whole]),
    ]:
        items, total = list_annotations(database, CLAUDE, limit=9, **given)
        assert (ids_of(items), total) == (ids_of(found), len(found)), given
    own = remark(ME, "Own.", "story:shop.quote", section="Übersicht")
    assert ids_of(list_annotations(database, ME, limit=9, section="üBERSICHT")[0]) == [own["id"]]
    for target, code in ((f"{PAGE}#None", "bad_arguments"), ("doc:NO.md", "not_found")):
        assert refusal(list_annotations, database, ME, target=target, limit=9).code == code
    assert refusal(list_annotations, database, ME, review_id="0" * 8, limit=9).code == "not_found"


def test_a_target_that_is_gone_still_lists_its_remarks(database, project, remark):
    made = remark(ME, target=f"{PAGE}#Usage")
    (project / "README.md").unlink()
    for target in (PAGE, f"{PAGE}#Usage"):
        assert ids_of(list_annotations(database, ME, target=target, limit=9)[0]) == [made["id"]]


def test_pages_go_on_behind_the_last_one_though_others_came_or_went(database, remark):
    made = [remark(CLAUDE, f"{n}")["id"] for n in range(6)][::-1]
    first, total = list_annotations(database, ME, limit=2)
    remark(CLAUDE, "new")
    delete_annotation(database, CLAUDE, made[3])
    rest, _ = list_annotations(database, ME, limit=9, after=first[-1]["id"])
    assert (ids_of(first), total) == (made[:2], 6)
    assert ids_of(rest) == [made[2], *made[4:]]
    delete_annotation(database, CLAUDE, made[1])
    error = refusal(list_annotations, database, ME, limit=9, after=made[1])
    assert error.code == "stale_cursor"


def test_remarks_are_reported_to_those_for_whom_they_are(database, remark):
    one = remark(ME, "A draft.")
    assert notices(database) == []
    submit_review(database, ME, PAGE)
    own = remark(CLAUDE, "A finding.")
    assert notices(database)[1][2] == f"claude remarked {own['id']} on {PAGE}"
    remark(ME, "Thanks.", parent_id=own["id"])
    remark(CODEX, "Same here.", parent_id=own["id"])
    remark(CLAUDE, "Done.", parent_id=one["id"])
    resolve_annotation(database, CLAUDE, one["id"])
    reopen_annotation(database, ME, one["id"])
    found = notices(database)
    assert {to: count for to, *_, count in found} == {AGENTS: 2, PERSON: 4, "claude": 2}
    assert {subject for _, subject, *_ in found} == {PAGE}
    assert found[0][2] == f"person reopened {one['id']} on {PAGE}"


def test_what_a_view_does_not_see_is_not_listed_counted_named_or_found(database, project, remark):
    (project / "pyproject.toml").write_text('[tool.repl_pair]\nprivate = ["plan*"]\n')
    (project / "plan.md").write_text("# Plan\n")
    repl_pair.story("shop.ops", tier="ops")(lambda n=1: n)
    hidden = [remark(ME, "Hidden.", "doc:plan.md"), remark(ME, "Hidden.", "story:shop.ops")]
    seen = remark(ME, "Seen.")
    reviews = [submit_review(database, ME, one["target"])["review_id"] for one in (*hidden, seen)]
    tiered = View(principal="claude", tier="agent")
    repl_pair.registry.unregister("story", "shop.ops")
    for view, known in ((CLAUDE, [1, 2]), (tiered, [2]), (ME, [0, 1, 2])):
        items, total = list_annotations(database, view, limit=9)
        assert ids_of(items) == [[*hidden, seen][n]["id"] for n in reversed(known)]
        listed, count = list_reviews(database, view)
        assert ids_of(listed) == [reviews[n] for n in reversed(known)]
        assert total == count == len(known)
        assert list_annotations(database, view, limit=9, status="orphaned")[1] == (1 in known)
        for n in {0, 1, 2}.difference(known):
            for call, id in ((get_annotation, hidden[n]["id"]), (get_review, reviews[n])):
                error = refusal(call, database, view, id)
                assert (error.code, "Nearest: " + id in error.message) == ("not_found", False)
    inspector = View(principal="claude", access=frozenset({"read", "inspect"}))
    targets = [one["target"] for one in (*hidden, seen)]
    for view, known in ((CLAUDE, [1, 2]), (tiered, [2]), (inspector, [0, 1, 2])):
        with database.reading() as connection:
            subjects = {one["subject"] for one in list_notices(connection, view)}
        assert subjects == {targets[n] for n in known}


def test_what_was_written_on_a_private_page_stays_hidden_whatever_the_settings_say_later(
    database, project, remark
):
    setting, page = project / "pyproject.toml", project / "plan.md"
    setting.write_text('[tool.repl_pair]\nprivate = ["plan.md"]\n')
    page.write_text("# Plan\n")
    one = remark(ME, "Hidden.", "doc:plan.md")
    review = submit_review(database, ME, "doc:plan.md")["review_id"]
    setting.unlink()  # as on a branch before the setting and the page
    reply = create_annotation(
        database, ME, target="doc:plan.md", content="Hidden too.", parent_id=one["id"]
    )
    page.unlink()
    open_one = remark(ME, "Seen.")
    inspector = View(principal="claude", access=frozenset({"read", "inspect"}))
    ids = [reply["id"], one["id"]]
    for view, known in ((CLAUDE, []), (inspector, ids), (ME, ids)):
        items, total = list_annotations(database, view, limit=9)
        assert ids_of(items) == [open_one["id"], *known]
        assert total == 1 + len(known)
        assert ids_of(list_reviews(database, view)[0]) == ([review] if known else [])
    for call, id in ((get_annotation, one["id"]), (get_review, review)):
        assert refusal(call, database, CLAUDE, id).code == "not_found"
    resolve_annotation(database, ME, one["id"])
    with database.reading() as connection:
        assert {n["subject"] for n in list_notices(connection, CLAUDE)} <= {PAGE}


def test_a_remark_that_is_edited_while_its_page_is_private_stays_hidden_as_one_made_then(
    database, project, remark
):
    one = remark(ME, "Open.")
    setting = project / "pyproject.toml"
    setting.write_text('[tool.repl_pair]\nprivate = ["README.md"]\n')
    edit_annotation(database, ME, one["id"], "Hidden.")
    setting.unlink()
    assert list_annotations(database, CLAUDE, limit=9) == ([], 0)
