"""Settings of the process that a run changes: they are the person's again when it ends."""

import asyncio

import pytest
from bounds import BOUND_S

from repl_pair.wire import View

pytestmark = pytest.mark.anyio

AGENT = View(principal="agent", access=frozenset({"read", "run", "eval"}))
STORIES = """
import asyncio, gc, io, logging, logging.config, os, random, signal, sys, tempfile, warnings
import repl_pair

def cwd(): os.chdir(tempfile.gettempdir())
def environ(): os.environ.update(MINE="run", NEW="run"); del os.environ["GONE"]
def recursion_limit(): sys.setrecursionlimit(12_345)
def collecting(): gc.disable(); gc.set_threshold(1, 1, 1)
def tracing(): sys.settrace(lambda *_: None); sys.setprofile(lambda *_: None)
def streams(): sys.stdout = io.StringIO(); sys.stderr = open(os.devnull, "w"); print("x")
def closing():
    with sys.stdout: pass
def signals(): signal.signal(signal.SIGTERM, signal.SIG_IGN)
def logs_off(): logging.disable(logging.CRITICAL)
def logs_set(): logging.config.dictConfig({"version": 1, "root": {"level": 9, "handlers": []}})
def seed(): random.seed(1); random.random()
def gauss(): return random.gauss()
def numpy_seed(): numpy.random.seed(1); return numpy.random.rand(3).tolist()
def numpy_draw(): return numpy.random.standard_normal()
def numpy_generator(): numpy.random.set_bit_generator(numpy.random.PCG64(1))
def options(): pandas.set_option("display.max_rows", 3, "display.html.border", 9)
def style(): pyplot.style.use("ggplot"); pyplot.rcParams["font.family"].append("mono")
def backend(): pyplot.switch_backend("svg"); pyplot.ion()
def raises(): os.environ["MINE"] = "run"; pyplot.rcParams["lines.linewidth"] = 9; 1 / 0
def nothing(): return sum(numpy.arange(3))
async def awaits(): os.environ["MINE"] = "run"; await asyncio.sleep(0.05)
def hangs():
    os.environ["MINE"] = "run"
    while True: pass

WAYS = (
    cwd, environ, recursion_limit, collecting, tracing, streams, closing, signals,
    logs_off, logs_set, seed, gauss, numpy_seed, numpy_draw, numpy_generator, options, style,
    backend, raises, nothing, awaits, hangs,
)
for way in WAYS:
    repl_pair.story(f"sets.{way.__name__}", thread_safe=True, component=way)
    repl_pair.variant(f"sets.{way.__name__}/It")
"""
LIBRARIES = """
logging.root.addHandler(logging.StreamHandler())
logging.getLogger("mine")
import matplotlib, matplotlib.pyplot as pyplot, numpy, pandas
os.environ.update(MINE="person", GONE="person")
pandas.set_option("display.max_rows", 17)
pyplot.rcParams["figure.figsize"] = (3.0, 2.0)
numpy.random.seed(7); random.seed(7); gc.set_threshold(701, 11, 9);
"""
# Reads all, draws from none; with what the next draws will be.
LOOK = """
def look():
    return list(map(repr, [
        os.getcwd(), sorted(os.environ.items()), sys.getrecursionlimit(), gc.isenabled(),
        gc.get_threshold(), sys.gettrace(), sys.getprofile(), random.getstate(),
        sys.stdout, sys.stderr, sys.stdout.closed, signal.getsignal(signal.SIGTERM),
        logging.root.manager.disable, logging.root, logging.root.handlers,
        logging.getLogger("mine").disabled, logging.getLogger("mine").isEnabledFor(9),
        random._inst.gauss_next, numpy.random.get_state(legacy=False),
        pandas._config.config._global_config, sorted(dict.items(matplotlib.rcParams)),
        matplotlib.get_backend(), pyplot.get_backend(),
    ]))
before = look()
"""
DIFFERENCE = "[(was, now) for was, now in zip(before, look()) if was != now]"
TOLD = {
    "cwd": ["cwd"],
    "environ": ["environ"],
    "recursion_limit": ["recursion limit"],
    "collecting": ["gc"],
    "tracing": ["trace functions"],
    "streams": ["standard streams"],
    "closing": ["standard streams"],
    "signals": ["signals"],
    "logs_off": ["logging"],
    "logs_set": ["logging"],
    "seed": ["random"],
    "gauss": ["random"],
    "numpy_seed": ["numpy.random"],
    "numpy_draw": ["numpy.random"],
    "numpy_generator": ["numpy.random"],
    "options": ["pandas options"],
    "style": ["matplotlib rcParams"],
    "backend": ["matplotlib rcParams"],
    "raises": ["environ", "matplotlib rcParams"],
    "nothing": None,
    "awaits": ["environ"],
}


@pytest.fixture
def at_desk(person):
    """Runs a cell of the person's: `await at_desk(code)` gives its value."""

    async def run(code):
        return (await asyncio.to_thread(person.run, code)).value

    return run


async def run(link, way, by="run_variant", **args):
    wait = "await " * (way == "awaits")
    what = {"variant_id": f"sets.{way}/It"} if by == "run_variant" else {"code": f"{wait}{way}()"}
    reply = await link.request(by, {**what, **args}, view=AGENT, timeout_s=BOUND_S)
    assert reply["ok"], str(reply)
    return reply["result"]


