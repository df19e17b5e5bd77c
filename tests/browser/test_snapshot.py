"""The snapshot panel: the person compares what changed, and what they decide is what is stored."""

import pytest
from front_ends.measuring import find_barriers
from playwright.async_api import expect

from repl_pair.runtime.snapshots.store import SnapshotStore

pytestmark = pytest.mark.anyio

QUOTES = """
import base64, pathlib, struct, zlib
import repl_pair
from repl_pair import check
from repl_pair.runtime.snapshots.store import SNAPSHOTS

folder = pathlib.Path({folder!r})
SNAPSHOTS.folder = folder
given = {{"price": 2, "shade": 250}}
PLAY = [check.matches_snapshot()]

def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

def png(shade):
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 20, 10, 8, 2, 0, 0, 0))
    plain, other = b"\\x20\\x80\\xc0", bytes([shade, 0, 0])
    rows = b"".join(b"\\0" + (plain * 10 + other * 10) for _ in range(10))
    data = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\\x89PNG\\r\\n\\x1a\\n" + head + data).decode()

def quote(n: int = 1, title: str = "Quote"):
    return f"{{title}} of {{n}}\\nequal line\\ncosts {{n * given['price']}} EUR"

def rows():
    return [{{"sku": "a", "price": 1}}, {{"sku": "b", "price": given["price"]}}]

def chart():
    return {{"image/png": png(given["shade"])}}

for component in (quote, rows, chart):
    repl_pair.story(component.__name__, component=component)
ids = ["chart/It", "quote/One", "rows/It"]
for id in ids:
    repl_pair.variant(id, play=PLAY)
    repl_pair.run(id)
    repl_pair.accept_snapshot(id)
"""
CHANGE = """
given.update(price=3, shade=120)
repl_pair.variant("quote/One", args={"n": 5, "title": "Offer"}, play=PLAY)
repl_pair.variant("quote/New", args={"n": 7}, play=PLAY)
for id in [*ids, "quote/New"]:
    repl_pair.run(id)
"""
SHOW = "repl_pair.show('quote/One')"
ALONE = "repl_pair.show('quote/One', panel='snapshot')"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "kept"


@pytest.fixture
def opened(lab, folder):
    """Open a notebook in which four snapshots wait, three of them over a stored one."""

    async def open_notebook(*cells):
        notebook = await lab.notebook(QUOTES.format(folder=str(folder)), CHANGE, *cells)
        await notebook.run_all()
        return notebook, notebook.page.locator(".rp-snapshot")

    return open_notebook


def option(panel, name):
    return panel.get_by_role("option", name=name)


def stored(folder, variants=""):
    """Return the texts that are stored for variants whose ids begin so."""
    store = SnapshotStore(folder)
    return [store.find(key).text for key in store.listed() if key.variant_id.startswith(variants)]


def lines_of(*lines):
    """Return the stored text of a result that is a text of several lines."""
    *above, last = lines
    written = [*(f'  "{line}\\n"\n' for line in above), f'  "{last}"\n']
    return f"(\n{''.join(written)})\n"


async def test_texts_tables_and_identities_are_compared_side_by_side(opened):
    _, panel = await opened(ALONE)
    await expect(panel).to_contain_text("4 waiting")
    chosen = panel.get_by_role("option", selected=True)
    await expect(chosen).to_contain_text("quote/One")
    await expect(chosen).to_contain_text("the variant changed")
    lines = panel.get_by_role("table", name="Lines that differ")
    await expect(lines.locator("del")).to_have_text(["Quote", "1", "2"])
    await expect(lines.locator("ins")).to_have_text(["Offer", "5", "15"])
    await panel.get_by_role("button", name="Unified").click()
    await expect(lines.locator(".rp-sign")).to_have_text([" ", "-", "+", " ", "-", "+", " "])
    await panel.get_by_role("tab", name="Identity (1 changed)").click()
    hashes = panel.get_by_role("table", name="Identity", exact=True)
    await expect(hashes.get_by_role("row", name="content hash")).to_contain_text("changed")
    await expect(hashes.get_by_role("row", name="code hash")).to_contain_text("same")
    slots = panel.get_by_role("table", name="Slots of the identity")
    await expect(slots.get_by_role("row", name="args changed")).to_contain_text("title → 'Offer'")
    await expect(slots.get_by_role("row", name="events same")).to_be_visible()
    await panel.get_by_role("tab", name="Output").click()
    await option(panel, "rows/It").click()
    await panel.get_by_role("button", name="Table", exact=True).click()
    cells = panel.get_by_role("table", name="Cells that differ")
    await expect(cells.locator(".rp-changed")).to_have_text(["23"])
    await option(panel, "quote/New").click()
    await expect(panel.get_by_text("Nothing is stored yet.")).to_be_visible()


