"""What Controls masks stands in no other panel of the same screen."""

import json
import logging
import warnings

import repl_pair
from repl_pair import check
from repl_pair.panels.canvas.view import CanvasView
from repl_pair.panels.controls.view import ControlsView
from repl_pair.panels.play.view import PlayView
from repl_pair.panels.text import build_text
from repl_pair.panels.trace.view import KINDS, TraceView

GIVEN = {"user": "ann", "password": "hunter2", "token": "kestrel-9931-orchid"}
PICTURE = f"AAAA{GIVEN['password']}"


class Door:
    def __init__(self, user: str, password: str, token: str):
        self.words = [f"{user} has {token}"]
        print("login", user, password, token)
        logging.getLogger("login").warning("%s of %s", password, user)
        warnings.warn(f"{token} is old", stacklevel=1)

    def open(self, key: str):
        raise ValueError(f"no {key}")

    def _repr_mimebundle_(self, **_):
        return {"text/html": f"<b>{self.words}</b>", "image/png": PICTURE}


def test_a_secret_that_controls_mask_is_in_no_text_of_its_run(open_view):
    play = [check.path_equals("result.words", ["ann"])]
    calls = [["call", "open", {"key": GIVEN["password"]}], check.raises("KeyError")]
    repl_pair.story("shop.login", component=Door)
    repl_pair.variant("shop.login/It", args=GIVEN, play=[*play, *calls])
    repl_pair.run("shop.login/It")
    focus = {"story": "shop.login", "variant": "shop.login/It"}
    opened = {cls.name: open_view(cls, **focus)[0] for cls in _VIEWS}
    masked = [at for at in opened["controls"].on_form()["fields"] if at["control"] == "secret"]
    assert [field["path"] for field in masked] == [("password",), ("token",)]
    canvas, play, trace = opened["canvas"], opened["play"], opened["trace"]
    lines = play.on_lines()
    seen = {
        "head": canvas.on_head(),
        "output": canvas.on_output("shop.login/It"),
        "phases": canvas.on_phases("shop.login/It"),
        "lines": lines,
        "moments": [play.on_moment(at) for at in range(-1, len(lines["rows"]))],
        "rows": trace.on_rows(KINDS),
        "copied": trace.on_json(KINDS)["text"],
        "texts": [view.text() for view in opened.values()],
        "shown": build_text("shop.login/It").text,
    }
    assert seen["output"]["outputs"][0].pop("image/png") == PICTURE
    for name, each in seen.items():
        text = json.dumps(each)
        assert not [secret for secret in ("hunter2", "kestrel") if secret in text], (name, text)
    streams = {one["name"]: one["text"] for one in seen["output"]["streams"]}
    assert streams["stdout"] == "login ann [redacted] [redacted]\n"
    assert "ann has [redacted]" in seen["output"]["outputs"][0]["text/html"]


_VIEWS = (ControlsView, CanvasView, PlayView, TraceView)
