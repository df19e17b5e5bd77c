"""The agents' panel: what the person sees of agents, and the word that they give."""

import asyncio
import re

import pytest
from front_ends.bounds import BOUND_S
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

SHOP = """
import repl_pair

@repl_pair.story("shop.sum", thread_safe=True)
def add(a: int = 1, token: str = "") -> int:
    return a + 1

repl_pair.variant("shop.sum/Two", args={"a": 1})
"""
SHOW = "repl_pair.show(panel='agent')"
THREE = {"args": {"a": 2}, "play": [["result_equals", 3]]}
IDS = "print(*repl_pair.registry.ids('variant'))"
WAITING = "from repl_pair.runtime.clients.approvals import QUEUE; print(len(QUEUE.pending()))"
LATER = "(() => { const now = Date.now; Date.now = () => now() + 60_000; })()"
EXPIRED = """
import time
from repl_pair.runtime.clients.approvals import QUEUE
QUEUE._now = lambda: time.time() + 110
"""


async def open_panel(lab):
    notebook = await lab.notebook(SHOP, SHOW)
    await notebook.run_all()
    await expect(panel(notebook)).to_contain_text("No agent is attached")
    return notebook


def panel(notebook):
    return notebook.page.locator(".rp-agent").last


def attached(notebook):
    return panel(notebook).get_by_role("group", name="Who is attached")


def rows(notebook):
    return panel(notebook).get_by_role("article")


def asked(notebook):
    """The calls that wait, without those that are answered or withdrawn and not yet gone."""
    return panel(notebook).locator("article:not([data-ended])")


def button(notebook, name):
    return panel(notebook).get_by_role("button", name=name, exact=True)


def decision(row, name):
    return row.get_by_role("button", name=name, exact=True)


def title(row):
    return row.get_by_role("button", name="asks to")


async def decide(row, name):
    # A click that has to wait scrolls the page, which moves the button.
    await row.scroll_into_view_if_needed()
    await expect(decision(row, name)).to_be_enabled()
    await decision(row, name).click()


async def count_waiting(notebook):
    return int(await notebook.run_code(WAITING))


def register(agent, name="Three"):
    return agent.ask("register_variant", variant_id=f"shop.sum/{name}", body=THREE)


async def test_who_is_attached_and_what_they_called_is_seen_as_it_happens(lab, attach):
    notebook = await open_panel(lab)
    async with attach(notebook) as agent:
        await agent.ask("list_variants")
        await expect(panel(notebook)).to_contain_text("1 attached: agent")
        await agent.ask("run_variant", variant_id="shop.sum/None")
        await expect(panel(notebook)).to_contain_text("1 refused")
        await button(notebook, "Calls").click()
        table = panel(notebook).get_by_role("table")
        await expect(table).to_contain_text("list_variants")
        await expect(table).to_contain_text('run_variant(variant_id="shop.sum/None")')
        await panel(notebook).get_by_role("searchbox", name="Filter calls").fill("None")
        await expect(table).not_to_contain_text("list_variants")
    await expect(panel(notebook)).to_contain_text("No agent is attached")


async def test_a_write_waits_until_it_is_approved_and_then_is_done_once(lab, attach):
    notebook = await open_panel(lab)
    async with attach(notebook, "--ask", "write") as agent:
        async with asyncio.TaskGroup() as group:
            reply = group.create_task(register(agent))
            await expect(asked(notebook)).to_contain_text("register variant shop.sum/Three")
            await expect(asked(notebook).locator("[data-kind=added]").first).to_be_visible()
            assert await notebook.run_code(IDS) == "shop.sum/Two\n"
            await decide(asked(notebook), "Approve once")
        assert reply.result()["ok"], reply.result()
        assert await notebook.run_code(IDS) == "shop.sum/Three shop.sum/Two\n"
        await expect(asked(notebook)).to_have_count(0)
        async with asyncio.TaskGroup() as group:
            group.create_task(register(agent, "Four"))
            await expect(asked(notebook)).to_contain_text("shop.sum/Four")
            await decide(asked(notebook), "Deny")


