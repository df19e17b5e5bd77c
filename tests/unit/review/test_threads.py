"""Threads against a simple model: any course of remarks, replies, submissions and deletions."""

import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from repl_pair.errors import RequestError
from repl_pair.runtime.project.database import Database
from repl_pair.runtime.review.annotations import (
    create_annotation,
    delete_annotation,
    get_annotation,
    list_annotations,
    reopen_annotation,
    resolve_annotation,
)
from repl_pair.runtime.review.reviews import get_review, list_reviews, submit_review
from repl_pair.wire import PERSON

from .conftest import CLAUDE, ME

TARGETS = ("doc:a.md", "doc:b.md")
ACTS = ("remark", "reply", "resolve", "reopen", "delete", "submit")


class Model:
    """What the rules say, over plain dicts: `{id: [principal, target, status, parent, review]}`."""

    def __init__(self):
        self.remarks = {}

    def remark(self, id, view, target, parent=None):
        is_draft = view.principal == PERSON and parent is None
        review = self.remarks[parent][4] if parent else None
        place = self.remarks[parent][1] if parent else target
        status = "draft" if is_draft else "submitted"
        self.remarks[id] = [view.principal, place, status, parent, review]
        if parent and self.remarks[parent][2] not in ("resolved", "draft"):
            self.remarks[parent][2] = "replied"

    def delete(self, id, view):
        thread = {id, *(one for one, row in self.remarks.items() if row[3] == id)}
        if view.principal != PERSON and {self.remarks[one][0] for one in thread} != {"claude"}:
            return "forbidden"
        parent = self.remarks[id][3]
        for one in thread:
            del self.remarks[one]
        answered = any(row[3] == parent for row in self.remarks.values())
        if parent and not answered and self.remarks[parent][2] == "replied":
            self.remarks[parent][2] = "submitted"
        return ""

    def submit(self, view, target):
        """Return the ids that are submitted, or why none is."""
        waiting = [
            id
            for id, (principal, place, status, parent, review) in self.remarks.items()
            if (place, parent) == (target, None)
            and (
                status == "draft"
                or (principal == view.principal and not review and status != "resolved")
            )
        ]
        own = [id for id in waiting if self.remarks[id][0] == view.principal]
        if view.principal == PERSON or own:
            return (waiting if view.principal == PERSON else own) or "bad_arguments"
        return "forbidden" if waiting else "bad_arguments"

    def take(self, ids, review):
        for id, row in self.remarks.items():
            if id in ids or row[3] in ids:
                row[4] = review
            if id in ids and row[2] == "draft":
                is_answered = any(one[3] == id for one in self.remarks.values())
                row[2] = "replied" if is_answered else "submitted"


def read_all(database):
    items, total = list_annotations(database, ME, limit=200)
    assert total == len(items)
    slots = ("principal", "target", "status", "parent_id", "review_id")
    return {one["id"]: [one[slot] for slot in slots] for one in items}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.booleans(), st.integers(0, 7)), max_size=25))
def test_every_course_of_a_thread_is_the_models(acts):
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            Path(folder, target.removeprefix("doc:")).write_text("# A\n")
        database, model, words = Database(Path(folder)), Model(), count()
        try:
            for act, is_mine, n in acts:
                perform(database, model, act, ME if is_mine else CLAUDE, n, str(next(words)))
                assert read_all(database) == model.remarks
                reviews = {row[4] for row in model.remarks.values()} - {None}
                assert {one["id"] for one in list_reviews(database, ME)[0]} == reviews
                for review in reviews:
                    found = get_review(database, ME, review)["annotations"]
                    held = {id for id, row in model.remarks.items() if row[4] == review}
                    assert {one["id"] for one in found} == held
        finally:
            database.close()


def perform(database, model, act, view, n, words):
    """Do one act in both, if there is something to do it to."""
    target, ids = TARGETS[n % 2], list(model.remarks)
    threads = [id for id in ids if model.remarks[id][3] is None]
    if act == "remark":
        made = create_annotation(database, view, target=target, content=words)
        model.remark(made["id"], view, target)
    elif act == "submit":
        expected = model.submit(view, target)
        if isinstance(expected, str):
            with pytest.raises(RequestError) as refused:
                submit_review(database, view, target)
            assert refused.value.code == expected
        else:
            made = submit_review(database, view, target)
            assert [one["id"] for one in made["items"]] == expected
            model.take(expected, made["review_id"])
    elif act == "reply" and threads:
        parent = threads[n % len(threads)]
        place = model.remarks[parent][1]
        made = create_annotation(database, view, target=place, content=words, parent_id=parent)
        model.remark(made["id"], view, place, parent)
        assert get_annotation(database, view, parent)["replies"][-1] == made
    elif act in ("resolve", "reopen") and ids:
        id = ids[n % len(ids)]
        row = model.remarks[id]
        if act == "resolve" and row[2] == "draft" and view.principal != PERSON:
            with pytest.raises(RequestError, match="Nothing was changed"):
                resolve_annotation(database, view, id)
            return
        change = resolve_annotation if act == "resolve" else reopen_annotation
        change(database, view, id)
        is_changed = act == "resolve" or row[2] == "resolved"
        row[2] = ("resolved" if act == "resolve" else "submitted") if is_changed else row[2]
    elif act == "delete" and ids:
        id = ids[n % len(ids)]
        if expected := model.delete(id, view):
            with pytest.raises(RequestError) as refused:
                delete_annotation(database, view, id)
            assert refused.value.code == expected
        else:
            delete_annotation(database, view, id)
