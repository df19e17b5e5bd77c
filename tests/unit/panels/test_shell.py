"""The shell and what stands under every panel, without a browser."""

import sys
import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import ipywidgets
import pytest
from bounds import BOUND_S
from flushing import flush

import repl_pair
from repl_pair.errors import RequestError
from repl_pair.panels.base.context import FOCUS, RUNNING, Focus, PanelContext, head_of
from repl_pair.panels.base.opening import open_entry
from repl_pair.panels.base.panel_thread import MANY, PANEL_THREAD, PanelThread
from repl_pair.panels.base.view import View
from repl_pair.panels.base.widget import PanelWidget, answer
from repl_pair.panels.builtin import VIEWS
from repl_pair.panels.shell.commands import COMMANDS
from repl_pair.panels.shell.view import Shell
from repl_pair.runtime.clients.approval import Asker
from repl_pair.runtime.clients.approvals import QUEUE
from repl_pair.runtime.clients.clients import paused_since
from repl_pair.runtime.clients.own_calls import OWN_CALLS, OwnCalls
from repl_pair.runtime.results.last_results import last_result
from repl_pair.runtime.results.markdown import Markdown, prose
from repl_pair.runtime.store import STORE, Collection, Event, Store


@pytest.fixture
def shell(sent):
    made = Shell(PanelContext(), sent.append, text=Markdown("as text"))
    undo = made.context.follow(made.handle_changes)
    yield made
    undo()
    made.close()


def listed(shell, id):
    return next(panel for panel in shell.on_panels() if panel["id"] == id)


def test_every_built_in_panel_stands_in_the_registry_and_in_its_place(shell):
    found = {panel["id"]: panel["placement"] for panel in shell.on_panels()}
    assert found == {view.name: view.placement for view in VIEWS}
    assert all(panel["title"] and panel["doc"] for panel in shell.on_panels())


def test_a_panel_of_a_third_party_is_hosted_by_its_id(eventually, shell):
    repl_pair.panel("acme", title="Acme", placement="right", render=lambda: "hello")
    eventually(lambda: listed(shell, "acme")["ref"])
    panel = listed(shell, "acme")
    assert panel["ref"].startswith("anywidget:")
    assert panel | {"ref": None} == {
        "id": "acme",
        "title": "Acme",
        "doc": "",
        "placement": "right",
        "visible": True,
        "waiting": 0,
        "ref": None,
        "fault": None,
    }


def test_what_waits_for_the_person_is_counted_also_in_a_hidden_panel(shell, sent):
    shell.on_show("agent", False)
    before = len(sent)
    asker = Asker(principal="claude")
    waiting = QUEUE.ask("clear_all", {}, asker=asker, access=("write",))
    assert flush(PANEL_THREAD)
    shown = [one["waiting"] for one in sent[-1]["panels"] if one["id"] == "agent"]
    assert (len(sent) > before, shown, listed(shell, "canvas")["waiting"]) == (True, [1], 0)
    QUEUE.answer(waiting.handle, "deny")
    assert flush(PANEL_THREAD)
    assert {one["waiting"] for one in sent[-1]["panels"]} == {0}


def test_the_palette_pauses_and_resumes_agents(shell):
    shell.on_command("pause")
    assert paused_since() is not None
    shell.on_command("resume")
    assert paused_since() is None


def test_a_widget_of_another_kind_is_hosted_as_it_is(eventually, shell):
    slider = ipywidgets.IntSlider()
    repl_pair.panel("slide", title="Slide", placement="bottom", render=lambda: slider)
    eventually(lambda: listed(shell, "slide")["ref"])
    assert listed(shell, "slide")["ref"] == f"IPY_MODEL_{slider.model_id}"


def test_render_gets_the_context_if_it_takes_a_parameter(eventually, shell):
    given = []
    repl_pair.panel(
        "acme", title="A", placement="right", render=lambda context: given.append(context)
    )
    eventually(lambda: given)
    assert given == [shell.context]


