/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ id: string, title: string, doc: string, placement: string, visible: boolean, waiting: number, ref:
 *   string | null, fault: string | null }} PanelShown
 * @typedef {{ id: string, title: string }} CommandShown
 * @typedef {{ panels: PanelShown[] }} Panels
 * @typedef {{ panels: ({}) => PanelShown[], show: ({panel: string, visible: boolean}) => null, commands: ({}) =>
 *   CommandShown[], command: ({id: string}) => null, find: ({words: string}) => string[], go: ({variant: string})
 *   => null }} Asks
 */

const SLOTS = ["top", "left", "centre", "right", "bottom"];

/** Keep the focus within a dialog: behind its last control comes its first. */
function keepWithin(dialog, event) {
  const controls = [...dialog.querySelectorAll("button, input, select, textarea, a[href], [tabindex='0']")].filter(
    (each) => !each.disabled && each.offsetParent !== null,
  );
  const [first, last] = [controls[0], controls.at(-1)];
  const active = dialog.getRootNode().activeElement;
  if (event.shiftKey ? active === first : active === last) {
    (event.shiftKey ? last : first)?.focus();
    event.preventDefault();
  }
}

/** Move the focus back to an element, or to the one that was drawn in its place meanwhile. */
function refocus(root, element) {
  const key = element?.dataset.key;
  const again = key && root.querySelector(`[data-key="${CSS.escape(key)}"]`);
  (element?.isConnected ? element : again)?.focus();
}

