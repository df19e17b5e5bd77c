"""Source as it is shown: no literal beside the name of a secret, all others as they are."""

import pytest

from repl_pair.runtime.reading.code import show_doc, show_source

KEY = "hunter2-long"
HIDDEN = {
    "in an assignment": f'password = "{KEY}"\n',
    "on the next line of it": f'password = (\n    "{KEY}"\n    f"{KEY}{{1}}"\n)\n',
    "in a text of several lines": f'token = """a\n{KEY}\n"""\n',
    "as a default": f'def login(password="{KEY}"):\n    pass\n',
    "in a dict": f'conf = {{\n    "password":\n    "{KEY}"}}\n',
    "after a semicolon": f'x = "{KEY}"; password = x\n',
    "in a comment": f"x = 1  # the password is {KEY}\n",
    "in a function of that name": f'def get_token():\n    if 1:\n        return "{KEY}"\n',
    "in a doc": f'def f():\n    """Log in with password="{KEY}" or token={KEY}."""\n',
    "in a part of a source": f'password = ("""{KEY}',
    "as a number": "password = 98765432\n",
}
SHOWN = (
    'def f(host="h"):\n    return {"plain": 1}  # fine\n',
    'class A:\n    """The user\'s tokens."""\n    name = "plain"\n    def f(self): return f"{1}"\n',
)


@pytest.mark.parametrize("place", HIDDEN)
def test_a_literal_beside_the_name_of_a_secret_is_not_shown(place):
    shown = show_source(HIDDEN[place])
    assert KEY not in shown
    assert "98765432" not in shown
    assert "[redacted]" in shown


@pytest.mark.parametrize("source", SHOWN)
def test_other_source_is_shown_as_it_is(source):
    assert show_source(source) == source


def test_what_follows_a_function_of_a_secret_name_is_shown():
    source = 'def get_token():\n    return "a"\ny = "b"\n'
    assert show_source(source) == source.replace('"a"', '"[redacted]"')


def test_prose_with_apostrophes_stays_in_a_doc():
    assert show_doc("The user's token isn't here.") == "The user's token isn't here."
