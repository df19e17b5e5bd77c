"""What agents write: data over ids that exist, beside what the person wrote and never over it."""

import functools
import importlib
import json
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

import pydantic
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

import repl_pair
from repl_pair import Sensitive, check
from repl_pair.errors import AuthoringError, ReplPairError, RequestError, next_step
from repl_pair.runtime.authoring.agent_bodies import CHECKS, FORMS
from repl_pair.runtime.authoring.agent_reading import DEEPEST, MAX_BYTES, WRITABLE, Reading
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.registry.model import KINDS
from repl_pair.runtime.registry.origin import agent_origin
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.needles import Rank
from repl_pair.runtime.shipped import TAGS
from repl_pair.runtime.signatures.code_hints import code_in
from repl_pair.runtime.store import STORE
from repl_pair.wire import View

OPEN = frozenset({"read", "run", "write"})
WRITERS = set(TABLE.visible(View(access=frozenset({"write"}))))


class Agent:
    """Calls ops as one principal does; the last call keeps its notes."""

    def __init__(self, principal="agent", tier=None, access=OPEN):
        self.view = View(principal=principal, tier=tier, access=access)
        self.last = Call()

    def ask(self, op, /, **args):
        self.last = Call(view=self.view)
        return TABLE.find(op, self.view).fn(call=self.last, **args)

    def write(self, kind, id, body):
        return self.ask(f"register_{kind}", **{f"{kind}_id": id}, body=body)

    def refusal(self, op, /, **args):
        with pytest.raises(ReplPairError) as caught:
            self.ask(op, **args)
        return caught.value

    def fault(self, kind, id, body):
        """Return the text of a refusal; nothing may have changed."""
        before = entries()
        error = self.refusal(f"register_{kind}", **{f"{kind}_id": id}, body=body)
        assert entries() == before
        return error.message


@pytest.fixture
def agent():
    return Agent()


def entries():
    return {kind: dict(REGISTRY.snapshot(kind)) for kind in REGISTRY.kinds}


def mine(entries_by_kind):
    return sorted(
        f"{kind} {id}"
        for kind, found in entries_by_kind.items()
        for id, entry in found.items()
        if entry.origin.key.startswith("agent:")
    )


CALLED = []


def total(count: int = 2, price: float = 1.0, note: str = "") -> float:
    CALLED.append("total")
    return count * price


@dataclass
class Cart:
    rate: float = 0.0
    lines: list[dict[str, Any]] = field(default_factory=list)

    def add(self, sku: str, qty: int = 1):
        CALLED.append("add")
        self.lines.append({"sku": sku, "qty": qty})

    def login(self, password: str):
        CALLED.append("login")

    def _reset(self):
        CALLED.append("_reset")


@pytest.fixture
def shop():
    """The person's stories."""
    CALLED.clear()
    repl_pair.story("shop.total", component=total, tags=["test"])
    repl_pair.variant("shop.total/Two", play=[check.path_equals("result", 3.0)])
    repl_pair.story("shop.cart", component=Cart)
    repl_pair.variant("shop.cart/Empty")

    @repl_pair.loader
    def rates(day: str = "", token: str = ""):
        CALLED.append("rates")
        return 2.0

    @repl_pair.handler("cart/fill")
    def fill(live, qty: int = 1):
        CALLED.append("fill")

    @repl_pair.decorator("quiet")
    def quiet():
        yield

    repl_pair.panel("totals", title="Totals", placement="right", render=lambda: None)


# --- what is registered


GOOD = {
    "story": ("shop.more", {"component_of": "shop.total", "args": {"price": 2.0}}),
    "variant": ("shop.total/Three", {"args": {"count": 3}, "tags": ["!test", "dev"]}),
    "workspace": ("shop.page/All", {"layout": "grid", "variants": ["shop.total/Two"]}),
    "mode": ("price/high", {"args": {"price": 9.0}, "axis": "price"}),
    "decorator": (
        "mail/down",
        {"kind": "fx_override", "effect": "mail/send", "response": {"$raise": "TimeoutError"}},
    ),
    "tag": ("slow", {"doc": "takes its time"}),
    "panel": ("totals/left", {"title": "T", "placement": "left", "render": "totals"}),
}


def test_agents_write_each_kind_that_is_no_function():
    assert set(FORMS) == set(GOOD) == set(WRITABLE)
    assert {f"register_{kind}" for kind in WRITABLE} < WRITERS


@pytest.mark.parametrize("kind", WRITABLE)
def test_what_is_registered_states_from_whom_and_what_to_do_next(shop, agent, kind):
    id, body = GOOD[kind]
    stated = agent.write(kind, id, body)
    entry = REGISTRY.get(kind, id)
    assert (entry.origin, entry.tier) == (agent_origin("agent"), None)
    seen = {"kind": kind, "id": id, "revision": entry.revision, "origin": "agent agent"}
    identity = {"identity": stated["identity"]} if kind == "variant" else {}
    assert stated == seen | identity
    assert agent.last.next_steps[-1] == next_step("unregister", kind=kind, id=id)
    assert agent.ask("unregister", kind=kind, id=id) == {
        "kind": kind,
        "id": id,
        "unregistered": True,
    }
    assert REGISTRY.find(kind, id) is None


@pytest.mark.parametrize("kind", WRITABLE)
def test_an_id_that_is_gone_suggests_no_removal_of_what_is_near(shop, agent, kind):
    id, body = GOOD[kind]
    agent.write(kind, id, body)
    refused = agent.refusal("unregister", kind=kind, id=f"{id}x")
    assert f"Nearest: {id}" in refused.message
    assert [step["op"] for step in refused.next_steps] == [
        "list_stories" if kind == "story" else f"list_{kind}s"
    ]


def test_a_variant_of_an_agents_runs_like_any_other(shop, agent):
    stated = agent.write(
        "variant",
        "shop.total/Three",
        {"extends": "shop.total/Two", "args": {"count": 3}, "play": [["path_equals", "result", 3]]},
    )
    assert agent.last.next_steps[0] == next_step("run_variant", variant_id="shop.total/Three")
    record = repl_pair.run("shop.total/Three")
    assert (record.status, record.total) == ("pass", 1)
    assert stated["identity"]["content_hash"] == record.identity.content_hash


