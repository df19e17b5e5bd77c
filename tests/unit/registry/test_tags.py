"""The index of tags agrees with the registries after any changes."""

from contextlib import suppress
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import repl_pair
from repl_pair.errors import AuthoringError, RequestError
from repl_pair.runtime.registry import tags as tags_module
from repl_pair.runtime.registry.ids import story_of
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.registry.tags import TagIndex, tags_of
from repl_pair.runtime.registry.visible import listed_stories, listed_variants, visible_variants
from repl_pair.runtime.store import STORE
from repl_pair.wire import View

STORIES, NAMES, WORDS = ("a", "b"), ("X", "Y", "Z"), ("red", "blue", "green")
tags = st.lists(st.sampled_from(WORDS), unique=True)
taken_out = st.lists(st.sampled_from([f"!{word}" for word in WORDS]), unique=True)
parents = st.none() | st.builds("{}/{}".format, st.sampled_from(STORIES), st.sampled_from(NAMES))
changes = st.lists(
    st.tuples(st.sampled_from(STORIES), st.sampled_from((None, *NAMES)), tags, taken_out, parents)
    | st.tuples(st.sampled_from(STORIES), st.sampled_from((None, *NAMES))),
    max_size=30,
)


@pytest.fixture(autouse=True)
def registry():
    undo = REGISTRY.checkpoint()
    for word in WORDS:
        repl_pair.tag(word)
    yield
    undo()


def make(change):
    story, name, *rest = change
    if not rest:
        REGISTRY.unregister("variant" if name else "story", f"{story}/{name}" if name else story)
    elif name is None:
        repl_pair.story(story, component=lambda: 0, tags=rest[0])
    elif REGISTRY.find("story", story):
        with suppress(AuthoringError):
            repl_pair.variant(f"{story}/{name}", tags=[*rest[0], *rest[1]], extends=rest[2])


def expected(tag):
    entries = REGISTRY.snapshot("variant")
    found = []
    for id in entries:
        story = REGISTRY.find("story", story_of(id))
        words, at = [], id
        while at in entries:
            words, at = [*entries[at].body.tags, *words], entries[at].body.extends
        carried = set(story.body.tags if story else ())
        for word in words if story else ():
            carried = carried - {word[1:]} if word.startswith("!") else carried | {word}
        if tag in carried:
            found.append(id)
    return sorted(found)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(changes, changes)
def test_after_any_changes_each_tag_has_its_variants(first, second):
    index = TagIndex()
    for batch in (first, second):
        for change in batch:
            make(change)
        assert {word: index.ids(word) for word in WORDS} == {w: expected(w) for w in WORDS}


def test_more_changes_than_are_kept_are_read_anew():
    index = TagIndex()
    repl_pair.story("a", component=lambda: 0)
    repl_pair.variant("a/X", tags=["red"])
    assert index.ids("red") == ["a/X"]
    repl_pair.variant("a/X", tags=["blue"])
    for _ in range(11_000):
        STORE.emit("notices", "one of many")
    assert (index.ids("red"), index.ids("blue")) == ([], ["a/X"])


