import base64
import html
import json
import random
import urllib.parse
from pathlib import PurePosixPath
from threading import Thread

import pydantic
import pytest
from hypothesis import given, settings, strategies as st
from starlette.datastructures import Secret as StarletteSecret

from repl_pair.runtime.planning.identity import content_hash
from repl_pair.runtime.secrets import needles as needles_module
from repl_pair.runtime.secrets.forms import forms_of, url_passwords
from repl_pair.runtime.secrets.learning import collect_environment
from repl_pair.runtime.secrets.needles import PASSES, Needles, Rank
from repl_pair.runtime.values.freeze import freeze
from repl_pair.runtime.values.frozen import Secret, secrets_in
from repl_pair.runtime.values.hints import read_hint
from repl_pair.runtime.values.marks import is_needle, is_secret_key, secret_type
from repl_pair.wire import REDACTED

PASSWORDS = st.text(
    "abcxyzABCXYZ0189-_.~!*'()/+&%=?#@:;$\"\\<> é漢\n\x7f", min_size=9, max_size=60
).filter(lambda text: is_needle(text.strip()))


def needles_of(*secrets):
    needles = Needles()
    for secret in secrets:
        assert needles.add(secret), secret
    return needles


@pytest.mark.parametrize(
    "name",
    [
        "password", "PASSWORD", "db_password", "userPassword", "DB_PASS", "passwd", "pwd", "secret",
        "client_secret", "clientSecret", "token", "access_token", "API_TOKEN", "authToken",
        "api_key",
        "apikey", "APIKey", "X-API-Key", "x-api-key", "Authorization", "cookie", "Set-Cookie",
        "cookies",
        "credential", "credentials", "private_key", "SSH_PRIVATE_KEY", "AWS_SECRET_ACCESS_KEY",
        "access_key", "session_key", "dsn", "SENTRY_DSN", "connection_string", "_password", "jwt",
        "refresh_tokens", "password2", "auth", "http_auth", "secret_id", "dbpassword",
    ],
)  # fmt: skip
def test_a_name_of_a_secret_is_known(name):
    assert is_secret_key(name)


@pytest.mark.parametrize(
    "name",
    [
        "tokens_used", "token_count", "max_tokens", "tokens", "secretary", "key", "keys",
        "primary_key",
        "public_key", "keyboard", "passenger", "compass", "pass", "passed", "author", "authority",
        "authenticated_users", "monkey", "tokenizer", "eos_token", "token_ids", "password_length",
        "cookie_policy", "secret_name", "PWD", "connection", "string", "", "42", "dsnap", "bypass",
    ],
)  # fmt: skip
def test_a_name_that_only_looks_like_one_is_not(name):
    assert not is_secret_key(name)


@pytest.mark.parametrize(
    "text",
    [
        "hunter2-prod", "correcthorse9", "correct-horse-battery-staple", "correcthorsebattery",
        "12345678", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmN", "p4ssword", "kXqTzWbP",
        "/9j4AAQSkZJRgABAQ", "123e4567-e89b-12d3-a456-426614174000", "correct.horse.battery",
        "api_token2", "my-secret-password", "correct_horse_battery", "topsecretpassword",
        "purple_monkey_dishwasher_secret", "CorrectHorseBatterySecret", "SuperSecretPassword",
        "Winter_is_coming_password", "MyAdminPassword",
    ],
)  # fmt: skip
def test_a_distinctive_secret_is_a_needle(text):
    assert is_needle(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "hunter2", "aaaaaaaaaaaa", "abababababab", "password", "Password", "POSTGRES",
        "localhost",
        "localhost:5432", "db.prod.internal", "db.example.com:5432", "https://login.example.com/",
        "10.0.0.12", "/usr/local/bin/python", "/home/me/.ssh/id_rsa", "~/.netrc", "C:\\Users\\me",
        "json.decoder.JSONDecoder", "2026-11-21", "2026-11-21T08:57:00Z", "authorization",
        "access_token",
        REDACTED, "redacted", "x[redacted]y", "changeme",
        "api_token", "STRIPE_SECRET_KEY", "apiToken", "x-api-key", "X-CSRF-Token",
    ],
)  # fmt: skip
def test_a_common_word_name_path_host_or_short_text_is_no_needle(text):
    assert not is_needle(text)
    needles = Needles()
    assert not needles.add(text)
    assert needles.scrub(f"see {text} there") == (f"see {text} there", 0)


