"""The person's side in the notebook: panels over the live registries, in one shell."""
