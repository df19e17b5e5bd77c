"""Lets the agent work and exits non-zero unless it mended the one variant that fails."""

import asyncio
import sys

import agent

mended = asyncio.run(agent.work())
print("mended:", mended)
sys.exit(mended != ["invoice.total/With_vat_mended"])
