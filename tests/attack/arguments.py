"""Arguments for any op, drawn from its schema, from what was answered before, and hostile ones."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any
from urllib.parse import quote

from places import PLACES

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Policy
from repl_pair.runtime.authoring.agent_bodies import FORMS
from repl_pair.runtime.authoring.composing import LAYOUTS

LAST = 3
"""How many of the last values of a pool are chosen more often than those before."""
WAITS = ("wait_s", "duration_ms")
"""What is always given, since the call waits that long."""
ANSWERED_S = 0.3
"""In this time the person has answered every call that waits."""
SECONDS = {"wait_s": (0, 0.01), "timeout_s": (5, 30, 30, 0.03)}
NUMBERS = {"duration_ms": (0, 5), "limit": (1, 3, 7, 25, 200), "since": (0, 1, 10**6),
           "offset": (0, 1, 5, 1999), "columns": (1, 3), "seconds": (0.1, 0.2)}  # fmt: skip
OFTEN = {
    "overrides": 0.7,
    "modes": 0.15,
    "cursor": 0.05,
    "timeout_s": 0.1,
    "tags": 0.2,
    "annotation_ids": 0.1,
}
"""How often a parameter is given that need not be."""
EITHER: Mapping[str, tuple[str, Mapping[str, Collection[str]]]] = {
    "workspace": ("layout", LAYOUTS),
    "decorator": (
        "kind",
        {
            "frame_setup": ("init", "teardown", "patch"),
            "fx_override": ("response", "responses"),
        },
    ),
}
"""The slots of bodies that depend on a word in another."""
WORDS = {
    "kind": tuple(FORMS),
    "tag_filter": ("attack", "!attack"),
    "base_url": ("http://127.0.0.1:8888/lab", "http://h/?a#b", "repl-pair:notebook"),
    "axis": ("currency", "options"),
    "layout": tuple(LAYOUTS),
    "placement": ("left", "right", "modal"),
    "isolation": ("isolated", "shared"),
    "default_filter": ("include", "exclude"),
    "plays": ("first", "second", "default"),
    "goal": ("Mend the attack.", "ATTACK_TOKEN"),
    "domain": ("attack", "attack", "..", "ATTACK_TOKEN"),
    "contract": ("show", "show", "../../realm", "shwo"),
    "realm": ("attack", "realm", "..", "/etc", "realm/realm.json"),
    "repos": ("here", "here", "..", "ATTACK_TOKEN"),
    "rfc": ("0001", "0002", "../out", "-f", "ATTACK_TOKEN"),
    "target": (
        "doc:attack.md",
        "doc:attack.md#Plain",
        "doc:nothing.md",
        "doc:../x.md",
        "notebook:attack.ipynb#1",
        "variant:attack.show/Plain",
    ),
    "quote": ("plain", "[redacted]", ""),
    "match": ("v_", "password", "import ", "ATTACK_TOKEN", "[redacted]"),
}
"""Valid words of slots whose schema names none."""
FIRING = ({"every_s": 3600}, {"every_s": 3600}, {"changed": "a/nothing"}, {"every_s": 0}, {})
"""When a trigger fires: not within an attack."""
OF_THE_SERVER = ("run", "trigger", "worker")
"""What a server keeps, whatever becomes of the kernel."""
POOL_OF = {"ids": "variant", "modes": "mode", "listed": "mode", "tags": "tag", "extends": "variant",
           "tag_filter": "tag", "component_of": "story", "variants": "variant", "render": "panel",
           "decorators": "decorator", "loaders": "loader", "substrates": "substrate",
           "loaders_complete_when": "derived", "parent_id": "annotation",
           "annotation_ids": "annotation"}  # fmt: skip
"""The kinds that slots take ids of, where their names are not those of the kinds."""
ROOTS = ("args", "result", "state", "last", "events", "stdout", "logs", "effects")
STEPS = (
    *("__class__", "__dict__", "__init__", "__globals__", "_token", "_password", "__mro__[1]"),
    *("names", "modules", "log.handlers[0].stream", "log.manager", "out", "plan", "_flavour"),
    *("__subclasses__", "f_back", "gi_frame", "__builtins__", "tell.__func__", "parent", "ns"),
)
"""Steps of paths that lead out of data."""
METHODS = ("fill", "tell", "keep")
ODD_METHODS = ("plan", "__init__", "_token", "fill", "nothing")
TEXTS = ("plain", "", "a" * 3_000, "x\0y", "\u2028\u0085\u3164\u200b", "<script>&amp;", "{{7*7}}",
         "../../etc/passwd", "\x1b[31m", "https://ann:plain@h", "é" * 40)  # fmt: skip


COMPLETED = (
    ("{surface}/{member}", "surface"),
    ("{surface}/{member}", "member"),
    ("{surface}/{member}/{key}", "key"),
    ("repl_pair/variants/{variant_id}", "variant_id"),
    ("repl_pair/nothing/{story_id}", "story_id"),
)
"""Templates of URIs and variables of them that are completed."""
KNOWN = [place.name for place in PLACES if place.known]
WHOLE = ("{}", "{};", "x = 1\n{}", "type({}).__name__", "x = {}", "[{}] and 1")
"""Code over a variable, in which nothing leaves the place where it stands."""
SAID = ("print({})", "raise ValueError({})", "[{0}, {{{0}: 1}}]", "made = {}\nmade", "repr({})",
        "import sys; print({}, file=sys.stderr)", "import json; json.dumps([{}])",
        "{}.encode().hex()", "import warnings; warnings.warn({})", "display({})",
        "import base64; base64.b64encode({}.encode()).decode()", "def f(): return {}\nf()",
        "import asyncio; await asyncio.sleep(0, {})", "x = = {}",
        "'at ' + {} + ', here'")  # fmt: skip
"""Code that says a secret which the kernel knows."""
ODD = ("raise SystemExit", "raise KeyboardInterrupt", "exit()", "input()", "x = = 1", "%pwd", "_",
       "import os; os._exit(1)", "1 / 0", "'\\ud800'", "", "raise BaseException")  # fmt: skip


def pool_of(name: str) -> str:
    """Return the kind of entry that a parameter of this name takes the id of."""
    return POOL_OF.get(name) or name.removesuffix("_id").removeprefix("new_")


def without_waits(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that waits for nothing, nor does the call in it."""
    own = {"wait_s": 0} if "wait_s" in args else {}
    inner = args.get("args")
    return {**args, **own} | ({"args": without_waits(inner)} if isinstance(inner, dict) else {})


