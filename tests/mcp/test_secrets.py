"""Secrets planted wherever a person's kernel may hold them, asked for in every way an agent has.

Everything is real: a kernel, the server as a process, the SDK's client; what is judged is every
byte that the server wrote.
"""

import base64
import binascii
import html
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote_plus

import pytest
import re2
from bounds import BOUND_S
from mcp.types import PromptReference
from recordings import BEFORE, END, MOST_MS

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Policy
from repl_pair.runtime.realm.bindings import bind
from repl_pair.runtime.realm.membership import init_realm, join_realm
from repl_pair.runtime.realm.saving import Edition, save_contract
from repl_pair.wire import ELIDED, REDACTED

TOKEN = "Zq7kW2mXv9LbT4nRp6Ys"
ODD = 'pV"8R4\\t/+Yz&9wK<e>é5 %2Ju'
IN_URL = "U8rlPwQ3xFzT31hD"
CANARIES = {
    "a variable of the environment": TOKEN,
    "one with characters that every notation escapes": ODD,
    "a password in a URL of the environment": IN_URL,
    "a password in a URL that the code makes": "hG5vNc2Yw8KtQ4Ze",
    "under the key password": "Jx3fDs9Lm6RbVk1P",
    "under the key api_key": "Wn8cTy4QzHg2Mp7E",
    "in a SecretStr of the person's settings": "Bt6jXr1Fv3KdSw9U",
    "in a SecretStr among the args": "Cy2mLq8Gz5NhPb4A",
    "declared Sensitive": "Rk7wEv3Tj9XfDn1S",
    "in a variable with a telling name": "Vs4pMb6Hc8ZyLg2Q",
    "in a private field with a telling name": "Ft9xKw5Nd1QrJm7B",
    "in a file that only an error quotes": "Lh3zSg6Pv8CyWt2X",
    "in the settings of a module": "Dz8nRb5Kq2GvTj7M",
}
(
    *_,
    FRESH_URL,
    PASSWORD,
    API_KEY,
    SETTINGS,
    SECRET_ARG,
    SENSITIVE,
    VARIABLE,
    PRIVATE,
    QUOTED,
    MODULE,
) = CANARIES.values()
ENVIRONMENT = {
    "PAYMENTS_API_TOKEN": TOKEN,
    "SHOP_DB_PASSWORD": ODD,
    "DATABASE_URL": f"postgresql://ann:{IN_URL}@db.example.com/shop",
}
WINDOW = 8
"""So many characters of a canary in a row are a leak."""

SETTINGS_PY = f"""
import pydantic

class Settings(pydantic.BaseModel):
    broker: pydantic.SecretStr = pydantic.SecretStr({MODULE!r})

settings = Settings()

def connect():
    return "plain-broker " + settings.broker.get_secret_value()
"""
SETUP = f"""
import base64, html, json, logging, os, sys, urllib.parse, warnings
from dataclasses import dataclass
from typing import Annotated
import pydantic
from IPython.display import display
import repl_pair
from repl_pair import Sensitive, Verdict, check

TOKEN, ODD = os.environ["PAYMENTS_API_TOKEN"], os.environ["SHOP_DB_PASSWORD"]

class Settings(pydantic.BaseModel):
    region: str = "plain-region"
    signer: pydantic.SecretStr = pydantic.SecretStr({SETTINGS!r})

class Vault:
    runs = 0
    def __init__(self):
        self.shelf = ["plain-shelf", TOKEN]
        self._password = {PRIVATE!r}
    @property
    def prop(self):
        Vault.runs += 1
        return TOKEN
    def open(self):
        return TOKEN
    def __getattr__(self, name):
        Vault.runs += 1
        raise AttributeError(name)
    def __repr__(self):
        return f"Vault({{TOKEN}})"

@dataclass
class Login:
    user: str
    password: str

settings = Settings()
config = {{"plain": "plain-config", "password": {PASSWORD!r}, "api_key": {API_KEY!r}}}
db_password = {VARIABLE!r}
vault = Vault()
login = Login("plain-user", {PASSWORD!r})
notes = ["plain-note", f"the token is {{TOKEN}}", {{f"by {{TOKEN}}": 1}}]
globals()["is_" + TOKEN] = "plain-named"
fresh_url = "https://ann:{FRESH_URL}@files.example.com/x"
def f(): return TOKEN

def encoded(text):
    raw = text.encode()
    return {{
        "base64": [base64.b64encode(b"x" * n + raw + b"y").decode() for n in range(3)],
        "urlsafe": [base64.urlsafe_b64encode(b"?" * n + raw + b"~").decode() for n in range(3)],
        "hex": [raw.hex(), raw.hex().upper()],
        "url": [urllib.parse.quote(text), urllib.parse.quote(text, safe=""),
                urllib.parse.quote_plus(text)],
        "json": [json.dumps(text), json.dumps([json.dumps(text)])],
        "other": [repr(text), html.escape(text), ascii(text)],
    }}

def fail(text):
    raise RuntimeError(text)

def text_of(error):
    try:
        error()
    except Exception as raised:
        return f"{{type(raised).__name__}}: {{raised}}"

PROBES = {{
    "environment dump": lambda: dict(os.environ),
    "environment value": lambda: TOKEN,
    "odd value": lambda: ODD,
    "url of the environment": lambda: os.environ["DATABASE_URL"],
    "fresh url": lambda: fresh_url,
    "dict keys": lambda: dict(config),
    "dataclass": lambda: login,
    "instance": lambda: vault,
    "exception text": lambda: text_of(lambda: fail(f"{{TOKEN}} and password={QUOTED!s} refused")),
    "get_secret_value": lambda: settings.signer.get_secret_value(),
    "encoded token": lambda: encoded(TOKEN),
    "encoded odd": lambda: encoded(ODD),
}}

def words(value):
    return value if isinstance(value, str) else repr(value)

repl_pair.tag("shop", doc=f"plain-tag {{TOKEN}} plain-tag")
repl_pair.tag(f"t/{{TOKEN}}", doc="plain-tag")
repl_pair.mode("plain", args={{"note": f"plain-mode {{TOKEN}}"}}, doc=f"plain-mode {{ODD}}")
repl_pair.mode("keyed", args={{"options": {{"password": {PASSWORD!r}, "plain": "plain-mode"}}}},
               axis=f"axis {{TOKEN}}", doc=fresh_url)

@repl_pair.assertion
def finds(settled, probe):
    found = PROBES[probe]()
    return Verdict(passed=False, expected=found, actual=[found], reason="plain " + words(found))

@repl_pair.assertion
def breaks(settled, probe):
    fail("plain " + words(PROBES[probe]()))

def hears(settled, word): return word in settled.stdout
hears.__doc__ = f"plain-doc {{TOKEN}}"
repl_pair.assertion("hears")(hears)

@repl_pair.loader("undone")
def undone():
    yield
    fail("plain " + words(PROBES[UNDOING]()))

@repl_pair.story(
    "vault.leak", args={{"site": "result", "note": "plain-note"}}, tags=["shop", f"t/{{TOKEN}}"],
    modes=["plain", "keyed"], thread_safe=True,
    doc=f"plain-doc {{TOKEN}} plain-doc\\n\\nat {{fresh_url}} with {{ODD}}",
)
def leak(probe: str, site: str, note: str, options: dict | None = None):
    global UNDOING
    UNDOING = probe
    value = PROBES[probe]()
    said = f"plain-before {{words(value)}} plain-after"
    sites[site](said, value)
    shown = value if site == "result" else words(value) if site == "text" else None
    if site == "name":
        return {{"neighbour": "plain-result", words(value): 1}}
    return {{"neighbour": "plain-result", "note": note, "value": shown, "options": options}}

nothing = lambda said, value: None
sites = dict.fromkeys(
    ("result", "text", "name", "finds", "breaks", "equals", "undone"), nothing
) | {{
    "stdout": lambda said, value: print(said),
    "stderr": lambda said, value: print(said, file=sys.stderr),
    "exception": lambda said, value: fail(said),
    "raises": lambda said, value: fail(said),
    "log": lambda said, value: logging.getLogger("shop").warning(said),
    "warning": lambda said, value: warnings.warn(said),
    "display": lambda said, value: display({{"text/html": said, "text/plain": said}}, raw=True),
    "json": lambda said, value: display(
        {{"application/json": {{"shown": [said]}}, "text/plain": "<x object>"}}, raw=True
    ),
    "image": lambda said, value: display(
        {{"image/png": words(value), "text/plain": "plain-image"}}, raw=True
    ),
}}
PLAYS = {{
    "finds": lambda probe: [[finds, probe]],
    "breaks": lambda probe: [[breaks, probe]],
    "equals": lambda probe: [check.path_equals("result.note", words(PROBES[probe]()))],
    "raises": lambda probe: [check.raises("ValueError")],
    "result": lambda probe: [check.path_equals("result.value", "plain-expected")],
    "log": lambda probe: [check.path_equals("logs[0]", "plain-expected")],
    "stdout": lambda probe: [check.path_equals("stdout", "plain-expected")],
    "warning": lambda probe: [check.no_warnings()],
}}
for p, probe in enumerate(PROBES):
    for site in sites:
        repl_pair.variant(
            f"vault.leak/P{{p}}_{{site}}", args={{"probe": probe, "site": site}},
            play=PLAYS.get(site, lambda probe: [])(probe),
            loaders=["undone"] if site == "undone" else [],
            doc=f"plain-doc {{words(TOKEN)}}",
        )
repl_pair.variant(f"vault.leak/{{TOKEN}}", args={{"probe": "environment value"}})
repl_pair.variant("vault.leak/Zq7kW2m", args={{"probe": "environment value"}})

@repl_pair.story("vault.login", args={{"user": "plain-user"}})
def sign_in(user: str, pin: Annotated[str, Sensitive], key: pydantic.SecretStr, note: str = ""):
    print(f"plain-before {{pin}} {{key.get_secret_value()}}")
    return {{"user": user, "said": f"{{pin}}:{{key.get_secret_value()}}", "note": note, "key": key}}

with open("vault_settings.py", "w") as file:
    file.write({SETTINGS_PY!r})
import vault_settings
repl_pair.story("vault.module", component=vault_settings.connect)
repl_pair.variant("vault.module/Connected")

repl_pair.variant("vault.login/Right", args={{"pin": {SENSITIVE!r}, "key": {SECRET_ARG!r}}},
                  play=[check.path_equals("args.pin", {SENSITIVE!r})])
repl_pair.variant("vault.login/Wrong", args={{"pin": {SENSITIVE!r}, "key": {SECRET_ARG!r}}},
                  play=[check.path_equals("args.pin", "plain-guess")])
repl_pair.variant("vault.login/Asked", args={{"pin": {SENSITIVE!r}, "key": {SECRET_ARG!r}}}, play=[
    check.compare("args.pin", "<", {SENSITIVE!r}), check.contains("result.said", {SENSITIVE!r}),
    check.length("args.pin", 2), check.approx("args", {{"pin": {SENSITIVE!r}}}),
    check.result_equals({{"said": {SENSITIVE!r}}}), check.rendered_text({SENSITIVE!r}),
    check.path_matches("args", {{"properties": {{"pin": {{"const": {SENSITIVE!r}}}}}}}),
    check.no_secret(), check.matches_snapshot(), ["hears", {SENSITIVE!r}],
])

@repl_pair.story("vault.long")
def at_length():
    text = "".join(f"plain {{n}} {{'.' * (n % 13)}}{{TOKEN if n % 3 else ODD}}" for n in range(800))
    rows = [f"plain {{n}} {{TOKEN}}" if n % 7 else config for n in range(400)]
    return {{"text": text, "rows": rows, "keys": {{f"{{n}} {{TOKEN}}": n for n in range(300)}}}}

repl_pair.variant("vault.long/Whole")

@repl_pair.story("vault.echo")
def echo(note: str = "", password: str = "", options: dict | None = None):
    return {{"password": password, "again": f"plain {{note}} {{password}}", "options": options}}

repl_pair.variant("vault.echo/Plain", play=[check.path_equals("result", {{"note": ""}})])

repl_pair.variant("vault.login/Heir", extends="vault.login/Right", args={{"user": "plain-heir"}},
                  play=[check.path_equals("args.key", {SECRET_ARG!r})])
repl_pair.handler("note")(lambda live, **payload: None)
repl_pair.decorator("vault/door", kind="frame_setup", doc=f"plain-decorator {{TOKEN}}",
                    init=[["note", {{"password": {PASSWORD!r}, "plain": "plain-event"}}]],
                    patch={{"login.api_key": {API_KEY!r}, "plain": f"plain-patch {{ODD}}"}})
repl_pair.decorator("vault/mail", kind="fx_override", effect="mail", response=[TOKEN, config])
repl_pair.variant("vault.echo/Keyed", args={{"note": "plain-note", "password": {PASSWORD!r}}},
                  events=[["note", {{"api_key": {API_KEY!r}, "plain": f"plain {{TOKEN}}"}}]],
                  decorators=[["vault/mail", {{"response": {{"password": {PASSWORD!r}}}}}]],
                  plays={{"plain": [["set", "password", {PASSWORD!r}]]}})
@repl_pair.function("vault.tell", expose=True, mutates=False)
def tell(word: str = TOKEN, password: str = ODD) -> list:
    "plain-function"
    print("plain-said", TOKEN, ODD, word)
    logging.getLogger("vault").warning("plain-logged %s", TOKEN)
    return [vault, login, ODD, dict(api_key=TOKEN), "at " + fresh_url]
tell.__doc__ = "plain-function " + TOKEN
repl_pair.function("vault.tell_doc", expose=True, mutates=False, thread_safe=True)(tell)

@repl_pair.function("vault.token", expose=True)
def token() -> str: return "in-no-other-place-77z"

@repl_pair.function("vault.fail", expose=True, mutates=False)
def fail_with(word: str = "plain") -> None:
    raise KeyError(TOKEN, ODD, fresh_url, word)

repl_pair.workspace("vault.desk/Told", layout="prose", doc=f"plain-workspace {{ODD}}",
                    content=[{{"prose": f"plain-prose {{TOKEN}}"}},
                             {{"variant": "vault.echo/Plain"}}])
repl_pair.panel("vault", title=f"plain-panel {{TOKEN}}", placement="left", render=lambda: TOKEN)

live = repl_pair.surface("vault", doc=f"plain-surface {{TOKEN}}")
live.cell("noted", doc=f"plain-cell {{ODD}}", default=[config, login, settings, vault, fresh_url])
live.collection("by_name").update({{TOKEN: notes, "plain": encoded(ODD), "api_key": {API_KEY!r}}})
live.stream("said", str).push(f"plain-said {{TOKEN}} {{ODD}} {PASSWORD}")
live.event("failed").emit(RuntimeError(TOKEN, {{"password": {PASSWORD!r}}}))
live.expose("noted", "by_name", "said", "failed")
"""
PROBES, SITES = 12, 15
CONTROL = """
def find_clean(forms):
    for variant in repl_pair.registry.ids("variant", "vault."):
        whole = repr(vars(repl_pair.run(variant)))
        if variant != "vault.echo/Plain" and not any(form in whole for form in forms):
            yield variant
print(json.dumps(list(find_clean(json.loads(%r)))))
"""


