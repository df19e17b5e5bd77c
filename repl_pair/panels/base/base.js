// The base of every panel: elements, messages, keys. Each panel's script follows in the same
// module, and ends with `export default panel(draw)`.

/** Make an element: `h("button", {class: "x", onclick: f, "aria-label": "Run"}, "Run")`. */
function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const UNFILLED = new WeakMap();
const PRESSED_MS = 20;

/** Put other children into an element, keeping the focus where its `data-key` stands again. */
function fill(element, ...children) {
  const waits = UNFILLED.has(element);
  UNFILLED.set(element, children);
  if (!waits) fillReleased(element);
}

/** Fill an element once nothing in it is pressed: a button that is replaced before its release is not clicked. */
function fillReleased(element) {
  if (element.matches(":active")) return void setTimeout(() => fillReleased(element), PRESSED_MS);
  const children = UNFILLED.get(element);
  UNFILLED.delete(element);
  // In a shadow root, the document knows its host only.
  const active = element.getRootNode().activeElement;
  const key = active && element.contains(active) && active.dataset.key;
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  if (key) element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

/** Scroll a pane, and nothing around it, to a part of it: `scrollIntoView` moves the person's page too. */
function reveal(pane, part) {
  if (!part) return;
  const [at, seen] = [part.getBoundingClientRect(), pane.getBoundingClientRect()];
  if (at.top < seen.top) pane.scrollTop -= seen.top - at.top;
  else if (at.bottom > seen.bottom) pane.scrollTop += at.bottom - seen.bottom;
}

const BUSY_MS = 400;
const HELLO_MS = 500;
const AGAIN_MS = 3000;
const GONE = "The kernel was restarted: run the cell again.";

/** Exchange messages with the view: `ask` is answered once, `listen` takes its patches. */
function connect(model, root, signal) {
  const waiting = new Map();
  const listeners = new Map();
  const mark = Math.random().toString(36).slice(2);
  let count = 0;

  function take(message) {
    if (!("re" in message)) {
      for (const [slot, value] of Object.entries(message)) for (const listen of listeners.get(slot) ?? []) listen(value);
      return;
    }
    const asked = waiting.get(message.re);
    if (!asked) return;
    waiting.delete(message.re);
    settle();
    if ("error" in message) asked.reject(Object.assign(new Error(message.error), { code: message.code }));
    else asked.resolve(message.answer);
  }

  function settle() {
    if ([...waiting.keys()].every((id) => id === hello.id)) root.removeAttribute("data-waiting");
  }

  model.on("msg:custom", take);
  signal.addEventListener("abort", () => {
    model.off("msg:custom", take);
    waiting.clear();
  });

  /** Send a message again and again until it is answered: one may be lost. */
  function repeat(message, again_ms) {
    setTimeout(() => {
      if (!waiting.has(message.id) || root.hasAttribute("data-gone")) return;
      model.send(message);
      repeat(message, again_ms * 2);
    }, again_ms);
  }

  // A page sends its first messages before its subshell is ready: nothing is asked until one is answered.
  const hello = { ask: "hello", id: `${mark}-hello` };
  const ready = new Promise((resolve) => waiting.set(hello.id, { resolve, reject: resolve }));
  model.send(hello);
  repeat(hello, HELLO_MS);

  const link = {
    /** Ask the view; rejects with the text of its error. Marks the root while it waits. */
    ask(type, payload = {}, again_ms = null) {
      const message = { ask: type, id: `${mark}-${++count}`, args: payload };
      if (root.hasAttribute("data-gone")) throw new Error(GONE);
      const answered = new Promise((resolve, reject) => waiting.set(message.id, { resolve, reject }));
      setTimeout(() => waiting.has(message.id) && root.setAttribute("data-waiting", ""), BUSY_MS);
      ready.then(() => {
        model.send(message);
        if (again_ms) repeat(message, again_ms);
      });
      return answered;
    },
    /** Call `fn` with what each patch holds in a slot. */
    listen(slot, fn) {
      listeners.set(slot, [...(listeners.get(slot) ?? []), fn]);
    },
    /** Ask what may be asked twice, again and again until it is answered. */
    async read(type, payload) {
      return link.ask(type, payload, AGAIN_MS);
    },
  };
  return link;
}

/**
 * Bind keys at a root: `{"j": next, "Mod+k": open}`; a text field keeps the plain ones.
 *
 * A panel stops its keys from bubbling: with `inside`, keys pressed in a panel within are bound too.
 */
function bindKeys(root, keys, inside = false) {
  const press = (event) => {
    const plain = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const name = `${event.ctrlKey || event.metaKey ? "Mod+" : ""}${event.altKey ? "Alt+" : ""}${plain}`;
    const typing = event.target.matches("input, textarea, select, [contenteditable]");
    const bound = keys[name];
    if (!bound || (typing && !name.startsWith("Mod+") && name !== "Escape")) return;
    event.preventDefault();
    bound(event);
  };
  root.addEventListener("keydown", press, inside);
}

let isDark = false;

/** Follow the host's theme, not the system's: that of JupyterLab, Notebook, marimo or VS Code. */
function followTheme(root, signal) {
  const body = document.body;
  const read = () => {
    const light = body.dataset.jpThemeLight ?? null;
    const dark =
      light !== null
        ? light === "false"
        : body.classList.contains("dark") ||
          body.classList.contains("vscode-dark") ||
          document.documentElement.classList.contains("dark");
    root.dataset.theme = dark ? "dark" : "light";
    isDark = dark;
  };
  read();
  const watch = new MutationObserver(read);
  for (const each of [body, document.documentElement]) {
    watch.observe(each, { attributes: true, attributeFilter: ["class", "data-jp-theme-light"] });
  }
  signal.addEventListener("abort", () => watch.disconnect());
}

/**
 * Make a widget of a drawing function: `draw({root, ask, listen, start, model, host, signal})`.
 *
 * A key that is pressed in a panel never reaches the notebook, whose commands delete cells. What a
 * drawing function throws is shown in the panel.
 */
function panel(name, draw) {
  return {
    async render({ model, el, signal, host }) {
      const root = h("div", { class: `rp rp-${name}` });
      root.addEventListener("keydown", (event) => event.stopPropagation());
      const notice = h("div", { class: "rp rp-gone", role: "status" });
      for (const part of [notice, root]) followTheme(part, signal);
      el.append(notice, root);
      const link = connect(model, root, signal);
      // Jupyter's manager sends this event when the kernel was restarted; other front ends have none.
      const leave = () => {
        root.setAttribute("data-gone", "");
        root.inert = true;
        notice.textContent = GONE;
      };
      model.on("comm_live_update", leave);
      signal.addEventListener("abort", () => model.off("comm_live_update", leave));
      try {
        await draw({ root, model, host, signal, start: model.get("start"), ...link });
      } catch (error) {
        showFault(root, error);
      }
    },
  };
}

/** Show a fault in its panel; the next one takes its place. */
function showFault(root, error) {
  root.querySelector(":scope > .rp-fault")?.remove();
  root.prepend(
    h(
      "div",
      { class: "rp-fault", role: "alert" },
      h("span", {}, error.message),
      h("button", { "aria-label": "Dismiss", onclick: (event) => event.target.parentElement.remove() }, "×"),
    ),
  );
}

/** Wrap a handler so that what it throws, at once or later, is shown in the panel. */
function guarded(root, fn) {
  return async (...given) => {
    try {
      return await fn(...given);
    } catch (error) {
      showFault(root, error);
    }
  };
}

const BITMAPS = ["image/png", "image/jpeg", "image/gif"];

/** Return the elements that show a MIME bundle: the richest part of it that is safe to show. */
function showBundle(bundle) {
  const bitmap = BITMAPS.find((mime) => bundle[mime]);
  const alt = bundle["text/plain"] ?? "output";
  if (bitmap) return [h("img", { src: `data:${bitmap};base64,${bundle[bitmap]}`, alt })];
  if (bundle["image/svg+xml"]) {
    const source = URL.createObjectURL(new Blob([bundle["image/svg+xml"]], { type: "image/svg+xml" }));
    return [h("img", { src: source, alt, onload: () => URL.revokeObjectURL(source) })];
  }
  if (bundle["text/html"]) return [showHtml(bundle["text/html"])];
  if (bundle.markup) return [h("div", { class: "rp-markup" }, ...markup(bundle.markup))];
  return [h("pre", {}, String(bundle["text/plain"] ?? ""))];
}

const FRAME_LOADS = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'";
const MAY_RUN = /<script|<[^>]+\son\w+\s*=|javascript:/i;
/** The HTML whose scripts the person asked for, for as long as the page stands: a panel is drawn again and again. */
const runsScripts = new Set();

/** Show HTML of a component in a frame that runs no script of it and loads nothing, until the person asks for scripts. */
function showHtml(html) {
  if (runsScripts.has(html)) return runningFrame(html);
  if (!MAY_RUN.test(html)) return stillFrame(html);
  const runIt = () => {
    runsScripts.add(html);
    shown.replaceChildren(runningFrame(html));
  };
  const run = h("button", { onclick: runIt }, "Run its scripts");
  const shown = h("div", {}, h("p", { class: "rp-faint" }, "Its scripts do not run. ", run), stillFrame(html));
  return shown;
}

/**
 * Make a frame within a frame: the first words of the outer one are the policy of what is loaded, so
 * nothing after widens it, and the inner one can go to no other address.
 */
function frameOf(html, sandbox, loads) {
  const inner = h("iframe", { sandbox, style: "display:block;border:0;width:100%;height:100vh", title: "HTML output" });
  inner.srcdoc = html;
  const frame = h("iframe", { class: "rp-frame", sandbox, title: "HTML output" });
  const policy = `<meta http-equiv="Content-Security-Policy" content="${loads}">`;
  frame.srcdoc = `${policy}<style>body{margin:0;overflow:hidden}</style>${inner.outerHTML}`;
  return frame;
}

/** A frame has a ground of its own: that of a page with another colour scheme is white. */
function styled(html) {
  const theme = getComputedStyle(document.body);
  const ink = theme.getPropertyValue("--jp-ui-font-color1") || (isDark ? "#e6edf3" : "#1f2328");
  const ground = theme.getPropertyValue("--jp-layout-color1") || (isDark ? "#16191d" : "#ffffff");
  return (
    `<style>:root{color-scheme:${isDark ? "dark" : "light"};background:${ground}}` +
    `body{margin:4px;font:13px system-ui;color:${ink};overflow-wrap:break-word}` +
    `table{border-collapse:collapse}td,th{padding:2px 6px;border-bottom:1px solid #8884}</style>${html}`
  );
}

function fitFrame(frame, height) {
  frame.style.height = `${Math.min(height + 4, 600)}px`;
}

/** Without scripts the frame may be of the page's origin, which reads its height and opens its links. */
function stillFrame(html) {
  const frame = frameOf(styled(html), "allow-same-origin", FRAME_LOADS);
  frame.addEventListener("load", () => {
    const inner = frame.contentDocument?.querySelector("iframe")?.contentDocument;
    if (!inner) return;
    const all = inner.documentElement;
    const bar = () => inner.defaultView.innerHeight - all.clientHeight;
    new ResizeObserver(() => fitFrame(frame, all.scrollHeight + bar())).observe(inner.body);
    for (const link of inner.querySelectorAll("a[href], area[href]")) link.title = link.getAttribute("href");
    for (const press of ["click", "auxclick"]) inner.addEventListener(press, openLink);
  });
  return frame;
}

/** Open an address of the web in a tab of its own, which knows nothing of this page; follow no other one. */
function openLink(event) {
  const link = event.composedPath().find((each) => each.matches?.("a[*|href], area[href]"));
  if (!link || event.button > 1) return;
  event.preventDefault();
  const address = link.getAttribute("href") ?? link.getAttribute("xlink:href");
  if (address.startsWith("#")) link.ownerDocument.getElementById(address.slice(1))?.scrollIntoView();
  else if (/^https?:\/\/[^\s<>"]+$/i.test(address)) window.open(address, "_blank", "noopener,noreferrer");
}

/** Scripts get an origin of their own. */
function runningFrame(html) {
  const measure = "new ResizeObserver(()=>parent.parent.postMessage({rpHeight:((all)=>all.scrollHeight+innerHeight-all.clientHeight)(document.documentElement)},'*')).observe(document.body)";
  const loads = `${FRAME_LOADS}; script-src 'unsafe-inline' 'unsafe-eval' data: blob:; worker-src blob:`;
  const frame = frameOf(`${styled(html)}<script>${measure}</script>`, "allow-scripts", loads);
  addEventListener("message", function fit(event) {
    if (event.source === frame.contentWindow?.[0] && event.data?.rpHeight) {
      fitFrame(frame, event.data.rpHeight);
    } else if (frame.wasShown && !frame.isConnected) removeEventListener("message", fit);
    frame.wasShown ||= frame.isConnected;
  });
  return frame;
}

/** Show a widget in an element, whichever kind it is; `ref` is `anywidget:<id>` or `IPY_MODEL_<id>`. */
async function showWidget(ref, body, { model, host, signal }) {
  const id = ref.replace(/^(anywidget:|IPY_MODEL_)/, "");
  const manager = model.widget_manager;
  if (ref.startsWith("anywidget:") || !manager?.create_view) {
    try {
      const widget = await host.getWidget(`anywidget:${id}`);
      body.replaceChildren();
      await widget.render({ el: body, signal });
    } catch (error) {
      if (ref.startsWith("anywidget:")) throw error;
      throw new Error("This front end shows anywidgets only, and this is another widget.", { cause: error });
    }
    return;
  }
  const view = await manager.create_view(await manager.get_model(id));
  const lumino = view.luminoWidget;
  // While the view was made, its place may have gone, and its model have closed, which disposes it.
  if (signal.aborted || lumino?.isDisposed) return void view.remove();
  signal.addEventListener("abort", () => removeView(view));
  body.replaceChildren();
  if (lumino && body.isConnected) lumino.constructor.attach(lumino, body);
  else body.append(view.el);
}

/** Show a widget whose kernel side has ended, from its states; each view has models of its own. */
async function showStored(ref, body, { model, host, signal, models }) {
  const manager = model.widget_manager;
  if (!manager?.new_model) throw new Error("Its run has ended, and this front end shows living widgets only.");
  const suffix = crypto.randomUUID().replaceAll("-", "");
  const ids = Object.keys(JSON.parse(models));
  const text = ids.reduce((text, id) => text.replaceAll(id, id + suffix), models);
  const made = Object.entries(JSON.parse(text)).map(([model_id, { state, buffers, ...names }]) => {
    for (const { path, data } of buffers ?? []) {
      const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
      path.slice(0, -1).reduce((part, key) => part[key], state)[path.at(-1)] = new DataView(bytes.buffer);
    }
    return manager.new_model({ model_id, ...names }, state);
  });
  const close = async () => (await Promise.allSettled(made)).forEach(({ value }) => (value?.trigger("comm:close"), value?.close(true)));
  signal.addEventListener("abort", close);
  await Promise.all(made);
  if (!signal.aborted) await showWidget(ref + suffix, body, { model, host, signal });
}

/** Remove a view; Lumino detaches only what is in the page, which its output may have left before. */
function removeView(view) {
  const lumino = view.luminoWidget;
  if (lumino && !lumino.node.isConnected) lumino.clearFlag(lumino.constructor.Flag.IsAttached);
  view.remove();
}

/** Return the nodes of HTML that the kernel wrote from Markdown, in which values are text. */
function markup(html) {
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes];
}

/** Put a text on the clipboard; where the page may not, it stands selected in the panel. */
async function copyText(root, text) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied.";
  } catch {
    const area = h("textarea", { class: "rp-copy", "aria-label": "Text to copy", readonly: true, value: text });
    area.addEventListener("blur", () => area.remove());
    root.append(area);
    area.focus();
    area.select();
    return "Press Mod+C to copy.";
  }
}