async def test_a_call_that_waits_is_counted_in_the_bar_while_the_panel_is_hidden(lab, attach):
    notebook = await lab.notebook(SHOP, "repl_pair.show()")
    await notebook.run_all()
    bar = notebook.page.get_by_role("group", name="Panels")
    await bar.get_by_role("button", name="Agents", exact=True).click()
    await expect(panel(notebook)).to_have_count(0)
    async with attach(notebook, "--ask", "write") as agent, asyncio.TaskGroup() as group:
        group.create_task(register(agent))
        await bar.get_by_role("button", name="Agents (1)", exact=True).click()
        await decide(asked(notebook), "Deny")
        await expect(bar.get_by_role("button", name="Agents", exact=True)).to_be_visible()


WATCH = """
from repl_pair.panels.explorer.watches import set_watch, watched_keys
set_watch("shop.sum", True)
while not watched_keys():
    pass
"""
OUT_OF_SIGHT = """slot => {
  const seen = slot.getBoundingClientRect();
  const parts = slot.querySelectorAll(".rp-asked button, .rp-asked[data-open] pre");
  return [...parts].filter((each) => {
    const at = each.getBoundingClientRect();
    return !at.height || at.top < seen.top || at.bottom > seen.bottom;
  }).map((each) => each.textContent);
}"""


async def test_four_calls_are_seen_with_their_buttons_and_what_becomes_of_each(lab, attach):
    notebook = await lab.notebook(SHOP, "repl_pair.show()")
    await notebook.run_all()
    await expect(panel(notebook)).to_contain_text("No agent is attached")
    dialog = panel(notebook).get_by_role("alertdialog", name="Detach")
    failed = panel(notebook).get_by_role("alert")
    async with attach(notebook, "--ask", "write", "--ask-wait", "0.2") as agent:
        assert (await register(agent, "Two"))["error"]["code"] == "bad_id"
        for name in ("Three", "Four", "Five", "Six"):
            await register(agent, name)
        await expect(asked(notebook)).to_have_count(4)
        text = asked(notebook).first.get_by_label("What it would do")
        await text.press("End")
        await expect(decision(asked(notebook), "Approve once").first).to_be_enabled()
        assert await notebook.page.locator(".rp-slot-top").evaluate(OUT_OF_SIGHT) == []
        await title(asked(notebook).last).click()
        await expect(text).to_be_hidden()
        assert await notebook.page.locator(".rp-slot-top").evaluate(OUT_OF_SIGHT) == []
        await notebook.run_code('repl_pair.variant("shop.sum/Three", args={"a": 3})')
        await decide(asked(notebook).first, "Approve once")
        await expect(failed).to_contain_text("what it would do changed since it was shown")
        await failed.get_by_role("button", name="Dismiss").click()
        assert await count_waiting(notebook) == 4
        await title(asked(notebook).first).click()
        await expect(text).to_contain_text('-    "a": 3')
        await text.press("End")
        await decide(asked(notebook).first, "Approve once")
        await expect(failed).to_contain_text("it failed: bad_id")
        await failed.get_by_role("button", name="Dismiss").click()
        await expect(failed).to_have_count(0)
        await button(notebook, "Pause").hover()
        await expect(rows(notebook)).to_have_count(3)
        await decide(rows(notebook).first, "Deny")
        await expect(asked(notebook)).to_have_count(2)
        await notebook.run_code(WATCH)
        await button(notebook, "Detach").click()
        await expect(dialog).to_contain_text(
            "calls that wait for you are withdrawn: 2; your watches end: shop.sum"
        )
        await button(notebook, "Keep").click()
        assert (await agent.ask("list_variants"))["ok"]
        await button(notebook, "Detach").click()
        await button(notebook, "Detach anyway").click()
        await expect(panel(notebook)).to_contain_text("no agent gets in before %pair attach")
    await button(notebook, "Calls").click()
    called = (
        panel(notebook).get_by_role("table").get_by_role("row").filter(has_text="register_variant")
    )
    outcomes = ["withdrawn", "withdrawn", "denied", "bad_id", "bad_id"]
    await expect(called.locator("td:nth-child(4)")).to_have_text(outcomes)
    assert await notebook.run_code(IDS) == "shop.sum/Three shop.sum/Two\n"


