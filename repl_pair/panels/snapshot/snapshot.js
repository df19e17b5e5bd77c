/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ path: string, before?: string, after?: string, delta?: any }} ShownChange
 * @typedef {{ line: number, parts: [string, boolean][] }} LineSide
 * @typedef {{ same: boolean, left: LineSide | null, right: LineSide | null }} LinePair
 * @typedef {{ skip: number }} SkippedLines
 * @typedef {{ kind: string, rows: (LinePair | SkippedLines)[], cut: boolean, ends: boolean }} TextDifference
 * @typedef {{ name: string, state: string }} TableColumn
 * @typedef {{ before: string[], after: string[], changed: boolean }} TableCell
 * @typedef {{ label: string, row: string, cells: TableCell[] }} TableRow
 * @typedef {{ kind: string, columns: TableColumn[], rows: TableRow[], changed: number, more: number }}
 *   TableDifference
 * @typedef {{ id: string, variant: string, name: string, why: string, decided: string }} SnapshotRow
 * @typedef {{ rows: SnapshotRow[], waiting: number, id: string | null }} Snapshots
 * @typedef {{ name: string, baseline: string | null, actual: string | null, same: boolean }} ImagePair
 * @typedef {{ slot: string, before: any, after: any, changed: boolean, changes: ShownChange[] }} SlotShown
 * @typedef {{ is_kept: boolean, has_baseline: boolean, hashes: SlotShown[], slots: SlotShown[] }} IdentityShown
 * @typedef {{ digest: string, baseline: string | null, actual: string, text: TextDifference, table: TableDifference
 *   | null, images: ImagePair[], identity: IdentityShown }} Comparison
 * @typedef {{ list?: Snapshots, focus?: string | null }} SnapshotPatch
 * @typedef {{ list: ({}) => Snapshots, compare: ({id: string}) => Comparison, accept: ({ids: string[], digest?:
 *   string}) => null, reject: ({ids: string[], digest?: string}) => null, undo: ({ids: string[]}) => null, leave:
 *   ({}) => null, run: ({id: string}) => null }} Asks
 */

const SHORT_HASH = 16;

