"""Ids and addresses that a process makes up are no difference; what somebody reads is one."""

import time
import uuid
from contextvars import ContextVar

import numpy
import pytest

from repl_pair.runtime.snapshots.made_up import fix_ids, fix_uuids, hide_addresses

WORD = "550e8400-e29b-41d4-a716-446655440000"
HEX = WORD.replace("-", "")


@pytest.mark.parametrize(
    ("markup", "fixed"),
    [
        ('<li id="1600000000001">Order 1600000000001</li>',) * 2,
        ('<a id="c-deadbeef01">deadbeef01</a>', '<a id="c-id1">deadbeef01</a>'),
        (f'<tr id="{WORD}">{WORD}</tr>', f'<tr id="id1">{WORD}</tr>'),
        (f'<a href="/{WORD}" data-id="{WORD[:8]}">it</a>',) * 2,
        (
            '<style>#T_0ab1c_row0 {}</style><td id="T_0ab1c_row0">T_0ab1c',
            '<style>#id1_row0 {}</style><td id="id1_row0">T_0ab1c',
        ),
        (
            '<path id="m0123456789"/><use href="#m0123456789"/><g id="C0_1_0123456789">',
            '<path id="id1"/><use href="#id1"/><g id="id2">',
        ),
        (
            f"<iframe srcdoc='&lt;p id=&quot;map_{HEX}&quot;&gt; #map_{HEX}'>",
            "<iframe srcdoc='&lt;p id=&quot;map_id1&quot;&gt; #map_id1'>",
        ),
        (
            f"<script>var tile_{HEX} = {{}}; tile_{HEX}.add('{WORD}')</script>{HEX}",
            f"<script>var tile_id1 = {{}}; tile_id1.add('{WORD}')</script>{HEX}",
        ),
        (
            f"<script>a < b['{WORD.replace('-', '_')}']; c('{WORD.replace('-', '_')}')",
            "<script>a < b['id1']; c('id1')",
        ),
        (
            '<table id="T_0a1b2"><td id="T_0a1b2_row0" class="x">1</td></table>'
            f'<div id="{WORD}"></div><p id="total">T_0a1b2</p>',
            '<table id="id1"><td id="id1_row0" class="x">1</td></table>'
            '<div id="id2"></div><p id="total">T_0a1b2</p>',
        ),
        ("<dc:date>2026-01-02</dc:date>", "<dc:date>…</dc:date>"),
        (f'<link href="{HEX * 2}" integrity="{HEX * 2}">',) * 2,
        (f'<link href="{HEX}{WORD[:8]}" integrity="{HEX}{WORD[:8]}">',) * 2,
        (
            f'<div id="table{HEX}"></div><script>draw("table{HEX}")',
            '<div id="tableid1"></div><script>draw("tableid1")',
        ),
        (f"{WORD} is {WORD} and <b {WORD}>", f"{WORD} is {WORD} and <b {WORD}>"),
    ],
)
def test_made_up_ids_are_numbered_in_tags_styles_and_scripts_only(markup, fixed):
    assert fix_ids(markup) == fixed


@pytest.mark.parametrize(
    "text",
    [
        "checksum 0xdeadbe1f",
        "0x71C7656EC7ab88b0981",
        "mapped at 0x08048001",
        "<b>mapped at 0x08048001</b>",
        "mapped (there) at 0x08048001, color(0xff00aa00)",
        "2 < 3 <i>of</i> &lt;b&gt; at 0x08048001",
    ],
)
def test_a_hex_number_that_is_no_address_of_an_object_stays(text):
    assert hide_addresses(text) == text


class Cart:
    def add(self):
        pass


@pytest.mark.parametrize(
    "thing",
    [
        Cart(),
        Cart().add,
        lambda: 1,
        (n for n in ()),
        Cart.add.__code__,
        [Cart(), Cart()],
        numpy.random.default_rng(1),
        ContextVar("cart", default=Cart.add),
    ],
    ids=["object", "method", "lambda", "generator", "code", "list", "random", "nested"],
)
def test_the_addresses_in_reprs_are_hidden_also_in_html(thing):
    text = f"<pre>{thing!r}</pre> is {repr(thing).replace('<', '&lt;').replace('>', '&gt;')}"
    hidden = hide_addresses(text)
    assert " at 0x…" in hidden
    assert hidden == hide_addresses(text.replace(" at 0x7", " at 0x6"))


@pytest.mark.parametrize(
    "piece", ["<script ", '<a "', "<a '", "< at 0x1234567", "<b&lt;b ", "1", "<i id='a%7b8c'>"]
)
def test_long_texts_take_no_time(piece):
    pieces = "".join(piece.replace("%", f"{n:06x}") for n in range(100_000))
    text = pieces + f'<p id="{uuid.uuid4()}">'
    begin = time.process_time()
    hide_addresses(fix_uuids(fix_ids(text)))
    assert time.process_time() - begin < 20
