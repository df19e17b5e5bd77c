/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number }} RunState
 * @typedef {{ id: string, available: boolean, mimes: string[], why: string }} SubstrateLine
 * @typedef {{ where?: string, line?: number }} RegisteredAt
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number, other: boolean, asked_by: string | null }} LastRun
 * @typedef {{ id: string, active: boolean, known: boolean, axis?: string | null, doc?: string }} ModeChoice
 * @typedef {{ id: string, available: boolean, mimes: string[], why: string, chosen: boolean }} SubstrateChoice
 * @typedef {{ kind: "nothing" | "missing" | "story" | "workspace" | "variant", id?: string, text?: string, code?:
 *   string, doc?: string, layout?: string, last?: LastRun | null, identity?: Record<string, string> | null, modes?:
 *   ModeChoice[], active?: string[], substrates?: SubstrateChoice[], running?: boolean, waits_for?: string,
 *   refusal?: string, edits?: number }} About
 * @typedef {{ kind: "nothing" | "missing" | "story" | "workspace" | "variant", id?: string, text?: string, code?:
 *   string, doc?: string, layout?: string, last?: LastRun | null, identity?: Record<string, string> | null, modes?:
 *   ModeChoice[], active?: string[], substrates?: SubstrateChoice[], running?: boolean, waits_for?: string,
 *   refusal?: string, edits?: number, tab: string, runs_on_select: boolean }} Head
 * @typedef {{ name: string, text: string, left_out: number }} Stream
 * @typedef {{ status: string, reason: string, outputs: Record<string, string>[], left_out?: number, result?: any,
 *   streams: Stream[] }} Output
 * @typedef {{ value: string, source: string }} CoveredValue
 * @typedef {{ value: string, source: string, path: string, covers: CoveredValue[] }} ArgLine
 * @typedef {{ lines: ArgLine[], conflicts: string[] }} Args
 * @typedef {{ phase: string, elapsed_ms: number, share: number, error?: string, about?: string }} PhaseLine
 * @typedef {{ phases: PhaseLine[], elapsed_ms: number, registered: RegisteredAt }} Phases
 * @typedef {{ text: string, place: string }} Data
 * @typedef {{ id: string, name: string, doc: string, missing?: string, last?: LastRun | null, running?: boolean }}
 *   Card
 * @typedef {{ card?: Card, markup?: string }} Block
 * @typedef {{ layout: string, columns?: number | null, shared?: boolean, cards?: Card[], left_out?: number,
 *   blocks?: Block[], panel?: string, ref?: string | null, fault?: string }} Layout
 * @typedef {{ head?: Head, all?: Head, cards?: Card[], refused?: string }} CanvasPatch
 * @typedef {{ head: ({}) => Head, output: ({variant: string, most?: number | null}) => Output | null, args: ({}) =>
 *   Args, phases: ({variant: string}) => Phases | null, docs: ({}) => string, data: ({}) => Data, layout: ({}) =>
 *   Layout, run: ({kind: string, id: string, card?: string | null}) => null, open: ({variant: string}) => null,
 *   modes: ({modes: string[]}) => null, substrate: ({substrate: string}) => null, options: ({runs_on_select:
 *   boolean}) => null }} Asks
 */

const TABS = {
  variant: ["Output", "Args", "Phases", "Docs", "Data"],
  story: ["Variants", "Docs", "Data"],
  workspace: ["Layout", "Data"],
};
const STREAMS = {
  stdout: "stdout",
  stderr: "stderr",
  unattributed: "Threads and processes",
  warnings: "Warnings",
  logs: "Logs",
};
const STATUS = { pass: "pass", fail: "fail", cannot_run: "cannot run", error: "error" };
const MAX_ROWS = 200;

/** Write how a run ended. */
function verdict(last) {
  if (!last) return "not run";
  const checks = last.total ? `, ${last.passed} of ${last.total} assertions` : ", no assertions";
  return STATUS[last.status] + (last.status === "cannot_run" ? "" : checks);
}

