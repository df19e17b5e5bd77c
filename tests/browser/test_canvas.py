"""The canvas shows what is looked at: its outputs, how it was made, and several in a layout."""

import asyncio
import re
from contextlib import asynccontextmanager

import pytest
from front_ends.bounds import BOUND_S
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

KINDS = '''
import anywidget, ipywidgets, struct, zlib
import repl_pair
from dataclasses import replace
from repl_pair.panels.base.context import Focus

class Html:
    def _repr_html_(self):
        return (
            "<h2>Rich heading</h2>"
            "<script>try { parent.document.title = 'escaped' } catch {}</script>"
        )

class Page:
    def _repr_html_(self):
        return <page>

class Links:
    def _repr_html_(self):
        return <links>

class Wide:
    def _repr_html_(self):
        return "<table>" + "".join(f"<td>{1000.5 + at}" for at in range(40))

class Error:
    def __init__(self):
        raise ValueError("\\n".join(f"line {at}" for at in range(400)))

class Svg:
    def _repr_svg_(self):
        return (
            "<svg xmlns='http://www.w3.org/2000/svg' width='30' height='20'>"
            "<rect width='30' height='20' fill='teal'/></svg>"
        )

def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

class Png:
    def _repr_png_(self):
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", 12, 8, 8, 2, 0, 0, 0))
        rows = zlib.compress(b"".join(b"\\0" + b"\\x20\\x80\\xc0" * 12 for _ in range(8)))
        return b"\\x89PNG\\r\\n\\x1a\\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")

class Told:
    def _repr_markdown_(self):
        return "some **bold** words and [a link](<web>/text)"

class Any(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.textContent = 'alive from anywidget'; } }"

MADE = {
    "Text": lambda: "just words", "Data": lambda: {"total": 9.5},
    "Table": lambda: [{"sku": "a", "price": 1.5}, {"sku": "b", "price": 2.0}],
    "Html": Html, "Page": Page, "Links": Links, "Wide": Wide, "Error": Error, "Svg": Svg,
    "Png": Png, "Markdown": Told, "Any": Any,
    "Plain": lambda: ipywidgets.IntSlider(description="amount", value=5),
}

@repl_pair.story("shop.kinds")
def kinds(kind: str):
    """Make one of each kind."""
    print("making", kind)
    return MADE[kind]()

for kind in MADE:
    repl_pair.variant(f"shop.kinds/{kind}", args={"kind": kind})
'''
WEB = "http://127.0.0.1:9"
SRC = f"{WEB}/of-a-page"
PAGE = f"""
<p id=p>as it came</p><script>p.textContent = "its script ran"</script>
<p id=q>untouched</p><img src=x onerror="q.textContent = 'its handler ran'">
<img src="{SRC}.png"><script src="{SRC}.js"></script><style>@import "{SRC}.css"</style>
<iframe src="{SRC}.html"></iframe><button onclick="location = '{SRC}'">Leave</button>
<script>fetch("{SRC}").catch(() => 0)</script>
<script>try {{ parent.document.title = "escaped" }} catch {{}}</script>
"""
IMAGE = "data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs="
LINKS = f"""
<meta http-equiv="refresh" content="0; url={SRC}"><form action="{SRC}"><button>Send</button></form>
<a href="{WEB}/plain">plain</a> <a href="lab?reset">of the workspace</a>
<a href="javascript:parent.document.title = 'escaped'">script</a> <a href="#there">down</a>
<svg height="50"><a xlink:href="{WEB}/drawn"><text y="20">drawn</text></a>
<a><set attributeName="href" to="{SRC}"/><text y="40">set later</text></a></svg>
<img usemap="#map" src="{IMAGE}" width="50" height="20">
<map name="map"><area href="{WEB}/area" shape="default"></map><p id="there">
"""
KINDS = KINDS.replace("<page>", repr(PAGE)).replace("<links>", repr(LINKS)).replace("<web>", WEB)
SHOP = """
import repl_pair
from repl_pair import check
from repl_pair.panels.base.context import Focus

repl_pair.mode("ten", args={"b": 10}, axis="size")
repl_pair.mode("twenty", args={"b": 20}, axis="size")
repl_pair.mode("loose", args={"a": 100})

@repl_pair.story("shop.sum", args={"b": 5}, modes=["ten", "twenty", "loose"])
def add(a: int = 1, b: int = 2) -> int:
    '''Add two numbers.'''
    return a + b

@repl_pair.story("shop.broken")
def broken():
    raise ValueError("no such thing")

repl_pair.variant("shop.sum/One", args={"a": 1}, play=[check.result_equals(6)])
repl_pair.variant("shop.sum/Two", args={"a": 2})
repl_pair.variant("shop.sum/Three", args={"a": 3})
repl_pair.variant("shop.broken/It")
"""
WORKSPACES = """
repl_pair.workspace("shop/Grid", layout="grid", columns=2,
    variants=["shop.sum/One", "shop.sum/Two", "shop.broken/It"])
repl_pair.workspace("shop/Tabs", layout="tabs", variants=["shop.sum/One", "shop.sum/Two"])
repl_pair.workspace("shop/All", layout="variants_grid", story="shop.sum", isolation="shared")
repl_pair.workspace("shop/Told", layout="prose",
    content=[{"prose": "## How to add"}, {"variant": "shop.sum/Two"}])
repl_pair.panel("own", title="Own", placement="right", render=lambda: "drawn by a panel")
repl_pair.workspace("shop/Own", layout="custom", render="own", variants=["shop.sum/One"])
for id in ("One", "Two"):
    repl_pair.run(f"shop.sum/{id}")
"""


