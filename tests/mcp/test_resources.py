"""Resources over the real server, on a real kernel, with the SDK's client in both eras."""

import asyncio
import json
from urllib.parse import quote

import pytest
from mcp import MCPError, types

from repl_pair.bridge import manifest
from repl_pair.bridge.policy import Policy
from repl_pair.mcp_server.pages import PAGE
from repl_pair.mcp_server.resources import Resources
from repl_pair.wire import ok_reply

SECRET = "Vw6nTq2ZkR9sXb4J"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SETUP = f"""
import repl_pair
from repl_pair import check

api_token = {SECRET!r}
train = repl_pair.surface("training", doc="One run.")
loss = train.cell("loss", float, default=0.5, expose=True)
later = train.cell("later", float, expose=True)
held = train.cell("held", dict, default={{"note": "x {GITHUB} y"}}, expose=True)
hidden = train.cell("hidden", float, default=1.0)
repl_pair.function("act.seen", expose=True)(lambda: 1)
repl_pair.function("act.hidden")(lambda: 1)

def total(prices: list[float]) -> float: return sum(prices)
repl_pair.story("total", component=total)
repl_pair.variant("total/Two", args={{"prices": [4, 9]}}, play=[check.path_equals("result", 13)])
repl_pair.variant("total/Three", args={{"prices": [4, 9]}}, play=[check.path_equals("result", 12)])

def publish_rows(**options):
    global rows
    rows = train.collection("rows", dict[str, int], **options)
    rows.update(a=1, b=2, **{{api_token: 3, {GITHUB!r}: 4}})
publish_rows(expose=True)
"""
ERAS = ["legacy", "auto"]
LOSS = "surface://training/loss"
PAIR = [f"pair://{name}" for name in ("context", "functions", "triggers", "workers")]
NOT_THERE = (
    "surface://training/hidden",
    "surface://training/unknown",
    "surface://training",
    "surface://training/",
    "surface://training/%FF",
    "surface://_own/loss",
    "surface://repl_pair/nonsense",
    "surface://repl_pair/results",
    "surface://repl_pair/registry/story/total",
    "surface://repl_pair/variants/total%2FFour",
    "surface://repl_pair/stories/total/",
    "surface://training/hidden/a",
    "surface://training/rows%2Fa",
    "surface://repl%5Fpair/registry%2Ffunction",
    "surface://repl%5Fpair/registry%2Fnonsense%2Fx",
    "pair://nonsense",
    "pair://functions/act.seen",
    "pair://repl_pair/stories",
    "file:///etc/passwd",
    "surface://training/loss\n",
    "",
)


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(SETUP)


@pytest.fixture(scope="module", params=ERAS)
def reader(kernel, open_reader, request):
    with open_reader(request.param, "--kernel", kernel.path) as reader:
        yield reader


def test_the_list_has_what_is_always_there_and_what_the_view_sees(reader):
    listed = reader.do(reader.agent.client.list_resources)
    uris = [str(each.uri) for each in listed.resources]
    assert uris == sorted(uris)
    assert {"surface://repl_pair/stories", LOSS} < set(uris)
    assert [uri for uri in uris if uri.startswith("pair:")] == PAIR
    assert "surface://training/hidden" not in uris
    assert {each.mime_type for each in listed.resources} == {"application/json"}


MANY = """
many = repl_pair.surface("many")
for number in range(120):
    many.cell(f"m{number:03}", int, default=number, expose=True)
"""
AWAY = """
for id in [*repl_pair.registry.ids("member", "many/")]:
    repl_pair.registry.unregister("member", id)
"""


def test_a_long_list_has_pages_and_refuses_a_cursor_of_none(kernel, reader):
    def page(cursor=None):
        client = reader.agent.client
        found = reader.do(lambda: client.list_resources(cursor=cursor))
        return [str(each.uri) for each in found.resources], found.next_cursor

    kernel.cell(MANY)
    try:
        first, cursor = page()
        second, end = page(cursor)
        assert first + second == sorted({*first, *second})
        assert {f"surface://many/m{number:03}" for number in range(120)} < {*first, *second}
        assert (len(first), end) == (PAGE, None)
        for wrong in ("nonsense", cursor[:-1], ""):
            with pytest.raises(MCPError) as caught:
                page(wrong)
            assert caught.value.error.code == types.INVALID_PARAMS
    finally:
        kernel.cell(AWAY)


MODES = """
for number in range(120):
    repl_pair.mode(f"m{number:03}", args={"size": number})
"""
NO_MODES = """
for id in [*repl_pair.registry.ids("mode")]:
    repl_pair.registry.unregister("mode", id)
"""


