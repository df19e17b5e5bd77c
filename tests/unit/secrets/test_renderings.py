"""What leaves of a text that a value was shown as, where the value holds a secret."""

import warnings

import pandas
import polars
import pytest

from repl_pair.runtime.reading.stored_fields import names_beside
from repl_pair.runtime.secrets.renderings import leaving_form
from repl_pair.wire import REDACTED

SHORT = "Ox1!~\\"


@pytest.mark.parametrize(
    "value",
    [
        {"password": SHORT, "more": "plain"},
        [{"key": "API_KEY", "value": SHORT, "more": "plain"}],
        [("API_KEY", SHORT), ("more", "plain")],
        {b"password": SHORT, b"more": "plain"},
    ],
)
def test_a_secret_too_short_to_be_looked_for_everywhere_leaves_in_no_text_of_its_value(value):
    shown = leaving_form(value, {"text/plain": repr(value)})["text/plain"]
    assert "Ox1" not in shown
    assert REDACTED in shown
    assert "plain" in shown


def test_the_columns_of_a_lazy_frame_are_looked_at_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, left in (("n", "plain"), ("password", REDACTED)):
            frame = polars.LazyFrame({name: [1]})
            for value in (frame, {"held": [frame]}):
                assert leaving_form(value, {"text/plain": "plain"})["text/plain"] == left


@pytest.mark.parametrize(
    ("frame", "left"),
    [
        (pandas.DataFrame({"a": ["hun7r"]}), {"text/plain": "<Styler>", "text/html": "<table>"}),
        (pandas.DataFrame({"a": [1], "password": ["hun7r"]}), {"text/plain": REDACTED}),
        (pandas.DataFrame({"a": ["hun7r"]}, index=["password"]), {"text/plain": REDACTED}),
        (pandas.DataFrame({"a": [{"password": "hun7r"}]}), {"text/plain": REDACTED}),
        (
            pandas.DataFrame({"a": [*"x" * 70, {"password": "hun7r"}, *"x" * 70]}),
            {"text/plain": REDACTED},
        ),
    ],
    ids=["none", "column", "row", "cell", "cell in the middle"],
)
def test_a_styled_table_is_hidden_where_its_frame_holds_a_secret_and_only_there(frame, left):
    shown = {"text/plain": "<Styler>", "text/html": "<table>"}
    assert leaving_form(frame.style, shown) == left


def test_a_row_stands_beside_the_name_of_the_index():
    index = pandas.Index(["the-label"], name="password")
    frame = pandas.DataFrame({"n": [1]}, index=index)
    assert names_beside(frame, -1) == ["password"]
    assert names_beside(frame, "n") == []
