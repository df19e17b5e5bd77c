/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ key: string, kind: string, name: string, level: number, above: string, place: number, of: number,
 *   open?: boolean, size?: number, counts?: Record<string, number>, status?: string | null, last?: string, kept?:
 *   boolean, watched?: boolean, origin?: string, doc?: string, agent?: string, tier?: string, exposure?: string }}
 *   Row
 * @typedef {{ size: number, counts: Record<string, number>, failing: number }} Summary
 * @typedef {{ done: number, total: number, over: boolean, fault: string }} BatchState
 * @typedef {{ words: string, tags: Record<string, string>, kinds: string[], statuses: string[] }} FilterState
 * @typedef {{ id: string, doc: string, unasked: string }} TagChoice
 * @typedef {{ tags: TagChoice[], kinds: Record<string, string>[], statuses: string[] }} FilterChoices
 * @typedef {{ version: number, total: number, summary: Summary, watched: boolean }} Totals
 * @typedef {{ version: number, total: number, summary: Summary, watched: boolean, filter: FilterState, choices:
 *   FilterChoices, focus: string | null, batch: BatchState, empty: string }} State
 * @typedef {{ version: number, total: number, summary: Summary, watched: boolean, start: number, rows: Row[] }}
 *   Window
 * @typedef {{ key: string, place: number | null }} Failure
 * @typedef {{ version: number, choices?: FilterChoices, filter?: FilterState }} RowsMoved
 * @typedef {{ version: number, rows: [number, Row][] }} RowsChanged
 * @typedef {{ moved?: RowsMoved, summary?: Summary, rows?: RowsChanged, focus?: string | null, batch?: BatchState,
 *   refused?: string }} ExplorerPatch
 * @typedef {{ state: ({}) => State, rows: ({page: string, start: number, stop: number, anchor?: string | null,
 *   offset?: number}) => Window, filter: ({words?: string, tags?: Record<string, string> | null, kinds?: string[],
 *   statuses?: string[]}) => Totals, open: ({key: string, is_open: boolean}) => Totals, where: ({key: string}) =>
 *   number | null, find: ({text: string, after: number}) => number | null, failure: ({key?: string, after?:
 *   string}) => Failure | null, select: ({key: string}) => null, run: ({key?: string}) => number, stop: ({}) =>
 *   null, watch: ({key?: string, on?: boolean}) => null }} Asks
 */

const ROW = 24;
const AHEAD = 60;
const MARGIN = 20;
const DRAWN_BEYOND = 8;
const TYPING_MS = 700;
const WORDS = {
  error: "error",
  fail: "failed",
  cannot_run: "cannot run",
  running: "running",
  stale: "stale",
  not_run: "not run",
  pass: "passed",
};
const STATES = ["any", "with", "without"];

/** Write how many there are of each status: "2 failed, 10 passed". */
function countsText(counts) {
  return Object.entries(counts ?? {}).map(([status, count]) => `${count} ${WORDS[status]}`).join(", ");
}

/** Write a status, and behind `stale` that of the last run. */
function statusText(row) {
  if (!row.status) return "";
  return row.last ? `${WORDS[row.status]}, last ${WORDS[row.last]}` : WORDS[row.status];
}