def test_a_class_takes_events_of_its_own_methods_and_of_handlers(shop, agent):
    body = {
        "events": [["add", {"sku": "pen"}], "cart/fill"],
        "play": [
            ["dispatch", ["add", {"sku": "ink", "qty": 2}]],
            ["call", "add", {"sku": "cap"}],
            ["path_equals", "result.lines[1].qty", 2],
        ],
    }
    agent.write("variant", "shop.cart/Full", body)
    assert CALLED == []
    record = repl_pair.run("shop.cart/Full")
    assert (record.status, record.reason) == ("pass", "")
    assert CALLED == ["add", "fill", "add", "add"]


def test_a_ref_stands_for_a_loader(shop, agent):
    body = {
        "args": {"price": {"$ref": "rates", "day": "mon"}},
        "play": [["path_equals", "result", 4.0]],
    }
    agent.write("variant", "shop.total/Loaded", body)
    assert CALLED == []
    assert repl_pair.run("shop.total/Loaded").status == "pass"


@pytest.mark.parametrize(
    ("kind", "id", "body"),
    [
        ("variant", "shop.total/Loaded", {"args": {"$ref": "rates"}}),
        ("mode", "loaded", {"args": {"$ref": "rates"}}),
        ("story", "shop.loaded", {"component_of": "shop.total", "args": {"$ref": "rates"}}),
        ("decorator", "loaded", {"kind": "frame_setup", "patch": {"$ref": "rates"}}),
    ],
)
def test_a_ref_stands_for_no_whole_slot(shop, agent, kind, id, body):
    assert "a loader's ref stands for one value" in agent.fault(kind, id, body)


def test_a_variant_that_asserts_nothing_reports_it(shop, agent):
    agent.write("variant", "shop.total/Bare", {"extends": "shop.total/Two"})
    assert "It asserts nothing" in agent.last.notifications[0]


def test_a_story_of_an_agents_keeps_what_the_person_put_around_the_component(agent):
    @repl_pair.decorator("sandbox")
    def sandbox():
        CALLED.append("sandbox")
        yield

    repl_pair.story(
        "shop.safe",
        component=total,
        args={"count": 5},
        decorators=["sandbox"],
        agent_overrides=False,
        doc="The person's words",
    )
    agent.write("story", "shop.copy", {"component_of": "shop.safe"})
    body = REGISTRY.get("story", "shop.copy").body
    assert (body.args, body.decorators) == ({"count": 5}, (["sandbox", {}],))
    assert (body.agent_overrides, body.doc) == (False, "The person's words")


# --- whose it is


def test_what_the_same_agent_registers_meanwhile_is_replaced(shop, monkeypatch):
    put, mode = STORE.put, KINDS["mode"].body()
    made = []

    def late(collection, key, value, **over):
        monkeypatch.undo()
        made.append(REGISTRY.register("mode", "m", mode, origin=agent_origin("a")))
        return put(collection, key, value, **over)

    monkeypatch.setattr(STORE, "put", late)
    last = REGISTRY.register("mode", "m", mode, origin=agent_origin("a"))
    assert REGISTRY.get("mode", "m") is last
    assert last.revision > made[0].revision


@pytest.mark.parametrize("kind", WRITABLE)
def test_what_the_person_registered_is_not_replaced(shop, agent, kind):
    _, body = GOOD[kind]
    theirs = {
        "workspace": lambda: repl_pair.workspace(
            "shop.page/Mine", layout="grid", variants=["shop.total/Two"]
        ),
        "mode": lambda: repl_pair.mode("price/mine", args={}),
    }
    if kind in theirs:
        theirs[kind]()
    (id, *_) = [i for i, e in REGISTRY.snapshot(kind).items() if e.origin.key != "builtin"] or [
        "dev"
    ]
    error = agent.fault(kind, id, body)
    assert "Pick another id" in error
    step = agent.last.next_steps[0]
    assert step == next_step(f"register_{kind}", **{f"{kind}_id": f"{id}_2", "body": body})
    assert "not an argument" in agent.fault(kind, id, body | {"agrs": {}})
    assert f"{id}_2" not in str(agent.last.next_steps)


def test_builtins_are_neither_replaced_nor_taken_out(agent):
    assert "Pick another id" in agent.fault("tag", "dev", {})
    assert "is not an agent's" in agent.refusal("unregister", kind="tag", id="dev").message
    agent.ask("clear_all")
    assert set(TAGS) <= set(REGISTRY.ids("tag"))


def test_the_registry_itself_lets_no_agent_over_the_persons_or_another_agents(shop):
    body, mode = REGISTRY.get("story", "shop.total").body, KINDS["mode"].body()
    with pytest.raises(AuthoringError, match="taken by what the person registered"):
        REGISTRY.register("story", "shop.total", body, origin=agent_origin("a"))
    REGISTRY.register("mode", "m", mode, origin=agent_origin("a"))
    with pytest.raises(AuthoringError, match="taken by what agent a registered"):
        REGISTRY.register("mode", "m", mode, origin=agent_origin("b"))
    for writer in ("a", "person"):
        replaced = REGISTRY.register("mode", "m", mode, origin=agent_origin(writer))
        assert REGISTRY.get("mode", "m") is replaced
    with pytest.raises(AuthoringError, match="taken by what the command line registered"):
        REGISTRY.register("mode", "m", mode, origin=agent_origin("a"))


def test_what_the_person_registers_meanwhile_is_not_lost(shop, monkeypatch):
    """The person registers the same id between an agent's look and its put."""
    put, mode = STORE.put, KINDS["mode"].body()

    def late(collection, key, value, **over):
        monkeypatch.undo()
        repl_pair.mode("m", args={"price": 1.0})
        return put(collection, key, value, **over)

    monkeypatch.setattr(STORE, "put", late)
    with pytest.raises(AuthoringError, match="taken"):
        REGISTRY.register("mode", "m", mode, origin=agent_origin("a"))
    assert REGISTRY.get("mode", "m").body.args == {"price": 1.0}


def test_what_stands_there_by_now_is_not_unregistered_for_what_stood_there(shop):
    mode = KINDS["mode"].body()
    old = REGISTRY.register("mode", "m", mode, origin=agent_origin("a"))
    with pytest.warns(UserWarning, match="agent a"):
        repl_pair.mode("m", args={})
    assert not REGISTRY.unregister("mode", "m", entry=old)
    assert REGISTRY.find("mode", "m") is not None


