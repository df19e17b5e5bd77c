"""The index of tags agrees with the registries after any changes."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import repl_pair
from repl_pair.runtime.extending import effective_tags
from repl_pair.runtime.ids import story_of
from repl_pair.runtime.ops.tag_index import TagIndex
from repl_pair.runtime.registry import REGISTRY
from repl_pair.runtime.surface.store import STORE

STORIES, NAMES, WORDS = ("a", "b"), ("X", "Y", "Z"), ("red", "blue", "green")
tags = st.lists(st.sampled_from(WORDS), unique=True)
taken_out = st.lists(st.sampled_from([f"!{word}" for word in WORDS]), unique=True)
changes = st.lists(
    st.tuples(st.sampled_from(STORIES), st.sampled_from((None, *NAMES)), tags, taken_out)
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
        repl_pair.variant(f"{story}/{name}", tags=[*rest[0], *rest[1]])


def expected(tag):
    found = []
    for id, entry in REGISTRY.snapshot("variant").items():
        story = REGISTRY.find("story", story_of(id))
        if story and tag in effective_tags(story.body, entry.body):
            found.append(id)
    return tuple(sorted(found))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
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
    assert index.ids("red") == ("a/X",)
    repl_pair.variant("a/X", tags=["blue"])
    for _ in range(11_000):
        STORE.emit("notices", "one of many")
    assert (index.ids("red"), index.ids("blue")) == ((), ("a/X",))


def test_an_undone_checkpoint_takes_its_tags_along():
    index = TagIndex()
    undo = REGISTRY.checkpoint()
    repl_pair.story("a", component=lambda: 0)
    repl_pair.variant("a/X", tags=["red"])
    assert index.ids("red") == ("a/X",)
    undo()
    assert index.ids("red") == ()
