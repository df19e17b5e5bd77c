"""Asks the person which gates to open to the agent, and describes the open ones."""

from dataclasses import replace

import click

from repl_pair.bridge.policy import Policy
from repl_pair.cli.options import Choice

MEANINGS = {
    "inspect": "see values of your variables, by path, redacted",
    "write": "register and change stories, variants and their kin",
    "eval": "evaluate code in your kernel, with your rights",
}
DECISIONS = ("deny", "ask", "allow")


def ask_gates(choice: Choice) -> Choice:
    """Ask on stderr which gates to open, unless an option names them."""
    if choice.allow or choice.ask:
        return choice
    click.echo("Reading and running what you registered is open. May the agent also:", err=True)
    decisions = {
        gate: click.prompt(
            f"  {gate}: {meaning}", type=click.Choice(DECISIONS), default="deny", err=True
        )
        for gate, meaning in MEANINGS.items()
    }
    allow, ask = (
        ",".join(gate for gate in MEANINGS if decisions[gate] == word) for word in ("allow", "ask")
    )
    return replace(choice, allow=allow, ask=ask)


def describe_gates(policy: Policy) -> str:
    """Describe in one line which gates are open, ask or are closed."""
    granted = policy.view().access
    states = {gate: "open" if gate in granted else "closed" for gate in MEANINGS}
    states |= dict.fromkeys(policy.ask, "asks you each time")
    return "read, run: open; " + "; ".join(f"{gate}: {state}" for gate, state in states.items())
