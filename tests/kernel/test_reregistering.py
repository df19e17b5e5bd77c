"""What is listed and run is what the person sees, whatever was run again."""

import asyncio
import os
import re
import signal

import pytest
from bounds import BOUND_S

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View, raise_for_error

from .conftest import ROOT

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")

STORY = """
import repl_pair
from repl_pair import check
@repl_pair.story("shop")
def shop(n: int = 1): return n
"""


@pytest.fixture
async def link(kernel):
    link = KernelLink(find_kernel(str(kernel.path)))
    yield link
    await link.close()


class Notebook:
    """A notebook in a front end that names its cells, and an agent beside it."""

    def __init__(self, person, link):
        self.person = person
        self.link = link

    def start(self, code, cell=None):
        """Run a cell as JupyterLab sends it; without an id, as a console does."""
        content = {"code": code, "silent": False, "allow_stdin": True, "stop_on_error": True}
        metadata = {"cellId": cell, "deletedCells": [], "recordTiming": False} if cell else {}
        session, shell = self.person._session, self.person._shell
        sent = session.send(shell, "execute_request", content, metadata=metadata)
        return sent["header"]["msg_id"]

    async def run(self, code, cell=None, *, status="ok"):
        ran = await asyncio.to_thread(self.person.finish, self.start(code, cell))
        assert ran.reply["status"] == status, ran.reply
        return ran

    async def ask(self, op, **args):
        return await self.link.request(op, args, view=AGENT, timeout_s=BOUND_S)

    async def get(self, op, **args):
        return raise_for_error(await self.ask(op, **args))

    async def listed(self, op="list_variants"):
        return [item["id"] for item in (await self.get(op))["items"]]

    async def result(self, variant_id):
        answer = await self.get("run_variant", variant_id=variant_id)
        assert answer["status"] == "pass", answer
        return answer["result"]


@pytest.fixture
async def notebook(person, link):
    notebook = Notebook(person, link)
    await notebook.get("ping")
    return notebook


# --- cells


async def test_what_a_cell_composes_is_renewed_and_retired_with_it(notebook):
    cell = """
import repl_pair
@repl_pair.decorator("times_{by}")
def times(component):
    return lambda **args: component(**args) * {by}
repl_pair.effect.impl("told/by_{by}")(print)
@repl_pair.story("shop", decorators=["times_{by}"], variants={{"Of_{by}": {{"args": {{"n": 5}}}}}})
def shop(n: int = 1): return n
"""
    await notebook.run(cell.format(by=2), "a")
    assert await notebook.result("shop/Of_2") == 10
    await notebook.run(cell.format(by=3), "a")
    assert await notebook.listed() == ["shop/Of_3"]
    assert await notebook.result("shop/Of_3") == 15
    kept = "[list(repl_pair.registry.ids(kind)) for kind in ('decorator', 'effect')]"
    assert (await notebook.run(kept)).value == "[['force_fx_stub', 'times_3'], ['told/by_3']]"


async def test_a_variant_renamed_in_its_cell_leaves_nothing_under_its_old_name(notebook):
    await notebook.run(STORY, "a")
    await notebook.run("repl_pair.variant('shop/Old', args={'n': 2})", "b")
    assert await notebook.result("shop/Old") == 2
    await notebook.run("repl_pair.variant('shop/New', args={'n': 3})", "b")
    assert await notebook.listed() == ["shop/New"]
    assert await notebook.result("shop/New") == 3
    for op in ("run_variant", "get_variant", "read_assertions"):
        error = (await notebook.ask(op, variant_id="shop/Old"))["error"]
        assert error["code"] == "not_found"
        assert "Nearest: shop/New" in error["message"]
    assert (await notebook.get("tests_passing"))["status"] == "pass"


@pytest.mark.full
async def test_cells_that_ran_again_before_anyone_attached_are_seen_as_they_are(person, link):
    notebook = Notebook(person, link)
    await notebook.run(STORY, "a")
    await notebook.run("repl_pair.variant('shop/Old')", "b")
    await notebook.run("repl_pair.variant('shop/New')", "b")
    assert await notebook.listed() == ["shop/New"]