/** Move among the elements that `list()` gives by arrows, Home and End; one of them takes Tab. */
function rove(container, list) {
  const enter = (chosen) => {
    for (const each of list()) each.tabIndex = each === chosen ? 0 : -1;
  };
  container.addEventListener("focusin", (event) => list().includes(event.target) && enter(event.target));
  container.addEventListener("keydown", (event) => {
    const all = list();
    const at = all.indexOf(event.target);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    all[(steps[event.key] + all.length) % all.length].focus();
  });
  return enter;
}

/** Make a strip of tabs over one place: `tabStrip(name, tabs, choose)`, a tab `{id, title, status}`. */
function tabStrip(name, tabs, chosen, choose) {
  const made = `rp-tabs-${Math.random().toString(36).slice(2)}`;
  const place = h("div", { role: "tabpanel", id: `${made}-place`, tabindex: 0, class: "rp-place" });
  const strip = h("div", { role: "tablist", "aria-label": name, class: "rp-tabs" });
  const buttons = tabs.map((tab) =>
    h(
      "button",
      { role: "tab", id: `${made}-${tab.id}`, "aria-controls": place.id, "data-key": `tab ${tab.id}`, "data-tab": tab.id, onclick: () => turnTo(tab.id) },
      tab.status ? h("span", { class: "rp-dot", "data-status": tab.status }) : null,
      tab.title,
    ),
  );
  strip.append(...buttons);
  const enter = rove(strip, () => buttons);
  strip.addEventListener("focusin", (event) => turnTo(event.target.dataset.tab));

  // A click focuses a tab in most browsers, and is all there is in some.
  function turnTo(id) {
    if (id && id !== place.dataset.shows) open(id);
  }

  function open(id) {
    place.dataset.shows = id;
    for (const button of buttons) button.setAttribute("aria-selected", String(button.dataset.tab === id));
    enter(buttons.find((button) => button.dataset.tab === id));
    place.setAttribute("aria-labelledby", `${made}-${id}`);
    choose(id, place);
  }
  open(chosen);
  return { strip, place, open };
}
