"""Three tokens at one kernel: each sees its own tier, and nothing of the others in any answer.

What one tier has is named by a word of its own. The answers of the first token are read while its
tier is alone in the kernel. Then the others come: it is answered as before, and each of them, but
for the words, as the first one was.
"""

import json
import re
from base64 import b64encode
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest
from serving import STATELESS, make_token, serve

from repl_pair.bridge import manifest
from repl_pair.mcp_server.pages import PAGE
from repl_pair.mcp_server.prompts import PROMPTS
from repl_pair.mcp_server.uris import ROWS, TEMPLATES

WORDS = {"user": "zuzu", "agent": "zaza", "ops": "zozo"}
"""A tier, and the word in the names of all that it has; the words differ in their vowels."""
NOBODY = "zizi"
SETUP = """
import repl_pair
from repl_pair import check

def add(a: int = 1, b: int = 2) -> int:
    return a + b

def register(tier, word):
    story = f"shop_{word}.sum"
    repl_pair.tag(word, tier=tier)
    repl_pair.mode(f"mode/{word}", args={"a": 3}, axis="size", tier=tier)
    repl_pair.decorator(f"deco/{word}", wrap=lambda inner, context: inner, tier=tier)
    repl_pair.panel(f"panel/{word}", title=word, placement="right", render=lambda: "", tier=tier)
    repl_pair.story(story, component=add, tags=[word], modes=[f"mode/{word}"], tier=tier)
    for n in range(3):
        repl_pair.variant(f"{story}/V{n}", args={"a": n}, tags=[word], tier=tier,
                          play=[check.result_equals(4)])
    repl_pair.workspace(f"shop_{word}/desk", layout="variants_grid", story=story, tier=tier)
    app = repl_pair.surface(f"app_{word}", tier=tier)
    app.collection("items", dict[str, dict], expose=True).update({word: {"n": 1}})
    function(tier, f"act_{word}.long")
    register.levels[tier] = app.cell("level", int, default=1, expose=True)

def function(tier, id):
    word = id[4:8]
    repl_pair.function(id, tier=tier, expose=True, mutates=False)(lambda: [word] * 80)

def many(tier, word, more=""):
    app = repl_pair.surface(f"many_{word}{more}", tier=tier)
    for n in range(PAGE + 1):
        app.cell(f"c{n}", int, default=0, expose=True)

register.levels = {}
"""
NOT_THERE = {"use_kernel"}
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
SHOWN = (
    *("tools/list", "resources/list", "list_stories", "list_variants", "list_surfaces"),
    *("list_functions", "list_tags", "list_modes", "list_decorators", "list_workspaces"),
    *("list_panels", "get_story", "run_function", "read_member", "read_failures"),
    *("resources/read", "completion/complete", "pair://functions", *PROMPTS),
)
"""Of what is asked, what must name the own tier: an answer of nothing would be like any other."""
ALWAYS_NEW = {
    *("boot", "seq", "kernel", "revision", "elapsed_ms", "run_id", "at", "next", "handle"),
    *("age_s", "idle_s", "last_activity_s", "since_s", "clients", "principal"),
}


@pytest.fixture(scope="module")
def tokens(http_env, kernel):
    return {tier: make_token(http_env, tier, tier=tier, allow=("write",)) for tier in WORDS}


@pytest.fixture(scope="module")
def server(http_env, tokens, kernel):
    with serve(http_env, "--http-builtins", "--kernel", kernel.path) as server:
        yield server


@pytest.fixture(scope="module")
def alone(server, kernel, tokens):
    """What the first token is answered alone; the others' tiers are there from then on."""
    kernel.cell("register('user', 'zuzu')")
    first = answers(server, tokens["user"], WORDS["user"], [NOBODY])
    kernel.cell("register('agent', 'zaza'); register('ops', 'zozo')")
    return first


# --- what is asked


def args_of(word):
    """Return arguments, by their names, for what the tier of a word has."""
    story = f"shop_{word}.sum"
    return {
        "story_id": story,
        "variant_id": f"{story}/V0",
        "workspace_id": f"shop_{word}/desk",
        "decorator_id": f"deco/{word}",
        "member": f"app_{word}/items",
        "function": f"act_{word}.long",
        "name": f"act_{word}.long",
        "call": f"act_{word}.long",
        "every_s": "60",
        "id": f"panel/{word}",
        "tags": [word],
        "surface": f"app_{word}",
        "key": word,
    }