async def test_every_kind_is_retired_with_its_cell(notebook):
    await notebook.run(
        "import repl_pair\n"
        "repl_pair.tag('mine'); repl_pair.mode('big', args={'n': 9})\n"
        "@repl_pair.loader('made')\ndef made(): return 1\n"
        "@repl_pair.assertion\ndef holds(settled): return True\n"
        "@repl_pair.story('gone')\ndef gone(): return 1\n"
        "repl_pair.variant('gone/It')",
        "a",
    )
    kinds = (
        "[sum(e.origin.key != 'builtin' for e in repl_pair.registry.snapshot(k).values())"
        " for k in ('tag', 'mode', 'loader', 'assertion', 'story')]"
    )
    before = (await notebook.run(kinds)).value
    await notebook.run("'nothing is registered here any more'", "a")
    after = (await notebook.run(kinds)).value
    assert before == "[1, 1, 1, 1, 1]"
    assert after == "[0, 0, 0, 0, 0]"
    assert await notebook.listed("list_stories") == []


TWO = "repl_pair.variant('shop/One')\n{between}\nrepl_pair.variant('shop/Two')"


@pytest.mark.parametrize(
    "between", ["1 / 0", "await asyncio.sleep(0); 1 / 0", "def broken(:", "raise SystemError"]
)
async def test_a_cell_that_fails_loses_nothing(notebook, between):
    await notebook.run(f"import asyncio\n{STORY}", "a")
    await notebook.run(TWO.format(between=""), "b")
    await notebook.run(TWO.format(between=between), "b", status="error")
    assert await notebook.listed() == ["shop/One", "shop/Two"]
    assert await notebook.result("shop/Two") == 1
    await notebook.run("repl_pair.variant('shop/Two')", "b")
    assert await notebook.listed() == ["shop/Two"]


@pytest.mark.parametrize("waits", ["time.sleep(0.01)", "await asyncio.sleep(0.01)"])
async def test_a_cell_that_is_stopped_loses_nothing_and_writes_nothing_of_this_package(
    notebook, kernel, waits
):
    await notebook.run(f"import asyncio, time\n{STORY}", "a")
    await notebook.run("repl_pair.variant('shop/One'); repl_pair.variant('shop/Two')", "b")
    cell = notebook.start(f"repl_pair.variant('shop/Three')\nwhile True: {waits}", "b")
    async with asyncio.timeout(BOUND_S):
        while await notebook.listed() != ["shop/One", "shop/Three", "shop/Two"]:
            await asyncio.sleep(0.01)
    kernel.signal(signal.SIGINT)
    ran = await asyncio.to_thread(notebook.person.finish, cell)
    assert ran.reply["status"] == "error"
    assert ran.text == ""
    assert await notebook.listed() == ["shop/One", "shop/Three", "shop/Two"]


async def test_while_a_cell_runs_again_its_entries_stay(notebook, tmp_path):
    await notebook.run(STORY, "a")
    await notebook.run("repl_pair.variant('shop/One'); repl_pair.variant('shop/Two')", "b")
    gate = tmp_path / "gate"
    cell = notebook.start(
        "import os, time\nrepl_pair.variant('shop/Three')\n"
        f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)",
        "b",
    )
    async with asyncio.timeout(BOUND_S):
        while "shop/Three" not in await notebook.listed():
            await asyncio.sleep(0.01)
    assert await notebook.listed() == ["shop/One", "shop/Three", "shop/Two"]
    gate.touch()
    await asyncio.to_thread(notebook.person.finish, cell)
    assert await notebook.listed() == ["shop/Three"]


@pytest.mark.full
async def test_a_cell_that_runs_another_is_complete_only_at_its_own_end(notebook):
    await notebook.run(STORY, "a")
    nested = "get_ipython().run_cell('1 + 1', store_history=False)"
    await notebook.run(TWO.format(between=nested), "b")
    await notebook.run(TWO.format(between=f"{nested}; 1 / 0"), "b", status="error")
    assert await notebook.listed() == ["shop/One", "shop/Two"]
    assert (await notebook.get("ping"))["busy"] is False


async def test_a_variant_that_moved_to_another_cell_stays(notebook):
    await notebook.run(STORY, "a")
    await notebook.run("repl_pair.variant('shop/One', args={'n': 1})", "b")
    await notebook.run("repl_pair.variant('shop/One', args={'n': 2})", "c")
    await notebook.run("'moved'", "b")
    assert await notebook.listed() == ["shop/One"]
    assert await notebook.result("shop/One") == 2


