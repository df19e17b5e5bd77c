// Draws JSON as an agent is answered: what was redacted or elided in it is a chip.

const REDACTED = "[redacted]";
const redactedChip = () => h("mark", { class: "rp-redacted", title: "A secret: no agent gets it" }, REDACTED);

/** Return a text with a chip for each marker of a secret in it. */
const withChips = (text) => text.split(REDACTED).flatMap((part, at) => (at ? [redactedChip(), part] : [part]));

function elidedChip(marker) {
  const words = `elided: ${marker.type}, ${Number(marker.size).toLocaleString()} in all`;
  return h("mark", { class: "rp-elided", title: JSON.stringify({ $elided: marker }) }, words);
}

/** Return JSON on one line, as Python writes it. */
function inline(value) {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${inline(item)}`).join(", ")}}`;
}

/** Return the nodes of JSON over several lines, with the markers of what was redacted or elided as chips. */
function drawJson(value, indent = "") {
  const flat = inline(value);
  const isLeaf = value === null || typeof value !== "object";
  if (isLeaf || (!flat.includes('"$elided"') && indent.length + flat.length <= 68)) return withChips(flat);
  const isList = Array.isArray(value);
  const inner = `${indent}  `;
  const parts = (isList ? value.map((item) => ["", item]) : Object.entries(value)).map(([key, item]) => {
    if (key === "$elided") return drawMarker(item);
    const name = isList ? [] : withChips(`${JSON.stringify(key)}: `);
    return [...name, ...drawJson(item, inner)];
  });
  if (!isList && parts.length === 1 && "$elided" in value) return parts[0];
  const lines = parts.flatMap((part, at) => [at ? `,\n${inner}` : `\n${inner}`, ...part]);
  return [isList ? "[" : "{", ...lines, `\n${indent}`, isList ? "]" : "}"];
}

function drawMarker(marker, write = JSON.stringify) {
  const head = "head" in marker ? [...withChips(write(marker.head)), " "] : [];
  return [...head, elidedChip(marker)];
}

/** Return the nodes of a whole value; a text by itself stands as it is, over its lines. */
function drawValue(value) {
  if (typeof value === "string") return withChips(value);
  const isMarker = value !== null && typeof value === "object" && Object.keys(value).join() === "$elided";
  return isMarker ? drawMarker(value.$elided, (text) => text) : drawJson(value);
}
