"""`python -m repl_pair` is `repl-pair`."""

from repl_pair.cli import main

main(prog_name="repl-pair")