def test_an_agent_replaces_what_it_registered_and_receives_so(shop, agent):
    first = agent.write("mode", "price/high", {"args": {"price": 9.0}})
    second = agent.write("mode", "price/high", {"args": {"price": 8.0}})
    assert second["replaced"] == {"by": "agent agent", "revision": first["revision"]}
    assert REGISTRY.get("mode", "price/high").body.args == {"price": 8.0}


def test_the_person_replaces_what_an_agent_registered_with_a_warning(shop, agent):
    agent.write("mode", "price/high", {"args": {"price": 9.0}})
    with pytest.warns(UserWarning, match="registered by agent agent"):
        repl_pair.mode("price/high", args={"price": 1.0})
    assert "not an agent's" in agent.refusal("unregister", kind="mode", id="price/high").message


def test_clearing_reaches_what_agents_registered_and_counts_what_stays(shop, agent):
    for kind, (id, body) in GOOD.items():
        agent.write(kind, id, body)
    variants = len(REGISTRY.ids("variant"))
    assert agent.ask("clear_kind", kind="variant") == {
        "removed": {"variant": ["shop.total/Three"]},
        "total": 1,
        "left": variants - 1,
    }
    assert agent.ask("clear_all")["total"] == len(GOOD) - 1
    assert mine(entries()) == []
    assert "stay" in agent.last.notifications[0]
    for kind in ("varient", "loader", "policy"):
        assert agent.refusal("clear_kind", kind=kind).code == "not_found"


def test_a_story_that_goes_names_the_variants_that_it_leaves(shop, agent):
    agent.write("story", *GOOD["story"])
    agent.write("variant", "shop.more/One", {})
    agent.ask("unregister", kind="story", id="shop.more")
    assert agent.last.notifications == ["Without their story are now: shop.more/One."]


def test_null_is_a_response(agent):
    body = {"kind": "fx_override", "effect": "mail/send", "response": None}
    agent.write("decorator", "mail/quiet", body)
    assert REGISTRY.get("decorator", "mail/quiet").body.responses == (None,)


# --- undone as a whole


def test_a_checkpoint_undoes_all_that_agents_wrote(shop, agent):
    before, undo = entries(), REGISTRY.checkpoint()
    for kind, (id, body) in GOOD.items():
        agent.write(kind, id, body)
    undo()
    assert entries() == before


def test_a_checkpoint_of_agents_brings_their_entries_back_and_leaves_the_persons(shop, agent):
    agent.write("mode", "price/high", {"args": {"price": 9.0}})
    agent.write("tag", "slow", {})
    then = REGISTRY.checkpoint(origin="agent:")
    kept = mine(entries())
    agent.write("mode", "price/high", {"args": {"price": 1.0}})
    agent.ask("unregister", kind="tag", id="slow")
    Agent("other").write("tag", "odd", {})
    repl_pair.tag("new")
    then()
    assert mine(entries()) == kept
    assert REGISTRY.get("mode", "price/high").body.args == {"price": 9.0}
    assert REGISTRY.find("tag", "new") is not None


def test_the_person_takes_out_all_of_one_agents_or_of_all(shop):
    before = entries()
    Agent("ann").write("tag", "ann-s", {})
    Agent("anna").write("tag", "anna-s", {})
    assert repl_pair.undo_agent("ann") == ["tag ann-s"]
    assert repl_pair.undo_agent() == ["tag anna-s"]
    assert entries() == before


# --- what a view may see


def test_without_the_gate_the_writing_ops_read_like_unknown_ones():
    shut = Agent(access=frozenset({"read", "run", "inspect"}))
    for name in WRITERS:
        refused, unknown = shut.refusal(name), shut.refusal(f"{name}x")
        assert refused.code == unknown.code == "not_found"
        assert refused.message.startswith(f"There is no op '{name}'.")
        assert "register" not in refused.message.partition(".")[2]


def test_what_an_agent_writes_has_the_tier_of_its_view():
    repl_pair.story("shop.total", component=total, tier="ops")
    repl_pair.story("shop.totals", component=total)
    agent = Agent(tier="ops")
    agent.write("variant", "shop.total/Three", {"play": [["path_equals", "result", 2.0]]})
    assert REGISTRY.get("variant", "shop.total/Three").tier == "ops"
    assert "tier: no slot of yours" in agent.fault("variant", "shop.total/X", {"tier": "user"})
    hidden, unknown = (
        agent.fault("story", "shop.new", {"component_of": id}).replace(id, "…")
        for id in ("shop.totals", "shop.totalx")
    )
    assert hidden == unknown
    assert agent.refusal("register_variant", variant_id="shop.totals/X", body={}).code == (
        "not_found"
    )


# --- what is refused