function ms(time) {
  return time < 10 ? `${time.toFixed(2)} ms` : time < 1000 ? `${time.toFixed(0)} ms` : `${(time / 1000).toFixed(2)} s`;
}

/** Return a table for a list of records, else the JSON. */
function showResult(value) {
  if (value === null || value === undefined) return h("p", { class: "rp-faint" }, "The component returned nothing.");
  if (typeof value === "string") return h("pre", { class: "rp-result" }, value);
  const rows = Array.isArray(value) && value.length && value.every(isRecord) ? value : null;
  if (!rows) return h("pre", { class: "rp-result" }, JSON.stringify(value, null, 2));
  const names = [...new Set(rows.flatMap(Object.keys))];
  const body = rows.slice(0, MAX_ROWS).map((row) => h("tr", {}, names.map((name) => h("td", {}, plain(row[name])))));
  return h(
    "table",
    { class: "rp-result" },
    h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, body),
  );
}

function isRecord(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !("$elided" in value);
}

function plain(value) {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

async function draw({ root, ask, listen, model, host, signal }) {
  let head = { kind: "opening" };
  let strip = null;
  let shows = null;
  let within = new AbortController();
  const top = h("header", { class: "rp-look" });
  const live = h("div", { class: "rp-hidden", role: "status" });
  const body = h("div", { class: "rp-under" });
  root.append(top, live, body);
  signal.addEventListener("abort", () => within.abort());

  const act = (fn) => guarded(root, fn);
  const run = act((what) => ask("run", what));

  function announce(text) {
    live.textContent = text;
  }

  // --- the head

  function drawHead() {
    if (head.kind === "nothing" || head.kind === "missing") {
      fill(top);
      return;
    }
    const isVariant = head.kind === "variant";
    const what = isVariant
      ? h("span", { class: "rp-verdict", "data-status": head.last?.status }, verdict(head.last))
      : h("span", { class: "rp-faint" }, head.layout ?? "story");
    fill(
      top,
      h(
        "div",
        { class: "rp-title" },
        h(
          "div",
          { class: "rp-row" },
          isVariant ? h("span", { class: "rp-dot", "data-status": head.running ? "running" : head.last?.status }) : null,
          h("h4", { class: "rp-mono" }, head.id),
          what,
          ...marks(),
        ),
        runButton(),
      ),
      h("div", { class: "rp-row" }, h("p", { class: "rp-doc" }, head.doc || ""), ...hashes()),
      ...(isVariant ? [choosers(), notice()] : []),
    );
  }

  function marks() {
    const last = head.last;
    const edited = head.edits ? [h("span", { class: "rp-mark", title: "Args are edited in Controls." }, "edited")] : [];
    if (!last) return edited;
    return [
      ...edited,
      last.stale ? h("span", { class: "rp-mark", title: "What it rests on was registered again since." }, "stale") : null,
      last.other ? h("span", { class: "rp-mark", title: "The last run was with other args, modes or code than those looked at." }, last.modes?.length ? `ran with ${last.modes.join(", ")}` : "other args") : null,
      last.asked_by ? h("span", { class: "rp-mark", title: "An agent ran it with args of its own; other agents do not see that." }, `what-if of ${last.asked_by}`) : null,
      h("span", { class: "rp-faint" }, ms(last.elapsed_ms)),
    ];
  }

  function runButton() {
    const { kind, id } = head;
    return h(
      "button",
      { class: "rp-run", "data-key": "run", title: "Mod+Enter", disabled: head.running, onclick: () => run({ kind, id }) },
      head.running ? "Running …" : kind === "variant" ? "Run" : "Run all",
    );
  }

  function notice() {
    if (head.running && head.waits_for) {
      return h(
        "p",
        { class: "rp-notice" },
        `Waits for the running cell ${head.waits_for}. Meanwhile docs, args, phases, data and the other variants can be read, and args edited.`,
      );
    }
    if (head.refusal) return h("p", { class: "rp-notice rp-bad" }, head.refusal);
    const reason = head.last?.reason;
    return reason ? h("p", { class: "rp-notice", tabindex: 0, "data-status": head.last.status }, reason) : null;
  }

  function choosers() {
    return h(
      "div",
      { class: "rp-row rp-choosers" },
      ...modeChoosers(),
      substrateChooser(),
      h(
        "label",
        { class: "rp-faint" },
        h("input", {
          type: "checkbox",
          "data-key": "on select",
          checked: head.runs_on_select,
          onchange: act((event) => ask("options", { runs_on_select: event.target.checked })),
        }),
        " run on select",
      ),
    );
  }

  function hashes() {
    if (!head.identity) return [];
    return Object.entries(head.identity).map(([name, hash]) =>
      h(
        "button",
        {
          class: "rp-hash rp-mono",
          "data-key": `hash ${name}`,
          title: `${name} hash: ${hash}`,
          "aria-label": `Copy the ${name} hash`,
          onclick: act(async () => announce(await copyText(root, hash))),
        },
        `${name} ${hash.replace(/^\w+:/, "").slice(0, 8)}`,
      ),
    );
  }

  function modeChoosers() {
    const axes = new Map();
    const loose = [];
    for (const mode of head.modes) {
      if (mode.axis) axes.set(mode.axis, [...(axes.get(mode.axis) ?? []), mode]);
      else loose.push(mode);
    }
    const set = act((modes) => ask("modes", { modes }));
    const without = (ids) => head.active.filter((id) => !ids.includes(id));
    const choices = [...axes].map(([axis, modes]) =>
      h(
        "label",
        {},
        h("span", { class: "rp-faint" }, `${axis} `),
        h(
          "select",
          {
            "data-key": `axis ${axis}`,
            onchange: (event) => set([...without(modes.map((mode) => mode.id)), ...(event.target.value ? [event.target.value] : [])]),
          },
          h("option", { value: "" }, "none"),
          modes.map((mode) => h("option", { value: mode.id, selected: mode.active, title: mode.doc }, mode.id)),
        ),
      ),
    );
    const toggles = loose.map((mode) =>
      h(
        "button",
        {
          "data-key": `mode ${mode.id}`,
          "aria-pressed": String(mode.active),
          title: mode.known ? mode.doc || `Mode ${mode.id}` : "This mode is not registered.",
          onclick: () => set(mode.active ? without([mode.id]) : [...head.active, mode.id]),
        },
        mode.id,
      ),
    );
    return choices.length || toggles.length
      ? [h("div", { class: "rp-row", role: "group", "aria-label": "Modes" }, ...choices, ...toggles)]
      : [];
  }

  function substrateChooser() {
    return h(
      "label",
      {},
      h("span", { class: "rp-faint" }, "as "),
      h(
        "select",
        { "data-key": "substrate", "aria-label": "Rendering", onchange: act((event) => ask("substrate", { substrate: event.target.value })) },
        head.substrates.map((each) =>
          h("option", { value: each.id, selected: each.chosen, disabled: !each.available, title: each.why }, each.id),
        ),
      ),
    );
  }

  // --- one output

  async function fillOutput(place, variant, most) {
    const { signal } = within;
    const mine = (place.fills = (place.fills ?? 0) + 1);
    const isLatest = () => !signal.aborted && place.isConnected && place.fills === mine;
    const found = await ask("output", most ? { variant, most } : { variant });
    if (!isLatest()) return;
    if (!found) {
      fill(place, h("p", { class: "rp-empty" }, most ? "Not run yet." : "Not run yet: press Run, or Mod+Enter."));
      return;
    }
    const shown = await Promise.all(found.outputs.map((bundle) => showOutput(bundle, signal)));
    if (!isLatest()) {
      for (const output of shown) output.remove();
      return;
    }
    const gave = "result" in found && (found.result !== null || ["pass", "fail"].includes(found.status));
    if (gave) shown.push(showResult(found.result));
    if (found.left_out && !most) shown.push(h("p", { class: "rp-faint" }, `${found.left_out} more outputs`));
    const troubled = found.reason && (most || !head.last) ? h("p", { class: "rp-notice", "data-status": found.status }, found.reason) : null;
    fill(place, ...shown, troubled, most ? null : streams(found.streams));
  }

  async function showOutput(bundle, signal) {
    const output = h("div", { class: "rp-output" });
    if (!bundle.widget) output.append(...showBundle(bundle));
    else {
      try {
        body.append(output);
        const show = bundle.models ? showStored : showWidget;
        await show(`IPY_MODEL_${bundle.widget}`, output, { model, host, signal, models: bundle.models });
      } catch (error) {
        output.replaceChildren(h("p", { class: "rp-faint" }, `The widget is not shown: ${error.message}`), h("pre", {}, bundle["text/plain"] ?? ""));
      }
    }
    return output;
  }

  function streams(all) {
    if (!all.length) return null;
    return h(
      "div",
      { class: "rp-streams" },
      all.map(({ name, text, left_out }) =>
        h(
          "section",
          { "aria-label": STREAMS[name], "data-stream": name },
          h("h5", {}, STREAMS[name], left_out ? ` (the last part; ${left_out} characters before it)` : ""),
          h("pre", { tabindex: 0 }, text),
        ),
      ),
    );
  }

  // --- tabs

  const DRAW = {
    Output: (place) => fillOutput(place, head.id),
    Args: drawArgs,
    Phases: drawPhases,
    Docs: async (place) => fill(place, h("div", { class: "rp-markup" }, ...markup(await ask("docs")))),
    Data: drawData,
    Variants: drawLayout,
    Layout: drawLayout,
  };

  let load = 0;
  const openTab = act(async (name, place) => {
    const mine = ++load;
    shows = name;
    within.abort();
    within = new AbortController();
    place.setAttribute("aria-busy", "true");
    try {
      await DRAW[name](place);
    } catch (error) {
      if (mine === load) fill(place); // not what the tab before shows
      throw error;
    } finally {
      if (mine === load) place.removeAttribute("aria-busy");
    }
  });

  async function drawArgs(place) {
    const { lines, conflicts } = await ask("args");
    const rows = lines.map((line) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", class: "rp-mono" }, line.path),
        h("td", { class: "rp-mono" }, line.value),
        h("td", {}, h("span", { class: "rp-source", "data-source": line.source.split(" ")[0] }, line.source)),
        h("td", { class: "rp-faint" }, line.covers.map((each) => h("div", {}, h("span", { class: "rp-mono" }, each.value), ` of ${each.source}`))),
      ),
    );
    fill(
      place,
      ...conflicts.map((text) => h("p", { class: "rp-notice rp-bad" }, text)),
      rows.length
        ? h(
            "table",
            { "aria-label": "Effective args" },
            h("thead", {}, h("tr", {}, ["arg", "value", "comes from", "laid over"].map((name) => h("th", { scope: "col" }, name)))),
            h("tbody", {}, rows),
          )
        : h("p", { class: "rp-empty" }, "It takes no args, or none are given."),
    );
  }

  async function drawPhases(place) {
    const found = await ask("phases", { variant: head.id });
    if (!found) {
      fill(place, h("p", { class: "rp-empty" }, "Not run yet: press Run, or Mod+Enter."));
      return;
    }
    const rows = found.phases.flatMap((line) => [phaseRow(line), ...(line.error ? [errorRow(line)] : [])]);
    const where = found.registered.where;
    fill(
      place,
      h(
        "table",
        { class: "rp-phases", "aria-label": "Phases of the last run" },
        h("thead", {}, h("tr", {}, ["phase", "time", ""].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows),
      ),
      h("p", { class: "rp-faint" }, `${ms(found.elapsed_ms)} in all.`, where ? ` Registered in ${where}, line ${found.registered.line}.` : ""),
    );
  }

  function phaseRow(line) {
    const bar = h("span", { class: "rp-bar" });
    bar.style.width = `${Math.max(1, line.share * 100)}%`;
    return h(
      "tr",
      { "data-phase": line.phase, "data-failed": Boolean(line.error) },
      h("th", { scope: "row" }, line.phase),
      h("td", { class: "rp-number" }, ms(line.elapsed_ms)),
      h("td", { class: "rp-track" }, bar, line.error ? h("strong", { class: "rp-failed" }, " failed") : null),
    );
  }

  function errorRow({ error, about }) {
    return h(
      "tr",
      { class: "rp-trouble" },
      h("td", { colspan: 3 }, h("pre", {}, error), h("div", { class: "rp-faint" }, about)),
    );
  }

  async function drawData(place) {
    const { text, place: origin } = await ask("data");
    fill(
      place,
      h(
        "div",
        { class: "rp-row" },
        h("span", { class: "rp-faint" }, `Registered in ${origin}`),
        h("span", { class: "rp-push" }),
        h("button", { "data-key": "copy data", onclick: act(async () => announce(await copyText(root, text))) }, "Copy JSON"),
      ),
      h("pre", { class: "rp-data", tabindex: 0, "aria-label": "Body as JSON" }, text),
    );
  }

  // --- several variants

  const cards = new Map();
  let chosen = null; // the card that is shown where one is shown at a time

  async function drawLayout(place) {
    cards.clear();
    const laid = await ask("layout");
    fill(place, ...LAYOUT[laid.layout](laid, place));
    if (laid.left_out) place.append(h("p", { class: "rp-faint" }, `${laid.left_out} more variants are not laid out.`));
  }

  const LAYOUT = {
    grid: (laid) => grid(laid),
    variants_grid: (laid) => (laid.shared ? oneAtATime(laid) : grid(laid)),
    prose: (laid) => [
      h(
        "div",
        { class: "rp-prose" },
        laid.blocks.map((block) => (block.card ? makeCard(block.card) : h("div", { class: "rp-markup" }, ...markup(block.markup)))),
      ),
    ],
    tabs: (laid) => {
      if (!laid.cards.length) return [nothingLaidOut()];
      const tabs = laid.cards.map((card) => ({ id: card.id, title: card.name, status: card.last?.status ?? "none" }));
      const inner = tabStrip("Variants", tabs, laid.cards[placeOfChosen(laid)].id, (id, spot) => {
        chosen = id;
        fill(spot, makeCard(laid.cards.find((card) => card.id === id)));
      });
      return [inner.strip, inner.place];
    },
    custom: (laid) => {
      const spot = h("div", { class: "rp-custom" }, h("p", { class: "rp-empty" }, laid.fault ?? `Opening the panel ${laid.panel} …`));
      if (laid.ref) act(() => showWidget(laid.ref, spot, { model, host, signal: within.signal }))();
      return [spot, ...(laid.cards.length ? grid(laid) : [])];
    },
  };

  function grid(laid) {
    if (!laid.cards.length) return [nothingLaidOut()];
    const place = h("div", { class: "rp-grid", role: "list" }, laid.cards.map((card) => h("div", { role: "listitem" }, makeCard(card))));
    if (laid.columns) place.style.gridTemplateColumns = `repeat(${laid.columns}, minmax(0, 1fr))`;
    const names = () => [...place.querySelectorAll(".rp-name")];
    const enter = rove(place, names);
    enter(names()[0]);
    return [place];
  }

  const placeOfChosen = (laid) => Math.max(0, laid.cards.findIndex((card) => card.id === chosen));

  function oneAtATime(laid) {
    if (!laid.cards.length) return [nothingLaidOut()];
    let at = placeOfChosen(laid);
    const spot = h("div", {});
    const count = h("span", { "aria-live": "polite" });
    const show = (next) => {
      at = (next + laid.cards.length) % laid.cards.length;
      chosen = laid.cards[at].id;
      count.textContent = `${at + 1} of ${laid.cards.length}`;
      fill(spot, makeCard(laid.cards[at]));
    };
    const bar = h(
      "div",
      { class: "rp-row", role: "group", "aria-label": "Variants, one at a time" },
      h("button", { "data-key": "previous", onclick: () => show(at - 1) }, "Previous"),
      count,
      h("button", { "data-key": "next", onclick: () => show(at + 1) }, "Next"),
    );
    show(at);
    return [bar, spot];
  }

  function nothingLaidOut() {
    return h("p", { class: "rp-empty" }, head.kind === "story" ? "It has no variants yet. Type: " : "It lays out no variants.", head.kind === "story" ? h("code", {}, `repl_pair.variant("${head.id}/First")`) : null);
  }

  function makeCard(card) {
    const place = h("div", { class: "rp-card-output" });
    const top = h("div", { class: "rp-row rp-card-head" });
    const made = h("article", { class: "rp-card", "aria-label": card.id, "data-variant": card.id }, top, place);
    cards.set(card.id, { top, place });
    drawCardHead(card, top);
    if (card.missing) fill(place, h("p", { class: "rp-empty" }, card.missing));
    else whenSeen(made, act(() => fillOutput(place, card.id, 1)));
    return made;
  }

  function drawCardHead(card, top) {
    const { kind, id } = head;
    const isRoving = top.querySelector(".rp-name")?.tabIndex;
    const status = card.missing ? "missing" : card.running ? "running …" : verdict(card.last);
    fill(
      top,
      h("span", { class: "rp-dot", "data-status": card.running ? "running" : card.last?.status }),
      h(
        "button",
        { class: "rp-name", "data-key": `name ${card.id}`, title: card.doc || card.id, disabled: Boolean(card.missing), tabindex: isRoving, onclick: act(() => ask("open", { variant: card.id })) },
        card.name,
      ),
      h("span", { class: "rp-faint" }, status),
      card.last?.stale ? h("span", { class: "rp-mark" }, "stale") : null,
      h("span", { class: "rp-push" }),
      card.missing
        ? null
        : h("button", { "data-key": `run ${card.id}`, "aria-label": `Run ${card.id}`, disabled: card.running, onclick: () => run({ kind, id, card: card.id }) }, "Run"),
    );
  }

  function whenSeen(element, load) {
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some((each) => each.isIntersecting)) return;
      watch.disconnect();
      load();
    });
    watch.observe(element);
    within.signal.addEventListener("abort", () => watch.disconnect());
  }

  listen("cards", (changed) => {
    for (const card of changed) {
      const made = cards.get(card.id);
      if (!made) continue;
      drawCardHead(card, made.top);
      if (!card.running) act(() => fillOutput(made.place, card.id, 1))();
    }
  });

  // --- all of it

  function drawBody(again) {
    const tabs = TABS[head.kind];
    if (!tabs) {
      strip = shows = null;
      fill(body, emptyState());
      return;
    }
    if (strip && strip.kind === head.kind && strip.id === head.id) {
      if (again) openTab(shows, strip.made.place);
      return;
    }
    chosen = null;
    const asked = shows ?? (head.tab === "docs" ? "Docs" : "");
    const first = tabs.includes(asked) ? asked : tabs[0];
    const made = tabStrip("Canvas", tabs.map((id) => ({ id, title: id })), first, openTab);
    const before = root.getRootNode().activeElement?.dataset?.key;
    fill(body, made.strip, made.place);
    if (before?.startsWith("tab ")) body.querySelector(`[data-key="${CSS.escape(before)}"]`)?.focus({ preventScroll: true });
    strip = { kind: head.kind, id: head.id, made };
  }

  function emptyState() {
    if (head.kind === "missing") return h("div", { class: "rp-empty" }, h("p", {}, head.text));
    return h(
      "div",
      { class: "rp-empty" },
      h("p", {}, head.text),
      h("pre", { class: "rp-first" }, head.code),
      h("button", { "data-key": "copy step", onclick: act(async () => announce(await copyText(root, head.code))) }, "Copy"),
    );
  }

  function show(next, again) {
    const ended = head.running && !next.running && next.id === head.id;
    head = next;
    drawHead();
    drawBody(again);
    if (ended && head.kind === "variant") announce(`${head.id}: ${verdict(head.last)}`);
  }

  listen("head", (given) => show(given, false));
  listen("all", (given) => show(given, true));
  listen("refused", (text) => showFault(root, new Error(text)));
  bindKeys(root, { "Mod+Enter": () => top.querySelector(".rp-run")?.click() });
  fill(body, h("p", { class: "rp-empty" }, "Opening …"));
  show(await ask("head"), true);
}

export default panel("canvas", draw);