async def test_images_are_subtracted_swiped_and_laid_over_each_other(opened):
    _, panel = await opened(ALONE)
    await option(panel, "chart/It").click()
    await expect(panel).to_contain_text("100 of 200 pixels differ")
    await expect(panel.get_by_role("img", name="baseline")).to_be_visible()
    await expect(panel.get_by_role("img", name="actual")).to_be_visible()
    await panel.get_by_role("button", name="Difference").click()
    image = panel.get_by_role("img", name="difference image: 100 of 200 pixels differ")
    shades = await image.evaluate(
        "(c) => [5, 15].map((x) => [...c.getContext('2d').getImageData(x, 5, 1, 1).data].join())"
    )
    assert shades[0] != "214,0,80,255"
    assert shades[1] == "214,0,80,255"
    await panel.get_by_role("button", name="Swipe").click()
    slider = panel.get_by_role("slider", name="Share of the actual image")
    await slider.focus()
    await slider.press("End")
    await expect(panel.get_by_role("img", name="actual")).to_have_css(
        "clip-path", "inset(0px 0px 0px 0%)"
    )
    await panel.get_by_role("button", name="Onion skin").click()
    await slider.press("Home")
    await expect(panel.get_by_role("img", name="actual")).to_have_css("opacity", "0")


async def test_one_is_accepted_another_rejected_and_both_are_taken_back(opened, folder):
    notebook, panel = await opened(ALONE)
    before = stored(folder, "rows")
    await option(panel, "rows/It").click()
    await panel.get_by_role("button", name="Accept", exact=True).click()
    await expect(panel).to_contain_text("3 waiting")
    (text,) = stored(folder, "rows")
    assert '"price": 3' in text
    await option(panel, "chart/It").click()
    await panel.get_by_role("button", name="Reject", exact=True).click()
    await expect(option(panel, "chart/It")).to_contain_text("rejected")
    await expect(panel).to_contain_text("2 waiting")
    await panel.get_by_role("button", name="Undo all").click()
    await expect(panel).to_contain_text("4 waiting")
    assert stored(folder, "rows") == before
    await notebook.run_cell('repl_pair.accept_snapshot("rows/It");')
    await expect(panel).to_contain_text("3 waiting")


async def test_all_are_accepted_and_their_variants_pass_from_then_on(opened, folder):
    notebook, panel = await opened(ALONE)
    await panel.get_by_role("button", name="Accept all 4").click()
    await expect(panel).to_contain_text("0 waiting")
    assert stored(folder, "quote/New") == [lines_of("Quote of 7", "equal line", "costs 21 EUR")]
    assert stored(folder, "quote/One") == [lines_of("Offer of 5", "equal line", "costs 15 EUR")]
    check = 'print({repl_pair.run(id).status for id in [*ids, "quote/New"]})'
    assert await notebook.run_code(check) == "{'pass'}\n"


async def test_all_are_rejected_and_the_baselines_stay(opened, folder):
    notebook, panel = await opened(ALONE)
    before = stored(folder)
    await panel.get_by_role("button", name="Reject all 4").click()
    await expect(panel).to_contain_text("0 waiting")
    assert stored(folder) == before
    await notebook.run_cell('given.update(price=2); repl_pair.run("rows/It", check=True);')
    await expect(option(panel, "rows/It")).to_contain_text("rejected")