@pytest.mark.parametrize(
    ("kind", "id", "body", "stated"),
    [
        ("variant", "shop.total/X", {"agrs": {}}, "agrs is not an argument. Nearest: "),
        ("variant", "shop.total/X", {"args": []}, "args: expected object, got list."),
        ("variant", "shop.total/X", {"args": {"cuont": 1}}, "takes no argument 'cuont'. Nearest"),
        ("variant", "shop.total/X", {"component": "os.system"}, "component: no slot of yours"),
        ("variant", "shop.total/X", {"tags": ["tset"]}, "no tag 'tset'. Nearest: test"),
        ("variant", "shop.total/X", {"extends": "shop.total/Tow"}, "Nearest: shop.total/Two"),
        ("variant", "shop.total/X", {"loaders": ["os.system"]}, "There are: rates."),
        ("variant", "shop.total/X", {"loaders_complete_when": "os.listdir"}, "no derived"),
        ("variant", "shop.total/X", {"loaders_complete_when": ["os.listdir"]}, "not an effect"),
        ("variant", "shop.total/X", {"substrates": ["htlm"]}, "no substrate 'htlm'. Nearest: html"),
        ("variant", "shop.total/X", {"args": {"price": {"$ref": "rate"}}}, "Nearest: rates"),
        (
            "variant",
            "shop.total/X",
            {"args": {"price": {"$ref": "rates", "token": "guess"}}},
            "$ref rates.token is a secret",
        ),
        ("variant", "shop.total/X", {"args": {"note": "[redacted]"}}, "leave it out"),
        ("variant", "shop.total/X", {"args": {"note": {"$elided": {}}}}, "was cut"),
        (
            "variant",
            "shop.total/X",
            {"args": {"note": {"$type": "record", "class": "os:_wrap_close", "fields": {}}}},
            "names the class",
        ),
        ("variant", "shop.total/X", {"play": [["os.system", "ls"]]}, "no step 'os.system'"),
        ("variant", "shop.total/X", {"play": [["path_equals"]]}, "path_equals"),
        ("variant", "shop.total/X", {"play": [["call", "as_integer_ratio"]]}, "nothing handles"),
        ("variant", "shop.total/X", {"events": ["hex"]}, "nothing handles 'hex'"),
        ("variant", "shop.cart/X", {"events": ["ad"]}, "Nearest: add"),
        ("variant", "shop.cart/X", {"events": ["_reset"]}, "nothing handles '_reset'"),
        ("variant", "shop.cart/X", {"play": [["call", "__init__"]]}, "nothing handles"),
        (
            "variant",
            "shop.cart/X",
            {"events": [["login", {"password": "guess"}]]},
            "event login.password is a secret",
        ),
        ("variant", "shop.cart/X", {"play": [["set", "_token", 1]]}, "private or a secret"),
        ("variant", "shop.cart/X", {"play": [["set", "api_key", 1]]}, "private or a secret"),
        ("variant", "shop.total/X", {"decorators": ["qiet"]}, "Nearest: quiet"),
        (
            "variant",
            "shop.total/X",
            {"decorators": [["force_fx_stub", {"effect": "os.remove", "response": 1}]]},
            "never for Python names",
        ),
        ("story", "shop.x", {"component_of": "shop.totl"}, "Nearest: shop.total"),
        ("story", "shop.x", {"component_of": "os.system"}, "no story 'os.system'"),
        ("story", "shop.x", {"component": "shop.total"}, "component_of='the id of a story'"),
        ("story", "shop.x", {}, "component_of is missing"),
        ("decorator", "x", {"kind": "wrap"}, "name one that exists"),
        ("decorator", "x", {"kind": "wrap", "wrap": "os.system"}, "wrap: no slot of yours"),
        (
            "decorator",
            "x",
            {"kind": "fx_override", "effect": "os.remove", "response": 1},
            "never for Python names",
        ),
        (
            "decorator",
            "x",
            {"kind": "fx_override", "effect": "a", "response": {"$raise": "os.error"}},
            "no built-in exception",
        ),
        (
            "decorator",
            "x",
            {"kind": "fx_override", "effect": "a", "response": {"$raise": "KeyboardInterrupt"}},
            "no built-in exception",
        ),
        ("decorator", "x", {"kind": "frame_setup", "init": ["add"]}, "nothing handles 'add'"),
        ("decorator", "x", {"kind": "frame_setup", "patch": {"a._b": 1}}, "private or a secret"),
        ("mode", "x", {"args": {"password": "guess"}}, "args.password is a secret"),
        ("mode", "x", {}, "args is missing"),
        ("tag", "x", {"default_filter": "no"}, "default_filter is include or exclude"),
        ("panel", "x", {"title": "t", "placement": "left", "render": "os.system"}, "no panel"),
        ("workspace", "shop.x/X", {"layout": "gird"}, "Nearest: grid"),
        ("workspace", "shop.x/X", {"layout": "custom", "render": "x.y"}, "no panel 'x.y'"),
        ("tag", "repl_pair/x", {}, "the package's own"),
        ("story", "repl_pair.runtime", {"component_of": "shop.total"}, "the package's own"),
        ("tag", "no tag", {}, "not a valid tag id"),
    ],
)
def test_a_refusal_states_what_is_wrong_and_what_would_do(shop, agent, kind, id, body, stated):
    message = agent.fault(kind, id, body)
    assert stated in message
    assert message.count(f"{id!r}: ") <= 1
    assert CALLED == []


def test_all_faults_of_a_body_stand_in_one_message(shop, agent):
    body = {"agrs": {}, "tags": ["tset"], "args": {"cuont": 1}, "play": [["path_equal", 1]]}
    message = agent.fault("variant", "shop.total/X", body)
    for part in ("agrs", "tset", "cuont", "path_equal", "Nothing was registered."):
        assert part in message


def nested(depth):
    value = 0
    for _ in range(depth):
        value = [value]
    return value


def test_bodies_are_bounded_before_they_are_read(shop, agent):
    def argtypes(value):
        return {"argtypes": {"x": value}}

    roomy = "x" * (MAX_BYTES - len(json.dumps(argtypes(""), separators=(",", ":"))))
    agent.write("variant", "shop.total/Big", argtypes(roomy))
    assert "65537 bytes" in agent.fault("variant", "shop.total/B", argtypes(roomy + "x"))
    agent.write("variant", "shop.total/Deep", argtypes(nested(DEEPEST - 2)))
    message = agent.fault("variant", "shop.total/D", argtypes(nested(DEEPEST - 1)))
    assert "over 64 deep" in message
    loop = []
    loop += [loop, loop]
    assert "it may be" in agent.fault("variant", "shop.total/L", argtypes(loop))
    for odd in (total, Cart, object(), b"", (1,), "\ud800"):
        assert "JSON" in agent.fault("variant", "shop.total/O", argtypes(odd))


class Called(Protocol):
    def __call__(self) -> int: ...


class Plugin(pydantic.BaseModel):
    backend: pydantic.ImportString[Any] | None = None
    name: str = ""


class Outer(pydantic.BaseModel):
    inner: list[Plugin] = []


@dataclass
class Wrapped:
    plugin: Plugin | None = None
    key: Callable[..., int] | None = None
    size: int = 0


@pytest.mark.parametrize(
    "hint",
    [
        Callable,
        Callable[[int], int],
        Callable[..., Any] | None,
        type,
        type[Exception],
        types.ModuleType,
        types.FunctionType,
        functools.partial,
        Called,
        pydantic.ImportString,
        pydantic.ImportString[Callable[..., Any]],
        str | pydantic.ImportString[Any],
        Plugin,
        Outer | None,
        Annotated[type[int], "doc"],
    ],
)
def test_hints_that_only_code_or_an_import_answers(hint):
    assert code_in(hint)


