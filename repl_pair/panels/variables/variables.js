/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ principal: string, inspect: "open" | "granted" | "closed" | "unknown" }} AgentState
 * @typedef {{ agents: AgentState[], paused: boolean, refused: boolean }} Gate
 * @typedef {{ slots: Record<string, any>, why: string }} Row
 * @typedef {{ list: string, total: number, start: number, rows: Row[], beside: Record<string, any> }} Page
 * @typedef {{ slots: Record<string, any>, refusal: string, paths: string[], why: string }} Reading
 * @typedef {{ gate?: Gate, ended?: number }} VariablesPatch
 * @typedef {{ gate: ({}) => Gate, rows: ({start?: number, match?: string}) => Page, value: ({path: string}) =>
 *   Reading }} Asks
 */

const ROW = 24;
const PAGE = 100;
const DRAWN_BEYOND = 8;
const SETTLE_MS = 120;
const UNITS = ["B", "kB", "MB", "GB", "TB"];
const INSPECT = {
  open: ["inspect open", "Its latest call had inspect open: it reads these values"],
  granted: ["reads granted", "You granted it get_value for this session"],
  closed: ["inspect not open", "At its latest call: it is refused a value, or you are asked first"],
  unknown: ["no call yet", "What it has open is known from its first call on"],
};

/** Write a number of bytes: "1.2 MB". */
function bytesText(bytes) {
  const power = bytes > 0 ? Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3)) : 0;
  const amount = bytes / 1000 ** power;
  return `${power && amount < 99.95 ? amount.toFixed(1) : Math.round(amount).toLocaleString()} ${UNITS[power]}`;
}