def test_a_list_of_more_than_a_page_names_the_call_that_reads_on(kernel, reader):
    kernel.cell(MODES)
    try:
        found = reader.read("surface://repl_pair/modes")
        (step,) = found["next_steps"]
        rest = reader.agent.ask(step["op"], **step["args"])["result"]
        items = [item["id"] for item in (*found["items"], *rest["items"])]
        assert items == [f"m{number:03}" for number in range(len(items))]
        assert 0 < len(found["items"]) < len(items)
    finally:
        kernel.cell(NO_MODES)


def test_what_is_over_the_budget_is_not_cut_but_states_what_to_ask():
    class Stories:
        """A session whose every list is long."""

        policy = Policy()

        def descriptors(self):
            return manifest.load()

        async def call(self, op, args, **how):
            return ok_reply({"items": [{"id": "x" * 100}] * 500, "total": 500}, boot="b1")

    async def read():
        params = types.ReadResourceRequestParams(uri="surface://repl_pair/stories")
        (content,) = (await Resources(Stories()).read(None, params)).contents
        return json.loads(content.text)

    found = asyncio.run(read())
    assert found["$overflow"]["tokens"] > found["$overflow"]["limit_tokens"]
    (step,) = found["next_steps"]
    assert (step["op"], step["args"].keys()) == ("list_stories", {"limit"})


def test_a_member_is_read_as_the_tool_gives_it(kernel, reader):
    kernel.cell("loss.set(0.25)")
    answered = reader.agent.call("read_op", op="read_member", args={"member": "training/loss"})
    assert reader.read(LOSS) == answered.structured_content["result"]
    assert reader.read(LOSS)["value"] == 0.25


def test_an_item_is_read_and_followed_whatever_its_key_is(kernel, reader, until):
    kernel.cell("odd = train.collection('odd', dict[str, int], expose=True)")
    for key in ("", " ", "a/b", "?#%41", "ä"):
        kernel.cell(f"odd[{key!r}] = 5")
        uri = f"surface://training/odd/{quote(key, safe='')}"
        assert reader.read(uri)["value"] == 5
        with reader.follow(uri) as followed:
            kernel.cell(f"odd[{key!r}] = 6")
            until(lambda followed=followed: followed.uris, "an update")
    kernel.cell("repl_pair.registry.unregister('member', 'training/odd')")


def test_what_the_package_holds_is_read_by_its_own_ops(reader):
    reader.agent.ask("run_variants")
    assert [s["id"] for s in reader.read("surface://repl_pair/stories")["items"]] == ["total"]
    variants = reader.read("surface://repl_pair/variants")["items"]
    assert [v["id"] for v in variants] == ["total/Three", "total/Two"]
    failed = reader.read("surface://repl_pair/failures")["items"]
    assert [f["variant_id"] for f in failed] == ["total/Three"]
    assert reader.read("surface://repl_pair/stories/total")["id"] == "total"
    for form in ("total/Two", quote("total/Two", safe="")):
        assert reader.read(f"surface://repl_pair/variants/{form}")["id"] == "total/Two"
        assert reader.read(f"surface://repl_pair/results/{form}")["status"] == "pass"


def test_functions_are_read_as_the_op_lists_them(reader):
    listed = reader.agent.call("read_op", op="list_functions").structured_content["result"]
    assert reader.read("pair://functions") == listed
    assert [each["id"] for each in listed["items"]] == ["act.seen"]


def test_triggers_and_workers_are_read_as_the_ops_list_them(kernel, open_reader):
    opened = ("--allow", "write,eval")
    with open_reader("auto", "--kernel", kernel.path, *opened) as own:
        on = {"every_s": 3600}
        own.agent.ask("register_trigger", call="list_stories", on=on)
        started = own.agent.ask("register_worker", code="print('begun')")["result"]
        (trigger,) = own.read("pair://triggers")["items"]
        assert (trigger["call"], trigger["on"]) == ("list_stories", on)
        (worker,) = own.read("pair://workers")["items"]
        assert worker["worker"] == started["worker"]
        with open_reader("auto", "--kernel", kernel.path, *opened) as other:
            assert [other.read(uri)["total"] for uri in PAIR[2:]] == [0, 0]


