"""What leaves the server holds no secret, and is otherwise what it was."""

import asyncio
import json
import logging
import subprocess
import sys
import textwrap
from io import StringIO

import pytest
from hypothesis import given, settings, strategies as st
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from repl_pair.mcp_server.gate.byte_gate import WITHHELD, GatedSink, scrub, scrub_frame, scrub_text
from repl_pair.mcp_server.gate.gated_stderr import HELD_CHARS, LEFT_OUT, GatedText, gate_stderr
from repl_pair.wire import REDACTED

PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n"
    + "MIIEpAIBAAKCAQEA7q+8/x\n" * 4
    + "-----END RSA PRIVATE KEY-----"
)
# Put together at run time, so that no scanner of this repository takes them for real ones.
KEYS = {
    "openai": "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0k1L2",
    "stripe": "sk_" + "live_51HxYzAbCdEfGhIjKl",
    "github": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "github fine-grained": "github_pat_" + "11ABCDEFG0aBcDeFgHiJkL_mnopqrst",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "slack": "xoxb-" + "123456789012-abcdefGHIJKL",
    "slack webhook": "T00000000/B00000000/" + "XXXXXXXXXXXXXXXXXXXXXXXX",
    "google": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "gitlab": "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "hugging face": "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
    "npm": "npm_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "pypi": "pypi-" + "AgEIcHlwaS5vcmcCJ" + "a1B2c3D4" * 6,
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N",
    "private key": PEM,
}
BARE = {name: key for name, key in KEYS.items() if name != "slack webhook"}
AROUND = [
    "{}",
    "see {} here",
    "'{}'",
    "a={}, b",
    "line\n{}\nline",
    "<{}>",
    "é{}é ü",
    "\\n{}\\n",
    "\x1b[31m{}\x1b[0m",
    "%20{}%20",
    "\\u00e9{}",
]
NAMED = [
    ("password=hunter2x", "password={}"),
    ("PGPASSWORD=swordfish;next", "PGPASSWORD={};next"),
    ("api_key: str = 'abc'", "api_key: str = '{}'"),
    ("token=SecretStr('abc def')", "token=SecretStr('{}')"),
    ("secret=b'abc'", "secret=b'{}'"),
    ("{'client_secret': 'a\\'b', 'x': 1}", "{{'client_secret': '{}', 'x': 1}}"),
    ('{"password":"a\\"b\\\\","ok":true}', '{{"password":"{}","ok":true}}'),
    ("password: hunter2", "password: {}"),
    ("token:password=swordfish", "token:password={}"),
    ("?access_token=abc-def&page=2", "?access_token={}&page=2"),
    ("Authorization: Bearer abcdef", "Authorization: Bearer {}"),
    ("'Authorization': 'Basic dXNlcjpwYXNz'", "'Authorization': 'Basic {}'"),
    ("Bearer 0123456789abcdef0123", "Bearer {}"),
    ("Set-Cookie: sid=abc123; Path=/", "Set-Cookie: {}"),
    ("postgres://ann:p@ss:w0rd@db:5432/x", "postgres://ann:{}@db:5432/x"),
    ("redis://:hunter2@cache/0", "redis://:{}@cache/0"),
    ("Server=db;Uid=ann;Pwd=hunter2;", "Server=db;Uid=ann;Pwd={};"),
    (
        f"https://hooks.slack.com/services/{KEYS['slack webhook']}",
        "https://hooks.slack.com/services/{}",
    ),
]
# Where a word is a secret by what stands around it alone.
FORMS = [
    'password = """{}"""',
    "PASSWORD = r'''{}'''",
    "https://{}@git.example.com/x.git",
    "mysql --password {} -h db",
    "client --api-key '{}' run",
    "run(['--token', '{}', '-v'])",
    "<password>{}</password>",
    "<db:Password kind='x'>\n  {}\n</db:Password>",
    "<token><![CDATA[{}]]></token>",
    "&lt;password&gt;{}&lt;/password&gt;",
    '<login user="ann" password="{}"/>',
    '<add key="DbPassword" value="{}"/>',
    "<input value='x'><input type='hidden' name='csrf_token' value='{}'>",
    "machine example.com login ann password {}",
    "machine example.com\n\tlogin ann\n\tpassword {}\n",
    "machine example.com password {} login ann",
    "default login ann password {}",
    "db.example.com:5432:shop:ann:{}",
    "localhost:*:*:ann:{}\nother:5432:shop:ben:{}",
    "10.0.0.7:5432:*:ann:{}",
]
HARMLESS = [
    "",
    "a plain text with tokens: 12, limit_tokens=4000 and a secretary",
    "class='sk-toggleable__label-arrow-wrapper'",
    "password: required, at least eight characters",
    "password=None, token=null, secret=***",
    "password=settings.database.password",
    '{"token":null,"secret":12345,"limit_tokens":8000}',
    "PWD=/home/ann/project",
    "http://localhost:8888/lab?x=a@b",
    "Authorization is needed",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "rp1:" + "0123456789abcdef" * 4,
    "rc1:" + "fedcba9876543210" * 4,
    "h-" + "Zk3_pX-9aQ0rT7uV2wY5bN",
    "checkout.cart/With_token_1.x",
    f'password={REDACTED} and "token":"{REDACTED}"',
]
# Source code and prose beside the names of secrets, as it stands and inside JSON.
CODE = [
    "    token = Token(kind, 1)",
    "token = uuid4()",
    "        self._token = tokenize(\n            value,",
    "token = parts[0]",
    "    secret = below",
    "    secret = below if deep else above",
    "    keys, secret = found",
    "    first_token, last_token = prev, next",
    "shown = to_json(payload, secret=below)",
    "    return open(\n        secret=below,\n    )",
    "Handle(address=address, authkey=authkey)",
    "call(url=url, access_token=access_token)",
    "next_page_token = 'CAUQAA12'",
    '{"next_page_token": "CAUQAA12", "nextPageToken": "CAUQAA12"}',
    '{"eos_token": "<|end42|>"}',
    "fetch(url, {credentials: 'include'})",
    "fetch(url, {credentials: 'same-origin'})",
    "this.token = function (a) {}",
    "token = self.stream.expect('name')",
    "password = getpass('Your word: ')",
    'p = getpass("Repeat password: ")\nif p: fail("no")',
    "secret = raw.encode('utf-8')",
    "token = f'{self.prefix}-{name}'",
    'data-token="{{ server_token }}"',
    'class Secret:\n    """A value that never leaves."""',
    "usage: run --password PASSWORD --token <token>",
    "--password is asked for, --token must be given.",
    "parser.add_argument('--password', help='asked for otherwise')",
    "parser.add_argument('--token', '-t')",
    "<server-token data-name=abcd1>",
    "<token/> and <password>{{ password }}</password>",
    "<label for='password'>Password</label>",
    "https://ann@host/x ssh://git@github.com/a/b",
    "the machine needs a login and a password to start",
    "module.py:1234:load:INFO:message text",
    "2001:0db8:85a3:0000:8a2e:0370:7334:1234",
    '{"secret": 12345, "token": 1.25, "limit_tokens": 800000}',
    "password=${DB_PASSWORD}",
    "password: '%s' % word",
    "postgres://user:password@host/db",
    "authorization = request.headers.get('Authorization')",
    "pwd = os.getcwd()",
    "Pattern(text=text, is_secret=has_value)",
    "f(a=1, credential=sas_token)",
]
# What looks like code in part only.
SECRET_ALL_THE_SAME = [
    ("password = swordfish", "password = {}"),
    ("\tpassword = swordfish", "\tpassword = {}"),
    ("    password = hunter2x", "    password = {}"),
    ("Settings(host=localhost, password=swordfish)", "Settings(host=localhost, password={})"),
    ("password=swordfish(", "password={}("),
    ('{"password": ", $ecret"}', '{{"password": "{}"}}'),
    ("token = to_bytes('hunter')", "token = to_bytes('{}')"),
    ("token = vault.read('hunter2')", "token = vault.read('{}')"),
    ("PASSWORD='correct horse battery staple'", "PASSWORD='{}'"),
    ("token = f'tok-4711-{name}'", "token = f'{}'"),
    ("postgres://ann:password@host/db", "postgres://ann:{}@host/db"),
    ("if x; then\n    PASSWORD=swordfish\nfi", "if x; then\n    PASSWORD={}\nfi"),
    ("    The password = swordfish", "    The password = {}"),
    ("call(user=ann, password=correct_horse)", "call(user=ann, password={})"),
    ('"password": "{6F9619FF-8B86-D011}"', '"password": "{}"'),
    ("Server=db;Pwd=hunter.prod;", "Server=db;Pwd={};"),
    ("Authorization: part.of.signature", "Authorization: {}"),
    ("token = f'swordfish'", "token = f'{}'"),
    ("Login(password=swordfish)", "Login(password={})"),
    ("Login(ann, password=swordfish)", "Login(ann, password={})"),
    ("user=ann, password=my_secret_word, b=1", "user=ann, password={}, b=1"),
    ("token = get('$ecret')", "token = get('{}')"),
    ("Pwd=p(ss)word;", "Pwd={};"),
    ("password: '#abc123'", "password: '{}'"),
    ("ipad_token = 'tok4711'", "ipad_token = '{}'"),
]


