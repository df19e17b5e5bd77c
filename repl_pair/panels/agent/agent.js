/**
 * The messages between the view and this script, of the same shapes as in messages.py.
 *
 * @typedef {{ kind: string, title: string, text: string, handle: string, principal: string, op: string, access:
 *   string[], asked_s: number, expires_in_s: number }} ApprovalRow
 * @typedef {{ handle: string, principal: string, op: string, covers: string }} GrantRow
 * @typedef {{ clients: string[], refused: boolean, pending: ApprovalRow[], grants: GrantRow[], paused: boolean }}
 *   Overview
 * @typedef {{ clients: string[], refused: boolean, pending: ApprovalRow[], grants: GrantRow[], paused: boolean,
 *   calls: Record<string, any>[] }} State
 * @typedef {{ detached: boolean, loses: string }} Detached
 * @typedef {{ calls?: Record<string, any>[], overview?: Overview }} AgentPatch
 * @typedef {{ state: ({}) => State, code: ({n: number}) => string | null, answer: ({handle: string, decision:
 *   "once" | "session" | "deny", reason?: string}) => string, withdraw_grant: ({handle: string}) => boolean, pause:
 *   ({paused: boolean}) => null, detach: ({sure?: boolean}) => Detached }} Asks
 */

const KEPT_CALLS = 1000;
const UNTOLD = new Set(["ok", "running", "denied", "withdrawn", "expired"]);

async function draw({ root, ask, listen }) {
  const calls = new Map();
  let overview = { clients: [], pending: [], grants: [], paused: false, refused: false };
  let open = false;
  let wanted = "";
  const status = h("div", { class: "rp-row rp-agent-status" });
  const queue = h("div", { class: "rp-agent-queue", role: "region", "aria-label": "Waiting for your decision" });
  const log = h("div", { class: "rp-agent-log", role: "region", "aria-label": "What agents called", hidden: true });
  const live = h("div", { class: "rp-hidden", role: "status", "aria-live": "polite" });
  const sure = h("div", { class: "rp-row rp-agent-sure", role: "alertdialog", "aria-label": "Detach", hidden: true });
  const failed = h("div", { role: "region", "aria-label": "Approved calls that failed" });
  root.append(status, sure, failed, queue, log, live);

  const act = (type, payload, done) =>
    guarded(root, async () => {
      await ask(type, payload);
      if (done) live.textContent = done;
    });

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
      h("span", { class: "rp-faint" }, `${count.redacted} redacted, ${count.refused} refused`),
      overview.grants.map((grant) =>
        h(
          "button",
          {
            "data-key": `grant-${grant.handle}`,
            title: `${grant.principal} may call ${grant.covers} without asking. Take that back.`,
            onclick: act("withdraw_grant", { handle: grant.handle }, `${grant.covers} asks again`),
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
          "aria-pressed": String(overview.paused),
          onclick: act("pause", { paused: !overview.paused }, overview.paused ? "Agents go on" : "Agents are paused"),
        },
        overview.paused ? "Resume" : "Pause",
      ),
      h("button", { "data-key": "detach", disabled: overview.refused, onclick: detach }, "Detach"),
    );
  }

  const detach = guarded(root, async () => {
    const { loses } = await ask("detach");
    sure.toggleAttribute("hidden", !loses);
    const leave = () => sure.setAttribute("hidden", "");
    const anyway = guarded(root, async () => {
      leave();
      await ask("detach", { sure: true });
    });
    fill(
      sure,
      h("span", {}, `With a detach ${loses}.`),
      h("span", {}, h("button", { onclick: anyway }, "Detach anyway"), " ", h("button", { onclick: leave }, "Keep")),
    );
  });

  /** Show an approved call that failed until the person dismisses it: they heard of it only when it was asked for. */
  function tellFailures(given) {
    for (const call of given) {
      if (!call.approval || UNTOLD.has(call.state) || failed.querySelector(`[data-call="${call.n}"]`)) continue;
      const words = `You approved ${call.op}(${call.args}) of ${call.principal}, and it failed: ${call.state}: ${call.reason}`;
      const dismiss = (event) => event.target.parentElement.remove();
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

  function drawCall(asked) {
    const reason = h("input", {
      "data-key": `reason-${asked.handle}`,
      "aria-label": "Why not, for the agent to read",
      placeholder: "Reason, for the agent to read",
    });
    const answer = (decision) => () =>
      act("answer", { handle: asked.handle, decision, reason: reason.value }, `${asked.title}: ${decision === "deny" ? "denied" : "approved"}`)();
    const text = h("pre", { tabindex: "0", "aria-label": "What it would do" });
    const unread = { disabled: true, title: "Open it, and read what it would do to its end first" };
    const once = h("button", { "data-key": `once-${asked.handle}`, ...unread, onclick: answer("once") }, "Approve once");
    const session = h("button", { "data-key": `session-${asked.handle}`, ...unread, onclick: answer("session") }, "Approve for this session");
    const sized = new ResizeObserver(read);
    function read() {
      // Before it is laid out, it has no height.
      if (!text.clientHeight || text.scrollTop + text.clientHeight < text.scrollHeight - 2) return;
      for (const button of [once, session]) button.disabled = false;
      once.removeAttribute("title");
      session.title = `No more asking for ${asked.op} by this agent`;
      sized.disconnect();
    }
    text.addEventListener("scroll", read);
    sized.observe(text);
    queueMicrotask(read); // it is in the page by then; an observer waits for the next frame
    const body = asked.kind === "diff" ? asked.text.split("\n").map(line) : [asked.text];
    text.append(...body);
    const shown = h("div", { class: "rp-asked-text" }, text, reason);
    const faint = `${asked.access.join(", ")} · ${asked.handle} · ${Math.ceil(asked.expires_in_s / 60)} min left`;
    const toggle = h("button", { class: "rp-asked-title", onclick: () => unfold(article.dataset.open === undefined && asked.handle) }, h("strong", {}, asked.principal), ` asks to ${asked.title}`);
    const article = h(
      "article",
      { class: "rp-asked", "data-handle": asked.handle, "aria-label": asked.title },
      h(
        "div",
        { class: "rp-row" },
        toggle,
        h("span", { class: "rp-faint rp-agent-space" }, faint),
        once,
        session,
        h("button", { "data-key": `deny-${asked.handle}`, onclick: answer("deny") }, "Deny"),
      ),
      shown,
    );
    return article;
  }

  /** Show what one of the calls would do, and of the others their titles and buttons. */
  function unfold(handle) {
    for (const each of queue.children) {
      const isOpen = each.dataset.handle === handle;
      each.toggleAttribute("data-open", isOpen);
      each.querySelector(".rp-asked-title").setAttribute("aria-expanded", String(isOpen));
    }
  }

  function drawQueue() {
    const known = new Map([...queue.children].map((each) => [each.dataset.handle, each]));
    const wantedHandles = new Set(overview.pending.map((asked) => asked.handle));
    for (const [handle, element] of known) if (!wantedHandles.has(handle)) element.remove();
    for (const asked of overview.pending) {
      if (known.has(asked.handle)) continue;
      queue.append(drawCall(asked));
      unfold(queue.querySelector("[data-open]")?.dataset.handle ?? (queue.children.length === 1 && asked.handle));
      live.textContent = `${asked.principal} asks to ${asked.title}`;
    }
    queue.toggleAttribute("hidden", overview.pending.length === 0);
  }

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
  }

  listen("calls", (given) => {
    tellFailures(given);
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
