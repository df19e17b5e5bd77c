"""What `%pair` answers to words that it does not know or take."""

import pytest

from repl_pair.runtime.kernel.magics import pair


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("atach", "%pair atach: unknown. Nearest: attach"),
        ("pause now", "%pair pause does not take 'now'. `%pair status | attach"),
        ("load 'shop", "%pair load 'shop: unknown."),
    ],
)
def test_a_line_that_cannot_be_meant_is_answered_by_what_can_be(line, answer, capsys):
    pair(line)
    assert capsys.readouterr().out.startswith(answer)