def show(id=""):
    return f"shell = repl_pair.show({id or None!r}, panel='canvas')\nshell"


def canvas_of(notebook):
    return notebook.page.locator(".rp-canvas")


def inner_of(canvas):
    """The HTML of a component, which is in a frame of a frame."""
    return canvas.frame_locator("iframe.rp-frame").frame_locator("iframe")


async def look(notebook, **focus):
    await notebook.run_code(f"shell.view.context.set_focus(Focus(**{focus!r}))")


async def open_tab(notebook, name):
    await canvas_of(notebook).get_by_role("tab", name=name, exact=True).click()


async def test_every_kind_of_output_is_shown_and_html_stays_in_its_frame(lab):
    notebook = await lab.notebook(KINDS, show("shop.kinds/Text"))
    await notebook.run_all()
    canvas = canvas_of(notebook)
    await expect(canvas.locator("pre.rp-result")).to_have_text("just words")
    await expect(canvas.get_by_role("region", name="stdout")).to_contain_text("making Text")
    shown = {
        "Data": canvas.get_by_text('"total": 9.5'),
        "Table": canvas.get_by_role("cell", name="2", exact=True),
        "Html": inner_of(canvas).get_by_role("heading", name="Rich heading"),
        "Svg": canvas.locator("img[src^=blob]"),
        "Png": canvas.locator("img[src^='data:image/png']"),
        "Markdown": canvas.locator("strong", has_text="bold"),
        "Any": canvas.get_by_text("alive from anywidget"),
        "Plain": canvas.locator(".widget-slider, .widget-hslider"),
    }
    for kind, found in shown.items():
        await look(notebook, variant=f"shop.kinds/{kind}")
        await expect(canvas.get_by_role("heading", level=4)).to_have_text(f"shop.kinds/{kind}")
        await expect(canvas.get_by_text("Not run yet")).to_be_visible()
        await canvas.get_by_role("button", name="Run", exact=True).click()
        await expect(found.first).to_be_visible()
    assert "escaped" not in await notebook.page.title()


HELD_VIEWS = """() => {
  const { rendermime } = window.jupyterapp.shell.currentWidget.content;
  const renderer = rendermime.createRenderer("application/vnd.jupyter.widget-view+json");
  return renderer._manager.promise.then((manager) => {
    const create = manager.create_view;
    const gate = new Promise((resolve) => (window.release = resolve));
    manager.create_view = async (...given) => {
      window.held = 1;
      await gate;
      const view = await create.apply(manager, given);
      window.held = 2;
      return view;
    };
  });
}"""