@pytest.mark.parametrize("by", ["run_variant", "eval_code"])
async def test_a_run_on_the_main_lane_gives_back_every_setting_and_names_it(link, at_desk, by):
    await at_desk(STORIES + LIBRARIES)
    await run(link, "nothing")  # IPython draws a tip from `random` when somebody attaches
    await at_desk(LOOK)
    for _ in range(2):
        heard = {way: (await run(link, way, by)).get("restored") for way in TOLD}
        assert heard == TOLD
        assert await at_desk(DIFFERENCE) == "[]"
    stopped = await run(link, "hangs", by, timeout_s=0.2)
    assert stopped["status"] == "error"
    assert await at_desk("repl_pair.run('sets.style/It').restored") == "('matplotlib rcParams',)"
    assert await at_desk("(await repl_pair.arun('sets.awaits/It')).restored") == "('environ',)"
    assert await at_desk(DIFFERENCE) == "[]"


async def test_what_the_person_sets_between_runs_stays_and_their_numbers_go_on(link, at_desk):
    await at_desk(STORIES + LIBRARIES)
    await run(link, "nothing")
    rows = "pandas.get_option('display.max_rows')"
    drawn = f"[random.random(), numpy.random.rand(), random.gauss(), {rows}]"
    again = "numpy.random.seed(7); random.seed(7)"
    alone = await at_desk(f"{again}; a = {drawn}; b = {drawn}; [a, b]")
    await at_desk(again)
    assert (await run(link, "seed"))["status"] == "pass"
    await at_desk(f"a = {drawn}; os.environ['MINE'] = 'later'; os.chdir('/')")
    for way in ("numpy_seed", "gauss", "environ", "cwd", "options"):
        assert (await run(link, way))["status"] == "pass"
    assert await at_desk(f"b = {drawn}; [a, b]") == alone
    assert await at_desk("[os.environ['MINE'], os.getcwd()]") == "['later', '/']"


CONTEXT = """
import contextvars, decimal
MODE = contextvars.ContextVar("mode", default="none")
def seen(): return [MODE.get(), decimal.getcontext().prec, numpy.geterr()["divide"]]
def context():
    before = seen()
    MODE.set("run"); decimal.getcontext().prec = 2; numpy.seterr(divide="ignore")
    return before
repl_pair.story("sets.context", component=context)
repl_pair.variant("sets.context/It")
"""


@pytest.mark.parametrize(("by", "slot"), [("run_variant", "result"), ("eval_code", "value")])
async def test_an_agents_code_has_the_context_variables_of_the_cells_and_a_copy_of_them(
    link, at_desk, by, slot
):
    await at_desk(STORIES + LIBRARIES + CONTEXT)
    await run(link, "nothing")
    await at_desk("MODE.set('mine'); decimal.getcontext().prec = 6; numpy.seterr(divide='raise')")
    nested = "MODE.set('agent'); get_ipython().run_cell('1')"
    await link.request("eval_code", {"code": nested}, view=AGENT)
    for _ in range(2):
        assert (await run(link, "context", by))[slot] == ["mine", 6, "raise"]
    assert await at_desk("seen()") == "['mine', 6, 'raise']"


async def test_the_context_of_cells_is_not_kept_once_a_cell_empties_the_callbacks(link, at_desk):
    await at_desk(STORIES + LIBRARIES + CONTEXT)
    await run(link, "nothing")
    await at_desk("MODE.set('before')")
    assert (await run(link, "context"))["result"][0] == "before"
    await at_desk("get_ipython().events.callbacks['post_run_cell'].clear()")
    await at_desk("MODE.set('later')")
    await at_desk("1")
    assert (await run(link, "context"))["result"][0] == "later"


async def test_a_library_that_a_run_imports_first_is_as_its_import_leaves_it(link, at_desk):
    await at_desk("""
import repl_pair, sys
def imports():
    import matplotlib.pyplot as pyplot, numpy, pandas
    pyplot.style.use("ggplot")
    pandas.set_option("display.max_rows", 3)
    numpy.random.seed(0)
    return numpy.random.rand()
repl_pair.story("sets.imports", component=imports)
repl_pair.variant("sets.imports/It")
""")
    assert (
        await at_desk("[name in sys.modules for name in ('numpy', 'pandas')]") == "[False, False]"
    )
    ran = await run(link, "imports")
    assert ran["restored"] == ["numpy.random", "pandas options", "matplotlib rcParams"]
    look = """
import matplotlib, numpy, pandas
[matplotlib.rcParams["axes.facecolor"], pandas.get_option("display.max_rows"), numpy.random.rand()]
"""
    seen = await at_desk(look)
    assert seen.startswith("['white', 60, "), seen
    assert f"{ran['result']}" not in seen


async def test_a_run_beside_a_cell_or_across_cells_restores_nothing_of_the_persons(link, at_desk):
    await at_desk(STORIES + LIBRARIES)
    ran = await run(link, "environ", lane="worker")
    assert "restored" not in ran
    assert await at_desk("os.environ['MINE']") == "'run'"
    await at_desk("task = asyncio.create_task(repl_pair.arun('sets.awaits/It'))")
    await at_desk("os.environ['MINE'] = 'cell'; await task")
    assert await at_desk("[os.environ['MINE'], task.result().restored]") == "['cell', ()]"