def test_what_an_op_is_not_there_for_is_no_resource(kernel, open_reader):
    with open_reader("auto", "--kernel", kernel.path, "--no-builtins") as reader:
        uris = [each.uri for each in reader.do(reader.agent.client.list_resources).resources]
        assert [uri for uri in uris if uri.startswith("pair:")] == PAIR[:2]
        unknown = reader.refusal("pair://nonsense")
        for uri in PAIR[2:]:
            for error in (reader.refusal(uri), subscription_error(reader, uri)):
                assert (error.code, error.message) == (unknown.code, unknown.message)


def test_the_context_is_what_an_agent_may_do_and_where(kernel, open_reader):
    with open_reader("auto", "--kernel", kernel.path, "--allow", "eval", "--ask", "inspect") as it:
        found = it.read("pair://context")
        assert it.agent.call(found["next_steps"][0]["op"]).structured_content["ok"]
        status = it.agent.ask("kernel_status")["result"]
    access = {"read": "allow", "run": "allow", "inspect": "ask", "write": "allow", "eval": "allow"}
    assert found["access"] == access | {"mutates": "allow"}
    assert found["principal"] == "agent"
    assert {"core", "eval", "write", "approval"} < set(found["toolsets"])
    assert (found["kernel"]["id"], found["kernel"]["busy"]) == (kernel.id, False)
    assert found["counts"] == {
        kind: status["counts"][kind] for kind in ("story", "variant", "function")
    }
    assert found["counts"]["function"] == 1
    assert not {"clients", "path", "pid"} & {*found, *found["kernel"]}
    assert str(kernel.path.parent) not in json.dumps(found)


def test_the_context_states_why_there_is_no_kernel(open_reader, alone):
    with open_reader("auto", runtime=alone) as reader:
        found = reader.read("pair://context")
        assert found["kernel"]["code"] == "no_kernel"
        assert found["access"]["write"] == "deny"
        assert "counts" not in found


@pytest.mark.parametrize("uri", ["pair://context", "pair://triggers", "pair://workers"])
def test_what_reports_no_changes_reports_it(reader, uri):
    error = subscription_error(reader, uri)
    assert (error.code, error.message) == (
        types.INVALID_PARAMS,
        "Changes of this resource are not reported; read it again.",
    )


def test_a_function_that_comes_or_goes_is_reported_to_who_follows(kernel, reader, until):
    with reader.follow("pair://functions") as followed:
        kernel.cell("repl_pair.function('act.unseen')(lambda: 1)")
        kernel.cell("repl_pair.function('act.new', expose=True)(lambda: 1)")
        until(lambda: followed.uris, "an update")
        kernel.cell("repl_pair.registry.unregister('function', 'act.new')")
        until(lambda: len(followed.uris) == 2, "a second update")
    assert set(followed.uris) == {"pair://functions"}


def subscription_error(reader, uri):
    with pytest.raises((MCPError, ExceptionGroup)) as caught, reader.follow(uri):
        pass
    error = caught.value
    while isinstance(error, ExceptionGroup):
        (error,) = error.exceptions
    return error.error


def test_hidden_unknown_and_illegal_uris_are_refused_alike(reader):
    words = set()
    for uri in NOT_THERE:
        error = reader.refusal(uri)
        assert (error.code, error.data) == (types.INVALID_PARAMS, {"uri": uri})
        words.add(error.message)
    assert len(words) == 1


def test_a_member_without_a_value_reports_it_to_who_may_see_it(reader):
    error = reader.refusal("surface://training/later")
    assert error.code == types.INVALID_PARAMS
    assert "no value yet" in error.message
    assert error.data["uri"] == "surface://training/later"


def test_templates_and_capabilities_are_named(reader):
    found = reader.do(reader.agent.client.list_resource_templates).resource_templates
    assert [each.uri_template for each in found] == [
        "surface://repl_pair/results/{variant_id}",
        "surface://repl_pair/stories/{story_id}",
        "surface://repl_pair/variants/{variant_id}",
        "surface://{surface}/{member}",
        "surface://{surface}/{member}/{key}",
    ]
    offered = reader.agent.client.server_capabilities
    assert offered.resources.subscribe
    assert not offered.resources.list_changed
    assert offered.completions is not None


COMPLETED = [
    (
        "surface://repl_pair/variants/{variant_id}",
        "variant_id",
        "total/T",
        {},
        ["total/Three", "total/Two"],
    ),
    ("surface://repl_pair/variants/{variant_id}", "variant_id", "total/Tw", {}, ["total/Two"]),
    ("surface://repl_pair/stories/{story_id}", "story_id", "", {}, ["total"]),
    ("surface://{surface}/{member}", "surface", "tr", {}, ["training"]),
    ("surface://{surface}/{member}", "member", "l", {"surface": "training"}, ["later", "loss"]),
    ("surface://{surface}/{member}", "member", "hid", {"surface": "training"}, []),
    ("surface://{surface}/{member}", "member", "", {"surface": "none"}, []),
    (
        "surface://{surface}/{member}/{key}",
        "key",
        "",
        {"surface": "training", "member": "rows"},
        ["a", "b"],
    ),
    (
        "surface://{surface}/{member}/{key}",
        "key",
        "",
        {"surface": "training", "member": "hidden"},
        [],
    ),
]


