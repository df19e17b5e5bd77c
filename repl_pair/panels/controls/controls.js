/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number }} RunState
 * @typedef {{ path: string[], control: string, type: string, doc: string, is_nullable: boolean, is_required:
 *   boolean, options: string[], least: number | null, most: number | null, step: number | null, fields:
 *   FieldShape[] }} FieldShape
 * @typedef {{ path: string[], edited: boolean, none: boolean, set: boolean, value?: any, note?: string, long?:
 *   boolean, fault?: string }} FieldState
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number, running: boolean }} RunStatus
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number, running: boolean, values: FieldState[], edited: number, fault:
 *   string }} FormState
 * @typedef {{ status?: string, reason?: string, stale?: boolean, what_if?: boolean, total?: number, passed?:
 *   number, modes?: string[], elapsed_ms?: number, running: boolean, values: FieldState[], edited: number, fault:
 *   string, variant: string | null, runs_on_change: boolean, fields: FieldShape[] }} Form
 * @typedef {{ text: string, odd: string[] }} Code
 * @typedef {{ path: string[], text: string }} Refusal
 * @typedef {{ form?: null, status?: RunStatus, refused?: Refusal }} ControlsPatch
 * @typedef {{ form: ({}) => Form, edit: ({variant: string, path: string[], raw?: any, none?: boolean}) =>
 *   FormState, reset: ({variant: string, path?: string[] | null}) => FormState, run: ({variant: string}) =>
 *   RunStatus, options: ({runs_on_change: boolean}) => null, code: ({variant: string}) => Code, save: ({variant:
 *   string, name: string}) => string }} Asks
 */

const TYPE_MS = 250;
const MASK = "••••••••";

