"""The controls edit the args of what is looked at, run them, and keep them."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from front_ends.bounds import BOUND_S
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

SHOP = """
import dataclasses, datetime, decimal, enum, pathlib, typing
import repl_pair
from repl_pair import Sensitive
from repl_pair.panels.base.context import Focus

class Size(enum.Enum):
    SMALL = 1
    LARGE = 2

@dataclasses.dataclass
class Point:
    x: int = 0
    y: float = 1.0

secret = "-".join(["kestrel", "9931", "orchid"])
seen = []

@repl_pair.story("shop.place", argtypes={
    "qty": {"min": 0, "max": 9, "doc": "How many of them"},
    "colour": {"control": "color"},
    "where": {"options": ["north", "south", "east", "west", "here"]},
})
def place(
    qty: int = 1, rate: float = 1.5, on: bool = True, name: str = "x", note: str = "n" * 80,
    size: Size = Size.SMALL, where: str = "here", when: datetime.date = datetime.date(2026, 1, 2),
    at: datetime.datetime | None = None, hour: datetime.time = datetime.time(8, 30),
    path: pathlib.Path = pathlib.Path("a"), point: Point = Point(7, 7.0),
    tags: list[str] = ["t"], colour: str = "#ff0000", other: typing.Any = (1, 2),
    token: typing.Annotated[str, Sensitive] = "",
):
    seen.append({n: v for n, v in locals().items()})
    print("with", token)
    return qty * rate

