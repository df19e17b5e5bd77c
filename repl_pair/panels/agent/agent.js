/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ kind: string, title: string, text: string, handle: string, principal: string, op: string, access:
 *   string[], asked_s: number, expires_in_s: number, mark: string }} ApprovalRow
 * @typedef {{ handle: string, principal: string, op: string, covers: string }} GrantRow
 * @typedef {{ clients: string[], refused: boolean, pending: ApprovalRow[], grants: GrantRow[], paused: boolean,
 *   loses: string }} Overview
 * @typedef {{ clients: string[], refused: boolean, pending: ApprovalRow[], grants: GrantRow[], paused: boolean,
 *   loses: string, calls: Record<string, any>[] }} State
 * @typedef {{ detached: boolean, loses: string }} Detached
 * @typedef {{ calls?: Record<string, any>[], overview?: Overview }} AgentPatch
 * @typedef {{ state: ({}) => State, code: ({n: number}) => string | null, answer: ({handle: string, decision:
 *   "once" | "session" | "deny", mark: string, reason?: string}) => string, outcome: ({handle: string}) => string,
 *   withdraw_grant: ({handle: string}) => boolean, pause: ({paused: boolean}) => null, detach: ({agreed?: string})
 *   => Detached }} Asks
 */

const KEPT_CALLS = 1000;
const UNREPORTED = new Set(["ok", "running", "denied", "withdrawn", "expired"]);
/** How long a call stands still and in sight before it can be decided: longer than a click that was meant for another. */
const SETTLE_MS = 1000;
const TICK_MS = 100;
/** How many rows of calls that wait no longer are kept at most, wherever the pointer is. */
const KEPT_CLOSED = 50;
const UNSEEN = "Open it first";
const UNREAD = "Open it, and read what it would do to its end first";

