"""The second cell of the person: components that bring every known secret to every place.

`__main__` holds VALUES, what gives each secret, CANARY, those for the bodies of variants, and
STANDING, the variables whose secrets are hidden where they stand.
"""

import base64
import html
import json
import logging
import queue
import sys
import threading
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, quote_plus

import pydantic
from IPython.display import display

import repl_pair as rp
from __main__ import CANARY, STANDING, VALUES, Login
from repl_pair import Sensitive, check, step
from repl_pair.errors import RequestError
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.store import PERSON_STORE

# --- what a component does with a secret


def written(name: str, held: dict = CANARY) -> str:
    """Return a canary of the bodies of variants, which stands in no variable of the person's."""
    return held[name]


def base64_from(text: str, before: int, alphabet: Any = base64.b64encode) -> str:
    return alphabet(b"?" * before + text.encode() + b"~").decode()


FORMS = {
    "plain": str,
    "words": lambda text: f"plain-before {text} plain-after",
    "quoted": lambda text: f"'{text}', \"{text}\"",
    "assigned": lambda text: f"value={text}; more=1",
    "repr": repr,
    "repr_repr": lambda text: repr(repr(text)),
    "ascii": ascii,
    "bytes": lambda text: repr(text.encode()),
    "json": json.dumps,
    "json_json": lambda text: json.dumps({"text": json.dumps([text])}),
    "html": html.escape,
    "hex": lambda text: text.encode().hex(),
    "hex_upper": lambda text: text.encode().hex().upper(),
    "base64_0": lambda text: base64_from(text, 0),
    "base64_1": lambda text: base64_from(text, 1),
    "base64_2": lambda text: base64_from(text, 2),
    "base64_url": lambda text: base64_from(text, 1, base64.urlsafe_b64encode),
    "percent": quote,
    "percent_all": lambda text: quote(text, safe=""),
    "plus": quote_plus,
    "url": lambda text: f"https://ann:{quote(text, safe='')}@db.example.com/x?q={quote(text)}",
    "long": lambda text: "".join(f"{n} {'.' * (n % 13)} {text}\n" for n in range(400)),
    "late": lambda text: "plain " * 400 + text,
    "exception": lambda text: repr(ValueError(text)),
    "row": lambda text: f"|plain|{text}|\n",
}


class Told:
    """An object whose repr quotes a secret."""

    def __init__(self, text: str) -> None:
        self.inner = {"text": [text]}
        self.shown = text

    def __repr__(self) -> str:
        return f"Told({self.shown})"


def fail(text: str) -> None:
    raise RuntimeError(text)


def fail_because(text: str) -> None:
    try:
        fail(text)
    except RuntimeError as error:
        error.add_note(text)
        raise KeyError(text) from error


def show(data: dict) -> None:
    display(data | {"text/plain": "plain"}, raw=True)


def frame_of(text: str) -> Any:
    import pandas

    return pandas.DataFrame({"plain": [1], "text": [text], text: [2]})


GIVEN = {
    "result": lambda text: {"neighbour": "plain", "value": text},
    "text": lambda text: text,
    "key": lambda text: {"neighbour": "plain", text: 1},
    "nested": lambda text: [[{"a": [{"b": (text, 1)}]}]],
    "set": lambda text: {text, "plain"},
    "object": Told,
    "error": RuntimeError,
    "bytes": lambda text: {"value": text.encode()},
    "frame": frame_of,
    "many": lambda text: [{"n": n, "text": f"{n} {text}"} for n in range(300)],
    "keys": lambda text: {f"{n} {text}": n for n in range(300)},
}
DONE = {
    "stdout": print,
    "stderr": lambda text: print(text, file=sys.stderr),
    "split": lambda text: [sys.stdout.write(part) for part in (text[:7], text[7:], "\n")],
    "log": lambda text: logging.getLogger("attack").warning(text),
    "log_args": lambda text: logging.getLogger("attack").error("plain %s", text),
    "warning": warnings.warn,
    "exception": fail,
    "cause": fail_because,
    "html": lambda text: show({"text/html": f"<p>{text}</p>"}),
    "markdown": lambda text: show({"text/markdown": f"*{text}*"}),
    "latex": lambda text: show({"text/latex": f"$x$ {text}"}),
    "data": lambda text: show({"application/json": {"text": [text]}}),
    "image": lambda text: show({"image/png": base64.b64encode(text.encode()).decode()}),
    "shown": lambda text: display(Told(text)),
    "shown_frame": lambda text: display(frame_of(text)),
    "effect": lambda text: rp.effect("attack/mail", text=text, inner=[{"text": text}]),
    "exit": sys.exit,
}
Form = Literal[tuple(FORMS)]
Site = Literal[(*GIVEN, *DONE)]
Known = Literal[tuple(VALUES)]