/** Write all that a row shows, for a screen reader. */
function rowLabel(row) {
  const parts = [
    row.name,
    row.kind === "group" ? `${row.size} ${row.size === 1 ? "entry" : "entries"}` : row.kind,
    row.counts ? (row.size ? `${row.size} ${row.size === 1 ? "variant" : "variants"}: ${countsText(row.counts)}` : "no variants") : statusText(row),
    row.kept && "shown whatever the filter, since it fails",
    row.watched && "watched",
    row.agent && `registered by ${row.agent}`,
    row.exposure && `${row.exposure} ${row.exposure === "hidden" ? "from" : "to"} agents`,
    row.tier && `tier ${row.tier}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Write the tooltip of a row. */
function rowTitle(row) {
  return [row.key, row.doc, row.counts ? countsText(row.counts) : statusText(row), row.origin].filter(Boolean).join("\n");
}

function showsVariants(row) {
  return row.kind === "variant" || row.kind === "story" || row.kind === "folder";
}

/** One row's element, and how it is made to show another row. */
function makeRow(uid) {
  const twisty = h("span", { class: "rp-twisty", "data-act": "open", "aria-hidden": "true" });
  const dot = h("span", { class: "rp-dot", "aria-hidden": "true" });
  const name = h("span", { class: "rp-name" });
  const marks = h("span", { class: "rp-marks", "aria-hidden": "true" });
  const side = h("span", { class: "rp-side", "aria-hidden": "true" });
  const run = h("span", { class: "rp-run", "data-act": "run", title: "Run", "aria-hidden": "true" }, "▶");
  const element = h("div", { class: "rp-item", role: "treeitem" }, twisty, dot, name, marks, side, run);

  // What is set already is not set again: rows are shown anew at each frame of a scroll.
  const drawn = new Map();

  function isNew(slot, value) {
    if (drawn.get(slot) === value) return false;
    drawn.set(slot, value);
    return true;
  }

  function setOr(attribute, value) {
    if (!isNew(attribute, value)) return;
    if (value === undefined || value === null) element.removeAttribute(attribute);
    else element.setAttribute(attribute, value);
  }

  function write(part, text) {
    if (isNew(part, text)) part.textContent = text;
  }

  function show(index, row) {
    if (isNew("index", index)) {
      element.id = `${uid}-${index}`;
      element.style.transform = `translateY(${index * ROW}px)`;
    }
    setOr("aria-busy", row ? null : "true");
    setOr("aria-label", row ? rowLabel(row) : "loading");
    setOr("aria-level", row?.level ?? 1);
    setOr("aria-posinset", row?.place);
    setOr("aria-setsize", row?.of);
    setOr("aria-expanded", row?.open);
    setOr("data-key", row?.key);
    setOr("data-kind", row?.kind);
    setOr("data-status", row?.status);
    setOr("title", row ? rowTitle(row) : null);
    element.classList.toggle("rp-kept", Boolean(row?.kept));
    if (isNew("level", row?.level)) element.style.setProperty("--rp-level", (row?.level ?? 1) - 1);
    write(name, row?.name ?? "");
    dot.hidden = !row?.status;
    const failing = (row?.counts?.fail ?? 0) + (row?.counts?.error ?? 0) + (row?.counts?.cannot_run ?? 0);
    if (isNew(dot, failing)) {
      if (failing) dot.dataset.act = "failure";
      else delete dot.dataset.act;
      dot.title = failing ? `${failing} failing: go to the first` : "";
    }
    run.hidden = !row || !showsVariants(row) || (row.kind !== "variant" && !row.size);
    if (isNew(marks, `${row?.kept} ${row?.agent} ${row?.watched} ${row?.exposure} ${row?.tier}`)) showMarks(row);
    write(side, String((row?.kind === "variant" ? null : row?.size) ?? row?.origin ?? ""));
  }

  function showMarks(row) {
    marks.replaceChildren(
      ...[
        row?.kept && h("span", { class: "rp-mark", title: "Shown whatever the filter, since it fails" }, "kept"),
        row?.agent && h("span", { class: "rp-mark rp-by", title: `Registered by ${row.agent}` }, "agent"),
        row?.exposure && h("span", { class: "rp-mark", title: "What an agent sees" }, row.exposure),
        row?.tier && h("span", { class: "rp-mark", title: "Its tier" }, row.tier),
        row?.watched && h("span", { class: "rp-eye", title: "Runs again when it changes" }, "◉"),
      ].filter(Boolean),
    );
  }

  return { element, show, row: undefined, index: -1 };
}

async function draw({ root, ask, read, listen, signal }) {
  const uid = `rp-${Math.random().toString(36).slice(2)}`;
  const page = uid;
  let choices = { tags: [], kinds: [], statuses: [] };
  let wanted = { words: "", tags: {}, kinds: [], statuses: [] };
  let summary = { size: 0, counts: {}, failing: 0 };
  let held = { version: -1, total: 0, start: 0, rows: [] };
  let latest = 0;
  let active = { index: 0, key: null };
  let looked = null;
  let watchesAll = false;
  let filtersOpen = false;
  let allOpen = true;
  const drawn = new Map();
  const spare = [];

  const search = h("input", {
    type: "search",
    "aria-label": "Search ids and docs",
    placeholder: "Search   /",
    oninput: () => setFilter({ words: search.value }),
  });
  const filterButton = h("button", { "aria-expanded": "false", onclick: () => toggleFilters() }, "Filter");
  const filters = h("div", { class: "rp-filters", hidden: true });
  const chips = h("div", { class: "rp-chips", role: "group", "aria-label": "Filter by status" });
  const next = h("div", { class: "rp-after" });
  const actions = h("div", { class: "rp-row rp-actions", role: "group", "aria-label": "All variants" });
  const progress = h("div", { class: "rp-row rp-progress", hidden: true });
  const empty = h("div", { class: "rp-empty", hidden: true });
  const spacer = h("div", { class: "rp-spacer", role: "presentation" });
  const tree = h("div", { class: "rp-tree", role: "tree", "aria-label": "Registry", tabindex: "0", "data-key": "tree" }, spacer);
  const about = h("div", { class: "rp-about", role: "group", "aria-label": "Current row" });
  const live = h("div", { class: "rp-hidden", role: "status" });
  root.append(h("div", { class: "rp-row rp-find" }, search, filterButton), filters, actions, h("div", { class: "rp-row rp-statuses" }, chips, next), progress, empty, tree, about, live);

  // --- the window of rows that this page holds

  const rowAt = (index) => held.rows[index - held.start];
  const heightInRows = () => Math.max(1, Math.floor(tree.clientHeight / ROW));
  const firstSeen = () => Math.floor(tree.scrollTop / ROW);
  const lastSeen = () => Math.min(held.total, Math.ceil((tree.scrollTop + tree.clientHeight) / ROW));

  function isEnough() {
    const from = Math.max(0, firstSeen() - MARGIN);
    const to = Math.min(held.total, lastSeen() + MARGIN);
    return held.version >= latest && from >= held.start && to <= held.start + held.rows.length;
  }

  let asking = false;

  /** Ask for rows around the viewport until those that are held are enough; one ask at a time. */
  const refresh = guarded(root, async () => {
    if (asking) return;
    asking = true;
    try {
      do {
        const first = firstSeen();
        const start = Math.max(0, first - AHEAD);
        const anchor = tree.scrollTop > 0 ? rowAt(first)?.key : undefined;
        const moved = held.version < latest && anchor !== undefined;
        const given = { page, start, stop: first + heightInRows() + AHEAD };
        const answer = await read("rows", moved ? { ...given, anchor, offset: first - start } : given);
        take(answer, moved ? { key: anchor, index: first } : null);
      } while (!signal.aborted && !isEnough());
    } finally {
      asking = false;
    }
  });

  function take(answer, anchor) {
    latest = Math.max(latest, answer.version);
    // A row that shows what it showed stays the object that it was, and is not drawn again.
    const before = new Map(held.rows.map((row) => [row.key, row]));
    const rows = answer.rows.map((row) => (isSame(row, before.get(row.key)) ? before.get(row.key) : row));
    held = { version: answer.version, total: answer.total, start: answer.start, rows };
    summary = answer.summary;
    watchesAll = answer.watched;
    spacer.style.height = `${held.total * ROW}px`;
    if (anchor) {
      const at = held.rows.findIndex((row) => row.key === anchor.key);
      if (at >= 0) tree.scrollTop += (held.start + at - anchor.index) * ROW;
    }
    if (active.key !== null) {
      const at = held.rows.findIndex((row) => row.key === active.key);
      if (at >= 0) active.index = held.start + at;
      else if (active.index >= held.start && active.index < held.start + held.rows.length) active.key = null;
    }
    active.index = Math.max(0, Math.min(active.index, held.total - 1));
    if (active.key === null) active.key = rowAt(active.index)?.key ?? null;
    render();
    drawFrame();
  }

  const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  // --- drawing

  const facts = new Map();

  /** Return whether a part has something else to show than when it was drawn last. */
  function isOther(part, ...shown) {
    const now = JSON.stringify(shown);
    if (facts.get(part) === now) return false;
    facts.set(part, now);
    return true;
  }

  let due = 0;
  const renderSoon = () => {
    if (!due) due = requestAnimationFrame(render);
  };

  function render() {
    cancelAnimationFrame(due);
    due = 0;
    const from = Math.max(0, firstSeen() - DRAWN_BEYOND);
    const to = Math.min(held.total, lastSeen() + DRAWN_BEYOND);
    for (const [index, each] of drawn) {
      if (index >= from && index < to) continue;
      drawn.delete(index);
      each.element.remove();
      spare.push(each);
    }
    spare.length = Math.min(spare.length, 2 * (heightInRows() + DRAWN_BEYOND));
    for (let index = from; index < to; index++) drawRow(index);
    if (drawn.has(active.index)) tree.setAttribute("aria-activedescendant", `${uid}-${active.index}`);
    else tree.removeAttribute("aria-activedescendant");
  }

  function drawRow(index) {
    let each = drawn.get(index);
    const row = rowAt(index);
    if (!each) {
      each = spare.pop() ?? makeRow(uid);
      drawn.set(index, each);
      spacer.append(each.element);
      each.index = -1;
    }
    if (each.row !== row || each.index !== index) {
      each.show(index, row);
      each.row = row;
      each.index = index;
    }
    each.element.classList.toggle("rp-active", index === active.index);
    each.element.setAttribute("aria-selected", String(row !== undefined && row.key === looked));
  }

  /** Draw what stands around the rows. */
  function drawFrame() {
    drawActions();
    drawChips();
    drawEmpty();
    drawAbout();
  }

  function isFiltered() {
    return Boolean(wanted.words.trim() || Object.keys(wanted.tags).length || wanted.kinds.length || wanted.statuses.length);
  }

  function drawEmpty() {
    const nothing = summary.size === 0 && !isFiltered();
    if (!isOther(empty, nothing, held.total > 0, emptyText)) return;
    empty.hidden = !nothing && held.total > 0;
    tree.hidden = held.total === 0;
    if (empty.hidden) return;
    fill(
      empty,
      nothing
        ? [h("p", {}, "No variants yet."), h("p", {}, emptyText)]
        : [
            h("p", {}, "Nothing fits this filter."),
            h("button", { "data-key": "clear", onclick: () => clearFilter() }, "Clear the filter"),
          ],
    );
  }
  let emptyText = "";

  function drawActions() {
    if (!isOther(actions, summary.size > 0, watchesAll, allOpen)) return;
    fill(
      actions,
      h(
        "button",
        { "data-key": "run-all", title: "Run all variants (Alt+R)", disabled: !summary.size, onclick: () => run("") },
        "Run all",
      ),
      h(
        "button",
        {
          "data-key": "watch-all",
          "aria-pressed": String(watchesAll),
          title: "Run whatever changes again, behind the cell that changed it",
          onclick: () => watch("", !watchesAll),
        },
        "Watch all",
      ),
      h(
        "button",
        { "data-key": "fold", title: "Open or close all folders and stories", onclick: () => openAll(!allOpen) },
        allOpen ? "Close all" : "Open all",
      ),
    );
  }

  function drawChips() {
    if (!isOther(chips, summary, wanted.statuses, choices.statuses)) return;
    const shown = choices.statuses.filter((status) => summary.counts[status] || wanted.statuses.includes(status));
    fill(
      chips,
      shown.map((status) =>
        h(
          "button",
          {
            class: "rp-chip",
            "data-key": `status-${status}`,
            "data-status": status,
            "aria-pressed": String(wanted.statuses.includes(status)),
            "aria-label": `${WORDS[status]}: ${summary.counts[status] ?? 0}`,
            title: `Show only: ${WORDS[status]}`,
            onclick: () => setFilter({ statuses: toggled(wanted.statuses, status) }),
          },
          h("span", { class: "rp-dot" }),
          String(summary.counts[status] ?? 0),
        ),
      ),
    );
    fill(
      next,
      summary.failing
        ? h(
            "button",
            {
              class: "rp-next",
              "data-key": "next",
              title: "Go to the next failure (F8)",
              "aria-label": `${summary.failing} failing: go to the next`,
              onclick: () => nextFailure(),
            },
            `${summary.failing} failing ›`,
          )
        : null,
    );
  }

  function drawFilters() {
    const count = Object.keys(wanted.tags).length + wanted.kinds.length;
    filterButton.textContent = count ? `Filter ${count}` : "Filter";
    filterButton.setAttribute("aria-expanded", String(filtersOpen));
    filterButton.setAttribute("aria-pressed", String(count > 0));
    filters.hidden = !filtersOpen;
    if (!filtersOpen) return;
    fill(
      filters,
      h("div", { class: "rp-chips", role: "group", "aria-label": "Filter by tag" }, h("h4", {}, "Tags"), choices.tags.map(drawTag)),
      h("div", { class: "rp-chips", role: "group", "aria-label": "Filter by kind" }, h("h4", {}, "Kinds"), choices.kinds.map(drawKind)),
    );
  }

  function drawTag(tag) {
    const state = wanted.tags[tag.id] ?? tag.unasked;
    const next = STATES[(STATES.indexOf(state) + 1) % STATES.length];
    return h(
      "button",
      {
        class: "rp-chip rp-tag",
        "data-key": `tag-${tag.id}`,
        "data-state": state,
        "aria-label": `tag ${tag.id}: ${state}`,
        title: `${tag.doc ? `${tag.doc}\n` : ""}Shown: ${state}; next: ${next}`,
        onclick: () => setTag(tag, next),
      },
      state === "with" ? "+ " : state === "without" ? "− " : "",
      tag.id,
    );
  }

  function setTag(tag, state) {
    const tags = { ...wanted.tags };
    if (state === tag.unasked) delete tags[tag.id];
    else tags[tag.id] = state;
    setFilter({ tags });
  }

  function drawKind(kind) {
    return h(
      "button",
      {
        class: "rp-chip",
        "data-key": `kind-${kind.id}`,
        "aria-pressed": String(wanted.kinds.includes(kind.id)),
        onclick: () => setFilter({ kinds: toggled(wanted.kinds, kind.id) }),
      },
      kind.title,
    );
  }

  function drawAbout() {
    const row = rowAt(active.index);
    about.hidden = !row;
    if (!row || !isOther(about, row)) return;
    const status = row.counts ? countsText(row.counts) : statusText(row);
    fill(
      about,
      h("div", { class: "rp-row" }, h("code", { class: "rp-id", title: row.key }, row.kind === "group" ? row.name : row.key)),
      h("div", { class: "rp-doc" }, row.doc ?? ""),
      h("div", { class: "rp-faint rp-where" }, [status, row.exposure, row.tier && `tier ${row.tier}`, row.agent ? `by ${row.agent}` : row.origin].filter(Boolean).join(" · ")),
      showsVariants(row)
        ? h(
          "div",
          { class: "rp-row" },
          h("button", { "data-key": "run", title: "r", disabled: row.kind !== "variant" && !row.size, onclick: () => run(row.key) }, row.kind === "variant" ? "Run" : `Run ${row.size}`),
          row.kind === "variant"
            ? h("button", { "data-key": "run-group", title: "Shift+R", onclick: () => run(row.above) }, "Run its story")
            : null,
          h(
            "button",
            { "data-key": "watch", title: "w", "aria-pressed": String(Boolean(row.watched)), onclick: () => watch(row.key, !row.watched) },
            "Watch",
          ),
        )
        : null,
    );
  }

  function drawBatch(batch) {
    progress.hidden = batch.over;
    if (!batch.over) {
      fill(
        progress,
        h("progress", { max: batch.total, value: batch.done, "aria-label": "Runs" }),
        h("span", {}, `${batch.done} of ${batch.total}`),
        h("button", { "data-key": "stop", onclick: guarded(root, () => ask("stop")) }, "Stop"),
      );
    } else if (batch.total) {
      live.textContent = `${batch.done} run: ${countsText(summary.counts)}`;
      drawChips();
    }
    if (batch.fault) showFault(root, new Error(batch.fault));
  }

  // --- what the person does

  const toggled = (list, item) => (list.includes(item) ? list.filter((each) => each !== item) : [...list, item]);

  let filtering = false;

  /** Filter as typed: while one filter is on its way, the latest of those typed meanwhile waits. */
  const setFilter = guarded(root, async (change) => {
    wanted = { ...wanted, ...change };
    drawFilters();
    drawChips();
    if (filtering) return;
    filtering = true;
    try {
      let sent;
      do {
        sent = wanted;
        latest = Math.max(latest, (await read("filter", sent)).version);
      } while (sent !== wanted);
    } finally {
      filtering = false;
    }
    tree.scrollTop = 0;
    await refresh();
    live.textContent = `${held.total} rows`;
  });

  function clearFilter() {
    search.value = "";
    setFilter({ words: "", tags: {}, kinds: [], statuses: [] });
    tree.focus();
  }

  function toggleFilters() {
    filtersOpen = !filtersOpen;
    drawFilters();
    render();
  }

  const run = guarded(root, async (key) => {
    const count = await ask("run", { key });
    if (count === 0) live.textContent = "No variants to run";
  });
  const watch = guarded(root, (key, on) => ask("watch", { key, on }));
  const look = guarded(root, async (row) => {
    looked = row.key;
    renderSoon();
    await ask("select", { key: row.key });
  });
  const setOpen = guarded(root, async (row, isOpen) => {
    await ask("open", { key: row.key, is_open: isOpen });
  });
  const openAll = guarded(root, async (isOpen) => {
    allOpen = isOpen;
    await ask("open", { key: "", is_open: isOpen });
    drawActions();
  });
  const nextFailure = guarded(root, async (key = "", after = active.key?.includes("/") ? active.key : "") => {
    const found = await ask("failure", { key, after });
    if (!found) return;
    looked = found.key;
    await goTo(found.place, found.key);
  });

  /** Make a row the current one and bring it into view; its key is given where it is known. */
  async function goTo(index, key) {
    if (index === null || index === undefined) return;
    active = { index: Math.max(0, Math.min(index, Math.max(held.total, index + 1) - 1)), key: key ?? null };
    if (active.index >= held.total) spacer.style.height = `${(active.index + 1) * ROW}px`;
    const top = active.index * ROW;
    if (top < tree.scrollTop) tree.scrollTop = top;
    else if (top + ROW > tree.scrollTop + tree.clientHeight) tree.scrollTop = top + ROW - tree.clientHeight;
    if (active.key === null) active.key = rowAt(active.index)?.key ?? null;
    render();
    if (!isEnough()) await refresh();
    render();
    drawAbout();
  }

  const step = (index) => goTo(Math.max(0, Math.min(index, held.total - 1)));
  let turn = 0;

  /** Go where the kernel answers, unless the person has gone elsewhere meanwhile. */
  async function goToFound(asked, key) {
    const mine = ++turn;
    const index = await asked;
    if (mine === turn) await goTo(index, key);
  }

  const goToKey = guarded(root, (key) => goToFound(ask("where", { key }), key));

  let typed = "";
  let typedAt = -TYPING_MS;
  const isTypingAhead = () => performance.now() - typedAt < TYPING_MS;

  const typeAhead = guarded(root, async (letter) => {
    typed = isTypingAhead() ? typed + letter : letter;
    typedAt = performance.now();
    await goToFound(ask("find", { text: typed, after: active.index + (typed.length === 1 ? 1 : 0) }));
  });

  function enter(row) {
    if (row.kind === "folder" || row.kind === "group") setOpen(row, !row.open);
    else look(row);
  }

  const KEYS = {
    ArrowDown: () => step(active.index + 1),
    ArrowUp: () => step(active.index - 1),
    PageDown: () => step(active.index + heightInRows() - 1),
    PageUp: () => step(active.index - heightInRows() + 1),
    Home: () => step(0),
    End: () => step(held.total - 1),
    ArrowRight: (row) => row && (row.open === false ? setOpen(row, true) : row.open && step(active.index + 1)),
    ArrowLeft: (row) => row && (row.open ? setOpen(row, false) : row.above && goToKey(row.above)),
    Enter: (row) => row && enter(row),
    " ": (row) => row && enter(row),
    r: (row) => row && showsVariants(row) && run(row.key),
    R: (row) => row && showsVariants(row) && run(row.kind === "variant" ? row.above : row.key),
    "Alt+r": () => run(""),
    w: (row) => row && showsVariants(row) && watch(row.key, !row.watched),
    "*": () => openAll(true),
    "/": () => search.focus(),
    F8: () => nextFailure(),
  };

  tree.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    const name = event.altKey ? `Alt+${event.key.toLowerCase()}` : event.key;
    const isLetter = !event.altKey && event.key.length === 1 && event.key !== " ";
    const act = isLetter && isTypingAhead() ? undefined : KEYS[name];
    if (!act && !isLetter) return;
    event.preventDefault();
    turn += 1;
    if (!act) return typeAhead(event.key);
    typedAt = -TYPING_MS;
    act(rowAt(active.index));
  });

  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && search.value) {
      search.value = "";
      setFilter({ words: "" });
    } else if (event.key === "ArrowDown" || event.key === "Enter" || event.key === "Escape") {
      tree.focus();
    } else return;
    event.preventDefault();
  });

  const rowUnder = (event) => {
    const element = event.target.closest(".rp-item");
    return [...drawn.values()].find((each) => each.element === element)?.row;
  };

  // Between a press and its release a row may come or leave: the element then shows another one.
  let pressed;
  tree.addEventListener("pointerdown", (event) => (pressed = rowUnder(event)));
  tree.addEventListener("click", (event) => {
    const under = rowUnder(event);
    // A click that no pointer made has no press.
    const row = event.detail ? under && pressed : under;
    const at = held.rows.findIndex((each) => each.key === row?.key);
    if (at < 0) return;
    turn += 1;
    const act = event.target.dataset.act;
    goTo(held.start + at, row.key);
    if (act === "failure") nextFailure(row.key, "");
    else if (act === "run") run(row.key);
    else if (act === "open" && row.open !== undefined) setOpen(row, !row.open);
    else enter(row);
  });
  tree.addEventListener("dblclick", (event) => {
    const row = rowAt(active.index);
    if (row?.kind === "story" && row.open !== undefined && !event.target.dataset.act) setOpen(row, !row.open);
  });
  tree.addEventListener("scroll", () => {
    renderSoon();
    if (!isEnough()) refresh();
  });
  const sizes = new ResizeObserver(() => {
    renderSoon();
    if (!isEnough()) refresh();
  });
  sizes.observe(tree);
  signal.addEventListener("abort", () => sizes.disconnect());

  // --- what the kernel sends

  listen("moved", (message) => {
    latest = Math.max(latest, message.version);
    if (message.choices) choices = message.choices;
    if (message.filter && !filtering) adopt(message.filter);
    if (message.choices || message.filter) drawFilters();
    refresh();
  });
  listen("summary", (given) => {
    summary = given;
  });
  listen("rows", (message) => {
    if (message.version === held.version) {
      for (const [index, row] of message.rows) {
        if (rowAt(index) === undefined) continue;
        held.rows[index - held.start] = row;
        if (index === active.index) drawAbout();
      }
    }
    renderSoon();
    drawActions();
    drawChips();
  });
  listen("focus", (key) => {
    const isNew = key !== looked;
    looked = key;
    renderSoon();
    if (isNew && key) goToKey(key);
  });
  listen("batch", drawBatch);
  listen("refused", (text) => showFault(root, new Error(text)));

  /** Take over a filter that was set at another place that shows this panel. */
  function adopt(filter) {
    wanted = filter;
    if (search.getRootNode().activeElement !== search) search.value = filter.words;
  }

  async function begin() {
    const answer = await read("state");
    choices = answer.choices;
    emptyText = answer.empty;
    latest = answer.version;
    looked = answer.focus;
    adopt(answer.filter);
    drawFilters();
    drawBatch(answer.batch);
    await refresh();
    if (looked) await goToKey(looked);
  }

  drawFrame();
  await begin();
}

export default panel("explorer", draw);