def answer(result, request_id=7):
    return JSONRPCResponse(jsonrpc="2.0", id=request_id, result=result)


def sent(*frames):
    """Send frames through the gate; give what came out of it, as the client reads it."""
    got = []

    class Inner:
        async def send(self, item):
            got.append(item)

        async def aclose(self):
            got.append(None)

    async def send_all():
        async with GatedSink(Inner()) as gate:
            for frame in frames:
                await gate.send(SessionMessage(frame))

    asyncio.run(send_all())
    assert got.pop() is None
    dumped = (item.message.model_dump_json(by_alias=True, exclude_unset=True) for item in got)
    return [json.loads(text) for text in dumped]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", BARE)
def test_a_known_kind_of_key_is_redacted_and_what_stands_around_it_stays(name, around):
    assert scrub_text(around.format(BARE[name])) == around.format(REDACTED)


@pytest.mark.parametrize(("text", "left"), NAMED + SECRET_ALL_THE_SAME)
def test_the_value_of_a_secret_name_is_redacted_and_nothing_else(text, left):
    assert scrub_text(text) == left.format(REDACTED)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_named_value_is_redacted_in_json_inside_json(depth):
    text = json.dumps({"password": 'a"b\\c', "after": "stays"})
    for _ in range(depth - 1):
        text = json.dumps({"inner": text, "after": "stays"})
    out = scrub_text(text)
    assert "b" not in out
    assert out.count("stays") == depth


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_a_secret_is_left_as_it_is(text):
    assert scrub_text(text) == text
    assert scrub({"a": [text]}) == {"a": [text]}


WORDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.~-]{15,30}", fullmatch=True).filter(
    lambda word: any(map(str.isdigit, word)) and any(map(str.isalpha, word))
)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25)
@given(word=WORDS)
def test_a_word_is_redacted_by_the_form_around_it_however_often_it_is_escaped(form, word):
    text = form.replace("{}", word)
    assert scrub_text(text) == form.replace("{}", REDACTED)
    for _ in range(3):
        text = json.dumps({"text": f"first\n{text}\nlast", "after": "stays"})
        assert word not in scrub_text(text)
        assert "stays" in scrub_text(text)


def test_a_number_under_the_name_of_a_secret_is_redacted():
    node = {"password": 4711_4711, "token": [1234567], "secret": 12345, "api_key": 1.5, "ok": True}
    assert scrub(node) == node | {"password": REDACTED}
    assert scrub_text(json.dumps({"password": 47114711})) == f'{{"password": {REDACTED}}}'
    assert scrub_text("token: 47114711") == f"token: {REDACTED}"


@pytest.mark.parametrize("text", CODE)
def test_source_code_and_prose_are_left_as_they_are(text):
    for written in (text, json.dumps({"text": f"first\n{text}\nlast"})):
        assert scrub_text(written) == written


def test_json_without_a_secret_is_given_back_itself():
    node = {"items": [{"id": f"a.b/c{i}", "n": i, "ok": True, "none": None} for i in range(50)]}
    assert scrub(node) is node


def test_a_text_under_a_secret_key_is_redacted_whatever_it_looks_like():
    node = {"password": "plain words", "X-Api-Key": "k", "clientSecret": "", "token": {"type": "x"}}
    assert scrub(node) == node | {"password": REDACTED, "X-Api-Key": REDACTED}


def test_a_secret_in_a_key_is_redacted_and_no_entry_is_lost():
    first, second = BARE["github"], BARE["gitlab"]
    out = scrub({first: 1, second: 2, "c": {f"x {first}": 3}})
    assert out == {REDACTED: 1, f"{REDACTED} 2": 2, "c": {f"x {REDACTED}": 3}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values, st.sampled_from(sorted(BARE)), st.sampled_from(AROUND), st.data())
