"""From an interface to a kernel: discovery, policy, links, and the session that they all call."""
