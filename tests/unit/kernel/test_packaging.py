"""Replies: what leaves the kernel with an op's value."""

import repl_pair
from repl_pair.errors import defect
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.kernel.packaging import package
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.secrets.handles import HANDLES
from repl_pair.wire import View

AGENT = View(principal="agent", tier="agent")
HIDDEN = "shop.price/Hidden"


def test_what_is_kept_to_be_read_on_has_no_names_out_of_view():
    repl_pair.story("shop.price", component=lambda: 1)
    repl_pair.variant(HIDDEN, tier="user")
    call = Call(view=AGENT)
    job = Job(op=TABLE.find("list_tags", AGENT), args={}, call=call, reply=print)
    value = {"conflicts": [f"{n}: variant {HIDDEN!r} is of no use" for n in range(500)]}
    answer = package(job, value)["result"]["conflicts"]
    kept = HANDLES.read(answer[-1]["$elided"]["handle"], 0, 500, "agent")
    assert kept["total"] == 500
    assert HIDDEN not in str(answer) + str(kept)
    assert "variant 'hidden' is of no use" in kept["items"][-1]


def test_a_defect_is_reported_though_its_exception_has_no_text():
    class WithoutWordsError(Exception):
        def __str__(self):
            raise RuntimeError

    found = defect("list_variants", WithoutWordsError())
    assert (found.code, found.message) == (
        "internal",
        "list_variants failed: WithoutWordsError: <unreadable>",
    )
