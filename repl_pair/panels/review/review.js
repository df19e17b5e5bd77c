/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ id: string, author: "human" | "agent", principal: string, status: string, section: string, quote:
 *   string, content: string, edited_by: string, created: string, changed: string }} Remark
 * @typedef {{ id: string, author: "human" | "agent", principal: string, status: string, section: string, quote:
 *   string, content: string, edited_by: string, created: string, changed: string, target: string, review: string |
 *   null, replies: Remark[], earlier: number }} ThreadShown
 * @typedef {{ id: string, status: "submitted" | "completed" }} ReviewShown
 * @typedef {{ target: string, label: string, here: boolean, drafts: string[], reviews: ReviewShown[], threads:
 *   string[] }} Group
 * @typedef {{ groups: Group[], total: number, shown: number }} Listing
 * @typedef {{ status: string, author: string, match: string }} FilterState
 * @typedef {{ filter: FilterState, focus: string, listing: Listing, threads: ThreadShown[], live: boolean }} State
 * @typedef {{ id: string, duplicate: boolean }} Written
 * @typedef {{ done: boolean, replies: number, review_deleted: boolean }} Deletion
 * @typedef {{ review: string, count: number }} Sent
 * @typedef {{ filter?: FilterState, focus?: string, listing?: Listing, threads?: ThreadShown[], live?: boolean,
 *   fault?: string }} ReviewPatch
 * @typedef {{ state: ({page: string}) => State, leave: ({page: string}) => null, filter: ({status?: string,
 *   author?: string, match?: string}) => null, more: ({}) => null, earlier: ({id: string}) => null, words: ({id:
 *   string}) => string, remark: ({target: string, content: string, section?: string, quote?: string}) => Written,
 *   reply: ({id: string, content: string}) => Written, edit: ({id: string, content: string}) => Written, resolve:
 *   ({id: string}) => Written, reopen: ({id: string}) => Written, delete: ({id: string, agreed?: Deletion | null})
 *   => Deletion, submit: ({target: string, drafts: string[]}) => Sent, complete: ({review: string}) => null }} Asks
 */


const STATUSES = [["open", "Open"], ["draft", "Drafts"], ["submitted", "Submitted"], ["replied", "Replied"], ["resolved", "Resolved"], ["orphaned", "Orphaned"], ["", "All"]];
const AUTHORS = [["", "By all"], ["human", "By people"], ["agent", "By agents"]];
const ORPHANED = "The words that it quotes are no longer there. It stays here, and is itself again when they are back.";
const CLOCK_MS = 20_000;
const SETTLE_MS = 150;
/** What was typed and not sent, by the box that it was typed into: it outlives the panel's being hidden. */
const UNSENT = new Map();

/** Write how long ago a moment was: "3 min ago". */
function ago(moment) {
  const seconds = Math.max(0, (Date.now() - moment) / 1000);
  const units = [[86_400, "d"], [3600, "h"], [60, "min"]];
  const [length, unit] = units.find(([length]) => seconds >= length) ?? [];
  return unit ? `${Math.floor(seconds / length)} ${unit} ago` : "just now";
}

/** Return the element of a moment: relative, then absolute. */
function timeOf(written) {
  const moment = new Date(written);
  const absolute = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return h("time", { datetime: written, "data-absolute": absolute }, `${ago(moment)} · ${absolute}`);
}

/** Write a count with its noun: "1 reply", "3 replies". */
const counted = (count, one, many) => `${count.toLocaleString()} ${count === 1 ? one : many}`;

/** Set an element's children and whether it is there. */
function set(element, ...children) {
  fill(element, ...children);
  element.hidden = !children.length;
}

/** Return a handler that does what a button says, and shows in an element beside it why it failed. */
function shownIn(wrong, fn) {
  return async () => {
    set(wrong);
    try {
      await fn();
    } catch (error) {
      set(wrong, error.message);
    }
  };
}

/** The element for what failed. */
const faultLine = () => h("p", { class: "rp-wrong", role: "alert", hidden: true });

/** A select over pairs of a value and its title. */
function choice(label, pairs, onchange) {
  return h("select", { "aria-label": label, onchange }, pairs.map(([value, title]) => h("option", { value }, title)));
}