@pytest.mark.parametrize("make", [lambda: "text", ipywidgets.IntSlider])
def test_what_a_render_follows_ends_with_its_panel_and_its_own_widget_stays(
    eventually, shell, make
):
    result, heard = make(), []

    def render(context):
        entry = repl_pair.registry.get("panel", "acme")
        context.follow(lambda changes: heard.extend([entry] * (FOCUS in changes)))
        return result

    for title in ("First", "Second"):
        repl_pair.panel("acme", title=title, placement="right", render=render)
        entry = repl_pair.registry.get("panel", "acme")
        eventually(lambda entry=entry: shell._open.get("acme", (None,))[0] is entry)
    for story in ("a", "b"):
        heard.clear()
        shell.context.set_focus(Focus(story=story))
        assert flush(PANEL_THREAD)
        assert heard == ([entry] if story == "a" else [])
        shell.close_panel("acme")
    assert getattr(result, "comm", "") is not None


@pytest.mark.parametrize("make", [lambda: "text", ipywidgets.IntSlider])
def test_what_a_task_of_a_render_follows_ends_with_its_panel_and_begins_no_more_then(
    open_context, make
):
    tasks, heard, context = [], [], open_context()

    def render():
        tasks.append(copy_context())  # as asyncio makes a task
        return make()

    repl_pair.panel("acme", title="A", placement="right", render=render)
    opened = open_entry(repl_pair.registry.get("panel", "acme"), context)
    for story, count in (("a", 1), ("b", 1), ("c", 1)):
        if story != "b":
            tasks[0].run(context.follow, lambda changes: heard.extend(changes.keys() & {FOCUS}))
        context.set_focus(Focus(story=story))
        assert flush(PANEL_THREAD)
        assert len(heard) == count
        opened.close()


def test_a_panel_that_a_render_makes_beside_its_own_outlives_it(open_context, sent):
    made, context = [], open_context()

    class Followed(Counting):
        def handle_changes(self, changes):
            sent.extend(changes.keys() & {FOCUS})

    def render():
        made.append(PanelWidget(Followed, context))

    repl_pair.panel("acme", title="A", placement="right", render=render)
    open_entry(repl_pair.registry.get("panel", "acme"), context).close()
    context.set_focus(Focus(story="a"))
    assert flush(PANEL_THREAD)
    assert sent == [FOCUS]
    made[0].close()


def test_a_context_that_is_closed_drops_no_run_of_another(eventually, open_context):
    gate, replies = threading.Event(), []
    repl_pair.story("shop.sum")(lambda: gate.wait(BOUND_S))
    repl_pair.variant("shop.sum/One")
    first, second = open_context(), open_context()
    first.call("list_stories", {}, done=replies.append)
    eventually(lambda: replies)
    second.run("shop.sum/One", done=replies.append)
    first.close()
    gate.set()
    eventually(lambda: len(replies) == 2)
    assert [reply["ok"] for reply in replies] == [True, True]


@pytest.fixture
def unserved(monkeypatch):
    """Own calls without the host of contexts that other tests left open."""
    monkeypatch.setattr(OWN_CALLS, "_handlers", {})
    monkeypatch.setattr("repl_pair.panels.base.context._CALLERS", set())


def test_what_a_closed_context_calls_is_served_until_its_reply(eventually, unserved):
    context, replies = PanelContext(), []
    context.close()
    for count in (1, 2):
        context.call("ping", {}, done=replies.append)
        assert OWN_CALLS.has_handler
        eventually(lambda count=count: len(replies) == count)
        assert not OWN_CALLS.has_handler
    assert [reply["ok"] for reply in replies] == [True, True]


def test_a_context_that_is_closed_while_another_begins_a_call_takes_no_host_from_it(
    eventually, open_context, monkeypatch, unserved
):
    first, second, replies = open_context(), open_context(), []
    first.call("ping", {}, done=replies.append)

    class Closing(OwnCalls):
        @property
        def has_handler(self):
            found = super().has_handler
            first.close()
            return found

    monkeypatch.setattr(OWN_CALLS, "__class__", Closing)
    second.call("ping", {}, done=replies.append)
    eventually(lambda: len(replies) == 2)
    assert [reply["ok"] for reply in replies] == [True, True]


