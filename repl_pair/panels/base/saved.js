const cell = document.currentScript?.closest(".jp-OutputArea-child");
const panel = cell?.previousElementSibling?.querySelector(".jp-OutputArea-output");
const showTable = (changes, observer) => {
  if (panel.childElementCount) return observer.disconnect();
  if (!panel.classList.contains("jupyter-widgets")) return; // still loading
  observer.disconnect();
  panel.className = "jp-RenderedHTMLCommon jp-RenderedHTML jp-OutputArea-output";
  panel.innerHTML = TABLE;
};
if (cell) cell.hidden = true;
if (panel) {
  const observer = new MutationObserver(showTable);
  observer.observe(panel, { attributes: true, childList: true });
  showTable([], observer);
}