async def test_the_same_id_from_two_cells_warns_and_names_both(notebook):
    await notebook.run(STORY, "a")
    await notebook.run("repl_pair.variant('shop/One', args={'n': 1})", "b")
    since = (await notebook.get("read_changes"))["next"]
    ran = await notebook.run("\nrepl_pair.variant('shop/One', args={'n': 2})", "c")
    sentence = (
        "variant 'shop/One' was registered by In[2] line 1 and is now replaced by In[3] line 1."
    )
    assert f"RegistrationWarning: {sentence}" in ran.text
    changes = (await notebook.get("read_changes", since=since))["items"]
    assert [c["payload"] for c in changes if c["member"] == "notices"] == [sentence]
    again = await notebook.run("repl_pair.variant('shop/One', args={'n': 3})", "c")
    assert again.text == ""
    assert await notebook.result("shop/One") == 3


@pytest.mark.full
async def test_a_front_end_without_cell_ids_retires_nothing(notebook):
    await notebook.run(STORY)
    await notebook.run("repl_pair.variant('shop/One'); repl_pair.variant('shop/Two')")
    ran = await notebook.run("repl_pair.variant('shop/Two', args={'n': 5})")
    assert ran.text == ""
    assert await notebook.listed() == ["shop/One", "shop/Two"]
    assert await notebook.result("shop/Two") == 5


# --- functions and classes


async def test_what_is_stale_without_a_change_is_run_again_as_tests_passing_proposes(notebook):
    cells = (STORY, "a"), ("repl_pair.variant('shop/One'); repl_pair.variant('shop/Two')", "b")
    for cell in (*cells, *cells):
        await notebook.run(*cell)
        swept = await notebook.get("run_variants") if cell is cells[1] else None
    assert swept["status"] == "pass"
    await notebook.run(*cells[1])
    assert (await notebook.get("run_variants", changed=True))["total"] == 0
    reply = await notebook.ask("tests_passing")
    assert reply["result"]["not_run_or_stale"] == ["shop/One", "shop/Two"]
    (proposed,) = reply["next_steps"]
    assert (await notebook.get(proposed["op"], **proposed["args"]))["total"] == 2
    assert (await notebook.get("tests_passing"))["status"] == "pass"


async def test_a_function_of_a_script_that_is_run_again_changes_the_hash(notebook, tmp_path):
    script = tmp_path / "helpers.py"
    script.write_text("def price(n): return n * 2\n")
    await notebook.run(f"%run {script}", "a")
    await notebook.run(
        "import repl_pair\n@repl_pair.story('shop')\ndef shop(n: int = 3): return price(n)", "b"
    )
    await notebook.run("repl_pair.variant('shop/One')", "c")
    assert await notebook.result("shop/One") == 6
    script.write_text("def price(n): return n * 999\n")
    await notebook.run(f"%run {script}", "a")
    assert (await notebook.get("tests_passing"))["not_run_or_stale"] == ["shop/One"]
    assert (await notebook.get("run_variants", changed=True))["total"] == 1


async def test_a_function_redefined_in_another_cell_is_what_runs(notebook):
    await notebook.run(STORY, "a")
    await notebook.run("repl_pair.variant('shop/One')", "b")
    assert await notebook.result("shop/One") == 1
    first = await notebook.get("snapshot_identity", variant_id="shop/One")
    await notebook.run("def shop(n: int = 1): return n * 100", "c")
    for op in ("read_assertions", "get_variant"):
        assert (await notebook.get(op, variant_id="shop/One"))["stale"] is True
    assert (await notebook.get("list_variants"))["items"][0]["stale"] is True
    assert (await notebook.get("tests_passing"))["not_run_or_stale"] == ["shop/One"]
    assert await notebook.result("shop/One") == 100
    later = await notebook.get("snapshot_identity", variant_id="shop/One")
    assert later["content_hash"] == first["content_hash"]
    assert later["code_hash"] != first["code_hash"]
    schema = (await notebook.get("get_story", story_id="shop"))["args_schema"]
    await notebook.run("def shop(n: int = 1, tax: float = 0.0): return n + tax", "c")
    widened = (await notebook.get("get_story", story_id="shop"))["args_schema"]
    assert widened["properties"].keys() - schema["properties"].keys() == {"tax"}


CLASSES = """
from dataclasses import dataclass
from enum import Enum
import repl_pair
class Size(Enum):
    SMALL = {small!r}
@dataclass
class Line:
    sku: str
    size: Size = Size.SMALL
    {more}
"""
USES = """
@repl_pair.story("line")
def use(line: Line, lines: list[Line], size: Size):
    assert all(isinstance(one, Line) for one in (line, *lines)), type(line)
    assert isinstance(size, Size) and isinstance(line.size, Size)
    return [line, size.value]
repl_pair.variant("line/It", args={"line": Line("a"), "lines": [Line("b")], "size": Size.SMALL})
"""


