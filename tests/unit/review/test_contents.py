"""What a target holds: how quotes are looked for, and that no page is kept for them."""

from repl_pair.runtime.review import contents
from repl_pair.runtime.review.contents import Content


def test_a_page_is_read_once_for_all_its_quotes_and_kept_for_no_other(monkeypatch):
    read, plain_text = [], contents.plain_text
    monkeypatch.setattr(contents, "plain_text", lambda text: read.append(text) or plain_text(text))
    page = "Some *bold* words"
    for _ in range(2):
        content = Content(text=page)
        assert [content.holds("", quote) for quote in ("Some bold", "no such")] == [True, False]
    assert read.count(page) == 2
