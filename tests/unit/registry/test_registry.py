import importlib
import os
import sys
import textwrap
import warnings

import pytest
from hypothesis import given, settings, strategies as st

import repl_pair
from repl_pair.errors import AuthoringError, ReplPairError, next_step
from repl_pair.runtime.registry.ids import STORY, VARIANT, WORDS, suggest_id
from repl_pair.runtime.registry.model import Kind, Origin, Tag
from repl_pair.runtime.registry.registry import REGISTRY, RegistrationWarning


def add(n=1):
    return n


HERE = Origin(key="here", label="here", line=1)


@pytest.mark.parametrize(
    ("kind", "id"),
    [
        ("story", "a.b-c"),
        ("story", "pricing"),
        ("variant", "a.b-c/Name_1.x"),
        ("mode", "currency/eur"),
        ("tag", "slow"),
    ],
)
def test_legal_ids_are_taken_as_they_are(kind, id):
    assert REGISTRY.register(kind, id, Tag(), origin=HERE).id == id


@pytest.mark.parametrize(
    ("kind", "id", "legal"),
    [
        ("story", "Pricing Quote", "Pricing_Quote"),
        ("story", "a..b", "a.b"),
        ("story", "a/b", "a.b"),
        ("story", "", "pricing.quote"),
        ("story", 7, "pricing.quote"),
        ("variant", "a.b", "a/b"),
        ("variant", "a/b/c", "a.b/c"),
        ("tag", "a b", "a_b"),
        ("tag", "a//b", "a/b"),
        ("tag", "-", "currency/eur"),
    ],
)
def test_a_wrong_id_is_refused_with_the_rule_and_a_legal_form(kind, id, legal):
    with pytest.raises(AuthoringError) as refused:
        REGISTRY.register(kind, id, Tag(), origin=HERE)
    assert refused.value.code == "bad_id"
    assert REGISTRY.kinds[kind].grammar.words in refused.value.message
    assert repr(legal) in refused.value.message


@given(st.text(), st.sampled_from([STORY, VARIANT, WORDS]))
def test_what_is_suggested_for_any_text_is_legal(text, grammar):
    assert grammar.matches(suggest_id(grammar, text))


def test_the_same_id_from_another_living_place_replaces_and_warns_of_both():
    first = Origin(key="module:sys", label="sys", line=3, run=sys.__spec__)
    second = Origin(key="module:os", label="os", line=9, run=os.__spec__)
    REGISTRY.register("tag", "x", Tag(doc="one"), origin=first)
    with pytest.warns(RegistrationWarning, match=r"'x' was registered by sys line 3 .* os line 9"):
        REGISTRY.register("tag", "x", Tag(doc="two"), origin=second)
    assert REGISTRY.get("tag", "x").body == Tag(doc="two")


def test_the_same_place_and_a_place_that_is_gone_replace_silently():
    gone = Origin(key="module:not_there_any_more", label="gone", line=1)
    REGISTRY.register("tag", "x", Tag(), origin=gone)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        REGISTRY.register("tag", "x", Tag(), origin=HERE)
        REGISTRY.register("tag", "x", Tag(), origin=HERE)


def test_an_unknown_id_is_answered_with_the_nearest():
    repl_pair.story("pricing.quote", component=add)
    nearest = r"no story 'pricing\.quite'.*Nearest: pricing\.quote"
    with pytest.raises(ReplPairError, match=nearest) as refused:
        REGISTRY.get("story", "pricing.quite")
    assert refused.value.next_steps == (next_step("list_stories"),)


def test_an_empty_registry_states_how_to_fill_it():
    with pytest.raises(ReplPairError, match=r"none is registered.*Register a story in a cell"):
        REGISTRY.get("story", "x")


def test_the_revision_counts_each_change():
    before = REGISTRY.revision
    REGISTRY.register("tag", "x", Tag(), origin=HERE)
    REGISTRY.unregister("tag", "x")
    assert REGISTRY.revision == before + 2


def test_a_kind_of_the_users_own_is_a_registry_until_the_undo():
    undo = REGISTRY.add_kind(Kind(name="rule", grammar=WORDS, body=Tag))
    REGISTRY.register("rule", "a/b", Tag(), origin=HERE)
    assert list(REGISTRY.ids("rule")) == ["a/b"]
    undo()
    with pytest.raises(ReplPairError, match="no kind 'rule'"):
        REGISTRY.ids("rule")


