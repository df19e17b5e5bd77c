"""Keys that are known by their form: what the server redacts, and the kernel compares without."""

EDGE = r"(?:\b|\\[abfnrtv]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\[[0-9;]*m)"
"""What may stand before a word beside a plain word boundary: an escape or a colour."""

KEY_FORMS: dict[str, str] = {
    rf"{EDGE}(sk-[A-Za-z0-9_-]{{20,}})": "[0-9]",
    r"((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})": "",
    r"(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})": "",
    r"(rpt_[A-Za-z0-9_-]{43})": "",  # a token of `repl-pair token add`
    r"((?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16})\b": "",
    r"(xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})": "",
    r"(AIza[A-Za-z0-9_-]{35,}|ya29\.[A-Za-z0-9_-]{20,})": "",
    r"(glpat-[A-Za-z0-9_.-]{20,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36,})": "",
    r"(pypi-[A-Za-z0-9_-]{50,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})": "",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{10,})": "",
    r"(eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){0,4})": r"\.",
    r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"""(?:[^-"'\x00]|-[^-"'\x00])*(?:-----END [A-Z0-9 ]*-----)?)""": "",
}
"""Patterns whose one group is a key, and what it must hold, each for RE2 and for Python's `re`.

They take linear time in both: none fails behind more than it would match, so that nothing is read
over and over.
"""