async function draw({ root, ask, listen, signal }) {
  const calls = new Map();
  let overview = { clients: [], pending: [], grants: [], paused: false, refused: false, loses: "" };
  let open = false;
  let wanted = "";
  const status = h("div", { class: "rp-row rp-agent-status", role: "group", "aria-label": "Who is attached", tabindex: "-1" });
  const queue = h("div", { class: "rp-agent-queue", role: "region", "aria-label": "Waiting for your decision" });
  const log = h("div", { class: "rp-agent-log", role: "region", "aria-label": "What agents called", hidden: true });
  const live = h("div", { class: "rp-hidden", role: "status", "aria-live": "polite" });
  const failed = h("div", { role: "region", "aria-label": "Approved calls that failed" });

  const act = (type, payload, done) =>
    guarded(root, async () => {
      await ask(type, payload);
      if (done) live.textContent = done;
    });

  // --- where the focus is

  const focused = () => root.getRootNode().activeElement;
  const isByKey = (event) => event.detail === 0;

  /** Focus the next call that waits behind an element, and open it; where none waits, who is attached. */
  function focusNext(element = status) {
    const waiting = [...queued.values()].filter((row) => !row.isClosed());
    const isBehind = (row) => element.compareDocumentPosition(row.element) & Node.DOCUMENT_POSITION_FOLLOWING;
    const next = waiting.find(isBehind) ?? waiting[0];
    if (next) unfold(next);
    (next?.title ?? status).focus({ preventScroll: queue.matches(":hover") });
  }

  // --- who is attached

  function counts() {
    const every = [...calls.values()];
    return {
      calls: every.length,
      redacted: every.reduce((sum, call) => sum + call.redacted, 0),
      refused: every.filter((call) => !["ok", "running"].includes(call.state)).length,
    };
  }

  function whoIsThere() {
    if (overview.refused) return "Detached: no agent gets in before %pair attach.";
    if (!overview.clients.length) return "No agent is attached: %pair attach prints the line to give to one.";
    const names = [...new Set(overview.clients)].join(", ");
    return `${overview.clients.length} attached: ${names}`;
  }

  function drawStatus() {
    const count = counts();
    fill(
      status,
      h("span", { class: "rp-badge", "data-some": count.calls > 0, "aria-label": `${count.calls} calls` }, String(count.calls)),
      h("span", {}, whoIsThere()),
      overview.paused ? h("strong", {}, "Agents are paused.") : null,
      h("span", { class: "rp-faint" }, `${count.redacted} redacted, ${count.refused} refused`),
      overview.grants.map((grant) =>
        h(
          "button",
          {
            "data-key": `grant-${grant.handle}`,
            title: `${grant.principal} may call ${grant.covers} without asking. Take that back.`,
            onclick: withdrawGrant(grant),
          },
          `${grant.covers} granted`,
        ),
      ),
      h("span", { class: "rp-agent-space" }),
      h("button", { "data-key": "log", "aria-expanded": String(open), onclick: toggleLog }, "Calls"),
      h(
        "button",
        {
          "data-key": "pause",
          onclick: act("pause", { paused: !overview.paused }, overview.paused ? "Agents go on" : "Agents are paused"),
        },
        overview.paused ? "Resume" : "Pause",
      ),
      h("button", { "data-key": "detach", disabled: overview.refused, onclick: detach }, "Detach"),
    );
  }

  const withdrawGrant = (grant) => async (event) => {
    await act("withdraw_grant", { handle: grant.handle }, `${grant.covers} asks again`)();
    if (isByKey(event) && status.contains(focused())) focusNext();
  };

  // --- the question before a detach

  const loss = h("span", { id: `rp-loss-${Math.random().toString(36).slice(2)}` });
  const keep = h("button", { onclick: () => leaveDetach() }, "Keep");
  let losing = "";
  const anyway = guarded(root, async () => {
    const { detached, loses } = await ask("detach", { agreed: losing });
    if (detached) leaveDetach(true);
    else drawLoss(loses);
  });
  const sure = h(
    "div",
    { class: "rp-row rp-agent-sure", role: "alertdialog", "aria-label": "Detach", "aria-describedby": loss.id, hidden: true },
    loss,
    h("span", {}, h("button", { onclick: anyway }, "Detach anyway"), " ", keep),
  );
  sure.addEventListener("keydown", (event) => event.key === "Escape" && leaveDetach());
  root.append(status, sure, failed, queue, log, live);

  const detach = guarded(root, async () => {
    const { loses } = await ask("detach");
    if (!loses) return void (status.contains(focused()) && status.focus({ preventScroll: true }));
    drawLoss(loses);
    sure.hidden = false;
    keep.focus({ preventScroll: true });
  });

  function drawLoss(loses) {
    losing = loses;
    loss.textContent = loses ? `With a detach ${loses}.` : "Nothing of yours ends with a detach any more.";
  }

  function leaveDetach(isDetached = overview.refused) {
    const hadFocus = sure.contains(focused());
    sure.hidden = true;
    const next = isDetached ? status : status.querySelector('[data-key="detach"]');
    if (hadFocus) next.focus({ preventScroll: true });
  }

  /** Show an approved call that failed until the person dismisses it: they heard of it only when it was asked for. */
  function reportFailures(given) {
    for (const call of given) {
      if (!call.approval || UNREPORTED.has(call.state) || failed.querySelector(`[data-call="${call.n}"]`)) continue;
      const words = `You approved ${call.op}(${call.args}) of ${call.principal}, and it failed: ${call.state}: ${call.reason}`;
      const dismiss = (event) => {
        event.target.parentElement.remove();
        if (isByKey(event)) focusNext();
      };
      failed.append(
        h("div", { class: "rp-fault", role: "alert", "data-call": String(call.n) }, h("span", {}, words), h("button", { "aria-label": "Dismiss", onclick: dismiss }, "×")),
      );
    }
  }

  // --- what waits for the person

  function line(text) {
    const kind = text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : null;
    return h("span", { class: "rp-line", "data-kind": kind }, `${text}\n`);
  }

  const queued = new Map();

  /**
   * Make the row of a call. Its buttons work once it has stood still with its text in sight for a while:
   * an agent that swaps calls, or moves them, under a pointer gets no click that was meant for another one.
   */
  function makeRow({ handle }) {
    let [asked, expires_at, place, since] = [{}, 0, "", 0];
    let [isSeen, isRead, isSent, isClosed] = [false, false, false, false];
    let pressed = null;
    const reason = h("input", { "aria-label": "Why not, for the agent to read", placeholder: "Reason, for the agent to read" });
    const text = h("pre", { tabindex: "0", "aria-label": "What it would do" });
    const faint = h("span", { class: "rp-faint rp-agent-space" });
    // Not `disabled`, which would take the focus from a button that waits for a moment only.
    const button = (decision, label) => h("button", { "aria-disabled": "true", onpointerdown: press, onclick: decide(decision) }, label);
    const [once, session, deny] = [button("once", "Approve once"), button("session", "Approve for this session"), button("deny", "Deny")];
    const title = h("button", { class: "rp-asked-title", onclick: () => unfold(isOpen() ? null : row) });
    const element = h(
      "article",
      { class: "rp-asked", "data-handle": handle },
      h("div", { class: "rp-row" }, title, faint, once, session, deny),
      h("div", { class: "rp-asked-text" }, text, reason),
    );

    const isOpen = () => element.hasAttribute("data-open");

    function setOpen(open) {
      element.toggleAttribute("data-open", open);
      title.setAttribute("aria-expanded", String(open));
    }

    function show(given) {
      const isOther = given.mark !== asked.mark;
      asked = given;
      expires_at = Date.now() + given.expires_in_s * 1000;
      if (!isOther) return;
      [isSeen, isRead, place] = [false, false, ""];
      title.replaceChildren(h("strong", {}, given.principal), ` asks to ${given.title}`);
      text.replaceChildren(...(given.kind === "diff" ? given.text.split("\n").map(line) : [given.text]));
      element.setAttribute("aria-label", given.title);
    }

    /** Note whether it stands where it stood, and what of it is in sight; then only its buttons work. */
    function look() {
      const now = performance.now();
      const seen = text.getBoundingClientRect();
      const isTopInSight = isOpen() && isInSight(text, seen.top + 3);
      const isEndInSight = isOpen() && isInSight(text, seen.bottom - 3);
      const [first, last] = [once, deny].map((each) => each.getBoundingClientRect());
      const before = place;
      place = [first.left, first.top, last.left, last.top].map(Math.round).join();
      if (place !== before || !isInSight(deny, last.top + last.height / 2) || !(isSeen || isTopInSight || isEndInSight)) since = now;
      const isSettled = now - since >= SETTLE_MS && !isSent && !isClosed;
      isSeen ||= isSettled;
      isRead ||= isEndInSight && text.scrollTop + text.clientHeight >= text.scrollHeight - 2;
      allow(once, isSettled && isRead, isRead ? "" : UNREAD);
      allow(session, isSettled && isRead, isRead ? `No more asking for ${asked.op} by this agent` : UNREAD);
      allow(deny, isSettled, isSeen ? "" : UNSEEN);
      if (!isClosed) write(faint, `${asked.access.join(", ")} · ${handle} · ${Math.max(1, Math.ceil((expires_at - Date.now()) / 60_000))} min left`);
    }

    /** What a button of it stands for now; null where it does not work yet: it may have moved since the last look. */
    function markFor(button) {
      look();
      return button.getAttribute("aria-disabled") === "false" ? asked.mark : null;
    }

    /** The press counts, not its release: of a slow one it may come when another call has stood there for a while. */
    function press(event) {
      pressed = markFor(event.currentTarget);
    }

    function decide(decision) {
      return guarded(root, async (event) => {
        const isPassedOn = isByKey(event);
        const mark = isPassedOn ? markFor(event.currentTarget) : pressed;
        pressed = null;
        if (mark === null || isSent || isClosed) return;
        isSent = true;
        look();
        try {
          await ask("answer", { handle, decision, mark, reason: reason.value });
        } catch (error) {
          isSent = false;
          drawQueue();
          throw error;
        }
        close(decision === "deny" ? "denied" : "approved");
        if (isPassedOn && element.contains(focused())) focusNext(element);
      });
    }

    function close(outcome) {
      isClosed = reason.readOnly = true;
      element.dataset.ended = outcome;
      write(faint, outcome);
      live.textContent = `${asked.title}: ${outcome}`;
      look();
    }

    /** It was answered elsewhere, withdrawn, or expired. */
    const leave = guarded(root, async () => {
      if (isSent || isClosed) return;
      isSent = true;
      look();
      close(await ask("outcome", { handle }).catch(() => "no longer waits"));
    });

    const row = { element, title, isOpen, setOpen, show, look, leave, isClosed: () => isClosed };
    return row;
  }

  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  function allow(button, isAllowed, title) {
    for (const [name, value] of [["aria-disabled", String(!isAllowed)], ["title", title]]) {
      if (button.getAttribute(name) !== value) button.setAttribute(name, value);
    }
  }

  /** Return whether a part is seen at a height: it is not scrolled away, covered, or on a page that is not shown. */
  function isInSight(part, y) {
    const at = part.getBoundingClientRect();
    return !document.hidden && part.contains(root.getRootNode().elementFromPoint?.(at.left + at.width / 2, y) ?? null);
  }

  /** Show what one of the calls would do, and of the others their titles and buttons. */
  function unfold(row) {
    for (const each of queued.values()) each.setOpen(each === row);
  }

  function drawQueue() {
    const handles = new Set(overview.pending.map((asked) => asked.handle));
    for (const [handle, row] of queued) if (!handles.has(handle)) row.leave();
    for (const asked of overview.pending) {
      const isNew = !queued.has(asked.handle);
      if (isNew) queued.set(asked.handle, makeRow(asked));
      const row = queued.get(asked.handle);
      row.show(asked);
      if (!isNew) continue;
      queue.append(row.element);
      row.setOpen([...queued.values()].every((each) => each === row || each.isClosed()));
      live.textContent = `${asked.principal} asks to ${asked.title}`;
    }
    queue.hidden = !queued.size;
  }

  /** Take out what is answered or withdrawn, once the person neither points at the queue nor has the focus in it. */
  function sweep() {
    const closed = [...queued].filter(([, row]) => row.isClosed());
    const isHeld = closed.length < KEPT_CLOSED && (queue.matches(":hover") || queue.querySelector(":focus-visible"));
    if (!closed.length || isHeld) return;
    const hadFocus = closed.some(([, row]) => row.element.contains(focused()));
    const wasOpen = closed.some(([, row]) => row.isOpen());
    for (const [handle, row] of closed) {
      row.element.remove();
      queued.delete(handle);
    }
    queue.hidden = !queued.size;
    const [first] = queued.values();
    if (hadFocus) focusNext();
    else if (wasOpen && first && ![...queued.values()].some((row) => row.isOpen())) unfold(first);
  }

  const clock = setInterval(() => {
    for (const row of queued.values()) if (!row.isClosed()) row.look();
    sweep();
  }, TICK_MS);
  signal.addEventListener("abort", () => clearInterval(clock));

  // --- what they called

  function toggleLog() {
    open = !open;
    log.toggleAttribute("hidden", !open);
    drawStatus();
    if (open) drawLog();
  }

  const filter = h("input", {
    type: "search",
    "aria-label": "Filter calls",
    placeholder: "Filter by op, args or outcome",
    oninput: () => {
      wanted = filter.value.toLowerCase();
      drawLog();
    },
  });
  const rows = h("tbody");
  log.append(
    filter,
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ["time", "agent", "call", "outcome", "ms", "redacted"].map((name) => h("th", { scope: "col" }, name)))),
      rows,
    ),
  );

  /** The code that calls sent, where the person has opened it, by number. */
  const codes = new Map();
  const toggleCode = (n) =>
    guarded(root, async () => {
      if (!codes.delete(n)) codes.set(n, (await ask("code", { n })) ?? "It is no longer kept.");
      drawLog();
    });

  function drawCode(call) {
    const text = codes.get(call.n);
    if (text === undefined) return [];
    return [h("tr", {}, h("td", { colspan: "6" }, h("pre", { tabindex: "0", "aria-label": `Code of call ${call.n}` }, text)))];
  }

  function drawRow(call) {
    const outcome = call.state === "ok" ? call.verdict || "ok" : call.state;
    const verdict = call.verdict === "ok" ? "pass" : call.verdict;
    const code = { "data-key": `code-${call.n}`, "aria-expanded": String(codes.has(call.n)), onclick: toggleCode(call.n) };
    return h(
      "tr",
      { "data-status": call.state === "running" ? "running" : verdict || (call.state === "ok" ? "pass" : "cannot_run") },
      h("td", {}, new Date(call.at * 1000).toLocaleTimeString()),
      h("td", {}, call.principal),
      h("td", {}, h("code", {}, `${call.op}(${call.args})`), call.has_code ? [" ", h("button", code, "Code")] : null),
      h("td", { title: call.reason }, call.names ? `${outcome}: ${call.names}` : outcome),
      h("td", {}, call.state === "running" ? "" : call.elapsed_ms.toFixed(1)),
      h("td", {}, call.redacted ? String(call.redacted) : ""),
    );
  }

  function drawLog() {
    if (!open) return;
    const matching = [...calls.values()].filter((call) =>
      `${call.op} ${call.args} ${call.state} ${call.verdict} ${call.names} ${call.principal}`.toLowerCase().includes(wanted),
    );
    fill(rows, matching.slice(-100).reverse().flatMap((call) => [drawRow(call), ...drawCode(call)]));
    if (!matching.length) fill(rows, h("tr", {}, h("td", { colspan: "6", class: "rp-empty" }, "No call.")));
  }

  // --- what comes from the kernel

  let drawing = false;
  function drawSoon() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      drawStatus();
      drawLog();
    });
  }

  function takeCalls(given) {
    for (const call of given) calls.set(call.n, call);
    for (const n of [...calls.keys()].sort((a, b) => a - b).slice(0, Math.max(0, calls.size - KEPT_CALLS))) calls.delete(n);
    drawSoon();
  }

  function takeOverview(given) {
    overview = given;
    drawStatus();
    drawQueue();
    drawLoss(given.loses);
    if (given.refused) leaveDetach();
  }

  listen("calls", (given) => {
    reportFailures(given);
    takeCalls(given);
  });
  listen("overview", takeOverview);
  drawStatus();
  drawQueue();
  const state = await ask("state");
  takeOverview(state);
  takeCalls(state.calls);
}

export default panel("agent", draw);
