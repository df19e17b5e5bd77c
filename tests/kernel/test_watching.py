"""Watches and recordings beside a person who works: cells that run again, leave, and dispatch."""

import asyncio
import time

import pytest
from bounds import BOUND_S

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View, raise_for_error

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent")
WRITER = View(principal="agent", access=frozenset({"read", "run", "write"}))

STORY = """
import repl_pair
from repl_pair.runtime.registry.cells import CELLS
ran = []
@repl_pair.story("shop")
def shop(n: int = 1):
    ran.append((n, CELLS.current is None))
    print("shop runs")
    return n
"""
REDEFINED = """
def shop(n: int = 1):
    ran.append((-n, CELLS.current is None))
    return -n
"""
CART = """
import repl_pair
class Cart:
    def __init__(self): self.items = []
    def add(self, sku): self.items.append(sku)
repl_pair.story("cart", component=Cart, state=lambda cart: list(cart.items))
repl_pair.variant("cart/Empty")
"""
LEFT = """
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.clients.own_calls import OWN_CALLS
print(len(CELLS._at_end), len(OWN_CALLS._held), OWN_CALLS.has_handler)
"""


class Notebook:
    """A notebook in a front end that names its cells, and an agent beside it."""

    def __init__(self, person, link):
        self.person = person
        self.link = link

    async def run(self, code, cell=None, *, status="ok"):
        """Run a cell as JupyterLab sends it."""
        content = {"code": code, "silent": False, "allow_stdin": True, "stop_on_error": True}
        metadata = {"cellId": cell} if cell else {}
        session, shell = self.person._session, self.person._shell
        sent = session.send(shell, "execute_request", content, metadata=metadata)
        ran = await asyncio.to_thread(self.person.finish, sent["header"]["msg_id"])
        assert ran.reply["status"] == status, ran.reply
        return ran

    async def ask(self, op, view=AGENT, **args):
        return await self.link.request(op, args, view=view, timeout_s=BOUND_S)

    async def get(self, op, **args):
        return raise_for_error(await self.ask(op, **args))

    async def printed(self, code):
        return (await self.run(code)).text.strip()

    async def until(self, code, wanted):
        """Run a cell until it prints what is wanted."""
        until, last = time.monotonic() + BOUND_S, None
        while time.monotonic() < until:
            last = await self.printed(code)
            if last == wanted:
                return
            await asyncio.sleep(0.02)
        pytest.fail(f"{code} printed {last}, never {wanted}")

    async def results(self, since, *, quiet=False):
        """Return the ids of the results since, once there is one, or after a quiet while."""
        until = time.monotonic() + (1.0 if quiet else BOUND_S)
        found = []
        while not found and time.monotonic() < until:
            changes = await self.get("read_changes", since=since, wait_s=1.0)
            since = changes["next"]
            found += [i["id"] for i in changes["items"] if i["member"] == "results"]
        return found


@pytest.fixture
async def notebook(person, link):
    notebook = Notebook(person, link)
    until = time.monotonic() + BOUND_S
    while not (reply := await notebook.ask("ping"))["ok"]:
        assert time.monotonic() < until, reply
    return notebook


async def test_a_cell_that_runs_again_runs_what_it_changed_once_and_behind_itself(notebook):
    await notebook.run(STORY, "story")
    await notebook.run("repl_pair.variant('shop/A', args={'n': 2})", "variant")
    begun = await notebook.ask("watch_variant", variant_id="shop/A")
    many = "\n".join(f"repl_pair.variant('shop/A', args={{'n': {n}}})" for n in range(3, 30))
    ran = await notebook.run(f"{many}\nprint('mine')", "variant")
    assert ran.text == "mine\n"
    assert await notebook.results(begun["seq"]) == ["shop/A"]
    await notebook.until("print(ran)", "[(29, True)]")
    status = (await notebook.get("read_assertions", variant_id="shop/A"))["status"]
    assert status == "pass"