def test_no_planted_key_survives_anywhere_in_a_structure(node, name, around, data):
    planted = around.format(BARE[name])
    where = data.draw(st.sampled_from(["leaf", "key", "text"]))
    tree = {
        "leaf": {"deep": [node, {"leaf": planted}]},
        "key": {"deep": [node, {planted: node}]},
        "text": {"text": json.dumps({"deep": planted, "node": node}, ensure_ascii=False)},
    }[where]
    body = BARE[name].splitlines()[-2] if name == "private key" else BARE[name]
    assert body not in json.dumps(scrub(tree), ensure_ascii=False)


pieces = st.sampled_from(
    [
        *BARE.values(),
        *(text for text, _ in NAMED),
        *HARMLESS,
        "password",
        "=",
        ":",
        '"',
        "'",
        "\\",
        "\0",
    ]
) | st.text(max_size=4)


@given(st.lists(pieces, max_size=8).map("".join))
def test_scrubbing_twice_is_scrubbing_once(text):
    once = scrub_text(text)
    assert scrub_text(once) == once
    tree = scrub({"a": [text], text: text})
    assert scrub(tree) == tree


@given(st.lists(pieces, max_size=8))
def test_texts_are_scrubbed_together_as_they_are_one_by_one(texts):
    assert scrub(texts) == [scrub_text(text) for text in texts]


@pytest.mark.parametrize(
    "unit",
    [
        "password:",
        "password=",
        "token: a",
        "sk-a",
        "authorization: ",
        "Bearer a",
        'secret="',
        "a://b:",
        "--password ",
        "--token a ",
        "<password>",
        "<password>a ",
        "&lt;token&gt;a ",
        "machine a password ",
        "machine a login b ",
        "a.b:1234:c:d:",
        "name='password' ",
        "token = f(",
        "    secret = a, ",
        'token = """',
    ],
)
def test_a_hostile_text_takes_linear_time(unit):
    text = unit * (300_000 // len(unit))
    assert len(scrub_text(text)) <= len(text) * 3


def test_every_kind_of_frame_is_scrubbed():
    secret = BARE["github"]
    frames = sent(
        answer(
            {"content": [{"type": "text", "text": secret}], "structuredContent": {"a": [secret]}}
        ),
        JSONRPCError(
            jsonrpc="2.0", id="e", error=ErrorData(code=-1, message=secret, data={secret: [secret]})
        ),
        JSONRPCNotification(
            jsonrpc="2.0",
            method="notifications/progress",
            params={"progressToken": 1, "progress": 0.5, "message": f"at {secret}"},
        ),
        JSONRPCRequest(
            jsonrpc="2.0", id=1, method="elicitation/create", params={"message": secret}
        ),
        JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed"),
    )
    assert frames == [
        {
            "jsonrpc": "2.0",
            "id": 7,
            "result": {
                "content": [{"type": "text", "text": REDACTED}],
                "structuredContent": {"a": [REDACTED]},
            },
        },
        {
            "jsonrpc": "2.0",
            "id": "e",
            "error": {"code": -1, "message": REDACTED, "data": {REDACTED: [REDACTED]}},
        },
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": 1, "progress": 0.5, "message": f"at {REDACTED}"},
        },
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "elicitation/create",
            "params": {"message": REDACTED},
        },
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
    ]


def test_what_the_client_chose_itself_and_binary_data_are_left_alone():
    own = BARE["github"]
    binary = "password" + "AKIAIOSFODNN7EXAMPLE" + "=="
    result = {
        "content": [{"type": "image", "data": binary, "mimeType": "image/png"}],
        "nextCursor": "eyJhZnRlciI6ICJhLmIvYyIsICJyZXZpc2lvbiI6IDd9",
        "_meta": {"io.modelcontextprotocol/subscriptionId": own},
    }
    progress = {"progressToken": own, "progress": 1, "_meta": {"progressToken": own}}
    frames = sent(
        answer(result, request_id=own),
        JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params=progress),
    )
    assert frames[0]["id"] == own
    assert frames[0]["result"] == result
    assert frames[1]["params"] == progress


def test_the_slots_of_the_protocol_hide_nothing_elsewhere():
    secret = BARE["github"]
    result = {
        "structuredContent": {"progressToken": secret, "type": "image", "data": secret},
        "content": [{"type": "text", "data": secret}],
    }
    assert secret not in json.dumps(sent(answer(result)))


def test_a_frame_that_cannot_be_scrubbed_is_replaced_by_an_error_of_its_id():
    frame = JSONRPCResponse.model_construct(jsonrpc="2.0", id=9, result={"a": object()})
    assert sent(frame) == [
        {"jsonrpc": "2.0", "id": 9, "error": {"code": -32603, "message": WITHHELD}}
    ]