async def test_it_opens_over_the_shell_and_is_used_by_keys_alone(opened, folder):
    notebook, panel = await opened(SHOW)
    page, keys = notebook.page, notebook.page.keyboard
    await page.get_by_role("button", name="Compare snapshots").focus()
    await keys.press("Enter")
    dialog = page.get_by_role("dialog", name="Snapshots")
    await expect(panel).to_contain_text("4 waiting")
    inside = "(dialog) => dialog.contains(document.activeElement)"
    for _ in range(20):
        assert await dialog.evaluate(inside)
        await keys.press("Tab")
    await panel.get_by_role("listbox", name="Snapshots that wait").focus()
    await keys.press("Home")
    await expect(panel.get_by_role("option", selected=True)).to_contain_text("chart/It")
    await keys.press("ArrowDown")
    drawn = panel.locator(".rp-actions strong")
    await expect(drawn).to_have_text("quote/New")
    await keys.press("a")
    await expect(option(panel, "quote/New")).to_contain_text("accepted")
    assert stored(folder, "quote/New")
    await keys.press("Home")
    await expect(drawn).to_have_text("chart/It")
    await keys.press("x")
    await expect(option(panel, "chart/It")).to_contain_text("rejected")
    await expect(drawn).to_have_text("quote/One")
    await keys.press("k")
    await expect(drawn).to_have_text("quote/New")
    await keys.press("u")
    await expect(panel).to_contain_text("3 waiting")
    await keys.press("Escape")
    await expect(dialog).to_have_count(0)
    assert await notebook.cells.count() == 3
    focused = page.locator(".rp-play button:focus", has_text="Compare snapshots")
    await expect(focused).to_have_count(1)


PRESS_BEFORE_IT_IS_DRAWN = """(list) => {
  const root = list.closest(".rp-snapshot");
  const press = (key) => list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const chosen = () => list.querySelector('[aria-selected="true"] .rp-id').textContent;
  const drawn = () => root.querySelector(".rp-actions strong").textContent;
  window.pressed = [];
  new MutationObserver(() => {
    if (chosen() === drawn()) return;
    for (const key of ["a", "x", "u"]) press(key);
    for (const button of root.querySelectorAll(".rp-actions button")) button.click();
    window.pressed.push(chosen());
  }).observe(list, { attributes: true });
  press("a");
}"""


async def test_nothing_is_decided_before_what_it_decides_on_is_drawn(opened, folder):
    notebook, panel = await opened(ALONE)
    before, drawn = stored(folder, "rows"), panel.locator(".rp-actions strong")
    await expect(drawn).to_have_text("quote/One")
    await panel.get_by_role("listbox").evaluate(PRESS_BEFORE_IT_IS_DRAWN)
    await expect(drawn).to_have_text("rows/It")
    for name in ("quote/One", "chart/It"):
        await option(panel, name).click()
        await expect(drawn).to_have_text(name)
    await expect(panel).to_contain_text("3 waiting")
    assert set(await notebook.page.evaluate("window.pressed")) >= {"quote/One", "chart/It"}
    assert stored(folder, "rows") == before
    await expect(option(panel, "quote/One")).to_contain_text("accepted")


async def test_it_can_be_used_by_everyone_light_and_dark(opened):
    notebook, panel = await opened(ALONE)
    for theme in ("light", "dark"):
        await notebook.set_theme(theme)
        await expect(panel).to_have_attribute("data-theme", theme)
        for name in ("quote/One", "chart/It", "rows/It"):
            await option(panel, name).click()
            await expect(panel.locator(".rp-actions strong")).to_have_text(name)
            assert await find_barriers(notebook.page, ".rp-snapshot") == []
        await panel.get_by_role("tab", name="Identity").click()
        assert await find_barriers(notebook.page, ".rp-snapshot") == []
        await panel.get_by_role("tab", name="Output").click()