@pytest.mark.parametrize("is_class", [False, True])
def test_render_runs_where_the_persons_code_runs_and_not_on_the_pump(eventually, shell, is_class):
    threads = []

    class Note:
        def __init__(self):
            threads.append(threading.current_thread().name)

    render = Note if is_class else lambda: Note()
    repl_pair.panel("acme", title="A", placement="right", render=render)
    eventually(lambda: threads)
    assert len(threads) == 1
    assert threads[0] != "repl_pair panels"


def test_render_is_called_once_while_it_waits_and_again_for_a_later_panel(eventually, shell):
    called, gate = [], threading.Event()

    def render(name):
        called.append(name)
        assert gate.wait(BOUND_S)
        return name

    def register(id, name):
        repl_pair.panel(id, title=name, placement="right", render=lambda: render(name))
        assert flush(PANEL_THREAD)

    register("acme", "first")
    eventually(lambda: called)
    for id in ("beside", "acme"):
        register(id, "later")
    gate.set()
    latest = repl_pair.registry.get("panel", "acme")
    eventually(lambda: shell._open.get("acme", (None,))[0] is latest)
    eventually(lambda: listed(shell, "beside")["ref"])
    assert flush(PANEL_THREAD)
    assert called == ["first", "later", "later"]


def test_who_registers_the_same_id_later_replaces_what_is_shown(eventually, shell, sent):
    repl_pair.panel("acme", title="Stub", placement="right", render=lambda: "a stub")
    eventually(lambda: listed(shell, "acme")["ref"])
    before = listed(shell, "acme")["ref"]
    repl_pair.panel("acme", title="Real", placement="bottom", render=lambda: "the real one")
    eventually(lambda: listed(shell, "acme")["ref"] not in (None, before))
    panel = listed(shell, "acme")
    assert (panel["title"], panel["placement"]) == ("Real", "bottom")
    eventually(lambda: sent[-1] == {"panels": shell.on_panels()})


def test_a_panel_renders_by_another_ones_id_looked_up_when_it_is_shown(eventually, shell):
    repl_pair.panel("first", title="First", placement="right", render="second")
    eventually(lambda: "second" in (listed(shell, "first")["fault"] or ""))
    repl_pair.panel("second", title="Second", placement="right", render=lambda: "here")
    eventually(lambda: listed(shell, "first")["ref"])
    assert listed(shell, "first")["fault"] is None


def test_who_registers_what_another_panel_names_again_replaces_what_that_shows(eventually, shell):
    refs = []
    repl_pair.panel("outer", title="O", placement="right", render="inner")
    for title in ("First", "Second"):
        repl_pair.panel("inner", title=title, placement="modal", render=lambda: "here")
        eventually(lambda: listed(shell, "outer")["ref"] not in (None, *refs))
        refs.append(listed(shell, "outer")["ref"])
    assert len(refs) == 2


def test_panels_that_name_each_other_are_refused_in_their_place(eventually, shell):
    repl_pair.panel("a", title="A", placement="right", render="b")
    repl_pair.panel("b", title="B", placement="right", render="a")
    shell.on_show("a", True)
    eventually(lambda: "a → b → a" in listed(shell, "a")["fault"])


def test_what_a_render_raises_stands_in_its_place_and_the_others_stay(eventually, shell):
    repl_pair.panel("bad", title="Bad", placement="right", render=lambda: 1 / 0)
    repl_pair.panel("good", title="Good", placement="right", render=lambda: "fine")
    eventually(lambda: listed(shell, "good")["ref"])
    assert listed(shell, "bad")["fault"] == "ZeroDivisionError: division by zero"


def test_a_hidden_panel_is_made_when_it_is_shown_first(eventually, shell):
    made = []
    repl_pair.panel("acme", title="A", placement="modal", render=lambda: made.append(1))
    assert flush(PANEL_THREAD)
    assert made == []
    assert not listed(shell, "acme")["visible"]
    shell.context.open_panel("acme")
    eventually(lambda: listed(shell, "acme")["ref"])
    assert made == [1]
    assert listed(shell, "acme")["visible"]
    shell.on_show("acme", False)
    assert not listed(shell, "acme")["visible"]


