"""What the controls and their script send each other; the script holds the same shapes."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from repl_pair.panels.base.context import RunState


class FieldShape(TypedDict):
    """One arg, or one part of one, in `fields`; `options` are texts."""

    path: Sequence[str]
    control: str
    type: str
    doc: str
    is_nullable: bool
    is_required: bool
    options: Sequence[str]
    least: float | None
    most: float | None
    step: float | None
    fields: "Sequence[FieldShape]"


class FieldState(TypedDict):
    """What a field shows: a `value`, or a `note` where an input can only replace it.

    `none` is Python's None, `set` is false where no layer gives a value. A secret has no value.
    """

    path: Sequence[str]
    edited: bool
    none: bool
    set: bool
    value: NotRequired[Any]
    note: NotRequired[str]
    long: NotRequired[bool]
    fault: NotRequired[str]


class RunStatus(RunState):
    """How the last run ended, if there was one, and whether another runs or waits."""

    running: bool


class FormState(RunStatus):
    """What all fields show, how many are edited, and a fault that is about no field."""

    values: Sequence[FieldState]
    edited: int
    fault: str


class Form(FormState):
    """The form of a variant; without fields where there is none: `fault` is why."""

    variant: str | None
    runs_on_change: bool
    fields: Sequence[FieldShape]


class Code(TypedDict):
    """A call that runs this, as Python; `odd` names what has to be filled in first."""

    text: str
    odd: Sequence[str]


class Refusal(TypedDict):
    """Why a run was refused; `path` is the field that it is about, empty for none."""

    path: Sequence[str]
    text: str


class ControlsPatch(TypedDict, total=False):
    """The form has to be read again; a run began, ended or was refused."""

    form: None
    status: RunStatus
    refused: Refusal