async def test_redefining_a_function_runs_what_is_watched_and_what_is_cosmetic_does_not(notebook):
    await notebook.run(STORY, "story")
    await notebook.run("repl_pair.variant('shop/A', args={'n': 2}, tags=['test'])", "a")
    begun = await notebook.ask("watch_variant", tags=["test"])
    assert begun["result"]["items"] == ["shop/A"]
    await notebook.run("repl_pair.variant('shop/A', args={'n': 2}, tags=['test'], doc='x')", "a")
    await notebook.run(STORY.replace("    print(", "\n    # a comment\n    print("), "story")
    assert await notebook.results(begun["seq"], quiet=True) == []
    await notebook.run(REDEFINED, "another")
    await notebook.until("print(ran)", "[(-2, True)]")
    await notebook.run(REDEFINED.replace("return -n", "return n") + "1 / 0", "it", status="error")
    await notebook.until("print(ran)", "[(-2, True), (-2, True)]")
    await notebook.run("repl_pair.variant('shop/B', args={'n': 3}, tags=['test'])", "b")
    await notebook.until("print(ran)", "[(-2, True), (-2, True), (-3, True)]")


async def test_leaving_takes_the_watches_out(notebook, kernel):
    await notebook.run(STORY + "%load_ext repl_pair\n%pair attach", "story")
    await notebook.run("repl_pair.variant('shop/A', args={'n': 2})", "variant")
    other = KernelLink(find_kernel(str(kernel.path)), principal="other")
    view = View(principal="other")
    asked = {"variant_id": "shop/A"}
    raise_for_error(await other.request("watch_variant", asked, view=view, timeout_s=BOUND_S))
    await notebook.get("watch_variant", variant_id="shop/A")
    assert await notebook.printed(LEFT) == "2 4 True"  # notices are followed too
    await other.close()
    await notebook.until(LEFT, "2 2 True")
    await notebook.link.close()
    await notebook.until(LEFT, "1 0 True")
    await notebook.run(REDEFINED, "another")
    assert await notebook.printed("print(ran)") == "[]"


async def test_the_person_watches_without_any_agent(person):
    notebook = Notebook(person, None)
    await notebook.run(STORY, "story")
    await notebook.run(
        "repl_pair.variant('shop/A', args={'n': 2}); told = []\n"
        "undo = repl_pair.watch('shop/A', told.append)",
        "variant",
    )
    await notebook.run(REDEFINED, "another")
    await notebook.until("print(ran, [r.status for r in told])", "[(-2, True)] ['pass']")
    await notebook.run("undo()")
    assert await notebook.printed(LEFT) == "0 0 False"
    await notebook.run("repl_pair.watch('shop/A')\n%load_ext repl_pair")
    assert await notebook.printed(LEFT) == "1 1 False"
    await notebook.run("%pair detach")
    assert await notebook.printed(LEFT) == "0 0 False"


async def test_the_person_dispatches_in_cells_while_an_agent_records(notebook):
    await notebook.run(CART.replace('repl_pair.variant("cart/Empty")', ""), "story")
    await notebook.run("repl_pair.variant('cart/Empty')", "variant")
    await notebook.run("live = repl_pair.live('cart/Empty')", "live")
    seen = asyncio.Event()
    recording = asyncio.create_task(
        notebook.link.request(
            "record_as_variant",
            {
                "variant_id": "cart/Empty",
                "new_variant_id": "cart/Two",
                "duration_ms": 6000,
                "write_back": True,
            },
            view=WRITER,
            timeout_s=BOUND_S,
            on_progress=lambda _shown: seen.set(),
        )
    )
    await asyncio.wait_for(seen.wait(), BOUND_S)
    for sku in ("a", "b"):
        await notebook.run(f"live.dispatch('add', sku={sku!r})", "dispatch")
    answer = raise_for_error(await recording)
    assert (answer["count"], answer["live_objects"]) == (2, 1)
    assert (answer["written_back"], "agent" in answer["origin"]) == (True, True)
    await notebook.run(answer["source"].replace("cart/Two", "cart/Three"), "recorded")
    for variant_id in ("cart/Two", "cart/Three"):
        ran = await notebook.get("run_variant", variant_id=variant_id, detail="full")
        assert (ran["status"], ran["state"]) == ("pass", ["a", "b"])
    left_out = await notebook.run("1", "variant")
    assert "cart/Empty was closed: its variant is no longer registered" in left_out.text
    assert await notebook.printed("print(live.is_open)") == "False"
