"""A result is stale as soon as anything that it rests on was registered again, or left."""

import pytest

import repl_pair
from repl_pair.runtime.registry.registry import REGISTRY
from repl_pair.runtime.results.drift import is_stale
from repl_pair.runtime.results.last_results import last_result

effect = repl_pair.effect


class Shop:
    def __init__(self, rows=(), n=0):
        self.rows = rows

    def add(self):
        effect("mail/send")


def enter_parts():
    repl_pair.global_args()
    repl_pair.global_decorators()
    repl_pair.tag("few")
    for name in ("lamp", "rows", "other"):
        repl_pair.loader(name)(list)
    repl_pair.handler("begin")(lambda live: None)
    repl_pair.derived("full")(lambda state: True)
    repl_pair.assertion("fine")(lambda settled: True)
    effect.impl("mail/send")(lambda: None)
    effect.impl("mail/other")(lambda: None)
    repl_pair.mode("eur", args={"n": 1})
    repl_pair.mode("usd", args={"n": 1})
    repl_pair.decorator("setup", kind="frame_setup", init=["begin"])
    repl_pair.decorator("plain", wrap=lambda component: component)
    repl_pair.story("shop", component=Shop, decorators=["setup"])
    repl_pair.variant("shop/Root", events=["add"])
    repl_pair.variant("shop/Other")
    repl_pair.variant(
        "shop/A",
        extends="shop/Root",
        args={"rows": repl_pair.ref("rows")},
        loaders=["lamp"],
        loaders_complete_when="full",
        play=[["fine"]],
    )


@pytest.fixture(autouse=True)
def ran():
    enter_parts()
    assert repl_pair.run("shop/A", modes=["eur"]).status == "pass"
    yield
    repl_pair.global_args()
    repl_pair.global_decorators()


def renew(kind, id):
    entry = REGISTRY.get(kind, id)
    REGISTRY.register(kind, id, entry.body, origin=entry.origin, tier=entry.tier)


RESTS_ON = [
    *(("variant", "shop/A"), ("variant", "shop/Root"), ("story", "shop"), ("mode", "eur")),
    *(("decorator", "setup"), ("handler", "begin"), ("derived", "full"), ("assertion", "fine")),
    *(("loader", "lamp"), ("loader", "rows"), ("effect", "mail/send")),
]
NOT_ON = [
    *(("variant", "shop/Other"), ("mode", "usd"), ("decorator", "plain"), ("loader", "other")),
    *(("effect", "mail/other"), ("tag", "few"), ("assertion", "path_equals")),
]


@pytest.mark.parametrize(("kind", "id"), RESTS_ON)
@pytest.mark.parametrize("change", [renew, REGISTRY.unregister])
def test_what_a_run_rests_on_makes_it_stale_until_it_is_run_again(change, kind, id):
    record = last_result("shop/A")
    assert not is_stale(record)
    change(kind, id)
    assert is_stale(record)
    if change is renew:
        repl_pair.run("shop/A", modes=["eur"])
        assert not is_stale(last_result("shop/A"))


@pytest.mark.parametrize(("kind", "id"), NOT_ON)
def test_what_a_run_does_not_rest_on_leaves_it_as_it_is(kind, id):
    renew(kind, id)
    assert not is_stale(last_result("shop/A"))


def test_a_handler_that_takes_an_event_from_a_method_makes_the_run_stale():
    repl_pair.handler("add")(lambda live: None)
    assert is_stale(last_result("shop/A"))


@pytest.mark.parametrize(
    "change",
    [lambda: repl_pair.global_args(n=3), lambda: repl_pair.global_decorators("plain")],
)
def test_what_is_set_for_all_stories_makes_every_run_stale(change):
    change()
    assert is_stale(last_result("shop/A"))


def test_an_undone_registration_brings_the_result_back():
    undo = REGISTRY.checkpoint()
    repl_pair.variant("shop/Root")
    repl_pair.run("shop/A")
    newer = last_result("shop/A")
    undo()
    assert is_stale(newer)


def test_what_registers_again_what_it_rests_on_is_stale_at_once():
    def renewing():
        renew("loader", "lamp")

    repl_pair.story("renewing", component=renewing)
    repl_pair.variant("renewing/A", loaders=["lamp"])
    repl_pair.run("renewing/A")
    assert is_stale(last_result("renewing/A"))
