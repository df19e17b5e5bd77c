"""The tools that read the catalogue, driven by a real client over stdio with `--toolsets story`."""

import json

from repl_pair.errors import next_step
from repl_pair.wire import REDACTED

SETUP = """
import repl_pair
from repl_pair import check
import pydantic

RAN = []
repl_pair.tag("slow", doc="Takes a while.")
repl_pair.mode("eur", args={"rate": 2.0}, axis="currency")
repl_pair.mode("usd", args={"rate": 3.0}, axis="currency")
repl_pair.loader("db")(lambda: 1)

@repl_pair.decorator("timed")
def timed(component, limit=1):
    return component

repl_pair.decorator("login", kind="frame_setup", init=[["open", {"api_key": "kR4-long-word"}]],
                    patch={"user.name": "ann", "user.password": "tr0ub4dor-and-3"})
repl_pair.decorator("no_mail", kind="fx_override", effect="mail", response={"sent": True})

@repl_pair.story("shop.quote", args={"rate": 1.0}, tags=["test"], decorators=["timed"])
def quote(n: int = 1, rate: float = 1.0, key: pydantic.SecretStr = pydantic.SecretStr("")):
    "Quote an order."
    RAN.append(n)
    print("quoting", n)
    return f"{n * rate:.2f}"

key = pydantic.SecretStr("Wn8cTy4QzHg2")
repl_pair.variant("shop.quote/Base", args={"n": 2, "key": key}, tags=["slow"])
repl_pair.variant("shop.quote/Bulk", extends="shop.quote/Base", args={"n": 20}, tags=["!slow"],
                  decorators=["no_mail"], play=[check.path_equals("result", "20.00")])
repl_pair.workspace("shop.desk/Grid", layout="grid",
                    variants=["shop.quote/Base", "shop.quote/Bulk"])
repl_pair.panel("notes", title="Notes", placement="right", render=lambda: 1)
"""
TOOLS = {
    "list_workspaces": True,
    "list_decorators": True,
    "list_panels": True,
    "get_workspace": True,
    "get_decorator": True,
    "explain_variant": True,
    "preview_variant": False,
    "list_substrates": True,
    "variant_to_data": True,
    "workspace_to_data": True,
}
"""Each tool of the catalogue, and whether it only reads."""


def ask(agent, tool, /, **args):
    envelope = agent.ask(tool, **args)
    assert envelope["ok"], envelope
    return envelope["result"]


def test_the_tools_are_listed_and_state_truly_whether_they_only_read(agent):
    listed = {tool.name: tool.annotations.read_only_hint for tool in agent.tools()}
    assert {name: listed.get(name) for name in TOOLS} == TOOLS


def test_list_decorators_names_what_each_does(agent):
    found = ask(agent, "list_decorators", kind="wrap")
    assert found["items"] == [{"id": "timed", "kind": "wrap", "wrap": "__main__.timed"}]
    assert ask(agent, "list_decorators", kind="fx_override", limit=1)["total"] == 2
    refused = agent.call("list_decorators", kind="hiccup")
    assert refused.is_error
    assert "wrap" in refused.content[0].text


def test_get_decorator_reports_all_but_its_secrets(agent):
    found = ask(agent, "get_decorator", decorator_id="login")
    assert found["patch"] == {"user.name": "ann", "user.password": REDACTED}
    assert found["init"] == [["open", {"api_key": REDACTED}]]
    near = agent.ask("get_decorator", decorator_id="logni")
    assert near["error"]["code"] == "not_found"
    assert near["next_steps"] == [next_step("list_decorators")]


def test_workspaces_and_panels_are_read(agent):
    assert ask(agent, "list_workspaces")["items"] == [
        {"id": "shop.desk/Grid", "layout": "grid", "variants": 2}
    ]
    assert ask(agent, "get_workspace", workspace_id="shop.desk/Grid")["shows"] == [
        "shop.quote/Base",
        "shop.quote/Bulk",
    ]
    (panel,) = ask(agent, "list_panels")["items"]
    assert panel == {
        "id": "notes",
        "title": "Notes",
        "placement": "right",
        "render": "__main__.<lambda>",
    }


