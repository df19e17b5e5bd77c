"""A hundred thousand variants in the explorer: their registration, scrolls over them, results."""

from playwright.async_api import expect

STORIES, EACH = 1_000, 100
CROWD = f"""
import repl_pair
from repl_pair.runtime.registry.model import Component, Entry, Origin, Story, Variant
from repl_pair.runtime.store import STORE

def one(a=1):
    return a

origin = Origin(key="console", label="In[1]", line=1)
stories = [f"crowd.s{{number:04}}" for number in range({STORIES})]
variants = [f"{{id}}/Case_{{number:02}}" for id in stories for number in range({EACH})]
for kind, ids, body in (
    ("story", stories, Story(component=Component.of(one), doc="One of many.")),
    ("variant", variants, Variant(doc="One case.")),
):
    entries = {{
        id: Entry(kind=kind, id=id, body=body, origin=origin, revision=1) for id in ids
    }}
    STORE.reset(f"registry/{{kind}}", entries)
"""
SHOW = "shown = repl_pair.show(panel='explorer')\nshown"
UPDATES = """
import threading, time
from dataclasses import replace
from repl_pair.runtime.results.last_results import keep_result

passed = repl_pair.run("crowd.s0000/Case_00")
verdicts = [replace(passed, status=status) for status in ("fail", "pass", "error")]
finished = threading.Event()

def update(times, each=5, per_s=20):
    begin = time.monotonic()
    for tick in range(times):
        for number in range(each):
            id = f"crowd.s0000/Case_{number:02}"
            keep_result(replace(verdicts[tick % 3], variant_id=id))
        time.sleep(max(0, begin + (tick + 1) / per_s - time.monotonic()))
    for number in range(each):
        keep_result(replace(passed, variant_id=f"crowd.s0000/Case_{number:02}"))
    finished.set()

def begin(seconds):
    finished.clear()
    threading.Thread(target=update, args=(20 * seconds,), daemon=True).start()
"""
SCROLL = """async ([places, height]) => {
  const tree = document.querySelector(".rp-explorer .rp-tree");
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const seen = () => {
    const view = tree.getBoundingClientRect();
    const rows = [...tree.querySelectorAll("[role=treeitem]")].filter((row) => {
      const box = row.getBoundingClientRect();
      return box.bottom > view.top + 1 && box.top < view.bottom - 1;
    });
    rows.sort((one, other) => one.getBoundingClientRect().y - other.getBoundingClientRect().y);
    return rows.map((row) => row.dataset.key ?? null);
  };
  const wanted = Math.floor(tree.clientHeight / height);
  const found = [];
  for (const place of places) {
    const begun = performance.now();
    tree.scrollTop = place * height;
    let keys;
    do {
      await frame();
      keys = seen();
    } while (keys.length < wanted || keys.includes(null));
    found.push({ place: Math.round(tree.scrollTop / height), ms: performance.now() - begun, keys });
  }
  return found;
}"""
SWEEP = """async ([from, to, step]) => {
  const tree = document.querySelector(".rp-explorer .rp-tree");
  const swept = { most: 0, placed: 0 };
  const placed = new MutationObserver((changes) => (swept.placed += changes.length));
  placed.observe(tree, { subtree: true, attributes: true, attributeFilter: ["id"] });
  for (let top = from; top < to; top += step) {
    tree.scrollTop = top;
    await new Promise((resolve) => requestAnimationFrame(resolve));
    swept.most = Math.max(swept.most, tree.querySelectorAll("[role=treeitem]").length);
  }
  placed.disconnect();
  return swept;
}"""
ROW = 24
PLACES = (50_000, 99_000, 3, 75_123, 12_345, 100_500, 20_000, 60_606, 1_000, 88_888)


def key_at(place):
    """The key of a row of the crowd: one folder, and stories with their variants."""
    story, within = divmod(place - 1, EACH + 1)
    if place == 0:
        return "crowd"
    name = f"crowd.s{story:04}"
    return f"{name}/Case_{within - 1:02}" if within else name


async def open_crowd(lab):
    notebook = await lab.notebook(CROWD, SHOW)
    await notebook.run_all()
    tree = notebook.page.get_by_role("tree", name="Registry")
    await expect(tree.get_by_role("treeitem").first).to_have_attribute("data-key", "crowd")
    return notebook, tree