/**
 * A field to write in, with a button that sends: `send(text)` may fail, which is shown here and loses nothing.
 *
 * What is typed is kept under `key` until it is sent, or the person clears it.
 */
function writeBox({ key, label, verb, send, leave, sent }) {
  const area = h("textarea", { rows: "3", "aria-label": label, "data-box": key, value: UNSENT.get(key) ?? "", oninput: () => keep() });
  const wrong = faultLine();
  const button = h("button", { onclick: () => submit(), title: "Mod+Enter" }, verb);
  const close = leave && h("button", { onclick: () => discard() }, "Cancel");
  const element = h("div", { class: "rp-box" }, area, wrong, h("div", { class: "rp-row" }, button, close));

  function keep() {
    if (area.value) UNSENT.set(key, area.value);
    else UNSENT.delete(key);
  }

  function discard() {
    write("");
    leave?.();
  }

  function write(text) {
    area.value = text;
    keep();
    set(wrong);
  }

  async function submit() {
    if (area.readOnly) return;
    set(wrong);
    area.readOnly = button.disabled = true;
    try {
      await send(area.value);
      discard();
      sent?.();
    } catch (error) {
      set(wrong, error.message);
    } finally {
      area.readOnly = button.disabled = false;
    }
  }

  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
    else if (event.key === "Escape" && leave && !area.value) leave();
    else return;
    event.preventDefault();
  });
  return { element, area, write, holds: () => area.value !== "" };
}

