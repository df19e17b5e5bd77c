"""What shows nothing, or moves what is shown, is spelled out; plain text costs no look at each."""

import pytest

from repl_pair.runtime.values import invisible
from repl_pair.runtime.values.invisible import escape_invisible


@pytest.mark.parametrize(
    ("text", "keep", "written", "judged"),
    [
        ("plain ~\n\t", "\n\t", "plain ~\n\t", ""),
        ("ä\u202e\n" * 2, "\n\t", "ä<U+202E>\n" * 2, "ä\u202eä\u202e"),
        ("a\nb", "", "a<U+000A>b", "\n"),
        ("]^\\-\r", "]^\\-", "]^\\-<U+000D>", "\r"),
        ("\ud800\u3164", "", "<U+D800><U+3164>", "\ud800\u3164"),
    ],
)
def test_only_what_is_neither_plain_ascii_nor_kept_is_looked_at(
    monkeypatch, text, keep, written, judged
):
    seen, judge = [], invisible.is_invisible
    monkeypatch.setattr(
        invisible, "is_invisible", lambda mark: seen.append(mark) is None and judge(mark)
    )
    assert (escape_invisible(text, keep), "".join(seen)) == (written, judged)
