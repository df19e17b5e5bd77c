"""What an agent would be answered, for the person to see: no agent asked, and none is recorded."""

from collections.abc import Mapping
from typing import Any

from repl_pair.errors import ReplPairError, defect
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.kernel.packaging import package, refuse
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.descriptors import check_call
from repl_pair.runtime.op_base.table import TABLE
from repl_pair.runtime.secrets.known import CallSecrets, within
from repl_pair.wire import AGENT, Reply, View

_HANDLE = "h-…"
"""Stands for a handle: nothing is kept, or the room of the agents' own would be taken."""


def answer_as_agent(op: str, args: Mapping[str, Any], access: frozenset[str]) -> Reply:
    """Return the reply that an agent with this access would get; runs the op on this thread.

    For ops of access read and inspect: they change nothing, and take no turn of the main lane.
    """
    view = View(principal=AGENT, access=access)
    found = TABLE.find(op, view)
    assert found.access in ("read", "inspect"), found.access
    call = Call(view=view, secrets=CallSecrets(AGENT))
    job = Job(op=found, args=dict(args), call=call, reply=lambda _reply: None)
    try:
        with within(call.secrets):
            value = found.fn(**check_call(found, args, view), **{found.context or "call": call})
    except ReplPairError as error:
        return refuse(error, job=job)
    except Exception as error:  # noqa: BLE001  the caller must get an answer even then
        return refuse(defect(found.name, error), job=job)
    return package(job, value, keep=lambda _whole: _HANDLE)