async def test_a_tab_is_not_drawn_over_by_an_output_that_took_longer(lab):
    notebook = await lab.notebook(KINDS, show("shop.kinds/Plain"))
    await notebook.run_all()
    canvas, page = canvas_of(notebook), notebook.page
    await expect(canvas.locator(".widget-slider, .widget-hslider").first).to_be_visible()
    await page.evaluate(HELD_VIEWS)
    await canvas.get_by_role("button", name="Run", exact=True).click()
    await page.wait_for_function("() => window.held === 1")
    await open_tab(notebook, "Args")
    await expect(canvas.get_by_role("table", name="Effective args")).to_be_visible()
    await page.evaluate("window.release()")
    await page.wait_for_function("() => window.held === 2")
    await expect(canvas.get_by_role("table", name="Effective args")).to_be_visible()
    await expect(canvas.locator(".rp-output")).to_have_count(0)


async def test_a_press_on_run_runs_what_it_was_made_on_or_nothing(lab):
    notebook = await lab.notebook(SHOP, show("shop.sum/One"))
    await notebook.run_all()
    canvas = canvas_of(notebook)
    await open_tab(notebook, "Data")
    async with notebook.pressed(canvas.get_by_role("button", name="Run", exact=True)):
        await look(notebook, variant="shop.sum/Two")
        await expect(canvas.get_by_role("tabpanel")).to_contain_text('"a": 2')
    await expect(canvas.get_by_role("alert")).to_contain_text("shop.sum/One is not in focus any")
    await expect(canvas.get_by_role("heading", level=4)).to_have_text("shop.sum/Two")
    await expect(canvas.locator(".rp-verdict")).to_have_text("not run")


NO_DATA = """
from repl_pair.panels.canvas.view import CanvasView
CanvasView.on_data = lambda self: 1 / 0
"""


async def test_a_tab_that_cannot_be_read_shows_nothing_of_the_tab_before(lab):
    notebook = await lab.notebook(SHOP, show("shop.sum/One"), NO_DATA)
    await notebook.run_all()
    canvas = canvas_of(notebook)
    await open_tab(notebook, "Args")
    await expect(canvas.get_by_role("table", name="Effective args")).to_be_visible()
    await open_tab(notebook, "Data")
    await expect(canvas.get_by_role("alert")).to_contain_text("division by zero")
    await expect(canvas.get_by_role("tabpanel", name="Data")).to_be_empty()


CONTRAST = """frame => {
  const page = frame.contentDocument?.querySelector("iframe")?.contentDocument;
  const title = page && page.querySelector("h2");
  if (!title) return 0;  // another frame is about to take its place
  const light = (colour) => {
    const [r, g, b, alpha] = colour.match(/[\\d.]+/g).map(Number);
    return alpha === 0 ? 1 : (0.3 * r + 0.6 * g + 0.1 * b) / 255;  // a frame is white by itself
  };
  const ink = getComputedStyle(title).color;
  const ground = getComputedStyle(page.documentElement).backgroundColor;
  return Math.abs(light(ink) - light(ground));
}"""


async def test_html_is_read_in_either_theme(lab):
    notebook = await lab.notebook(KINDS, show("shop.kinds/Html"))
    await notebook.run_all()
    canvas = canvas_of(notebook)
    for theme in ("dark", "light"):
        await notebook.set_theme(theme)
        await expect(canvas).to_have_attribute("data-theme", theme)
        await canvas.get_by_role("button", name="Run", exact=True).click()
        frame = canvas.locator("iframe.rp-frame")
        await expect(inner_of(canvas).get_by_role("heading")).to_be_visible()
        async with asyncio.timeout(BOUND_S):
            while await frame.evaluate(CONTRAST) <= 0.6:
                await asyncio.sleep(0.05)