def complete(reader, template, name, typed, given):
    ref = types.ResourceTemplateReference(type="ref/resource", uri=template)

    async def ask():
        argument = {"name": name, "value": typed}
        return await reader.agent.client.complete(ref, argument, context_arguments=given)

    return reader.do(ask).completion


@pytest.mark.parametrize(("template", "name", "typed", "given", "values"), COMPLETED)
def test_variables_are_completed_as_the_view_sees_them(
    reader, template, name, typed, given, values
):
    found = complete(reader, template, name, typed, given)
    assert (found.values, found.total, found.has_more) == (values, len(values), False)


@pytest.mark.parametrize("uri", NOT_THERE[:-1])
def test_nobody_subscribes_to_what_the_view_does_not_see(reader, uri):
    error = subscription_error(reader, uri)
    assert (error.code, error.data) == (types.INVALID_PARAMS, {"uri": uri})


def test_a_change_arrives_and_the_last_value_is_read(kernel, reader, until):
    with reader.follow(LOSS) as followed:
        kernel.cell("for step in range(1000): loss.set(step)")
        until(lambda: followed.uris, "an update")
        until(lambda: reader.read(LOSS)["value"] == 999, "the last value")
    assert set(followed.uris) == {LOSS}


def test_an_update_names_what_changed_and_nothing_else(kernel, reader, until):
    rows = "surface://training/rows"
    with reader.follow(LOSS, f"{rows}/a", f"{rows}/b") as followed:
        kernel.cell("rows['a'] += 10")
        until(lambda: followed.uris == [f"{rows}/a"], "an update of the item")
        kernel.cell("hidden.set(2.0); loss.set(3.0)")
        until(lambda: followed.uris == [f"{rows}/a", LOSS], "an update of the cell")


def test_results_and_stories_are_followed_too(kernel, reader, until):
    result, stories = "surface://repl_pair/results/total%2FTwo", "surface://repl_pair/stories"
    with reader.follow(result, stories) as followed:
        reader.agent.ask("run_variant", variant_id="total/Two")
        until(lambda: set(followed.uris) == {result}, "an update of the result")
        kernel.cell("repl_pair.story('other', component=total)")
        until(lambda: followed.uris[-1] == stories, "an update of the list")
    assert set(followed.uris[:-1]) == {result}
    kernel.cell("repl_pair.registry.unregister('story', 'other')")


def test_code_that_a_cell_defines_anew_is_an_update_of_the_results_that_it_makes_stale(
    kernel, reader, until
):
    result = "surface://repl_pair/results/total%2FTwo"
    reader.agent.ask("run_variant", variant_id="total/Two")
    assert not reader.read(result)["stale"]
    with reader.follow(result) as followed:
        kernel.cell("was = total\ndef total(prices): return sum(prices) + 1")
        until(lambda: followed.uris, "an update")
        assert reader.read(result)["stale"]
        before = len(followed.uris)
        kernel.cell("total = was")
        until(lambda: len(followed.uris) > before, "another one")
    assert set(followed.uris) == {result}
    assert not reader.read(result)["stale"]


def test_no_secret_is_in_any_frame(kernel, reader, until):
    read = [reader.read(f"surface://training/{name}") for name in ("held", "loss")]
    assert read[0]["value"] == {"note": "x [redacted] y"}
    key = f"surface://training/rows/{GITHUB}"
    for uri in (f"surface://training/hidden/{GITHUB}", f"surface://training/{GITHUB}", key + "%FF"):
        assert "[redacted]" in reader.refusal(uri).data["uri"]
    record = reader.agent.record
    with reader.follow(key) as followed:
        since = len(record.frames)
        kernel.cell("publish_rows()")  # a change of an item that is not shown is none
        until(lambda: "resources/updated" in str(record.frames[since:]), "the last update")
        assert "[redacted]" in str(record.frames[since:])
        assert GITHUB not in str(followed.uris)
    kernel.cell("publish_rows(expose=True)")
    wrote = record.out.decode() + record.err.decode()
    assert SECRET not in wrote
    assert GITHUB not in wrote