repl_pair.variant("shop.place/One", args={"qty": 3, "token": secret})
utc = datetime.timezone.utc
repl_pair.variant("shop.place/Two", args={"qty": 2})
repl_pair.variant("shop.place/Zoned", args={"at": datetime.datetime(2026, 1, 2, 3, 4, tzinfo=utc)})
"""
SHOW = "shell = repl_pair.show('shop.place/One')\nshell"
ALONE = "shell = repl_pair.show('shop.place/One', panel='controls')\nshell"
EDITS = {
    "qty": ("4", "4"),
    "rate": ("0.25", "0.25"),
    "name": ("Ada", "'Ada'"),
    "note": ("short", "'short'"),
    "when": ("2026-03-04", "datetime.date(2026, 3, 4)"),
    "at": ("2026-03-04T05:06", "datetime.datetime(2026, 3, 4, 5, 6)"),
    "hour": ("09:15", "datetime.time(9, 15)"),
    "path": ("b/c", "PosixPath('b/c')"),
    "tags": ('["p", "q"]', "['p', 'q']"),
    "colour": ("#00ff00", "'#00ff00'"),
    "other": ("{'k': (1, 2)}", "{'k': (1, 2)}"),
}


SLOW_PAUSES = """const set = window.setTimeout;
window.setTimeout = (fn, ms, ...more) => set(fn, ms === 250 ? 2000 : ms, ...more);"""
PAUSE = "new Promise((resolve) => window.setTimeout(resolve, 250))"


def controls_of(notebook):
    return notebook.page.locator(".rp-controls")


def field(notebook, name):
    return controls_of(notebook).locator(f"[data-field='{name}']")


def entry(notebook, name):
    return field(notebook, name).locator(f"[data-key='field {name}']")


async def read(notebook, expression):
    return (await notebook.run_code(f"print({expression})")).strip()


async def count_runs(notebook):
    return int(await read(notebook, "len(seen)"))


@asynccontextmanager
async def one_run(notebook):
    """What is done in the block has the component run once more."""
    before = await count_runs(notebook)
    yield
    async with asyncio.timeout(BOUND_S):
        while await count_runs(notebook) == before:
            pass
    assert await count_runs(notebook) == before + 1


async def run_form(notebook):
    async with one_run(notebook):
        await controls_of(notebook).get_by_role("button", name="Run", exact=True).click()


async def test_each_kind_of_control_edits_its_arg_and_runs_with_it(lab):
    notebook = await lab.notebook(SHOP, ALONE)
    await notebook.run_all()
    controls = controls_of(notebook)
    await expect(entry(notebook, "qty")).to_have_value("3")
    for name, (typed, _) in EDITS.items():
        if name == "at":
            await controls.get_by_label("at: none").uncheck()
        await entry(notebook, name).fill(typed)
    await entry(notebook, "on").uncheck()
    await controls.get_by_role("radio", name="LARGE").check()
    await entry(notebook, "where").select_option("north")
    await entry(notebook, "point.y").fill("8")
    await controls.get_by_label("qty: slide").press("ArrowRight")
    await expect(entry(notebook, "qty")).to_have_value("5")
    await expect(controls.locator(".rp-count")).to_have_text("15 edited")
    await run_form(notebook)
    ran = {name: await read(notebook, f"repr(seen[-1][{name!r}])") for name in EDITS}
    assert ran == {name: shown for name, (_, shown) in EDITS.items()} | {"qty": "5"}
    rest = "seen[-1]['on'], seen[-1]['size'].name, seen[-1]['where'], seen[-1]['point']"
    assert await read(notebook, rest) == "False LARGE north Point(x=7, y=8.0)"


async def test_a_time_with_a_zone_is_shown_and_edited_as_text(lab):
    notebook = await lab.notebook(SHOP, ALONE.replace("/One", "/Zoned"))
    await notebook.run_all()
    await expect(entry(notebook, "at")).to_have_value("2026-01-02T03:04:00+00:00")
    await entry(notebook, "at").fill("2026-01-02T05:04+02:00")
    await run_form(notebook)
    assert await read(notebook, "seen[-1]['at'].isoformat()") == "2026-01-02T05:04:00+02:00"


async def test_what_does_not_fit_is_reported_at_its_field_and_nothing_is_run(lab):
    notebook = await lab.notebook(SHOP, ALONE)
    await notebook.run_all()
    controls, quantity = controls_of(notebook), entry(notebook, "qty")
    before = await read(notebook, "len(seen)")
    await quantity.fill("many")
    await expect(field(notebook, "qty").get_by_role("alert")).to_have_text(
        "Expected a whole number, such as 3."
    )
    await expect(quantity).to_have_attribute("aria-invalid", "true")
    described = (await quantity.get_attribute("aria-describedby")).split()
    seen = [await controls.locator(f"#{id}").text_content() for id in described]
    assert seen == ["int", "How many of them", "Expected a whole number, such as 3."]
    await entry(notebook, "name").press("Control+Enter")
    await expect(quantity).to_be_focused()
    assert await read(notebook, "len(seen)") == before
    assert await read(notebook, "shell.view.context.focus.overrides") == "{}"
    await field(notebook, "qty").get_by_role("button", name="Reset qty").click()
    await expect(quantity).to_have_value("3")
    await expect(quantity).not_to_have_attribute("aria-invalid", "true")
    await run_form(notebook)


async def test_what_is_typed_for_one_variant_is_no_edit_of_the_one_that_is_opened_next(lab):
    notebook = await lab.notebook(SHOP, ALONE)
    await notebook.run_all()
    await expect(entry(notebook, "qty")).to_have_value("3")
    await notebook.page.evaluate(SLOW_PAUSES)
    await entry(notebook, "qty").fill("4")
    await notebook.run_code("shell.view.context.set_focus(Focus(variant='shop.place/Two'))")
    await expect(entry(notebook, "qty")).to_have_value("2")
    await notebook.page.evaluate(PAUSE)
    assert await read(notebook, "shell.view.context.focus.overrides") == "{}"
    await entry(notebook, "qty").fill("5")
    await expect(controls_of(notebook).locator(".rp-count")).to_have_text("1 edited")


async def test_edits_are_taken_back_copied_as_code_and_saved_as_a_variant(lab, watched):
    await watched.browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    controls = controls_of(notebook)
    await entry(notebook, "qty").fill("4")
    await entry(notebook, "name").fill("Ada")
    await entry(notebook, "when").fill("2026-03-04")
    await expect(controls.locator(".rp-count")).to_have_text("3 edited")
    await field(notebook, "name").get_by_role("button", name="Reset name").click()
    await expect(entry(notebook, "name")).to_have_value("x")
    await controls.get_by_role("button", name="Copy as code").click()
    await expect(controls.get_by_text("Copied.")).to_be_attached()
    code = await notebook.page.evaluate("navigator.clipboard.readText()")
    overrides = '{"qty": 4, "when": "2026-03-04"}'
    assert code == f'repl_pair.run("shop.place/One", overrides={overrides})'
    await run_form(notebook)
    await notebook.run_cell(f"record = {code}\nassert seen[-1] == seen[-2], seen[-2:]")
    await controls.get_by_label("Name of the new variant").fill("Two")
    await controls.get_by_role("button", name="Save as variant").click()
    await expect(
        controls.get_by_text("There is a variant 'shop.place/Two' already")
    ).to_be_visible()
    await controls.get_by_label("Name of the new variant").fill("Four")
    await controls.get_by_label("Name of the new variant").press("Enter")
    await expect(notebook.page.get_by_role("treeitem", name="Four")).to_be_visible()
    heading = notebook.page.locator(".rp-canvas").get_by_role("heading", level=4)
    await expect(heading).to_have_text("shop.place/Four")
    await expect(controls.locator(".rp-count")).to_have_text("as registered")
    body = "repl_pair.runtime.registry.registry.REGISTRY.get('variant', 'shop.place/Four')"
    assert await read(notebook, f"{body}.body.args, {body}.origin.label") == (
        "{'qty': 4, 'when': '2026-03-04'} the panel Controls"
    )
    await expect(controls.get_by_role("button", name="Reset all")).to_be_disabled()


async def test_a_secret_is_masked_in_the_page_and_in_every_message_to_it(lab, watched):
    frames = []

    def listen(page):
        page.on("websocket", lambda socket: socket.on("framereceived", lambda f: frames.append(f)))

    watched.hear("page", listen)
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    controls, page = controls_of(notebook), notebook.page
    await expect(field(notebook, "token")).to_contain_text("••••")
    for tab in ("Args", "Phases", "Docs", "Data"):
        await page.locator(".rp-canvas").get_by_role("tab", name=tab, exact=True).click()
        await expect(page.locator(".rp-canvas [aria-busy]")).to_have_count(0)
    typed = "walnut-4417-harbour"
    await entry(notebook, "token").fill(typed)
    await entry(notebook, "token").press("Enter")
    await expect(field(notebook, "token").locator(".rp-edited")).to_have_text("edited")
    await expect(entry(notebook, "token")).to_have_value("")
    await controls.get_by_role("button", name="Copy as code").click()
    await run_form(notebook)
    assert await read(notebook, "seen[-1]['token'][::-1]") == typed[::-1]
    await notebook.run_code("shell.view.context.open_panel('trace')")
    await page.locator(".rp-canvas").get_by_role("tab", name="Output", exact=True).click()
    for printed in (".rp-canvas [data-stream=stdout]", ".rp-trace .rp-line[data-kind=stdout]"):
        await expect(page.locator(printed)).to_contain_text("with [redacted]")
    await controls.get_by_label("Name of the new variant").fill("Tokened")
    await controls.get_by_label("Name of the new variant").press("Enter")
    await expect(page.get_by_role("treeitem", name="Tokened")).to_be_visible()
    values = "() => [...document.querySelectorAll('input, textarea')].map((each) => each.value)"
    inside = await page.content() + json.dumps(await page.evaluate(values))
    seen = "".join(f if isinstance(f, str) else f.decode("utf-8", "replace") for f in frames)
    assert "shop.place/Tokened" in seen
    for secret in ("-".join(["kestrel", "9931", "orchid"]), typed):
        assert secret not in inside
        assert secret not in seen


async def test_it_is_worked_by_keys_and_is_accessible(lab, axe):
    notebook = await lab.notebook(SHOP, ALONE)
    await notebook.run_all()
    controls, page = controls_of(notebook), notebook.page
    await expect(entry(notebook, "qty")).to_have_value("3")
    assert await axe(page, ".rp-controls") == []
    await controls.get_by_role("button", name="Run", exact=True).focus()
    reached = set()
    for _ in range(60):
        await page.keyboard.press("Tab")
        key = await page.evaluate("document.activeElement.dataset?.key ?? ''")
        reached.add(key)
        if key == "save":
            break
    names = {*EDITS, "on", "where", "point.x", "point.y", "token"} - {"at"}
    assert {f"field {name}" for name in names} <= reached
    assert {"field size 0", "none at", "slider qty", "name", "code"} <= reached
    await entry(notebook, "rate").focus()
    await page.keyboard.press("ArrowUp")
    await expect(entry(notebook, "rate")).to_have_value("2.5")
    await entry(notebook, "on").focus()
    for key in ("d", "d", "Space"):
        await page.keyboard.press(key)
    await expect(entry(notebook, "on")).not_to_be_checked()
    async with one_run(notebook):
        await page.keyboard.press("Control+Enter")
    assert await read(notebook, "seen[-1]['rate'], seen[-1]['on']") == "2.5 False"
    await expect(entry(notebook, "on")).to_be_focused()
    await expect(notebook.cells).to_have_count(2)
    await entry(notebook, "qty").fill("many")
    await expect(entry(notebook, "qty")).to_have_attribute("aria-invalid", "true")
    await notebook.set_theme("dark")
    await expect(controls).to_have_attribute("data-theme", "dark")
    assert await axe(page, ".rp-controls") == []