async def test_args_are_rebuilt_with_the_class_as_it_is_today(notebook):
    await notebook.run(CLASSES.format(small="s", more=""), "a")
    await notebook.run(USES, "b")
    assert await notebook.result("line/It") == [{"sku": "a", "size": "SMALL"}, "s"]
    await notebook.run(CLASSES.format(small="S", more="n: int = 7"), "a")
    expected = [{"sku": "a", "size": "SMALL", "n": 7}, "S"]
    assert await notebook.result("line/It") == expected
    await notebook.run(CLASSES.format(small="S", more="n: int = 7").replace("sku", "name"), "a")
    answer = await notebook.get("run_variant", variant_id="line/It")
    assert answer["status"] == "cannot_run"
    assert "sku" in answer["reason"]


@pytest.mark.parametrize("slot", ["args", "play"])
async def test_a_class_that_only_data_brings_changes_the_hash_when_it_is_defined_anew(
    notebook, slot
):
    tier = "from enum import Enum\nclass Tier(Enum):\n    GOLD = {}"
    await notebook.run(tier.format(2), "a")
    await notebook.run(
        "import repl_pair\n@repl_pair.story('price')\ndef price(of=1): return of", "b"
    )
    more = {
        "args": "args={'of': Tier.GOLD}",
        "play": "args={'of': 1}, play=[repl_pair.check.result_equals(Tier.GOLD)]",
    }
    await notebook.run(f"repl_pair.variant('price/It', {more[slot]})", "c")
    await notebook.get("run_variant", variant_id="price/It")
    assert (await notebook.get("run_variants", changed=True))["total"] == 0
    await notebook.run(tier.format(3), "a")
    assert (await notebook.get("tests_passing"))["not_run_or_stale"] == ["price/It"]
    assert (await notebook.get("run_variants", changed=True))["total"] == 1


async def test_a_result_is_stale_when_its_story_or_variant_was_registered_again(notebook):
    async def stale():
        return (await notebook.get("list_variants"))["items"][0].get("stale", False)

    await notebook.run(STORY, "a")
    await notebook.run("repl_pair.variant('shop/One')", "b")
    for code, cell in (("repl_pair.variant('shop/One')", "b"), (STORY, "a")):
        await notebook.result("shop/One")
        assert await stale() is False
        await notebook.run(code, cell)
        assert await stale() is True


# --- modules

MODULE = """
import repl_pair
def made(n: int = 1): return {body}
repl_pair.story("made", component=made)
{variants}
"""


@pytest.fixture
async def module(notebook, tmp_path):
    """Writes the module on disk; the person has imported it."""

    def write(*names, body="n", tail=""):
        variants = "\n".join(f"repl_pair.variant('made/{name}')" for name in names)
        source = MODULE.format(body=body, variants=f"{variants}\n{tail}")
        (tmp_path / "made_stories.py").write_text(source)

    write("One", "Two")
    await notebook.run(
        "import importlib, sys\nsys.dont_write_bytecode = True\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\nimport made_stories",
        "a",
    )
    return write


RELOAD = "importlib.reload(made_stories)"


async def test_a_reloaded_module_retires_what_it_no_longer_registers(notebook, module):
    assert await notebook.listed() == ["made/One", "made/Two"]
    assert await notebook.result("made/Two") == 1
    module("Two", "Three", body="n * 2")
    await notebook.run(RELOAD, "b")
    assert await notebook.listed() == ["made/Three", "made/Two"]
    two = next(i for i in (await notebook.get("list_variants"))["items"] if i["id"] == "made/Two")
    assert two["stale"] is True
    assert await notebook.result("made/Two") == 2


@pytest.mark.full
async def test_a_reload_that_fails_loses_nothing_even_while_it_is_being_reported(notebook, module):
    module("Two", "Three", tail="1 / 0")
    seen = []
    ended = asyncio.create_task(
        notebook.run(
            f"for i in range(20):\n  try: {RELOAD}\n  except ZeroDivisionError: pass\n1 / 0",
            "b",
            status="error",
        )
    )
    while not ended.done():
        seen.append(tuple(await notebook.listed()))
    await ended
    assert set(seen) <= {("made/One", "made/Two"), ("made/One", "made/Three", "made/Two")}
    assert await notebook.listed() == ["made/One", "made/Three", "made/Two"]
    module("Three")
    await notebook.run(RELOAD, "b")
    assert await notebook.listed() == ["made/Three"]