def test_an_update_that_was_stopped_is_made_again(monkeypatch):
    index = TagIndex()
    repl_pair.story("a", component=lambda: 0)
    for name in NAMES:
        repl_pair.variant(f"a/{name}", tags=["red"])
    before = index.ids("red")
    repl_pair.variant("a/Y", tags=["red", "blue"])
    with monkeypatch.context() as patched:
        patched.setattr(tags_module, "tags_of", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            index.ids("red")
    assert (index.ids("red"), index.ids("blue")) == (before, ["a/Y"])


def test_an_undone_checkpoint_takes_its_tags_along():
    index = TagIndex()
    undo = REGISTRY.checkpoint()
    repl_pair.story("a", component=lambda: 0)
    repl_pair.variant("a/X", tags=["red"])
    assert index.ids("red") == ["a/X"]
    undo()
    assert index.ids("red") == []


def test_a_parent_that_changes_or_comes_back_changes_the_tags_of_its_heirs():
    index = TagIndex()
    repl_pair.story("a", component=lambda: 0, tags=["green"])
    repl_pair.story("b", component=lambda: 0)
    repl_pair.variant("a/X", tags=["red"])
    repl_pair.variant("b/Y", extends="a/X")
    repl_pair.variant("b/Z", extends="b/Y", tags=["!red", "blue"])
    assert [index.ids(w) for w in WORDS] == [["a/X", "b/Y"], ["b/Z"], ["a/X"]]
    repl_pair.variant("a/X", tags=["blue"])
    assert [index.ids(w) for w in WORDS] == [[], ["a/X", "b/Y", "b/Z"], ["a/X"]]
    assert tags_of(REGISTRY.get("variant", "b/Y")) == ("blue",)
    REGISTRY.unregister("variant", "a/X")
    assert [index.ids(w) for w in WORDS] == [[], ["b/Z"], []]
    repl_pair.variant("a/X", tags=["green"])
    assert [index.ids(w) for w in WORDS] == [[], ["b/Z"], ["a/X", "b/Y", "b/Z"]]


def test_the_ids_of_a_tag_are_given_of_one_story_alone():
    index = TagIndex()
    for story in ("a", "ab"):
        repl_pair.story(story, component=lambda: 0, tags=["red"])
        repl_pair.variant(f"{story}/X")
    assert index.ids("red", "a/") == ["a/X"]


@pytest.fixture
def excluded():
    repl_pair.tag("blue", default_filter="exclude")
    repl_pair.story("a", component=lambda: 0)
    repl_pair.story("b", component=lambda: 0, tags=["blue", "red"])
    repl_pair.variant("a/X", tags=["red"])
    repl_pair.variant("a/Y", tags=["red", "blue"])
    repl_pair.variant("b/X")
    repl_pair.variant("b/Y", tags=["!blue"])


@pytest.mark.parametrize(
    ("story", "tags", "listed", "more"),
    [
        (None, None, ["a/X", "b/Y"], 2),
        (None, ["red"], ["a/X", "b/Y"], 2),
        (None, ["blue"], ["a/Y", "b/X"], 0),
        (None, ["red", "blue"], ["a/X", "a/Y", "b/X", "b/Y"], 0),
        ("a", None, ["a/X"], 1),
    ],
)
def test_what_carries_a_tag_that_is_excluded_is_listed_when_it_is_asked_for(
    excluded, story, tags, listed, more
):
    notes: list[str] = []
    assert list(listed_variants(View(), notes, story, tags)) == listed
    text = f"{more} more are listed only when their tag is asked for: tags=['blue']."
    assert notes == ([text] if more else [])


def test_stories_that_carry_an_excluded_tag_are_listed_when_it_is_asked_for(excluded):
    notes: list[str] = []
    seen = [list(listed_stories(View(), notes, tags)) for tags in (None, ["blue"])]
    assert tuple(seen) == (
        ["a"],
        ["b"],
    )
    assert notes == ["1 more are listed only when their tag is asked for: tags=['blue']."]


def test_a_story_that_comes_or_goes_while_stories_are_listed_breaks_no_list(excluded, monkeypatch):
    snapshot = REGISTRY.snapshot

    def remove_then_read(kind):
        REGISTRY.unregister("story", "b")
        return snapshot(kind)

    for tags in (None, ["red"]):
        repl_pair.story("b", component=lambda: 0, tags=["red"])
        with monkeypatch.context() as patched:
            patched.setattr(REGISTRY, "snapshot", remove_then_read)
            assert list(listed_stories(View(), [], tags)) == ([] if tags else ["a"])


def test_a_tag_that_a_view_may_not_see_reads_as_one_that_is_not_there(excluded):
    ops = View(principal="agent", tier="ops")
    refused = []
    for tag in ("red", "purple"):
        with pytest.raises(RequestError) as error:
            visible_variants(ops, None, [tag])
        refused.append(error.value.message.replace(tag, "?"))
    assert refused == ["There is no tag '?'."] * 2
    assert list(visible_variants(ops, None, ["docs"])) == []


def test_what_is_not_listed_still_counts_where_variants_are_chosen(excluded):
    assert list(visible_variants(View(), None, None)) == ["a/X", "a/Y", "b/X", "b/Y"]


def test_the_words_that_ship_are_there_from_the_start():
    canonical = ["agent", "dev", "docs", "experimental", "internal", "screenshot", "test"]
    facets = [f"state/{size}" for size in ("empty", "large", "medium", "small", "special")]
    theirs = [id for id in REGISTRY.ids("tag") if id not in WORDS]
    assert theirs == sorted([*canonical, *facets])
    assert {REGISTRY.get("tag", id).body.axis for id in facets} == {"state"}