def bring(text: str, site: str, form: str) -> Any:
    """Bring a text in a form to a place that may be shown."""
    text = FORMS[form](text)
    if site in GIVEN:
        return GIVEN[site](text)
    DONE[site](text)
    return "plain"


# --- what the app publishes, and keeps


def count_text(text: str) -> int:
    return len(text)


def bring_known(place: Known = "variable", site: Site = "text", form: Form = "plain") -> Any:
    """Bring a secret to a place."""
    return bring(VALUES[place](), site, form)


def report_known(call: rp.Call, place: Known = "variable", form: Form = "plain") -> Any:
    call.progress(FORMS[form](VALUES[place]()))
    raise RuntimeError(FORMS[form](VALUES[place]()))


def publish() -> None:
    """Publish one member and one function to agents, and keep others from them in each way."""
    surface, member, function = (
        f"k{written(f'kept_{kind}')}" for kind in ("surface", "member", "function")
    )
    value = {written("kept_key"): written("kept_value")}
    kept = rp.surface(surface, tier=written("kept_tier"), doc=written("kept_doc"))
    kept.cell(member, dict, default=value)
    kept.collection(f"{member}_rows", dict[str, dict])[written("kept_key")] = value
    kept.stream(f"{member}_log").push(value)
    kept.event(f"{member}_done").emit(value)
    shown = rp.surface("attack_app", doc="plain")
    secret = {"plain": 1, "password": written("member_secret"), "more": VALUES["variable"]()}
    shown.cell("shown", dict, default=secret, expose=True)
    shown.cell(member, dict, default=value)
    shown.cell(f"_{member}", dict, default=value, expose=True)
    rows = shown.collection("rows", dict[str, dict], expose=True)
    rows.update({"plain": secret, VALUES["variable"](): secret, "quoted": {"a": [secret]}})
    log = shown.stream("log", str, expose=True)
    for place in VALUES:
        log.push(f"plain {VALUES[place]()} plain")
    shown.event("done", expose=True).emit(secret)
    rp.project(f"k{written('kept_projection')}", shown, expose=False, shown="shown", rows="rows")
    rp.project(
        "attack_view",
        shown,
        rows="rows",
        opened="shown",
        failing=rp.derive(lambda held: fail(held["more"]), "shown"),
        drawn=rp.derive(lambda rows: [Told(key) for key in rows], "rows"),
        tail=rp.mapped("log", lambda text: {text: [text]}),
        failed=rp.mapped("log", fail),
    )
    rp.function("attack_app.count", expose=True)(count_text)
    rp.function("attack_app.bring", expose=True)(bring_known)
    rp.function("attack_app.aside", expose=True, thread_safe=True, mutates=False)(report_known)
    for id in (f"attack_app.{function}", f"attack_app._{function}", f"{surface}.{function}"):
        rp.function(id, expose="._" in id, tier=written("kept_tier"))(count_text)


publish()

# --- stories


@rp.effect.impl("attack/mail")
def mail(text: str = "", inner: Any = None) -> dict:
    return {"sent": text, "password": written("response")}


@rp.derived("attack/has")
def has(live: Any, place: Known = "variable", form: Form = "plain") -> str:
    return FORMS[form](VALUES[place]())


@rp.assertion("attack_finds")
def finds(settled: Any, place: Known, form: Form) -> rp.Verdict:
    text = FORMS[form](VALUES[place]())
    return rp.Verdict(passed=False, expected=text, actual=[{text: text}], reason=f"plain {text}")


@rp.assertion("attack_breaks")
def breaks(settled: Any, place: Known, form: Form) -> None:
    fail_because(FORMS[form](VALUES[place]()))


rp.handler("note")(lambda live, **payload: payload)