# --- what is a leak


def plain_forms(canary):
    """Return the notations that the probes use; written anew here, not taken from the package."""
    raw = canary.encode()
    forms = {canary, repr(canary)[1:-1], ascii(canary)[1:-1], html.escape(canary)}
    forms |= {json.dumps(canary)[1:-1], json.dumps(json.dumps(canary))[1:-1]}
    forms |= {raw.hex(), raw.hex().upper(), quote(canary), quote(canary, safe="")}
    forms |= {quote_plus(canary), json.dumps(canary, ensure_ascii=False)[1:-1]}
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        sure = whole[-(-before * 8 // 6) + (before > 0) : (before + len(raw)) * 8 // 6]
        forms |= {sure, sure.translate(str.maketrans("+/", "-_"))}
    return forms


def parts_of(canary):
    return [canary[at : at + WINDOW] for at in range(len(canary) - WINDOW + 1)]


ALL_FORMS = list(dict.fromkeys(chain(CANARIES.values(), *map(plain_forms, CANARIES.values()))))
NEEDLES = sorted({*ALL_FORMS, *chain.from_iterable(map(parts_of, CANARIES.values()))})
_ANY = re2.compile("|".join(map(re2.escape, NEEDLES)))
_RUN = re.compile(r"[A-Za-z0-9+/_-]{11,}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){8,}")


@cache
def leaks_in(text):
    """Return the parts of canaries that stand in a text, plainly or in any usual notation."""
    found = set(_ANY.findall(text))
    for decoded in {unquote_plus(text), html.unescape(text)} - {text}:
        found |= set(_ANY.findall(decoded))
    for run in set(_RUN.findall(text)):
        found |= {hit for decoded in decodings(run) for hit in _ANY.findall(decoded)}
    return found


def decodings(run):
    run = run.translate(str.maketrans("-_", "+/"))
    for start in range(4):
        part = run[start:]
        part = part[: len(part) // 4 * 4]
        yield base64.b64decode(part).decode("utf-8", "ignore")
    for digits in _HEX.findall(run):
        yield binascii.unhexlify(digits).decode("utf-8", "ignore")


def texts_in(node):
    """Return every text and key of JSON; texts that are JSON themselves are opened too."""
    if isinstance(node, str):
        yield node
        try:
            inner = json.loads(node)
        except ValueError:
            return
        if isinstance(inner, dict | list):
            yield from texts_in(inner)
    elif isinstance(node, list):
        for item in node:
            yield from texts_in(item)
    elif isinstance(node, dict):
        for key, item in node.items():
            yield key
            yield from texts_in(item)


def leaks_of(record):
    """Return what leaked into the bytes of one server, with the frame that it stands in."""
    found = dict.fromkeys(leaks_in(record.err.decode("utf-8", "replace")), "stderr")
    for line in record.out.splitlines():
        for text in {line.decode(), *texts_in(json.loads(line))}:
            found |= dict.fromkeys(leaks_in(text), text[:300])
    return found


# --- what an agent asks


@dataclass
class Told:
    """What one agent got: each reply under what was asked, and the bytes of its server."""

    agent: object
    kernel: object
    inspects: bool
    replies: dict = field(default_factory=dict)
    progress: list = field(default_factory=list)
    pages: list = field(default_factory=list)

    def ask(self, tool, /, **args):
        """Call a tool; a run twice, the second one in full."""
        result = self.agent.call(tool, **args)
        if tool in ("run_variant", "preview_variant"):
            result = self.agent.call(tool, **args, detail="full")
        reply = result.structured_content or {"ok": False, "text": result.content[0].text}
        self.replies[f"{tool} {json.dumps(args)}"] = reply
        return reply

    def items(self, tool, /, **args):
        """Read a list page by page."""
        found, cursor = [], {}
        while True:
            result = self.ask(tool, **args, **cursor)["result"]
            found += result["items"]
            if "cursor" not in result:
                return [item["id"] for item in found]
            cursor = {"cursor": result["cursor"]}


def use_kernels(heard):
    heard.ask("list_kernels")
    heard.ask("use_kernel", kernel=heard.kernel.id)
    heard.ask("use_kernel", kernel="nope-kernel")
    heard.ask("kernel_status")


def list_all(tool):
    def drive(heard):
        heard.items(tool, limit=7)
        heard.ask(tool)
        heard.ask(tool, cursor="bm9wZQ==")

    return drive


def list_variants(heard):
    heard.variants = heard.items("list_variants", limit=50)
    heard.some = heard.variants[:: len(heard.variants) // 40]  # every place, and every probe
    heard.ask("list_variants", story_id="vault.login")
    heard.ask("list_variants", tags=["shop"], limit=3)
    heard.ask("list_variants", tags=["shoq"])


def get_all(tool, name, *ids):
    def drive(heard):
        for id in ids or heard.some:
            heard.ask(tool, **{name: id})
        heard.ask(tool, **{name: "vault.leak/Zq7kW2mm" if name == "variant_id" else "vault.lea"})

    return drive


def run_all(heard):
    for id in heard.variants:
        heard.ask("run_variant", variant_id=id)
    first = {"variant_id": "vault.leak/P1_text"}
    heard.ask("run_variant", **first, lane="worker")
    heard.ask("run_variant", **first, modes=["plain"])
    heard.ask("run_variant", **first, modes=["keyed", "plain"])
    heard.ask("run_variant", **first, modes=["keye"])
    heard.ask("run_variant", **first, overrides={"probe": "encoded odd"})
    heard.ask("run_variant", **first, overrides={"prob": "encoded odd"})
    heard.ask("run_variant", **first, overrides={"note": {"a": 1}})
    heard.ask("run_variant", variant_id="vault.login/Right", overrides={"pin": "guess-it-now"})
    wait_for_the_person(heard)


def sweep_all(heard):
    heard.ask("run_variants", story_id="vault.leak", modes=[], limit=200)
    heard.ask("run_variants", story_id="vault.login", limit=3)
    heard.ask("run_variants", story_id="vault.leak", matrix="each", fail_fast=True)
    heard.ask("run_variants", ids=["vault.leak/P1_text", "vault.leak/Zq7kW2mm"])
    heard.ask("run_variants", tags=["shop", "shoq"])
    heard.ask("run_variants", changed=True, modes=["keye"])


def wait_for_the_person(heard):
    cell = heard.kernel.start(
        f"password = {PASSWORD!r}; import time\n"
        f"while not os.path.exists({str(heard.go)!r}): time.sleep(0.01)"
    )
    run = heard.agent.start(
        "run_variant", heard.progress.append, variant_id="vault.leak/P1_stdout", wait_s=20.0
    )
    heard.until(lambda: heard.progress, "progress while the person's cell runs")
    heard.ask("kernel_status")
    heard.ask("run_variant", variant_id="vault.leak/P1_stdout", wait_s=0.0)
    heard.go.touch()
    heard.replies["waited"] = run.result(BOUND_S).structured_content
    assert heard.kernel.finish(cell).error is None


def explain_all(heard):
    for id in (*heard.some, *KEYED):
        heard.ask("explain_variant", variant_id=id)
    heard.ask("explain_variant", variant_id="vault.leak/P1_text", modes=["keyed", "plain", "keye"])
    heard.ask("explain_variant", variant_id="vault.login/Heir", overrides={"pin": "guess-it-now"})
    heard.ask("explain_variant", variant_id="vault.login/Heir", overrides={"user": "plain-one"})


def preview_all(heard):
    for id in (*heard.some, *KEYED):
        heard.ask("preview_variant", variant_id=id)
    heard.ask("preview_variant", variant_id="vault.leak/P1_text", modes=["keyed", "plain"])
    heard.ask("preview_variant", variant_id="vault.login/Heir", overrides={"key": "guess-it-now"})


def give_data(heard):
    for id in (*heard.some, *KEYED):
        heard.ask("variant_to_data", variant_id=id)
    heard.ask("workspace_to_data", workspace_id="vault.desk/Told")
    heard.ask("workspace_to_data", workspace_id="vault.desk/Tol")


KEYED = ("vault.login/Right", "vault.login/Heir", "vault.echo/Keyed")


def read_kinds(heard):
    for id in heard.items("list_decorators", limit=1):
        heard.ask("get_decorator", decorator_id=id)
    for id in heard.items("list_workspaces", limit=1):
        heard.ask("get_workspace", workspace_id=id)
    heard.items("list_panels", limit=1)
    heard.ask("list_substrates")
    for id in KEYED:
        heard.ask("get_variant", variant_id=id)


def list_assertions(heard):
    heard.ask("list_assertions")
    heard.ask("list_assertions", limit=1)


def identify(heard):
    for id in heard.some:
        heard.ask("snapshot_identity", variant_id=id)
    heard.ask("snapshot_identity", variant_id="vault.leak/P1_text", modes=["keyed", "plain"])
    heard.ask("snapshot_identity", variant_id="vault.login/Right", overrides={"key": "guess-it"})


def read_verdicts(heard):
    heard.ask("read_failures")
    for id in heard.some:
        heard.ask("read_failures", variant_id=id)


def judge(heard):
    heard.ask("tests_passing")
    heard.ask("tests_passing", story_id="vault.login")
    heard.ask("tests_passing", tags=["shop"])
    heard.ask("tests_passing", story_id="vault.logim")


def follow_changes(heard):
    heard.ask("read_changes")
    heard.ask("read_changes", since=0)
    heard.ask("read_changes", since=10**9, wait_s=0.01)


def look_at_variables(heard):
    heard.ask("list_variables")
    heard.items("list_variables", limit=5)
    heard.ask("list_variables", values=True, limit=9)
    if heard.inspects:
        heard.items("list_variables", values=True, limit=2)


def look_at_stacks(heard):
    """Look while a cell stands, in whose names of threads, tasks and functions secrets are."""
    gate = heard.go.with_name("stood")
    begun = heard.kernel.start(STANDING.format(gate=str(gate)))
    heard.until(lambda: "plain-task" in str(heard.ask("read_stacks")), "the tasks of the cell")
    heard.ask("read_stacks", code=True)
    heard.ask("read_stacks", code="Zq7kW2m")
    heard.ask("read_hot_lines", seconds=0.2)
    heard.ask("read_op", op="read_stacks")
    heard.ask("read_op", op="read_hot_lines", args={"seconds": 0.1})
    gate.touch()
    assert heard.kernel.finish(begun).error is None
    heard.ask("read_hot_lines")


STANDING = (
    """
import asyncio, pathlib, threading
over = threading.Event()
exec(f"def plain_{{TOKEN}}(password={PASSWORD!r}): return over.wait()")
stands = globals()["plain_" + TOKEN]
threads = [threading.Thread(target=stands, name=f"plain-thread {{TOKEN}} {{ODD}}")]
code = compile("over.wait()", f"/plain/{{TOKEN}}/{{fresh_url}}", "exec")
threads.append(threading.Thread(target=lambda: exec(code), name="p" * 5000 + TOKEN))
for each in threads: each.start()
async def wait(password={PASSWORD!r}, on={API_KEY!r}): await asyncio.Event().wait()
task = asyncio.create_task(wait(), name=f"plain-task {{TOKEN}}")
while not pathlib.Path({gate!r}).exists(): await asyncio.sleep(0.05, "{VARIABLE}")
over.set()
task.cancel()
for each in threads: each.join()
""".replace("{PASSWORD!r}", repr(PASSWORD))
    .replace("{API_KEY!r}", repr(API_KEY))
    .replace("{VARIABLE}", VARIABLE)
)
"""A cell that stands where a secret is in the name of each thread, task, function and file."""


def get_values(heard):
    for path in VALUES:
        heard.ask("get_value", path=path) if heard.inspects else None
        heard.ask("describe_object", path=path, members=True) if heard.inspects else None
    if not heard.inspects:
        with pytest.raises(Exception, match="Unknown tool: get_value"):
            heard.ask("get_value", path="config")


def look_at_cells(heard):
    asked = [("read_traceback", {}), ("read_traceback", {"locals": True}), ("read_history", {})]
    asked += [("read_history", {"match": "password", "limit": 200})]
    heard.kernel.run(STUMBLE)
    for op, args in asked if heard.inspects else ():
        heard.ask(op, **args)


STUMBLE = """
def stumble(password, *more):
    print(more, vault)
    error = RuntimeError("no", password, *more)
    error.add_note(f"by {password}")
    error.token = more[0]
    raise error
try:
    stumble(config["password"], TOKEN, ODD, login, settings, fresh_url)
except RuntimeError as error:
    raise ValueError(f"no {notes} {config} {fresh_url}") from error
"""
VALUES = {
    "config": "plain-config",
    "config.password": "config.password",
    "config.api_key": "config.api_key",
    "config.plain": "plain-config",
    "db_password": "db_password",
    "settings": "plain-region",
    "settings.signer": "settings.signer",
    "vault": "plain-shelf",
    "vault.shelf": "plain-shelf",
    "vault.shelf[1]": "vault.shelf[1]",
    "login": "plain-user",
    "login.password": "login.password",
    "notes": "plain-note",
    "notes[1]": "the token is",
    "notes[-1]": "by",
    "fresh_url": "https://ann:",
    "TOKEN": "TOKEN",
    "ODD": "ODD",
}
"""Paths of the person's variables, and what is plain in the reply."""


def read_on(heard):
    """Read what was elided in slices whose bounds fall everywhere."""
    heard.ask("read_more", handle="h-nope")
    whole = heard.ask("run_variant", variant_id="vault.long/Whole")["result"]["result"]
    markers = {name: find_marker(value) for name, value in whole.items()}
    for name, marker in markers.items():
        for limit, offset in ((7, 3), (333, 1), (4000, 0), (13, 0)):
            heard.pages.append((name, read_pages(heard, marker["handle"], offset, limit)))


def find_marker(value):
    if isinstance(value, list):
        value = value[-1]
    return value[ELIDED]


def read_pages(heard, handle, offset, limit, pages=40):
    """Read up to so many pages in a row; gives them as one."""
    found = []
    for _ in range(pages):
        reply = heard.ask("read_more", handle=handle, offset=offset, limit=limit)
        if "$overflow" in reply["result"]:
            break
        part = reply["result"].get("text") or reply["result"]["items"]
        found.append(part if isinstance(part, str) else json.dumps(part))
        if "next_offset" not in reply["result"]:
            break
        offset = reply["result"]["next_offset"]
    return "".join(found)


def document(heard):
    for id in ("vault.leak", "vault.login", "vault.long", "vault.echo", "vault.module"):
        heard.ask("get_docs_markdown", story_id=id, limit=5)
    heard.ask("get_docs_markdown", story_id="vault.leak", limit=200)
    heard.ask("get_docs_markdown", story_id="vault.lea")
    heard.ask("get_story_instructions")


def share(heard):
    for id in heard.some:
        heard.ask("share_variant", variant_id=id, qr=True)
    first = {"variant_id": "vault.leak/P1_text"}
    heard.ask("share_variant", **first, modes=["keyed", "plain"], tag_filter=["shop"])
    heard.ask("share_variant", **first, overrides={"note": "plain"}, base_url="http://h/?a#b")
    heard.ask("share_variant", **first, overrides={"prob": 1}, base_url="http://h/?a#b")
    heard.ask("share_variant", **first, modes=["keye"])
    heard.ask("share_variant", variant_id="vault.login/Right", overrides={"pin": "guess-it-now"})


def follow_runs(heard):
    heard.ask("watch_variant", variant_id="vault.login/Right")
    heard.ask("watch_variant", variant_id="vault.login/Zq7kW2mm")
    heard.ask("watch_variant", tags=["shop"])
    heard.ask("watch_variant", tags=["shoq"])
    heard.ask("watch_variant", on=False)
    heard.items("changed_variants", limit=50)
    heard.ask("changed_variants", story_id="vault.leak", tags=["shop"])
    for id in heard.some[::4]:
        heard.ask("reset_variant", variant_id=id)
    heard.ask("reset_variant", variant_id="vault.login/Right", overrides={"pin": "guess-it-now"})


def record_secrets(heard):
    """Record what the person dispatches with every secret that their kernel holds."""
    asked = {"variant_id": "vault.echo/Plain", "duration_ms": MOST_MS}
    heard.kernel.cell(BEFORE)
    started = []
    call = heard.agent.start(
        "record_as_variant", started.append, **asked, new_variant_id="vault.echo/Recorded"
    )
    heard.until(lambda: started, "the begin of the recording")
    heard.kernel.cell(DISPATCHING + END)
    reply = call.result(timeout=BOUND_S).structured_content
    heard.replies["record_as_variant {}"] = reply
    assert (reply["result"]["count"], reply["result"]["redacted"]) == (8, 7)
    heard.ask(
        "record_as_variant", new_variant_id="vault.echo/Zq7kW2m ", **asked | {"duration_ms": 0}
    )


DISPATCHING = """
said = [TOKEN, f"plain {ODD}", fresh_url, config, login, encoded(TOKEN), b"x" + TOKEN.encode()]
with repl_pair.live("vault.echo/Plain") as live:
    for one in said:
        live.dispatch("note", said=one)
    live.dispatch("note", plain="plain-said")
"""


def read_surfaces(heard):
    members = [one["id"] for line in heard.ask("list_surfaces")["result"]["items"]
               for one in line["members"]]  # fmt: skip
    for member in members:
        heard.ask("read_member", member=member)
        heard.ask("read_member", member=member, limit=1, since=0)
    for key in ("plain", "api_key", "Zq7kW2m"):
        heard.ask("read_member", member="vault/by_name", key=key)
    heard.ask("read_member", member="vault/Zq7kW2m")


def work_in_sessions(heard):
    for goal in ("Mend the vault.", "Zq7kW2m"):
        heard.ask("session_start", goal=goal, rfc="guess-it-now")
        heard.ask("session_stop")
    for id in heard.items("list_sessions", limit=50):
        heard.ask("get_session", session_id=id)
    heard.ask("get_session", session_id="Zq7kW2m")
    heard.items("notifications_list", state="all", limit=50)


def agree_with_repos(heard):
    """Join a realm whose one contract holds secrets, and read all that its ops answer."""
    root = Path(heard.kernel.cell("import os; print(os.getcwd())").strip())
    if not (root / "realm").exists():
        init_realm("vault", root / "realm")
        home = join_realm(root, root / "realm", "desk")
        value = {"plain": f"plain-value {TOKEN}", "password": PASSWORD, "by": {ODD: IN_URL}}
        edition = Edition(version="1.0.0", schema={"title": ODD}, value=value, changes=TOKEN)
        save_contract(home, "vault", "login", edition)
        bind(home, "vault", exports=["login"], imports=[f"{TOKEN} >=2"])
    heard.ask("realm_status")
    heard.ask("realm_check", strict=True)
    heard.ask("realm_check", realm="Zq7kW2m")
    heard.ask("contract_get", domain="vault", contract="login")
    heard.ask("contract_get", domain="vault", contract="Zq7kW2m")
    heard.ask("pr_status")
    heard.ask("pr_status", rfc="guess-it-now")
    if heard.inspects:
        heard.ask("worktree_create", rfc="guess-it-now")
        heard.ask("worktree_create", rfc="guess-it-now", repos=["Zq7kW2m"])


def nothing(heard):
    """Do nothing: no tool is made of an internal op."""


GIVEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
"""A secret that the client itself gives, known by its form."""
PROMPTED = (
    ("triage-failing-variants", {}),
    ("triage-failing-variants", {"tags": "shop"}),
    ("triage-failing-variants", {"tags": "t/Zq7kW2m"}),
    ("triage-failing-variants", {"tags": GIVEN}),
    ("register-function", {"name": f"vault.{GIVEN}"}),
    ("register-function", {"name": f"password='{GIVEN}'"}),
    ("schedule-a-run", {"call": "vault.tell", "every_s": "60"}),
    ("schedule-a-run", {"call": f"vault.{GIVEN}", "every_s": GIVEN}),
    ("build-panel", {"id": GIVEN}),
    ("build-panel", {GIVEN: "x"}),
    (GIVEN, {}),
)
COMPLETED = (
    ("triage-failing-variants", "tags", ("", "t/", "t/Zq7kW2m", f"{GIVEN},sh")),
    ("register-function", "name", ("", "vault.")),
    ("schedule-a-run", "call", ("", "vault.")),
    ("build-panel", "id", ("", "va")),
)


def use_prompts(heard):
    """Get every prompt, complete its arguments, and read the resources beside the tools."""
    portal, client = heard.agent.portal, heard.agent.client
    for name in ("context", "functions", "triggers", "workers"):
        portal.call(client.read_resource, f"pair://{name}")
    heard.prompts = [
        portal.call(client.get_prompt, name, given).messages[0].content.text
        for name, given in PROMPTED
    ]
    heard.completed = {
        (prompt, typed): portal.call(
            client.complete, PromptReference(name=prompt), {"name": name, "value": typed}
        ).completion.values
        for prompt, name, all_typed in COMPLETED
        for typed in all_typed
    }


INTERNAL = sorted(entry["name"] for entry in manifest.load() if "internal" in entry)


def read_answers(heard):
    heard.ask("read_approval", handle="Zq7kW2m", wait_s=0)


def run_others(heard):
    heard.ask("describe_op")
    for op in ("list_tags", "list_modes", "list_variables", "get_story", "get_value"):
        heard.ask("describe_op", op=op)
        heard.ask("run_op", op=op)
        heard.ask("read_op", op=op)
        heard.ask("run_op", op=op, args={"story_id": "vault.leak", "path": "API_KEY"})
    heard.ask("run_op", op="list_variables", args={"values": True})


def write_beside(heard):
    """Write what would take secrets elsewhere, guess them, or have a refusal quote them."""
    if not heard.inspects:
        for tool in WRITING:
            with pytest.raises(Exception, match=f"Unknown tool: {tool}"):
                heard.ask(tool, variant_id="vault.leak/Mine", body={})
        return
    heard.ask("register_mode", mode_id="mine", body={"args": {"note": "plain-mode"}})
    heard.ask("register_mode", mode_id="mine", body={"args": {"password": "guess-it-now"}})
    heard.ask("register_tag", tag_id="mine", body={"doc": "plain-tag"})
    heard.ask("register_decorator", decorator_id="mine", body={"kind": "frame_setup"})
    heard.ask("register_panel", panel_id="mine", body={"render": "t"})
    heard.ask("register_story", story_id="vault.mine", body={"component_of": "vault.login"})
    heard.ask("register_workspace", workspace_id="vault.mine/All", body={"layout": "grid"})
    for id, body in PEEKING.items():
        heard.ask("register_variant", variant_id=id, body=body)
        heard.ask("get_variant", variant_id=id)
        heard.ask("run_variant", variant_id=id, modes=["mine"] if "leak" in id else None)
        heard.ask("read_assertions", variant_id=id)
    heard.ask("read_failures")
    heard.ask("unregister", kind="variant", id="vault.login/Right")
    heard.ask("unregister", kind="variant", id="vault.leak/Zq7kW2m")
    heard.ask("unregister", kind="variant", id="vault.leak/Mine")
    heard.ask("clear_kind", kind="variant")
    heard.ask("clear_all")


WRITING = sorted(entry["name"] for entry in manifest.load() if entry["access"] == "write")
PEEKING = {
    "vault.leak/Mine": {
        "args": {"probe": "environment value", "site": "result"},
        "play": [["path_equals", "result.value", "guess-it-now"], ["contains", "result", "Zq7k"]],
    },
    "vault.leak/Odd": {"extends": "vault.leak/P2_text", "tags": ["shoq"], "args": {"sight": 1}},
    "vault.login/Mine": {
        "extends": "vault.login/Right",
        "play": [["path_equals", "args.pin", "guess-it"], ["compare", "result.said", "<", "Z"]],
    },
    "vault.login/Pin": {"args": {"pin": "guess-it-now", "key": "guess-it-now"}},
    "vault.echo/Mine": {"extends": "vault.login/Right"},
    "vault.mine/Whole": {"extends": "vault.login/Right", "args": {"note": "plain-note"}},
}


PROBED = """
value = list(PROBES.values())[{probe}]()
said = f"plain-before {{words(value)}} plain-after"
sites[{site!r}](said, value)
{{"neighbour": "plain-result", "value": value if {site!r} == "result" else None}}
"""
PUTS_OUT = ("result", "stdout", "stderr", "exception", "log", "warning", "display", "json", "image")
CODES = {
    "config": "plain-config",
    "db_password": "",
    "settings.signer.get_secret_value()": "",
    "import vault_settings\nvault_settings.connect()": "plain-broker",
    "[vault, notes, login]": "plain-note",
    "vars(vault)": "plain-shelf",
    "class Client: api_token = 'made-here-' + '4' * 9\nprint('plain', Client.api_token)": "plain",
    "raise KeyError(TOKEN)": "",
    "def inner(key):\n    raise ValueError(ODD)\ninner(TOKEN)": "inner",
    "import threading\nt = threading.Thread(target=print, args=['plain', TOKEN])\n"
    "t.start(); t.join()": "plain",
    "globals()['plain_' + TOKEN] = 1": "plain_",
}
"""What an agent sends, and what stands beside the secrets in its answer."""


def evaluate(heard):
    """Send code that says each secret in every way that output has."""
    if not heard.inspects:
        with pytest.raises(Exception, match="Unknown tool: eval_code"):
            heard.ask("eval_code", code="TOKEN")
        return
    for probe in range(PROBES):
        for site in PUTS_OUT:
            heard.ask("eval_code", code=PROBED.format(probe=probe, site=site))
    for code in CODES:
        heard.ask("eval_code", code=code, scope="user")


WORKING = """
import json, os, sys
held = json.load(open({place!r}))
api_token, db_password = held["token"], held["odd"]
print("plain-log", api_token)
print(db_password.encode().hex(), file=sys.stderr)
{end}
"""


def work(heard):
    """Have workers put out secrets of a file that they read, and end with one."""
    if not heard.inspects:
        with pytest.raises(Exception, match="Unknown tool: register_worker"):
            heard.ask("register_worker", code="TOKEN")
        return
    place = heard.go.with_name("held.json")
    place.write_text(json.dumps({"token": TOKEN, "odd": ODD}))
    for end in ("raise KeyError(api_token)", "def kept(): pass", "x x"):
        heard.ask("register_worker", code=WORKING.format(place=str(place), end=end))
    heard.ask("list_workers")
    for worker in heard.replies["list_workers {}"]["result"]["items"]:
        heard.ask("eval_code", code="print(api_token)", kernel=worker["kernel"])
        heard.ask("stop_worker", worker=worker["worker"])
    heard.ask("stop_worker", worker="Zq7kW2m")


def call_functions(heard):
    for line in heard.ask("list_functions")["result"]["items"]:
        call = {"function": line["id"]}
        heard.ask("run_function", **call)
        heard.ask("run_function", **call, args={"word": "Zq7kW2m"})
        heard.ask("run_function", **call, args={"word": 1, "Zq7kW2m": 2})
    heard.ask("run_function", function="vault.Zq7kW2m")
    for tool in ("vault__tell", "vault__tell_doc", "vault__token", "vault__fail"):
        assert heard.agent.call(tool).structured_content["ok"]


def review(heard):
    """Let the person remark in secrets on a page and a variant full of them, and answer each."""
    heard.kernel.cell(REMARKING)
    heard.ask("list_pages", **({"private": True} if heard.inspects else {}))
    heard.ask("list_annotations", status="submitted")
    for id in heard.items("list_annotations", limit=3):
        target = heard.ask("get_annotation", annotation_id=id)["result"]["annotation"]["target"]
        for words in ("Done.", TOKEN[:7]):
            heard.ask("create_annotation", target=target, content=words, parent_id=id)
        for op in ("resolve_annotation", "reopen_annotation", "delete_annotation"):
            heard.ask(op, annotation_id=id)
        heard.ask("edit_annotation", annotation_id=id, content="plain-edit")
    for target in ("doc:secrets.md#None", f"doc:secrets.md#Key {TOKEN[:7]}", "doc:secret.md"):
        heard.ask("create_annotation", target=target, content="plain", quote="plain")
    made = heard.ask("create_annotation", target="doc:secrets.md", content="Own.", quote=TOKEN[:7])
    heard.ask("submit_review", target="doc:secrets.md")
    heard.ask("submit_review", target="doc:secrets.md", annotation_ids=[made["result"]["id"]])
    for one in heard.ask("list_reviews")["result"]["items"]:
        heard.ask("get_review", review_id=one["id"])
        heard.ask("complete_review", review_id=one["id"])


REMARKING = """
def remark():
    from pathlib import Path
    from repl_pair.runtime.project.database import project
    from repl_pair.runtime.review.annotations import create_annotation
    from repl_pair.runtime.review.reviews import submit_review
    from repl_pair.wire import View
    lines = [f"# Key {TOKEN}", f"plain {ODD}", "## More", fresh_url]
    Path("secrets.md").write_text("\\n\\n".join(lines))
    said = [TOKEN, ODD, fresh_url, db_password, *encoded(TOKEN)["base64"]]
    for at in (f"doc:secrets.md#Key {TOKEN}", "doc:secrets.md#More", "variant:vault.echo/Keyed"):
        for n, one in enumerate(said):
            create_annotation(
                project(), View(), target=at, content=f"plain-remark {one} {n}", quote=one
            )
        submit_review(project(), View(), at)
    create_annotation(project(), View(), target="doc:secrets.md", content=f"plain {TOKEN}")
remark()
"""


def run_in_background(heard):
    for call, args in (
        ("run_variant", {"variant_id": "vault.leak/P2_text", "detail": "full"}),
        ("run_variant", {"variant_id": "vault.Zq7kW2m"}),
        ("vault.tell", {}),
        ("vault.fail", {}),
        ("vault.Zq7kW2m", {}),
        ("list_variants", {"limit": 7}),
        ("list_variants", {TOKEN[:7]: "Zq7kW2m"}),
    ):
        for op in ("trigger_void", "trigger_enqueue"):
            started = heard.ask(op, call=call, args=args)
            if started["ok"]:
                heard.ask("read_run", run=started["result"]["run"], wait_s=0)
                heard.ask("read_run", run=started["result"]["run"])
                heard.ask("cancel_run", run=started["result"]["run"])
    heard.ask("read_run", run="Zq7kW2m")
    if heard.inspects:
        for on in ({"cells": True}, {"changed": "vault/Zq7kW2m"}, {"every_s": 60}):
            heard.ask("register_trigger", call="vault.tell", on=on)
        heard.kernel.run("raise ValueError(TOKEN)")
        heard.until(lambda: heard.agent.call("list_triggers").structured_content, "it is listed")
        for line in heard.ask("list_triggers")["result"]["items"]:
            heard.ask("unregister_trigger", trigger=line["trigger"])
        heard.ask("unregister_trigger", trigger="Zq7kW2m")


def come_and_go(heard):
    heard.ask("detach_kernel")
    heard.ask("run_op", op="detach_kernel")
    heard.ask("list_stories")


SESSION_OPS = [entry["name"] for entry in manifest.load() if entry["toolset"] == "session"]
REALM_OPS = [entry["name"] for entry in manifest.load() if entry["toolset"] == "realm"]
BACKGROUND_OPS = manifest.of_toolset(manifest.MANAGE)
REVIEWING = [op["name"] for op in manifest.load() if op["toolset"] == "review"]
DRIVERS = {
    "describe_op": run_others,
    "read_op": run_others,
    "run_op": run_others,
    **dict.fromkeys(INTERNAL, nothing),
    "read_approval": read_answers,
    "list_kernels": use_kernels,
    "use_kernel": use_kernels,
    "kernel_status": use_kernels,
    "list_stories": list_all("list_stories"),
    "list_tags": list_all("list_tags"),
    "list_modes": list_all("list_modes"),
    "list_variants": list_variants,
    "get_story": get_all("get_story", "story_id", "vault.leak", "vault.login", "vault.long"),
    "get_variant": get_all("get_variant", "variant_id"),
    "run_variant": run_all,
    "run_variants": sweep_all,
    "read_assertions": get_all("read_assertions", "variant_id"),
    "read_failures": read_verdicts,
    "tests_passing": judge,
    "snapshot_identity": identify,
    "get_docs_markdown": document,
    "get_story_instructions": document,
    "share_variant": share,
    "read_more": read_on,
    "read_changes": follow_changes,
    "list_variables": look_at_variables,
    "get_value": get_values,
    **dict.fromkeys(("read_stacks", "read_hot_lines"), look_at_stacks),
    "read_traceback": look_at_cells,
    "read_history": look_at_cells,
    "describe_object": get_values,
    **dict.fromkeys(WRITING, write_beside),
    "list_assertions": list_assertions,
    "list_decorators": read_kinds,
    "list_workspaces": read_kinds,
    "list_panels": read_kinds,
    "list_substrates": read_kinds,
    "get_decorator": read_kinds,
    "get_workspace": read_kinds,
    "explain_variant": explain_all,
    "preview_variant": preview_all,
    "variant_to_data": give_data,
    "workspace_to_data": give_data,
    **dict.fromkeys(("watch_variant", "changed_variants", "reset_variant"), follow_runs),
    "record_as_variant": record_secrets,
    "eval_code": evaluate,
    **dict.fromkeys(("list_surfaces", "read_member"), read_surfaces),
    **dict.fromkeys(("list_functions", "run_function"), call_functions),
    **dict.fromkeys(SESSION_OPS, work_in_sessions),
    **dict.fromkeys(REALM_OPS, agree_with_repos),
    **dict.fromkeys(REVIEWING, review),
    **dict.fromkeys(BACKGROUND_OPS, run_in_background),
    **dict.fromkeys(("register_worker", "stop_worker", "list_workers"), work),
    "detach_kernel": come_and_go,
}
"""What is asked of each op; the list of variants comes first."""


@pytest.fixture(scope="module")
def kernel(start_kernel):
    """A person's kernel with a secret wherever there can be one."""
    return start_kernel(SETUP, **ENVIRONMENT)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("auto", ("inspect", "write", "eval")), id="opened"),
        pytest.param(("legacy", ()), id="legacy", marks=pytest.mark.full),
    ],
)
def heard(request, kernel, connect, until, tmp_path_factory):
    """One agent that has asked everything, its server ended."""
    mode, allow = request.param
    options = ["--allow", ",".join(allow)] if allow else []
    with connect("--kernel", kernel.path, *options, "--toolsets", "values", mode=mode) as agent:
        heard = Told(agent, kernel, bool(allow))
        heard.until, heard.go = until, tmp_path_factory.mktemp("go") / "go"
        heard.tools = agent.tools()
        list_variants(heard)
        for drive in dict.fromkeys(DRIVERS.values()):
            drive(heard)
        use_prompts(heard)
    return heard


# --- what must be shown


def test_every_op_of_the_manifest_is_asked():
    assert set(DRIVERS) == {entry["name"] for entry in manifest.load()}


def test_no_byte_of_a_canary_crosses(heard):
    assert leaks_of(heard.agent.record) == {}


def test_slices_hold_no_canary_when_they_are_put_together(heard):
    assert {name for name, _ in heard.pages} == {"text", "rows", "keys"}
    for _, pages in heard.pages:
        assert REDACTED in pages
        assert leaks_in(pages) == set()


def test_the_log_of_a_worker_is_shown_without_the_secrets_in_it(heard):
    if heard.inspects:
        (worker,) = heard.replies["list_workers {}"]["result"]["items"]
        assert worker["log"] == f"plain-log {REDACTED}\n{REDACTED}\n"
        asked = {n: r for n, r in heard.replies.items() if n.startswith("register_worker")}
        (failed,) = [r["error"] for n, r in asked.items() if "raise KeyError" in n]
        assert failed["detail"]["log"].endswith(f"KeyError: '{REDACTED}'\n")


def test_a_contract_is_answered_without_the_secrets_in_it(heard):
    asked = 'contract_get {"domain": "vault", "contract": "login"}'
    found = heard.replies[asked]["result"]
    assert found["value"]["plain"] == f"plain-value {REDACTED}"
    assert found["value"]["password"] == REDACTED
    assert found["schema"] == {"title": REDACTED}


def test_the_tools_that_can_be_listed_are_all_listed(heard):
    opened = Policy(
        allow=frozenset({"inspect", "write", "eval"} if heard.inspects else ()),
        toolsets=frozenset({"values"}),
    )
    ops = [t.name for t in heard.tools if not t.name.startswith("vault__")]
    assert ops == [d["name"] for d in manifest.load() if opened.lists(d)]


def test_each_probe_at_each_place_is_answered_and_states_that_it_was_redacted(heard):
    silent = []
    for probe in range(PROBES):
        for site in ("result", "text", "name", "stdout", "exception", "finds", "breaks", "equals"):
            reply = heard.replies[f'run_variant {{"variant_id": "vault.leak/P{probe}_{site}"}}']
            text = json.dumps(reply)
            # A whole environment, which is the first probe, may be cut before a secret in it.
            is_cut = probe == 0 and (site == "name" or "$elided" in text)
            hidden = is_cut or (reply.get("redacted") and REDACTED in text)
            if not (reply["ok"] and hidden and "plain" in text):
                silent.append((probe, site, text[:600]))
    assert silent == []


def test_where_the_kernel_stands_is_shown_without_the_secrets_in_its_names(heard):
    shown = next(
        reply["result"]
        for call, reply in heard.replies.items()
        if call.startswith("read_stacks") and reply["ok"] and reply["result"]["cell"]
    )
    name = f"plain-thread {REDACTED} {REDACTED}"
    (thread,) = (thread for thread in shown["threads"] if thread["name"] == name)
    assert f"plain_{REDACTED}" in [frame["function"] for frame in thread["frames"]]
    assert f"plain-task {REDACTED}" in [task["name"] for task in shown["tasks"]]


def test_code_is_answered_with_what_stands_beside_the_secrets_in_every_output(heard):
    # Those of workers name a kernel.
    own = {n: r for n, r in heard.replies.items() if '"kernel": ' not in n}
    asked = {n: reply for n, reply in own.items() if n.startswith("eval_code ")}
    assert len(asked) == (PROBES * len(PUTS_OUT) + len(CODES)) * heard.inspects
    silent = [n for n, r in asked.items() if not (r["ok"] and r.get("redacted"))]
    # A whole environment may be cut before a secret in it.
    assert [n for n in silent if "[0]()" not in n] == []
    for code, plain in CODES.items() if heard.inspects else ():
        found = asked[f"eval_code {json.dumps({'code': code, 'scope': 'user'})}"]["result"]
        shown = json.dumps({slot: found.get(slot) for slot in found if slot != "redacted"})
        assert REDACTED in shown, code
        assert plain in shown, code


def test_what_stands_beside_a_secret_is_reported(heard):
    def result(name):
        return heard.replies[f'run_variant {{"variant_id": "vault.leak/{name}"}}']["result"]

    assert result("P1_result")["result"]["value"] == REDACTED
    assert result("P1_stdout")["stdout"] == f"plain-before {REDACTED} plain-after\n"
    assert result("P1_warning")["warnings"] == [f"UserWarning: plain-before {REDACTED} plain-after"]
    assert result("P1_exception")["reason"] == (
        f"RuntimeError: plain-before {REDACTED} plain-after"
    )
    assert result("P5_result")["result"]["value"] == {
        "plain": "plain-config",
        "password": REDACTED,
        "api_key": REDACTED,
    }
    assert result("P3_text")["result"]["value"] == (
        f"postgresql://ann:{REDACTED}@db.example.com/shop"
    )
    assert result("P1_finds")["assertions"] == [
        {
            "assertion": "finds",
            "payload": ["environment value"],
            "passed": False,
            "expected": REDACTED,
            "actual": [REDACTED],
            "reason": f"plain {REDACTED}",
            "step": 0,
        }
    ]
    whole = heard.replies['run_variant {"variant_id": "vault.login/Right"}']["result"]
    assert (whole["status"], whole["total"]) == ("pass", 1)
    assert whole["result"] == {
        "user": "plain-user",
        "said": f"{REDACTED}:{REDACTED}",
        "note": "",
        "key": REDACTED,
    }
    assert whole["effective_args"] == {"user": "plain-user", "pin": REDACTED, "key": REDACTED}


def test_docs_tags_and_modes_are_reported_without_their_secrets(heard):
    story = heard.replies['get_story {"story_id": "vault.leak"}']["result"]
    assert story["doc"].startswith(f"plain-doc {REDACTED} plain-doc")
    documented = heard.replies['get_docs_markdown {"story_id": "vault.leak", "limit": 5}']["result"]
    assert f"plain-doc {REDACTED} plain-doc" in documented["markdown"]
    assert f"plain-tag {REDACTED} plain-tag" in documented["markdown"]
    tags = {tag["id"]: tag for tag in heard.replies["list_tags {}"]["result"]["items"]}
    assert tags["shop"]["doc"] == f"plain-tag {REDACTED} plain-tag"
    modes = {mode["id"]: mode for mode in heard.replies["list_modes {}"]["result"]["items"]}
    assert modes["plain"]["args"] == {"note": f"plain-mode {REDACTED}"}
    assert modes["keyed"]["args"] == {"options": {"password": REDACTED, "plain": "plain-mode"}}


def test_bodies_are_reported_without_their_secrets(heard):
    def result(tool, slot, id):
        return heard.replies[f"{tool} {json.dumps({slot: id})}"]["result"]

    door = result("get_decorator", "decorator_id", "vault/door")
    assert door["init"] == [["note", {"password": REDACTED, "plain": "plain-event"}]]
    assert door["patch"] == {"login.api_key": REDACTED, "plain": f"plain-patch {REDACTED}"}
    keyed = result("get_variant", "variant_id", "vault.echo/Keyed")
    data = result("variant_to_data", "variant_id", "vault.echo/Keyed")["body"]
    for body in (keyed, data):
        assert body["args"] == {"note": "plain-note", "password": REDACTED}
        assert body["events"] == [["note", {"api_key": REDACTED, "plain": f"plain {REDACTED}"}]]
        assert body["decorators"] == [["vault/mail", {"response": {"password": REDACTED}}]]
        assert body["plays"][0]["steps"] == [["set", "password", REDACTED]]
    heir = result("explain_variant", "variant_id", "vault.login/Heir")
    assert {line["path"]: line["value"] for line in heir["args"]} == {
        "user": "plain-heir",
        "pin": REDACTED,
        "key": REDACTED,
    }
    assert result("preview_variant", "variant_id", "vault.echo/Keyed")["rendered"]


def test_prompts_and_their_completion_are_without_secrets(heard):
    wrote = heard.agent.record.out.decode() + heard.agent.record.err.decode()
    assert GIVEN not in wrote
    texts = "\n".join(heard.prompts)
    assert f"the function vault.{REDACTED}" in texts
    assert f"There is no prompt '{REDACTED}'" in texts
    assert "Find out why variants with shop fail" in texts
    assert "vault.leak/" in heard.prompts[0]
    assert heard.completed["triage-failing-variants", "t/Zq7kW2m"] == []
    assert "shop" in heard.completed["triage-failing-variants", ""]
    assert "vault.tell" in heard.completed["register-function", "vault."]


def test_remarks_are_reported_without_their_secrets(heard):
    listed = heard.replies['list_annotations {"status": "submitted"}']["result"]["items"]
    contents = {one["content"] for one in listed if one["author"] == "human"}
    assert f"plain-remark {REDACTED} 0" in contents
    assert {one["target"] for one in listed} >= {f"doc:secrets.md#Key {REDACTED}"}
    pages = next(r for asked, r in heard.replies.items() if asked.startswith("list_pages"))
    titles = {page["title"] for page in pages["result"]["items"]}
    assert f"Key {REDACTED}" in titles
    refused = heard.replies[
        'create_annotation {"target": "doc:secrets.md#None", "content": "plain", "quote": "plain"}'
    ]
    assert f"It has 'Key {REDACTED}', 'More'." in refused["error"]["message"]


def test_progress_reports_the_cell_and_nothing_in_it(heard):
    assert heard.progress
    assert all(re.search(r"In\[\d+\]", message) for _, _, message in heard.progress)


def test_values_are_reported_where_inspect_is_open_and_only_there(heard):
    if not heard.inspects:
        assert not [asked for asked in heard.replies if asked.startswith("get_value")]
        assert "value" not in heard.replies["list_variables {}"]["result"]["items"][0]
        return
    for path, plain in VALUES.items():
        reply = heard.replies[f"get_value {json.dumps({'path': path})}"]
        assert reply["ok"], (path, reply)
        assert plain in json.dumps(reply["result"]), path
        told_of = path not in ("config.plain",)
        assert bool(reply.get("redacted")) == (REDACTED in json.dumps(reply)) == told_of, path


def test_the_canaries_would_be_seen(kernel):
    """The control: without the doors, every record holds one, and the detector finds it."""
    clean = kernel.cell(CONTROL % json.dumps(ALL_FORMS))
    assert json.loads(clean.splitlines()[-1]) == []
    seen = kernel.cell(
        "print(json.dumps({name: words(probe()) for name, probe in PROBES.items()}))"
    )
    for name, text in json.loads(seen).items():
        assert leaks_in(text), name
    assert Counter(map(type, map(leaks_in, CANARIES.values())))[set] == len(CANARIES)


# --- attacks

CLOSED = [
    "get_ipython.__self__.kernel.session.key",
    "get_ipython",
    "In",
    "In[1]",
    "Out",
    "Out[1]",
    "_",
    "__",
    "_1",
    "_i1",
    "_ih",
    "_oh",
    "_dh",
    "__builtins__",
    "__name__",
    "exit",
    "repl_pair",
    "repl_pair.registry",
    "display",
    "globals",
    "PROBES.__class__",
    "vault._password",
    "vault.prop",
    "vault.open",
    "vault.__dict__",
    'vault["__dict__"]',
    "vault.__class__.__mro__",
    "vault.anything",
    "settings.signer.get_secret_value",
    "settings.signer._secret_value",
    'settings["signer"]["_secret_value"]',
    "settings.__pydantic_fields__",
    "settings.model_fields",
    "config.__class__",
    "config.keys",
    "config.get",
    "notes[99]",
    "notes[-99]",
    "notes[999999999999999999999999999]",
    "notes.append",
    "notes[0].__class__",
    "notes[0].upper",
    "notes[0][0]",
    "nothing_of_this_name",
    "config.nothing_of_this_name",
]
OF_CODE = [
    "f.__globals__",
    "f.__code__.co_consts",
    "f",
    "Settings.model_fields",
    "Vault",
    "os.environ",
    "os.environ.PAYMENTS_API_TOKEN",
    'os["environ"]',
    "sys.modules",
    'sys.modules["os"].environ',
]


@pytest.fixture(scope="module")
def inspector(kernel, connect):
    with connect("--kernel", kernel.path, "--allow", "inspect") as agent:
        yield agent
    assert leaks_of(agent.record) == {}


@pytest.mark.parametrize("path", CLOSED)
def test_what_is_closed_reads_like_what_does_not_exist(inspector, path):
    error = inspector.ask("get_value", path=path)["error"]
    assert error["code"] == "not_found"
    form = r"There is no (variable )?('[^']*'|-?\d+)( in [\w.\[\]]+)?\.( Nearest: [\w, ]+\.)?"
    assert re.fullmatch(form, error["message"]), error
    assert set(error) == {"code", "message"}


@pytest.mark.parametrize("path", OF_CODE)
def test_whatever_a_path_reads_of_code_the_answer_names_what_is_described_alone(inspector, path):
    root = re.match(r"\w+", path)[0]
    assert inspector.ask("describe_object", path=root)["ok"]
    error = inspector.ask("get_value", path=path)["error"]
    assert error["code"] == "not_found"
    form = rf"{root} is a (function|class|module), and get_value reads data. describe_object .*"
    assert re.fullmatch(form, error["message"]), error
    assert error == inspector.ask("get_value", path=f"{root}.nothing_of_this_name")["error"]


@pytest.mark.parametrize(
    ("closed", "unknown"),
    [
        ("f.__globals__", "f.nothing"),
        ("vault._password", "vault._nothing"),
        ("vault.prop", "vault.qqqq"),
        ("config.__class__", "config.__nothing__"),
        ("repl_pair", "xxxx_yyyy"),
    ],
)
def test_closed_and_unknown_differ_in_the_name_alone(inspector, closed, unknown):
    def told_of(path):
        reply = inspector.ask("get_value", path=path)
        message = re.sub(r" Nearest: .*", "", reply["error"]["message"])
        return message.replace(repr(path.rpartition(".")[2]), "NAME"), reply.get("next_steps")

    assert told_of(closed) == told_of(unknown)


def test_nothing_closed_is_suggested(inspector):
    for path in ("vault._passwor", "vault.pro", "O", "I", "settings.signer._secret", "repl_pai"):
        message = inspector.ask("get_value", path=path)["error"]["message"]
        near = message.partition("Nearest: ")[2].rstrip(".").split(", ")
        closed = {"prop", "_password", "Out", "In", "f", "repl_pair", "_secret_value", "open"}
        assert not closed & set(near)


def test_looking_runs_none_of_the_persons_code(inspector, kernel):
    kernel.cell("Vault.runs = 0")
    for path in ("vault.prop", "vault.nothing", "vault", "vault.shelf"):
        inspector.ask("get_value", path=path)
    inspector.ask("list_variables", values=True)
    assert kernel.cell("print(Vault.runs)") == "0\n"


@pytest.mark.parametrize(
    "path",
    [
        ["vault", "_password"],
        ["config"],
        [],
        {"path": "config"},
        None,
        7,
        "",
        ".",
        "config.",
        "config..plain",
        "config[",
        'config["plain',
        "notes[" + "9" * 5000 + "]",
        "a" * 10_000,
        "config" + ".plain" * 2000,
        "config" + "[0]" * 4000,
        "notes[0]\n.upper",
        "config\x00",
    ],
    ids=lambda path: repr(path)[:24],
)
def test_what_is_no_path_is_refused_shortly(inspector, path):
    result = inspector.call("get_value", path=path)
    assert result.is_error
    assert len(result.content[0].text) < 4500
    if result.structured_content:
        code = result.structured_content["error"]["code"]
        assert code in ("bad_arguments", "not_found"), result.structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_with_inspect_closed_its_tool_and_its_argument_do_not_exist(kernel, connect, mode):
    with connect("--kernel", kernel.path, "--toolsets", "values", mode=mode) as agent:
        errors = []
        for name in ("get_value", "got_values"):
            with pytest.raises(Exception, match="Unknown tool") as caught:
                agent.call(name, path="config")
            error = caught.value.error
            assert "get_value" not in error.message.partition("Nearest")[2]
            errors.append((error.code, re.sub(r" Nearest: .*", "", error.message), error.data))
        assert errors[0] == (errors[1][0], errors[1][1].replace("got_values", "get_value"), None)
        texts = []
        for name in ("values", "walues"):
            result = agent.call("list_variables", **{name: True})
            assert result.is_error
            texts.append(result.content[0].text)
        assert texts[0] == texts[1].replace("walues", "values")
        assert "values" not in json.dumps(tool_of(agent, "list_variables").input_schema)
    assert leaks_of(agent.record) == {}


def tool_of(agent, name):
    return next(tool for tool in agent.tools() if tool.name == name)


def test_with_ask_nothing_is_reported_before_the_person_has_answered(kernel, connect):
    options = ("--kernel", kernel.path, "--ask", "inspect", "--ask-wait", 0)
    kernel.cell("Vault.runs = 0")
    with connect(*options) as agent:
        replies = [
            agent.ask("get_value", path="config.plain"),
            agent.ask("get_value", path="vault.prop"),
            agent.ask("list_variables", values=True),
        ]
        listed = agent.ask("list_variables", limit=200)
    assert [reply["error"]["code"] for reply in replies] == ["approval_pending"] * 3
    assert "plain-config" not in json.dumps(replies)
    assert {"id": "db_password", "type": "str"} in listed["result"]["items"]
    assert kernel.cell("print(Vault.runs)") == "0\n"
    assert leaks_of(agent.record) == {}


@pytest.mark.parametrize(
    "overrides",
    [{"pin": SENSITIVE}, {"pin": "guess-it-now"}, {"key": "guess-it-now"}, {"pin": None}],
    ids=["right", "wrong", "model", "null"],
)
def test_an_agent_does_not_override_what_is_sensitive(inspector, overrides):
    asked = {"variant_id": "vault.login/Right", "overrides": overrides}
    ran = inspector.ask("run_variant", **asked)["result"]
    refused = inspector.ask("snapshot_identity", **asked)["error"]
    reason = f"{next(iter(overrides))} holds a secret: only the person overrides it."
    assert (ran["status"], ran["reason"], ran["total"]) == ("cannot_run", reason, 0)
    assert (ran["assertions"], ran["result"]) == ([], None)
    assert refused == {"code": "cannot_run", "message": reason}


@pytest.mark.parametrize(
    "send",
    [
        {"note": "Agent5Says9This2Text"},
        {"password": "Agent7Sends3This1Word"},
        {"options": {"api_key": "Agent2Hides8This6Key", "note": "x"}},
        {"note": "see https://ann:Agent4Url6Word9@files.example.com/x"},
    ],
    ids=["plain", "as a password", "under a telling key", "in a URL"],
)
def test_what_an_agent_sends_never_becomes_a_needle(inspector, kernel, send):
    word = re.search(r"Agent\w+", json.dumps(send))[0]
    inspector.ask("run_variant", variant_id="vault.echo/Plain", overrides=send)
    inspector.ask("read_failures")
    inspector.ask("read_assertions", variant_id="vault.echo/Plain")
    kernel.cell(f"heard = 'plain {word}'")
    assert inspector.ask("get_value", path="heard")["result"]["value"] == f"plain {word}"
    again = inspector.ask("run_variant", variant_id="vault.echo/Plain", overrides={"note": word})
    assert again["result"]["result"]["again"] == f"plain {word} "
    missed = inspector.ask("get_variant", variant_id=f"vault.echo/{word}")
    assert word in missed["error"]["message"]


NAMED_AS_SLOTS = """
import repl_pair

passwords = ["variant_id", "assertions", "content_hash", "cannot_run", "not_found", "next_steps"]

@repl_pair.story("slots.names")
def names(size: int = 1):
    print("content_hash")
    return {"size": "the content_hash", "row": [{"next_steps": "cannot_run"}]}

repl_pair.variant("slots.names/One")
repl_pair.variant("slots.names/Two", args={"size": "many"})
"""


def test_slots_and_words_of_replies_stay_where_a_secret_is_the_same_word(start_own_kernel, connect):
    kernel = start_own_kernel(NAMED_AS_SLOTS)
    with connect("--kernel", kernel.path) as agent:
        ran = agent.ask("run_variant", variant_id="slots.names/One")["result"]
        kept_from = agent.ask("run_variant", variant_id="slots.names/Two")["result"]
        listed = agent.ask("list_variants")["result"]["items"]
        refused = agent.ask("get_variant", variant_id="slots.names/Three")
    assert ran["assertions"] == []
    assert ran["identity"].keys() >= {"variant_id", "content_hash"}
    assert ran["stdout"] == f"{REDACTED}\n"
    assert ran["result"] == {"size": f"the {REDACTED}", "row": [{REDACTED: REDACTED}]}
    assert kept_from["status"] == listed[1]["status"] == "cannot_run"
    assert refused["error"]["code"] == "not_found"
    assert refused["next_steps"]
