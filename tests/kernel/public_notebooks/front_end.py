"""A person's front end that plays a notebook and keeps every message that the kernel sends it."""

import ast
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import zmq

from tests.kernel.conftest import BOUND_S, Kernel, Person

Message = dict[str, Any]
STATE = "__import__('tests.kernel.public_notebooks.state', fromlist=['state']).state()"
OF_ONE_RUN = (
    (re.compile(r"ipykernel_\d+"), "ipykernel_<pid>"),
    (re.compile(r"sk-(container|estimator)-id-\d+"), "sk-<counted>"),
    (re.compile(r"\b0x[0-9a-f]{6,}"), "0x<address>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*(Z|\+00:00)"), "<time>"),
)
"""What differs from one process to the next."""
ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}(_\d+)*\b")


class FrontEnd(Person):
    """One person at one kernel; `asked` has all that they sent, in order, with its replies."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.cwd = str(kernel.path.parent)
        self.asked: dict[str, str] = {}
        self.heard: list[tuple[str, Message]] = []
        self._models: dict[str, str] = {}

    def play(self, cell: Message) -> None:
        """Run a cell, type what it asks for, and then move its widgets."""
        code = {"code": "".join(cell["source"]), "allow_stdin": True, "stop_on_error": True}
        self._ask("execute_request", code, f"cell {cell['id']}", cell["metadata"].get("input", ()))
        for model, state in cell["metadata"].get("front_end", ()):
            data = {"method": "update", "state": state, "buffer_paths": []}
            content = {"comm_id": self._models[model], "data": data}
            self._ask("comm_msg", content, f"{model} {state}, below cell {cell['id']}")

    def look(self, expression: str) -> Any:
        """Evaluate an expression that gives JSON, with no message to any cell."""
        content = {"code": "", "silent": True, "user_expressions": {"it": expression}}
        reply = self._ask("execute_request", content, "")["content"]["user_expressions"]["it"]
        assert reply["status"] == "ok", reply
        return json.loads(ast.literal_eval(reply["data"]["text/plain"]))

    def by_cell(self) -> dict[str, list[Message]]:
        """Return what came for each thing asked, as it is the same in every process."""
        number = itertools.count()
        names: dict[str, str] = {}

        def name(found: re.Match[str]) -> str:
            return names.setdefault(found[0], f"<id {next(number)}>")

        def plain(channel: str, message: Message) -> Message:
            kept = {part: message[part] for part in ("msg_type", "content", "metadata")}
            text = json.dumps(kept | {"buffers": [len(b) for b in message["buffers"]]}, default=str)
            text = ID.sub(name, text.replace(self.cwd, "<cwd>"))
            for pattern, instead in OF_ONE_RUN:
                text = pattern.sub(instead, text)
            return {"channel": channel, **json.loads(text)}

        shown: dict[str, list[Message]] = {}
        for sent, what in self.asked.items():
            if what:
                in_order = sorted(self._answers_of(sent), key=lambda one: one[0])
                shown[what] = list(_joined(plain(*one) for one in in_order))
        return shown

    def of_no_cell(self) -> Counter[str]:
        """Count the messages that belong to nothing that this front end asked."""
        return Counter(m["msg_type"] for _, m in self.heard if _parent(m) not in self.asked)

    def spans(self) -> Iterator[tuple[float, float]]:
        """Give when each cell began and ended, in seconds of the kernel's clock."""
        for sent, what in self.asked.items():
            dates = [m["header"]["date"] for _, m in self._answers_of(sent)]
            if what.startswith("cell "):
                yield min(dates).timestamp(), max(dates).timestamp()

    def _answers_of(self, sent: str) -> list[tuple[str, Message]]:
        return list(_without_notice((c, m) for c, m in self.heard if _parent(m) == sent))

    def _ask(self, kind: str, content: Message, what: str, answers: Iterable[str] = ()) -> Any:
        """Send a message, and read until the kernel is idle again and has replied to it."""
        sent = self.send(kind, content)
        self.asked[sent] = what
        reply, idle, typed = None, False, iter(answers)
        wanted = kind.removesuffix("_request") + "_reply" if kind.endswith("_request") else None
        poller = zmq.Poller()
        for socket in (self._iopub, self._shell, self._stdin):
            poller.register(socket, zmq.POLLIN)
        while not idle or (wanted and reply is None):
            ready = dict(poller.poll(BOUND_S * 1000))
            assert ready, f"nothing more of {what!r} within {BOUND_S:g} s"
            for channel, socket in self._channels().items():
                if socket not in ready:
                    continue
                _, message = self._session.recv(socket, mode=zmq.NOBLOCK, copy=True)
                self.heard.append((channel, message))
                if message["msg_type"] == "comm_open" and _parent(message) == sent:
                    content = message["content"]
                    model = content["data"].get("state", {}).get("_model_name")
                    self._models[model] = content["comm_id"]
                if message["msg_type"] == "input_request":
                    value = {"value": next(typed)}
                    self._session.send(self._stdin, "input_reply", value, parent=message)
                if _parent(message) == sent:
                    idle |= message["content"].get("execution_state") == "idle"
                    reply = message if message["msg_type"] == wanted else reply
        return reply

    def _channels(self) -> dict[str, zmq.Socket[bytes]]:
        return {"iopub": self._iopub, "shell": self._shell, "stdin": self._stdin}


def _parent(message: Message) -> str | None:
    return (message["parent_header"] or {}).get("msg_id")


def _without_notice(messages: Iterable[tuple[str, Message]]) -> Iterator[tuple[str, Message]]:
    """Leave out what a cell shows while it waits for a run, and that it is cleared at its begin."""
    noticed = False
    for channel, message in messages:
        kind, content = message["msg_type"], message["content"]
        text = content["data"].get("text/plain", "") if kind == "display_data" else ""
        if text.startswith("repl_pair: this cell waits for "):
            assert not noticed, "a cell showed twice that it waits"
            noticed = True
        elif noticed and kind == "clear_output":
            noticed = False
        else:
            yield channel, message
    assert not noticed, "what a cell showed while it waited was not cleared"


def _joined(messages: Iterator[Message]) -> Iterator[Message]:
    """Join the texts of a stream between two other messages: the clock decides where they part."""
    texts: dict[str, Message] = {}
    for message in itertools.chain(messages, [None]):
        if message is not None and message["msg_type"] == "stream":
            first = texts.setdefault(message["content"]["name"], message)
            if first is not message:
                first["content"]["text"] += message["content"]["text"]
            continue
        for name in sorted(texts):
            yield texts.pop(name)
        if message is not None:
            yield message
