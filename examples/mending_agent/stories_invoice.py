"""Stories of the invoice; one of them forgets the VAT that it expects."""

import invoice

import repl_pair
from repl_pair import check

repl_pair.story("invoice.total", component=invoice.total, tags=["test"])
repl_pair.variant(
    "invoice.total/Net",
    args={"prices": [4, 9]},
    play=[check.path_equals("result", 13)],
)
repl_pair.variant(
    "invoice.total/With_vat",
    args={"prices": [4, 9]},
    play=[check.path_equals("result", 15.6)],
)
