"""The trace panel lists what a run did and printed, and looks into each row."""

import json

import pytest
from front_ends.measuring import find_barriers
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

POST = """
import logging, sys, warnings
import repl_pair
from repl_pair import step

logging.getLogger("post").addHandler(logging.NullHandler())

@repl_pair.effect.impl("mail/send")
def mail(to: str):
    return {"sent": True}

@repl_pair.story("post")
class Post:
    def send(self, to: str, lines: int = 1):
        for at in range(lines):
            print("sending", at, "to", to)
        print("warned", file=sys.stderr)
        logging.getLogger("post").warning("sent to %s", to)
        warnings.warn("slow post")
        repl_pair.effect("mail/send", to=to)

repl_pair.variant("post/One", play=[step.dispatch("send", to="ann")])
repl_pair.variant("post/Many", play=[step.dispatch("send", to="ann", lines=20_000)])
repl_pair.variant("post/Broken", play=[step.call("no_such")])
"""


def show(id):
    return f"repl_pair.show({id!r}, panel='trace')"


async def opened(lab, *cells):
    notebook = await lab.notebook(POST, *cells)
    await notebook.run_all()
    return notebook, notebook.page.locator(".rp-trace")


def kind(trace, name):
    return trace.get_by_role("group", name="Kinds of rows").get_by_role("button", name=name)


async def test_rows_are_filtered_by_kind_and_text_and_looked_into(lab):
    notebook, trace = await opened(lab, show("post/One"))
    details = trace.get_by_role("region", name="Details of the row")
    rows = trace.get_by_role("option")
    await expect(rows).to_have_count(12)
    await trace.get_by_role("searchbox", name="Filter the trace").fill("ann mail")
    await expect(rows).to_have_count(1)
    await rows.first.click()
    await expect(details).to_contain_text("effect 1")
    await expect(details).to_contain_text('"sent": true')
    await trace.get_by_role("searchbox").fill("")
    await expect(rows).to_have_count(12)
    await kind(trace, "phases 6").click()
    await expect(rows).to_have_count(6)
    await expect(kind(trace, "phases 6")).to_have_attribute("aria-pressed", "false")
    texts = await rows.all_inner_texts()
    assert [text.split()[0] for text in texts] == [
        "event", "effect", "warning", "log", "stdout", "stderr",
    ]  # fmt: skip
    assert await notebook.cells.count() == 2


async def test_the_phases_are_a_timeline_and_lead_to_what_failed(lab):
    _, trace = await opened(lab, show("post/Broken"))
    timeline = trace.get_by_role("group", name="Phases of the run")
    await expect(timeline.get_by_role("button")).to_have_count(6)
    await timeline.get_by_role("button", name="play:").click()
    details = trace.get_by_role("region", name="Details of the row")
    await expect(details).to_contain_text("phase 5")
    await expect(details).to_contain_text("no_such")
    await expect(timeline.get_by_role("button", name="failed")).to_have_count(1)


async def test_many_rows_are_drawn_only_where_they_are_seen(lab):
    notebook, trace = await opened(lab, show("post/Many"))
    rows = trace.get_by_role("option")
    await expect(trace).to_contain_text("stdout 20000")
    await expect(rows.first).to_be_visible()
    assert await rows.count() < 100
    await trace.get_by_role("listbox", name="Trace").focus()
    await notebook.page.keyboard.press("End")
    await expect(trace.get_by_role("option", selected=True)).to_contain_text("warned")
    await notebook.page.keyboard.press("ArrowUp")
    await expect(trace.get_by_role("option", selected=True)).to_contain_text("sending 19999 to ann")
    assert await rows.count() < 100


FAIL = """
from repl_pair.panels.trace.view import TraceView
on_rows = TraceView.on_rows

def first_only(self, start=0, **given):
    assert start == 0, "no more rows for now"
    return on_rows(self, start=start, **given)

TraceView.on_rows = first_only
"""


async def test_rows_that_could_not_be_read_are_read_when_they_are_next_in_sight(lab):
    notebook, trace = await opened(lab, show("post/Many"))
    await expect(trace.get_by_role("option").first).to_be_visible()
    await notebook.run_code(FAIL)
    await trace.get_by_role("listbox", name="Trace").focus()
    await notebook.page.keyboard.press("End")
    await expect(trace.get_by_role("alert")).to_contain_text("no more rows for now")
    await notebook.run_code("TraceView.on_rows = on_rows")
    await notebook.page.keyboard.press("ArrowUp")
    await expect(trace.get_by_role("option", selected=True)).to_contain_text("sending 19999 to ann")


async def test_a_later_run_is_followed_and_rows_are_copied_as_json(lab):
    notebook, trace = await opened(lab, show("post/One"))
    await notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await expect(trace.get_by_role("option")).to_have_count(12)
    await notebook.run_cell('repl_pair.variant("post/One", play=[step.call("send", to="bob")]);')
    await expect(trace.get_by_text("stale", exact=True)).to_be_visible()
    await notebook.run_cell('repl_pair.run("post/One");')
    await expect(trace.get_by_text("stale", exact=True)).to_have_count(0)
    await kind(trace, "phases 6").click()
    await expect(trace.get_by_role("option")).to_have_count(5)
    await trace.get_by_role("listbox", name="Trace").focus()
    await notebook.page.keyboard.press("y")
    await expect(trace.get_by_role("status")).to_have_text("Copied.")
    copied = json.loads(await notebook.page.evaluate("() => navigator.clipboard.readText()"))
    assert copied[0] == {
        "kind": "effect", "place": 0, "name": "mail/send", "stubbed": False,
        "payload": {"to": "bob"}, "response": {"sent": True},
    }  # fmt: skip


async def test_a_press_on_run_runs_what_it_was_made_on_or_nothing(lab):
    notebook, trace = await opened(lab, f"shell = {show('post/One')}\nshell")
    focus = "repl_pair.panels.base.context.Focus(variant='post/Many')"
    async with notebook.pressed(trace.get_by_role("button", name="Run", exact=True)):
        await notebook.run_code(f"shell.view.context.set_focus({focus})")
        await expect(trace).to_contain_text("post/Many has not been run yet")
    await expect(trace.get_by_role("alert")).to_contain_text("post/One is not in focus any more")
    await expect(trace.locator(".rp-status strong")).to_have_text("post/Many")


async def test_where_nothing_ran_it_states_what_to_do(lab):
    notebook, trace = await opened(lab, "shown = repl_pair.show(panel='trace')\nshown")
    await expect(trace).to_contain_text("Choose a variant in the registry")
    await notebook.run_code(
        "from repl_pair.panels.base.context import Focus\n"
        "shown.view.context.set_focus(Focus(variant='post/One'))"
    )
    await expect(trace).to_contain_text("press Run")
    await notebook.run_code("repl_pair.registry.unregister('variant', 'post/One')")
    await expect(trace).to_contain_text("Run the cell that registers it")
    await expect(trace.get_by_role("button", name="Run", exact=True)).to_have_count(0)


async def test_it_can_be_used_by_everyone_light_and_dark(lab):
    notebook, trace = await opened(lab, show("post/One"))
    await trace.get_by_role("option").nth(7).click()
    await expect(trace.get_by_role("region")).to_contain_text("sent")
    for theme in ("light", "dark"):
        await notebook.set_theme(theme)
        await expect(trace).to_have_attribute("data-theme", theme)
        assert await find_barriers(notebook.page, ".rp-trace") == []