async function draw({ root, ask, listen, start, model, host, signal }) {
  let panels = start.panels;
  let opener = null;
  const shown = new Map();
  const slots = new Map(SLOTS.map((slot) => [slot, h("div", { class: `rp-slot rp-slot-${slot}` })]));
  const toggles = h("div", { class: "rp-row", role: "group", "aria-label": "Panels" });
  const bar = h(
    "header",
    { class: "rp-bar" },
    h("strong", {}, "repl_pair"),
    toggles,
    h("button", { class: "rp-commands", title: "Mod+K", onclick: () => openPalette() }, "Commands"),
  );
  const modal = h("dialog", { class: "rp-modal" });
  root.append(bar, h("div", { class: "rp-slots" }, ...slots.values()), modal);

  /** Show one panel's widget in an element, whichever kind of widget it is. */
  async function renderInto(body, entry, within) {
    if (entry.ref) await showWidget(entry.ref, body, { model, host, signal: within });
    else body.replaceChildren(h("div", { class: "rp-empty" }, entry.fault ?? "Opening …"));
  }

  function close(id) {
    const open = shown.get(id);
    if (!open) return;
    shown.delete(id);
    open.controller.abort();
    open.section.remove();
    // The panel that was opened after it has taken its place.
    if (open.modal && !modal.children.length) {
      modal.close();
      refocus(root, opener);
    }
  }

  async function open(entry) {
    const before = shown.get(entry.id);
    if (before && before.ref === entry.ref && before.fault === entry.fault) return;
    close(entry.id);
    const controller = new AbortController();
    signal.addEventListener("abort", () => controller.abort(), { signal: controller.signal });
    const body = h("div", { class: "rp-body" });
    const heading = `${entry.id}-${Math.random().toString(36).slice(2)}`;
    const section = h(
      "section",
      { class: "rp-section", "data-panel": entry.id, "aria-labelledby": heading },
      h(
        "div",
        { class: "rp-head" },
        h("h3", { id: heading }, entry.title),
        h(
          "button",
          { "aria-label": `Hide ${entry.title}`, onclick: () => setVisible(entry.id, false) },
          "×",
        ),
      ),
      body,
    );
    const isModal = entry.placement === "modal";
    shown.set(entry.id, { ref: entry.ref, fault: entry.fault, section, controller, modal: isModal });
    if (isModal) {
      opener = root.getRootNode().activeElement;
      modal.setAttribute("aria-label", entry.title);
      modal.replaceChildren(section);
      modal.show();
      section.querySelector("button, [tabindex]")?.focus();
    } else {
      const slot = slots.get(entry.placement);
      const after = [...slot.children].find((each) => each.dataset.panel > entry.id);
      slot.insertBefore(section, after ?? null);
    }
    try {
      await renderInto(body, entry, controller.signal);
    } catch (error) {
      showFault(body, error);
    }
  }

  const setVisible = guarded(root, async (id, visible) => {
    const entry = panels.find((each) => each.id === id);
    entry.visible = visible;
    drawAll();
    await ask("show", { panel: id, visible });
  });

  function drawAll() {
    fill(
      toggles,
      panels.map((entry) =>
        h(
          "button",
          {
            "data-key": entry.id,
            "aria-pressed": String(entry.visible),
            title: entry.doc || entry.title,
            onclick: () => setVisible(entry.id, !entry.visible),
          },
          entry.waiting ? `${entry.title} (${entry.waiting})` : entry.title,
        ),
      ),
    );
    const wanted = new Set(panels.filter((entry) => entry.visible).map((entry) => entry.id));
    for (const id of [...shown.keys()]) if (!wanted.has(id)) close(id);
    for (const entry of panels) if (entry.visible) open(entry);
    for (const [name, slot] of slots) slot.toggleAttribute("hidden", slot.children.length === 0);
    root.querySelector(".rp-slots").dataset.has = SLOTS.filter((name) => slots.get(name).children.length).join(" ");
  }

  function closeModal() {
    for (const [id, each] of [...shown]) if (each.modal) setVisible(id, false);
  }
  // On the way in: a panel lets no key out.
  modal.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape") closeModal();
      else if (event.key === "Tab") keepWithin(modal, event);
    },
    true,
  );
  listen("panels", (given) => {
    panels = given;
    drawAll();
  });

  // --- commands

  async function openPalette() {
    const open = root.querySelector(":scope > .rp-palette input");
    if (open) return void open.focus();
    const commands = panels.map((entry) => ({
      id: `panel ${entry.id}`,
      title: `${entry.visible ? "Hide" : "Show"} ${entry.title}`,
      run: () => setVisible(entry.id, !entry.visible),
    }));
    // In a shadow root, the document knows its host only.
    const before = root.getRootNode().activeElement;
    const list = h("ul", { role: "listbox", id: "rp-commands", "aria-label": "Commands" });
    const input = h("input", {
      type: "search",
      role: "combobox",
      "aria-label": "Command or variant",
      "aria-expanded": "true",
      "aria-controls": "rp-commands",
      placeholder: "Type a command or the id of a variant",
      oninput: () => {
        drawList();
        find();
      },
    });
    const palette = h("dialog", { class: "rp-palette", "aria-label": "Commands" }, input, list);
    let found = [];
    let at = 0;

    function leave() {
      palette.remove();
      refocus(root, before);
    }

    const choose = guarded(root, async (command) => {
      leave();
      if (command.run) await command.run();
      else await ask("command", { id: command.id });
    });

    let variants = [];
    const find = guarded(root, async () => {
      const words = input.value;
      const ids = words.trim() ? await ask("find", { words }) : [];
      if (words !== input.value || !palette.isConnected) return;
      variants = ids.map((id) => ({ id, title: id, run: () => ask("go", { variant: id }) }));
      drawList();
    });

    function drawList() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const named = commands.filter((command) => words.every((word) => command.title.toLowerCase().includes(word)));
      found = [...named, ...variants].slice(0, 50);
      at = Math.min(at, Math.max(0, found.length - 1));
      fill(
        list,
        found.map((command, index) =>
          h(
            "li",
            {
              role: "option",
              id: `rp-command-${index}`,
              "aria-selected": String(index === at),
              onclick: () => choose(command),
            },
            command.title,
          ),
        ),
      );
      input.setAttribute("aria-activedescendant", found.length ? `rp-command-${at}` : "");
    }

    palette.addEventListener("keydown", (event) => {
      if (event.key === "Escape") leave();
      else if (event.key === "Tab") keepWithin(palette, event);
      else if (event.key === "ArrowDown") at = Math.min(at + 1, found.length - 1);
      else if (event.key === "ArrowUp") at = Math.max(at - 1, 0);
      else if (event.key === "Enter" && found[at]) choose(found[at]);
      else return;
      if (event.key !== "Tab") event.preventDefault();
      if (palette.isConnected) drawList();
    });
    root.append(palette);
    palette.show();
    input.focus();
    drawList();
    commands.push(...(await ask("commands")));
    drawList();
  }

  bindKeys(root, { "Mod+k": () => openPalette() }, true);
  drawAll();
  panels = await ask("panels");
  drawAll();
}

export default panel("shell", draw);