@pytest.mark.parametrize(
    "hint", [Any, object, int, str | None, str | Callable[..., Any], list[int], dict, Cart, "Later"]
)
def test_hints_that_data_answers(hint):
    assert code_in(hint) == ""


@pytest.mark.parametrize(
    ("args", "stated"),
    [
        ({"fn": "os.system"}, "args.fn takes Callable"),
        ({"cls": "os.PathLike"}, "args.cls takes type"),
        ({"found": "os.system"}, "imports by a name"),
        ({"found": None, "plugin": {"name": "x"}}, "args.plugin takes Plugin"),
        ({"plugins": [{"inner": []}]}, "args.plugins[0] takes Outer"),
        ({"wrapped": {"plugin": {"backend": "os.system"}}}, "args.wrapped.plugin takes Plugin"),
        ({"wrapped": {"key": "os.system"}}, "args.wrapped.key takes Callable"),
        ({"loose": {"backend": "os.system"}}, "args.loose takes Plugin"),
        ({"pin": "guess"}, "args.pin is a secret"),
        ({"keys": {"api_key": "guess"}}, "args.keys.api_key is a secret"),
    ],
)
def test_code_imports_and_secrets_are_not_given_in_bodies_nor_overrides(agent, args, stated):
    def run(
        fn: Callable[..., Any] | None = None,
        cls: type[Any] | None = None,
        found: pydantic.ImportString[Any] | None = None,
        plugin: Plugin | None = None,
        plugins: list[Outer] = [],  # noqa: B006  it is not changed
        wrapped: Wrapped | None = None,
        loose: Any = None,
        pin: Annotated[str, Sensitive] = "",
        keys: dict[str, Any] | None = None,
    ):
        CALLED.append("run")

    repl_pair.story("shop.code", component=run, args={"loose": Plugin(name="x")})
    repl_pair.variant("shop.code/Plain")
    assert stated in agent.fault("variant", "shop.code/X", {"args": args})
    agent.write("variant", "shop.code/Fine", {"args": {"wrapped": {"size": 2}}})
    overridden = agent.refusal("snapshot_identity", variant_id="shop.code/Plain", overrides=args)
    assert overridden.code == "cannot_run"


def test_what_became_a_secret_since_is_refused_when_it_runs(agent):
    def open_(pin: str = ""):
        return pin

    repl_pair.story("shop.door", component=open_)
    agent.write("variant", "shop.door/Try", {"args": {"pin": "w4-k"}})
    agent.write("mode", "try", {"args": {"pin": "w4-k"}})

    def with_secret(pin: Annotated[str, Sensitive] = "w4-k"):
        return pin

    repl_pair.story("shop.door", component=with_secret)
    repl_pair.variant("shop.door/Mine", play=[check.path_equals("args.pin", "w4-k")])
    assert "args.pin is a secret" in repl_pair.run("shop.door/Try").reason
    assert "args.pin is a secret" in repl_pair.run("shop.door/Mine", modes=["try"]).reason


def test_a_patch_sets_no_arg_that_an_agent_may_not(agent):
    def sign(pin: Annotated[str, Sensitive] = "", count: int = 1):
        return count

    repl_pair.story("shop.sign", component=sign)
    repl_pair.story("shop.safe", component=total, agent_overrides=False)
    for name, patch in (("pin", {"pin": "guess"}), ("count", {"count": 5})):
        agent.write("decorator", name, {"kind": "frame_setup", "patch": patch})
        agent.write("variant", f"shop.sign/{name}", {"decorators": [name]})
    assert "args.pin is a secret" in repl_pair.run("shop.sign/pin").reason
    assert repl_pair.run("shop.sign/count").result == 5
    agent.write("variant", "shop.safe/count", {"decorators": ["count"]})
    assert "agent_overrides=False" in repl_pair.run("shop.safe/count").reason


def test_a_story_that_takes_no_overrides_takes_no_args_of_agents_either(agent):
    repl_pair.story("shop.safe", component=total, agent_overrides=False)
    repl_pair.variant("shop.safe/Two")
    stated = agent.fault("variant", "shop.safe/X", {"args": {"count": 1}})
    assert "agent_overrides=False" in stated
    agent.write("mode", "many", {"args": {"count": 9}})
    assert "agent_overrides=False" in repl_pair.run("shop.safe/Two", modes=["many"]).reason
    refused = agent.refusal("snapshot_identity", variant_id="shop.safe/Two", overrides={"count": 1})
    assert "agent_overrides=False" in refused.message


def test_a_secret_of_one_component_is_not_taken_to_another(agent):
    def sign(pin: Annotated[str, Sensitive] = ""):
        return None

    def echo(pin: str = ""):
        return pin

    repl_pair.story("shop.sign", component=sign)
    repl_pair.variant("shop.sign/Right", args={"pin": "w4-k"})
    repl_pair.story("shop.echo", component=echo)
    stated = agent.fault("variant", "shop.echo/X", {"extends": "shop.sign/Right"})
    assert "holds a secret for the component of another story" in stated
    agent.write("variant", "shop.sign/Again", {"extends": "shop.sign/Right"})
    assert REGISTRY.get("variant", "shop.sign/Again").body.args == {}


# --- what a caller who was answered still changes


def test_a_call_that_was_answered_already_registers_nothing(shop, agent):
    call = Call(view=agent.view)
    call.decide()
    with pytest.raises(RequestError, match="before anything was changed"):
        TABLE.find("register_tag", agent.view).fn(call=call, tag_id="late", body={})
    assert REGISTRY.find("tag", "late") is None


# --- the next step from what fails


def test_what_fails_leads_to_a_corrected_one_if_the_gate_is_open(shop, agent):
    record = repl_pair.run("shop.total/Two")
    assert record.status == "fail"
    agent.ask("read_failures")
    step = agent.last.next_steps[1]
    assert step == next_step(
        "register_variant",
        variant_id="shop.total/Two_2",
        body={"extends": "shop.total/Two", "play": [["path_equals", "result", 3.0]]},
    )
    agent.ask("get_variant", variant_id="shop.total/Two")
    assert step in agent.last.next_steps
    shut = Agent(access=frozenset({"read", "run"}))
    for op, args in (("read_failures", {}), ("get_variant", {"variant_id": "shop.total/Two"})):
        shut.ask(op, **args)
        assert not any("register" in step["op"] for step in shut.last.next_steps)


