"""What a library renders of tables and figures that hold secrets, as an agent gets it."""

import pandas
import pytest

from repl_pair.runtime.secrets import renderings
from repl_pair.runtime.secrets.renderings import leaving_form

SHORT = "hun7r"
LONG = "Qz9" + "kX4vT7mB2w" * 8
KNOWN = "Lw3tHs8Kd5PzVn6G"
SETUP = f"""
import os
os.environ["SHOP_API_TOKEN"] = {KNOWN!r}
import numpy, pandas, polars
import matplotlib; matplotlib.use("agg")
import matplotlib.pyplot as plt
from IPython.display import HTML, display
import pathlib, sys, tempfile
import repl_pair

installed = pathlib.Path(tempfile.mkdtemp(), "site-packages")
installed.mkdir()
installed.joinpath("other_tables.py").write_text('''
class Table:
    columns = ["user", "password"]
    def __repr__(self):
        return "Table(plain-0, {SHORT}00)"
''')
sys.path.append(str(installed))
import other_tables

rows = 80
words = [f"{SHORT}{{at:02d}}" for at in range(rows)]
long = [f"{LONG}{{at:02d}}" for at in range(rows)]
plain = [f"plain-{{at}}" for at in range(rows)]
base = pandas.DataFrame({{"user": plain, "password": words, "api_key": long}})
nested = pandas.DataFrame({{"user": plain, "more": [{{"password": w}} for w in words]}})
labels = pandas.MultiIndex.from_tuples([("auth", "user"), ("auth", "password")])
wide = pandas.DataFrame({{f"c{{at}}": plain for at in range(70)}} | {{"password": words}})
telling = pandas.DataFrame({{"note": [f"{{'x' * 35}}{KNOWN}" for _ in range(rows)]}})

fast = polars.DataFrame({{"user": plain, "password": words, "api_key": long}})
deep = polars.DataFrame({{"user": plain, "more": [{{"password": w}} for w in words]}})

class Rendered:
    def __init__(self):
        self.password = words[0]
    def _repr_html_(self):
        return f"<b>{{self.password}}</b> plain-0"

def drawn():
    figure, axes = plt.subplots()
    axes.set_title("sent with {KNOWN}")
    return figure

long_index = pandas.DataFrame({{"user": ["plain-0"] * 300_000, "password": [words[0]] * 300_000}})
VALUES = {{
    "many": lambda: long_index,
    "frame": lambda: base,
    "column": lambda: base["password"],
    "index": lambda: base.set_index("password"),
    "levels": lambda: base.set_index(["user", "password"]),
    "labels": lambda: pandas.DataFrame(base[["user", "password"]].values, columns=labels),
    "transposed": lambda: base.head(4).T,
    "own index": lambda: pandas.Index(words, name="password"),
    "nested": lambda: nested,
    "wide": lambda: wide,
    "telling": lambda: telling,
    "styled": lambda: base.style,
    "object": Rendered,
    "records": lambda: base.to_records(),
    "mapping": lambda: {{"password": words[0], "user": "plain-0"}},
    "figure": drawn,
    "named by a secret": lambda: pandas.DataFrame({{{KNOWN!r}: plain}}),
    "other": other_tables.Table,
    "polars": lambda: fast,
    "polars column": lambda: fast["password"],
    "polars telling": lambda: polars.DataFrame({{"note": telling["note"].tolist()}}),
    "polars nested": lambda: deep,
    "polars named": lambda: polars.DataFrame({{{KNOWN!r}: plain}}),
    "same name twice": lambda: pandas.concat([base, base], axis=1),
    "categories": lambda: pandas.DataFrame({{"user": plain, "n": pandas.Categorical(
        [f"by {KNOWN}"] * rows)}}),
}}

@repl_pair.story("shown")
def shown(what: str = "frame", by: str = "result"):
    value = VALUES[what]()
    if by == "result":
        return value
    if by == "first level":
        return {{"it": value}}
    if by == "display":
        display(value)
    if by == "hook":
        import sys
        sys.displayhook(value)
    if by == "figure":
        plt.show()

for what in VALUES:
    for by in ("result", "first level", "display", "hook"):
        repl_pair.variant(f"shown/{{what.replace(' ', '-')}}.{{by.replace(' ', '-')}}",
            args={{"what": what, "by": by}},
            play=[repl_pair.check.rendered_text("no such text")])
"""
WHATS = [
    "many", "frame", "column", "index", "levels", "labels", "transposed", "own-index", "nested",
    "wide", "telling", "styled", "object", "records", "mapping", "figure", "named-by-a-secret",
    "same-name-twice", "categories", "other", "polars", "polars-column", "polars-telling",
    "polars-nested", "polars-named",
]  # fmt: skip


@pytest.fixture(scope="module")
def reader(kernel, connect):
    with connect("--kernel", kernel.path, "--toolsets", "story") as agent:
        yield agent
    for secret in (SHORT, LONG[:10], KNOWN[:10]):
        assert secret.encode() not in agent.record.out, secret


@pytest.mark.parametrize("by", ["result", "first-level", "display", "hook"])
@pytest.mark.parametrize("what", WHATS)
def test_no_rendering_carries_a_secret(reader, what, by):
    before = len(reader.record.out)
    for tool in ("run_variant", "preview_variant"):
        reply = reader.ask(tool, variant_id=f"shown/{what}.{by}")
        assert reply["ok"], str(reply)
        while steps := [step for step in reply.get("next_steps", ()) if step["op"] == "read_more"]:
            handle = steps[0].split("'")[1]
            reply = reader.ask("read_more", handle=handle)
            break
    came = reader.record.out[before:].decode()
    for secret in (SHORT, LONG[:10], KNOWN[:10]):
        assert secret not in came, came[max(0, came.index(secret) - 300) :][:600]
    assert "redacted" in came or "Rendered at 0x" in came


def test_a_long_table_without_secrets_is_rendered_as_it_is(reader, kernel):
    kernel.cell(
        """
big = pandas.DataFrame({"user": [f"plain-{at}" for at in range(300_000)]})

@repl_pair.story("long")
def long():
    return big

repl_pair.variant("long/It")
"""
    )
    outputs = reader.ask("run_variant", variant_id="long/It")["result"]["outputs"]
    assert "plain-299999" in outputs[0]["text/html"]
    assert "300000 rows" in outputs[0]["text/html"]


def test_only_texts_name_the_rows_that_are_left(monkeypatch):
    made = {"application/json": {"rows": 1}, "text/html": "<table>"}
    monkeypatch.setattr(pandas.DataFrame, "_repr_mimebundle_", lambda *_, **__: made, raising=False)
    table = pandas.DataFrame({"user": ["ann"] * 300, "password": [SHORT] * 300})
    left = leaving_form(table, dict.fromkeys(made, "as the person sees it"))
    assert left["application/json"] == {"rows": 1}
    assert left["text/html"].endswith("rows]")


def test_the_labels_of_rows_are_read_once_and_not_for_each_column(monkeypatch):
    asked = []
    is_secret_label = renderings.is_secret_label
    monkeypatch.setattr(
        renderings, "is_secret_label", lambda label: asked.append(label) or is_secret_label(label)
    )
    columns = {f"c{at}": [1, 2] for at in range(50)}
    table = pandas.DataFrame(columns, index=["user", "password"])
    leaving_form(table, {"text/html": "<table>"})
    assert asked.count("password") == 1
