"""What a run came to, as its record: of one that ended, and of one that was stopped."""

from collections.abc import Iterable, Mapping
from typing import Any

from repl_pair.errors import RequestError
from repl_pair.records import to_dict
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.registry.outcomes import PhaseRecord
from repl_pair.runtime.results.last_results import registered_at
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.running.raised import bounded, place_of, text_in
from repl_pair.runtime.secrets.known import CallSecrets
from repl_pair.runtime.secrets.places import secret_line, takers_of
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.values.classes import real_class


def record_of(
    frame: Frame, status: tuple[str, str], secrets: CallSecrets, elapsed_ms: float
) -> RunRecord:
    """Return the record of a run that was walked to its end."""
    plan, out = frame.plan, frame.captured
    return RunRecord(
        variant_id=plan.variant_id,
        status=status[0],
        reason=bounded(status[1]),
        assertions=tuple(frame.outcomes),
        total=len(frame.outcomes),
        elapsed_ms=round(elapsed_ms, 3),
        effective_args={**plan.args, **frame.args},
        active_modes=plan.modes,
        identity=plan.identity,
        result=frame.result,
        last=frame.last,
        state=frame.left_state,
        events=tuple(frame.events),
        effects=frame.scope.emitted,
        plays=tuple(play.name for play in plan.plays),
        steps=tuple(frame.steps),
        rendered_state=frame.rendered_state,
        outputs=out.bundles(),
        phases=tuple(frame.phases),
        stdout=out.text("stdout"),
        stderr=out.text("stderr"),
        unattributed=out.text("unattributed"),
        warnings=(*_lost_name(plan), *out.entries("warnings")),
        logs=out.entries("logs"),
        restored=tuple(out.restored.values()),
        sensitive=_sensitive(frame),
        secrets=secrets,
        what_if=plan.what_if,
        registered=registered_at(plan),
        dependencies=(*plan.dependencies, *frame.scope.dependencies()),
        bound=plan.bound,
    )


def _lost_name(plan: Plan) -> Iterable[str]:
    component = plan.story.component
    return [f"{component.shown}: what was registered has run."] if component.is_lost else []


def stopped_record(plan: Plan, stop: Stop, frame: Frame | None = None) -> RunRecord:
    """Return the record of a run that was stopped; with its frame, what there is of it by now.

    Of a run that goes on, that is its output so far, and where in the person's code it stands.
    """
    so_far: dict[str, Any] = {}
    if frame is not None:
        out, done = frame.captured, tuple(frame.phases)
        stands = {
            "type": "Stopped",
            "message": stop.reason,
            **frame.doing,
            **place_of(frame.thread),
        }
        phase = PhaseRecord(phase=frame.phase, elapsed_ms=0.0, error=stands)
        so_far = {name: out.text(name) for name in ("stdout", "stderr", "unattributed")}
        so_far |= {"phases": (*done, phase)}
    return RunRecord(
        **so_far,
        **to_dict(stop),
        variant_id=plan.variant_id,
        active_modes=plan.modes,
        effective_args=plan.args,
        identity=plan.identity,
        sensitive=tuple(("effective_args", *place) for place in plan.secret_places),
        what_if=plan.what_if,
        registered=registered_at(plan),
        dependencies=plan.dependencies,
        bound=plan.bound,
    )


def _sensitive(frame: Frame) -> tuple[tuple[str, ...], ...]:
    takers = [*takers_of(frame.plan.component), real_class(frame.live)] if frame.steps else []
    lines = [
        ("steps", str(at), "line", *place)
        for at, step in enumerate(frame.steps)
        for place in secret_line(takers, step.line)
    ]
    slots = {"args": "effective_args"}
    places = [(slots.get(root, root), *rest) for root, *rest in frame.secret_places()]
    return (*places, *lines)


def status_of(frame: Frame, teardown_error: BaseException | None) -> tuple[str, str]:
    """Return what a run that was walked to its end came to, and why."""
    # A component may have caught what an effect could not do; what follows from it is no verdict.
    failed = frame.scope.fault or frame.failure
    if failed is not None:
        return _describe_error(failed, frame.failed_in)
    missed = [one for one in frame.outcomes if not one.passed]
    for one in sorted(missed, key=lambda one: not one.compared):
        return "fail" if one.compared else "cannot_run", f"{one.assertion}: {one.reason}"
    if frame.refusal:
        return "cannot_run", frame.refusal
    return (
        ("pass", _left_out(frame.plan))
        if teardown_error is None
        else _describe_error(teardown_error, frame.doing)
    )


def _left_out(plan: Plan) -> str:
    """Name what a reader of a pass may take for run: named plays, and what a file has by now."""
    left = [play.name for play in plan.variant.plays if play not in plan.plays]
    why = [f"the named plays {', '.join(left)}"] if left else []
    if file := plan.edited_file:
        why.append(f"{file} as it was edited after its module was loaded; reload that, run again")
    return f"not run: {', nor '.join(why)}" if why else ""


def _describe_error(error: BaseException, doing: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(error, RequestError):
        return "cannot_run", error.message
    return "error", text_in(error, doing)
