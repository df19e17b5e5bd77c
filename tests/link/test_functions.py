"""Functions of the app over each link: what a view sees, how one is called, and what it asks."""

import json

import pytest
from bounds import BOUND_S, DEADLINES_S

from repl_pair.wire import PERSON, View

pytestmark = pytest.mark.anyio

SECRETIVE = """
from typing import Annotated, Literal
import repl_pair
HELD
@repl_pair.function("shop.pick", expose=True, mutates=False)
def pick(
    kind: Literal["a", "hunter-9f8e7d6c5b4a"] = "a",
    by: Annotated[str, "as hunter-9f8e7d6c5b4a"] = "x-hunter-9f8e7d6c5b4a",
) -> str:
    return kind
repl_pair.surface("app").cell("kind", Literal["a", "hunter-9f8e7d6c5b4a"], expose=True)
"""


HELD = ['api_key = "hunter-9f8e7d6c5b4a"', 'users = [{"password": "hunter-9f8e7d6c5b4a"}]']


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("op", ["list_functions", "list_surfaces"])
async def test_the_first_list_of_an_agent_has_no_secret_in_its_schemas(link, op, held):
    await link.define(SECRETIVE.replace("HELD", held))
    reply = await link.ask(op)
    assert "[redacted]" in json.dumps(reply)
    assert "9f8e7d6c5b4a" not in json.dumps(reply)


SHOP = """
import asyncio, enum, repl_pair, threading, time
from dataclasses import dataclass
from datetime import datetime

class Side(enum.Enum):
    BUY = "b"
    SELL = "s"

@dataclass
class Line:
    sku: str
    n: int = 1
    note: str | None = None

@repl_pair.function("orders.place", expose=True)
def place(
    lines: list[Line], at: datetime, side: Side = Side.BUY, limit: float | None = 1.5
) -> dict:
    "Place an order.\\n\\nAt once."
    assert all(type(line) is Line for line in lines) and type(at) is datetime
    print("placing", len(lines))
    return {"n": sum(line.n for line in lines), "side": side.name, "limit": limit}

@repl_pair.function("orders.fail", expose=True, mutates=False)
def fail(n: int = 0) -> float:
    print("before")
    return 1 / n

@repl_pair.function("orders.watch", expose=True, mutates=False)
async def watch(call: repl_pair.Call, seconds: float) -> bool:
    call.progress("watching")
    await asyncio.sleep(seconds)
    return call.cancelled

@repl_pair.function("orders.loop", expose=True, mutates=False)
def loop() -> None:
    while True:
        pass

@repl_pair.function("orders.beside", expose=True, mutates=False, thread_safe=True)
def beside() -> int:
    return threading.get_ident()

@repl_pair.function("orders.asks", expose=True, mutates=False, ask=True)
def asks() -> int:
    return 7

@repl_pair.function("orders.slow", expose=True, mutates=False, timeout_s=90)
def slow() -> int:
    return 90

@repl_pair.function("orders.of_ops", expose=True, tier="ops")
def of_ops() -> int: ...

ran = []
@repl_pair.function("orders.hidden")
def hidden() -> None: ran.append("hidden")
@repl_pair.function("orders._floor", expose=True)
def floor() -> None: ran.append("floor")
"""
AGENT = View(principal="agent")
SEEN = ["asks", "beside", "fail", "loop", "of_ops", "place", "slow", "watch"]
LINES = [{"sku": "a", "n": 2}, {"sku": "b", "note": None}]
AT = "2026-01-31T12:00:00"


def shown(answer, *slots):
    return {slot: answer.get(slot) for slot in slots}


async def call(link, id, view=None, **more):
    return await link.get("run_function", **({"view": view} if view else {}), function=id, **more)


async def test_a_list_has_what_the_view_sees_with_tool_and_schema(link):
    await link.define(SHOP)
    found = await link.get("list_functions")
    assert [line["id"] for line in found["items"]] == [f"orders.{name}" for name in SEEN]
    lines = {line["id"]: line for line in found["items"]}
    place = lines["orders.place"]
    assert shown(place, "tool", "mutates", "ask", "doc") == {
        "tool": "orders__place",
        "mutates": True,
        "ask": None,
        "doc": "Place an order.\n\nAt once.",
    }
    assert place["schema"]["required"] == ["lines", "at"]
    assert place["schema"]["properties"]["side"]["enum"] == ["BUY", "SELL"]
    assert shown(lines["orders.asks"], "mutates", "ask") == {"mutates": False, "ask": True}
    assert lines["orders.slow"]["timeout_s"] == 90
    ops = await link.get("list_functions", view=View(principal="agent", tier="ops"))
    assert [line["id"] for line in ops["items"]] == ["orders.of_ops"]
    everything = View(principal="agent", expose_all=True)
    ids = [line["id"] for line in (await link.get("list_functions", view=everything))["items"]]
    assert ids == sorted([*(f"orders.{name}" for name in SEEN), "orders.hidden"])


