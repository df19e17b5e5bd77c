"""Following resources in kernels that die, restart, are left, or are no longer the chosen one."""

import shutil
from pathlib import Path

import pytest

CELLS = """
import repl_pair
train = repl_pair.surface("training")
loss = train.cell("loss", float, default=0.5, expose=True)
"""
LOSS = "surface://training/loss"
STORIES = "surface://repl_pair/stories"
ERAS = ["legacy", "auto"]
CLIENTS = "from repl_pair.runtime.clients.clients import CLIENTS; print(len(CLIENTS.present()))"
WAITING = """
from repl_pair.runtime.clients.own_calls import OWN_CALLS
print(sum(len(submit.__self__.lanes._waiters._waiting) for submit in OWN_CALLS._handlers.values()))
"""


@pytest.fixture(scope="module")
def kernel(start_kernel):
    return start_kernel(CELLS)


def test_after_a_restart_of_the_kernel_each_uri_is_notified_once_and_followed_on(
    managed, open_reader, alone, until
):
    managed.cell(CELLS)
    with (
        open_reader("legacy", "--kernel", managed.connection_file, runtime=alone) as reader,
        reader.follow(LOSS, STORIES) as followed,
    ):
        managed.cell("loss.set(1.0)")
        until(lambda: followed.uris == [LOSS], "an update before the restart")
        managed.restart_kernel(now=True)
        until(lambda: len(followed.uris) >= 3, "an update of each URI")
        assert sorted(followed.uris[1:]) == [STORIES, LOSS]
        managed.cell(CELLS)
        until(lambda: followed.uris[3:] == [LOSS], "an update of what is declared again")
        assert reader.read(LOSS)["value"] == 0.5


@pytest.mark.parametrize("mode", ERAS)
def test_a_detach_ends_it_at_once_and_attaches_to_nothing_again(kernel, open_reader, until, mode):
    with (
        open_reader(mode, "--kernel", kernel.path) as reader,
        reader.follow(LOSS) as followed,
    ):
        until(lambda: kernel.cell(WAITING) == "1\n", "one request in the kernel")
        reader.agent.call("run_op", op="detach_kernel", args={})
        until(lambda: kernel.cell(WAITING) == "0\n", "no request in the kernel")
        kernel.cell("loss.set(1.0); import time; time.sleep(1.5)")
        listed = reader.do(reader.agent.client.list_resources).resources
        assert LOSS not in {str(each.uri) for each in listed}
        assert kernel.cell(CLIENTS) == "0\n"
        assert followed.uris == []


@pytest.mark.parametrize("mode", ERAS)
def test_when_the_person_detaches_agents_it_ends_with_one_update(kernel, open_reader, until, mode):
    with (
        open_reader(mode, "--kernel", kernel.path) as reader,
        reader.follow(LOSS) as followed,
    ):
        until(lambda: kernel.cell(WAITING) == "1\n", "one request in the kernel")
        kernel.cell("%load_ext repl_pair\n%pair detach")
        until(lambda: followed.uris == [LOSS], "a last update")
        assert reader.refusal(LOSS).data["code"] == "detached"
        kernel.cell("%pair attach\nloss.set(2.0)")
        assert reader.read(LOSS)["value"] == 2.0
        assert kernel.cell(WAITING) == "0\n"
        assert followed.uris == [LOSS]


def test_a_choice_of_another_kernel_moves_the_attachment_there(
    start_own_kernel, open_reader, alone, until
):
    one, two = (start_own_kernel(CELLS, runtime=alone) for _ in range(2))
    with open_reader("auto", runtime=alone) as reader:
        reader.agent.call("use_kernel", kernel=one.id)
        with reader.follow(LOSS) as followed:
            until(lambda: one.cell(WAITING) == "1\n", "a request in the first kernel")
            reader.agent.call("use_kernel", kernel=two.id)
            until(lambda: two.cell(WAITING) == "1\n", "a request in the second kernel")
            until(lambda: one.cell(WAITING) == "0\n", "none in the first kernel")
            until(lambda: followed.uris == [LOSS], "an update for what the URI is now")
            one.cell("loss.set(7.0)")
            two.cell("loss.set(8.0)")
            until(lambda: len(followed.uris) == 2, "an update of the second kernel")
            assert reader.read(LOSS)["value"] == 8.0


def test_a_list_attaches_to_no_kernel_that_is_neither_named_nor_held(
    start_own_kernel, open_reader, alone
):
    kernel = start_own_kernel(CELLS, runtime=alone)
    with open_reader("auto", runtime=alone) as reader:
        listed = reader.do(reader.agent.client.list_resources).resources
        assert listed
        of_surfaces = [uri for each in listed if (uri := str(each.uri)).startswith("surface://")]
        assert {uri.split("/")[2] for uri in of_surfaces} == {"repl_pair"}
        assert kernel.cell(CLIENTS) == "0\n"
        assert reader.read(LOSS)["value"] == 0.5
        listed = reader.do(reader.agent.client.list_resources).resources
        assert LOSS in {str(each.uri) for each in listed}


def test_where_requests_wait_behind_cells_the_kernel_is_polled(
    start_own_kernel, open_reader, until, tmp_path
):
    startup = tmp_path / "profile_default" / "startup"
    startup.mkdir(parents=True)
    shutil.copy(Path(__file__).parents[1] / "kernel" / "hide_lock.py", startup)
    kernel = start_own_kernel(CELLS, IPYTHONDIR=str(tmp_path))
    with (
        open_reader("auto", "--kernel", kernel.path) as reader,
        reader.follow(LOSS) as followed,
    ):
        assert reader.agent.ask("kernel_status")["result"]["channel"] == "shell"
        assert kernel.cell(WAITING) == "0\n"
        kernel.cell("for step in range(1000): loss.set(step)")
        until(lambda: followed.uris == [LOSS], "one update")
        assert reader.read(LOSS)["value"] == 999
