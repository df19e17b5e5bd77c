"""The end of an embedded kernel's loop."""

import asyncio
import logging

from repl_pair.runtime.kernel.embedded import _end_tasks


def test_what_reads_the_result_of_a_task_that_is_cancelled_at_the_end_prints_nothing(caplog):
    async def waits():
        await asyncio.Event().wait()

    def fails(_task):
        raise ValueError("a defect")

    loop = asyncio.new_event_loop()
    for callback in (lambda task: task.result(), fails):
        loop.create_task(waits()).add_done_callback(callback)
    with caplog.at_level(logging.ERROR, logger="asyncio"):
        _end_tasks(loop)
    loop.close()
    assert [str(entry.exc_info[1]) for entry in caplog.records] == ["a defect"]
