// How two values differ, drawn: as numbers, texts, tables, or by path.

/** Return the elements that show a difference; `layout` is `side` or `unified`, for texts. */
function drawDifference(difference, layout = "unified") {
  const draw = { same: drawSame, number: drawNumber, text: drawText, table: drawTable, values: drawValues };
  return [draw[difference.kind](difference, layout)];
}

function drawSame() {
  return h("p", { class: "rp-faint" }, "As shown here, they are the same.");
}

function drawNumber({ delta, ratio }) {
  const parts = [`difference ${signed(delta)}`];
  if (typeof ratio === "number") parts.push(`ratio ${Number(ratio.toPrecision(6))}`);
  return h("p", { class: "rp-mono rp-delta" }, parts.join(", "));
}

function signed(delta) {
  if (typeof delta !== "number") return String(delta ?? "too large");
  return `${delta > 0 ? "+" : ""}${Number(delta.toPrecision(12))}`;
}

function drawValues({ changes, more }) {
  const cell = (change, side) =>
    side in change
      ? h("td", { class: `rp-mono rp-${side}` }, change[side])
      : h("td", { class: "rp-faint" }, "nothing");
  const rows = changes.map((change) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", class: "rp-mono" }, change.path || "all of it"),
      cell(change, "before"),
      cell(change, "after"),
      h("td", { class: "rp-mono rp-delta" }, "delta" in change ? signed(change.delta) : ""),
    ),
  );
  const names = { at: "at", expected: "expected", actual: "actual", difference: "Δ" };
  const heads = Object.entries(names).map(([title, name]) => h("th", { scope: "col", title }, name));
  return h(
    "div",
    { class: "rp-diff rp-scroll" },
    h("table", { "aria-label": "Differences" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows)),
    more ? h("p", { class: "rp-faint" }, `… and ${more} more`) : "",
  );
}

function drawTable({ columns, rows, more }) {
  const mark = (cell) => {
    if (!cell.changed) return h("td", { class: "rp-mono" }, cell.after.join(""));
    const before = cell.before.map((value) => h("del", {}, value));
    const after = cell.after.map((value) => h("ins", {}, value));
    return h("td", { class: "rp-mono rp-changed" }, ...before, ...after);
  };
  const body = rows.map((row) =>
    h("tr", { "data-row": row.row }, h("th", { scope: "row", class: "rp-mono" }, row.label), ...row.cells.map(mark)),
  );
  const heads = columns.map(({ name, state }) => h("th", { scope: "col", "data-row": state }, name));
  return h(
    "div",
    { class: "rp-diff rp-scroll" },
    h(
      "table",
      { "aria-label": "Cells that differ" },
      h("thead", {}, h("tr", {}, h("td", {}), ...heads)),
      h("tbody", {}, ...body),
    ),
    more ? h("p", { class: "rp-faint" }, `… and ${more} more rows`) : "",
  );
}

function drawText({ rows, cut, ends }, layout) {
  const lines = layout === "side" ? sideBySide(rows) : unified(rows);
  const words = cut ? "The texts go on: only their first lines are compared." : ends ? "Only the ends of lines differ." : "";
  const note = words ? h("p", { class: "rp-faint" }, words) : "";
  const table = h("table", { "aria-label": "Lines that differ", class: `rp-lines rp-${layout}` }, h("tbody", {}, ...lines));
  return h("div", { class: "rp-diff rp-scroll" }, table, note);
}

function marked(parts, tag) {
  return parts.map(([text, changed]) => (changed ? h(tag, {}, text) : text));
}

function sideBySide(rows) {
  const side = (line, tag, same) => [
    h("td", { class: "rp-number" }, line ? String(line.line) : ""),
    h("td", { class: "rp-mono rp-text", "data-side": same || !line ? false : tag }, ...(line ? marked(line.parts, tag) : [])),
  ];
  return rows.map((row) =>
    "skip" in row
      ? skipped(row.skip, 4)
      : h("tr", {}, ...side(row.left, "del", row.same), ...side(row.right, "ins", row.same)),
  );
}

function unified(rows) {
  const lines = [];
  const line = (sign, old, now, parts, tag) =>
    h(
      "tr",
      {},
      h("td", { class: "rp-number" }, old ? String(old) : ""),
      h("td", { class: "rp-number" }, now ? String(now) : ""),
      h("td", { class: "rp-mono rp-sign" }, sign),
      h("td", { class: "rp-mono rp-text", "data-side": sign === " " ? false : tag }, ...marked(parts, tag)),
    );
  let waiting = [];
  const flush = () => {
    lines.push(...waiting);
    waiting = [];
  };
  for (const row of rows) {
    if ("skip" in row || row.same) flush();
    if ("skip" in row) lines.push(skipped(row.skip, 4));
    else if (row.same) lines.push(line(" ", row.left.line, row.right.line, row.right.parts));
    else {
      if (row.left) lines.push(line("-", row.left.line, 0, row.left.parts, "del"));
      if (row.right) waiting.push(line("+", 0, row.right.line, row.right.parts, "ins"));
    }
  }
  flush();
  return lines;
}

function skipped(count, columns) {
  const words = `${count} equal ${count === 1 ? "line" : "lines"}`;
  return h("tr", { class: "rp-skipped" }, h("td", { colspan: String(columns) }, words));
}