ENCODINGS = {
    "plain": lambda s, pad: s,
    "quoted": lambda s, pad: urllib.parse.quote(s),
    "fully quoted": lambda s, pad: urllib.parse.quote(s, safe=""),
    "form quoted": lambda s, pad: urllib.parse.quote_plus(s),
    "json": lambda s, pad: json.dumps(s)[1:-1],
    "json with letters": lambda s, pad: json.dumps(s, ensure_ascii=False)[1:-1],
    "json in json": lambda s, pad: json.dumps(json.dumps(s)),
    "repr": lambda s, pad: repr(s)[1:-1],
    "repr of bytes": lambda s, pad: repr(s.encode())[2:-1],
    "html": lambda s, pad: html.escape(s),
    "html in repr": lambda s, pad: repr(html.escape(s))[1:-1],
    "html in json in json": lambda s, pad: json.dumps(json.dumps(html.escape(s)))[3:-3],
    "html with numbers": lambda s, pad: (
        html.escape(s).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    ),
    "entities": lambda s, pad: "".join(f"&#{ord(char)};" for char in s),
    "hex entities": lambda s, pad: "".join(f"&#x{ord(char):x};" for char in s),
    "HEX entities": lambda s, pad: "".join(f"&#x{ord(char):X};" for char in s),
    "all percent": lambda s, pad: "".join(f"%{byte:02x}" for byte in s.encode()),
    "ALL PERCENT": lambda s, pad: "".join(f"%{byte:02X}" for byte in s.encode()),
    "hex": lambda s, pad: s.encode().hex(),
    "HEX": lambda s, pad: s.encode().hex().upper(),
    "base64": lambda s, pad: base64.b64encode(pad + s.encode() + pad).decode(),
    "urlsafe base64": lambda s, pad: base64.urlsafe_b64encode(pad + s.encode() + pad).decode(),
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS.keys())
@settings(deadline=None)
@given(secret=PASSWORDS, pad=st.binary(max_size=3), before=st.text(max_size=9), after=st.text())
def test_every_form_of_a_secret_is_scrubbed_at_every_offset(encode, secret, pad, before, after):
    secret = secret.strip()
    planted = encode(secret, pad)
    scrubbed, count = needles_of(secret).scrub(before + planted + after)
    assert count >= 1
    assert planted not in scrubbed
    assert REDACTED in scrubbed


LINE_ENDS = ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n", "\\\\r\\\\n"]


@settings(deadline=None)
@given(
    secret=PASSWORDS,
    before=st.binary(max_size=120),
    width=st.sampled_from([60, 64, 76]),
    end=st.sampled_from(LINE_ENDS),
)
def test_base64_in_lines_is_scrubbed_wherever_the_lines_break(secret, before, width, end):
    secret = secret.strip()
    encoded = base64.b64encode(before + secret.encode() + b"after").decode()
    lines = [encoded[at : at + width] for at in range(0, len(encoded), width)]
    scrubbed, count = needles_of(secret).scrub(f"see {end.join(lines)} there")
    assert count >= 1
    left = scrubbed.replace(end, "")
    assert not [form for form in forms_of(secret) if form in left]
    assert left.startswith("see ")
    assert left.endswith(" there")
    assert encoded.startswith(left[4:].partition("[")[0])


def test_lines_that_are_no_broken_base64_stay():
    needles = needles_of("hunter2-prod-of-many-words")
    text = "\n".join(["x" * 70, "aHVudGVyMi1wcm9kL", "1vZi1tYW55LXdvcmRz"] * 3)
    assert needles.scrub(text) == (text, 0)


PEM_LINES = [base64.b64encode(random.Random(number).randbytes(48)).decode() for number in range(25)]
PEM = "\n".join(["-----BEGIN PRIVATE KEY-----", *PEM_LINES, "-----END PRIVATE KEY-----"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "\n    "])
@pytest.mark.parametrize("before", ["", "    ", "key: ", "> ", "line 3 of the file: "])
def test_each_line_of_a_secret_of_several_lines_is_found_by_itself(end, before):
    needles = needles_of(PEM.replace("\n", end))
    for line in PEM_LINES:
        assert needles.scrub(f"{before}{line}\nmore") == (f"{before}{REDACTED}\nmore", 1)
    plain = "-----BEGIN PRIVATE KEY-----"
    assert needles.scrub(plain) == (plain, 0)