@rp.handler("attack_tell")
def tell(live: Any, place: Known = "variable", site: Site = "stdout", form: Form = "plain") -> Any:
    return bring(VALUES[place](), site, form)


@rp.loader("attack_rows")
def rows(count: int = 2) -> list:
    return [{"n": n, "password": written("arg_password")} for n in range(min(count, 50))]


@rp.loader("attack_declared")
def declared() -> Annotated[str, Sensitive]:
    return written("loader_declared")


@rp.loader("attack_used")
def used() -> str:
    return written("loader_used")


@rp.loader("attack_undone")
def undone(place: Known = "variable", site: Site = "stdout", form: Form = "plain") -> Any:
    yield bring(VALUES[place](), "result", form)
    bring(VALUES[place](), site, form)


rp.tag("attack", doc="plain-tag")
rp.tag("attack/named", doc=f"plain {VALUES['variable']()} plain", axis="attack")
rp.mode("attack_plain", args={"note": "plain-mode"}, doc=f"plain {VALUES['environment']()}")
rp.mode("attack_keyed", args={"options": {"password": written("mode"), "plain": 1}}, axis="options")
rp.decorator(
    "attack_door",
    kind="frame_setup",
    doc=f"plain {VALUES['secret_str']()}",
    init=[["note", {"password": written("event"), "plain": 1}]],
    patch={"options.api_key": written("patch"), "shown": f"plain {VALUES['key']()}"},
)
rp.decorator(
    "attack_answer",
    kind="fx_override",
    effect="attack/mail",
    response={"password": written("response"), "plain": VALUES["slot"]()},
)


@rp.decorator("attack_wrap")
def around(place: Known = "variable", site: Site = "stdout", form: Form = "plain") -> Any:
    bring(VALUES[place](), site, form)
    yield


@rp.story("attack.show", args={"note": "plain"}, tags=["attack", "test"], thread_safe=True,
          modes=["attack_plain"], doc=f"plain-doc {VALUES['variable']()}\n\nat length")  # fmt: skip
def shown(
    place: Known = "variable", site: Site = "result", form: Form = "plain", note: str = ""
) -> Any:
    return bring(VALUES[place](), site, form)


@rp.story("attack.stand", tags=["attack"])
def stand(name: Literal[tuple(STANDING)] = STANDING[0], display_it: bool = False) -> Any:
    value = getattr(sys.modules["__main__"], name)
    if display_it:
        display(value)
    return {"plain": 1, "value": value}


@dataclass
class Job:
    count: int = 1
    options: dict = field(default_factory=lambda: {"plain": 1, "api_key": written("arg_options")})
    shown: str = "plain"

    def __post_init__(self) -> None:
        self._token = written("arg_pin")
        self.log = logging.getLogger("attack")
        self.names = globals()
        self.out = sys.stdout
        self.modules = sys.modules

    @property
    def plan(self) -> str:
        return VALUES["variable"]()

    def fill(self, count: int = 1) -> int:
        self.count = count
        return count

    def tell(self, place: Known = "variable", site: Site = "text", form: Form = "plain") -> Any:
        given = bring(VALUES[place](), site, form)
        self.shown = given if isinstance(given, str) else "plain"
        return given

    def keep(self, note: str = "", options: dict | None = None) -> None:
        self.shown, self.options = note, self.options | (options or {})


rp.story("attack.job", component=Job, tags=["attack", "test"])
WHICH = ("pin", "key", "password", "options", "login")


@rp.story("attack.login", args={"user": "plain"}, tags=["attack"])
def sign_in(
    user: str,
    pin: Annotated[str, Sensitive],
    key: pydantic.SecretStr,
    password: str,
    options: dict,
    login: Login,
    which: Literal[WHICH] = "pin",
    site: Site = "result",
    form: Form = "plain",
    note: str = "",
) -> Any:
    texts = (pin, key.get_secret_value(), password, options["api_key"], login.password)
    return bring(dict(zip(WHICH, texts, strict=True))[which], site, form)


@rp.story("attack.echo", tags=["attack"], modes=["attack_keyed"], thread_safe=True)
def echo(
    note: str = "",
    value: object = None,
    options: dict | None = None,
    path: Path = Path("a"),
    rows: list | None = None,
    site: Site = "result",
    form: Form = "plain",
) -> Any:
    return {"note": bring(note, site, form), "value": value, "options": options, "path": path}