/** Write what a slot of a line holds: an array's shape as "3 × 4". */
function slotText(value) {
  if (Array.isArray(value)) return value.map(slotText).join(" × ");
  if (typeof value === "number") return value.toLocaleString();
  if (value?.$elided) return `${value.$elided.head ?? value.$elided.type}…`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The columns that are known; each other slot of the lines gets one of its own, behind them. */
const COLUMNS = [
  { title: "name", slots: ["id"], width: "minmax(80px, 3fr)" },
  { title: "type", slots: ["type"], width: "minmax(56px, 2fr)" },
  { title: "size", slots: ["size", "shape"], width: "minmax(72px, 1.4fr)", number: true },
  { title: "memory", slots: ["bytes"], width: "72px", number: true, write: bytesText },
];
const KNOWN = new Set(COLUMNS.flatMap((column) => column.slots));

async function draw({ root, ask, read, listen, signal }) {
  const uid = `rp-${Math.random().toString(36).slice(2)}`;
  let gate = { agents: [], paused: false, refused: false };
  let list = "";
  let total = null;
  let match = "";
  let columns = [];
  let active = 0;
  let chosen = null;
  let tick = 0;
  let inSight = true;
  const pages = new Map();

  const gates = h("div", { class: "rp-gates", role: "group", "aria-label": "What agents may read" });
  const filter = h("input", { type: "search", "aria-label": "Filter by name", placeholder: "Filter   /", oninput: () => setMatch() });
  const count = h("span", { class: "rp-faint rp-count" });
  const heads = h("div", { class: "rp-heads", role: "row", "aria-rowindex": "1" });
  const held = h("div", { class: "rp-held", role: "rowgroup" });
  const grid = h(
    "div",
    { class: "rp-grid", role: "grid", tabindex: "0", "aria-label": "Variables", "aria-readonly": "true", "data-key": "grid", onscroll: () => drawSoon() },
    h("div", { class: "rp-sticky", role: "rowgroup" }, heads),
    held,
  );
  const empty = h("div", { class: "rp-empty", hidden: true });
  const beside = h("div", { class: "rp-beside", hidden: true });
  const names = h("div", { class: "rp-names" }, grid, empty, beside);
  const path = h("input", { class: "rp-mono", type: "text", "aria-label": "Path of a value", placeholder: "orders[0].sku", spellcheck: "false", autocapitalize: "off" });
  const details = h("div", { class: "rp-answer", role: "region", tabindex: "0", "aria-label": "What an agent reads" });
  const looked = h("div", { class: "rp-looked" }, h("label", { class: "rp-row rp-path" }, h("code", { class: "rp-faint" }, "get_value"), path), details);
  const both = h("div", { class: "rp-both" }, names, looked);
  const live = h("div", { class: "rp-hidden", role: "status" });
  root.append(gates, h("div", { class: "rp-row rp-find" }, filter, count), both, live);

  // --- what agents may read

  function gateWords() {
    if (gate.refused) return "Detached: no agent gets in.";
    if (gate.paused) return "Agents are paused: they read nothing now.";
    return gate.agents.length ? null : "No agent is attached.";
  }

  function drawGates() {
    const chips = gate.agents.map(({ principal, inspect }) => {
      const [words, title] = INSPECT[inspect];
      return h("span", { class: "rp-chip", "data-inspect": inspect, title }, h("strong", {}, principal), ` ${words}`);
    });
    fill(gates, h("span", {}, "Agents list these names. They read a value only where ", h("code", {}, "inspect"), " is open."), gateWords() && h("span", { class: "rp-now" }, gateWords()), ...chips);
  }

  /** Write who reads what is shown: an agent whose latest call had inspect open. */
  function readersText() {
    const readers = gate.agents.filter(({ inspect }) => inspect === "open" || inspect === "granted").map((agent) => agent.principal);
    const now = gateWords() ?? (readers.length ? `Open now: ${[...new Set(readers)].join(", ")}.` : "No attached agent is known to have it open.");
    return `An agent reads this only where inspect is open. ${now}`;
  }

  listen("gate", (given) => {
    gate = given;
    drawGates();
    for (const each of details.querySelectorAll(".rp-readers")) each.textContent = readersText();
  });

  // --- rows: pages are fetched as they come into sight; those of an earlier cell are shown until then

  const firstSeen = () => Math.floor(grid.scrollTop / ROW);
  const lastSeen = () => Math.min(total ?? 0, Math.ceil((grid.scrollTop + Math.max(ROW, grid.clientHeight - ROW)) / ROW));
  const pageOf = (place) => Math.floor(place / PAGE) * PAGE;
  const rowAt = (place) => pages.get(pageOf(place))?.rows[place - pageOf(place)];
  const nameAt = (place) => rowAt(place)?.slots.id;

  /** Return where a page begins that is in sight, and is missing or older than the latest cell. */
  function missing() {
    if (total === null) return 0;
    for (let start = pageOf(firstSeen()); start < Math.max(1, lastSeen()); start += PAGE) if (pages.get(start)?.tick !== tick) return start;
    return null;
  }

  let asking = false;

  /** Ask for pages until all in sight are there, one at a time: over many names each takes its time. */
  const refresh = guarded(root, async () => {
    if (asking || !inSight) return;
    asking = true;
    try {
      for (let start = missing(); start !== null && !signal.aborted && inSight; start = missing()) {
        const asked = { tick, match };
        const answer = await read("rows", { start, match });
        if (asked.match === match) take(answer, asked.tick);
      }
    } finally {
      asking = false;
    }
  });

  function take(answer, asked) {
    const at = { place: firstSeen(), name: nameAt(firstSeen()) };
    const activeName = nameAt(active);
    // A list of other names has other rows in the same places.
    if (answer.list !== list || answer.total !== total) for (const start of pages.keys()) if (Math.abs(start - answer.start) > PAGE) pages.delete(start);
    ({ list, total } = answer);
    // While a cell adds names as fast as they are read, the earlier rows stay.
    const isLost = !answer.rows.length && answer.start < total;
    pages.set(answer.start, { rows: isLost ? (pages.get(answer.start)?.rows ?? []) : answer.rows, tick: asked });
    if (answer.start === 0) drawBeside(answer.beside);
    held.style.height = `${total * ROW}px`;
    const moved = (name, place) => {
      const found = name === undefined ? -1 : answer.rows.findIndex((row) => row.slots.id === name);
      return found < 0 ? 0 : answer.start + found - place;
    };
    // What stands at the top stays there when names come or go above it.
    if (grid.scrollTop > 0) grid.scrollTop += moved(at.name, at.place) * ROW;
    active = Math.max(0, Math.min(total - 1, active + moved(activeName, active)));
    drawColumns();
    drawCount();
    drawRows();
    readActive();
  }

  function setMatch() {
    match = filter.value.trim();
    root.querySelector(":scope > .rp-fault")?.remove();
    pages.clear();
    [list, total, active, columns, isWanted] = ["", null, 0, [], false];
    grid.scrollTop = 0;
    drawCount();
    refresh();
  }

  listen("ended", () => {
    tick += 1;
    refresh();
    if (chosen !== null && inSight) readValue(chosen, true);
    else isOld = chosen !== null;
  });
  let isOld = false;
  const watch = new IntersectionObserver(([entry]) => {
    inSight = entry.isIntersecting;
    if (!inSight) return;
    refresh();
    if (isOld) readValue(chosen, true);
  });
  watch.observe(root);
  const resized = new ResizeObserver(() => {
    drawRows();
    refresh();
  });
  resized.observe(grid);
  signal.addEventListener("abort", () => {
    watch.disconnect();
    resized.disconnect();
  });

  // --- drawing the rows

  let due = 0;
  function drawSoon() {
    due ||= requestAnimationFrame(() => {
      due = 0;
      drawRows();
      refresh();
    });
  }

  /** Set the columns: those of which any row that was seen has a slot. */
  function drawColumns() {
    const there = new Set([...pages.values()].flatMap(({ rows }) => rows.flatMap(({ slots }) => Object.keys(slots))));
    const others = [...there].filter((slot) => !KNOWN.has(slot)).map((slot) => ({ title: slot, slots: [slot], width: "minmax(56px, 1fr)" }));
    const known = COLUMNS.filter(({ title, slots }) => title === "size" || slots.some((slot) => there.has(slot)));
    const wanted = [...known, ...others];
    if (wanted.map(({ title }) => title).join() === columns.map(({ title }) => title).join()) return;
    columns = wanted;
    grid.style.setProperty("--rp-columns", columns.map(({ width }) => width).join(" "));
    heads.replaceChildren(...columns.map(({ title, number }) => h("span", { role: "columnheader", class: number ? "rp-number" : null }, title)));
    held.replaceChildren();
  }

  function drawCount() {
    const words = total === 1 ? "1 variable" : `${(total ?? 0).toLocaleString()} variables`;
    const all = total === null ? "" : match ? `${words} of that name` : words;
    if (count.textContent === all) return;
    count.textContent = all;
    live.textContent = all;
  }

  function drawRows() {
    const nothing = total === 0;
    empty.hidden = !nothing;
    grid.hidden = nothing;
    if (nothing) fill(empty, ...emptyState());
    const [from, to] = [Math.max(0, firstSeen() - DRAWN_BEYOND), Math.min(total ?? 0, lastSeen() + DRAWN_BEYOND)];
    const known = new Map([...held.children].map((each) => [each.dataset.row, each]));
    const drawn = [];
    for (let place = from; place < to; place++) drawn.push(drawRow(place, rowAt(place), known));
    if (drawn.length !== held.childElementCount || drawn.some((each, at) => each !== held.children[at])) held.replaceChildren(...drawn);
    grid.setAttribute("aria-rowcount", String((total ?? 0) + 1));
    grid.setAttribute("aria-colcount", String(columns.length));
    if (active >= from && active < to) grid.setAttribute("aria-activedescendant", `${uid}-${active}`);
    else grid.removeAttribute("aria-activedescendant");
  }

  /** Return the element of a row: the one that shows it already, or another. */
  function drawRow(place, row, known) {
    const isChosen = row !== undefined && row.slots.id === chosen;
    const key = JSON.stringify([place, row ?? null, isChosen, place === active]);
    if (known.has(key)) return known.get(key);
    const cells = columns.map((column, at) => drawCell(column, row, at === 2));
    const element = h(
      "div",
      {
        class: `rp-line${place === active ? " rp-active" : ""}`,
        role: "row",
        id: `${uid}-${place}`,
        "data-row": key,
        "data-name": row && slotText(row.slots.id),
        "aria-rowindex": String(place + 2),
        "aria-selected": String(isChosen),
        "aria-busy": row ? null : "true",
        onclick: () => select(place, 0),
      },
      ...cells,
    );
    element.style.top = `${place * ROW}px`;
    return element;
  }

  function drawCell({ slots, number, write = slotText }, row, isMarked) {
    const slot = slots.find((each) => row?.slots[each] !== undefined);
    const text = slot === undefined ? "" : write(row.slots[slot]);
    const chip = isMarked && row?.why ? h("mark", { class: "rp-redacted", title: `Redacted: ${row.why}.` }, "redacted") : null;
    const style = slots.includes("id") ? "rp-mono" : number ? "rp-number" : null;
    return h("span", { role: "gridcell", class: style, title: text.length > 12 ? text : null }, chip ?? text);
  }

  function emptyState() {
    if (!match) return [h("p", {}, "No variables yet. What your cells assign is listed here when they have ended.")];
    return [h("p", {}, "No name holds ", h("code", {}, match), "."), h("button", { "data-key": "clear", onclick: clearFilter }, "Clear the filter")];
  }

  function clearFilter() {
    filter.value = "";
    setMatch();
    filter.focus();
  }

  let besideText = "";

  function drawBeside(slots) {
    if (besideText === JSON.stringify(slots)) return;
    besideText = JSON.stringify(slots);
    const lists = Object.entries(slots).filter(([, found]) => Array.isArray(found) && found.length);
    const parts = lists.map(([name, found]) =>
      h("details", { "data-list": name, open: beside.querySelector(`[data-list="${CSS.escape(name)}"]`)?.open }, h("summary", { "data-key": `list ${name}` }, `${name} ${found.length.toLocaleString()}`), h("p", { class: "rp-mono" }, ...found.flatMap((item, at) => [at ? ", " : "", ...(typeof item === "string" ? [item] : drawJson(item))]))),
    );
    fill(beside, ...parts);
    beside.hidden = !parts.length;
  }

  // --- one value

  let wait;
  function select(place, settle_ms = SETTLE_MS) {
    isWanted = total === null;
    if (!total) return;
    active = Math.max(0, Math.min(total - 1, place));
    const top = active * ROW;
    const room = grid.clientHeight - ROW;
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top + ROW > grid.scrollTop + room) grid.scrollTop = top + ROW - room;
    drawRows();
    clearTimeout(wait);
    // While a key is held down, nothing is read.
    wait = setTimeout(() => {
      isWanted = true;
      readActive();
    }, settle_ms);
  }

  let isWanted = false;

  /** Read the value of the row that was selected, once its page is there. */
  function readActive() {
    const name = nameAt(active);
    if (!isWanted || name === undefined) return;
    isWanted = false;
    if (typeof name === "string") readValue(name);
  }

  let latest = 0;
  const readValue = guarded(root, async (given, isAgain = false) => {
    const mine = ++latest;
    isOld = false;
    chosen = given;
    if (!isAgain) path.value = given;
    drawRows();
    const answer = await ask("value", { path: given });
    if (mine === latest) drawReading(given, answer, isAgain);
  });

  let readingText = "";

  function drawReading(given, answer, isAgain) {
    if (isAgain && readingText === JSON.stringify(answer)) return;
    readingText = JSON.stringify(answer);
    const { slots, refusal, paths, why } = answer;
    const { path: read, type, value, outputs = [], ...more } = slots;
    const facts = Object.entries(more).map(([slot, found]) => (slot === "bytes" ? bytesText(found) : slot === "size" ? `size ${slotText(found)}` : slotText(found)));
    const steps = paths.map((each) => h("button", { class: "rp-mono", "data-key": `path ${each}`, onclick: () => readValue(each) }, each));
    const body = refusal
      ? [h("p", { class: "rp-refusal" }, "An agent is refused: ", ...withChips(refusal))]
      : [
          h("p", { class: "rp-facts" }, h("strong", {}, type), ...facts.map((fact) => ` · ${fact}`)),
          why ? h("p", { class: "rp-why" }, `Redacted: ${why}.`) : null,
          ...outputs.flatMap(showBundle),
          h("pre", {}, ...drawValue(value)),
          steps.length ? h("div", { class: "rp-row rp-steps" }, h("span", { class: "rp-faint" }, "Read on"), ...steps) : null,
        ];
    fill(details, h("p", { class: "rp-faint rp-readers", title: "On its way the server also replaces what has the form of a secret." }, readersText()), ...body);
    if (isAgain) return;
    details.scrollTop = 0;
    live.textContent = refusal ? `${given}: refused` : `${read}: ${type}`;
  }

  path.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && path.value.trim()) readValue(path.value.trim());
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      grid.focus();
    } else if (event.key === "Escape" && filter.value) clearFilter();
  });
  // In the grid only: the page of a value scrolls by the same keys.
  const steps = {
    ArrowDown: () => active + (chosen === null && active === 0 ? 0 : 1),
    ArrowUp: () => active - 1,
    PageDown: () => active + Math.max(1, Math.floor(grid.clientHeight / ROW) - 2),
    PageUp: () => active - Math.max(1, Math.floor(grid.clientHeight / ROW) - 2),
    Home: () => 0,
    End: () => total - 1,
  };
  grid.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") path.focus();
    else if (event.key in steps) select(steps[event.key]());
    else return;
    event.preventDefault();
  });
  bindKeys(root, { "/": () => filter.focus() });

  drawColumns();
  drawGates();
  fill(details, h("p", { class: "rp-faint" }, "Choose a variable to see what an agent is answered for it, or type a path and press Enter."));
  [gate] = await Promise.all([read("gate"), refresh()]);
  drawGates();
}

export default panel("variables", draw);