class Generator:
    """Draws calls; the same seed and the same answers give the same calls."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.ops: Mapping[str, Any] = {d["name"]: d for d in manifest.load()}
        self.pools: dict[str, list[str]] = defaultdict(list)
        self.pages: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """Arguments that ask each op for its next page."""
        self.schemas: dict[str, Any] = {}
        """The schemas of the args of stories."""
        self.reached = Counter[str]()
        """How often each op was answered with ok."""
        self.steps: list[tuple[str, dict[str, Any]]] = []
        """The next calls that the last replies named."""
        self.is_waiting = False
        """Whether the last call waits for the person."""
        self.refused = Counter[str]()
        self._lasting: dict[str, list[str]] = {}

    def keep(self) -> None:
        """Let what the pools hold now be there at the begin of each chain."""
        self._lasting = {name: list(held) for name, held in self.pools.items()}

    def begin(self) -> None:
        """Forget what a chain before this one was answered, but for what the server keeps."""
        kept = self._lasting | {name: self.pools[name] for name in OF_THE_SERVER}
        self.pools = defaultdict(list, {name: list(held) for name, held in kept.items()})
        self.pages.clear()
        self.steps.clear()

    def feed(self, op: str, args: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Take up what a reply holds that later calls can name."""
        answer = reply.get("result")
        self.steps = [
            *self.steps[-LAST:],
            *((step["op"], step["args"]) for step in reply.get("next_steps", ())),
        ]
        if reply.get("ok"):
            self.reached[op] += 1
            for name, value in args.items():
                if isinstance(value, str) and name.endswith("_id"):
                    self.put(pool_of(name), value)
                    if op.startswith("register_"):
                        self.put("registered", f"{pool_of(name)} {value}")
        if isinstance(answer, dict):
            self.feed_ids(op, args, answer)
        handle = "approval" if reply.get("error") else "handle"
        queue = [answer, reply.get("error")]
        for node in queue:
            if isinstance(node, dict):
                queue += node.values()
                if isinstance(node.get("handle"), str):
                    self.put(handle, node["handle"])
            elif isinstance(node, list):
                queue += node

    def feed_ids(self, op: str, args: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Take up the ids of a list, its next page, schemas of args, and paths into values."""
        listed = op.removeprefix("list_").removesuffix("s").replace("storie", "story")
        for item in answer.get("items", ()) if op.startswith("list_") else ():
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                self.put(listed, item["id"])
        if isinstance(answer.get("cursor"), str):
            self.pages[op].append({**args, "cursor": answer["cursor"]})
        if isinstance(answer.get("args_schema"), dict):
            self.schemas[str(answer.get("id"))] = answer["args_schema"]
        if op == "list_surfaces":
            for surface in answer.get("items", ()):
                for member in surface["members"]:
                    self.put("member", member["id"])
        if op == "session_start":
            self.put("session", answer["id"])
        for name in OF_THE_SERVER:
            if isinstance(answer.get(name), str):
                self.put(name, answer[name])
        if op == "list_functions":
            self.schemas |= {line["id"]: line["schema"] for line in answer.get("items", ())}
        if op == "read_member":
            for item in answer.get("items", ()):
                self.put("key", item["key"])
        if op == "get_value":
            inner = answer.get("value")
            for key in list(inner)[:20] if isinstance(inner, dict) else ():
                self.put("path", f"{args['path']}.{key}")
            if isinstance(inner, list):
                self.put("path", f"{args['path']}[{self.rng.randrange(len(inner) + 1)}]")

    def put(self, pool: str, value: str) -> None:
        """Remember a value as the last one of its pool."""
        held = self.pools[pool]
        if value in held:
            held.remove(value)
        held.append(value)

    def call(self, policy: Policy) -> tuple[str, dict[str, Any]]:
        """Draw a call: one that a reply named, or one of its own."""
        if self.steps and self.rng.random() < (0.9 if self.is_waiting else 0.2):
            op, args = self.steps[-1] if self.is_waiting else self.rng.choice(self.steps)
            if self.ops.get(op, {}).get("lane") != "main":
                args = without_waits(args)
            if self.is_waiting:
                return op, args | {"wait_s": ANSWERED_S}
            return op, args if self.rng.random() < 0.9 else self.with_hostile_part(args)
        if self.rng.random() < 0.08:
            return self.rng.choice((self.tool, self.resource, self.completion))()
        op = self.choose_op(policy)
        return op, self.arguments(op)

    # --- what is no op

    def access(self, op: str) -> str:
        """Return what a call needs: tools of functions run, other requests of a client read."""
        return self.ops[op]["access"] if op in self.ops else "read" if "/" in op else "run"

    def tool(self) -> tuple[str, dict[str, Any]]:
        """Draw a call of a function of the app by its tool."""
        function = str(self.fed("function"))
        args = self.args_of(function)
        whole = args if self.rng.random() < 0.8 else self.with_hostile_part(args)
        return function.replace(".", "__").lower().replace("/", "_"), whole

    def resource(self) -> tuple[str, dict[str, Any]]:
        """Draw a read of a resource, or a list of them."""
        rng = self.rng
        if rng.random() < 0.3:  # few calls are such reads
            return rng.choice(("resources/list", "resources/templates/list")), {}
        own = ("stories", "story"), ("variants", "variant"), ("results", "variant")
        word, kind = rng.choice(own)
        member = self.fed("member")
        uris = (
            *(f"surface://{member}", f"surface://{member}/{quote(self.fed('key'), safe='')}"),
            *(f"surface://repl_pair/{word}/{self.fed(kind)}", f"surface://repl_pair/{word}"),
            *("surface://repl%5Fpair/registry%2Fmember", f"surface://{quote(member, safe='')}"),
        )
        return "resources/read", {"uri": rng.choice(uris)}

    def completion(self) -> tuple[str, dict[str, Any]]:
        """Draw what a client asks to complete."""
        surface, _, member = str(self.fed("member")).partition("/")
        template, name = self.rng.choice(COMPLETED)
        return "completion/complete", {
            "ref": {"type": "ref/resource", "uri": f"surface://{template}"},
            "argument": {"name": name, "value": self.rng.choice(("", "", "a", "k", "attack"))},
            "context": {"arguments": {"surface": surface, "member": member}},
        }

    def choose_op(self, policy: Policy) -> str:
        """Choose an op: one that few calls reached, any that the gates open, or any of all."""
        names = [d["name"] for d in policy.permitted(self.ops.values())]
        if (chance := self.rng.random()) < 0.05:
            return min(self.ops, key=lambda name: (self.refused[name], name))
        if chance < 0.25:
            names.sort(key=lambda name: (self.reached[name], name))
            return self.rng.choice(names[:4])
        return self.rng.choices(names, [self.weight(name) for name in names])[0]

    def weight(self, name: str) -> int:
        """Return how often an op is tried: the more, the more it takes and does."""
        descriptor = self.ops[name]
        slots = 1 + min(len(descriptor["input_schema"]["properties"]), 5)
        if descriptor["lane"] == "main":
            return 5 * slots  # a run
        return slots * {"read": 1, "inspect": 8}.get(descriptor["access"], 2)

    def arguments(self, op: str) -> dict[str, Any]:
        """Draw arguments: mostly such as fit, some with one fault, some with one hostile part."""
        if self.pages[op] and self.rng.random() < 0.4:
            return self.rng.choice(self.pages[op])
        args = self.fitting(op)
        if op == "unregister" and self.pools["registered"] and self.rng.random() < 0.7:
            args["kind"], _, args["id"] = self.fed("registered").partition(" ")
        chance = self.rng.random()
        if chance < (0.1 if self.refused[op] else 0.5):
            return self.with_fault(args)
        return self.with_hostile_part(args) if chance < 0.2 else args

    # --- what fits

    def fitting(self, op: str, depth: int = 0) -> dict[str, Any]:
        """Draw arguments as the schema of an op has them."""
        schema = self.ops[op]["input_schema"]
        args: dict[str, Any] = {}
        for name, part in schema["properties"].items():
            chance = OFTEN.get(name, 0.3)
            if name in schema["required"] or name in WAITS or self.rng.random() < chance:
                args[name] = self.argument(op, name, part, args, depth)
        if "kernel" not in args and self.rng.random() < 0.03 and self.pools["kernel"]:
            args["kernel"] = self.fed("kernel")
        return args

    def argument(self, op: str, name: str, part: Any, args: dict[str, Any], depth: int) -> Any:
        """Draw one argument; `args` are those before it."""
        if name == "body":
            kind = op.removeprefix("register_")
            return self.body(kind, str(args.get(f"{kind}_id", "")))
        if name == "overrides":
            return self.args_of(str(args.get("variant_id", "")).partition("/")[0])
        if op == "run_function" and name == "args":
            return self.args_of(str(args["function"]))
        if op == "run_op" and name == "args":
            inner = args["op"]
            return self.fitting(inner, depth + 1) if depth < 2 else {}
        if name == "call":  # what runs later must not change anything under another call
            return self.rng.choice([n for n, d in self.ops.items() if d["access"] == "read"])
        if name == "args" and "call" in args:
            inner = args["call"]
            return self.fitting(inner, depth + 1) if depth < 2 else {}
        if name == "on" and op == "register_trigger":
            return self.rng.choice(FIRING)
        if name == "op":
            return self.rng.choice(list(self.ops))
        if name == "path":
            known = self.pools["path"] and self.rng.random() < 0.4
            return self.fed("path") if known else self.path(self.pools["variable"])
        if name == "cursor":
            return self.rng.choice(TEXTS)
        if name == "handle" and self.ops[op]["toolset"] == "approval":
            return self.fed("approval")
        if op == "unregister" and name == "id":
            return self.fed(args["kind"])
        if op == "register_worker" and name == "code":
            return self.rng.choice(("kept = 1", "kept = 1", "kept = = 1", "kept = 1 / 0"))
        if op == "eval_code" and name == "code":
            return self.code()
        if name in ("new_variant_id", f"{op.removeprefix('register_')}_id"):
            return self.new_id(pool_of(name))
        if name == "wait_s" and self.ops[op]["lane"] == "main":
            return self.rng.choice((5, 5, 5, 0))  # the main lane is free soon
        return self.word(name, part)

    def word(self, name: str, part: Any) -> Any:
        """Draw a value for a parameter or slot by its name and its schema."""
        rng, kind = self.rng, part.get("type")
        if "enum" in part:
            return rng.choice(part["enum"])
        if kind == "array":
            item = part.get("items", {})
            return [self.word(name, item) for _ in range(rng.choice((0, 1, 1, 2)))]
        if kind in ("integer", "number"):
            return rng.choice(SECONDS.get(name) or NUMBERS.get(name) or (0, 1, 2))
        if kind == "boolean":
            return rng.random() < 0.5
        if kind == "object":
            return self.data()
        if self.pools[pool_of(name)] and name not in ("base_url", "doc"):
            return self.fed(pool_of(name))
        return rng.choice(WORDS.get(name, TEXTS))

    def code(self) -> str:
        """Draw code: over a variable, about a secret that is known, or odd."""
        how = self.rng.random()
        if how < 0.4:
            return self.rng.choice(WHOLE).format(self.fed("variable"))
        if how < 0.8:
            return self.rng.choice(SAID).format(f"VALUES[{self.rng.choice(KNOWN)!r}]()")
        return self.rng.choice(ODD)

    def fed(self, pool: str) -> Any:
        """Choose a value that was answered before, a text where there is none."""
        held = self.pools[pool][-LAST:] if self.rng.random() < 0.4 else self.pools[pool]
        return self.rng.choice(held) if held else self.rng.choice(TEXTS)

    def new_id(self, kind: str) -> str:
        """Draw an id that no one has, or that agents have already."""
        number = self.rng.randrange(6)
        if kind == "variant":
            return f"{self.fed('story')}/Mine_{number}"
        return {"workspace": f"attack.desk/Mine_{number}", "story": f"attack.mine{number}"}.get(
            kind, f"mine_{number}"
        )

    def data(self, depth: int = 0) -> Any:
        """Draw JSON."""
        rng = self.rng
        if rng.random() < 0.02:
            return self.ref()
        if depth > 2 or rng.random() < 0.6:
            return rng.choice((*TEXTS, 0, -1, 2.5, 10**20, True, None, self.path()))
        if rng.random() < 0.5:
            return [self.data(depth + 1) for _ in range(rng.randrange(4))]
        return {rng.choice(("a", "b.c", "note", "x-y")): self.data(depth + 1) for _ in range(2)}

    def path(self, heads: Sequence[Any] = ROOTS) -> str:
        """Draw a path: through data, or out of it."""
        rng = self.rng
        steps = [rng.choice(heads or ROOTS)]
        for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
            inner = ("plain", "value", "options", "a", "[0]", "[-1]", "note", "count", "inner")
            steps.append(rng.choice(inner if rng.random() < 0.8 else STEPS))
        return ".".join(map(str, steps)).replace(".[", "[")

    def args_of(self, story: str) -> dict[str, Any]:
        """Draw args that a story takes, by the schema that get_story gave."""
        schema = self.schemas.get(story) or self.rng.choice([*self.schemas.values(), {}])
        slots = schema.get("properties", {})
        chance = self.rng.choice((0.3, 0.9))
        names = [name for name in slots if self.rng.random() < chance]
        return {name: self.arg(name, slots[name]) for name in names}

    def arg(self, name: str, part: Any) -> Any:
        """Draw one arg; a ref to a loader now and then."""
        if self.rng.random() < 0.06:
            return self.ref()
        if "enum" in part or part.get("type") in ("integer", "boolean"):
            return self.word(name, part)
        return {"options": self.data(), "value": self.data()}.get(name, self.rng.choice(TEXTS))

    def ref(self) -> dict[str, Any]:
        """Draw what stands for what a loader gives."""
        loader = self.fed("loader")
        return {"$ref": loader} | ({"count": 2} if loader == "attack_rows" else {})

    # --- bodies

    def body(self, kind: str, id: str) -> dict[str, Any]:
        """Draw a body of a kind, by the schema of its form."""
        schema = FORMS[kind].schema
        body: dict[str, Any] = {}
        for name, part in schema["properties"].items():
            if name in schema["required"] or self.rng.random() < 0.15:
                draw = self.SLOTS.get(name)
                body[name] = self.word(name, part) if draw is None else draw(self, id)
        slot, slots_by_word = EITHER.get(kind, ("", {}))
        if body.get(slot) in slots_by_word and self.rng.random() < 0.9:
            every = set().union(*slots_by_word.values())
            needed = self.rng.choice(sorted(slots_by_word[body[slot]]))
            body = {name: value for name, value in body.items() if name not in every}
            draw = self.SLOTS.get(needed)
            body[needed] = (
                self.word(needed, schema["properties"][needed]) if draw is None else draw(self, id)
            )
            body |= {"effect": self.fed("effect")} if needed.startswith("response") else {}
        return body

    def lines(self, id: str) -> list[Any]:
        """Draw the lines of a play."""
        return [self.line(id) for _ in range(self.rng.choice((1, 1, 2, 3)))]

    def line(self, id: str) -> list[Any]:
        """Draw one line: a step or an assertion with as many words as it takes."""
        rng = self.rng
        acting = (
            ("dispatch", "set", "call", "wait") if id.startswith("attack.job") else ("dispatch",)
        )
        name = self.fed("assertion") if rng.random() < 0.6 else rng.choice(acting)
        if name == "dispatch":
            return [name, self.event(id)]
        if name == "set":
            heads = ("count", "options", "shown", "options.plain")
            return [name, self.path(heads if rng.random() < 0.7 else STEPS), self.data()]
        if name == "call":
            called = self.event(id)
            return [name, *called] if called[0] in METHODS or rng.random() < 0.1 else ["wait", 0]
        if name == "wait":
            return [name, rng.choice((0, 1))]
        if name.startswith("attack_"):
            slots = self.schemas.get("attack.show", {}).get("properties", {})
            return [name, *(self.word(slot, slots.get(slot, {})) for slot in ("place", "form"))]
        if name in ("raises", "warns"):
            kind = "ValueError" if name == "raises" else "UserWarning"
            return [name, kind, {"match": rng.choice(("plain", "^(a+)+$", ".*"))}]
        if name == "compare":
            return [name, self.path(), rng.choice(("<", ">=", "==")), self.data()]
        count = {
            "no_warnings": 0,
            "no_secret": 0,
            "matches_snapshot": 0,
            "dispatched": 1,
            "result_equals": 1,
            "rendered_text": 1,
            "effect_emitted": 1,
            "within_ms": 1,
        }
        words = [self.path(), self.data(), self.data()][: count.get(name, 2)]
        return [name, *words]

    def event(self, id: str) -> list[Any]:
        """Draw an event: a handler's, a method's, or none."""
        names = [*self.pools["handler"], *(METHODS if id.startswith("attack.job") else ())]
        name = self.rng.choice(names if self.rng.random() < 0.9 else ODD_METHODS)
        slots = self.schemas.get("attack.show", {}).get("properties", {})
        if name in ("tell", "attack_tell"):
            wanted = ("place", "site", "form")
            return [name, {slot: self.word(slot, slots.get(slot, {})) for slot in wanted}]
        given = {"fill": {"count": 2}, "keep": {"note": self.rng.choice(TEXTS)}}
        return [name, given.get(name, {"note": self.data()})]

    def events(self, id: str) -> list[Any]:
        """Draw a list of events."""
        return [self.event(id) for _ in range(self.rng.randrange(3))]

    def uses(self, id: str) -> list[Any]:
        """Draw uses of decorators."""
        own = {"effect": self.fed("effect"), "response": self.data()}
        slots = self.schemas.get("attack.show", {}).get("properties", {})
        wrapped = {slot: self.word(slot, slots.get(slot, {})) for slot in ("place", "site", "form")}
        known = (["attack_wrap", wrapped], ["force_fx_stub", own], self.fed("decorator"))
        return [self.rng.choice(known) for _ in range(self.rng.choice((0, 1, 2)))]

    def patch(self, id: str) -> dict[str, Any]:
        """Draw what a frame is patched with."""
        heads = ("count", "options", "shown", "log", "names")
        return {self.path(heads): self.data() for _ in range(self.rng.choice((1, 2)))}

    def content(self, id: str) -> list[Any]:
        """Draw the blocks of prose."""
        return [{"prose": self.rng.choice(TEXTS)}, {"variant": self.fed("variant")}]

    def sent(self, id: str) -> dict[str, str]:
        """Draw which args are sent as events."""
        return {self.rng.choice(("note", "count", "password")): self.event(id)[0]}

    SLOTS: Mapping[str, Callable[["Generator", str], Any]] = {
        "args": lambda self, id: self.args_of(id.partition("/")[0]),
        "args_to_events": sent,
        "argtypes": lambda self, id: {"note": {"control": "text"}},
        "content": content,
        "decorators": uses,
        "effect": lambda self, id: self.fed("effect"),
        "events": events,
        "init": events,
        "loaders_teardown": events,
        "patch": patch,
        "play": lines,
        "plays": lambda self, id: {"first": self.lines(id), "other": self.lines(id)},
        "response": lambda self, id: self.data(),
        "responses": lambda self, id: [self.data(), {"$raise": "TimeoutError"}],
        "teardown": events,
    }
    """How the slots of bodies are drawn whose schema states too little."""

    # --- what does not fit

    def with_fault(self, args: dict[str, Any]) -> dict[str, Any]:
        """Spoil one argument: left out, misspelled, of another type, or of an id that is none."""
        name = self.rng.choice([*(name for name in args if name not in WAITS), "nonsense"])
        value = args.get(name)
        faults = (
            lambda: {n: v for n, v in args.items() if n != name},
            lambda: {n: v for n, v in args.items() if n != name} | {f"{name}x": value},
            lambda: args | {name: [value]},
            lambda: args | {name: self.rng.choice((None, True, -1, 1e308, {"a": 1}, 10**30))},
            lambda: args | {name: f"{value}x"},
        )
        return self.rng.choice(faults)()

    def with_hostile_part(self, args: dict[str, Any]) -> dict[str, Any]:
        """Put a hostile value in the place of one leaf or one branch."""
        args = json.loads(json.dumps(args))
        places: list[tuple[Any, Any]] = [(args, name) for name in args if name not in WAITS]
        for holder, slot in places:
            node = holder[slot]
            if isinstance(node, dict | list):
                places += [
                    (node, n) for n in (node if isinstance(node, dict) else range(len(node)))
                ]
        if places:
            holder, slot = self.rng.choice(places)
            holder[slot] = self.hostile()
        return args

    def hostile(self) -> Any:
        """Draw a value that is meant to break or to reach something."""
        deep: Any = 1
        for _ in range(self.rng.choice((10, 70, 200))):
            deep = [deep]
        return self.rng.choice(
            (
                *(deep, "x" * 70_000, [0] * 40_000, "\ud800", 10**3000, -1, 1e308),
                *(self.path(), self.path(("__main__", "names", "In", "_", "os", "sys.modules"))),
                *(self.ref(), self.ref() | {"count": 10**9}),
                {"$type": "__main__.Login", "user": "plain"},
                {"$type": "builtins.eval", "value": "1"},
                {"$elided": {"handle": self.fed("handle")}},
                {"$raise": "SystemExit"},
                *({"__class__": "x"}, {"": {"": ""}}, self.fed("handle"), "[redacted]", "password"),
            )
        )