def test_an_undo_of_a_kind_takes_out_its_own_only():
    kind = Kind(name="rule", grammar=WORDS, body=Tag)
    old = REGISTRY.add_kind(kind)
    old()
    new = REGISTRY.add_kind(kind)
    REGISTRY.register("rule", "a/b", Tag(), origin=HERE)
    old()
    assert list(REGISTRY.ids("rule")) == ["a/b"]
    new()
    assert "rule" not in REGISTRY.kinds


def test_what_a_place_registered_of_a_kind_that_left_hinders_nothing():
    undo_kind = REGISTRY.add_kind(Kind(name="rule", grammar=WORDS, body=Tag))
    REGISTRY.register("rule", "a/b", Tag(), origin=HERE)
    undo = REGISTRY.checkpoint()
    undo_kind()
    REGISTRY.retire(HERE.key, "another run")
    undo()
    assert "rule" not in REGISTRY.kinds


ids = st.sampled_from(["a", "b", "c/d"])
edits = st.lists(st.tuples(st.booleans(), ids, st.text(max_size=3)))


@settings(max_examples=50)
@given(edits, edits)
def test_the_undo_of_a_checkpoint_brings_back_exactly_what_was_there(before, after):
    outer = REGISTRY.checkpoint()
    try:
        apply(before)
        expected = dict(REGISTRY.snapshot("tag"))
        undo = REGISTRY.checkpoint()
        apply(after)
        undo()
        assert dict(REGISTRY.snapshot("tag")) == expected
        assert list(REGISTRY.ids("tag")) == sorted(expected)
    finally:
        outer()


def apply(steps):
    for put, id, doc in steps:
        if put:
            REGISTRY.register("tag", id, Tag(doc=doc), origin=HERE)
        else:
            REGISTRY.unregister("tag", id)


@pytest.fixture
def stories_file(tmp_path, monkeypatch):
    """A module on disk that can be written anew and reloaded."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "shop_stories.py"

    def write(names, tail=""):
        lines = [
            "import repl_pair",
            "def shop(n=1): return n",
            "repl_pair.story('shop', component=shop)",
        ]
        lines += [f"repl_pair.variant('shop/{name}', args={{'n': 2}})" for name in names]
        file.write_text("\n".join([*lines, textwrap.dedent(tail)]), encoding="utf-8")
        importlib.invalidate_caches()

    yield write
    sys.modules.pop("shop_stories", None)


def test_a_reloaded_module_retires_what_it_no_longer_registers(stories_file):
    stories_file(["One", "Two"])
    module = importlib.import_module("shop_stories")
    assert list(REGISTRY.ids("variant", "shop/")) == ["shop/One", "shop/Two"]
    stories_file(["Two", "Three"])
    importlib.reload(module)
    assert list(REGISTRY.ids("variant", "shop/")) == ["shop/Three", "shop/Two"]


def test_an_import_after_one_that_failed_retires_what_it_no_longer_registers(stories_file):
    stories_file(["One", "Two"])
    importlib.import_module("shop_stories")
    del sys.modules["shop_stories"]
    stories_file(["Two"], "raise LookupError")
    with pytest.raises(LookupError):
        importlib.import_module("shop_stories")
    REGISTRY.keep_unrenewed()
    assert list(REGISTRY.ids("variant", "shop/")) == ["shop/One", "shop/Two"]
    stories_file(["Two", "Three"])
    importlib.import_module("shop_stories")
    assert list(REGISTRY.ids("variant", "shop/")) == ["shop/Three", "shop/Two"]


def test_a_reload_that_registers_nothing_retires_all(stories_file):
    stories_file(["One"])
    module = importlib.import_module("shop_stories")
    sys_file = module.__file__
    with open(sys_file, "w", encoding="utf-8") as out:
        out.write("x = 1\n")
    importlib.reload(module)
    assert list(REGISTRY.ids("variant", "shop/")) == []
    assert REGISTRY.find("story", "shop") is None


def test_while_a_module_is_being_reloaded_nothing_is_retired(stories_file):
    stories_file(["One", "Two"])
    module = importlib.import_module("shop_stories")
    stories_file(
        ["Two"], "from repl_pair import registry\nSEEN = list(registry.ids('variant', 'shop/'))"
    )
    importlib.reload(module)
    assert module.SEEN == ["shop/One", "shop/Two"]
    assert list(REGISTRY.ids("variant", "shop/")) == ["shop/Two"]


def test_an_entry_knows_its_place_and_line(stories_file):
    stories_file(["One"])
    importlib.import_module("shop_stories")
    origin = REGISTRY.get("variant", "shop/One").origin
    assert (origin.key, origin.label, origin.line) == ("module:shop_stories", "shop_stories", 4)
