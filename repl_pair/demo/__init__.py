"""The whole path once, on real input: a kernel, its server, a client, and the kernel's death."""

from repl_pair.demo.program import TOTAL, show

__all__ = ["TOTAL", "show"]