def test_explain_variant_reports_where_each_value_comes_from(agent):
    found = ask(agent, "explain_variant", variant_id="shop.quote/Bulk", modes=["eur", "usd"])
    assert found["chain"] == ["shop.quote/Base", "shop.quote/Bulk"]
    lines = {line["path"]: line for line in found["args"]}
    assert lines["n"] == {
        "path": "n",
        "value": 20,
        "source": "variant shop.quote/Bulk",
        "covers": [{"source": "variant shop.quote/Base", "value": 2}],
    }
    assert lines["key"] == {
        "path": "key",
        "value": REDACTED,
        "source": "variant shop.quote/Base",
    }
    assert found["removed_tags"] == [
        {"id": "slow", "source": "variant shop.quote/Base", "removed_by": "variant shop.quote/Bulk"}
    ]
    assert found["conflicts"] == ["Modes 'eur' and 'usd' share the axis 'currency': choose one."]


def test_preview_variant_renders_and_asserts_nothing(agent, kernel):
    ask(agent, "run_variant", variant_id="shop.quote/Bulk")
    before = ask(agent, "read_assertions", variant_id="shop.quote/Bulk")
    found = ask(agent, "preview_variant", variant_id="shop.quote/Bulk", modes=["usd"])
    assert (found["rendered"], found["asserted"], found["result"]) == (True, False, "60.00")
    assert found["stdout"] == "quoting 20\n"
    assert found["effective_args"] == {"rate": 3.0, "n": 20, "key": REDACTED}
    assert found["identity"]["active_modes"] == ["usd"]
    assert {"status", "assertions", "total"}.isdisjoint(found)
    assert ask(agent, "read_assertions", variant_id="shop.quote/Bulk") == before
    assert kernel.cell("print(RAN)") == "[20, 20]\n"


def test_list_substrates_states_why_each_rendering_is_there(agent, kernel):
    loaded = kernel.cell("import sys; print('ipywidgets' in sys.modules)")
    items = {line["id"]: line for line in ask(agent, "list_substrates")["items"]}
    assert list(items) == ["text", "html", "png", "widget"]
    assert items["text"]["available"]
    assert all(line["why"] for line in items.values())
    assert kernel.cell("print('ipywidgets' in sys.modules)") == loaded


def test_data_is_the_same_to_the_byte_each_time_and_for_each_server(agent, kernel, connect):
    first = agent.call("variant_to_data", variant_id="shop.quote/Bulk")
    assert first.structured_content["result"] == {
        "id": "shop.quote/Bulk",
        "body": {
            "args": {"n": 20},
            "decorators": [["no_mail", {}]],
            "extends": "shop.quote/Base",
            "play": [["path_equals", "result", "20.00"]],
            "tags": ["!slow"],
        },
    }
    with connect("--kernel", kernel.path, "--toolsets", "story") as other:
        again = other.call("variant_to_data", variant_id="shop.quote/Bulk")
    texts = [json.loads(reply.content[0].text)["result"] for reply in (first, again)]
    assert json.dumps(texts[0]) == json.dumps(texts[1])
    secret = ask(agent, "variant_to_data", variant_id="shop.quote/Base")
    assert secret["body"]["args"] == {"key": REDACTED, "n": 2}
    grid = ask(agent, "workspace_to_data", workspace_id="shop.desk/Grid")
    assert grid["body"] == {
        "layout": "grid",
        "variants": ["shop.quote/Base", "shop.quote/Bulk"],
    }


def test_no_planted_secret_was_reported(agent):
    seen = agent.record.out.decode()
    for secret in ("tr0ub4dor-and-3", "kR4-long-word", "Wn8cTy4QzHg2"):
        assert secret not in seen