def test_a_notification_that_cannot_be_scrubbed_is_not_sent(caplog):
    frame = JSONRPCNotification.model_construct(jsonrpc="2.0", method="x", params={"a": {1, 2}})
    assert scrub_frame(frame) is None
    assert sent(frame) == []
    assert "withheld" in caplog.text


def test_nesting_beyond_bounds_is_withheld_and_does_not_end_the_server():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    (frame,) = sent(JSONRPCResponse.model_construct(jsonrpc="2.0", id=1, result={"a": deep}))
    assert frame["error"]["message"] == WITHHELD


def test_half_a_character_is_replaced_and_the_frame_still_leaves():
    (frame,) = sent(answer({"a": ["\ud800x", "\U0001f600", BARE["npm"]]}))
    assert frame["result"] == {"a": ["�x", "\U0001f600", REDACTED]}


def test_tuples_and_odd_subclasses_are_scrubbed_as_the_json_they_become():
    class Text(str):
        __slots__ = ()

    assert scrub({"a": (Text(BARE["npm"]), 1)}) == {"a": [REDACTED, 1]}


def test_stderr_holds_a_private_key_back_until_its_last_line():
    out = StringIO()
    gated = GatedText(out)
    for line in f"before\n{PEM}\nafter".splitlines(keepends=True):
        gated.write(line)
        gated.flush()
    assert out.getvalue() == f"before\n{REDACTED}\n"
    gated.release()
    assert out.getvalue() == f"before\n{REDACTED}\nafter"


def test_stderr_does_not_hold_back_without_bound():
    out = StringIO()
    gated = GatedText(out)
    gated.write("-----BEGIN PRIVATE KEY-----\n" + "MIIE\n" * 20_000)
    assert out.getvalue() == REDACTED


def test_stderr_leaves_out_the_rest_of_a_line_without_end_so_that_no_secret_is_cut():
    out = StringIO()
    gated = GatedText(out)
    secret = BARE["npm"]
    for part in (
        "x" * (HELD_CHARS - 9) + " ",
        secret[:20],
        secret[20:],
        " and more",
        "\nnext\nlast",
    ):
        gated.write(part)
    gated.release()
    assert out.getvalue() == "x" * (HELD_CHARS // 2) + LEFT_OUT + "next\nlast"


def test_stderr_writes_a_long_line_whole_that_comes_at_once():
    out = StringIO()
    GatedText(out).write(line := "x" * HELD_CHARS + f" {BARE['npm']} end\n")
    assert out.getvalue() == line.replace(BARE["npm"], REDACTED)


def test_installing_gates_handlers_that_stand_already_and_the_undo_takes_it_back(monkeypatch):
    plain = StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    logger = logging.getLogger("test.stderr_gate")
    handler = logging.StreamHandler(plain)
    logger.addHandler(handler)
    undo = gate_stderr()
    try:
        logger.error("token=%s", "abc123")
        sys.stderr.write(f"half a line {BARE['gitlab']}")
    finally:
        undo()
        logger.removeHandler(handler)
    assert plain.getvalue() == f"token={REDACTED}\nhalf a line {REDACTED}"
    assert sys.stderr is plain
    assert handler.stream is plain


def test_the_undo_leaves_what_others_put_in_the_place_of_stderr(monkeypatch):
    plain, later = StringIO(), StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    handler = logging.StreamHandler(plain)
    logger = logging.getLogger("test.replaced")
    logger.addHandler(handler)
    undo = gate_stderr()
    sys.stderr = later
    handler.setStream(later)
    undo()
    logger.removeHandler(handler)
    assert (sys.stderr, handler.stream) == (later, later)


def test_no_traceback_of_a_process_shows_a_secret():
    program = f"""
        import logging, threading, warnings
        from repl_pair.mcp_server.gate.gated_stderr import gate_stderr
        import atexit
        atexit.register(gate_stderr())
        secret = "password=" + "hunter2" + "canary"
        def fail(): raise RuntimeError(secret)
        try: fail()
        except RuntimeError: logging.getLogger("mcp").exception("handler raised")
        thread = threading.Thread(target=fail); thread.start(); thread.join()
        warnings.warn(secret)
        logging.getLogger("mcp").error({PEM!r})
        fail()
    """
    run = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 3
    assert done.stderr.count(f"RuntimeError: password={REDACTED}") == 3
    assert "canary" not in done.stderr + done.stdout
    assert "MIIE" not in done.stderr
