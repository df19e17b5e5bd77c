import json
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings, strategies as st

from repl_pair.errors import RequestError
from repl_pair.runtime.results.links import (
    BASE,
    TABS,
    Dropped,
    Link,
    ReadLink,
    fault_of,
    parse_share_url,
    write_url,
)

LAW = settings(max_examples=60, deadline=None)
NAMES = st.sampled_from(["a", "Shop", "x-1", "eur_2", "Zz9", "b"])
STORIES = st.lists(NAMES, min_size=1, max_size=3).map(".".join)
IDS = st.builds("{}/{}".format, STORIES, st.sampled_from(["One", "9.5", "v-1", "a_b.c"]))
WORDS = st.lists(st.builds("{}/{}".format, NAMES, NAMES) | NAMES, max_size=4, unique=True)
WORDS = WORDS.map(tuple)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LEAVES = st.none() | st.booleans() | st.integers() | TEXTS | st.floats(allow_nan=False)
LEAVES = LEAVES.filter(lambda leaf: not fault_of(leaf))
JSON = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXTS, v, max_size=3), max_leaves=6
)
LINKS = st.builds(
    Link,
    variant=IDS,
    workspace=st.none() | IDS,
    tab=st.sampled_from(TABS),
    modes=WORDS,
    tag_filter=WORDS,
    overrides=st.dictionaries(st.sampled_from(["rate", "lines", "_n"]), JSON, max_size=3),
    substrate=st.sampled_from(["text", "html", "png"]),
)
BASES = st.sampled_from(
    [
        BASE,
        "http://localhost:8888/lab/tree/a b.ipynb",
        "https://a.example/Übung#cell",
        "http://h/?#",
    ]
)


@LAW
@given(LINKS, BASES)
def test_what_is_shared_is_read_back_whole(link, base):
    url = write_url(link, base)
    assert url.isascii()
    assert " " not in url
    assert parse_share_url(url) == ReadLink(link=link)


@LAW
@given(LINKS)
def test_a_url_is_one_text_for_one_link_and_writes_nothing_that_is_usual(link):
    mixed = Link(**{**vars_of(link), "overrides": dict(reversed(link.overrides.items()))})
    assert write_url(mixed) == write_url(link)
    names = [name for name, _ in parse_qsl(write_url(link).partition("?")[2])]
    usual = vars_of(Link())
    assert names == [name for name, value in vars_of(link).items() if value != usual[name]]


def vars_of(link):
    names = ("variant", "workspace", "tab", "modes", "tag_filter", "overrides", "substrate")
    return {name: getattr(link, name) for name in names}


ODD = ["repl-pair:notebook", "?", "#", "&", "=", "variant", "modes", "overrides", "tab", "%", "+"]
ODD += ["%FF", "%7B", "{", "}", '"a"', ":", "[" * 2000, "1e999", "NaN", ",", "\ud800", "%ED%A0"]
ODD += ["shop.quote/One", "eur", '{"a":"\\ud800"}', '{"a":' + "9" * 5000 + "}", "http://[", "\0"]
HOSTILE = st.text() | st.lists(st.sampled_from(ODD), max_size=14).map("".join)


@LAW
@given(HOSTILE)
def test_any_text_is_read_without_a_raise_and_what_was_read_is_shareable_again(text):
    read = parse_share_url(text)
    assert read.link.variant or read.dropped
    again = parse_share_url(write_url(read.link))
    assert again.link == read.link


def test_a_url_is_minimal_and_in_a_fixed_order():
    link = Link(
        substrate="html",
        overrides={"rate": 2.0, "note": "a&b #1 +"},
        tag_filter=("docs",),
        modes=("size/xl", "eur"),
        tab="test",
        workspace="shop.board/All",
        variant="shop.quote/One",
    )
    assert write_url(link, "http://localhost:8888/lab?reset#cell=3") == (
        "http://localhost:8888/lab?reset&variant=shop.quote/One&workspace=shop.board/All"
        "&tab=test&modes=size/xl,eur&tag_filter=docs"
        "&overrides=%7B%22note%22%3A%22a%26b%20%231%20%2B%22,%22rate%22%3A2.0%7D"
        "&substrate=html#cell=3"
    )
    assert write_url(Link(variant="shop.quote/One")) == "repl-pair:notebook?variant=shop.quote/One"
    assert write_url(Link()) == BASE


def test_each_part_that_cannot_be_read_is_dropped_with_its_reason_and_the_rest_stands():
    overrides = json.dumps({"rate": 2, "no name": 1, "deep": [float("inf")]})
    read = parse_share_url(
        "http://h/?variant=shop.quote/One&variant=shop.quote/Two&modes=eur,,eur,1x&tab=nope"
        f"&theme=dark&workspace=%FF&overrides={overrides}&substrate=PNG!"
    )
    assert read.link == Link(variant="shop.quote/One", modes=("eur",), overrides={"rate": 2})
    assert [(drop.part, drop.text) for drop in read.dropped] == [
        ("variant", "shop.quote/Two"),
        ("modes", ""),
        ("modes", "eur"),
        ("modes", "1x"),
        ("tab", "nope"),
        ("theme", "dark"),
        ("workspace", "%FF"),
        ("overrides", "no name"),
        ("overrides", "deep"),
        ("substrate", "PNG!"),
    ]
    assert all(drop.why for drop in read.dropped)


@pytest.mark.parametrize("overrides", ["[1]", "{", "{'a':1}", "[" * 100_000, ""])
def test_overrides_that_are_no_json_object_are_dropped_whole(overrides):
    read = parse_share_url(f"x:?variant=shop.quote/One&overrides={overrides[:50_000]}")
    assert read.link == Link(variant="shop.quote/One")
    assert [drop.part for drop in read.dropped] == ["overrides"]


def test_a_url_without_a_variant_reports_it():
    why = "the URL names no variant"
    assert parse_share_url("").dropped == (Dropped(part="variant", text="", why=why),)


@pytest.mark.parametrize(
    ("base", "shown"),
    [
        ("javascript:alert(1)", "begins with one of repl-pair:, http:, https:"),
        ("lab/tree", "begins with one of"),
        ("http://[", "is not a valid URL"),
        ("http://h/lab?token=abc", "holds token"),
        ("http://h/lab#access_token=abc", "holds access_token"),
        ("http://ann:pw@h/lab", "holds a user's name"),
    ],
)
def test_a_base_that_is_no_place_to_open_or_holds_a_secret_is_refused(base, shown):
    with pytest.raises(RequestError, match=shown) as caught:
        write_url(Link(variant="shop.quote/One"), base)
    assert caught.value.code == "bad_arguments"
    assert "abc" not in caught.value.message
    assert urlsplit(BASE).scheme == "repl-pair"
