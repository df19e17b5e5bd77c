"""The text of a tool's result says what its structured content says, whatever the gate removes."""

import base64
import json
import re

import pytest

WORD = "kR7vXq2ZpL9w"
KNOWN = "Lw3tHs8Kd5PzVn6G"
LINES = [base64.b64encode(bytes(range(at, at + 48))).decode() for at in range(25)]
IN_LINES = base64.encodebytes(b"n" * 50 + KNOWN.encode() + b"n" * 50).decode()
BROKEN = IN_LINES.replace("\n", "")[68:86]  # holds nothing but the secret, and the end of a line
ENTITIES = "".join(f"&#{ord(char)};" for char in KNOWN)
PERCENT = "".join(f"%{ord(char):02X}" for char in KNOWN)
# A text, and what of it must not leave, once line ends are taken out.
KNOWN_FORMS = {
    "entities": (ENTITIES, ENTITIES),
    "all percent": (PERCENT, PERCENT),
    "lines of base64": (IN_LINES, BROKEN),
    "lines of base64 in JSON": (json.dumps(IN_LINES), BROKEN),
    "a line of a key": (f"    {LINES[3]}", LINES[3]),
    "another line of a key": (f"> {LINES[20]} <", LINES[20]),
}
FORMS = [
    f"Password:\t{WORD}", f"password:\n{WORD}", f"PASSWORD =\t{WORD}", f"token:\r\n  {WORD}",
    f'"password": "{WORD}"', f"'api_key': '{WORD}'", f"api_key=\t'{WORD}'", f'secret="a\\"{WORD}"',
    f"db_password\t=\t{WORD}", f"Authorization:\tBearer {WORD}", f"authorization: Basic\t{WORD}",
    f"\tpassword: {WORD}", f"a\\tpassword: {WORD}", f"x\u00e9password: {WORD}",
    f"password:\u00a0{WORD}", f"Cookie:\tsid={WORD}", f"Set-Cookie: id={WORD}; Path=/",
    f"postgres://ann:{WORD}@db/x", f"export TOKEN={WORD}", f"pwd={WORD}", f"PWD\t= {WORD}",
    f"access_token: '{WORD}'\n", f'{{"token":\t"{WORD}"}}', f"client_secret:\t{WORD}\t",
    f"auth_key:{WORD}", f"connection_string = '{WORD}'", f"<b>password: {WORD}</b>",
    f"\x1b[31mpassword: {WORD}\x1b[0m", f"credentials:\t{WORD}", f"session_key\t:\t'{WORD}'",
    f'password = """{WORD}"""', f"https://{WORD}{WORD}@host/x.git", f"db --password {WORD} -v",
    f"['--token', '{WORD}']", f"<password>\n{WORD}\n</password>", f'<a password="{WORD}"/>',
    f'<add key="DbPassword" value="{WORD}"/>', f"machine h login ann password {WORD}",
    f"machine h\n\tlogin ann\n\tpassword {WORD}\n", f"db.example.com:5432:shop:ann:{WORD}",
]  # fmt: skip
SETUP = f"""
import json
import repl_pair
import os
os.environ["SHOP_API_TOKEN"] = {KNOWN!r}
os.environ["SHOP_PRIVATE_KEY"] = {chr(10).join(LINES)!r}
forms = json.loads({json.dumps(json.dumps(FORMS))})
known = json.loads({json.dumps(json.dumps([text for text, _ in KNOWN_FORMS.values()]))})

@repl_pair.story("known")
def show_known(at: int = 0):
    return known[at]

for at in range(len(known)):
    repl_pair.variant(f"known/N{{at}}", args={{"at": at}})

@repl_pair.story("forms")
def show(at: int = 0):
    return forms[at]

@repl_pair.story("failing")
def fail(at: int = 0):
    raise ValueError(forms[at])

import jsonschema, pydantic
LONG = "{WORD}" * 40

class Login(pydantic.BaseModel):
    user: str
    code: int = 1
    when: int

def by_pydantic():
    Login(user=["ann", LONG], code=LONG, when=LONG)

def by_jsonschema():
    schema = {{"properties": {{"when": {{"type": "integer"}}}}}}
    jsonschema.validate({{"when": LONG, "more": [LONG] * 9}}, schema)

@repl_pair.story("library")
def library(by: str = "by_pydantic"):
    globals()[by]()

repl_pair.variant("library/by_pydantic")
repl_pair.variant("library/by_jsonschema", args={{"by": "by_jsonschema"}})

for at in range(len(forms)):
    for id in ("forms", "failing"):
        repl_pair.variant(f"{{id}}/N{{at}}", args={{"at": at}})
"""


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        yield agent


@pytest.mark.parametrize("at", range(len(FORMS)), ids=lambda at: repr(FORMS[at]))
@pytest.mark.parametrize("story", ["forms", "failing"])
def test_a_text_is_the_scrubbed_structured_content(inspector, story, at):
    came = inspector.call("run_variant", variant_id=f"{story}/N{at}")
    (block,) = came.content
    assert json.loads(block.text) == came.structured_content
    assert WORD not in block.text


@pytest.mark.parametrize("name", KNOWN_FORMS)
def test_a_known_secret_leaves_in_no_form_and_no_line(inspector, name):
    at = list(KNOWN_FORMS).index(name)
    came = inspector.call("run_variant", variant_id=f"known/N{at}").content[0].text
    assert "[redacted]" in came
    assert KNOWN_FORMS[name][1] not in re.sub(r"\\+[rn]", "", came)


def test_the_text_of_a_list_is_its_structured_content(inspector):
    came = inspector.call("get_value", path="forms")
    assert json.loads(came.content[0].text) == came.structured_content
    assert WORD not in came.content[0].text


def test_a_reply_states_that_something_was_redacted_and_not_how_much(inspector, kernel):
    kernel.cell("settings = {'password': 'one', 'api_key': 'two', 'logins': [{'token': 'three'}]}")
    reply = inspector.ask("get_value", path="settings")
    assert reply["redacted"] is True


@pytest.mark.parametrize("by", ["by_pydantic", "by_jsonschema"])
def test_the_error_of_a_library_has_place_and_kind_and_no_input(inspector, by):
    result = inspector.ask("run_variant", variant_id=f"library/{by}")["result"]
    assert result["status"] == "error"
    assert "when" in result["reason"]
    assert WORD[:6] not in json.dumps(result)
