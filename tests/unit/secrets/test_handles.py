import pytest
from hypothesis import given, settings, strategies as st

from repl_pair.errors import RequestError
from repl_pair.runtime.secrets.handles import Handles
from repl_pair.runtime.secrets.needles import Needles
from repl_pair.wire import REDACTED


def test_a_text_is_read_on_page_by_page():
    handles = Handles()
    handle = handles.keep("abcdefg", "agent")
    assert handles.read(handle, 0, 3, "agent") == {
        "type": "str",
        "offset": 0,
        "text": "abc",
        "total": 7,
        "next_offset": 3,
    }
    assert handles.read(handle, 6, 3, "agent") == {
        "type": "str",
        "offset": 6,
        "text": "g",
        "total": 7,
    }


def test_a_dict_is_read_as_its_entries():
    handles = Handles()
    handle = handles.keep({"a": 1, "b": [2]}, "agent")
    assert handles.read(handle, 1, 5, "agent") == {
        "type": "dict",
        "offset": 1,
        "items": [{"key": "b", "value": [2]}],
        "total": 2,
    }


@settings(deadline=None)
@given(items=st.lists(st.integers(), max_size=30), limit=st.integers(1, 9))
def test_the_pages_of_a_list_make_the_whole(items, limit):
    handles, offset, read = Handles(), 0, []
    handle = handles.keep(items, "agent")
    while offset is not None:
        page = handles.read(handle, offset, limit, "agent")
        read += page["items"]
        offset = page.get("next_offset")
    assert read == items


def refusal(handles, handle, principal):
    with pytest.raises(RequestError) as caught:
        handles.read(handle, 0, 1, principal)
    return caught.value.code, caught.value.message


def test_unknown_dropped_and_foreign_handles_read_the_same():
    handles = Handles(limit_chars=50)
    dropped = handles.keep("x" * 30, "agent")
    foreign = handles.keep("y" * 30, "other")
    refusals = {refusal(handles, handle, "agent") for handle in (dropped, foreign, "h-00")}
    assert [code for code, _ in refusals] == ["not_found"]
    for principal in ("other", "person"):
        assert handles.read(foreign, 0, 1, principal)["text"] == "y"


def test_what_was_read_last_is_dropped_last():
    handles = Handles(limit_chars=100)
    first, second = handles.keep("a" * 40, "agent"), handles.keep("b" * 40, "agent")
    handles.read(first, 0, 1, "agent")
    handles.keep("c" * 40, "agent")
    assert handles.read(first, 0, 1, "agent")["text"] == "a"
    assert refusal(handles, second, "agent")[0] == "not_found"


def test_another_principal_cannot_keep_a_handle_alive():
    handles = Handles(limit_chars=100)
    first, second = handles.keep("a" * 40, "agent"), handles.keep("b" * 40, "agent")
    refusal(handles, first, "other")
    handles.keep("c" * 40, "agent")
    assert refusal(handles, first, "agent")[0] == "not_found"
    assert handles.read(second, 0, 1, "agent")["text"] == "b"


def test_the_newest_is_kept_whatever_its_size():
    handles = Handles(limit_chars=1)
    assert handles.read(handles.keep("abc", "agent"), 0, 9, "agent")["text"] == "abc"


def test_handles_cannot_be_guessed_from_one_another():
    handles = Handles()
    drawn = {handles.keep(None, "agent") for _ in range(500)}
    assert len(drawn) == 500
    assert all(handle.startswith("h-") and len(handle) == 26 for handle in drawn)


@pytest.mark.parametrize(("offset", "limit"), [(-1, 1), (0, 0), (True, 1), ("0", 1), (0, 1.5)])
def test_a_range_that_makes_no_sense_is_refused(offset, limit):
    handles = Handles()
    with pytest.raises(RequestError) as caught:
        handles.read(handles.keep("abc", "agent"), offset, limit, "agent")
    assert caught.value.code == "bad_arguments"


def read_texts(handles, handle, limit):
    pages, offset = [], 0
    while offset is not None:
        page = handles.read(handle, offset, limit, "agent")
        pages.append(page["text"])
        offset = page.get("next_offset")
    return pages


def test_a_secret_learned_after_keeping_leaves_in_no_slice():
    needles = Needles()
    handles = Handles(needles=needles)
    handle = handles.keep("see hunter2-prod there", "agent")
    needles.add("hunter2-prod")
    assert "".join(read_texts(handles, handle, 1)) == f"see {REDACTED} there"


def test_a_text_is_searched_once_and_only_as_the_server_saw_it():
    needles = Needles()
    handles = Handles(needles=needles)
    handle = handles.keep("a=secret1 b=Zq7kW2mX c=more", "agent")
    needles.add("Zq7kW2mX")
    seen = handles.search(handle, "agent", -1, [])
    assert seen == f"a=secret1 b={REDACTED} c=more"
    assert handles.search(handle, "agent", len(seen) + 1, [[2, 9]]) == seen
    assert handles.search(handle, "agent", len(seen), [[2, 9]]) is None
    assert handles.search(handle, "agent", len(seen), [[0, 9]]) is None
    assert handles.read(handle, 0, 99, "agent")["text"] == f"a={REDACTED} b={REDACTED} c=more"
    with pytest.raises(RequestError):
        handles.search(handle, "other", -1, [])
    assert handles.search(handles.keep(["a=secret1"], "agent"), "agent", -1, []) is None


@given(limit=st.integers(1, 40))
def test_no_page_of_a_text_ends_within_a_marker(limit):
    handles, text = Handles(), f"a={REDACTED}{REDACTED} and [redact {REDACTED}"
    pages = read_texts(handles, handles.keep(text, "agent"), limit)
    assert "".join(pages) == text
    assert sum(page.count(REDACTED) for page in pages) == 3
