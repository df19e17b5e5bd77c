"""Keys of well-known forms: the kernel compares without what the server redacts."""

import time

import pytest

from repl_pair.key_forms import KEY_FORMS
from repl_pair.mcp_server.gate.byte_gate import scrub_text
from repl_pair.runtime.secrets.well_known import hide_keys

RANDOM = "a1B2c3D4e5F6g7H8" * 4
KEYS = [
    f"sk-{RANDOM}",
    f"sk_live_{RANDOM}",
    f"whsec_{RANDOM}",
    f"ghp_{RANDOM}",
    f"rpt_{RANDOM[:43]}",
    "AKIA" + RANDOM.upper()[:16],
    f"xoxb-{RANDOM}",
    f"AIza{RANDOM}",
    f"glpat-{RANDOM}",
    f"pypi-{RANDOM}",
    f"hooks.slack.com/services/{RANDOM}",
    f"eyJ{RANDOM}.{RANDOM}.{RANDOM}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{RANDOM}\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:9])
@pytest.mark.parametrize("around", ["see {}.", "({})", r"'\n{}'", "é{}", "\x1b[31m{}", "{} and {}"])
def test_the_kernel_hides_the_keys_that_the_server_hides(key, around):
    text = around.format(key, key)
    assert RANDOM[:16] not in hide_keys(text)
    assert hide_keys(text) == scrub_text(text)


def test_every_form_is_of_a_key_here():
    assert len(KEY_FORMS) == len(KEYS) - 1  # two are of one row


@pytest.mark.parametrize(
    "text",
    ["a task-oriented-dialogue-system", "eyJust, a name", "an AKIA key", "sk-learn", "ghp_1"],
)
def test_what_is_no_key_stays(text):
    assert hide_keys(text) == scrub_text(text) == text


@pytest.mark.parametrize(
    "part",
    ["sk-", "eyJ", "eyJaaaaaaaa.", "SG.", "-----BEGIN A", "-----BEGIN PRIVATE KEY-----", "[0", "a"],
)
def test_a_hostile_text_is_searched_in_proportion_to_its_length(part):
    def seconds(length):
        text = part * (length // len(part))
        began = time.process_time()
        hide_keys(text)
        return time.process_time() - began

    assert seconds(2_000_000) < 40 * seconds(200_000) + 1