@asynccontextmanager
async def web():
    """A server, as its address and the paths that it was asked for."""
    heard = []

    async def answer(reader, writer):
        if line := await reader.readline():  # a browser opens connections to spare
            heard.append(line.decode().split()[1])
        page = b"<title>of the web</title><link rel=icon href=data:,>"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", heard


async def test_html_runs_no_script_until_the_person_asks_and_loads_nothing(lab):
    async with web() as (address, heard):
        notebook = await lab.notebook(KINDS.replace(WEB, address), show("shop.kinds/Page"))
        await notebook.run_all()
        canvas = canvas_of(notebook)
        await canvas.get_by_role("button", name="Run", exact=True).click()
        shown = canvas.locator("iframe.rp-frame")
        inner = inner_of(canvas)
        await expect(inner.locator("#p")).to_have_text("as it came")
        await expect(inner.locator("#q")).to_have_text("untouched")
        await expect(shown).to_have_attribute("style", re.compile("height"))
        await canvas.get_by_role("button", name="Run its scripts").click()
        await expect(canvas.get_by_role("button", name="Run its scripts")).to_have_count(0)
        await expect(inner.locator("#p")).to_have_text("its script ran")
        await expect(inner.locator("#q")).to_have_text("its handler ran")
        await expect(shown).to_have_attribute("style", re.compile("height"))
        await inner.get_by_role("button", name="Leave").click()
        await expect(inner.locator("#p")).to_have_count(0)
    assert heard == []
    assert "escaped" not in await notebook.page.title()


async def test_a_link_opens_alone_and_nothing_else_takes_a_frame_or_the_page_away(lab):
    async with web() as (address, heard):
        notebook = await lab.notebook(KINDS.replace(WEB, address), show("shop.kinds/Links"))
        await notebook.run_all()
        canvas, page = canvas_of(notebook), notebook.page
        before, opened = page.url, []

        async def opens(act):
            async with page.context.expect_page() as opening:
                await act
            tab = await opening.value
            await expect(tab).to_have_title("of the web")
            opened.append(tab.url.removeprefix(address))
            assert await tab.evaluate("[opener, document.referrer]") == [None, ""]
            await tab.close()

        await canvas.get_by_role("button", name="Run", exact=True).click()
        inner = inner_of(canvas)
        plain = inner.get_by_role("link", name="plain")
        await expect(plain).to_have_attribute("title", f"{address}/plain")
        for name in ("of the workspace", "script", "down"):
            await inner.get_by_role("link", name=name).click()
        await inner.get_by_role("button", name="Send").click()
        await opens(plain.click())
        await opens(plain.press("Enter"))
        await opens(plain.click(button="middle"))
        await opens(inner.get_by_text("drawn").click())
        await opens(inner.locator("img").click())
        await inner.get_by_text("set later").click()
        await expect(plain).to_have_count(0)
        await look(notebook, variant="shop.kinds/Markdown")
        await canvas.get_by_role("button", name="Run", exact=True).click()
        await opens(canvas.get_by_role("link", name="a link").click())
        assert opened == heard == ["/plain", "/plain", "/plain", "/drawn", "/area", "/text"]
        assert page.url == before


HEIGHT = "(element) => element.getBoundingClientRect().height"
"""Waits for an element that is drawn anew, as a bounding box does not."""


async def test_what_is_wide_or_long_is_read_by_scrolling(lab):
    notebook = await lab.notebook(KINDS, show("shop.kinds/Wide"))
    await notebook.run_all()
    canvas = canvas_of(notebook)
    await canvas.get_by_role("button", name="Run", exact=True).click()
    number = inner_of(canvas).get_by_role("cell", name="1000.5")
    await expect(number).to_be_visible()
    assert await number.evaluate(HEIGHT) < 30
    sizes = "(all) => [all.scrollWidth > all.clientWidth, all.scrollHeight > all.clientHeight]"
    await expect(canvas.locator("iframe.rp-frame")).to_have_attribute("style", re.compile("height"))
    assert await inner_of(canvas).locator("html").evaluate(sizes) == [True, False]
    await look(notebook, variant="shop.kinds/Error")
    await canvas.get_by_role("button", name="Run", exact=True).click()
    notice = canvas.locator(".rp-look .rp-notice")
    await expect(notice).to_be_visible()
    assert "line 1\nline 2" in await notice.inner_text()
    assert await notice.evaluate(sizes) == [False, True]
    assert await notice.evaluate(HEIGHT) < 150