async def test_a_long_call_is_approved_when_its_end_was_read(lab, attach):
    hidden = "\u2028\x85\u3164\u2800\u115f\u034f"
    body = THREE | {"doc": f"begins{hidden} {'and goes on ' * 2_000} ends here"}
    notebook = await open_panel(lab)
    async with attach(notebook, "--ask", "write") as agent, asyncio.TaskGroup() as group:
        group.create_task(agent.ask("register_variant", variant_id="shop.sum/Long", body=body))
        marks = "".join(f"<U+{ord(mark):04X}>" for mark in hidden)
        text = asked(notebook).get_by_label("What it would do")
        await expect(text).to_contain_text(f"begins{marks}")
        await expect(text).to_contain_text("ends here")
        for name in ("Approve once", "Approve for this session"):
            await expect(decision(asked(notebook), name)).to_be_disabled()
        await text.press("End")
        await decide(asked(notebook), "Approve once")
    assert await notebook.run_code(IDS) == "shop.sum/Long shop.sum/Two\n"


CODE = """total = 0
for n in range(3):
    total += n  # \u202e\u200b
total"""


async def test_code_is_seen_before_it_runs_and_read_when_it_has_run(lab, attach, axe):
    notebook = await open_panel(lab)
    seen = CODE.replace("\u202e\u200b", "<U+202E><U+200B>")
    async with attach(notebook, "--ask", "eval") as agent:
        async with asyncio.TaskGroup() as group:
            reply = group.create_task(agent.ask("eval_code", code=CODE, scope="user"))
            await expect(asked(notebook)).to_contain_text(
                "agent asks to run code in your namespace"
            )
            text = asked(notebook).get_by_label("What it would do")
            assert await text.text_content() == seen
            assert await notebook.run_code("print('total' in globals())") == "False\n"
            await decide(asked(notebook), "Approve once")
        assert reply.result()["result"]["value"] == 3
        async with asyncio.TaskGroup() as group:
            group.create_task(agent.ask("eval_code", code="1 / 0"))
            await expect(asked(notebook)).to_have_text(re.compile("1 / 0"))
            await decide(asked(notebook), "Deny")
    assert await notebook.run_code("print(total)") == "3\n"
    await button(notebook, "Calls").click()
    rows = panel(notebook).get_by_role("row")
    await expect(rows.filter(has_text="ok: added n, total")).to_have_count(1)
    await expect(rows.filter(has_text="denied")).to_have_count(1)
    await rows.filter(has_text="ok: added").get_by_role("button", name="Code").click()
    code = panel(notebook).locator(".rp-agent-log pre")
    assert await code.text_content() == seen
    assert await axe(notebook.page, ".rp-agent") == []
    await rows.filter(has_text="ok: added").get_by_role("button", name="Code").click()
    await expect(code).to_have_count(0)


async def test_a_denial_reaches_the_agent_with_its_reason(lab, attach):
    notebook = await open_panel(lab)
    async with attach(notebook, "--ask", "write") as agent, asyncio.TaskGroup() as group:
        reply = group.create_task(register(agent))
        reason = panel(notebook).get_by_role("textbox", name="Why not, for the agent to read")
        await reason.fill("there is a tag for that")
        await decide(asked(notebook), "Deny")
    error = reply.result()["error"]
    assert error["code"] == "approval_denied"
    assert "there is a tag for that" in error["message"]
    assert await notebook.run_code(IDS) == "shop.sum/Two\n"


async def test_what_nobody_answers_is_reported_as_pending_and_then_expires(lab, attach):
    notebook = await open_panel(lab)
    options = ("--ask", "write", "--ask-wait", "0.2", "--ask-expire", "110")
    async with attach(notebook, *options) as agent:
        reply = await register(agent)
        await expect(asked(notebook)).to_contain_text("2 min left")
        await notebook.page.evaluate(LATER)
        await expect(asked(notebook)).to_contain_text("1 min left")
        assert reply["error"]["code"] == "approval_pending"
        handle = reply["error"]["detail"]["handle"]
        await expect(asked(notebook)).to_have_attribute("data-handle", handle)
        await notebook.run_code(EXPIRED)
        async with asyncio.timeout(BOUND_S):
            while reply["error"]["code"] == "approval_pending":
                reply = await agent.ask("read_approval", handle=handle, wait_s=1)
        assert reply["error"]["code"] == "approval_expired"
        await expect(asked(notebook)).to_have_count(0)
        assert await notebook.run_code(IDS) == "shop.sum/Two\n"


