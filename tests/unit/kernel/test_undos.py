"""An undo takes out what its own call put in, and nothing that came in its place."""

from types import SimpleNamespace

from repl_pair.runtime.kernel.kernel_lanes import MainLoop
from repl_pair.runtime.kernel.magics import pair, unload_ipython_extension


def test_an_old_watch_of_the_loop_that_ends_leaves_the_new_one():
    loop, asked = MainLoop(), []
    old = loop.watch(lambda fn: asked.append("old"))
    new = loop.watch(lambda fn: asked.append("new"))
    old()
    loop.blocked_s(busy=False)
    assert asked == ["new"]
    new()
    loop.blocked_s(busy=False)
    assert asked == ["new"]


def test_unloading_takes_out_the_magic_of_the_package_and_none_of_the_persons():
    def persons(line):
        """Do what the person's own magic of that name does."""

    for held, left in (({"pair": pair}, {}), ({"pair": persons}, {"pair": persons}), ({}, {})):
        lines = dict(held)
        manager = SimpleNamespace(magics={"line": lines})
        unload_ipython_extension(SimpleNamespace(magics_manager=manager))
        assert lines == left