async def test_arguments_are_built_as_the_hints_say_and_output_is_in_the_answer(link):
    await link.define(SHOP)
    args = {"lines": LINES, "at": AT, "side": "SELL", "limit": None}
    answer = await call(link, "orders.place", args=args)
    assert shown(answer, "status", "value", "stdout") == {
        "status": "ok",
        "value": {"n": 3, "side": "SELL", "limit": None},
        "stdout": "placing 2\n",
    }
    assert answer["elapsed_ms"] > 0


async def test_faults_of_arguments_come_together_with_the_call_that_is_meant(link):
    await link.define(SHOP)
    reply = await link.ask("run_function", function="orders.fail", args={"nn": "3"})
    assert reply["error"]["code"] == "bad_arguments"
    assert "nn is not an argument. Nearest: n." in reply["error"]["message"]
    step = {"op": "run_function", "args": {"function": "orders.fail", "args": {"n": 3}}}
    assert reply["next_steps"] == [step]
    args = {"lines": [{"sku": 1, "m": 2}], "side": "UP"}
    reply = await link.ask("run_function", function="orders.place", args=args)
    for fault in ("at is missing", "lines[0].sku: expected string", "lines[0].m", "BUY, SELL"):
        assert fault in reply["error"]["message"]
    wrong = {"lines": [], "at": "soon"}
    reply = await link.ask("run_function", function="orders.place", args=wrong)
    assert "at: expected datetime (ISO text" in reply["error"]["message"]
    assert reply["error"]["code"] == "bad_arguments"


async def test_what_a_function_raises_is_an_answer_with_the_persons_line(link):
    await link.define(SHOP)
    answer = await call(link, "orders.fail")
    assert shown(answer, "status", "stdout", "value") == {
        "status": "error",
        "stdout": "before\n",
        "value": None,
    }
    assert shown(answer["error"], "type", "code") == {
        "type": "ZeroDivisionError",
        "code": "return 1 / n",
    }


async def test_a_function_may_wait_and_report(link):
    await link.define(SHOP)
    answer = await call(link, "orders.watch", args={"seconds": 0.01})
    assert shown(answer, "status", "value") == {"status": "ok", "value": False}
    if link.progress:  # a kernel between whose cells calls are made sends none
        assert "watching" in [progress["message"] for progress in link.progress]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("id", "args"), [("orders.loop", {}), ("orders.watch", {"seconds": 60.0})])
async def test_a_function_is_stopped_at_its_deadline_where_it_stands(link, id, args):
    await link.define(SHOP)
    for limit_s in DEADLINES_S:
        answer = await call(link, id, args=args, timeout_s=limit_s)
        if stands := "code" in answer["error"]:
            break
    assert stands, answer
    assert shown(answer, "status", "still_running") == {"status": "error", "still_running": None}
    assert answer["reason"] == f"not done within {limit_s:g} s"
    assert answer["error"]["code"] in ("while True:", "pass", "await asyncio.sleep(seconds)")


async def test_what_may_take_long_takes_it_where_the_caller_names_the_time(link):
    await link.define(SHOP)
    reply = await link.ask("run_function", function="orders.slow")
    assert reply["error"]["code"] == "bad_arguments"
    (step,) = reply["next_steps"]
    assert step["args"] == {"function": "orders.slow", "timeout_s": 90.0}
    assert (await link.get(step["op"], **step["args"]))["value"] == 90


async def test_only_a_thread_safe_function_leaves_the_thread_of_the_cells(link):
    await link.define(SHOP)
    await link.define("repl_pair.function('orders.between', expose=True, mutates=False)(beside)")
    ids = ("orders.between", "orders.beside", "orders.between")
    first, beside, second = [(await call(link, id))["value"] for id in ids]
    assert first == second != beside


async def test_hidden_and_unknown_functions_are_one_sentence(link):
    await link.define(SHOP)
    for id in ("orders.hidden", "orders._floor", "orders.hiddem"):
        view = View(principal="agent", expose_all=id == "orders._floor")
        reply = await link.ask("run_function", function=id, args={"x": 1}, view=view)
        message = reply["error"]["message"]
        assert reply["error"]["code"] == "not_found"
        assert message.startswith(f"There is no function {id!r}.")
        assert "hidden" not in message.removeprefix(f"There is no function {id!r}.")
        assert reply["next_steps"] == [{"op": "list_functions", "args": {}}]
    one = await link.refusal("run_function", function="orders.hidden")
    other = await link.refusal("run_function", function="orders.hiddem")
    assert one["message"].replace("hidden", "hiddem") == other["message"]
    await link.define("assert ran == []")