async def test_for_the_session_is_asked_once_until_it_is_taken_back(lab, attach):
    notebook = await open_panel(lab)
    async with attach(notebook, "--ask", "write") as agent:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(register(agent))
            await decide(asked(notebook), "Approve for this session")
        assert first.result()["ok"]
        assert (await register(agent, "Four"))["ok"]
        await button(notebook, "register_variant granted").click()
        await expect(button(notebook, "register_variant granted")).to_have_count(0)
        async with asyncio.TaskGroup() as group:
            third = group.create_task(register(agent, "Five"))
            await expect(asked(notebook)).to_contain_text("shop.sum/Five")
            await decide(asked(notebook), "Deny")
        assert third.result()["error"]["code"] == "approval_denied"


async def test_the_word_is_given_while_a_cell_runs(lab, attach):
    notebook = await open_panel(lab)
    async with attach(notebook, "--ask", "write") as agent:
        await agent.ask("list_variants")
        async with notebook.busy(), asyncio.TaskGroup() as group:
            reply = group.create_task(register(agent))
            await expect(asked(notebook)).to_have_count(1)
            await decide(asked(notebook), "Approve once")
            await expect(asked(notebook)).to_have_count(0)
        assert reply.result()["ok"], reply.result()


async def test_a_call_that_its_agent_leaves_behind_is_gone_once_the_focus_is(lab, attach):
    notebook = await open_panel(lab)
    async with attach(notebook, "--ask", "write", "--ask-wait", "0.2") as agent:
        await register(agent)
        await decision(asked(notebook), "Deny").focus()
    await expect(rows(notebook)).to_contain_text("withdrawn")
    await expect(decision(rows(notebook), "Deny")).to_be_focused()
    await expect(decision(rows(notebook), "Deny")).to_be_disabled()
    await button(notebook, "Pause").focus()
    await expect(rows(notebook)).to_have_count(0)


async def test_pause_and_detach_keep_agents_out(lab, attach):
    notebook = await open_panel(lab)
    async with attach(notebook) as agent:
        await button(notebook, "Calls").click()
        # The row of the button is drawn anew for each call: a press must end at the same button.
        async with notebook.pressed(button(notebook, "Pause")):
            await agent.ask("list_variants")
            await expect(panel(notebook).locator(".rp-agent-log")).to_contain_text("list_variants")
        await expect(button(notebook, "Resume")).not_to_have_attribute("aria-pressed", "true")
        await expect(attached(notebook)).to_contain_text("Agents are paused.")
        assert (await agent.ask("list_variants"))["error"]["code"] == "paused"
        await button(notebook, "Resume").click()
        await expect(button(notebook, "Pause")).to_be_visible()
        await expect(attached(notebook)).not_to_contain_text("paused")
        assert (await agent.ask("list_variants"))["ok"]
        await button(notebook, "Detach").click()
        await expect(panel(notebook)).to_contain_text("no agent gets in before %pair attach")
        assert (await agent.ask("list_variants"))["error"]["code"] == "detached"


async def test_by_keys_alone_and_two_notebooks_see_the_same(lab, attach, axe):
    notebook = await open_panel(lab)
    second = await lab.notebook("repl_pair.show(panel='agent')", kernel=notebook)
    await second.run_all()
    async with attach(notebook, "--ask", "write") as agent, asyncio.TaskGroup() as group:
        reply = group.create_task(register(agent))
        await expect(asked(second)).to_contain_text("shop.sum/Three")
        await expect(asked(notebook)).to_contain_text("shop.sum/Three")
        assert await axe(notebook.page, ".rp-agent") == []
        await button(notebook, "Detach").focus()
        for _ in range(2):
            await notebook.page.keyboard.press("Tab")
        await expect(decision(asked(notebook), "Approve once")).to_be_focused()
        await expect(decision(asked(notebook), "Approve once")).to_be_enabled()
        await notebook.page.keyboard.press("Enter")
        await expect(asked(second)).to_have_count(0)
    assert reply.result()["ok"]