async def test_how_a_variant_was_made_is_reported_tab_by_tab(lab):
    notebook = await lab.notebook(SHOP, show("shop.sum/One"))
    await notebook.run_all()
    canvas = canvas_of(notebook)
    await expect(canvas.locator(".rp-verdict")).to_have_text("pass, 1 of 1 assertions")
    await open_tab(notebook, "Args")
    row = canvas.get_by_role("row").filter(
        has=notebook.page.get_by_role("rowheader", name="b", exact=True)
    )
    await expect(row).to_contain_text("story shop.sum")
    await canvas.get_by_role("combobox", name="size").select_option("ten")
    await expect(row).to_contain_text("mode ten")
    await expect(row).to_contain_text("5 of story shop.sum")
    await expect(canvas.get_by_text("other args", exact=True)).to_be_visible()
    await canvas.get_by_role("button", name="Run", exact=True).click()
    await expect(canvas.get_by_text("other args", exact=True)).to_be_hidden()
    await canvas.get_by_role("combobox", name="size").select_option("twenty")
    await expect(canvas.get_by_text("ran with ten", exact=True)).to_be_visible()
    await expect(row).to_contain_text("mode twenty")
    await canvas.get_by_role("button", name="loose").click()
    await expect(canvas.get_by_role("button", name="loose")).to_have_attribute(
        "aria-pressed", "true"
    )
    await open_tab(notebook, "Docs")
    await expect(canvas.get_by_role("heading", name="Modes")).to_be_visible()
    await open_tab(notebook, "Data")
    await expect(canvas.get_by_label("Body as JSON")).to_contain_text('"a": 1')
    await look(notebook, variant="shop.broken/It")
    await open_tab(notebook, "Phases")
    await canvas.get_by_role("button", name="Run", exact=True).click()
    phases = canvas.get_by_role("table", name="Phases of the last run")
    await expect(phases.get_by_role("row", name="render")).to_contain_text("failed")
    await expect(phases).to_contain_text("ValueError: no such thing")
    await expect(phases).to_contain_text("line 16")


async def test_it_follows_runs_and_changes_of_anyone_and_names_what_waits(lab):
    notebook = await lab.notebook(SHOP, show())
    await notebook.run_all()
    canvas = canvas_of(notebook)
    await expect(canvas).to_contain_text("Choose a story or variant")
    await look(notebook, variant="shop.sum/One")
    await expect(canvas.locator(".rp-verdict")).to_have_text("not run")
    await notebook.run_cell('repl_pair.run("shop.sum/One", overrides={"a": 41})')
    await expect(canvas.locator(".rp-verdict")).to_have_text("fail, 0 of 1 assertions")
    await expect(canvas.locator("pre.rp-result")).to_have_text("46")
    await notebook.run_cell('repl_pair.variant("shop.sum/One", args={"a": 2});')
    await expect(canvas.get_by_text("stale", exact=True)).to_be_visible()
    async with notebook.busy():
        await canvas.get_by_role("button", name="Run", exact=True).click()
        await expect(canvas).to_contain_text("Waits for the running cell In[")
        await open_tab(notebook, "Args")
        await expect(canvas.get_by_role("table", name="Effective args")).to_be_visible()
    await expect(canvas.locator(".rp-verdict")).to_have_text("pass, no assertions")
    await open_tab(notebook, "Output")
    await expect(canvas.locator("pre.rp-result")).to_have_text("7")
    await notebook.reload()
    await expect(canvas_of(notebook).locator("pre.rp-result")).to_have_text("7")