@settings(deadline=None)
@given(secrets=st.lists(PASSWORDS, max_size=5), text=st.text(max_size=50), data=st.data())
def test_the_index_finds_just_what_a_search_for_each_form_finds(secrets, text, data):
    needles = Needles()
    for secret in secrets:
        needles.add(secret)
    forms = sorted({form for part in needles.ranks for form in forms_of(part)})
    if forms:
        text += data.draw(st.sampled_from(forms)) + data.draw(st.text(max_size=9))
        text += data.draw(st.sampled_from(forms))[1:]
    assert set(needles.find(text)) == {form for form in forms if form in text}


@settings(deadline=None)
@given(secrets=st.lists(PASSWORDS, min_size=1, max_size=4), data=st.data())
def test_scrubbing_twice_changes_nothing_more(secrets, data):
    needles = Needles()
    for secret in secrets:
        needles.add(secret)
    pieces = st.sampled_from([*secrets, "[", "]", "://u:", "@h", REDACTED, "x"])
    text = "".join(data.draw(st.lists(pieces, max_size=12)))
    once, _ = needles.scrub(text)
    assert needles.scrub(once) == (once, 0)


def test_overlapping_secrets_leave_no_half_behind():
    needles = needles_of("abcdefgh1", "fgh1xyzzy9")
    assert needles.scrub("<abcdefgh1xyzzy9>") == ("<[redacted]>", 1)


@settings(deadline=None)
@given(start=st.integers(0, 30), end=st.integers(0, 60))
def test_a_cut_never_goes_through_a_secret(start, end):
    secret = "s3cret-of-24-characters!"
    scrubbed, _ = needles_of(secret).scrub("-" * start + secret + "-" * 30, end)
    assert set(scrubbed.replace(REDACTED, "")) <= {"-"}
    assert (REDACTED in scrubbed) == (start < end)


def test_a_password_in_a_url_goes_without_being_known():
    needles = Needles()
    urls = "postgres://me:pw@db/x redis://:a%40b@h mysql://u:p@ss:w@rd@h:1/x?e=a@b"
    assert needles.scrub(urls) == (
        "postgres://me:[redacted]@db/x redis://:[redacted]@h mysql://u:[redacted]@h:1/x?e=a@b",
        3,
    )
    plain = "https://host:8080/path?mail=me@example.com ssh://git@host/x a://b:c"
    assert needles.scrub(plain) == (plain, 0)
    assert url_passwords(urls) == ["pw", "a%40b", "p@ss:w@rd", "a@b"]


def test_a_field_of_a_url_with_the_name_of_a_secret_goes_without_being_known():
    urls = "https://x.io/cb?n=a&access_token=a.b-1&x=1#id_token=z see a://h/?api_key=k1&amp;auth=k2"
    assert Needles().scrub(urls) == (
        "https://x.io/cb?n=a&access_token=[redacted]&x=1#id_token=[redacted] see "
        "a://h/?api_key=[redacted]&amp;auth=[redacted]",
        4,
    )
    plain = "https://x/?page=2&tokens_used=9&token=#top token=free /x?token=1 https://x/token=1"
    assert Needles().scrub(plain) == (plain, 0)


def test_a_token_inside_a_header_or_cookie_counts_for_itself():
    needles = needles_of("Bearer abc.DEF-123456", "sid=0123abcdef; lang=en", "Pwd=x9x8y7z6w5;Db=a")
    assert needles.scrub("abc.DEF-123456 0123abcdef x9x8y7z6w5 en")[0] == (
        "[redacted] [redacted] [redacted] en"
    )


def test_a_long_secret_is_found_whole():
    key = "\n".join(f"{random.Random(n).getrandbits(360):090x}" for n in range(60))
    assert len(key) > 5000
    needles = needles_of(key)
    for text in (key, json.dumps(key), base64.b64encode(b"x" + key.encode()).decode()):
        scrubbed, _ = needles.scrub(f"<{text}>")
        assert scrubbed.count(REDACTED) == 1
        assert len(scrubbed) <= len("<QUJ[redacted]QUJ>")