async function draw({ root, ask, listen, model, signal }) {
  let rows = [];
  let waiting = 0;
  let chosen = null;
  let layout = null;
  let tab = "output";
  let asked = 0;
  let drawn = {}; // the id and digest of what stands in the detail

  const head = h("div", { class: "rp-row rp-top" });
  const list = h("div", { class: "rp-list", role: "listbox", tabindex: "0", "aria-label": "Snapshots that wait" });
  const detail = h("div", { class: "rp-detail" });
  const both = h("div", { class: "rp-both" }, list, detail);
  const empty = h("div", { class: "rp-empty" });
  const live = h("div", { class: "rp-hidden", role: "status" });
  root.append(head, both, empty, live);
  const prefix = `rp-${Math.random().toString(36).slice(2)}`;

  function show(answer) {
    ({ rows, waiting } = answer);
    if (!rows.some((row) => row.id === chosen)) chosen = answer.id ?? rows[0]?.id ?? null;
    drawHead();
    drawList();
    both.hidden = !rows.length;
    empty.hidden = rows.length > 0;
    fill(empty, ...(rows.length ? [] : emptyState()));
    if (rows.length) drawDetail();
    live.textContent = `${waiting} ${waiting === 1 ? "snapshot waits" : "snapshots wait"}`;
  }

  const undecided = () => rows.filter((row) => !row.decided).map((row) => row.id);
  const decided = () => rows.filter((row) => row.decided).map((row) => row.id);
  const current = () => rows.find((row) => row.id === chosen);

  const decide = guarded(root, async (what, ids, digest = "") => {
    if (!ids.length) return;
    const next = undecided().find((id, at, all) => at > all.indexOf(chosen) && !ids.includes(id));
    await ask(what, { ids, digest });
    if (ids.length === 1 && next) choose(next);
  });
  /** Decide on what is drawn: between two rows the detail still shows the one before. */
  const decideThis = (what, { id, digest } = drawn) => id === chosen && current() && !current().decided && decide(what, [id], digest);
  const undo = guarded(root, async (ids) => ids.length && ask("undo", { ids }));
  const undoThis = ({ id } = drawn) => id === chosen && current()?.decided && undo([id]);

  function choose(id) {
    if (id === undefined || id === null || id === chosen) return;
    chosen = id;
    drawList();
    for (const button of detail.querySelectorAll(".rp-actions button")) button.setAttribute("aria-disabled", "true");
    drawDetail();
  }

  function step(by) {
    const at = rows.findIndex((row) => row.id === chosen) + by;
    choose(rows[Math.max(0, Math.min(rows.length - 1, at))]?.id);
  }

  // --- drawing

  function drawHead() {
    const reasons = rows.filter((row) => !row.decided).map((row) => row.why);
    const counts = [...new Set(reasons)].map((why) => `${reasons.filter((each) => each === why).length}: ${why}`);
    fill(
      head,
      h("strong", {}, `${waiting} waiting`),
      h("span", { class: "rp-faint" }, counts.join(" · ")),
      h("span", { class: "rp-space" }),
      h("button", { "data-key": "accept all", disabled: !waiting, onclick: () => decide("accept", undecided()) }, `Accept all ${waiting || ""}`.trim()),
      h("button", { "data-key": "reject all", disabled: !waiting, onclick: () => decide("reject", undecided()) }, `Reject all ${waiting || ""}`.trim()),
      h("button", { "data-key": "undo all", disabled: !decided().length, onclick: () => undo(decided()) }, "Undo all"),
    );
  }

  function drawList() {
    const options = rows.map((row, at) =>
      h(
        "div",
        {
          class: "rp-line",
          role: "option",
          id: `${prefix}-${at}`,
          "aria-selected": String(row.id === chosen),
          "data-decided": row.decided || false,
          onclick: () => choose(row.id),
        },
        h("span", { class: "rp-id" }, row.variant, row.name ? h("code", {}, ` ${row.name}`) : null),
        h("span", { class: "rp-faint rp-why" }, row.decided || row.why),
      ),
    );
    list.replaceChildren(...options);
    list.setAttribute("aria-activedescendant", `${prefix}-${rows.findIndex((row) => row.id === chosen)}`);
    reveal(list, list.querySelector('[aria-selected="true"]'));
  }

  const drawDetail = guarded(root, async () => {
    const mine = ++asked;
    const row = current();
    const answer = await ask("compare", { id: row.id });
    if (mine !== asked) return;
    const changed = answer.identity.slots.filter((slot) => slot.changed).length;
    const tabs = [
      { id: "output", title: "Output" },
      { id: "identity", title: changed ? `Identity (${changed} changed)` : "Identity" },
    ];
    const place = tabStrip("What is compared", tabs, tab, (id, into) => {
      tab = id;
      if (id === "identity") into.replaceChildren(...drawIdentity(answer));
      else drawOutput(into, answer);
    });
    const isHeld = detail.contains(root.getRootNode().activeElement);
    drawn = { id: row.id, digest: answer.digest };
    fill(detail, drawActions(row, drawn), place.strip, place.place);
    if (isHeld && !detail.contains(root.getRootNode().activeElement)) list.focus({ preventScroll: true });
  });

  function drawActions(row, shown) {
    const buttons = row.decided
      ? [
          h("span", { class: "rp-verdict" }, row.decided),
          h("button", { "data-key": "undo", title: "Undo (u)", onclick: () => undoThis(shown) }, "Undo"),
          h("button", { "data-key": "run", onclick: guarded(root, () => ask("run", { id: row.id })) }, "Run again"),
        ]
      : [
          h("button", { "data-key": "accept", class: "rp-accept", title: "Accept (a)", onclick: () => decideThis("accept", shown) }, "Accept"),
          h("button", { "data-key": "reject", title: "Reject (x)", onclick: () => decideThis("reject", shown) }, "Reject"),
        ];
    return h("div", { class: "rp-row rp-actions" }, h("strong", {}, row.variant), row.name ? h("code", {}, row.name) : null, h("span", { class: "rp-faint" }, row.why), h("span", { class: "rp-space" }), ...buttons);
  }

  function drawOutput(into, answer) {
    const texts = h("div");
    into.replaceChildren(...answer.images.map(drawImage), texts);
    const isBundle = answer.images.some((image) => image.name === "result");
    const isSame = answer.baseline !== null && answer.text.kind === "same";
    if (!isBundle && !(isSame && answer.images.length)) drawTexts(texts, answer);
  }

  function drawImage(image) {
    const place = h("div", { class: "rp-image" });
    const one = image.actual ?? image.baseline;
    if (image.baseline && image.actual) guarded(root, drawImages)(place, [image.baseline, image.actual]);
    else {
      const words = image.actual ? "No image is stored yet." : "This run gave no such image.";
      place.append(h("p", { class: "rp-faint" }, words), h("img", { src: one, alt: image.actual ? "actual" : "baseline" }));
    }
    return h("section", { "aria-label": `image ${image.name}` }, h("h3", {}, image.name), place);
  }

  function drawTexts(into, answer) {
    if (answer.baseline === null) {
      into.replaceChildren(h("p", { class: "rp-faint" }, "Nothing is stored yet. This is what the run gave:"), h("pre", { class: "rp-whole" }, answer.actual));
      return;
    }
    const kinds = { side: "Side by side", unified: "Unified", ...(answer.table ? { table: "Table" } : {}) };
    const shown = layout in kinds ? layout : answer.table ? "table" : "side";
    const buttons = Object.entries(kinds).map(([id, name]) =>
      h("button", { "data-key": `layout ${id}`, "aria-pressed": String(id === shown), onclick: () => ((layout = id), drawTexts(into, answer)) }, name),
    );
    const heads = shown === "side" ? h("div", { class: "rp-heads rp-faint" }, h("span", {}, "baseline"), h("span", {}, "actual")) : null;
    const drawn = shown === "table" ? drawDifference(answer.table) : drawDifference(answer.text, shown);
    fill(into, h("div", { class: "rp-row", role: "group", "aria-label": "How the texts are compared" }, ...buttons), heads, ...drawn);
  }

  function drawIdentity({ identity }) {
    if (!identity.has_baseline) return [h("p", { class: "rp-faint" }, "Nothing is stored yet to compare with."), hashTable(identity)];
    const note = identity.is_kept ? null : h("p", { class: "rp-faint" }, "The baseline was stored without its identity: only what is now can be shown.");
    return [note, hashTable(identity), slotTable(identity)].filter(Boolean);
  }

  function hashTable({ hashes, slots, is_kept }) {
    const line = ({ slot, before, after, changed }) =>
      h(
        "tr",
        { "data-changed": changed ? "" : false },
        h("th", { scope: "row" }, slot.replace("_", " ")),
        h("td", { class: "rp-mono", title: before }, before ? shorten(before) : "not kept"),
        h("td", { class: "rp-mono", title: after }, shorten(after)),
        h("td", {}, before ? (changed ? "changed" : "same") : ""),
      );
    const heads = ["", "baseline", "actual", ""].map((name) => (name ? h("th", { scope: "col" }, name) : h("td", {})));
    return h("table", { "aria-label": "Identity", class: "rp-identity" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...hashes.map(line)));
  }

  function shorten(hash) {
    const [scheme, digits] = hash.includes(":") ? hash.split(":") : ["", hash];
    return `${scheme ? `${scheme}:` : ""}${digits.slice(0, SHORT_HASH)}`;
  }

  function slotTable({ slots, is_kept }) {
    if (!is_kept) return null;
    const lines = [...slots].sort((one, other) => Number(other.changed) - Number(one.changed)).map((slot) =>
      h(
        "tr",
        { "data-changed": slot.changed ? "" : false },
        h("th", { scope: "row" }, slot.slot.replaceAll("_", " ")),
        h("td", {}, slot.changed ? "changed" : "same"),
        h("td", {}, slot.changed ? drawChanges(slot.changes) : null),
      ),
    );
    const names = ["slot", "", "what changed"].map((name) => (name ? h("th", { scope: "col" }, name) : h("td", {})));
    return h("table", { "aria-label": "Slots of the identity", class: "rp-identity" }, h("thead", {}, h("tr", {}, ...names)), h("tbody", {}, ...lines));
  }

  function drawChanges(changes) {
    if (!changes.length) return h("span", { class: "rp-faint" }, "Something in its payloads or secrets, which are not kept.");
    return h("div", { class: "rp-diff" }, ...changes.map((change) =>
      h(
        "div",
        { class: "rp-mono" },
        change.path ? `${change.path} ` : "",
        "before" in change ? h("del", {}, change.before) : null,
        " → ",
        "after" in change ? h("ins", {}, change.after) : "gone",
      ),
    ));
  }

  function emptyState() {
    return [
      h("p", {}, "No snapshot waits: every output that was compared is as it was stored. To store one, give a variant a play with"),
      h("pre", {}, "repl_pair.check.matches_snapshot()"),
      h("p", {}, "and run it; what does not match waits here."),
    ];
  }

  bindKeys(root, {
    j: () => step(1),
    k: () => step(-1),
    a: ({ repeat }) => repeat || decideThis("accept"),
    x: ({ repeat }) => repeat || decideThis("reject"),
    u: ({ repeat }) => repeat || undoThis(),
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -rows.length, End: rows.length }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by);
  });
  signal.addEventListener("abort", () => model.send({ ask: "leave", id: `${prefix}-leave` }));
  listen("list", show);
  listen("focus", choose);
  show(await ask("list"));
}

export default panel("snapshot", draw);
