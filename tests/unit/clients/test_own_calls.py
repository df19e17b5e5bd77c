"""Calls of code in the same process, and what is there to answer them."""

from repl_pair.runtime.clients.own_calls import OwnCalls
from repl_pair.wire import View


def test_a_call_for_which_no_host_is_left_is_answered_at_once():
    replies = []
    OwnCalls().run("list_stories", {}, view=View(), done=replies.append)
    assert [reply["error"]["code"] for reply in replies] == ["detached"]