def calls_of(word, *, is_own):
    """Return calls of ops about what the tier of a word has; none registers or retires anything."""
    known = args_of(word)
    variant, tags = known["variant_id"], known["tags"]
    for entry in manifest.load():
        name, required = entry["name"], entry["input_schema"]["required"]
        is_read = entry["access"] == "read" and not entry.get("internal")
        is_about_word = {*required} <= known.keys() and (required or is_own)
        if is_read and is_about_word and name not in NOT_THERE:
            yield name, {each: known[each] for each in required}
    yield "read_op", {"op": "get_story", "args": {"story_id": known["story_id"]}}
    yield "run_op", {"op": "reset_variant", "args": {"variant_id": variant}}
    yield "run_variant", {"variant_id": variant}
    yield "run_variants", {"tags": tags}
    yield "run_variants", {"story_id": known["story_id"]}
    yield "explain_variant", {"variant_id": variant, "modes": [f"mode/{word}"]}
    yield "preview_variant", {"variant_id": variant}
    yield "run_function", {"function": known["function"]}
    yield f"act_{word}__long", {}
    yield "read_failures", {"tags": tags}
    yield "read_member", {"member": known["member"], "key": word}
    if is_own:
        yield "run_variants", {}
    else:
        yield "trigger_void", {"call": known["call"]}
        trigger = {"call": "list_stories", "on": {"changed": known["member"]}}
        yield "register_trigger", trigger
        yield "create_annotation", {"target": f"variant:{variant}", "content": "x"}
        yield "unregister", {"kind": "variant", "id": variant}
        yield "register_variant", {"variant_id": "mine/V", "body": {"extends": variant}}


def requests_of(word, *, is_own):
    """Return requests about what the tier of a word has: a method and its parameters."""
    if is_own:
        yield from ((method, {}) for method in LISTS)
        yield from (("resources/read", {"uri": row.uri}) for row in ROWS)
        yield from (("prompts/get", {"name": prompt}) for prompt in PROMPTS)
    for name, args in calls_of(word, is_own=is_own):
        yield "tools/call", {"name": name, "arguments": args}
    for template in TEMPLATES:
        member = "items" if "{key}" in template.uri else "level"
        known = args_of(word) | {"member": member}
        yield "resources/read", {"uri": template.uri.format_map(known)}
        ref = {"type": "ref/resource", "uri": template.uri}
        for name in re.findall(r"{(\w+)}", template.uri):
            yield "completion/complete", completion(ref, name, known, word)
    known = args_of(word) | {"tags": word}
    for prompt in PROMPTS.values():
        args = {argument.name: known[argument.name] for argument in prompt.arguments}
        yield "prompts/get", {"name": prompt.name, "arguments": args}
        for name in args:
            ref = {"type": "ref/prompt", "name": prompt.name}
            yield "completion/complete", completion(ref, name, known, word)


def completion(ref, name, known, word):
    """Return what asks for the values that begin as those of all words do."""
    before, letter, _ = known[name].partition(word[0])
    context = {name: known[name] for name in ("surface", "member")}
    argument = {"name": name, "value": before + letter}
    return {"ref": ref, "argument": argument, "context": {"arguments": context}}


# --- what is answered


def without_what_is_new(node):
    if isinstance(node, dict):
        left_out = ALWAYS_NEW | ({"content"} if "structuredContent" in node else set())
        if node.get("mimeType") == "application/json" and "text" in node:
            node = node | {"text": json.loads(node["text"])}
        return {k: without_what_is_new(v) for k, v in node.items() if k not in left_out}
    return [without_what_is_new(part) for part in node] if isinstance(node, list) else node


def masked(data, own):
    """Write data without what is new in each answer, and without words: `OWN`, or `OTHER`."""
    text = json.dumps(without_what_is_new(data), sort_keys=True)
    # Its own cell, a hash of its names, and its own tier, as a prompt writes it.
    text = re.sub(r'In\[\d\]|rp1:[0-9a-f]+|tier=\\+"\w+', "NEW", text)
    for word in (*WORDS.values(), NOBODY):
        text = re.sub(word, "OWN" if word == own else "OTHER", text, flags=re.IGNORECASE)
    return text


def answers(server, token, own, others):
    """Ask everything as the token of a word, about its own tier and about others.

    A question that differs in the others' words only is answered in the same way.
    """
    call(server, token, "run_variants")  # all have a last run
    found = {}
    for word in (own, *others):
        for method, params in requests_of(word, is_own=word == own):
            message = server.ask(token, method, params).message
            asked, answer = masked([method, params], own), masked(message, own)
            assert found.setdefault(asked, answer) == answer, asked
    return found


def call(server, token, op, **args):
    """Call an op; gives the envelope."""
    answer = server.ask(token, "tools/call", {"name": op, "arguments": args})
    return answer.message["result"]["structuredContent"]


def show(asked, before, after):
    """Return where two answers begin to differ."""
    at = next(at for at in range(len(before)) if before[at] != after[at : at + 1])
    return f"{asked}\n  {before[at - 40 : at + 80]}\n  {after[at - 40 : at + 80]}"