def test_bytes_and_long_numbers_count_as_text():
    needles = needles_of(b"raw-s3cret\xff\xfe", 4815162342)
    assert needles.traits().numeric
    assert needles.scrub("id 4815162342")[0] == "id [redacted]"
    assert needles.scrub(base64.b64encode(b"raw-s3cret\xff\xfe").decode())[1] == 1
    assert not needles.add(1234567)


def test_the_environment_gives_secret_variables_and_url_passwords_for_good():
    needles = Needles(limit=1)
    collect_environment(
        {"API_TOKEN": "tok-123-abc", "DATABASE": "pg://u:pw-9-pw-8@h/d", "HOME": "me-and-99-you"},
        needles,
    )
    for n in range(9):
        needles.add(f"later-secret-{n}")
    needles.trim()
    assert needles.scrub("tok-123-abc pw-9-pw-8 me-and-99-you")[0] == (
        "[redacted] [redacted] me-and-99-you"
    )


def test_what_the_latest_passes_met_is_kept_beyond_the_limit():
    needles = Needles(limit=1)
    held = [f"kept-secret-{number}-Xy9" for number in range(5)]
    needles.begin_pass()
    for secret in held:
        needles.add(secret, rank=Rank.HELD)
    for _ in range(PASSES - 1):
        needles.begin_pass()
        needles.trim()
        assert set(held) <= needles.ranks.keys()
    needles.begin_pass()
    needles.trim()
    assert not set(held) <= needles.ranks.keys()


class Interrupted(int):
    """A number in whose comparison a finalizer learns a secret."""

    def __rsub__(self, other):
        return self

    def __lt__(self, other):
        self.needles.add(f"of-a-finalizer-{other}", rank=Rank.HELD)
        return False

    __ge__ = __lt__


def test_a_finalizer_may_learn_a_secret_while_the_oldest_are_forgotten(monkeypatch):
    passes = Interrupted()
    passes.needles = needles = Needles()
    needles.add("held-in-a-pass-1", rank=Rank.HELD)
    monkeypatch.setattr(needles_module, "PASSES", passes)
    needles.trim()
    assert needles.scrub("held-in-a-pass-1, of-a-finalizer-0")[1] == 2


def test_while_the_oldest_are_forgotten_another_thread_finds_all_that_is_known(monkeypatch):
    needles = needles_of(*(f"secret-number-{n}-x" for n in range(20)))
    needles.limit, index, found = 10, Needles._index, list[str]()

    def note_and_index(self, text):
        found.append(needles.scrub("secret-number-19-x")[0])
        index(self, text)

    monkeypatch.setattr(Needles, "_index", note_and_index)
    needles.trim()
    assert found == ["[redacted]"] * len(needles)


def test_the_oldest_are_forgotten_beyond_the_limit_and_the_rest_still_found():
    needles = needles_of(*(f"secret-number-{n}-x" for n in range(200)))
    needles.limit = 100
    needles.trim()
    assert len(needles) == 75
    assert needles.scrub("secret-number-0-x secret-number-199-x")[0] == (
        "secret-number-0-x [redacted]"
    )


def test_needles_are_safe_to_add_while_others_search():
    needles = Needles()
    writers = [
        Thread(target=lambda k=k: [needles.add(f"secret-{k}-{n}-Zq") for n in range(200)])
        for k in range(3)
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        needles.scrub("secret-1-7-Zq " * 50)
    assert needles.scrub("secret-2-199-Zq")[0] == REDACTED


class OwnSecret(pydantic.SecretStr):
    pass


SECRETS = [pydantic.SecretStr("x"), OwnSecret("x"), pydantic.Secret[str]("x"), StarletteSecret("x")]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: type(secret).__qualname__)
def test_a_type_alone_makes_a_secret_everywhere(secret):
    assert secret_type(secret)
    assert read_hint(type(secret)).sensitive
    assert freeze({"a": secret}) == {"a": Secret(secret)}
    assert secrets_in({"a": Secret(secret)}) == ["x"]
    assert content_hash({"a": secret}) == content_hash({"a": Secret("x")})


def test_what_only_looks_like_a_secret_type_is_none():
    assert secret_type(Secret(1))
    assert not any(map(secret_type, ["x", Secret, PurePosixPath("x"), object()]))


def test_forms_are_few():
    assert len(forms_of("hunter2-prod")) <= 12
