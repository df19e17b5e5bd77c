"""The server over HTTP: many clients, each with the policy and the kernels of its token."""
