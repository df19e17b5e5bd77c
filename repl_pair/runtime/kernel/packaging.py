"""Builds replies: an op's value or a refusal, redacted and truncated on the way out."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, cast

from repl_pair.errors import (
    NextStep,
    ReplPairError,
    RequestError,
    first_steps,
    next_step,
)
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.kernel.jobs import Job
from repl_pair.runtime.op_base.descriptors import answer_type
from repl_pair.runtime.op_base.tier_names import shown_answer, shown_text, words_of
from repl_pair.runtime.secrets import egress
from repl_pair.runtime.secrets.cleaning import valid_json
from repl_pair.runtime.secrets.handles import HANDLES
from repl_pair.runtime.secrets.known import NEEDLES, CallSecrets, within
from repl_pair.runtime.secrets.learning import learn_secrets
from repl_pair.runtime.secrets.truncation import Keep
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.store import STORE
from repl_pair.wire import (
    LONG_REPLY_CHARS,
    PERSON,
    READ_ON,
    REPLY_CHARS,
    ErrorReply,
    ProgressContent,
    Reply,
    cut_at_word,
    error_reply,
    monotonic,
    ok_reply,
)

SENTENCE_CHARS, _ENVELOPE_CHARS = 2_000, 2_000
_CALLER_TEXT = frozenset({"not_found", "bad_arguments", "bad_id", "bad_body"})
"""Codes of refusals that quote the caller, and were made for its view."""


def package(job: Job, value: Any, keep: Keep | None = None) -> Reply:
    """Return the reply that carries an op's value; `keep` takes what is elided, to read it on."""
    with within(job.call.secrets):
        call = job.call
        if job.op.access == "write":  # its answer repeats the ids that it was sent
            call.secrets.take_sent(job.args)
        learn_secrets()
        usual, handles = egress.Limits(), list[str]()

        def note(whole: Any) -> str:
            kept = HANDLES.keep(whole, call.view.principal) if keep is None else keep(whole)
            handles.append(kept)
            return kept

        asked = words_of(job.args) if call.view.tier is not None else ()
        out = egress.send_out(
            # What is kept to be read on is without hidden names too.
            shown_answer(call, value, asked),
            sensitive=call.sensitive,
            limits=replace(
                usual,
                width=max(usual.width, call.max_items),
                text=max(usual.text, call.max_items),
                depth=max(usual.depth, call.max_depth),
                each=call.value_chars,
                chars=0 if call.view.principal == PERSON else _chars_of(job),
            ),
            keep=note,
            shape=answer_type(job.op.fn),
        )
        call.raw_json[:] = map(valid_json, call.raw_json)
        return ok_reply(
            call.insert_raw_json(shown_answer(call, out.value, asked)),
            boot=BOOT.id,
            seq=STORE.seq,
            redacted=out.redacted,
            elided=out.elided,
            notifications=_clean([shown_text(call, note, asked) for note in call.notifications]),
            next_steps=_without_secrets([*call.next_steps, *_steps_on(job, value, handles)]),
        )


def _steps_on(job: Job, value: Any, handles: list[str]) -> Iterator[NextStep]:
    """Yield the calls that read the next page of an answer, or else what was elided in it."""
    found = cast("dict[str, Any]", value if type(value) is dict else {})
    on = {arg: found[slot] for slot, arg in READ_ON.items() if slot in found}
    if on:
        yield next_step(job.op.name, **{**job.args, **on})
    elif not job.call.next_steps:
        yield from (next_step("read_more", handle=handle) for handle in handles[:1])


def _chars_of(job: Job) -> int:
    """Return how long an agent's answer may be, so that its reply needs no overflow marker."""
    return (LONG_REPLY_CHARS if "limit" in job.args else REPLY_CHARS) - _ENVELOPE_CHARS


def refuse(
    error: ReplPairError, *, job: Job | None = None, secrets: CallSecrets | None = None
) -> Reply:
    """Return the reply of a call that was refused or failed; it may repeat what was sent."""
    if job is not None:
        secrets = job.call.secrets
        secrets.take_sent(job.args)
    with within(secrets):
        learn_secrets()
        reply = error_reply(error, boot=BOOT.id, seq=STORE.seq)
        steps = error.next_steps or (() if job is None else job.call.next_steps)
        if job is not None and error.code == "stale_cursor":
            steps = [next_step(job.op.name, **{**job.args, "cursor": None})]
        reply.pop("next_steps", None)
        reply["error"]["message"] = cut_at_word(NEEDLES.scrub(error.message)[0], SENTENCE_CHARS)
        del reply["error"]["code"]
        out = egress.send_out(reply, shape=ErrorReply)
        sent: Any = out.value
        sent["error"] = {"code": error.code, **sent["error"]}
        if job is not None and job.call.view.tier is not None and error.code not in _CALLER_TEXT:
            sent["error"] = shown_answer(job.call, sent["error"], words_of(job.args))
        more = {"next_steps": _without_secrets(steps), "redacted": out.redacted}
        return sent | {slot: value for slot, value in more.items() if value}


def package_unfinished(job: Job, stop: Stop) -> Reply:
    """Return the reply of a call that did not begin, was stopped, or runs on after its deadline."""
    if job.call.unfinished is not None:
        return package(job, job.call.unfinished(stop))
    if job.op.unfinished is not None:
        return package(job, job.op.unfinished(job.args, stop))
    refusal = RequestError(
        "deadline" if stop.status == "error" else "cannot_run",
        f"{job.op.name}: {stop.reason}" if job.begun else stop.reason,
        detail={"still_running": True} if stop.still_running else {},
        next_steps=[next_step("kernel_status")] if stop.still_running else [],
    )
    return refuse(refusal)


def progress_content(call_id: str, message: str, *, since: float) -> ProgressContent:
    """Return the content of a progress message, its text redacted like any other."""
    learn_secrets()
    text = str(egress.send_out(message).value)
    return {"call": call_id, "message": text, "elapsed_s": round(monotonic() - since, 3)}


def no_answer(job: Job) -> Reply:
    """Return the reply where building one failed; it holds no data."""
    return error_reply(RequestError("internal", f"{job.op.name}: no answer could be made."))


def _without_secrets(steps: Iterable[NextStep]) -> list[NextStep]:
    """Return the first three steps that hold no secret: with a marker in it, a call is another."""
    return first_steps(step for step in steps if not egress.holds_secret(step["args"]))


def _clean(sentences: list[str]) -> list[str]:
    return [cut_at_word(NEEDLES.scrub(sentence)[0], SENTENCE_CHARS) for sentence in sentences]
