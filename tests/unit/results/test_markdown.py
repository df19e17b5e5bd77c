from hypothesis import given, settings, strategies as st
from markdown_it import MarkdownIt

from repl_pair.runtime.results.markdown import cell, code, prose, section, table
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.wire import REDACTED

LAW = settings(deadline=None)
READER = MarkdownIt("commonmark").enable("table")
PIECES = ["|", "\\", "`", "```", "~~~", "<b>", "<!--", "\n", "\r", "\x85", "# ", "- ", "1. ", "---"]
PIECES += ["===", ">", "&lt;", "![a](b)", "[a]: b", "\t", "    ", "*", "_", " ", "|---|", "::", "a"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text()
ROWS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4)


def kinds(tokens):
    return [token.type for token in tokens]


def inner(tokens):
    return {child.type for token in tokens for child in token.children or []}


@LAW
@given(ROWS)
def test_a_table_has_the_same_number_of_cells_in_every_row_whatever_the_texts(rows):
    cells = [(cell(a) or "-", cell(b), code(c)) for a, b, c in rows]
    tokens = READER.parse(f"# head\n\n{table(['a', 'b', 'c'], cells)}\n\nafter")
    found = kinds(tokens)
    heads = found.count("th_open")
    assert (found.count("table_open"), found.count("tr_open")) == (1, len(rows) + 1)
    assert found.count("td_open") == heads * len(rows)
    assert heads == 1 + any(row[1] for row in cells) + any(row[2] for row in cells)
    assert found[-3:] == ["paragraph_open", "inline", "paragraph_close"]
    assert not {"html_inline", "image"} & inner(tokens)


@LAW
@given(TEXTS)
def test_prose_is_no_more_than_prose(text):
    tokens = READER.parse(f"# head\n\n{prose(text)}\n\n# after")
    found = kinds(tokens)
    assert not {"table_open", "fence", "html_block", "hr", "blockquote_open"} & set(found)
    assert found.count("heading_open") == 2
    assert tokens[-2].content == "after"
    assert not {"html_inline", "image"} & inner(tokens)


def test_texts_read_as_they_were_written():
    text = "a | b \\| `c` <b>&lt; and\nmore"
    (paragraph,) = (t for t in READER.parse(cell(text)) if t.type == "inline")
    read = "".join(child.content for child in paragraph.children)
    assert read == "a | b \\| `c` <b>&lt; and more"
    assert code("int") == "`int`"
    assert code("a|b") == "a\\|b"


def test_columns_that_are_empty_in_all_rows_are_left_out_and_so_is_an_empty_table():
    assert table(["a", "b", "c"], [["1", "", "2"], ["3", "", ""]]) == (
        "| a | c |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |"
    )
    assert table(["a"], []) == ""
    assert section("Modes", "") == ""


def test_secrets_are_taken_out_before_the_escapes_could_hide_them():
    secret = "a|b`c<d&9"
    NEEDLES.add(secret)
    assert cell(f"x {secret} y") == f"x {REDACTED} y"
    assert prose(f"x {secret} y") == f"x {REDACTED} y"
    assert code(f"x {secret} y") == f"`x {REDACTED} y`"
