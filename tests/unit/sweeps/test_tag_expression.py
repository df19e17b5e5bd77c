import pytest
from hypothesis import given, strategies as st

from repl_pair.errors import RequestError
from repl_pair.runtime.sweeps.tag_expression import read_tags

TAGS = ("agent", "dev", "docs", "state/empty")
LINES = st.recursive(
    st.sampled_from(TAGS),
    lambda inner: st.one_of(
        inner.map(lambda one: f"not {one}"),
        inner.map(lambda one: f"({one})"),
        st.tuples(inner, st.sampled_from(("and", "or")), inner).map(" ".join),
    ),
    max_leaves=8,
)


@given(LINES, st.sets(st.sampled_from(TAGS)))
def test_a_line_means_what_it_means_in_python(line, carried):
    truth = {tag.replace("/", "_"): tag in carried for tag in TAGS}
    _, fits = read_tags(line, TAGS)
    assert fits(carried) is eval(line.replace("/", "_"), {}, truth)


@pytest.mark.parametrize(
    "line",
    ["", "and", "docs and", "(docs", "docs)", "docs dev", "not", "not " * 5000 + "docs"],
    ids=range(8),
)
def test_another_grammar_is_refused(line):
    with pytest.raises(RequestError) as refused:
        read_tags(line, TAGS)
    assert refused.value.code == "bad_arguments"


def test_a_tag_that_is_not_registered_is_refused_with_what_is_near():
    with pytest.raises(RequestError, match=r"no tag 'dcs'\. Nearest: docs") as refused:
        read_tags("agent or dcs", TAGS)
    assert refused.value.code == "not_found"
