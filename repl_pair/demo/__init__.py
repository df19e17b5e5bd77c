"""The whole path once, on real input: a kernel, its server, a client, and the kernel's death."""
