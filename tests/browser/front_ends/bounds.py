"""How long anything here may take, and waiting for what no page can tell."""

import asyncio
import time

BOUND_S = 60.0
BOUND_MS = BOUND_S * 1000


async def wait_until(condition, what, bound_s=BOUND_S):
    """Return the first true answer of `condition`; fail with `what` after the bound."""
    until = time.monotonic() + bound_s
    while not (answer := condition()):
        assert time.monotonic() < until, f"not within {bound_s:g} s: {what}"
        await asyncio.sleep(0.005)
    return answer


async def ask(page, script, argument=None):
    """Evaluate a script that may answer late; Playwright itself would wait for ever."""
    async with asyncio.timeout(BOUND_S):
        return await page.evaluate(script, argument)


async def visit(page, address):
    reply = await page.goto(address)
    assert reply.ok, f"{reply.status} from {address}"