async def test_the_five_layouts_each_have_their_look(lab):
    notebook = await lab.notebook(SHOP, WORKSPACES, show("shop.sum"))
    await notebook.run_all()
    canvas = canvas_of(notebook)
    cards = canvas.locator(".rp-card")
    await expect(cards).to_have_count(3)
    await cards.last.scroll_into_view_if_needed()
    await expect(cards.filter(has_text="Two").locator(".rp-result")).to_have_text("7")
    await expect(cards.filter(has_text="Three")).to_contain_text("Not run yet")
    await notebook.run_code(
        "repl_pair.runtime.registry.registry.REGISTRY.unregister('variant', 'shop.broken/It')"
    )
    await look(notebook, workspace="shop/Grid")
    await expect(cards).to_have_count(3)
    await expect(cards.last).to_contain_text("There is no variant 'shop.broken/It'")
    await look(notebook, workspace="shop/Tabs")
    await expect(cards).to_have_count(1)
    await canvas.get_by_role("tablist", name="Variants").get_by_role("tab", name="Two").click()
    await expect(cards).to_contain_text("7")
    await canvas.get_by_role("button", name="Run shop.sum/Two").focus()
    others = "['shop.sum/Three', 'shop.sum/Two']"
    await notebook.run_code(f"repl_pair.workspace('shop/Tabs', layout='tabs', variants={others})")
    await expect(canvas.get_by_role("tab", name="Three")).to_be_visible()
    await expect(canvas.get_by_role("tab", name="Two")).to_have_attribute("aria-selected", "true")
    await expect(cards).to_contain_text("7")
    await look(notebook, workspace="shop/All")
    await expect(canvas.get_by_text("1 of 3")).to_be_visible()
    await canvas.get_by_role("button", name="Next").click()
    await expect(canvas.get_by_text("2 of 3")).to_be_visible()
    await expect(cards).to_contain_text("Three")
    await look(notebook, workspace="shop/Told")
    await expect(canvas.get_by_role("heading", name="How to add")).to_be_visible()
    await expect(cards).to_contain_text("7")
    await look(notebook, workspace="shop/Own")
    await expect(canvas.get_by_text("drawn by a panel")).to_be_visible()
    await expect(cards).to_contain_text("6")
    await canvas.get_by_role("button", name="Run all").click()
    await expect(cards.locator(".rp-faint").first).to_contain_text("pass")


async def test_it_is_worked_by_keys_and_is_accessible(lab, axe):
    notebook = await lab.notebook(SHOP, WORKSPACES, show("shop.sum"))
    await notebook.run_all()
    canvas, page = canvas_of(notebook), notebook.page
    assert await axe(page, ".rp-canvas") == []
    await canvas.locator(".rp-name").first.focus()
    for key in ("ArrowRight", "ArrowRight", "d", "d", "Enter"):
        await page.keyboard.press(key)
    await expect(canvas.get_by_role("heading", level=4)).to_have_text("shop.sum/Two")
    await canvas.get_by_role("tab", name="Output").focus()
    await page.keyboard.press("Control+Enter")
    await expect(canvas.locator("pre.rp-result")).to_have_text("7")
    await expect(canvas.get_by_role("tab", name="Output")).to_be_focused()
    for name in ("Args", "Phases", "Docs", "Data"):
        await page.keyboard.press("ArrowRight")
        await expect(canvas.get_by_role("tabpanel", name=name)).to_be_visible()
        await expect(canvas.locator("[aria-busy]")).to_have_count(0)
        assert await axe(page, ".rp-canvas") == []
    await notebook.set_theme("dark")
    await expect(canvas).to_have_attribute("data-theme", "dark")
    for name in ("Data", "Phases", "Args", "Output"):
        await open_tab(notebook, name)
        await expect(canvas.locator("[aria-busy]")).to_have_count(0)
        assert await axe(page, ".rp-canvas") == []
    await expect(notebook.cells).to_have_count(3)
