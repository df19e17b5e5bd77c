"""Replies of the kernel: an op's value or a refusal, past the one door out."""

import threading
import time
from dataclasses import replace
from typing import Any

from repl_pair.errors import ReplPairError, RequestError
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.ops.tier_names import shown_answer, shown_text, words_of
from repl_pair.runtime.secrets import egress
from repl_pair.runtime.secrets.handles import HANDLES
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.secrets.needles import NEEDLES
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.surface import STORE
from repl_pair.wire import Reply, error_reply, ok_reply

SENTENCE_CHARS = 2_000
_OWN_WORDS = frozenset({"not_found", "bad_arguments", "bad_id", "bad_body"})
"""The codes of refusals that say again what a caller said, and were made for its view."""


def package(job: Job, value: Any, *, boot: str) -> Reply:
    """Return the reply that carries an op's value."""
    call = job.call
    learn_secrets()
    out = egress.send_out(
        value,
        sensitive=call.sensitive,
        limits=_with_room(call.max_items, call.max_depth),
        keep=lambda whole: HANDLES.keep(whole, call.view.principal),
        request=[job.args, *call.caller_values],
    )
    asked = words_of(job.args) if call.view.tier is not None else ()
    return ok_reply(
        call.insert_raw_json(shown_answer(call, out.value, asked)),
        boot=boot,
        seq=STORE.seq,
        redacted=out.redacted,
        elided=out.elided,
        notifications=_clean([shown_text(call, note, asked) for note in call.notifications]),
        next_steps=_clean(call.next_steps[:3]),
    )


def refuse(error: ReplPairError, *, boot: str, job: Job | None = None) -> Reply:
    """Return the reply of a call that is refused or went wrong."""
    learn_secrets()
    reply = error_reply(error, boot=boot, seq=STORE.seq)
    if job is not None and job.call.next_steps and not error.next_steps:
        reply["next_steps"] = job.call.next_steps[:3]
    out = egress.send_out(reply, request=None if job is None else job.args)
    sent: Any = out.value
    if job is not None and job.call.view.tier is not None and error.code not in _OWN_WORDS:
        sent["error"] = shown_answer(job.call, sent["error"], words_of(job.args))
    return sent | ({"redacted": out.redacted} if out.redacted else {})


def package_unfinished(job: Job, stop: Stop, *, boot: str) -> Reply:
    """Return the reply of a call that never began, was stopped, or goes on after its caller's time.

    An op that answers runs says so in a record, any other one in a refusal.
    """
    if job.call.unfinished is not None:
        return package(job, job.call.unfinished(stop), boot=boot)
    if job.op.unfinished is not None:
        return package(job, job.op.unfinished(job.args, stop), boot=boot)
    return refuse(_interrupted(job, stop), boot=boot)


def say(call_id: str, message: str, *, since: float) -> dict[str, Any]:
    """Return the content of a progress message; its text goes through the walker like any other."""
    learn_secrets()
    said = egress.send_out(message).value
    return {"call": call_id, "message": said, "elapsed_s": round(time.monotonic() - since, 3)}


def defect(job: Job, error: BaseException) -> RequestError:
    """Return the refusal for what an op raised that is none."""
    return RequestError(
        "internal",
        f"{job.op.name} failed: {type(error).__name__}: {error}",
        detail={"thread": threading.current_thread().name},
    )


def no_answer(job: Job) -> Reply:
    """Return the reply where none could be made; it holds no data."""
    return error_reply(RequestError("internal", f"{job.op.name}: no answer could be made."))


def _interrupted(job: Job, stop: Stop) -> RequestError:
    code = "deadline" if stop.status == "error" else "cannot_run"
    detail = {"still_running": True} if stop.still_running else {}
    steps = ["kernel_status()"] if stop.still_running else []
    said = f"{job.op.name}: {stop.reason}" if job.begun else stop.reason
    return RequestError(code, said, detail=detail, next_steps=steps)


def _clean(sentences: list[str]) -> list[str]:
    return [NEEDLES.scrub(sentence)[0][:SENTENCE_CHARS] for sentence in sentences]


def _with_room(room: int, depth: int) -> egress.Limits:
    usual = egress.Limits()
    return replace(
        usual,
        width=max(usual.width, room),
        text=max(usual.text, room),
        depth=max(usual.depth, depth),
    )