for number, place in enumerate(VALUES):
    rp.variant(f"attack.show/P{number}", args={"place": place}, play=[check.no_secret()])
for number, site in enumerate((*GIVEN, *DONE)):
    args = {"place": list(VALUES)[number % len(VALUES)], "site": site}
    rp.variant(f"attack.show/S_{site}", args=args, doc=f"plain {VALUES['variable']()}")
for number, form in enumerate(FORMS):
    args = {"place": list(VALUES)[-1 - number % len(VALUES)], "form": form}
    play = [["attack_finds", args["place"], form], ["attack_breaks", args["place"], form]]
    rp.variant(f"attack.show/F_{form}", args=args, play=play, tags=["attack/named"])
rp.variant("attack.show/Plain", args={"place": "variable"}, play=[check.no_warnings()])
rp.variant("attack.stand/Plain")
rp.variant("attack.stand/Shown", args={"display_it": True}, play=[check.length("result", 1)])
SECRET_ARGS = {
    "pin": written("arg_pin"),
    "key": written("arg_key"),
    "password": written("arg_password"),
    "options": {"plain": 1, "api_key": written("arg_options")},
    "login": Login("plain", written("arg_login")),
}
rp.variant("attack.login/Right", args=SECRET_ARGS,
           play=[check.path_equals("args.pin", written("arg_pin")),
                 check.path_equals("args.password", written("expected")),
                 check.contains("result.value", "plain")])  # fmt: skip
rp.variant(
    "attack.login/Loaded",
    extends="attack.login/Right",
    args={"password": rp.ref("attack_used"), "which": "password"},
)
for which in WHICH:
    rp.variant(f"attack.login/{which.capitalize()}", extends="attack.login/Right",
               args={"which": which, "site": "exception"})  # fmt: skip
rp.variant("attack.job/Plain", play=[check.path_equals("state.count", 1)])
rp.variant("attack.job/Busy", decorators=["attack_door", ["attack_answer", {}]],
           loaders=["attack_undone"],
           events=[["note", {"api_key": written("event"), "plain": 1}], ["fill", {"count": 3}]],
           plays={"first": [step.dispatch("tell", place="key", site="effect"),
                            step.set("options.password", written("set")),
                            step.call("keep", note="plain"),
                            check.effect_emitted("attack/mail"),
                            ["derived_equals", ["attack/has", {}], "plain"]],
                  "second": {"steps": [step.dispatch("tell", site="exception")]}})  # fmt: skip
rp.variant("attack.echo/Plain", play=[check.path_equals("result.note", "plain")])
rp.variant("attack.echo/Loaded", args={"rows": rp.ref("attack_rows", count=3)},
           decorators=[["attack_wrap", {"site": "stdout"}],
                       ["force_fx_stub", {"effect": "attack/mail",
                                          "response": {"password": written("use")}}]])  # fmt: skip
rp.workspace("attack.desk/Told", layout="prose", doc=f"plain {VALUES['model_field']()}",
             content=[{"prose": f"plain {VALUES['declared_field']()}"},
                      {"variant": "attack.echo/Plain"}])  # fmt: skip
rp.workspace("attack.desk/Grid", layout="grid", variants=["attack.show/P0", "attack.job/Plain"])
rp.panel("attack_panel", title=f"plain {VALUES['variable']()}", placement="left",
         render=lambda: VALUES["variable"]())  # fmt: skip

# --- the person, who answers what waits for them

HANDLES: queue.SimpleQueue = queue.SimpleQueue()


def answer_all() -> None:
    """Deny some calls and approve others, of these some only when their server no longer waits."""
    while True:
        HANDLES.get()
        for one in QUEUE.pending():
            time.sleep(0.1 if one.hash[0] in "89abcdef" else 0)
            try:
                QUEUE.answer(one.handle, "deny" if one.hash[0] in "0123" else "once")
            except RequestError:
                continue  # it was withdrawn meanwhile


PERSON_STORE.subscribe(lambda change: HANDLES.put(change.key))
threading.Thread(target=answer_all, daemon=True).start()
del CANARY