def test_no_secret_of_the_persons_stands_in_a_next_step(agent):
    def sign(pin: Annotated[str, Sensitive] = ""):
        return pin

    repl_pair.story("shop.sign", component=sign)
    repl_pair.variant(
        "shop.sign/Wrong", args={"pin": "w4-k"}, play=[check.path_equals("args.pin", "k4-w")]
    )
    repl_pair.run("shop.sign/Wrong")
    agent.ask("read_failures")
    assert agent.last.next_steps[1] == next_step(
        "register_variant", variant_id="shop.sign/Wrong_2", body={"extends": "shop.sign/Wrong"}
    )


# --- hostile bodies

WORDS = st.sampled_from(
    [
        *(
            "os.system",
            "repl_pair.runtime.kernel.host",
            "__import__",
            "builtins.eval",
            "never_loaded_x",
        ),
        *("shop.total", "shop.total/Two", "shop.cart", "rates", "cart/fill", "quiet", "totals"),
        *("test", "path_equals", "dispatch", "call", "set", "wait", "raises", "result", "args.pin"),
        *("fx_override", "frame_setup", "wrap", "grid", "custom", "left", "antigravity.geohash"),
        *("$ref", "$raise", "$type", "$elided", "[redacted]", "record", "!test", "force_fx_stub"),
    ]
)
KEYS = st.one_of(
    st.sampled_from(
        sorted({slot for form in FORMS.values() for slot in form.schema["properties"]})
    ),
    WORDS,
    st.text(max_size=4),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
BODIES = st.dictionaries(KEYS, VALUES, max_size=5)
IDS = st.sampled_from(["shop.total", "shop.total/New", "shop.cart/New", "new", "repl_pair", "a b"])


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(kind=st.sampled_from(WRITABLE), id=IDS | WORDS, body=BODIES)
@example(kind="variant", id="shop.total/New", body={"args": {"note": "os.system"}})
@example(kind="variant", id="shop.total/New", body={"play": [["call", "os.system"]]})
@example(kind="story", id="new", body={"component_of": "shop.cart", "args": {"rate": []}})
def test_no_body_imports_calls_or_loses_anything_of_the_persons(shop, agent, kind, id, body):
    theirs, loaded, codes = entries(), set(sys.modules), set()
    try:
        agent.write(kind, id, body)
    except ReplPairError as error:
        codes.add(error.code)
    assert codes <= {"bad_body", "bad_id", "not_found"}
    assert not codes or entries() == theirs
    assert CALLED == []
    assert set(sys.modules) - loaded <= LAZY
    now = entries()
    assert all(now[k][i] is e for k, found in theirs.items() for i, e in found.items())
    repl_pair.undo_agent()
    assert entries() == theirs


LAZY = {
    "difflib",
    "zoneinfo",
    "importlib.resources",
} | {name for name in sys.modules if name.startswith("repl_pair")}


@pytest.fixture(scope="module", autouse=True)
def rooms():
    """Import what the ops import when they are first used."""
    for room in (
        "authoring.entries",
        "op_base.entering",
        "registry.as_data",
        "assertions.verdicts",
    ):
        importlib.import_module(f"repl_pair.runtime.{room}")


# --- what a play of an agent's could reach


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)", r"(a)\1", "(?<!x)a", "((a{30}){30}){30}", "(", "a" * 201],
)
def test_a_pattern_that_no_linear_engine_runs_is_refused(shop, agent, pattern):
    raised = {"play": [["raises", "ValueError", {"match": pattern}]]}
    assert "the pattern" in agent.fault("variant", "shop.total/X", raised)
    schema = {"properties": {"a": {"pattern": pattern}}}
    fitted = {"play": [["path_matches", "result", schema]]}
    assert "the pattern" in agent.fault("variant", "shop.total/X", fitted)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^a*a*b", "[(*+)]*", "(a|b)c*", r"\d{3}", "(a?)+"])
def test_a_pattern_of_a_linear_engine_is_taken(shop, agent, pattern):
    raised = ["raises", "ValueError", {"match": pattern}]
    shown = ["rendered_text", {"match": pattern}]
    agent.write("variant", "shop.total/X", {"play": [raised, shown]})


@pytest.mark.parametrize(
    ("pattern", "is_taken"),
    [("a+", True), ("[(*+)]*", True), (r"\(+x", True), ("a|b", True)]
    + [(hostile, False) for hostile in ("a*a*b", "(a)+", "(a|a)*", "a?a?a", "(a{2}){2}", "(?=a)")],
)
def test_a_pattern_for_an_assertion_of_the_persons_repeats_in_one_place(
    shop, agent, pattern, is_taken
):
    repl_pair.assertion("reads_like")(lambda settled, *, pattern: True)
    body = {"play": [["reads_like", {"pattern": pattern}]]}
    if is_taken:
        agent.write("variant", "shop.total/X", body)
    else:
        assert "the pattern" in agent.fault("variant", "shop.total/X", body)


def test_a_schema_of_an_agents_names_its_properties(shop, agent):
    schema = {"patternProperties": {"^a": {}}, "additionalProperties": False}
    body = {"play": [["path_matches", "result", schema]]}
    assert "name the properties" in agent.fault("variant", "shop.total/X", body)


HOSTILE = "^" + "a*" * 40 + "b"
LONG = "a" * 2_000


@pytest.mark.parametrize(
    "step",
    [
        ["rendered_text", {"match": HOSTILE}],
        ["path_matches", "result", {"pattern": HOSTILE}],
        ["raises", "ValueError", {"match": HOSTILE}],
    ],
)
def test_a_pattern_of_an_agents_runs_to_its_end(agent, step):
    @repl_pair.story("shop.long")
    def long(fails: bool = False):
        if fails:
            raise ValueError(LONG)
        return LONG

    body = {"args": {"fails": step[0] == "raises"}, "play": [step]}
    agent.write("variant", "shop.long/X", body)
    assert repl_pair.run("shop.long/X").status in ("fail", "error")


def test_a_schema_of_an_agents_reads_no_file(shop, agent, tmp_path):
    file = tmp_path / "secret.json"
    file.write_text('{"type": "string"}')
    for ref in (file.as_uri(), "http://127.0.0.1:9/x"):
        hidden = {"$type": "map", "value": [["$ref", ref]]}
        agent.write("variant", "shop.total/X", {"play": [["path_matches", "result", hidden]]})
        record = repl_pair.run("shop.total/X")
        assert (record.status, "stays inside its schema" in record.reason) == ("fail", True)
        plain = {"play": [["path_matches", "result", {"$ref": ref}]]}
        assert "here only plain data may be" in agent.fault("variant", "shop.total/X", plain)