async function draw({ root, ask, listen }) {
  let form = null;
  let drawn = "";
  let fields = new Map();
  // What is typed and not sent, what is sent and not answered: no older answer is shown over it.
  const pending = new Map();
  const flying = new Map();
  const bar = h("header", { class: "rp-row rp-head-bar" });
  const live = h("div", { class: "rp-hidden", role: "status" });
  const place = h("form", { class: "rp-form", onsubmit: (event) => event.preventDefault() });
  const foot = h("footer", { class: "rp-keep" });
  root.append(bar, live, place, foot);

  const act = (fn) => guarded(root, fn);
  const keyOf = (path) => path.join("\u001f");
  const idOf = (path) => `${mark}-${path.map((step) => step.replace(/\W/g, "_")).join("-")}`;
  const mark = `rp-${Math.random().toString(36).slice(2)}`;
  const announce = (text) => (live.textContent = text);

  // --- edits

  const send = act(async (path, payload) => {
    const key = keyOf(path);
    flying.set(key, (flying.get(key) ?? 0) + 1);
    let state;
    try {
      state = await ask("edit", { variant: form.variant, path, ...payload });
    } finally {
      if (flying.get(key) > 1) flying.set(key, flying.get(key) - 1);
      else flying.delete(key);
    }
    take(state);
  });

  /** Send what is typed once the person pauses; what is chosen goes at once. */
  function typed(path, payload, wait_ms = TYPE_MS) {
    const key = keyOf(path);
    clearTimeout(pending.get(key)?.timer);
    const go = () => {
      pending.delete(key);
      return send(path, payload);
    };
    if (!wait_ms) return go();
    pending.set(key, { timer: setTimeout(go, wait_ms), go });
    return undefined;
  }

  async function flush() {
    const waiting = [...pending.values()];
    for (const each of waiting) clearTimeout(each.timer);
    await Promise.all(waiting.map((each) => each.go()));
  }

  function take(state) {
    if (!state) return;
    form = { ...form, ...state };
    for (const value of state.values) update(value);
    drawBar();
    drawFoot();
  }

  const run = act(async () => {
    if (!form?.variant) return;
    if (form.running) return void announce("It is running already.");
    const { variant } = form;
    await flush();
    const wrong = root.querySelector("[aria-invalid='true']");
    if (wrong) {
      wrong.focus();
      announce("Nothing was run: a field holds what does not fit.");
      return;
    }
    take({ values: [], ...(await ask("run", { variant })) });
  });

  const reset = act(async (path) => {
    const { variant } = form;
    await flush();
    take(await ask("reset", path ? { variant, path } : { variant }));
    announce(path ? `${path.join(".")} is reset.` : "All edits are reset.");
  });

  // --- fields

  function drawFields(list) {
    return list.map((field) => (field.control === "group" ? group(field) : one(field)));
  }

  function about(field, id) {
    return [
      field.doc ? h("p", { class: "rp-doc", id: `${id}-doc` }, field.doc) : null,
      h("p", { class: "rp-wrong", id: `${id}-fault`, role: "alert" }),
    ];
  }

  function typeOf(field, id) {
    return h("span", { class: "rp-type rp-mono", id: `${id}-type` }, field.type, field.is_required ? " · required" : "");
  }

  function describedBy(field, id) {
    return [`${id}-type`, ...(field.doc ? [`${id}-doc`] : []), `${id}-fault`].join(" ");
  }

  function resetButton(field) {
    const name = field.path.join(".");
    return h(
      "button",
      { type: "button", class: "rp-reset", "data-key": `reset ${name}`, "aria-label": `Reset ${name}`, title: "Back to the variant's", hidden: true, onclick: () => reset(field.path) },
      "↺",
    );
  }

  function noneBox(field, label) {
    if (!field.is_nullable) return null;
    return h(
      "label",
      { class: "rp-none" },
      h("input", {
        type: "checkbox",
        "data-key": `none ${field.path.join(".")}`,
        "aria-label": `${label}: none`,
        onchange: (event) => (event.target.checked ? send(field.path, { none: true }) : bringBack(field)),
      }),
      " none",
    );
  }

  /** Take a none back: what an empty input means, or what the variant has. */
  function bringBack(field) {
    const made = fields.get(keyOf(field.path));
    made.isOpened = true;
    for (const input of made.inputs) input.disabled = false;
    if (field.control === "group") return reset(field.path);
    made.inputs[0].focus();
    return field.control === "checkbox" ? send(field.path, { raw: made.inputs[0].checked }) : undefined;
  }

  function group(field) {
    const id = idOf(field.path);
    const none = noneBox(field, field.path.join("."));
    const back = resetButton(field);
    const inner = h("div", { class: "rp-inner" }, drawFields(field.fields));
    const fault = h("p", { class: "rp-wrong", id: `${id}-fault`, role: "alert" });
    const element = h(
      "fieldset",
      { class: "rp-group", "data-field": field.path.join("."), "aria-describedby": `${id}-fault` },
      h("legend", {}, field.path.at(-1), " ", h("span", { class: "rp-type rp-mono" }, field.type)),
      h("div", { class: "rp-row rp-tools" }, none, back),
      fault,
      inner,
    );
    fields.set(keyOf(field.path), {
      inputs: [],
      show(value) {
        back.hidden = !value.edited;
        fault.textContent = value.fault ?? "";
        if (none) none.firstChild.checked = value.none;
        inner.hidden = value.none;
      },
    });
    return element;
  }

  function one(field) {
    const id = idOf(field.path);
    const name = field.path.at(-1);
    const made = MAKE[field.control](field, id);
    const none = noneBox(field, name);
    const back = resetButton(field);
    const isSet = ["radio"].includes(field.control);
    const label = isSet ? h("span", { class: "rp-label", id: `${id}-label` }, name) : h("label", { class: "rp-label", for: id }, name);
    const element = h(
      "div",
      { class: "rp-field", "data-field": field.path.join("."), "data-control": field.control },
      h("div", { class: "rp-row rp-tools" }, label, typeOf(field, id), h("span", { class: "rp-edited", title: "Differs from the variant" }), h("span", { class: "rp-push" }), none, back),
      made.element,
      about(field, id),
    );
    const marked = made.input ?? made.element;
    marked.setAttribute("aria-describedby", describedBy(field, id));
    const inputs = made.inputs ?? [made.input];
    fields.set(keyOf(field.path), {
      inputs,
      isOpened: false,
      show(value) {
        this.isOpened &&= value.none;
        const isNone = value.none && !this.isOpened;
        element.toggleAttribute("data-edited", value.edited);
        element.querySelector(".rp-edited").textContent = value.edited ? "edited" : "";
        back.hidden = !value.edited && !value.fault;
        element.querySelector(".rp-wrong").textContent = value.fault ?? "";
        if (value.fault) marked.setAttribute("aria-invalid", "true");
        else marked.removeAttribute("aria-invalid");
        if (none) none.firstChild.checked = isNone;
        made.show(value);
        for (const input of inputs) input.disabled = isNone && !value.fault;
      },
    });
    return element;
  }

  function text(field, id, properties, tag = "input") {
    const input = h(tag, {
      id,
      "data-key": `field ${field.path.join(".")}`,
      spellcheck: "false",
      autocomplete: "off",
      oninput: (event) => typed(field.path, { raw: event.target.value }),
      onblur: () => last && !pending.has(keyOf(field.path)) && show(last),
      ...properties,
    });
    let last = null;

    /** Show a value; what is being typed stays as it is until they leave. */
    function show(value) {
      last = value;
      if (root.getRootNode().activeElement === input) return;
      if (input.value !== (value.value ?? "")) input.value = value.value ?? "";
      input.placeholder = value.note ? `${value.note}: type to replace it` : value.none ? "none" : value.set ? "" : "not given";
    }

    return { element: input, input, show };
  }

  /** Put a second input before a text field: what is given in one is shown in the other. */
  function paired(field, made, { name, does, fits, wait_ms, ...properties }) {
    const path = field.path.join(".");
    const second = h("input", {
      ...properties,
      "data-key": `${name} ${path}`,
      "aria-label": `${path}: ${does}`,
      oninput: (event) => {
        made.input.value = event.target.value;
        typed(field.path, { raw: event.target.value }, wait_ms);
      },
    });
    return {
      ...made,
      inputs: [made.input, second],
      element: h("div", { class: `rp-row rp-${properties.type}` }, second, made.element),
      show(value) {
        made.show(value);
        if (fits(value)) second.value = value.value;
      },
    };
  }

  function bounds(field) {
    return { min: field.least ?? undefined, max: field.most ?? undefined, step: field.step ?? (field.type.startsWith("int") ? 1 : "any") };
  }

  function givenTo(field) {
    return form.values.find((value) => keyOf(value.path) === keyOf(field.path));
  }

  // A browser's own field of a time shows none that has a zone.
  function isZoned(field) {
    return /(Z|[+-]\d\d:?\d\d)$/.test(givenTo(field)?.value ?? "");
  }

  const MAKE = {
    text(field, id) {
      return givenTo(field)?.long ? MAKE.textarea(field, id) : text(field, id, { type: "text" });
    },
    textarea: (field, id) => text(field, id, { rows: 3 }, "textarea"),
    json: (field, id) => text(field, id, { rows: 3, class: "rp-mono" }, "textarea"),
    expression: (field, id) => text(field, id, { type: "text", class: "rp-mono" }),
    // A text field gives what was typed, where a number field would give nothing.
    number: (field, id) => text(field, id, { type: "text", inputmode: field.type.startsWith("int") ? "numeric" : "decimal", onkeydown: (event) => stepBy(field, event) }),
    date: (field, id) => text(field, id, { type: "date" }),
    time: (field, id) => text(field, id, { type: isZoned(field) ? "text" : "time", step: "any" }),
    datetime: (field, id) => text(field, id, { type: isZoned(field) ? "text" : "datetime-local", step: "any" }),
    colour(field, id) {
      const fits = (value) => /^#[0-9a-f]{6}$/i.test(value.value ?? "");
      return paired(field, text(field, id, { type: "text" }), { name: "swatch", does: "choose a colour", fits, type: "color" });
    },
    checkbox(field, id) {
      const input = h("input", {
        type: "checkbox",
        id,
        "data-key": `field ${field.path.join(".")}`,
        onchange: (event) => send(field.path, { raw: event.target.checked }),
      });
      return { element: input, input, show: (value) => (input.checked = Boolean(value.value)) };
    },
    range(field, id) {
      const made = text(field, id, { type: "text", inputmode: "decimal", class: "rp-figure" });
      const fits = (value) => value.value !== undefined && !value.fault;
      return paired(field, made, { name: "slider", does: "slide", fits, wait_ms: 60, type: "range", ...bounds(field) });
    },
    select(field, id) {
      const empty = h("option", { value: "" }, "choose …");
      const input = h(
        "select",
        { id, "data-key": `field ${field.path.join(".")}`, onchange: (event) => event.target.value && send(field.path, { raw: event.target.value }) },
        empty,
        field.options.map((option, index) => h("option", { value: String(index) }, option)),
      );
      return {
        element: input,
        input,
        show(value) {
          empty.hidden = value.value !== undefined;
          input.value = value.value ?? "";
        },
      };
    },
    radio(field, id) {
      const inputs = field.options.map((option, index) =>
        h("input", {
          type: "radio",
          name: id,
          value: String(index),
          "data-key": `field ${field.path.join(".")} ${index}`,
          onchange: () => send(field.path, { raw: String(index) }),
        }),
      );
      const element = h(
        "div",
        { class: "rp-row", role: "radiogroup", "aria-labelledby": `${id}-label` },
        inputs.map((input, index) => h("label", {}, input, ` ${field.options[index]}`)),
      );
      return {
        element,
        inputs,
        show: (value) => inputs.forEach((input, index) => (input.checked = String(index) === value.value)),
      };
    },
    secret(field, id) {
      const state = h("span", { class: "rp-mono rp-mask" });
      const input = h("input", {
        type: "password",
        id,
        "data-key": `field ${field.path.join(".")}`,
        autocomplete: "new-password",
        placeholder: "replace",
        // Sent when it is whole, and never held here after.
        onchange: (event) => {
          const raw = event.target.value;
          event.target.value = "";
          if (raw) send(field.path, { raw });
        },
      });
      return {
        element: h("div", { class: "rp-row" }, state, input),
        input,
        show(value) {
          state.textContent = value.none ? "none" : value.set ? MASK : "not set";
          state.setAttribute("aria-label", value.set ? "a secret is set" : "no secret is set");
        },
      };
    },
  };

  /** Count up and down by arrows, as a number field does. */
  function stepBy(field, event) {
    const ways = { ArrowUp: 1, ArrowDown: -1 };
    const number = Number(event.target.value);
    if (!(event.key in ways) || event.target.value.trim() === "" || Number.isNaN(number)) return;
    event.preventDefault();
    const next = number + ways[event.key] * (field.step ?? 1);
    const inside = Math.min(field.most ?? next, Math.max(field.least ?? next, next));
    event.target.value = String(+inside.toPrecision(12));
    typed(field.path, { raw: event.target.value }, 60);
  }

  function update(value) {
    const key = keyOf(value.path);
    if (!pending.has(key) && !flying.has(key)) fields.get(key)?.show(value);
  }

  // --- the whole

  function drawBar() {
    if (!form?.variant) {
      fill(bar);
      return;
    }
    const status = form.running ? "running …" : form.status ? form.status.replace("_", " ") : "not run";
    fill(
      bar,
      h("button", { type: "button", class: "rp-run", "data-key": "run", title: "Mod+Enter", disabled: form.running, onclick: run }, "Run"),
      h("span", { class: "rp-dot", "data-status": form.running ? "running" : form.status }),
      h("span", { class: "rp-faint rp-ended" }, status),
      h("span", { class: "rp-push" }),
      h(
        "label",
        { class: "rp-faint" },
        h("input", { type: "checkbox", "data-key": "on change", checked: form.runs_on_change, onchange: act((event) => ask("options", { runs_on_change: event.target.checked })) }),
        " run on change",
      ),
    );
  }

  function drawFoot() {
    if (!form?.variant || !form.fields?.length) {
      fill(foot);
      return;
    }
    const typedName = foot.querySelector("input")?.value ?? "";
    const name = h("input", {
      type: "text",
      "data-key": "name",
      "aria-label": "Name of the new variant",
      "aria-describedby": `${mark}-name-fault`,
      placeholder: "NameOfVariant",
      value: typedName,
      onkeydown: (event) => event.key === "Enter" && !event.ctrlKey && !event.metaKey && save(name.value),
    });
    fill(
      foot,
      h(
        "div",
        { class: "rp-row" },
        h("span", { class: "rp-faint rp-count" }, form.edited ? `${form.edited} edited` : "as registered"),
        h("span", { class: "rp-push" }),
        h("button", { type: "button", "data-key": "reset all", disabled: !form.edited && !root.querySelector("[aria-invalid]"), onclick: () => reset() }, "Reset all"),
        h("button", { type: "button", "data-key": "code", onclick: copyCode }, "Copy as code"),
      ),
      h("div", { class: "rp-row" }, name, h("button", { type: "button", "data-key": "save", onclick: () => save(name.value) }, "Save as variant")),
      h("p", { class: "rp-wrong", id: `${mark}-name-fault`, role: "alert" }, form.fault || ""),
    );
  }

  const copyCode = act(async () => {
    const { variant } = form;
    await flush();
    const { text, odd } = await ask("code", { variant });
    const done = await copyText(root, text);
    announce(odd.length ? `${done} Fill in before it runs: ${odd.join(", ")}` : done);
    root.dataset.copied = text;
  });

  async function save(name) {
    const { variant } = form;
    try {
      await flush();
      const id = await ask("save", { variant, name });
      foot.querySelector("input").value = "";
      announce(`Saved as ${id}.`);
    } catch (error) {
      foot.querySelector(".rp-wrong").textContent = error.message;
      foot.querySelector("input").focus();
    }
  }

  const load = act(async () => {
    const next = await ask("form");
    if (form?.variant !== next.variant) {
      for (const { timer } of pending.values()) clearTimeout(timer);
      pending.clear();
      flying.clear();
      foot.replaceChildren();
    }
    form = next;
    if (!form.variant || !form.fields.length) {
      drawn = "";
      fields = new Map();
      fill(place, h("p", { class: "rp-empty" }, form.fault || "It takes no args."));
    } else {
      const shape = JSON.stringify([form.variant, form.fields]);
      const isOther = shape !== drawn;
      if (isOther) fields = new Map();
      const made = isOther && drawFields(form.fields);
      for (const value of form.values) update(value);
      // Once they show their values: a field that has the focus keeps what it shows.
      if (isOther) fill(place, made);
      drawn = shape;
    }
    drawBar();
    drawFoot();
  });

  listen("form", load);
  listen("status", (status) => {
    const ended = form?.running && !status.running;
    form = { ...form, ...status };
    drawBar();
    if (ended) announce(`Run ended: ${status.status}`);
  });
  listen("refused", ({ path, text }) => {
    const made = fields.get(keyOf(path));
    if (made) made.show({ ...form.values.find((value) => keyOf(value.path) === keyOf(path)), fault: text });
    else showFault(root, new Error(text));
  });
  bindKeys(root, { "Mod+Enter": run });
  fill(place, h("p", { class: "rp-empty" }, "Opening …"));
  await load();
}

export default panel("controls", draw);