async def test_an_entry_states_where_it_stands(notebook, module):
    await notebook.run(STORY, "b")
    await notebook.run("\n\nx = 1\nrepl_pair.variant('shop/One')", "c")
    where = (await notebook.get("get_variant", variant_id="shop/One"))["registered"]
    assert where == {"where": "In[3]", "line": 2}
    where = (await notebook.get("get_variant", variant_id="made/Two"))["registered"]
    assert where["where"] == "made_stories"
    assert re.fullmatch(r"[67]", str(where["line"]))


# --- scripts and cells of others


SCRIPT = """
import repl_pair
@repl_pair.story("script")
def script(): return {result}
for name in {names!r}: repl_pair.variant(f"script/{{name}}")
"""


@pytest.mark.full
async def test_a_script_of_run_is_named_by_its_file_and_renewed_with_it(notebook, tmp_path):
    file, other = tmp_path / "my_script.py", tmp_path / "other.py"
    other.write_text("import repl_pair\nrepl_pair.story('other', component=len)\n")
    for at, flag in enumerate(("", "-n", "", "-n")):
        file.write_text(SCRIPT.format(result=at, names="AB"[: 2 - at % 2]))
        ran = await notebook.run(f"%run {flag} {file}\n%run {flag} {other}", "ab"[at // 2])
        assert ran.text == ""
        assert await notebook.listed() == ["script/A", "script/B"][: 2 - at % 2]
        assert await notebook.listed("list_stories") == ["other", "script"]
        assert await notebook.result("script/A") == at
        story = await notebook.get("get_story", story_id="script")
        assert story["registered"] == {"where": "my_script.py", "line": 3}
    await notebook.run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import my_script", "c")
    file.write_text(SCRIPT.format(result=9, names="A"))
    await notebook.run(f"%run -n {file}", "d")
    assert await notebook.result("script/A") == 9


EMBEDS = """
import sys
import IPython
__spec__ = None  # as in a file that Python runs
def main():
    local = 5
    IPython.embed_kernel(connection_file=sys.argv[2])
main()
"""


async def test_cells_within_a_function_of_a_script_are_cells(start_kernel, sit_at, tmp_path):
    """Their names are those of the function, their functions those of its module."""
    (tmp_path / "app.py").write_text(EMBEDS)
    kernel = start_kernel(module="app", env={"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"})
    link = KernelLink(find_kernel(str(kernel.path)))
    notebook = Notebook(sit_at(kernel), link)
    await notebook.run(STORY + "repl_pair.variant('shop/A')", "a")
    await notebook.run(STORY.replace("shop", "till") + "repl_pair.variant('till/B')", "b")
    assert await notebook.listed() == ["shop/A", "till/B"]
    story = await notebook.get("get_story", story_id="till")
    assert story["registered"] == {"where": "In[2]", "line": 3}
    assert story["component"] == "__main__.till"
    await notebook.run("def shop(n: int = 1): return n + 1", "c")
    assert await notebook.result("shop/A") == 2
    await link.close()


@pytest.mark.full
async def test_variants_of_other_cells_go_and_come_with_their_story(notebook):
    await notebook.run(STORY, "a")
    await notebook.run("repl_pair.variant('shop/One'); repl_pair.variant('shop/Two')", "b")
    await notebook.run("pass", "a")
    assert await notebook.listed() == []
    refused = (await notebook.ask("run_variant", variant_id="shop/One"))["error"]
    gone = "shop/One is gone with its story 'shop', which is no longer registered."
    assert (refused["code"], refused["message"]) == ("not_found", gone)
    await notebook.run(STORY, "a")
    assert await notebook.listed() == ["shop/One", "shop/Two"]
    assert await notebook.result("shop/One") == 1
    await notebook.run("pass", "a")
    await notebook.run("pass", "b")
    await notebook.run(STORY, "a")
    assert await notebook.listed() == []


async def test_a_warning_of_a_registration_points_to_the_persons_line(notebook):
    await notebook.run(STORY, "a")
    for code in ("\n@repl_pair.story('shop')\ndef other(): pass", "repl_pair.story('shop')(len)"):
        await notebook.run(STORY, "a")
        warned = (await notebook.run(code, "b")).text
        assert "RegistrationWarning" in warned
        assert "ipykernel" in warned.partition("RegistrationWarning")[0], warned
