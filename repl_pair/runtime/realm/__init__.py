"""Several repos that belong together: domains, contracts, bindings, their checks and worktrees."""