async function draw({ root, ask, read, listen, signal }) {
  const page = `rp-${Math.random().toString(36).slice(2)}`;
  let wanted = { status: "open", author: "", match: "" };
  let focus = "";
  let listing = { groups: [], total: 0, shown: 0 };
  const threads = new Map();
  const drawn = new Map();
  const heads = new Map();

  const live = h("div", { class: "rp-hidden", role: "status" });
  const still = h("div", { class: "rp-row rp-still", hidden: true });
  const status = choice("Status", STATUSES, () => setFilter({ status: status.value }));
  const author = choice("Author", AUTHORS, () => setFilter({ author: author.value }));
  const match = h("input", { type: "search", "aria-label": "Filter by target", placeholder: "Target   /", oninput: () => settle() });
  const count = h("span", { class: "rp-faint rp-count" });
  const above = h("div", { "aria-hidden": "true" });
  const below = h("div", { "aria-hidden": "true" });
  const list = h("div");
  const more = h("button", { "data-key": "more", hidden: true, onclick: guarded(root, () => ask("more")) }, "Show more");
  const scroller = h("div", { class: "rp-threads", role: "region", tabindex: "0", "aria-label": "Remarks" }, above, list, h("div", { class: "rp-row" }, more), below);

  // --- a remark on what the person chooses

  let isAimed = false;
  let setBegun;
  const begun = new Promise((resolve) => (setBegun = resolve));
  const target = h("input", { class: "rp-mono", type: "text", "aria-label": "Remark on", placeholder: "variant:shop.total/Two", spellcheck: "false", autocapitalize: "off", value: UNSENT.get("target") ?? "", oninput: () => keepParts((isAimed = true)) });
  const section = h("input", { type: "text", "aria-label": "Section", value: UNSENT.get("section") ?? "", oninput: () => keepParts() });
  const quote = h("input", { type: "text", "aria-label": "Quote", value: UNSENT.get("quote") ?? "", oninput: () => keepParts() });
  const parts = h("details", {}, h("summary", {}, "Section and quote"), h("div", { class: "rp-parts" }, h("span", { class: "rp-faint" }, "Section"), section, h("span", { class: "rp-faint" }, "Quote"), quote));
  parts.open = Boolean(section.value || quote.value);
  const elsewhere = h("button", { hidden: true, onclick: () => aim(focus) });
  const remark = writeBox({
    key: "remark",
    label: "Your remark",
    verb: "Add as draft",
    async send(content) {
      await begun; // until then it is not known what the shell shows
      const made = await ask("remark", { target: target.value, content, section: section.value, quote: quote.value });
      live.textContent = made.duplicate ? "The same remark was there already" : "Kept as a draft";
      for (const part of [section, quote]) part.value = "";
    },
    sent() {
      isAimed = false;
      keepParts();
    },
  });
  const write = h("div", { class: "rp-write" }, h("div", { class: "rp-on" }, h("span", { class: "rp-faint" }, "On"), target), elsewhere, remark.element, parts);
  remark.area.addEventListener("input", () => followFocus());

  function keepParts() {
    for (const [name, part] of Object.entries({ target, section, quote })) UNSENT.set(name, part.value);
    followFocus();
  }

  const isWriting = () => isAimed || remark.holds() || Boolean(section.value || quote.value);

  /** Aim at what the shell shows, unless the person has begun to write: their words stay with their target. */
  function followFocus() {
    const isMissing = !target.value && root.getRootNode().activeElement !== target;
    if (focus && focus !== target.value && (isMissing || !isWriting())) return aim(focus);
    elsewhere.hidden = !focus || focus === target.value || !isWriting();
    elsewhere.textContent = `Write on ${focus} instead`;
  }

  function aim(at) {
    target.value = at;
    isAimed = at !== focus;
    keepParts();
  }

  root.append(
    write,
    h("div", { class: "rp-row rp-find" }, status, author, match, count),
    still,
    scroller,
    live,
  );

  // --- one remark, or one reply

  function makeRemark(id, isReply) {
    const by = h("div", { class: "rp-by" });
    const where = h("div", { class: "rp-section-name", hidden: true });
    const quoted = h("blockquote", { hidden: true });
    const orphan = h("p", { class: "rp-orphan", hidden: true }, ORPHANED);
    const content = h("div", { class: "rp-content" });
    const tools = h("div", { class: "rp-row rp-tools" });
    const place = h("div");
    const sure = h("div", { class: "rp-sure", role: "alertdialog", "aria-label": "Delete", hidden: true });
    const wrong = faultLine();
    const element = h("div", {}, by, where, quoted, orphan, content, tools, wrong, sure, place);
    let shown = {};
    let box = null;

    const doing = (fn) => shownIn(wrong, fn);

    function show(now) {
      const before = shown;
      shown = now;
      if (JSON.stringify(before) === JSON.stringify(now)) return;
      const isChanged = now.changed !== now.created && ago(new Date(now.changed)) !== ago(new Date(now.created));
      fill(
        by,
        h("strong", {}, now.principal),
        h("span", { class: "rp-faint" }, now.author),
        isReply ? null : h("span", { class: "rp-chip", "data-status": now.status }, now.status),
        timeOf(now.created),
        now.edited_by ? h("span", { class: "rp-faint" }, `edited by ${now.edited_by}`) : null,
        isChanged ? h("span", { class: "rp-faint" }, "changed ", timeOf(now.changed)) : null,
      );
      set(where, ...(now.section ? [`§ ${now.section}`] : []));
      set(quoted, ...(now.quote ? [now.quote] : []));
      orphan.hidden = now.status !== "orphaned";
      content.textContent = now.content;
      if (before.status !== now.status) drawTools();
    }

    function drawTools() {
      const isDraft = shown.status === "draft";
      const isResolved = shown.status === "resolved";
      fill(
        tools,
        isReply || isDraft ? null : h("button", { "data-key": `reply-${id}`, onclick: () => drawn.get(id).reply() }, "Reply"),
        isReply || isDraft ? null : h("button", { "data-key": `state-${id}`, onclick: isResolved ? reopen : resolve }, isResolved ? "Reopen" : "Resolve"),
        h("button", { "data-key": `edit-${id}`, onclick: () => edit() }, "Edit"),
        h("button", { "data-key": `delete-${id}`, onclick: doing(() => weigh()) }, "Delete"),
      );
    }

    const resolve = doing(() => ask("resolve", { id }));
    const reopen = doing(() => ask("reopen", { id }));

    const edit = doing(async () => {
      if (!box) openEdit(await ask("words", { id }));
      box.area.focus();
    });

    function openEdit(written) {
      box = writeBox({
        key: `edit ${id}`,
        label: "New words",
        verb: "Save",
        send: (text) => ask("edit", { id, content: text }),
        leave() {
          box = null;
          place.replaceChildren();
          tools.querySelector(`[data-key="edit-${id}"]`)?.focus({ preventScroll: true });
        },
      });
      if (written !== undefined && !box.holds()) box.write(written);
      place.replaceChildren(box.element);
    }
    if (UNSENT.has(`edit ${id}`)) openEdit();

    /** Say what a deletion takes along, and do it only when the person confirms just that. */
    const weigh = async (agreed) => {
      const found = await ask("delete", agreed ? { id, agreed } : { id });
      if (found.done) return void (live.textContent = "Deleted");
      const along = [found.replies ? counted(found.replies, "reply goes", "replies go") : "", found.review_deleted ? "its review goes, which is left empty" : ""].filter(Boolean);
      const words = `${agreed ? "It changed meanwhile. " : ""}${along.length ? `${along.join(", and ")}, along with it.` : "Nothing else goes with it."}`;
      const keep = h("button", { onclick: () => leave() }, "Keep");
      set(sure, h("p", {}, words), h("div", { class: "rp-row" }, h("button", { onclick: doing(() => weigh(found)) }, isReply ? "Delete the reply" : "Delete the remark"), keep));
      keep.focus({ preventScroll: true });
    };

    function leave() {
      set(sure);
      tools.querySelector(`[data-key="delete-${id}"]`)?.focus({ preventScroll: true });
    }
    sure.addEventListener("keydown", (event) => event.key === "Escape" && leave());
    return { element, show, holds: () => box !== null && box.holds() };
  }

  // --- one thread

  function makeThread(id) {
    const head = makeRemark(id, false);
    const earlier = h("button", { hidden: true, "data-key": `earlier-${id}`, onclick: guarded(root, () => ask("earlier", { id })) });
    const replies = h("ol", { class: "rp-replies", hidden: true });
    const place = h("div", { class: "rp-replying" });
    const lost = h("p", { class: "rp-lost", role: "alert", hidden: true });
    const element = h("article", { class: "rp-thread", "data-thread": id }, lost, head.element, earlier, replies, place);
    const made = new Map();
    let box = null;

    function show(thread) {
      set(lost);
      element.dataset.status = thread.status;
      element.setAttribute("aria-label", `${thread.principal} on ${thread.target}, ${thread.status}`);
      head.show(thread);
      earlier.hidden = !thread.earlier;
      earlier.textContent = `Show ${counted(thread.earlier, "earlier reply", "earlier replies")}`;
      const parts = thread.replies.map((reply) => {
        const each = made.get(reply.id) ?? makeReply(reply.id);
        each.part.show(reply);
        return each.element;
      });
      const ids = new Set(thread.replies.map((reply) => reply.id));
      for (const [reply, each] of made) {
        if (ids.has(reply)) continue;
        if (each.part.holds()) parts.unshift(each.element);
        else made.delete(reply);
      }
      arrange(replies, parts);
      replies.hidden = !parts.length;
    }

    function makeReply(reply) {
      const part = makeRemark(reply, true);
      const each = { part, element: h("li", { "data-reply": reply }, part.element) };
      made.set(reply, each);
      return each;
    }

    function openReply() {
      box = writeBox({
        key: `reply ${id}`,
        label: "Your reply",
        verb: "Reply",
        send: (content) => ask("reply", { id, content }),
        leave() {
          box = null;
          place.replaceChildren();
          element.querySelector(`[data-key="reply-${id}"]`)?.focus({ preventScroll: true });
        },
      });
      place.replaceChildren(box.element);
    }
    if (UNSENT.has(`reply ${id}`)) openReply();

    function reply() {
      if (!box) openReply();
      box.area.focus();
    }

    const holds = () => box?.holds() || head.holds() || [...made.values()].some((each) => each.part.holds());
    return { element, show, reply, holds, lose: () => set(lost, "This is no longer in the list: it was deleted, or does not fit the filter. What you typed is still here.") };
  }

  // --- the list: what changes moves nothing that the person looks at, points at, or types into

  /** Put elements into an order; the one that has the focus is not moved, which would lose it. */
  function arrange(parent, wanted) {
    const active = root.getRootNode().activeElement;
    const at = wanted.findIndex((each) => each.contains(active));
    const fixed = at < 0 ? null : wanted[at];
    for (const child of [...parent.children]) if (!wanted.includes(child)) child.remove();
    let next = fixed;
    for (const each of wanted.slice(0, at < 0 ? wanted.length : at).reverse()) {
      if (each.parentNode !== parent || each.nextSibling !== next) parent.insertBefore(each, next);
      next = each;
    }
    let previous = fixed;
    for (const each of at < 0 ? [] : wanted.slice(at + 1)) {
      if (previous.nextSibling !== each) previous.after(each);
      previous = each;
    }
  }

  /** Return what may not move: what is typed into, else pointed at, else the first in sight of a list that was scrolled. */
  function anchorOf() {
    const active = root.getRootNode().activeElement;
    if (active && list.contains(active)) return active.matches("textarea") ? active : [...list.children].find((each) => each.contains(active));
    const pointed = list.querySelector(":scope > :hover");
    if (pointed || !scroller.scrollTop) return pointed;
    const top = scroller.getBoundingClientRect().top;
    return [...list.children].find((each) => each.getBoundingClientRect().bottom > top);
  }

  /** Draw the list again around what may not move; what had the focus and is gone passes it on. */
  function redraw() {
    const active = root.getRootNode().activeElement;
    const part = active && [...list.children].find((each) => each.contains(active));
    keepingPlace(drawList);
    if (part && !list.contains(root.getRootNode().activeElement)) (part.isConnected ? part.querySelector("button") : scroller).focus({ preventScroll: true });
  }

  function keepingPlace(change) {
    const anchor = anchorOf();
    const top = anchor?.getBoundingClientRect().top;
    for (const pad of [above, below]) pad.style.height = anchor ? pad.style.height : "";
    change();
    if (!anchor?.isConnected) return;
    const moved = anchor.getBoundingClientRect().top - top;
    if (!moved) return;
    // Where the list is too short to be scrolled so far, it gets room until the person's hands are off.
    const to = scroller.scrollTop + moved;
    if (to < 0) above.style.height = `${above.offsetHeight - to}px`;
    const missing = to + scroller.clientHeight - (below.offsetTop + below.offsetHeight);
    if (missing > 0) below.style.height = `${below.offsetHeight + missing}px`;
    scroller.scrollTop = Math.max(0, to);
  }

  function drawList() {
    const parts = [];
    const targets = new Set(listing.groups.map((group) => group.target));
    for (const target of [...heads.keys()]) if (!targets.has(target)) heads.delete(target);
    for (const group of listing.groups) {
      parts.push(drawHead(group));
      for (const id of group.threads) {
        if (!drawn.has(id)) drawn.set(id, makeThread(id));
        drawn.get(id).show(threads.get(id));
        parts.push(drawn.get(id).element);
      }
    }
    const listed = new Set(listing.groups.flatMap((group) => group.threads));
    for (const [id, each] of drawn) {
      if (listed.has(id)) continue;
      if (each.holds()) keepBehind(each, parts);
      else {
        drawn.delete(id);
        threads.delete(id);
      }
    }
    arrange(list, parts);
    more.hidden = listing.shown >= listing.total;
    count.textContent = counted(listing.total, "remark", "remarks");
    if (!parts.length) list.replaceChildren(h("p", { class: "rp-empty" }, emptyText()));
  }

  const emptyText = () =>
    wanted.match || wanted.author || wanted.status !== "open" ? "No remark fits the filter." : "No open remarks. What you or an agent remarks on is listed here.";

  /** Keep a thread that is no longer listed where it stands: the person types in it. */
  function keepBehind(each, parts) {
    let before = each.element.previousElementSibling;
    while (before && !parts.includes(before)) before = before.previousElementSibling;
    parts.splice(before ? parts.indexOf(before) + 1 : 0, 0, each.element);
    each.lose();
  }

  function drawHead(group) {
    const known = heads.get(group.target) ?? makeHead(group.target);
    const facts = JSON.stringify([group, wanted]);
    if (known.facts === facts) return known.element;
    known.facts = facts;
    known.element.toggleAttribute("data-here", group.here);
    fill(
      known.body,
      h("h4", {}, group.label),
      group.drafts.length ? h("button", { "data-key": `submit ${group.target}`, onclick: shownIn(known.wrong, () => submit(group)) }, `Submit ${counted(group.drafts.length, "draft", "drafts")} as a review`) : null,
      h("button", { "data-key": `remark ${group.target}`, "aria-label": `Remark on ${group.label}`, onclick: () => remarkOn(group.target) }, "Remark"),
      ...group.reviews.map((review) =>
        h("span", { class: "rp-row" }, h("span", { class: "rp-faint" }, `Review ${review.id}: ${review.status}`), review.status === "submitted" ? h("button", { "data-key": `complete ${review.id}`, "aria-label": `Complete review ${review.id}`, onclick: shownIn(known.wrong, () => ask("complete", { review: review.id })) }, "Complete") : null),
      ),
      group.threads.length ? null : h("p", { class: "rp-empty" }, wanted.status === "open" && !wanted.author ? "No open remarks here." : "No remark here fits the filter."),
    );
    return known.element;
  }

  function makeHead(at) {
    const [body, wrong] = [h("div", { class: "rp-group" }), faultLine()];
    const known = { element: h("div", {}, body, wrong), body, wrong, facts: "" };
    heads.set(at, known);
    return known;
  }

  /** Submit the drafts that are drawn, and none that came since. */
  async function submit({ target, drafts }) {
    const sent = await ask("submit", { target, drafts });
    live.textContent = `${counted(sent.count, "remark", "remarks")} submitted as review ${sent.review}`;
  }

  function remarkOn(at) {
    aim(at);
    remark.area.focus();
  }

  // --- the filter

  let typing;
  function settle() {
    clearTimeout(typing);
    typing = setTimeout(() => setFilter({ match: match.value.trim() }), SETTLE_MS);
  }

  let filtering = false;

  /** Filter as chosen: while one filter is on its way, and may be repeated, the latest of the others waits. */
  const setFilter = guarded(root, async (change) => {
    wanted = { ...wanted, ...change };
    scroller.scrollTop = 0;
    if (filtering) return;
    filtering = true;
    try {
      let sent;
      do await read("filter", (sent = wanted));
      while (sent !== wanted);
    } finally {
      filtering = false;
    }
    redraw();
  });

  /** Take over a filter that was set at another place that shows this panel. */
  function adopt(filter) {
    wanted = filter;
    [status.value, author.value] = [filter.status, filter.author];
    if (root.getRootNode().activeElement !== match) match.value = filter.match;
  }

  // --- what the kernel sends

  /** Report to a screen reader what others wrote and did. */
  function report(thread) {
    const before = threads.get(thread.id);
    const latest = thread.replies.at(-1);
    const isNewReply = before && latest && latest.id !== before.replies.at(-1)?.id && latest.author === "agent";
    if (isNewReply) live.textContent = `${latest.principal} replied on ${thread.target}`;
    else if (before && before.status !== thread.status) live.textContent = `${thread.target}: ${thread.status}`;
  }

  // Before its state came, a page does not know what a change is a change of.
  let isBegun = false;

  listen("filter", (given) => isBegun && !filtering && adopt(given));
  listen("focus", (given) => {
    focus = given;
    followFocus();
  });
  listen("threads", (given) => {
    for (const thread of given) {
      report(thread);
      threads.set(thread.id, thread);
    }
  });
  listen("listing", (given) => {
    if (!isBegun) return;
    listing = given;
    redraw();
  });
  listen("live", showLive);
  listen("fault", (message) => showFault(root, new Error(message)));

  function showLive(isLive) {
    set(still, ...(isLive ? [] : [h("span", {}, "Changes are no longer followed."), h("button", { "data-key": "again", onclick: () => begin() }, "Follow again")]));
  }

  const begin = guarded(root, async () => {
    try {
      const state = await read("state", { page });
      isBegun = true;
      focus = state.focus;
      adopt(state.filter);
      for (const thread of state.threads) threads.set(thread.id, thread);
      listing = state.listing;
      showLive(state.live);
      followFocus();
      redraw();
    } finally {
      setBegun();
    }
  });

  const clock = setInterval(() => {
    for (const time of root.querySelectorAll("time")) time.textContent = `${ago(new Date(time.dateTime))} · ${time.dataset.absolute}`;
  }, CLOCK_MS);
  signal.addEventListener("abort", () => {
    clearInterval(clock);
    if (!root.hasAttribute("data-gone")) ask("leave", { page });
  });
  bindKeys(root, { "/": () => match.focus(), c: () => remark.area.focus() });
  await begin();
}

export default panel("review", draw);
