/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number, variant: string | null, running: boolean }} Head
 * @typedef {{ line: number, parts: [string, boolean][] }} LineSide
 * @typedef {{ same: boolean, left: LineSide | null, right: LineSide | null }} LinePair
 * @typedef {{ skip: number }} SkippedLines
 * @typedef {{ kind: string, rows: (LinePair | SkippedLines)[], cut: boolean, ends: boolean }} TextDifference
 * @typedef {{ kind: string, delta: any, ratio: any }} NumberDifference
 * @typedef {{ name: string, state: string }} TableColumn
 * @typedef {{ before: string[], after: string[], changed: boolean }} TableCell
 * @typedef {{ label: string, row: string, cells: TableCell[] }} TableRow
 * @typedef {{ kind: string, columns: TableColumn[], rows: TableRow[], changed: number, more: number }}
 *   TableDifference
 * @typedef {{ path: string, before?: string, after?: string, delta?: any }} ShownChange
 * @typedef {{ kind: string, changes: ShownChange[], more: number }} ValuesDifference
 * @typedef {TextDifference | NumberDifference | TableDifference | ValuesDifference} Difference
 * @typedef {{ label: string, text: string, line: number, cell: string | null, number: number | null }} SourceLink
 * @typedef {{ name: string, auto_run: boolean, ran: boolean }} PlayChoice
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number, variant: string | null, running: boolean, story: string | null,
 *   registered: boolean, link: SourceLink | null, plays: PlayChoice[] }} PlayHead
 * @typedef {{ index: number | null, play: string, name: string, words: string, reason: string, status: string }}
 *   LineRow
 * @typedef {{ head: PlayHead, rows: LineRow[], moment: number | null }} Lines
 * @typedef {{ depth: number, key: string, value: string, change?: ShownChange | null }} StateRow
 * @typedef {{ passed: boolean, reason: string, expected: string | null, actual: string | null, difference:
 *   Difference | null }} OutcomeShown
 * @typedef {{ index: number, name: string, state: StateRow[], status?: string, words?: string, error?: string,
 *   changes?: ShownChange[], link?: SourceLink | null, function?: SourceLink | null, outcome?: OutcomeShown | null,
 *   snapshot?: boolean }} MomentShown
 * @typedef {{ run?: Lines, moment?: number | null, head?: PlayHead }} PlayPatch
 * @typedef {{ lines: ({}) => Lines, moment: ({index: number}) => MomentShown | null, resume: ({index: number,
 *   names: string[], failures: boolean}) => number, run: ({variant: string, play?: string | null}) => null,
 *   snapshot: ({}) => null }} Asks
 */

const STATUS_WORDS = { pass: "pass", fail: "fail", error: "error", cannot_run: "cannot run" };