def test_a_panel_that_is_taken_out_leaves_the_shell(shell):
    repl_pair.panel("acme", title="A", placement="right", render=lambda: "x")
    assert flush(PANEL_THREAD)
    repl_pair.registry.unregister("panel", "acme")
    assert flush(PANEL_THREAD)
    assert "acme" not in [panel["id"] for panel in shell.on_panels()]


def test_one_panel_is_shown_alone(sent):
    repl_pair.panel("acme", title="A", placement="modal", render=lambda: "x")
    alone = Shell(PanelContext(), sent.append, text=Markdown(""), only="acme")
    assert [(p["id"], p["placement"], p["visible"]) for p in alone.on_panels()] == [
        ("acme", "centre", True)
    ]
    alone.close()


class Unwritten(ipywidgets.Label):
    def __repr__(self):
        return str(1 / 0)


@pytest.mark.parametrize(
    ("render", "text"),
    [
        (lambda: "of acme", "of acme"),
        (lambda: ipywidgets.Label("of a label"), "Label(value='of a label')"),
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: Unwritten(), "ZeroDivisionError: division by zero"),
        (lambda: ipywidgets.Label("x " * 2000), f"Label(value='{'x ' * 993}x… 2015"),
    ],
)
def test_the_text_of_one_panel_alone_is_what_it_shows(sent, render, text):
    repl_pair.panel("acme", title="A", placement="right", render=render)
    alone = Shell(PanelContext(), sent.append, text=Markdown("all stories"), only="acme")
    assert alone.text() == prose(text)
    alone.close()


def test_a_modal_panel_that_is_shown_hides_the_one_that_is_open(shell):
    for id in ("first", "second"):
        repl_pair.panel(id, title=id, placement="modal", render=lambda: "x")
        shell.on_show(id, True)
    assert [listed(shell, id)["visible"] for id in ("first", "second", "agent")] == [
        False,
        True,
        True,
    ]


def test_an_unknown_panel_alone_is_refused_with_what_is_near(sent):
    repl_pair.panel("acme", title="A", placement="right", render=lambda: "x")
    with pytest.raises(RequestError, match="acme"):
        Shell(PanelContext(), sent.append, text=Markdown(""), only="acmee")


def test_every_command_shows_what_it_does(shell):
    assert shell.on_commands() == [
        {"id": id, "title": command.title} for id, command in COMMANDS.items()
    ]


def test_a_command_runs_the_focus(shell):
    repl_pair.story("shop.sum")(lambda a=1: a)
    repl_pair.variant("shop.sum/One")
    shell.context.set_focus(Focus(story="shop.sum", variant="shop.sum/One"))
    shell.on_command("run")
    assert last_status_of("shop.sum/One") == "pass"


def test_the_palette_finds_variants_by_words_of_their_ids_and_goes_there(shell):
    repl_pair.story("shop.sum")(lambda a=1: a)
    for name in ("One", "OneMore", "Two"):
        repl_pair.variant(f"shop.sum/{name}")
    assert shell.on_find("SUM one") == ["shop.sum/One", "shop.sum/OneMore"]
    shell.on_go("shop.sum/Two")
    assert shell.context.focus == Focus(story="shop.sum", variant="shop.sum/Two")


def last_status_of(variant_id):
    done = threading.Event()
    undo = STORE.subscribe(lambda change: done.set() if change.key == variant_id else None)
    if last_result(variant_id) is None:
        assert done.wait(BOUND_S)
    undo()
    return last_result(variant_id).status


# --- views and their widgets


class Counting(View):
    """Counts."""

    name = "static_view"

    def on_add(self, by: int) -> int:
        return by + 1

    def on_strange(self) -> object:
        return object()

    def text(self) -> Markdown:
        return Markdown("**counted**")


def test_an_ask_is_answered_with_what_the_view_returns():
    assert answer(Counting(PanelContext(), print), "add", {"by": 2}) == {"answer": 3}


