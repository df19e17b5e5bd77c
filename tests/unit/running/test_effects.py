"""Effects: recorded in a run and answered where stubbed; done where they are not."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Annotated

import pytest

import repl_pair
from repl_pair import Sensitive
from repl_pair.errors import AuthoringError, ReplPairError, VariantFailed
from repl_pair.runtime.authoring.entries import entering_from
from repl_pair.runtime.registry.model import Origin
from repl_pair.runtime.registry.origin import agent_origin
from repl_pair.runtime.registry.outcomes import EffectRecord
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.stopping.loops import PRIVATE

check, effect = repl_pair.check, repl_pair.effect


@pytest.fixture(autouse=True)
def loop_ends():
    yield
    PRIVATE.close_idle()


@pytest.fixture
def sent():
    """A post that is sent by an effect; what was really sent is in the list."""
    sent = []

    @effect.impl("mail/send")
    def send(to, copies=1):
        sent.append(to)
        return {"to": to, "ok": True}

    repl_pair.story("post", component=lambda to="a": effect("mail/send", to=to))
    return sent


def stubbed(*uses, name="post/A", **slots):
    repl_pair.variant(name, decorators=list(uses), **slots)
    return repl_pair.run(name)


def forced(id, **answer):
    return ["force_fx_stub", {"effect": id, **answer}]


def test_an_effect_that_nobody_answers_for_is_done_and_recorded(sent):
    record = stubbed()
    assert record.result == {"to": "a", "ok": True}
    assert record.effects == (
        EffectRecord(
            id="mail/send", payload={"to": "a"}, stubbed=False, response={"to": "a", "ok": True}
        ),
    )
    assert sent == ["a"]


def test_outside_a_run_an_effect_is_done_and_not_recorded(sent):
    assert effect("mail/send", to="b") == {"to": "b", "ok": True}
    assert sent == ["b"]


def test_a_stubbed_effect_is_recorded_and_not_done(sent):
    record = stubbed(forced("mail/send", response={"ok": False}))
    assert record.result == {"ok": False}
    assert record.effects == (
        EffectRecord(id="mail/send", payload={"to": "a"}, stubbed=True, response={"ok": False}),
    )
    assert sent == []


def test_an_effect_that_nothing_does_names_itself_and_what_is_near(sent):
    repl_pair.story("lost", component=lambda: effect("mail/sned"))
    repl_pair.variant("lost/A")
    record = repl_pair.run("lost/A")
    text = "Nothing does the effect 'mail/sned'. Nearest: mail/send."
    assert (record.status, record.reason[: len(text)]) == ("cannot_run", text)
    assert [e.id for e in record.effects] == ["mail/sned"]
    with pytest.raises(ReplPairError, match="Nothing does the effect 'mail/sned'"):
        effect("mail/sned")


def test_an_effect_that_nothing_does_may_be_answered_for():
    repl_pair.story("lost", component=lambda: effect("mail/lost", n=1))
    assert stubbed(forced("mail/lost", response=4), name="lost/A").result == 4


def test_the_innermost_answer_wins(sent):
    for name in ("one", "two", "three"):
        repl_pair.decorator(name, kind="fx_override", effect="mail/send", response=name)
    repl_pair.story("post", component=lambda: effect("mail/send", to="a"), decorators=["two"])
    assert stubbed("three").result == "three"
    assert stubbed(name="post/B").result == "two"
    repl_pair.global_decorators("one")
    try:
        assert repl_pair.run("post/B").result == "two"
    finally:
        repl_pair.global_decorators()


def test_a_use_of_an_override_may_name_another_answer(sent):
    repl_pair.decorator("fails", kind="fx_override", response={"$raise": "OSError"})
    repl_pair.decorator("sends", kind="fx_override", effect="mail/send", response=1)
    assert stubbed(["fails", {"effect": "mail/send"}]).status == "error"
    assert stubbed(["sends", {"response": 2}]).result == 2


def test_responses_are_given_one_a_call_and_are_fresh():
    def three():
        found = [effect("next", n=n) for n in range(3)]
        found[0].append("mine")
        return found

    repl_pair.story("three", component=three)
    uses = [forced("next", responses=[[1], [2], [3]])]
    for _ in range(2):
        record = stubbed(*uses, name="three/A")
        assert record.result == [[1, "mine"], [2], [3]]
        assert [e.response for e in record.effects] == [[1], [2], [3]]
    record = stubbed(forced("next", response=[1]), name="three/A")
    assert record.result == [[1, "mine"], [1], [1]]


@pytest.mark.parametrize("caught", [False, True])
def test_responses_that_run_out_are_an_error_even_if_the_component_catches_it(caught):
    def often():
        for _ in range(3):
            try:
                effect("next")
            except Exception:
                if not caught:
                    raise
        return "fine"

    repl_pair.story("often", component=often)
    use = forced("next", responses=[1, 2])
    record = stubbed(use, name="often/A", play=[check.path_equals("result", "fine")])
    assert record.status == "error"
    assert "The responses to effect 'next' ran out: 2 were given, and this is call 3." in (
        record.reason
    )


def test_a_refusal_of_an_effect_is_not_hidden_by_what_the_component_makes_of_it():
    def careful():
        try:
            effect("nowhere")
        except Exception as error:
            raise ValueError("careful") from error

    repl_pair.story("careful", component=careful)
    repl_pair.variant("careful/A", play=[check.raises(ValueError)])
    record = repl_pair.run("careful/A")
    assert (record.status, "Nothing does the effect 'nowhere'" in record.reason) == (
        "cannot_run",
        True,
    )


def test_what_an_implementation_raises_is_the_components_to_catch():
    @effect.impl("checks")
    def checks():
        repl_pair.run("wrong/A", check=True)

    def guarded():
        with suppress(VariantFailed):
            effect("checks")
        return "fine"

    repl_pair.story("wrong", component=lambda: 1)
    repl_pair.variant("wrong/A", play=[check.path_equals("result", 2)])
    repl_pair.story("guarded", component=guarded)
    record = stubbed(name="guarded/A")
    assert (record.status, record.result) == ("pass", "fine")


def test_a_response_may_be_an_exception_that_the_component_sees(sent):
    def guarded():
        try:
            return effect("mail/send", to="a")
        except TimeoutError as error:
            return f"late: {error}"

    repl_pair.story("post", component=guarded)
    late = {"$raise": "TimeoutError", "message": "5 s"}
    record = stubbed(forced("mail/send", response=late))
    assert record.result == "late: 5 s"
    assert record.effects[0].response == late
    raised = stubbed(
        forced("mail/send", responses=[{"$raise": "KeyError"}]), play=[check.raises(KeyError)]
    )
    assert raised.status == "pass"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"$raise": "json.JSONDecodeErr"}, "There is nothing at 'json.JSONDecodeErr'"),
        ({"$raise": "json.dumps"}, "'json.dumps' in a response is not an exception"),
        ({"$raise": "json.JSONDecodeError"}, "cannot be made of its message"),
    ],
)
def test_a_dotted_exception_that_is_none_is_refused_in_the_run(sent, response, reason):
    record = stubbed(forced("mail/send", response=response))
    assert (record.status, reason in record.reason) == ("cannot_run", True)


def test_what_an_effect_raised_is_recorded():
    @effect.impl("fails")
    def fails():
        raise OSError("down")

    repl_pair.story("down", component=lambda: effect("fails"))
    record = stubbed(name="down/A")
    assert record.status == "error"
    assert record.effects == (
        EffectRecord(id="fails", payload={}, stubbed=False, response={"$raise": "OSError"}),
    )


def test_what_was_emitted_is_recorded_as_it_was_then():
    @effect.impl("keep")
    def keep(rows):
        return rows

    def grow():
        rows = [[1]]
        effect("keep", rows=rows)[0].append(2)
        return rows

    repl_pair.story("grow", component=grow)
    record = stubbed(name="grow/A")
    assert record.result == [[1, 2]]
    assert (record.effects[0].payload, record.effects[0].response) == ({"rows": [[1]]}, [[1]])


async def fetch(url="a"):
    return await effect("http/get", url=url)


@pytest.fixture
def http():
    @effect.impl("http/get")
    async def get(url):
        await asyncio.sleep(0)
        return f"page {url}"

    repl_pair.story("fetch", component=fetch)


def test_an_asynchronous_effect_is_awaited_and_its_response_recorded(http):
    record = stubbed(name="fetch/A")
    assert record.result == "page a"
    assert record.effects == (
        EffectRecord(id="http/get", payload={"url": "a"}, stubbed=False, response="page a"),
    )


def test_a_stub_of_an_asynchronous_effect_stays_awaitable(http):
    answered = stubbed(forced("http/get", response="none"), name="fetch/A")
    assert (answered.result, answered.effects[0].response) == ("none", "none")
    late = stubbed(forced("http/get", response={"$raise": "TimeoutError"}), name="fetch/A")
    assert (late.status, late.reason[:12]) == ("error", "TimeoutError")


def test_what_is_awaited_later_may_be_done_by_anything_or_only_answered_for(http):
    @effect.impl("disk/read")
    def read(url):
        return f"file {url}"

    async def both():
        return [await effect.later(id, url="b") for id in ("http/get", "disk/read")]

    async def lost():
        return await effect.later("nobody/does", url="c")

    repl_pair.story("both", component=both)
    repl_pair.story("lost", component=lost)
    assert asyncio.run(both()) == ["page b", "file b"]
    done = stubbed(name="both/A")
    assert done.result == ["page b", "file b"]
    answered = stubbed(forced("disk/read", response="none"), name="both/B")
    assert answered.result == ["page b", "none"]
    assert [(e.id, e.stubbed, e.response) for e in answered.effects] == [
        ("http/get", False, "page b"),
        ("disk/read", True, "none"),
    ]
    assert stubbed(forced("nobody/does", response=7), name="lost/A").result == 7
    late = stubbed(forced("nobody/does", response={"$raise": "TimeoutError"}), name="lost/B")
    assert (late.status, late.reason[:12]) == ("error", "TimeoutError")
    refused = stubbed(name="lost/C")
    assert (refused.status, refused.reason[:40]) == (
        "cannot_run",
        "Nothing does the effect 'nobody/does'. R",
    )


def test_an_effect_for_later_is_nothing_before_it_is_awaited(sent):
    async def forgets():
        effect.later("mail/send", to="x").close()
        return effect("mail/send", to="y")["to"]

    repl_pair.story("forgets", component=forgets)
    record = stubbed(name="forgets/A")
    assert (record.result, [e.payload for e in record.effects]) == ("y", [{"to": "y"}])
    assert sent == ["y"]


def test_a_dotted_name_is_answered_for_in_the_run_alone(module):
    shop = module(
        "shop_fx",
        """