async function draw({ root, ask, listen, model }) {
  let head = {};
  let rows = [];
  let at = null;
  let shown = 0;
  const breaks = new Set();

  const bar = h("div", { class: "rp-row rp-status", "data-status": "none" });
  const tools = h("div", { class: "rp-row rp-walk", role: "toolbar", "aria-label": "Walk through the steps" });
  const list = h("div", {
    class: "rp-list",
    role: "listbox",
    tabindex: "0",
    "aria-label": "Lines of the plays",
    onfocus: () => revealLine(),
  });
  const details = h("div", { class: "rp-details", role: "region", "aria-label": "Details of the line", tabindex: "0" });
  const live = h("div", { class: "rp-hidden", role: "status" });
  const empty = h("div", { class: "rp-empty" });
  const both = h("div", { class: "rp-both" }, list, details);
  root.append(h("div", { class: "rp-row rp-top" }, bar, tools), both, empty, live);

  // --- what is known

  async function read() {
    show(await ask("lines"));
  }

  function show(answer) {
    shown++; // what was asked of the run before comes too late
    if (answer.head.variant !== head.variant) details.replaceChildren();
    head = answer.head;
    rows = answer.rows;
    drawAll();
    if (rows.some((row) => row.index !== null)) select(answer.moment ?? -1);
    else {
      at = null;
      details.replaceChildren();
    }
    live.textContent = summary();
  }

  function summary() {
    if (!head.variant || !head.status) return "";
    const counts = head.total ? `, ${head.passed} of ${head.total} assertions passed` : ", no assertions";
    return `${head.variant}: ${STATUS_WORDS[head.status]}${counts}${head.what_if ? ", what-if" : ""}${head.stale ? ", stale" : ""}`;
  }

  const run = guarded(root, (variant) => {
    const play = bar.querySelector("select")?.value;
    return head.running || ask("run", play ? { variant, play } : { variant });
  });

  // --- walking

  const indexes = () => [-1, ...rows.filter((row) => row.index !== null).map((row) => row.index)];

  const select = guarded(root, async (index) => {
    at = index;
    const mine = ++shown;
    drawList();
    drawTools();
    const answer = await ask("moment", { index });
    if (mine === shown && answer) drawDetails(answer);
  });

  function step(by) {
    const known = indexes();
    if (known.length < 2) return;
    const place = known.indexOf(at) + by;
    select(known[Math.max(0, Math.min(known.length - 1, place))]);
  }

  const resume = guarded(root, async (failures) => {
    if (indexes().length < 2) return;
    select(await ask("resume", { index: at ?? -1, names: failures ? [] : [...breaks], failures }));
  });

  function toggleBreak() {
    const row = rows.find((each) => each.index === at);
    if (!row) return;
    if (!breaks.delete(row.name)) breaks.add(row.name);
    drawList();
    drawTools();
    live.textContent = breaks.has(row.name) ? `Stops at ${row.name}` : `Does not stop at ${row.name}`;
  }

  // --- drawing

  function drawAll() {
    drawBar();
    drawList();
    drawTools();
    const hasLines = rows.length > 0;
    both.hidden = !hasLines;
    tools.hidden = !hasLines;
    empty.hidden = hasLines;
    fill(empty, ...(hasLines ? [] : emptyState()));
  }

  function drawBar() {
    bar.dataset.status = head.running ? "running" : (head.status ?? "none");
    const { variant } = head;
    const named = (head.plays ?? []).filter((play) => play.name);
    const choice = named.length
      ? h(
          "select",
          { "aria-label": "Play to run", "data-key": "play", "data-of": variant },
          h("option", { value: "" }, "usual plays"),
          ...named.map((play) => h("option", { value: play.name }, play.auto_run ? play.name : `${play.name} (on demand)`)),
        )
      : null;
    const before = bar.querySelector("select");
    if (choice && before?.dataset.of === variant) choice.value = before.value;
    const counts = head.total !== undefined ? `${head.passed}/${head.total} passed` : null;
    fill(
      bar,
      head.variant ? h("span", { class: "rp-dot" }) : null,
      head.variant ? h("strong", { class: "rp-id" }, head.variant) : null,
      head.status ? h("span", { class: "rp-verdict" }, STATUS_WORDS[head.status]) : null,
      counts ? h("span", { class: "rp-faint" }, counts) : null,
      head.modes?.length ? h("span", { class: "rp-faint" }, `modes ${head.modes.join(", ")}`) : null,
      head.what_if ? h("span", { class: "rp-stale", title: "A run with args or modes of its own: no verdict of the variant." }, "what-if") : null,
      head.stale
        ? h("span", { class: "rp-stale", title: "What this run rests on was registered again since: run it again." }, "stale")
        : null,
      head.running ? h("span", { class: "rp-faint" }, "running") : null,
      choice,
      head.registered
        ? h("button", { "data-key": "run", title: "Run (r)", onclick: () => run(variant) }, "Run")
        : null,
      ...(head.link ? sourceLink(root, model, head.link, "the variant") : []),
    );
  }

  function drawTools() {
    const known = indexes();
    const place = known.indexOf(at);
    const row = rows.find((each) => each.index === at);
    const fails = rows.some((each) => isFailed(each));
    const tool = (key, text, name, keys, act, disabled, pressed) =>
      h(
        "button",
        { "data-key": key, title: `${name} (${keys})`, "aria-label": name, "aria-keyshortcuts": keys, onclick: act,
          "aria-disabled": disabled ? "true" : false, "aria-pressed": pressed === undefined ? false : String(pressed) },
        text,
      );
    fill(
      tools,
      tool("first", "|◀", "Before the first line", "Home", () => select(-1), place <= 0),
      tool("back", "◀", "Back", "k", () => step(-1), place <= 0),
      tool("forward", "▶", "Forward", "j", () => step(1), place === known.length - 1),
      tool("failure", "Next failure", "Next failure", "n", () => resume(true), !fails),
      tool("resume", "Continue", "On to the next stop", "c", () => resume(false), breaks.size === 0),
      tool("break", "●", "Stop at lines of this name", "b", toggleBreak, !row, Boolean(row && breaks.has(row.name))),
    );
  }

  const isFailed = (row) => row.status === "fail" || row.status === "error";

  function drawList() {
    const plays = grouped(rows);
    const groups = [...plays].map(([play, lines]) => {
      const options = lines.map(drawRow);
      if (!play) return options;
      return [h("div", { role: "group", "aria-label": `play ${play}` }, h("div", { class: "rp-play-name", role: "presentation" }, play), ...options)];
    });
    const first = option(-1, "none", "rp-before-first", "before the first line", "", "");
    list.replaceChildren(first, ...groups.flat());
    list.setAttribute("aria-activedescendant", at === null ? "" : optionId(at));
    revealLine();
  }

  function drawRow(row) {
    const element = option(row.index, row.status, "", row.name, row.words, row.reason);
    const stop = h("span", { class: "rp-stop", "aria-hidden": "true", title: "Stop here (b)" }, breaks.has(row.name) ? "●" : "");
    stop.addEventListener("click", (event) => {
      event.stopPropagation();
      if (row.index === null) return;
      if (!breaks.delete(row.name)) breaks.add(row.name);
      drawList();
      drawTools();
    });
    element.prepend(stop);
    return element;
  }

  const prefix = `rp-${Math.random().toString(36).slice(2)}`;
  const optionId = (index) => `${prefix}-${index}`;

  function option(index, status, cls, name, words, reason) {
    const text = { done: "done", not_done: "not done", none: "" }[status] ?? STATUS_WORDS[status];
    return h(
      "div",
      {
        class: `rp-line ${cls}`,
        role: "option",
        id: index === null ? false : optionId(index),
        "data-status": status,
        "data-index": index === null ? false : String(index),
        "aria-selected": String(index !== null && index === at),
        "aria-disabled": index === null ? "true" : false,
        title: reason,
        onclick: () => index !== null && select(index),
      },
      h("span", { class: "rp-dot" }),
      h("span", { class: "rp-hidden" }, `${text} `),
      h("span", { class: "rp-name" }, name),
      " ",
      h("span", { class: "rp-mono rp-faint rp-words" }, words),
    );
  }

  function revealLine() {
    reveal(list, list.querySelector('[aria-selected="true"]'));
  }

  function drawDetails(answer) {
    const head = h(
      "div",
      { class: "rp-row rp-head-line", "data-status": answer.status ?? "none" },
      h("span", { class: "rp-dot" }),
      h("strong", {}, answer.name || "Before the first line"),
      answer.link ? sourceLink(root, model, answer.link, "this line") : null,
      answer.function ? sourceLink(root, model, answer.function, `the function ${answer.name}`) : null,
      answer.snapshot ? h("button", { onclick: guarded(root, () => ask("snapshot")) }, "Compare snapshots …") : null,
    );
    fill(
      details,
      head,
      answer.error ? h("pre", { class: "rp-reason" }, answer.error) : null,
      ...(answer.outcome ? drawOutcome(answer) : drawStep(answer)),
      drawState(answer),
    );
    details.scrollTop = 0;
  }

  function drawOutcome({ outcome, words }) {
    const { passed, reason, expected, actual, difference } = outcome;
    const payload = words ? folded("says", words) : null;
    if (passed) return [...nothingOr("actual", actual), payload];
    const shows = difference.kind === "text" || difference.kind === "table" || hasPaths(difference);
    const because = reason ? (shows ? folded("because", reason) : h("pre", { class: "rp-reason" }, reason)) : null;
    if (expected === null && actual === null) return [because, payload];
    if (shows) return [labelled("difference", ...drawDifference(difference)), because, payload];
    const delta = difference.kind === "number" ? drawDifference(difference) : [];
    return [because, ...nothingOr("expected", expected), ...nothingOr("actual", actual), ...delta, payload];
  }

  const hasPaths = ({ kind, changes }) => kind === "values" && changes.every((change) => change.path);

  /** Return a text that is opened on demand. */
  function folded(name, text) {
    return h("details", {}, h("summary", { class: "rp-faint" }, name), h("pre", {}, text));
  }

  function nothingOr(name, value) {
    return value === null ? [] : [labelled(name, h("pre", {}, value))];
  }

  function drawStep({ words, changes, index }) {
    if (index === -1) return [];
    const payload = words ? [h("pre", {}, words)] : [];
    return [...payload, changes?.length ? null : h("p", { class: "rp-faint" }, "It changed nothing of the state.")];
  }

  function labelled(name, ...parts) {
    return h("div", { class: "rp-labelled" }, h("span", { class: "rp-faint" }, name), h("div", {}, ...parts));
  }

  function drawState({ state }) {
    const rowsOf = state.map(({ depth, key, value, change }) =>
      h(
        "tr",
        { class: change ? "rp-changed" : false },
        h("th", { scope: "row", class: "rp-mono" }, "\u2003".repeat(depth), key || "state"),
        h(
          "td",
          { class: "rp-mono" },
          change && "before" in change ? [h("del", {}, change.before), " → "] : null,
          change && !("after" in change) ? h("em", {}, "gone") : value,
          change && "delta" in change ? h("span", { class: "rp-delta" }, ` ${signed(change.delta)}`) : null,
        ),
      ),
    );
    return h("table", { class: "rp-state", "aria-label": "State after this line" }, h("tbody", {}, ...rowsOf));
  }

  function emptyState() {
    const line = (code) => h("pre", {}, code);
    if (!head.variant) {
      const which = head.story ? `Choose a variant of ${head.story} in the registry, or show one:` : "Choose a variant in the registry, or show one:";
      return [h("p", {}, which), line(`repl_pair.show("${head.story ?? "story"}/Variant")`)];
    }
    if (!head.registered) return [h("p", {}, `${head.variant} is not registered any more. Run the cell that registers it.`)];
    if (!head.status) return [h("p", {}, `${head.variant} has not been run yet: press Run, or type`), line(`repl_pair.run("${head.variant}")`)];
    const reason = head.reason ? [h("pre", { class: "rp-reason" }, head.reason)] : [];
    const how = head.plays.length
      ? [h("p", {}, "No line of a play was done.")]
      : [
          h("p", {}, "This variant has no play, so nothing was checked. Give it one:"),
          line(`repl_pair.variant("${head.variant}", play=[repl_pair.check.result_equals(…)])`),
        ];
    return [...reason, ...how];
  }

  bindKeys(root, {
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Home: () => indexes().length > 1 && select(-1),
    End: () => indexes().length > 1 && select(indexes().at(-1)),
    n: () => resume(true),
    c: () => resume(false),
    b: toggleBreak,
    r: () => bar.querySelector('[data-key="run"]')?.click(),
  });
  listen("run", show);
  listen("head", (given) => {
    const before = head;
    head = given;
    if (rows.length) drawBar();
    else drawAll();
    if (before.stale !== head.stale) live.textContent = summary();
  });
  listen("moment", (moment) => moment !== null && moment !== at && rows.length && select(moment));
  await read();
}

/** Group rows by play, in their order. */
function grouped(rows) {
  const plays = new Map();
  for (const row of rows) plays.set(row.play, [...(plays.get(row.play) ?? []), row]);
  return plays;
}

export default panel("play", draw);
