/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number, variant: string | null, running: boolean }} Head
 * @typedef {{ place: number, phase: string, begin: number, ms: number, failed: boolean }} Span
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number, variant: string | null, running: boolean, registered: boolean }}
 *   TraceHead
 * @typedef {{ head: TraceHead, counts: Record<string, number>, spans: Span[] }} Run
 * @typedef {{ at: number, kind: string, place: number, text: string, failed: boolean }} TraceRow
 * @typedef {{ total: number, start: number, rows: TraceRow[] }} Page
 * @typedef {{ text: string, left: number }} CopiedRows
 * @typedef {{ run?: Run, head?: TraceHead }} TracePatch
 * @typedef {{ start: ({}) => Run, rows: ({kinds: string[], text?: string, start?: number}) => Page, row: ({at:
 *   number}) => Record<string, any>, json: ({kinds: string[], text?: string}) => CopiedRows, run: ({variant:
 *   string}) => null }} Asks
 */

const KIND_NAMES = {
  phase: "phases", event: "events", effect: "effects", warning: "warnings", log: "logs",
  stdout: "stdout", stderr: "stderr", beside: "beside",
};
const ROW_PX = 20;
const AHEAD = 12;

async function draw({ root, ask, listen }) {
  let head = {};
  let counts = {};
  let total = 0;
  let at = null;
  let pages = new Map();
  let asked = 0;
  const off = new Set();

  const bar = h("div", { class: "rp-row rp-status" });
  const filter = h("input", { type: "search", "aria-label": "Filter the trace", placeholder: "Filter   /", oninput: () => refill() });
  const kinds = h("div", { class: "rp-row rp-kinds", role: "group", "aria-label": "Kinds of rows" });
  const copy = h("button", { title: "Copy the rows as JSON (y)", onclick: () => copyRows() }, "Copy as JSON");
  const timeline = h("div", { class: "rp-timeline", role: "group", "aria-label": "Phases of the run" });
  const held = h("div", { class: "rp-held", role: "presentation" });
  const list = h("div", { class: "rp-list", role: "listbox", tabindex: "0", "aria-label": "Trace", onscroll: () => drawRows() }, held);
  const details = h("div", { class: "rp-details", role: "region", tabindex: "0", "aria-label": "Details of the row" });
  const both = h("div", { class: "rp-both" }, list, details);
  const empty = h("div", { class: "rp-empty" });
  const live = h("div", { class: "rp-hidden", role: "status" });
  const tools = h("div", { class: "rp-row rp-tools" }, filter, kinds, copy);
  root.append(bar, timeline, tools, both, empty, live);
  const prefix = `rp-${Math.random().toString(36).slice(2)}`;

  const run = guarded(root, (variant) => head.running || ask("run", { variant }));
  const wanted = () => ({ kinds: Object.keys(KIND_NAMES).filter((kind) => !off.has(kind)), text: filter.value });

  const show = guarded(root, async (answer) => {
    ({ head, counts } = answer);
    drawBar();
    drawKinds();
    drawTimeline(answer.spans);
    const hasRun = head.status !== undefined;
    for (const part of [tools, both, timeline]) part.hidden = !hasRun;
    empty.hidden = hasRun;
    drawEmpty();
    at = null;
    details.replaceChildren(h("p", { class: "rp-faint" }, "Choose a row to see all of it."));
    await refill();
  });

  // --- rows: pages are fetched as they come into sight

  const refill = guarded(root, async () => {
    const mine = ++asked;
    const answer = await ask("rows", { ...wanted(), start: 0 });
    if (mine !== asked) return;
    pages = new Map([[0, answer.rows]]);
    total = answer.total;
    list.scrollTop = 0;
    drawRows();
    live.textContent = `${total} rows`;
  });

  const fetchPage = guarded(root, async (start) => {
    const into = pages;
    into.set(start, null);
    try {
      into.set(start, (await ask("rows", { ...wanted(), start })).rows);
    } catch (error) {
      into.delete(start); // so that it is asked for again
      throw error;
    }
    if (into === pages) drawRows();
  });

  const PAGE = 500;

  const pageOf = (place) => Math.floor(place / PAGE) * PAGE;

  function rowAt(place) {
    const start = pageOf(place);
    if (!pages.has(start)) fetchPage(start);
    return pages.get(start)?.[place - start];
  }

  function drawRows() {
    held.style.height = `${total * ROW_PX}px`;
    const first = Math.max(0, Math.floor(list.scrollTop / ROW_PX) - AHEAD);
    const last = Math.min(total, Math.ceil((list.scrollTop + list.clientHeight) / ROW_PX) + AHEAD);
    const drawn = [];
    for (let place = first; place < last; place++) drawn.push(drawRow(place, rowAt(place)));
    held.replaceChildren(...drawn);
    if (!total) held.replaceChildren(h("p", { class: "rp-faint rp-none" }, "No row holds that."));
    const isDrawn = at !== null && at >= first && at < last;
    list.setAttribute("aria-activedescendant", isDrawn ? `${prefix}-${at}` : "");
  }

  function drawRow(place, row) {
    const element = h(
      "div",
      {
        class: "rp-line",
        role: "option",
        id: `${prefix}-${place}`,
        "data-kind": row?.kind,
        "data-failed": row?.failed ? "" : false,
        "aria-selected": String(place === at),
        "aria-setsize": String(total),
        "aria-posinset": String(place + 1),
        onclick: () => select(place),
      },
      h("span", { class: "rp-kind" }, row?.kind ?? "…"),
      " ",
      h("span", { class: "rp-mono rp-text" }, row?.text ?? ""),
    );
    element.style.top = `${place * ROW_PX}px`;
    return element;
  }

  const select = guarded(root, async (place) => {
    if (place < 0 || place >= total) return;
    at = place;
    const top = place * ROW_PX;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + ROW_PX > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_PX - list.clientHeight;
    drawRows();
    const row = rowAt(place) ?? (await fetchPage(pageOf(place)), rowAt(place));
    if (!row) return;
    const answer = await ask("row", { at: row.at });
    if (at === place) drawDetails(answer);
  });

  function drawDetails(answer) {
    const { kind, place, ...slots } = answer;
    const text = JSON.stringify(answer, null, 1);
    const filled = Object.entries(slots).filter(([, value]) => value !== null);
    fill(
      details,
      h(
        "div",
        { class: "rp-row" },
        h("strong", {}, `${kind} ${place + 1}`),
        h("button", { class: "rp-link", onclick: () => copyThis(text) }, "Copy as JSON"),
      ),
      ...filled.flatMap(([name, value]) => drawSlot(name, value)),
    );
    details.scrollTop = 0;
  }

  function drawSlot(name, value) {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return h("div", { class: "rp-labelled" }, h("span", { class: "rp-faint" }, name), h("pre", {}, text));
  }

  const copyThis = guarded(root, async (text) => {
    live.textContent = await copyText(root, text);
  });

  const copyRows = guarded(root, async () => {
    const answer = await ask("json", wanted());
    const left = answer.left ? ` ${answer.left} more rows were left out.` : "";
    live.textContent = `${await copyText(root, answer.text)}${left}`;
  });

  // --- above the rows

  function drawBar() {
    const { variant } = head;
    bar.dataset.status = head.running ? "running" : (head.status ?? "none");
    fill(
      bar,
      head.variant ? h("span", { class: "rp-dot" }) : null,
      head.variant ? h("strong", {}, head.variant) : null,
      head.status ? h("span", { class: "rp-faint" }, `${head.status.replace("_", " ")} in ${head.elapsed_ms.toFixed(1)} ms`) : null,
      head.what_if ? h("span", { class: "rp-stale", title: "A run with args or modes of its own: no verdict of the variant." }, "what-if") : null,
      head.stale ? h("span", { class: "rp-stale", title: "Run it again: what it rests on was registered again." }, "stale") : null,
      head.running ? h("span", { class: "rp-faint" }, "running") : null,
      head.registered ? h("button", { "data-key": "run", title: "Run (r)", onclick: () => run(variant) }, "Run") : null,
    );
  }

  function drawKinds() {
    const there = Object.entries(KIND_NAMES).filter(([kind]) => counts[kind]);
    const buttons = there.map(([kind, name]) =>
      h(
        "button",
        {
          "data-key": kind,
          "data-kind": kind,
          "aria-pressed": String(!off.has(kind)),
          title: kind === "beside" ? "What threads and processes of the run put out" : false,
          onclick: () => toggle(kind),
        },
        `${name} ${counts[kind]}`,
      ),
    );
    fill(kinds, ...buttons);
  }

  function toggle(kind) {
    if (!off.delete(kind)) off.add(kind);
    drawKinds();
    at = null;
    refill();
  }

  function drawTimeline(spans) {
    const all = spans.reduce((sum, span) => sum + span.ms, 0) || 1;
    const bars = spans.map((span) => {
      const name = `${span.phase}: ${span.ms} ms, from ${span.begin.toFixed(3)} ms on${span.failed ? ", failed" : ""}`;
      const element = h(
        "button",
        { class: "rp-span", "aria-label": name, title: name, "data-failed": span.failed ? "" : false, "data-key": `span ${span.phase}`, onclick: () => openPhase(span) },
        span.ms / all > 0.12 ? `${span.phase} ${span.ms.toFixed(1)} ms` : "",
      );
      element.style.flexGrow = String(span.ms / all);
      return element;
    });
    fill(timeline, ...bars);
  }

  const openPhase = guarded(root, async (span) => {
    off.delete("phase");
    filter.value = "";
    drawKinds();
    await refill();
    await select(span.place);
  });

  function drawEmpty() {
    if (head.status === undefined) fill(empty, ...emptyState());
  }

  function emptyState() {
    if (!head.variant) return [h("p", {}, "Choose a variant in the registry, or show one:"), h("pre", {}, 'repl_pair.show("story/Variant")')];
    if (!head.registered) return [h("p", {}, `${head.variant} is not registered any more. Run the cell that registers it.`)];
    return [h("p", {}, `${head.variant} has not been run yet: press Run, or type`), h("pre", {}, `repl_pair.run("${head.variant}")`)];
  }

  bindKeys(root, {
    j: () => select(at === null ? 0 : at + 1),
    k: () => select(at === null ? 0 : at - 1),
    ArrowDown: () => select(at === null ? 0 : at + 1),
    ArrowUp: () => select(at === null ? 0 : at - 1),
    PageDown: () => select(Math.min(total - 1, (at ?? 0) + 10)),
    PageUp: () => select(Math.max(0, (at ?? 0) - 10)),
    Home: () => select(0),
    End: () => select(total - 1),
    "/": () => filter.focus(),
    y: () => copyRows(),
    r: () => bar.querySelector('[data-key="run"]')?.click(),
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") list.focus();
    if (event.key !== "Escape") return;
    filter.value = "";
    refill();
  });
  listen("run", show);
  listen("head", (given) => {
    head = given;
    drawBar();
    drawEmpty();
  });
  await show(await ask("start"));
}

export default panel("trace", draw);
