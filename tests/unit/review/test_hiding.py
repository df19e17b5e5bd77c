"""What no quote of an agent is compared with, and what stays to be quoted."""

import json
import time

import pytest

import repl_pair
from repl_pair.runtime.review.annotations import create_annotation, list_annotations
from repl_pair.runtime.review.hiding import hide_in_doc
from repl_pair.runtime.values.marks import is_secret_key

from .conftest import CLAUDE, ME

KEY = "ghp_" + "a1B2c3D4e5F6g7H8" * 2
DOCS = {
    "a pair": "password: {}",
    "a short one": "API_TOKEN={}",
    "with marks": "- **Password**: `{}`",
    "of two words": "It is ours, the api key: {}.",
    "behind a dash": "password - {}",
    "behind an arrow": "password -> {}",
    "on the next line": "password:\n  {}",
    "a list below": "passwords:\n\n- password: {}",
    "in quotes": 'Log in with password "{}".',
    "an option": "Run it with `login --password {} now`.",
    "a row of a table": "| password | {} |",
    "a column of a table": "| user | password |\n|---|---|\n| bob | {} |\n",
    "a heading": "## Token: {}",
    "front matter": "---\ntoken: {}\n---\n",
    "fenced code": "```python\nlogin(\n    password=\n    '{}')\n```",
    "fenced settings": "```yaml\nname: a\napi_key: {}\n```",
    "a comment": "<!-- password: {} -->",
    "a pair behind another": "see: password: {}",
    "a query": "https://shop.example/a?token={}&b=1",
}
CELLS = {
    "code": [{"id": "c1", "cell_type": "code", "source": "api_key = '{}'"}],
    "a comment": [{"id": "c1", "cell_type": "code", "source": "# password: {}"}],
    "a command": [{"id": "c1", "cell_type": "code", "source": "%env API_TOKEN={}"}],
    "Markdown": [{"id": "c1", "cell_type": "markdown", "source": "password: {}"}],
    "raw": [{"id": "c1", "cell_type": "raw", "source": "token={}"}],
    "what was printed": [
        {"id": "c1", "cell_type": "code", "source": "f()", "outputs": [{"text": "password: {}"}]}
    ],
    "what was printed of it": [
        {"id": "c1", "cell_type": "code", "source": "print(pin)", "outputs": [{"text": "{}"}]}
        | {"source": "print(api_key)"}
    ],
    "a result": [
        {
            "id": "c1",
            "cell_type": "code",
            "source": "frame",
            "outputs": [{"data": {"text/plain": "   user password\n0  bob  {}"}}],
        }
    ],
    "a traceback": [
        {
            "id": "c1",
            "cell_type": "code",
            "source": "f()",
            "outputs": [{"traceback": ["----> 1 login(password='{}')"]}],
        }
    ],
}


def statuses(database, target, quotes, view=CLAUDE):
    return {
        quote: create_annotation(database, view, target=target, content=quote, quote=quote)[
            "status"
        ]
        for quote in quotes
    }


@pytest.mark.parametrize("secret", ["hunter2z", "hunterz", "Xk82LmQ9vT", "abc1"])
@pytest.mark.parametrize("name", DOCS)
def test_no_quote_of_a_page_confirms_a_value_beside_the_name_of_a_secret(
    database, project, name, secret
):
    (project / "README.md").write_text(f"# Shop\n\n{DOCS[name].format(secret)}\n\nThe end.\n")
    begin = DOCS[name].partition("{}")[0].rpartition("\n")[2]
    parts = [secret[:n] for n in (1, 2, len(secret) - 1)] if begin.strip() else []
    guesses = [begin + part for part in parts] + [begin + secret, secret]
    found = statuses(database, "doc:README.md", guesses)
    assert set(found.values()) == {"orphaned"}, found
    assert statuses(database, "doc:README.md", ["The end."])["The end."] == "submitted"
    assert statuses(database, "doc:README.md", [secret], ME)[secret] == "draft"


@pytest.mark.parametrize("name", CELLS)
def test_no_quote_of_a_cell_confirms_a_secret_of_its_code_or_outputs(database, project, name):
    secret = "Xk82LmQ9vT"
    text = json.dumps({"cells": CELLS[name]}).replace("{}", secret)
    (project / "n.ipynb").write_text(text)
    guesses = ["api_key = 'X", "password: X", "token=X", "API_TOKEN=Xk", "bob  X", "X", secret]
    found = statuses(database, "notebook:n.ipynb#c1", guesses)
    assert set(found.values()) == {"orphaned"}, found
    assert statuses(database, "notebook:n.ipynb", [secret]) == {secret: "orphaned"}


