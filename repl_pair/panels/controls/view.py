"""The controls panel: the args of the variant in focus, as a form."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import ReplPairError, RequestError
from repl_pair.panels.base.context import FOCUS, RUNNING, Focus, PanelContext, run_state
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import View
from repl_pair.panels.controls import messages
from repl_pair.panels.controls.fields import Field, Path
from repl_pair.panels.controls.form import (
    Form,
    edit,
    find_fault,
    form_of,
    is_edited,
    reset,
    value_at,
)
from repl_pair.panels.controls.form_values import fault_in, read
from repl_pair.panels.controls.saving import save_variant, write_run
from repl_pair.runtime.results.last_results import RESULTS
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, table
from repl_pair.runtime.values.frozen import Secret
from repl_pair.wire import Reply

_MEMBERS = frozenset({"registry/story", "registry/variant", "registry/mode", "global_args"})
EMPTY = "Choose a variant to edit its args."


class ControlsView(View[messages.ControlsPatch]):
    """The args of the variant in focus: edit them, run with them, keep them.

    Typed text is read, and never evaluated; a secret is taken, and never sent back.
    """

    name = "controls"
    title = "Controls"
    placement = "right"

    def __init__(
        self, context: PanelContext, send: Callable[[messages.ControlsPatch], None]
    ) -> None:
        super().__init__(context, send)
        self._faults: dict[Path, str] = {}
        self._typed: dict[Path, Any] = {}
        self._variant: str | None = None
        self._sent: Focus | None = None
        self.runs_on_change = False
        self._run_next: str | None = None
        """The variant that was edited while it ran."""

    def on_form(self) -> messages.Form:
        """Return the fields, their values, and the faults."""
        focus = self._sent = self.context.focus
        if focus.variant != self._variant:
            self._variant, self._run_next = focus.variant, None
            self._forget()
        form, fault = self._find_form()
        if form is not None:
            for place in [place for place in self._faults if place not in form.parts]:
                self._forget(place)
        nothing: messages.FormState = {"values": [], "edited": 0, "fault": fault, **self._status()}
        return {
            "variant": focus.variant,
            "runs_on_change": self.runs_on_change,
            "fields": [] if form is None else [part.to_json() for part in form.fields],
            **(nothing if form is None else self._state(form)),
        }

    def on_edit(
        self, variant: str, path: Sequence[str], raw: Any = None, none: bool = False
    ) -> messages.FormState:
        """Take what was typed into one field; what does not fit stays there, with its fault."""
        place, form = tuple(path), self._form_of(variant)
        part = form.parts[place]
        try:
            value = None if none else self._read(part, raw)
        except (ValueError, LookupError) as error:
            return self._refuse(form, place, raw, str(error))
        return self._take(form, place, value, raw)

    def on_reset(self, variant: str, path: Sequence[str] | None = None) -> messages.FormState:
        """Take back one edit, or all."""
        form, place = self._form_of(variant), tuple(path or ())
        self._forget(place)
        self._set_overrides(reset(form, self.context.focus.overrides, place) if place else {})
        return self._state(form)

    def on_run(self, variant: str) -> messages.RunStatus:
        """Run with the edits; RequestError `bad_arguments` while a field has a fault."""
        self._form_of(variant)
        self.context.run_focus(done=self._report)
        return self._status()

    def on_options(self, runs_on_change: bool) -> None:
        """Run after each edit that fits, or only when the person asks for it."""
        self.runs_on_change = bool(runs_on_change)

    def on_code(self, variant: str) -> messages.Code:
        """Return the call that runs this, as Python."""
        self.check_focus(variant)
        return write_run(self.context.focus)

    def on_save(self, variant: str, name: str) -> str:
        """Register the edits as a variant that extends this one, and focus on it.

        RequestError `bad_arguments` where an edit is refused.
        """
        self._form_of(variant)
        if self.context.refusal:
            raise RequestError("bad_arguments", self.context.refusal)
        id = save_variant(self.context.focus, name.strip())
        self.context.set_focus(replace(self.context.focus, variant=id, overrides={}, moment=None))
        return id

    def handle_changes(self, changes: Changes) -> None:
        """Report a form that changed elsewhere; an edit of this panel is shown already."""
        if (FOCUS in changes and self.context.focus is not self._sent) or _MEMBERS & changes.keys():
            self.send({"form": None})
        if RUNNING in changes or RESULTS.name in changes:
            if self._run_next == self.context.focus.variant is not None:
                self._run_soon()
            self.send({"status": self._status()})

    def text(self) -> Markdown:
        """Return the args with their types and values."""
        focus, (form, fault) = self.context.focus, self._find_form()
        if form is None:
            return Markdown(prose(fault))
        rows = [_row(form, part, focus.overrides) for part in form.leaves.values()]
        head = f"Args of {code(focus.variant or '')}"
        return Markdown("\n\n".join((head, table(("arg", "type", "value", "edited"), rows))))

    def close(self) -> None:
        """Drop the faults, which keep the focus from being run."""
        self.context.refusal = ""

    def _find_form(self) -> tuple[Form | None, str]:
        """Return the form in focus, or why there is none."""
        if self.context.focus.variant is None:
            return None, EMPTY
        try:
            return form_of(self.context.focus), ""
        except ReplPairError as error:
            return None, error.message

    def _form_of(self, variant: str) -> Form:
        """Return the form in focus; RequestError `bad_arguments` where it is not of `variant`."""
        self.check_focus(variant)
        return form_of(self.context.focus)

    def _read(self, part: Field, raw: Any) -> Any:
        if part.control != "secret":
            return read(part, raw)
        kind = str(part.schema.get("type", ""))
        control = {"array": "json", "object": "json"}.get(kind, "text")
        try:
            return Secret(read(replace(part, control=control), raw))
        except ValueError:  # whose text may hold what was typed
            raise ValueError(f"This does not fit {part.type}.") from None

    def _take(self, form: Form, place: Path, value: Any, raw: Any) -> messages.FormState:
        overrides = edit(form, self.context.focus.overrides, place, value)
        if fault := find_fault(self.context.focus, form, overrides, place):
            return self._refuse(form, fault[0], raw, fault[1])
        self._forget(place)
        self._set_overrides(overrides)
        if self.runs_on_change:
            self._run_soon()
        return self._state(form)

    def _run_soon(self) -> None:
        """Run what fits, now or once the current run has ended: edits do not queue up."""
        if self.context.refusal:
            return
        variant = self.context.focus.variant
        self._run_next = variant if variant in self.context.running else None
        if self._run_next is None:
            self.context.run_focus(done=self._report)

    def _refuse(self, form: Form, place: Path, raw: Any, fault: str) -> messages.FormState:
        self._faults[place] = fault
        part = form.leaves.get(place)
        if part is not None and part.control != "secret":
            self._typed[place] = raw
        self._set_refusal()
        return self._state(form)

    def _set_overrides(self, overrides: Mapping[str, Any]) -> None:
        self._sent = replace(self.context.focus, overrides=overrides)
        self.context.set_focus(self._sent)

    def _forget(self, path: Path = ()) -> None:
        """Forget what did not fit, at a path and below."""
        for kept in (self._faults, self._typed):
            for place in [p for p in kept if p[: len(path)] == path]:
                del kept[place]
        self._set_refusal()

    def _set_refusal(self) -> None:
        faults = (f"{'.'.join(path)}: {fault}" for path, fault in self._faults.items())
        self.context.refusal = "; ".join(faults)

    def _state(self, form: Form) -> messages.FormState:
        overrides = self.context.focus.overrides
        gone = ", ".join(name for name in overrides if (name,) not in form.parts)
        values: list[messages.FieldState] = []
        for path in form.parts:
            values.append(state := value_at(form, path, overrides))
            if path in self._faults:
                state["fault"] = self._faults[path]
            if path in self._typed:
                state["value"] = self._typed[path]
        return {
            "values": values,
            "edited": sum(is_edited(form, path, overrides) for path in form.leaves) + bool(gone),
            "fault": gone and f"Edited, and no field any more: {gone}. Reset all takes that back.",
            **self._status(),
        }

    def _status(self) -> messages.RunStatus:
        variant = self.context.focus.variant
        return {"running": variant in self.context.running, **run_state(self.context.last_run)}

    def _report(self, reply: Reply) -> None:
        """Send the reason of a run that was refused, with the field that it is about."""
        about = reply["result"] if reply["ok"] else reply["error"]
        if reply["ok"] and about.get("status") != "cannot_run":
            return
        text = str(about.get("message") or about.get("reason") or "")
        form, _ = self._find_form()
        places = [] if form is None else list(form.parts)
        place = fault_in(RequestError("cannot_run", text), places)
        self.send({"refused": {"path": list(place or ()), "text": text}})


def _row(form: Form, part: Field, overrides: Mapping[str, Any]) -> Sequence[str]:
    state = value_at(form, part.path, overrides)
    value = state.get("value", state.get("note", "none" if state["none"] else "not given"))
    if part.control == "secret" and state["set"]:
        value = "[redacted]"
    elif part.options and "value" in state:
        value = part.options[int(value)]
    name = ".".join(part.path)
    return code(name), cell(part.type), cell(str(value)), "edited" if state["edited"] else ""