@pytest.mark.parametrize(
    ("ask", "given", "error"),
    [
        ("none", {}, "The panel 'static_view' answers no 'none'."),
        ("add", {"by": "x"}, "TypeError: "),
        ("add", {}, "TypeError: "),
        ("strange", {}, "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_a_fault_is_answered_where_it_was_asked(ask, given, error):
    answered = answer(Counting(PanelContext(), print), ask, given)
    assert answered["error"].startswith(error)
    assert set(answered) <= {"error", "code"}


def test_a_widget_shows_its_text_where_no_browser_is():
    widget = PanelWidget(Counting, PanelContext())
    data, _ = widget._repr_mimebundle_()
    assert data["text/plain"] == "**counted**"
    assert data["text/html"] == "<p><strong>counted</strong></p>\n"
    assert repr(widget) == "**counted**"
    assert "application/vnd.jupyter.widget-view+json" in data
    widget.close()


def test_half_a_character_is_replaced_in_all_that_a_widget_sends(monkeypatch, sent):
    class Halved(Counting):
        def start(self):
            return {"words": [("\ud800", {"\ud800": 1})]}

        def on_words(self):
            return self.start()

        def text(self) -> Markdown:
            return Markdown("\ud800")

    monkeypatch.setattr(PanelWidget, "_send", lambda _self, message, **_given: sent.append(message))
    widget = PanelWidget(Halved, PanelContext())
    widget._receive(widget, {"ask": "words", "id": "1"}, [])
    assert flush(PANEL_THREAD)
    bundle, _ = widget._repr_mimebundle_()
    assert sent[-1]["content"]["answer"] == widget.start == {"words": [["\ufffd", {"\ufffd": 1}]]}
    texts = {bundle["text/plain"], widget.view.text()._repr_markdown_()}
    assert (texts, bundle["text/html"]) == ({"\ufffd"}, "<p>\ufffd</p>\n")
    widget.close()


def link(address, words):
    alone = 'target="_blank" rel="noopener noreferrer"'
    return f'<a href="{address}" title="{address}" {alone}>{words}</a>'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('[x](https://a.example/b "at home")', link("https://a.example/b", "x")),
        ("<HTTP://a.example>", link("HTTP://a.example", "HTTP://a.example")),
        ("![x](https://a.example/b.png)", f"!{link('https://a.example/b.png', 'x')}"),
        ("![x](data:image/png;base64,AA)", "![x](data:image/png;base64,AA)"),
        ("[x](lab?reset)", "[x](lab?reset)"),
        ("[x](//a.example)", "[x](//a.example)"),
        ("[x](#y)", "[x](#y)"),
        ("[x](javascript:y)", "[x](javascript:y)"),
        ("<mailto:a@b.example>", "&lt;mailto:a@b.example&gt;"),
    ],
)
def test_of_html_in_the_text_of_a_panel_links_to_the_web_stay_and_open_alone(text, html):
    class Texted(Counting):
        def text(self) -> Markdown:
            return Markdown(text)

    widget = PanelWidget(Texted, PanelContext())
    shown = widget._repr_mimebundle_()[0]["text/html"]
    assert shown.partition("</p>")[0].removeprefix("<p>").strip() == html
    widget.close()


# --- the pump


@pytest.fixture(scope="module")
def thread():
    """A panel thread beside that of the process; neither ends."""
    own = PanelThread()
    assert flush(own)
    assert flush(PANEL_THREAD)
    return own


@pytest.mark.parametrize(
    ("keys", "sent"), [("abc", frozenset("abc")), (map(str, range(MANY + 1)), None)]
)
def test_changes_are_sent_in_batches_by_key_and_very_many_as_the_whole(thread, keys, sent):
    undo_declared = STORE.declare(Collection(name="probe"))
    received, are_put = [], threading.Event()
    undo = thread.subscribe(received.append)
    thread.submit(lambda: are_put.wait(BOUND_S))
    for key in keys:
        STORE.put("probe", key, 1)
    are_put.set()
    assert flush(thread)
    undo()
    undo_declared()
    assert [batch["probe"] for batch in received if "probe" in batch] == [sent]


def test_a_task_that_raises_becomes_a_warning_and_the_next_one_runs(thread):
    begin = threading.Event()
    thread.submit(lambda: begin.wait(BOUND_S) and 1 / 0)

    def begin_and_flush():
        begin.set()
        return flush(thread)

    with pytest.warns(UserWarning, match="ZeroDivisionError"):
        assert begin_and_flush()


def test_a_task_that_raises_where_warnings_are_errors_is_reported_and_the_next_one_runs(
    thread, capsys
):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thread.submit(lambda: 1 / 0)
        assert flush(thread)
    assert "a panel failed: ZeroDivisionError" in capsys.readouterr().err


def test_a_view_without_a_script_is_closed_again():
    closed = []

    class Unscripted(View):
        name = "unscripted"

        def close(self):
            closed.append(self)

    with pytest.raises(RuntimeError, match="StopIteration"):
        PanelWidget(Unscripted, PanelContext())
    assert len(closed) == 1


def test_a_listener_that_raises_keeps_no_change_from_the_others(thread):
    received, begin = [], threading.Event()
    thread.submit(lambda: begin.wait(BOUND_S))
    undos = [thread.subscribe(lambda _changes: 1 / 0), thread.subscribe(received.append)]
    thread.publish({FOCUS: None}, None)

    def begin_and_flush():
        begin.set()
        return flush(thread)

    with pytest.warns(UserWarning, match="ZeroDivisionError"):
        assert begin_and_flush()
    for undo in undos:
        undo()
    assert {FOCUS: None} in received


def test_a_new_focus_is_sent_to_every_panel_of_the_context():
    context, other = PanelContext(), PanelContext()
    received = []
    undo = context.follow(received.append)
    other.set_focus(Focus(variant="a/B"))
    context.set_focus(Focus(variant="a/B"))
    context.set_focus(Focus(variant="a/B"))
    assert flush(PANEL_THREAD)
    undo()
    assert [changes for changes in received if FOCUS in changes] == [{FOCUS: None}]


def test_a_variant_is_running_until_the_last_of_its_runs_is_done(open_context):
    seen, gate, done = [], threading.Event(), threading.Event()
    repl_pair.story("shop.sum")(lambda: gate.wait(BOUND_S))
    repl_pair.variant("shop.sum/One")
    context = open_context(variant="shop.sum/One")

    def look(_reply):
        seen.append(head_of(context, None)["running"])

    context.run("shop.sum/One", done=look)
    context.run("shop.sum/One", done=lambda reply: (look(reply), done.set()))
    gate.set()
    assert done.wait(BOUND_S)
    assert seen == [True, False]


def test_a_run_is_listed_as_running_until_it_is_done():
    repl_pair.story("shop.sum")(lambda a=1: a)
    repl_pair.variant("shop.sum/One")
    context = PanelContext()
    received, replies, done = [], [], threading.Event()
    undo = context.follow(lambda changes: received.append((changes, dict(context.running))))
    context.run("shop.sum/One", done=lambda reply: (replies.append(reply), done.set()))
    assert done.wait(BOUND_S)
    assert flush(PANEL_THREAD)
    undo()
    context.close()
    assert [reply["ok"] for reply in replies] == [True]
    assert [running for changes, running in received if RUNNING in changes][-1] == {}
    assert any(RUNNING in changes for changes, _ in received)


@pytest.mark.parametrize("kind", ["store", "thread"])
def test_listeners_that_come_and_go_on_many_threads_lose_none_that_stays(thread, kind):
    heard, undos, subscribed = [], [], Store() if kind == "store" else thread

    def come_and_go(at):
        for _ in range(300):
            undos.append(subscribed.subscribe(lambda _change: heard.append(at)))
            subscribed.subscribe(print)()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(come_and_go, range(4)))
    finally:
        sys.setswitchinterval(interval)
    if kind == "store":
        subscribed.declare(Event(name="rung", doc=""))
        subscribed.emit("rung", None)
    else:
        subscribed.mark_changed("rung", None)
        assert flush(subscribed)
    assert Counter(heard) == dict.fromkeys(range(4), 300)
    for undo in undos:
        undo()