@pytest.mark.parametrize("pressed", ["Approve once", "Deny"])
async def test_no_other_call_comes_under_the_pointer_where_one_was(lab, attach, pressed):
    notebook = await open_panel(lab)
    mouse = notebook.page.mouse
    async with attach(notebook, "--ask", "eval") as agent, asyncio.TaskGroup() as group:
        send = lambda code: group.create_task(agent.ask("eval_code", code=code))  # noqa: E731
        first = send("1 + 1")
        await expect(decision(asked(notebook), pressed)).to_be_enabled()
        second = send("2 + 2")
        await expect(asked(notebook)).to_have_count(2)
        await title(rows(notebook).nth(1)).click()
        await expect(decision(rows(notebook).nth(1), pressed)).to_be_enabled()
        await decision(rows(notebook).first, pressed).hover()
        place = await rows(notebook).nth(1).bounding_box()
        if pressed == "Deny":
            await mouse.down()
            await mouse.up()
        else:
            first.cancel()
        await expect(asked(notebook)).to_have_count(1)
        third = send("3 + 3")
        await expect(asked(notebook)).to_have_count(2)
        await mouse.down()
        await mouse.up()
        assert await count_waiting(notebook) == 2
        outcome = "denied" if pressed == "Deny" else "withdrawn"
        await expect(rows(notebook).first).to_contain_text(outcome)
        assert await rows(notebook).nth(1).bounding_box() == place
        await button(notebook, "Pause").hover()
        await expect(rows(notebook)).to_have_count(2)
        for call in (second, third):
            call.cancel()
        await expect(rows(notebook)).to_have_count(0)


PRESS = """(panel, moves) => new Promise((resolve) => {
  let moved = 0;
  const press = () => {
    const row = panel.querySelector("article");
    const isDecided = moved && (!row || row.hasAttribute("data-ended"));
    if (isDecided) return resolve(performance.now() - moved);
    if (row && (!moved || moves-- > 0)) {
      panel.style.paddingTop = `${20 + 5 * (moves % 2)}px`;
      moved = performance.now();
    }
    [...(row?.querySelectorAll("button") ?? [])].at(-1)?.click();
    requestAnimationFrame(press);
  };
  press();
})"""


async def test_a_call_is_decided_once_it_has_stood_still_in_sight_for_a_second(lab, attach):
    notebook = await open_panel(lab)
    async with attach(notebook, "--ask", "write") as agent, asyncio.TaskGroup() as group:
        decided = group.create_task(panel(notebook).evaluate(PRESS, 90))
        group.create_task(register(agent))
    assert decided.result() >= 990


async def test_by_keys_the_focus_goes_from_each_call_to_the_next_one_and_out(lab, attach):
    notebook = await open_panel(lab)
    press = notebook.page.keyboard.press
    async with attach(notebook, "--ask", "write,eval", "--ask-wait", "0.2") as agent:
        for name in ("Three", "Four"):
            await register(agent, name)
        await agent.ask("eval_code", code="1 + 1")
        await expect(asked(notebook)).to_have_count(3)
        for at, name in enumerate(("Approve once", "Approve for this session", "Deny")):
            await decision(rows(notebook).nth(at), name).focus()
            await expect(decision(rows(notebook).nth(at), name)).to_be_enabled()
            await press("Enter")
            following = title(rows(notebook).nth(at + 1)) if at < 2 else attached(notebook)
            await expect(following).to_be_focused()
            if at < 2:
                await expect(following).to_have_attribute("aria-expanded", "true")
        await expect(rows(notebook)).to_have_count(0)
        await button(notebook, "register_variant granted").press("Enter")
        await expect(button(notebook, "register_variant granted")).to_have_count(0)
        await expect(attached(notebook)).to_be_focused()


async def test_the_question_before_a_detach_takes_the_focus_and_gives_it_back(lab, attach):
    notebook = await open_panel(lab)
    dialog = panel(notebook).get_by_role("alertdialog", name="Detach")
    async with attach(notebook, "--ask", "write", "--ask-wait", "0.2") as agent:
        await register(agent)
        await expect(asked(notebook)).to_have_count(1)
        await button(notebook, "Detach").press("Enter")
        await expect(button(notebook, "Keep")).to_be_focused()
        await expect(dialog).to_contain_text("calls that wait for you are withdrawn: 1")
        await decide(asked(notebook), "Deny")
        await expect(dialog).to_contain_text("Nothing of yours ends with a detach any more.")
        await register(agent, "Four")
        await expect(dialog).to_contain_text("calls that wait for you are withdrawn: 1")
        await button(notebook, "Keep").focus()
        for leave in ("Escape", "Enter"):
            await notebook.page.keyboard.press(leave)
            await expect(dialog).to_be_hidden()
            await expect(button(notebook, "Detach")).to_be_focused()
            await notebook.page.keyboard.press("Enter")
            await expect(button(notebook, "Keep")).to_be_focused()
        await button(notebook, "Detach anyway").press("Enter")
        await expect(attached(notebook)).to_be_focused()
