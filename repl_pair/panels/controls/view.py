"""The controls panel: the args of what is looked at, as a form."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import AuthoringError, ReplPairError, RequestError
from repl_pair.panels.base.context import FOCUS, RUNNING, Focus, PanelContext
from repl_pair.panels.base.panel_thread import Changes
from repl_pair.panels.base.view import Send, View
from repl_pair.panels.controls.fields import Field, Path
from repl_pair.panels.controls.form import (
    FORM,
    Form,
    edit,
    faults_of,
    form_of,
    is_edited,
    reset,
    value_at,
)
from repl_pair.panels.controls.form_values import fault_in, read
from repl_pair.panels.controls.saving import save_variant, without_overrides, write_run
from repl_pair.runtime.results.last import RESULTS, last_result
from repl_pair.runtime.results.markdown import Markdown, cell, code, prose, table
from repl_pair.runtime.values.frozen import Secret
from repl_pair.wire import Reply

_MATTERS = frozenset({"registry/story", "registry/variant", "registry/mode", "global_args"})
EMPTY = "Choose a variant to edit its args."


class ControlsView(View):
    """The args of the variant that is looked at: edit them, run with them, keep them.

    What is typed is read here and never evaluated; a secret is taken, and never given back.
    """

    name = "controls"
    title = "Controls"
    placement = "right"

    def __init__(self, context: PanelContext, send: Send) -> None:
        super().__init__(context, send)
        self._faults: dict[Path, str] = {}
        self._typed: dict[Path, Any] = {}
        self._variant: str | None = None
        self._told: Focus | None = None
        self.runs_on_change = False
        self._runs_again = False

    def on_form(self) -> Mapping[str, Any]:
        """Return the fields, what they hold, and what is wrong."""
        focus = self._told = self.context.focus
        if focus.variant != self._variant:
            self._variant = focus.variant
            self._forget()
        if focus.variant is None:
            return {"variant": None, "empty": EMPTY}
        about = {"variant": focus.variant, "runs_on_change": self.runs_on_change}
        try:
            form = form_of(focus)
        except ReplPairError as error:
            return about | {"fields": [], "values": [], "fault": error.message}
        return about | {"fields": [f.to_json() for f in form.fields]} | self._state(form)

    def on_edit(
        self, path: Sequence[str], raw: Any = None, none: bool = False
    ) -> Mapping[str, Any]:
        """Take what was typed into one field; what does not fit is told there and goes nowhere."""
        place, form = tuple(path), form_of(self.context.focus)
        part = form.leaves.get(place) or form.groups[place]
        try:
            value = None if none else self._read(part, raw)
        except (ValueError, LookupError) as error:
            return self._refuse(form, place, raw, str(error))
        return self._take(form, place, value, raw)

    def on_reset(self, path: Sequence[str] | None = None) -> Mapping[str, Any]:
        """Take back one edit, or all."""
        form, overrides = form_of(self.context.focus), self.context.focus.overrides
        kept = {} if path is None else reset(form, overrides, tuple(path))
        self._forget(None if path is None else tuple(path))
        self._look(kept)
        return self._state(form)

    def on_run(self) -> Mapping[str, Any]:
        """Run with the edits; with a fault in the form nothing is run."""
        self.context.run_focus(done=self._ran)
        return self.status()

    def on_options(self, runs_on_change: bool) -> None:
        """Run after each edit that fits, or only when told."""
        self.runs_on_change = bool(runs_on_change)

    def on_code(self) -> Mapping[str, Any]:
        """Return the call that runs this, as Python."""
        made = write_run(self.context.focus)
        return {"text": made.text, "odd": list(made.odd)}

    def on_save(self, name: str) -> str:
        """Register the edits as a variant that extends this one, and look at it."""
        if self.context.refusal:
            raise RequestError("bad_arguments", self.context.refusal)
        id = save_variant(self.context.focus, name.strip())
        self.context.set_focus(without_overrides(self.context.focus, id))
        return id

    def on_status(self) -> Mapping[str, Any]:
        """Return how the last run ended, and whether one is under way."""
        return self.status()

    def status(self) -> Mapping[str, Any]:
        """Describe how the last run ended, and whether one is under way."""
        variant = self.context.focus.variant
        found = None if variant is None else last_result(variant)
        said = {} if found is None else {"status": found.status, "total": found.total}
        return said | {"running": variant in self.context.running}

    def handle_changes(self, changes: Changes) -> None:
        """Draw anew what somebody else changed; an edit of this panel is shown already."""
        if (FOCUS in changes and self.context.focus is not self._told) or _MATTERS & changes.keys():
            self.send({"type": "form"})
        if RUNNING in changes or RESULTS.name in changes:
            self.send({"type": "status", **self.status()})

    def text(self) -> Markdown:
        """List the args with their types and what stands there now."""
        focus = self.context.focus
        if focus.variant is None:
            return Markdown(prose(EMPTY))
        form = form_of(focus)
        rows = [_row(form, part, focus.overrides) for part in form.leaves.values()]
        head = f"Args of {code(focus.variant)}"
        return Markdown("\n\n".join((head, table(("arg", "type", "value", "edited"), rows))))

    def close(self) -> None:
        """Keep nothing from being run any more."""
        self.context.refusal = ""

    def _read(self, part: Field, raw: Any) -> Any:
        if part.control != "secret":
            return read(part, raw)
        try:
            return Secret(read(replace(part, control=_plain_control(part)), raw))
        except ValueError:  # whose text may hold what was typed
            raise ValueError(f"This does not fit {part.type}.") from None

    def _take(self, form: Form, place: Path, value: Any, raw: Any) -> Mapping[str, Any]:
        overrides = edit(form, self.context.focus.overrides, place, value)
        edited = place if is_edited(form, place, overrides) else None
        try:
            faults = faults_of(self.context.focus, form, overrides, edited)
        except AuthoringError as error:
            faults = {place: error.message}
        if faults:
            (where, words), *_ = faults.items()
            return self._refuse(form, where if where != FORM else place, raw, words)
        self._forget(place)
        self._look(overrides)
        if self.runs_on_change and not self.context.refusal:
            self._run_soon()
        return self._state(form)

    def _run_soon(self) -> None:
        """Run now, or once the run that is under way has ended: edits do not queue up."""
        self._runs_again = self.context.focus.variant in self.context.running
        if not self._runs_again:
            self.context.run_focus(done=self._ran)

    def _refuse(self, form: Form, place: Path, raw: Any, words: str) -> Mapping[str, Any]:
        self._faults[place] = words
        part = form.leaves.get(place)
        if part is not None and part.control != "secret":
            self._typed[place] = raw
        self._blame()
        return self._state(form)

    def _look(self, overrides: Mapping[str, Any]) -> None:
        self._told = replace(self.context.focus, overrides=overrides)
        self.context.set_focus(self._told)

    def _forget(self, path: Path | None = None) -> None:
        """Forget what did not fit, at a path and below, or everywhere."""
        size = 0 if path is None else len(path)
        for kept in (self._faults, self._typed):
            for place in [p for p in kept if path is None or p[:size] == path]:
                del kept[place]
        self._blame()

    def _blame(self) -> None:
        self.context.refusal = "; ".join(f"{'.'.join(p)}: {w}" for p, w in self._faults.items())

    def _state(self, form: Form) -> dict[str, Any]:
        overrides = self.context.focus.overrides
        return {
            "values": [self._value(form, path, overrides) for path in (*form.leaves, *form.groups)],
            "edited": sum(is_edited(form, path, overrides) for path in form.leaves),
            "fault": self._faults.get(FORM, ""),
            **self.status(),
        }

    def _value(self, form: Form, path: Path, overrides: Mapping[str, Any]) -> Mapping[str, Any]:
        said = value_at(form, path, overrides)
        fault = {"fault": self._faults[path]} if path in self._faults else {}
        return said | fault | ({"value": self._typed[path]} if path in self._typed else {})

    def _ran(self, reply: Reply) -> None:
        """Put what kept the run from being done at the field that it is about."""
        if self._runs_again and not self.context.refusal:
            self._run_soon()
        said = reply["error"] if not reply["ok"] else reply["result"]
        words = str(said.get("message") or said.get("reason") or "")
        if reply["ok"] and said.get("status") != "cannot_run":
            return
        form = form_of(self.context.focus)
        place = fault_in(RequestError("cannot_run", words), [*form.leaves, *form.groups])
        self.send({"type": "refused", "path": list(place or FORM), "text": words})


def _plain_control(part: Field) -> str:
    kind = str(part.schema.get("type", ""))
    return {"array": "json", "object": "json", "": "text"}.get(kind, "text")


def _row(form: Form, part: Field, overrides: Mapping[str, Any]) -> Sequence[str]:
    said = value_at(form, part.path, overrides)
    value = said.get("value", said.get("note", "none" if said["none"] else "not given"))
    if part.control == "secret" and said["set"]:
        value = "[redacted]"
    elif part.options and "value" in said:
        value = part.options[int(value)]
    name = ".".join(part.path)
    return code(name), cell(part.type), cell(str(value)), "edited" if said["edited"] else ""