def test_each_token_sees_its_tier_as_if_there_were_no_other(server, tokens, alone):
    for tier, own in WORDS.items():
        others = [word for word in WORDS.values() if word != own]
        now = answers(server, tokens[tier], own, others)
        assert now.keys() == alone.keys()
        changed = [asked for asked in now if now[asked] != alone[asked]]
        assert changed == [], "\n".join(show(each, alone[each], now[each]) for each in changed)
    for face in SHOWN:
        own = [alone[asked] for asked in alone if f'"{face}"' in asked]
        assert any("OWN" in answer for answer in own), face


@contextmanager
def changes_of(server, token, uri):
    """Collect the changes of which a token is notified: of its tools, and of one resource."""
    came = []
    with server.connect(token, STATELESS) as opened:
        opened.tool_names()
        listening = opened.client.listen(tools_list_changed=True, resource_subscriptions=[uri])
        with opened.portal.wrap_async_context_manager(listening) as stream:

            async def collect():
                async for event in stream:
                    came.append(getattr(event, "uri", "tools"))  # noqa: PERF401  counted meanwhile

            following = opened.portal.start_task_soon(collect)
            yield came
            following.cancel()


def test_a_change_reaches_the_token_of_its_tier_alone(server, kernel, tokens, alone, until):
    since = {t: call(server, tokens[t], "read_changes")["result"]["next"] for t in WORDS}
    uris = {tier: f"surface://app_{word}/level" for tier, word in WORDS.items()}
    with ExitStack() as stack:
        came = {t: stack.enter_context(changes_of(server, tokens[t], uris[t])) for t in WORDS}
        for tier, word in WORDS.items():
            kernel.cell(f"register.levels[{tier!r}].set(7); function({tier!r}, 'act_{word}.more')")
            until(partial(came[tier].__contains__, uris[tier]), "the change of a value")
            until(partial(came[tier].__contains__, "tools"), "the change of the tools")
    assert {t: sorted(came[t]) for t in WORDS} == {t: [uris[t], "tools"] for t in WORDS}
    for tier, own in WORDS.items():
        page = call(server, tokens[tier], "read_changes", since=since[tier])["result"]
        text = json.dumps(page["items"])
        assert [word for word in (*WORDS.values(), NOBODY) if word in text] == [own]
        assert (page["total"], "left" in page) == (len(page["items"]), False)


PAGED = {"list_variants": b64encode(b"0" * 12 + b":1").decode(), "resources/list": "0" * 16}
"""What answers in pages, with a cursor that none of it gave."""


def read_page(server, token, face, cursor=None):
    """Return a page, or the error, as text, and the cursor of the next page."""
    beside = {} if cursor is None else {"cursor": cursor}
    if "/" in face:
        message = server.ask(token, face, beside).message
        return masked(message, ""), message.get("result", {}).get("nextCursor")
    reply = call(server, token, face, limit=1, **beside)
    return masked(reply, ""), reply.get("result", {}).get("cursor")


@pytest.mark.parametrize("face", PAGED)
def test_a_cursor_is_of_its_own_token_and_no_other_tier_ends_it(
    server, kernel, tokens, alone, face
):
    kernel.cell(f"PAGE = {PAGE}\nfor each in (('user', 'zuzu'), ('ops', 'zozo')): many(*each)")
    user, ops = tokens["user"], tokens["ops"]
    _, cursor = read_page(server, user, face)
    assert cursor
    next_page, _ = read_page(server, user, face, cursor)
    foreign = read_page(server, ops, face, cursor)
    assert foreign == read_page(server, ops, face, PAGED[face])
    assert foreign[1] is None
    kernel.cell("many('ops', 'zozo', 'x'); repl_pair.variant('shop_zozo.sum/A', tier='ops')")
    assert read_page(server, user, face, cursor)[0] == next_page


def test_what_one_token_keeps_reads_for_another_like_none(server, tokens, alone):
    function = "act_zuzu.long"
    reply = call(server, tokens["user"], "run_function", function=function)["result"]
    run = call(server, tokens["user"], "trigger_void", call=function)["result"]["run"]
    every = {"call": function, "on": {"every_s": 3600}}
    trigger = call(server, tokens["user"], "register_trigger", **every)["result"]["trigger"]
    for op, slot, kept in (
        ("read_more", "handle", reply["value"][-1]["$elided"]["handle"]),
        ("read_run", "run", run),
        ("cancel_run", "run", run),
        ("unregister_trigger", "trigger", trigger),
    ):
        foreign, none = (
            masked(call(server, tokens["ops"], op, **{slot: given}), "").replace(given, "GIVEN")
            for given in (kept, kept[:-6] + "0" * 6)
        )
        assert foreign == none
        assert json.loads(none)["error"]["code"] == "not_found"
        assert call(server, tokens["user"], op, **{slot: kept})["ok"], op