# --- what is handed on once a run is under way


class Settings(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(validate_assignment=True)

    tool: pydantic.ImportString = None
    size: int = 1


class Workshop:
    def __init__(self):
        self.inner, self.tool = Settings(), None

    @pydantic.validate_call
    def take(self, tool: pydantic.ImportString):
        self.tool = tool


@pytest.mark.parametrize(
    "body",
    [
        {"play": [["set", "inner.tool", "this.s"]]},
        {"decorators": ["tool/this"]},
        {"args": {"tool": "this.s"}, "args_to_events": {"tool": "take"}},
        {"args_to_events": {"tool": "take"}, "modes": ["tool/mode"]},
    ],
    ids=["a step", "a patch", "an arg that is an event", "a mode's"],
)
def test_nothing_that_a_run_hands_on_for_an_agent_is_imported(agent, body):
    repl_pair.story("shop.works", component=Workshop)
    patch = {"kind": "frame_setup", "patch": {"inner.tool": "this.s"}}
    agent.write("decorator", "tool/this", patch)
    agent.write("mode", "tool/mode", {"args": {"tool": "this.s"}})
    try:
        agent.write("variant", "shop.works/Armed", body)
        refused = repl_pair.run("shop.works/Armed", modes=body.get("modes", ())).reason
    except ReplPairError as error:
        refused = error.message
    assert "ImportString, which imports by a name" in refused
    assert "this" not in sys.modules


def give_key():
    return "Kq-882-zzpp-71"


def give_sworn_key() -> Annotated[str, Sensitive]:
    return "Kq-882-zzpp-72"


def enter(pin: Annotated[str, Sensitive] = "0000", user: str = "ann") -> str:
    return f"hi {user}"


def test_an_agent_puts_no_secret_of_a_loader_in_an_open_place(agent):
    repl_pair.loader("vault")(give_key)
    repl_pair.loader("sworn")(give_sworn_key)
    repl_pair.loader("open")(lambda: "bob")
    repl_pair.story("enter", component=enter)
    repl_pair.variant("enter/Mine", args={"pin": repl_pair.ref("vault")})
    for name in ("vault", "sworn"):
        body = {"args": {"user": {"$ref": name}}}
        assert "only the person says where it goes" in agent.fault("variant", "enter/Theirs", body)
        assert "only the person says where it goes" in agent.fault("mode", "theirs", body)
        body = {"args": {"pin": {"$ref": name}}}
        assert "is a secret" in agent.fault("variant", "enter/Pin", body)
    agent.write("variant", "enter/Bob", {"args": {"user": {"$ref": "open"}}})
    assert repl_pair.run("enter/Bob").result == "hi bob"
    repl_pair.variant("enter/Late", args={"pin": repl_pair.ref("open")})
    late = repl_pair.run("enter/Bob")
    assert late.status == "cannot_run"
    assert "only the person says where it goes" in late.reason


def read_setting(name: str = "region") -> Any:
    settings = {"region": "bob", "login": {"password": "Kq-883-zzpp-73"}, "copy": "Kq-883-zzpp-73"}
    return settings[name]


def test_an_agents_ref_does_not_choose_a_secret_of_a_loader(agent):
    NEEDLES.add("Kq-883-zzpp-73", rank=Rank.GIVEN)
    repl_pair.loader("setting")(read_setting)
    repl_pair.story("enter", component=enter)
    for chosen in ("login", "copy"):
        body = {"args": {"user": {"$ref": "setting", "name": chosen}}}
        agent.write("variant", "enter/Theirs", body)
        run = repl_pair.run("enter/Theirs")
        assert run.status == "cannot_run"
        assert run.reason == "loader 'setting' gave a secret: only the person says where it goes."
    agent.write("variant", "enter/Theirs", {"args": {"user": {"$ref": "setting"}}})
    assert repl_pair.run("enter/Theirs").result == "hi bob"
    # What the person's body has at that place stays theirs, also under a variant of the agent's.
    repl_pair.variant("enter/Own", args={"user": repl_pair.ref("setting", name="copy")})
    agent.write("variant", "enter/Under", {"extends": "enter/Own"})
    assert repl_pair.run("enter/Under").status == "pass"


def test_an_agents_ref_that_names_a_secret_is_refused_when_it_is_written(agent):
    repl_pair.loader("setting")(read_setting)
    repl_pair.story("enter", component=enter)
    for passed in ({"name": "DB_PASSWORD"}, {"api_key": 1}, {"name": ["region", "auth_token"]}):
        body = {"args": {"user": {"$ref": "setting", **passed}}}
        assert "only the person says where it goes" in agent.fault("variant", "enter/Theirs", body)


def test_a_loader_used_for_a_secret_by_a_mode_is_not_an_agents(agent):
    repl_pair.loader("vault")(give_key)
    repl_pair.story("enter", component=enter)
    repl_pair.mode("unhinted", args={"pin": repl_pair.ref("vault")})
    body = {"args": {"user": {"$ref": "vault"}}}
    assert "only the person says where it goes" in agent.fault("variant", "enter/Theirs", body)


# --- what was checked against one component runs on no other


class Vault:
    def __init__(self, pin: Annotated[str, Sensitive] = "", user: str = "ann"):
        self.user = user

    def count(self, to: int):
        CALLED.append("count")

    def rename(self, pin):
        self.user = pin


class Wiper:
    def count(self, to: int):
        CALLED.append("wiped")


def wiper(pin: str = ""):
    return Wiper()


COUNTS = {
    "call": {"play": [["call", "count", {"to": 1}]]},
    "dispatch": {"play": [["dispatch", ["count", {"to": 1}]]]},
    "event": {"events": [["count", {"to": 1}]]},
    "teardown": {"loaders_teardown": [["count", {"to": 1}]]},
}


@pytest.fixture
def safe():
    CALLED.clear()
    repl_pair.story("shop.vault", component=Vault, args={"pin": "p9-x"})
    repl_pair.variant("shop.vault/Mine", args={"pin": "p9-y"})
    repl_pair.story("shop.wiper", component=wiper)


def test_a_story_of_an_agents_keeps_its_component_while_it_has_variants(safe, agent):
    agent.write("story", "ag.s", {"component_of": "shop.vault"})
    agent.write("variant", "ag.s/X", COUNTS["call"])
    assert "take them out first" in agent.fault("story", "ag.s", {"component_of": "shop.wiper"})
    agent.write("story", "ag.s", {"component_of": "shop.vault", "doc": "again"})
    agent.ask("unregister", kind="story", id="ag.s")
    assert "take them out first" in agent.fault("story", "ag.s", {"component_of": "shop.wiper"})
    agent.ask("unregister", kind="variant", id="ag.s/X")
    agent.write("story", "ag.s", {"component_of": "shop.wiper"})


def swap(story, component):
    """Put another component behind a story, as the person does who runs a cell again."""
    REGISTRY.unregister("story", story)
    repl_pair.story(story, component=component)


@pytest.mark.parametrize("how", COUNTS)
def test_lines_of_an_agents_call_no_method_of_another_object(safe, agent, how):
    agent.write("variant", f"shop.vault/{how}", COUNTS[how])
    assert repl_pair.run(f"shop.vault/{how}").status != "cannot_run"
    assert CALLED == ["count"]
    swap("shop.vault", wiper)
    record = repl_pair.run(f"shop.vault/{how}")
    assert CALLED == ["count"]
    assert "not one of the public methods" in record.reason


def test_the_persons_lines_call_what_the_component_gives(safe, agent):
    repl_pair.variant("shop.wiper/A", play=[["call", "count", {"to": 1}]])
    repl_pair.variant("shop.wiper/B", plays={"b": [["dispatch", ["count", {"to": 1}]]]})
    agent.write("mode", "none", {"args": {}})
    for id in ("shop.wiper/A", "shop.wiper/B"):
        assert repl_pair.run(id, modes=["none"]).status == "pass"
    assert CALLED == ["wiped", "wiped"]


def test_a_secret_is_not_taken_to_what_became_another_component(safe, agent):
    repl_pair.story("shop.other", component=Vault)
    agent.write("variant", "shop.other/X", {"extends": "shop.vault/Mine"})
    swap("shop.other", wiper)
    assert "holds a secret for another story's component" in repl_pair.run("shop.other/X").reason


def test_a_secret_arg_goes_out_as_no_event_of_an_agents(safe, agent):
    body = {"args_to_events": {"pin": "rename"}}
    assert "'pin' is a secret" in agent.fault("variant", "shop.vault/X", body)

    class Plain(Vault):
        def __init__(self, pin: str = ""):
            self.user = pin

        def rename(self, pin):
            CALLED.append(pin)

    repl_pair.story("shop.plain", component=Plain, args={"pin": "p9-x"})
    agent.write("variant", "shop.plain/X", body)
    repl_pair.run("shop.plain/X")
    assert CALLED == ["p9-x"]
    swap("shop.plain", Vault)
    assert "'pin' is a secret" in repl_pair.run("shop.plain/X").reason


TUPLE = {"$type": "tuple", "value": ["call", "count"]}
NO_LIST = {"$type": "set", "value": [TUPLE]}


@pytest.mark.parametrize(
    "body",
    [
        {"plays": [{"name": "a", "steps": NO_LIST}]},
        {"plays": {"a": NO_LIST}},
        {"plays": {"a": {"steps": NO_LIST}}},
    ],
)
def test_only_a_list_holds_lines(safe, agent, body):
    assert "this is a list, not a" in agent.fault("variant", "shop.wiper/X", body)


@pytest.mark.parametrize(
    "slot",
    ["content", "decorators", "events", "init", "loaders_teardown", "modes", "play", "plays"],
)
@pytest.mark.parametrize("value", [{("call", "count")}, frozenset({"quiet"})])
def test_a_slot_of_lines_takes_nothing_but_a_list(slot, value):
    reading = Reading(find=REGISTRY.find, ids=REGISTRY.ids)
    CHECKS[slot](reading, slot, frozenset(value))
    if slot == "modes":  # one id may stand alone
        assert "is named by its id" in reading.faults[0]
    else:
        assert reading.faults == [f"{slot}: this is a list, not a frozenset."]


def test_methods_of_what_is_installed_are_nobodys_own(agent):
    repl_pair.story("shop.event", component=threading.Event)
    repl_pair.story("shop.model", component=pydantic.BaseModel)
    for story, method in (("shop.event", "wait"), ("shop.model", "model_dump_json")):
        stated = agent.fault("variant", f"{story}/X", {"play": [["call", method]]})
        assert f"nothing handles {method!r}" in stated


def test_a_play_near_a_secret_stands_in_no_next_step(agent):
    def sign(pin: Annotated[str, Sensitive] = ""):
        return pin

    repl_pair.story("shop.sign", component=sign, args={"pin": "w4-k"})
    repl_pair.variant("shop.sign/Wrong", play=[check.path_equals("result", "k4-w")])
    repl_pair.run("shop.sign/Wrong")
    agent.ask("read_failures")
    assert agent.last.next_steps[1] == next_step(
        "register_variant", variant_id="shop.sign/Wrong_2", body={"extends": "shop.sign/Wrong"}
    )


def test_a_condition_that_is_neither_id_nor_list_is_refused(shop, agent):
    stated = agent.fault("variant", "shop.total/New", {"loaders_complete_when": False})
    assert "neither a condition's id nor a list of effects" in stated


def test_args_to_events_that_are_a_text_are_refused(shop, agent):
    stated = agent.fault("variant", "shop.total/New", {"args_to_events": "args.pin"})
    assert "args_to_events is a mapping of args to the names of events" in stated


def test_an_id_that_a_tier_hides_is_refused_without_saying_whose_it_is(shop):
    repl_pair.mode("hidden", args={}, tier="person")
    Agent().write("mode", "theirs", {"args": {}})
    narrow = Agent(tier="agent")
    for id in ("hidden", "theirs"):
        stated = narrow.fault("mode", id, {"args": {}})
        assert stated == f"The id {id!r} cannot be used; pick another."
        wrong = [narrow.fault("mode", one, {"nonsense": 1}) for one in (id, "free")]
        assert wrong[0].replace(id, "free") == wrong[1]