async def test_a_function_that_asks_is_refused_before_anything_runs(link):
    await link.define(SHOP)
    refusal = await link.refusal("run_function", function="orders.asks")
    assert (refusal["code"], refusal["detail"]) == (
        "approval_required",
        {"access": ["orders.asks"]},
    )
    shut = View(principal="agent", access=frozenset({"read", "run"}))
    args = {"lines": [], "at": AT}
    refusal = await link.refusal("run_function", view=shut, function="orders.place", args=args)
    assert refusal["detail"] == {"access": ["orders.place"]}
    assert (await call(link, "orders.fail", shut))["status"] == "error"
    person = View(principal=PERSON)
    assert (await call(link, "orders.asks", person))["value"] == 7


async def test_an_approval_is_for_one_exact_call_of_one_function(link):
    await link.define(SHOP)
    await link.define("repl_pair.function('orders.more', expose=True, ask=True)(lambda: 8)")

    async def request(op, args, view=AGENT, **how):
        reply = await link.link.request(op, args, view=view, timeout_s=BOUND_S, **how)
        return reply["result"] if reply["ok"] else reply["error"]["code"]

    async def ask(function, args=None):
        call = {"function": function} | ({"args": args} if args else {})
        return await request("ask_approval", {"op": "run_function", "args": call})

    handle = (await ask("orders.asks"))["handle"]
    answer = {"handle": handle, "answer": "session"}
    await request("answer_approval", answer, View())
    outcomes = [
        await request("run_function", {"function": id}, approval=handle)
        for id in ("orders.more", "orders.asks", "orders.asks")
    ]
    assert (outcomes[0], outcomes[1]["value"], outcomes[2]) == ("not_found", 7, "approval_expired")
    assert (await ask("orders.asks"))["state"] == "approved"
    assert (await ask("orders.more"))["state"] == "pending"
    assert await ask("orders.hidden") == await ask("orders.hiddem") == "not_found"
    assert await ask("orders.asks", {"x": 1}) == "bad_arguments"


async def test_a_function_that_is_defined_anew_is_called_as_it_is_now(link):
    await link.define(SHOP)
    await link.define("def fail(n: int = 1) -> str:\n    return f'new {n}'")
    assert (await call(link, "orders.fail"))["value"] == "new 1"


async def test_a_function_that_raises_an_interrupt_itself_has_failed_and_nobody_stopped_it(link):
    await link.define("""
import repl_pair
@repl_pair.function("app.load", expose=True)
def load() -> int: raise KeyboardInterrupt("ended in a prompt of the app")
""")
    answer = await call(link, "app.load")
    assert (answer["status"], answer["error"]["type"]) == ("error", "KeyboardInterrupt")
    assert answer["error"]["message"] == "ended in a prompt of the app"


async def test_secrets_of_the_app_stay_and_what_the_caller_sent_is_none(link):
    await link.define("""
import repl_pair
from typing import Annotated
TOKEN = "zq83kfm2x-of-the-app"
api_token = TOKEN
@repl_pair.function("app.token", expose=True, mutates=False)
def token() -> str: return "plain-but-named"
@repl_pair.function("app.leak", expose=True, mutates=False)
def leak(word: str, password: str = "pw-of-the-app-93x") -> Annotated[list, repl_pair.Sensitive]:
    print(TOKEN, word)
    raise ValueError(TOKEN + word)
@repl_pair.function("app.echo", expose=True, mutates=False)
def echo(word: str) -> str: return word + TOKEN
@repl_pair.function("app.login", expose=True, mutates=False)
def login(word: str) -> str:
    session_token = "xW3kZ9" + "pL2qR1"
    raise ValueError(f"{word} refused for {session_token}")
""")
    refused = await link.ask("run_function", function="app.login", args={"word": "ann"})
    assert refused["result"]["error"]["message"] == "ann refused for [redacted]"
    assert (await call(link, "app.token"))["value"] == "[redacted]"
    reply = await link.ask("run_function", function="app.leak", args={"word": "orange-juice-4711"})
    assert "zq83kfm2x" not in str(reply)
    assert "orange-juice-4711" in reply["result"]["stdout"]
    assert "zq83kfm2x" not in str(
        await link.ask("run_function", function="app.echo", args={"word": "w"})
    )
    assert "pw-of-the-app" not in str(await link.ask("list_functions"))


