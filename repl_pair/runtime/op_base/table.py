"""The operation table: one function an operation, described by its own signature and docstring."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from importlib import import_module
from typing import Any, TypedDict, TypeVar

from repl_pair.errors import STEP_S, NextStep, RequestError, did_you_mean, next_step
from repl_pair.records import record, replace
from repl_pair.runtime.capture.own_threads import short_switch_interval
from repl_pair.runtime.clients.activity import CODE_PARAMETERS
from repl_pair.runtime.op_base.modules import MODULES
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.wire import ACCESS, LANES, PERSON, View

F = TypeVar("F", bound=Callable[..., Any])

Deadline = Callable[[Mapping[str, Any]], float | None]
"""Gives, from the args of a call, the seconds after which it is answered; None: no bound."""


class Preview(TypedDict):
    """What a call would do, as text for the person; `kind` is diff, list, code or call."""

    kind: str
    title: str
    text: str


@record
class Terms:
    """On which terms a call is taken, where its args decide that.

    `deadline_s` is None where the op's own deadline holds. `access` is what the call takes beyond
    the access of the op; only the person's approval gives it.
    """

    lane: str
    deadline_s: float | None = None
    access: frozenset[str] = frozenset()


TermsOf = Callable[[View, Mapping[str, Any]], Terms]
"""Gives, from view and args, the terms of a call; runs on the control thread."""
PreviewCall = Callable[[Mapping[str, Any], str], Preview]
"""Gives, from args and principal, what a call would change; real values, for the person only."""

READ_DEADLINE_S = 10.0
WAIT_S = 30.0
"""What a call waits for the main lane by default."""
MAX_WAIT_S = 50
"""The longest `wait_s` of an op that waits for something to happen."""
SPARE_S = 3.0
"""Time for the answer after such a wait."""


def _read_deadline(_args: Mapping[str, Any]) -> float | None:
    return READ_DEADLINE_S


def wait_deadline(args: Mapping[str, Any]) -> float:
    """Return the seconds that an op may take that waits for at most `wait_s`."""
    return max(READ_DEADLINE_S, float(args.get("wait_s", 0.0)) + SPARE_S)


def timeout_deadline(usual_s: float) -> Deadline:
    """Make the deadline of an op whose parameter `timeout_s` is `usual_s` by default."""
    return lambda args: float(args.get("timeout_s", usual_s))


def lane_terms(_view: View, args: Mapping[str, Any]) -> Terms:
    """Return the terms of an op whose parameter `lane` says where a call runs."""
    return Terms(lane=args.get("lane", "main"))


def steps_if_not_started(op: str, args: Mapping[str, Any]) -> list[NextStep]:
    """Return the next steps of a call that never got its turn: what keeps it, and it again."""
    return [next_step("kernel_status"), next_step(op, **{**args, "wait_s": STEP_S})]


@record
class Op:
    """One operation: a function, what it does to the kernel, and where it runs."""

    name: str
    fn: Callable[..., Any]
    doc: str
    access: str
    lane: str
    toolset: str
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    internal: bool = False
    persons: bool = False
    """Whether only the person may call it."""
    project: bool = False
    """Whether it needs the files of the project only: without a kernel another process answers."""
    context: str | None = None
    """The parameter that the host fills, as its class declares."""
    deadline: Deadline = _read_deadline
    unfinished: Callable[[Mapping[str, Any], Stop], Any] | None = None
    """Gives the answer, from args, of a call that never got its lane or was stopped."""
    stoppable: bool = True
    """Whether it may be stopped anywhere; else it ends by itself once `Call.cancelled` is set."""
    preview: PreviewCall | None = None
    """Shows the person who is asked what a call would change; without it they see its args."""
    terms: TermsOf | None = None
    check: Callable[..., Any] | None = None
    """Refuses a call that the op would refuse, before the person is asked for it.

    It takes the view and the args; that of an op of the bridge is awaited, and takes the call and
    the args.
    """

    def on_terms(self, terms: Terms | None) -> "Op":
        """Return the op as a call on these terms runs it."""
        if terms is None:
            return self

        def deadline(args: Mapping[str, Any]) -> float | None:
            return self.deadline(args) if terms.deadline_s is None else terms.deadline_s

        return replace(self, lane=terms.lane, deadline=deadline)


class Table:
    """A map of name to op.

    `modules` names the module of each op that is imported when the op is first asked for.
    """

    def __init__(self, modules: Mapping[str, str] | None = None) -> None:
        self._modules = modules or {}
        self._ops: dict[str, Op] = {}

    def op(
        self,
        *,
        access: str,
        toolset: str,
        lane: str = "worker",
        needs: Mapping[str, str] | None = None,
        internal: bool = False,
        persons: bool = False,
        project: bool = False,
        deadline: Deadline = _read_deadline,
        unfinished: Callable[[Mapping[str, Any], Stop], Any] | None = None,
        stoppable: bool = True,
        preview: PreviewCall | None = None,
        terms: TermsOf | None = None,
        check: Callable[..., Any] | None = None,
        code: str | None = None,
    ) -> Callable[[F], F]:
        """Register a function as an op; name, input schema and doc come from the function.

        `needs` maps a parameter to the further access that it takes; without that access the
        parameter does not exist. `persons` ops do not exist for an agent. `code` is the parameter
        whose whole text the person can read in the log of agents' calls. `project` ops are never
        stoppable: a stop could leave a transaction open.
        """
        assert access in ACCESS, access
        assert lane in LANES, lane

        def register(fn: F) -> F:
            name = fn.__name__
            if code is not None:
                CODE_PARAMETERS[name] = code
            hints = inspect.get_annotations(fn, eval_str=True)
            contexts = [n for n, hint in hints.items() if getattr(hint, "__op_context__", False)]
            self._ops[name] = Op(
                name=name,
                fn=fn,
                doc=inspect.getdoc(fn) or "",
                access=access,
                lane=lane,
                toolset=toolset,
                needs=dict(needs or {}),
                internal=internal,
                persons=persons,
                project=project,
                context=next(iter(contexts), None),
                deadline=deadline,
                unfinished=unfinished,
                stoppable=stoppable and not project,
                preview=preview,
                terms=terms,
                check=check,
            )
            return fn

        return register

    def get(self, name: str) -> Op | None:
        """Return the op of a name, whoever may call it; None if there is none."""
        if name not in self._ops and name in self._modules:
            with short_switch_interval():
                import_module(self._modules[name])
        return self._ops.get(name)

    def ops(self) -> list[Op]:
        """Return every op, sorted by name; imports the modules that are left."""
        names = sorted({*self._modules, *self._ops})
        return [op for op in map(self.get, names) if op is not None]

    def visible(self, view: View) -> dict[str, Op]:
        """Return the ops that the view may call."""
        return {op.name: op for op in self.ops() if _may_call(view, op)}

    def find(self, name: str, view: View) -> Op:
        """Return one op that the view may call.

        RequestError `not_found` otherwise; refused and unknown read the same.
        """
        op = self.get(name)
        if op is not None and _may_call(view, op):
            return op
        named = [n for n, op in self.visible(view).items() if not op.internal]
        raise RequestError("not_found", f"There is no op {name!r}.{did_you_mean(name, named)}")


def _may_call(view: View, op: Op) -> bool:
    return op.access in view.access and (view.principal == PERSON or not op.persons)


TABLE = Table(MODULES)
"""The ops of this kernel."""

op = TABLE.op
waiting_op = partial(op, access="read", lane="waiting", deadline=wait_deadline, stoppable=False)
"""Registers an op that waits for at most `wait_s`."""
main_op = partial(op, lane="main", stoppable=False)