class Client:
    def get(self, path, timeout=1): return "real " + path
async def later(n): return n
def plain(a, b=2): return a + b
def use(): return [Client().get("x"), plain(1)]
async def wait(): return await later(1)
""",
    )
    for story, fn in (("use", shop.use), ("wait", shop.wait)):
        repl_pair.story(f"dotted.{story}", component=fn)
    record = stubbed(
        forced("shop_fx.Client.get", response="stub"),
        forced("shop_fx.plain", responses=[7]),
        name="dotted.use/A",
    )
    assert record.result == ["stub", 7]
    assert record.effects == (
        EffectRecord(id="shop_fx.Client.get", payload={"path": "x"}, stubbed=True, response="stub"),
        EffectRecord(id="shop_fx.plain", payload={"a": 1}, stubbed=True, response=7),
    )
    assert shop.use() == ["real x", 3]
    assert stubbed(forced("shop_fx.later", response=5), name="dotted.wait/A").result == 5
    unknown = stubbed(forced("shop_fx.palin", response=5), name="dotted.wait/A")
    assert (unknown.status, "shop_fx" in unknown.reason) == ("cannot_run", True)


def test_threads_and_tasks_of_a_run_count_to_it(sent):
    def many():
        thread = threading.Thread(target=lambda: effect("mail/send", to="thread"))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(effect, "mail/send", to="pool").result()

    async def tasks():
        await asyncio.gather(
            asyncio.to_thread(effect, "mail/send", to="to_thread"),
            asyncio.create_task(emit("task")),
        )

    async def emit(to):
        effect("mail/send", to=to)

    repl_pair.story("many", component=many)
    repl_pair.story("tasks", component=tasks)
    names = []
    for story in ("many", "tasks"):
        record = stubbed(forced("mail/send", response=None), name=f"{story}/A")
        assert record.status == "pass"
        names.append(sorted(e.payload["to"] for e in record.effects))
    assert names == [["pool", "thread"], ["task", "to_thread"]]
    assert sent == []


def test_many_threads_lose_no_effect_and_no_response():
    def many():
        with ThreadPoolExecutor(8) as pool:
            return sorted(pool.map(lambda n: effect("next", n=n), range(400)))

    repl_pair.story("many", component=many)
    record = stubbed(forced("next", responses=list(range(400))), name="many/A")
    assert record.result == list(range(400))
    assert sorted(e.payload["n"] for e in record.effects) == list(range(400))
    assert sorted(e.response for e in record.effects) == list(range(400))


def test_overlapping_runs_see_neither_stubs_nor_records_of_each_other(sent):
    async def ask(to):
        found = []
        for _ in range(5):
            await asyncio.sleep(0)
            found.append(effect("mail/send", to=to))
        return found

    repl_pair.story("ask", component=ask)
    repl_pair.variant(
        "ask/A", args={"to": "a"}, decorators=[forced("mail/send", responses=[*"12345"])]
    )
    repl_pair.variant("ask/B", args={"to": "b"}, decorators=[forced("mail/send", response="B")])
    repl_pair.variant("ask/C", args={"to": "c"})

    async def all_at_once():
        return await asyncio.gather(*(repl_pair.arun(f"ask/{name}") for name in "ABC"))

    records = asyncio.run(all_at_once())
    assert [r.result for r in records[:2]] == [[*"12345"], ["B"] * 5]
    for record, to in zip(records, "abc", strict=True):
        assert [e.payload for e in record.effects] == [{"to": to}] * 5
        assert [e.stubbed for e in record.effects] == [to != "c"] * 5
    assert sent == ["c"] * 5


def test_a_run_within_a_run_has_effects_of_its_own(sent):
    repl_pair.variant("post/Inner")
    repl_pair.story("outer", component=lambda: repl_pair.run("post/Inner").effects[0].stubbed)
    record = stubbed(forced("mail/send", response=0), name="outer/A")
    assert (record.result, record.effects) == (False, ())


AGENTS = Origin(key="agent:someone", label="agent", line=0)


@pytest.mark.parametrize(
    "write",
    [
        lambda: repl_pair.decorator("d", kind="fx_override", effect="os.system", response=1),
        lambda: repl_pair.decorator(
            "d", kind="fx_override", effect="a", response={"$raise": "shop.Error"}
        ),
        lambda: repl_pair.variant("post/D", decorators=[forced("os.system", response=1)]),
        lambda: repl_pair.variant(
            "post/D", decorators=[forced("a", responses=[1, {"$raise": "shop.Error"}])]
        ),
        lambda: repl_pair.story("d", component=print, decorators=[forced("os.system", response=1)]),
    ],
)
def test_what_an_agent_registers_names_no_python(sent, write):
    with entering_from(AGENTS), pytest.raises(AuthoringError, match="an agent names") as refused:
        write()
    assert refused.value.code == "bad_body"
    assert not REGISTRY.find("decorator", "d")
    assert not REGISTRY.find("variant", "post/D")
    assert not REGISTRY.find("story", "d")


def test_what_an_agent_registers_may_answer_for_effects_and_raise_what_is_built_in(sent):
    late = {"$raise": "TimeoutError"}
    with entering_from(AGENTS):
        repl_pair.variant("post/D", decorators=[forced("mail/send", response=late)])
    assert repl_pair.run("post/D").status == "error"


@pytest.fixture
def paid():
    @effect.impl("pay")
    def pay(code: Annotated[str, Sensitive], n: int = 1) -> Annotated[str, Sensitive]:
        return "8812"

    repl_pair.story("shop", component=lambda: len(effect("pay", code="4419", n=2)))


def test_what_an_implementation_declares_secret_is_secret_in_the_effects_of_a_record(paid):
    repl_pair.variant("shop/A")
    assert repl_pair.run("shop/A", check=True).sensitive == (
        ("effects", "0", "payload", "code"),
        ("effects", "0", "response"),
    )
    repl_pair.variant("shop/B", decorators=[forced("pay", response="8813")])
    assert ("effects", "0", "payload", "code") in repl_pair.run("shop/B").sensitive


def charge(code: Annotated[str, Sensitive]):
    """Take money."""


def test_what_a_stubbed_python_function_declares_secret_is_secret_too():
    repl_pair.story("shop", component=lambda: charge("4419"))
    repl_pair.variant("shop/A", decorators=[forced(f"{__name__}.charge", response=1)])
    record = repl_pair.run("shop/A", check=True)
    assert record.sensitive == (("effects", "0", "payload", "code"),)


@pytest.mark.parametrize("code", ["4419", "4420"])
def test_an_agent_cannot_guess_what_was_emitted_in_secret(code):
    effect.impl("pay")(charge)
    repl_pair.story("shop", component=lambda: effect("pay", code="4419"))
    with entering_from(agent_origin("x")):
        repl_pair.variant("shop/A", play=[check.effect_emitted("pay", code=code)])
    record = repl_pair.run("shop/A")
    assert (record.status, record.assertions) == ("cannot_run", ())
    assert code not in record.reason
