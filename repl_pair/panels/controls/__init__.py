"""The controls: a form over a variant's args."""
