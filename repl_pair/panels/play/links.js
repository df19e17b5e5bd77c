// From a panel to what the person wrote: the cell of a notebook, or the line of a file.

/** Return a button that goes to a place, and one that copies it. */
function sourceLink(root, model, link, what) {
  const go = guarded(root, async () => {
    if (goToCell(root, model, link)) return;
    await copyText(root, link.text);
    showFault(root, new Error(`Copied ${link.text}: its cell is not in this view.`));
  });
  const copy = guarded(root, () => copyText(root, link.text));
  return [
    link.cell || link.number !== null
      ? h("button", { class: "rp-link", title: `Go to ${what}`, onclick: go }, link.label)
      : h("span", { class: "rp-mono rp-faint", title: link.text }, link.label),
    h("button", { class: "rp-link", "aria-label": `Copy the place of ${what}`, title: link.text, onclick: copy }, "Copy"),
  ];
}

/** Put the caret into the line of a cell; false where this front end shows no such cell. */
function goToCell(root, model, link) {
  const notebook = root.closest(".jp-Notebook");
  const cells = model.widget_manager?.context?.model?.cells;
  if (!notebook || !cells || !link.cell) return false;
  const at = [...Array(cells.length).keys()].find((index) => cells.get(index).id === link.cell);
  const cell = notebook.querySelectorAll(".jp-Cell")[at];
  const content = cell?.querySelector(".cm-content");
  if (!content) return false;
  const line = content.querySelectorAll(".cm-line")[link.line - 1] ?? content;
  line.scrollIntoView({ block: "center" });
  content.focus();
  document.getSelection().collapse(line, 0);
  return true;
}