GUARDED = """
import repl_pair
from typing import Annotated
from repl_pair import Sensitive
from pydantic import SecretStr

def publish(name, fn):
    repl_pair.function(name, expose=True, mutates=False)(fn)

def text(password: str = "pwd-aa-93x-Kq7w") -> str: return f"value {password}"
def texts(passwords: list[str] = ["pwd-bb-93x-Kq7w"]) -> str: return f"value {passwords[0]}"
def pair(login: Annotated[tuple[str, str], Sensitive] = ("bob", "pwd-cc-93x-Kq7w")) -> str:
    return f"value {login[1]}"
def own(pw: SecretStr = SecretStr("pwd-dd-93x-Kq7w")) -> str:
    return f"value {pw.get_secret_value()}"
def part(keys: list[Annotated[str, Sensitive]] = ["pwd-ee-93x-Kq7w"]) -> str:
    return f"value {keys[0]}"
def later(user: str = "bob") -> str: return "value [redacted]"
for fn in (text, texts, pair, own, part, later):
    publish(f"guarded.{fn.__name__}", fn)
"""
LATER = """
def later(user: str = "bob", password: str = "pwd-ff-93x-Kq7w") -> str: return f"value {password}"
"""


async def test_secret_defaults_are_hidden_whatever_holds_them(link):
    await link.define(GUARDED)
    await link.define(LATER)
    for name in ("text", "texts", "pair", "own", "part", "later"):
        answer = await call(link, f"guarded.{name}")
        assert answer["value"] == "value [redacted]", name


async def test_progress_hides_a_secret_that_stands_deep(link):
    await link.define(
        """
import repl_pair, time
class Node: pass
app = Node(); app.db = Node(); app.db.pool = Node()
app.db.pool.settings = {"db_password": "gYt77PqLmN03xx"}
@repl_pair.function("srv.sync", expose=True, mutates=False)
def sync(call: repl_pair.Call) -> str:
    call.progress("as admin " + app.db.pool.settings["db_password"] + " now")
    for n in range(300):
        app.db.pool.settings["db_password"] = f"gYt77PqLmN03x{n:03}"
        call.progress("again " + app.db.pool.settings["db_password"])
        time.sleep(0.001)
    call.progress("done")
    return "done"
"""
    )
    assert (await call(link, "srv.sync"))["value"] == "done"
    if link.progress:  # a kernel between whose cells calls are made sends none
        sent = [progress["message"] for progress in link.progress]
        assert sent[0] == "as admin [redacted] now"
        assert {*sent[1:]} == {"again [redacted]", "done"}
        assert sent[-1] == "done"


OPEN = """
import repl_pair
from dataclasses import dataclass
class Item: ...
@repl_pair.function("o.plain", expose=True, mutates=False)
def plain(last: int = 10) -> str: return f"{last}"
"""


@pytest.mark.parametrize("hint", ["list[Item]", "dict[str, Item]", "tuple[Item, int]"])
async def test_a_container_of_what_no_agent_can_give_is_not_exposed(link, hint):
    await link.define(OPEN)
    with pytest.raises(Exception, match="an agent cannot give items"):
        await link.define(
            f"@repl_pair.function('o.items', expose=True)\ndef items(items: {hint}) -> str: ..."
        )


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ("def plain(last: int = 10, *more): return 1", "*more: an agent gives arguments by name"),
        ("def plain(last: Item): return 1", "an agent cannot give last (Item) as JSON"),
        ("def plain(last: int = 10): yield 1", "is a generator"),
    ],
)
async def test_what_no_agent_could_be_given_any_more_is_not_called(link, now, why):
    await link.define(OPEN)
    await link.define(now)
    refused = await link.refusal("run_function", function="o.plain")
    assert (refused["code"], why in refused["message"]) == ("cannot_run", True)


MODELS = """
import enum, repl_pair
from decimal import Decimal
from typing import Literal
from pydantic import BaseModel, Field
class Side(enum.Enum):
    BUY = "b"
    SELL = "s"
class Line(BaseModel):
    price: Decimal = Field(alias="itemPrice")
    side: Side = Side.BUY
class Order(BaseModel):
    lines: list[Line]
    by_name: dict[str, Line] = {}
    first: Line | None = None
@repl_pair.function("o.order", expose=True, mutates=False)
def order(order: Order) -> str:
    every = [*order.lines, *order.by_name.values(), *filter(None, [order.first])]
    return ", ".join(f"{line.price} {line.side.name}" for line in every)
@repl_pair.function("o.mode", expose=True, mutates=False)
def mode(mode: Literal["fast", None] = "fast") -> str: return repr(mode)
"""


async def test_models_in_models_take_fields_and_members_by_the_names_of_the_schema(link):
    await link.define(MODELS)
    line = {"price": "1.5", "side": "SELL"}
    given = {"lines": [line], "by_name": {"a": line}, "first": {"price": "2"}}
    answer = await call(link, "o.order", args={"order": given})
    assert answer["value"] == "1.5 SELL, 1.5 SELL, 2 BUY"


async def test_none_among_the_choices_is_one(link):
    await link.define(MODELS)
    assert (await call(link, "o.mode", args={"mode": None}))["value"] == "None"
    assert (await call(link, "o.mode"))["value"] == "'fast'"