def test_a_literal_that_a_cell_gives_a_secret_is_hidden_in_all_cells(database, project):
    code = {"id": "c1", "cell_type": "code", "source": "api_key = 'Xk82LmQ9vT'"}
    other = {"id": "c2", "cell_type": "markdown", "source": "It is Xk82LmQ9vT now."}
    (project / "n.ipynb").write_text(json.dumps({"cells": [code, other]}))
    found = statuses(database, "notebook:n.ipynb#c2", ["is Xk", "Xk82LmQ9vT", "now."])
    assert list(found.values()) == ["orphaned", "orphaned", "submitted"]


@pytest.mark.parametrize("target", ["doc:README.md", "notebook:n.ipynb", "story:shop.total"])
def test_no_quote_confirms_a_key_of_a_well_known_form(database, project, target):
    (project / "README.md").write_text(f"# Shop\n\nsee {KEY}\n")
    cell = {"cell_type": "code", "source": f"print('see {KEY}')"}
    (project / "n.ipynb").write_text(json.dumps({"cells": [cell]}))
    repl_pair.story("shop.total", doc=f"see {KEY}")(lambda: 1)
    found = statuses(database, target, [f"see {KEY[:n]}" for n in (5, 6, len(KEY))])
    assert set(found.values()) == {"orphaned"}
    assert statuses(database, target, ["see"]) == {"see": "submitted"}


def test_no_quote_of_an_agent_finds_a_part_of_a_word(database, project):
    text = "db:5432:shop:bob:Tr0ub4dor at the end, 料金は税込みです。"
    (project / "README.md").write_text(f"# Shop\n\n{text}\n")
    halves = ["bob:T", "Tr0ub4do", "r0ub4dor", "t the end"]
    whole = ["bob:Tr0ub4dor", "at the", "the end,", ":bob:", "税込み"]
    for view, of_halves, of_whole in ((CLAUDE, "orphaned", "submitted"), (ME, "draft", "draft")):
        found = statuses(database, "doc:README.md", [*halves, *whole], view)
        assert {found[quote] for quote in halves} == {of_halves}
        assert {found[quote] for quote in whole} == {of_whole}, found


def test_no_quote_of_an_entry_confirms_what_its_doc_gives(database):
    repl_pair.story("shop.total", doc="Log in, password: hunter2z")(lambda: 1)
    found = statuses(database, "story:shop.total", ["password: h", "hunter2z", "Log in"])
    assert list(found.values()) == ["orphaned", "orphaned", "submitted"]


def test_no_filter_by_section_confirms_what_the_person_gave_in_one(database):
    repl_pair.story("shop.total")(lambda: 1)
    place = {"target": "story:shop.total", "section": "password: hunter2z"}
    create_annotation(database, ME, content="Why?", **place)
    totals = [
        list_annotations(database, CLAUDE, section=section, limit=1)[1]
        for section in ("password: h", "hunter2z", "password")
    ]
    assert totals == [0, 0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "The user's token isn't here. Tokens: see the guide.",
        "**Password**: the words that you log in with",
        "Set the password, then run `pip install shop`.",
        "| name | use |\n|---|---|\n| token | The token of the service |",
        "```python\ndef login(password: str, n: int = 1) -> None:\n    token = load_token()\n```",
        "```bash\nexport API_KEY=$API_KEY\nlogin --token <token>\n```",
        "token_count: 1234",
    ],
)
def test_what_is_no_value_may_be_quoted(text):
    assert hide_in_doc(text) == text


@pytest.mark.parametrize(
    "part",
    ["password: ", "token", "token ", "- ", "| token |\n", "token=", "a:", '"', "`" * 3 + "\n"],
)
def test_a_hostile_page_is_hidden_in_proportion_to_its_length(part):
    def seconds(length):
        text = "token\n" + part * (length // len(part))
        is_secret_key.cache_clear()
        began = time.process_time()
        hide_in_doc(text)
        return time.process_time() - began

    assert seconds(400_000) < 40 * seconds(40_000) + 1
