"""How an assertion of a play is asked, and what of its outcome is for the person alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from repl_pair.errors import RequestError, error_text
from repl_pair.records import to_dict
from repl_pair.runtime.assertions.verdicts import secret_within
from repl_pair.runtime.assertions.view import (
    Places,
    Read,
    RunView,
    places_repeating,
    places_within,
    secret_place,
    watch,
    without_secrets,
)
from repl_pair.runtime.authoring.lines import first_word, signature_of, unknown_step
from repl_pair.runtime.registry.model import Step
from repl_pair.runtime.registry.origin import BUILTIN
from repl_pair.runtime.registry.outcomes import Outcome, Verdict
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.running.frame import Frame
from repl_pair.runtime.secrets.places import secret_names, secret_patches, secret_results
from repl_pair.runtime.snapshots.provenance import describe_about
from repl_pair.runtime.values.paths import format_path
from repl_pair.runtime.values.thaw import thaw_data


async def judge(frame: Frame, step: Step, play: str, index: int) -> Verdict | None:
    """Ask an assertion and record its outcome.

    None where it could not be asked, with the run's refusal set: a play that an agent wrote may
    not look at what is secret, since its verdict would reveal it.
    """
    name = str(step[0])
    entry = REGISTRY.find("assertion", name)
    if entry is None:
        unknown = unknown_step(name, REGISTRY.ids("assertion"))
        return _record(frame, step, Verdict(passed=False, reason=unknown), play, index)
    looks: list[Read] = []
    try:
        now = settled(frame)
        verdict = await _ask(frame, entry.body.component.resolve(), watch(now, looks), step)
        is_blind = entry.id in BLIND and entry.origin.key == BUILTIN
        reveals = frame.plan.plays_by_agent and not is_blind
        if reveals and (place := secret_within(looks, now.secrets)):
            raise RequestError(
                "cannot_run",
                f"{name} looks at {place}, where a secret stands: only a play of the person's may.",
            )
    except RequestError as error:
        frame.refusal = frame.refusal or error.message
        return None
    except Exception as error:  # noqa: BLE001  assertions record, they never raise
        verdict = Verdict(passed=False, reason=f"{name} raised {error_text(error)}")
    return _record(frame, step, _hide(frame, step, verdict, looks), play, index)


BLIND = frozenset({"no_secret", "no_warnings", "matches_snapshot"})
"""The assertions that nothing can be guessed with: they compare with no given value."""


def settled(frame: Frame) -> RunView:
    """Return what assertions look at, as of now."""
    out, plan = frame.captured, frame.plan
    return RunView(
        args=frame.args,
        result=frame.result,
        last=frame.last,
        state=frame.state,
        effects=tuple(frame.scope.emitted),
        events=tuple(frame.events),
        played=tuple(frame.events[frame.played :]),
        stdout=out.so_far("stdout"),
        stderr=out.so_far("stderr"),
        outputs=out.bundles(),
        warnings=tuple(out.kept["warnings"]) if "warnings" in out.kept else None,
        logs=tuple(out.kept["logs"]),
        raised=frame.raised,
        render_ms=frame.took.get("render", 0.0),
        secrets=_secrets(frame),
        identify=lambda: plan.identity,
        about=lambda: describe_about(plan),
    )


def secret_places(frame: Frame) -> Places:
    """Return the declared places among the args, what was made of them, and the effects."""
    plan = frame.plan
    patched = secret_patches(plan.component, (p for used in frame.uses for p in used.body.patch))
    roots = ("result", "last", "state") if frame.is_class else ("args",)
    args = [*plan.secret_places, *secret_names(plan.component, frame.args)]
    found = [("args", *place) for place in args]
    found += [(root, *place) for root in roots for place in patched]
    found += [("effects", *at) for at in frame.scope.secrets()]
    # What those declare who gave result, last and state.
    result, project = given_secrets(frame), plan.story.state
    state = result if project is None else secret_results(project.resolve())
    given = {"result": result, "last": frame.last_secrets, "state": state, "rendered_state": state}
    found += [(root, *place) for root, some in given.items() for place in some]
    found += [("outputs",)] if result and frame.captured.bundles() else []
    found += [("steps", "*", "state", *place) for place in state]
    return tuple(dict.fromkeys(found))


def given_secrets(frame: Frame) -> Places:
    """Return the declared places in what a function component gives; a class has them itself."""
    if frame.secret_results is None:
        frame.secret_results = () if frame.is_class else tuple(secret_results(frame.plan.component))
    return frame.secret_results


def _secrets(frame: Frame) -> Places:
    """Return the declared places among what is settled; events count since play began too."""
    found = list(secret_places(frame))
    for root, *rest in frame.sensitive:
        if root == "effective_args":
            found.append(("args", *rest))
        if root == "events":
            found.append((root, *rest))
            found.append(("played", str(int(rest[0]) - frame.played), *rest[1:]))
    return tuple(found)


async def _ask(frame: Frame, fn: Any, watched: RunView, step: Step) -> Verdict:
    name = str(step[0])
    shape = signature_of(fn)
    words, options = shape.split([thaw_data(word, f"play {name}") for word in step[1:]])
    if fault := shape.fault([*words, *([options] if options else [])]):
        return Verdict(passed=False, reason=f"{name}: {fault}")
    found = await frame.value_of(fn(watched, *words, **options))
    return found if isinstance(found, Verdict) else Verdict(passed=bool(found))


def _hide(frame: Frame, step: Step, verdict: Verdict, looks: Sequence[Read]) -> Verdict:
    """Mark what the outcome that comes next holds of a secret, and give it with safe texts.

    What it holds is for the person; its texts go many ways, so no secret is in them.
    """
    secrets, at = _secrets(frame), str(len(frame.outcomes))
    place, inner = secret_place(looks, secrets), places_within(looks, secrets)
    first = first_word(step)
    words = [("payload", str(word)) for word in range(first, len(step) - 1)]
    slots = [*words, ("expected",), ("actual",)]
    if place or (inner and not first):
        frame.sensitive.extend(("assertions", at, *slot) for slot in slots)
        where = place or format_path(looks[0].steps)
        return replace(verdict, reason=f"{where}: a secret stands there" if verdict.reason else "")
    slots_said = {"payload": step[1:], "expected": verdict.expected, "actual": verdict.actual}
    repeating = places_repeating(slots_said, looks)
    frame.sensitive.extend(("assertions", at, *leaf) for leaf in repeating)
    # Beside a secret all may be shown: what is hidden whole would be taken for a secret elsewhere.
    frame.sensitive.extend(("assertions", at, *slot, *below) for slot in slots for below in inner)
    found = [(slot, getattr(verdict, slot)) for slot in ("expected", "actual", "reason")]
    texts = {slot: text for slot, text in found if isinstance(text, str)}
    if inner:  # a word of the step may hold a short secret of what was looked at
        given = {str(n): word for n, word in enumerate(step[1:]) if isinstance(word, str)}
        safe = without_secrets(given, looks, secrets)
        changed = [n for n, word in given.items() if word != safe.get(n, word)]
        frame.sensitive.extend(("assertions", at, "payload", n) for n in changed)
    wanted = [Read(steps=look.steps, value=verdict.expected) for look in looks]
    return replace(verdict, **without_secrets(texts, [*looks, *wanted], secrets))


def _record(frame: Frame, step: Step, verdict: Verdict, play: str, index: int) -> Verdict:
    line = {"assertion": str(step[0]), "payload": list(step[1:]), "play": play, "step": index}
    frame.outcomes.append(Outcome(**line, **to_dict(verdict)))
    return verdict
