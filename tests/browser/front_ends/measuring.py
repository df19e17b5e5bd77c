"""What a page costs: frames, memory; and whether everyone can use it."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import quantiles

from install import AXE

from front_ends.bounds import ask

COUNT = """() => {
  const counted = { deltas: [], last: undefined, on: true };
  const tick = (now) => {
    if (counted.last !== undefined) counted.deltas.push(now - counted.last);
    counted.last = now;
    if (counted.on) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  return counted;
}"""
STOP = "(counted) => { counted.on = false; return counted.deltas; }"
CHECK = """([selector, impacts]) => axe
  .run(selector, { resultTypes: ["violations"], preload: false, iframes: false })
  .then(({ violations }) => violations
    .filter(({ impact }) => impacts.includes(impact))
    .map(({ id, impact, help, nodes }) => (
      { id, impact, help, nodes: nodes.map(({ html }) => html) })))"""


@dataclass(kw_only=True)
class Frames:
    """Milliseconds between frames, once the counting has ended."""

    deltas_ms: list = field(default_factory=list)

    @property
    def p95_ms(self):
        return quantiles(self.deltas_ms, n=20, method="inclusive")[-1]


@asynccontextmanager
async def count_frames(page):
    """Count frames for as long as this is open."""
    frames = Frames()
    counted = await page.evaluate_handle(COUNT)
    yield frames
    frames.deltas_ms = await counted.evaluate(STOP)


async def measure_heap(page):
    """Return the bytes that JavaScript holds after a collection."""
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("HeapProfiler.collectGarbage")
    usage = await devtools.send("Runtime.getHeapUsage")
    await devtools.detach()
    return usage["usedSize"]


async def find_barriers(page, selector, impacts=("serious", "critical")):
    """Return axe-core's violations of these impacts within the selector."""
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate((AXE / "axe.min.js").read_text())
    return await ask(page, CHECK, [selector, list(impacts)])
