r"""What must not be shared, as patterns of text.

1. Every pattern starts at a literal or at the beginning of a run of characters, and every repeat
   has a ceiling or is possessive: the time is linear in the text, whatever is in it.
2. A pattern is wide where a wrong match costs a placeholder, and narrow where ordinary prose and
   code would be full of matches: a text beside the word “token” must also look random.
3. Documented examples, such as addresses at example.com, are matches too: who shares a file cannot
   be asked which of them were meant as examples.

The forms of keys are those that providers document, and that secret scanners search for: the rules
of gitleaks (config/gitleaks.toml) and GitHub's list of supported patterns
(https://docs.github.com/code-security/secret-scanning/introduction/supported-secret-scanning-patterns).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address
from math import log2
from typing import NamedTuple

from tui_chat.models.key_shapes import keys_in

KINDS = {
    "key": "API keys and tokens",
    "secret": "random texts named key, token or secret",
    "password": "passwords",
    "private-key": "private keys",
    "email": "e-mail addresses",
    "ip": "IP addresses",
    "phone": "phone numbers",
    "number": "account, card and identity numbers",
    "user": "user names of home folders",
    "name": "names of people",
    "word": "words of your own list",
    "file": "files that cannot be searched",
}
"""The kinds of what is found, with their titles."""
MARK = "REDACTED_"
"""The beginning of every placeholder. Letters, digits and underscores stand in a URL's host, in a
path, in JSON and in Markdown without a change of what is around them; brackets would not.
"""


class Match(NamedTuple):
    """A stretch of a text that must not be shared."""

    start: int
    end: int
    kind: str
    text: str
    """The text that its placeholder stands for, usually the stretch itself."""
    is_known_by_place: bool = False
    """True if only its surroundings gave it away, so that it must be searched for elsewhere."""


def matches(text: str, label: str = "") -> Iterator[Match]:
    """Yield what is found in a text, in no order; stretches may overlap. `label` is the name of the
    text where it has one, such as its key in JSON.
    """
    if _SECRET_LABEL.search(label) and not _HARMLESS_LABEL.search(label):
        value = text.strip()
        is_password = bool(_PASSWORD_LABEL.search(label))
        if _is_password(value) if is_password else _looks_random(value):
            start = text.index(value)
            kind = "password" if is_password else "secret"
            yield Match(start, start + len(value), kind, value, True)
    yield from _labeled_number(text, label)
    yield from _keys(text)
    yield from _named_secrets(text)
    yield from _credentials(text)
    yield from _addresses(text)
    yield from _home_folders(text)


# Keys, passwords and tokens

_WEBHOOK = re.compile(
    r"https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)"
    r"/[\w/-]{20,200}+",
    re.ASCII,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){0,20000}+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:(?:\s|\\[nrt]){0,8}+[A-Za-z0-9+/]{16,200}+={0,2}){1,400}+)"  # cut off before its end
)
_BEARER = re.compile(r"\b(?:Bearer|Basic)[ \t]{1,4}+([\w.~+/-]{12,4000}+={0,2})", re.I | re.ASCII)
_NAMED = re.compile(
    r"((?:key|token|secret|passw(?:or)?d|passwd|pwd|passphrase|credential)s?)"
    r"[\"'`\])*]{0,4}+[ \t]{0,8}+(?:=>|:=|==?|:|is(?= ))[ \t]{0,8}+"
    r"(?:[a-z]{0,2}[\"'`]{1,3}+|\*{2})?"
    r"([^\s\"'`,;<>(){}\[\]|\\]{6,300}+)",
    re.IGNORECASE,
)
_SECRET_LABEL = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|passwd|pwd|passphrase|credential)s?$", re.IGNORECASE
)
_PASSWORD_LABEL = re.compile(r"pass|pwd", re.IGNORECASE)
_HARMLESS_LABEL = re.compile(
    r"(?:cache|public|primary|foreign|partition|sort|storage|idempotency|page|max|shortcut|hot)"
    r"[_ -]?(?:key|token)s?$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$|%[({A-Za-z]|\{\{|env[.:]|process\.|os\.|~?/|\.\.")
"""The beginning of what stands for a secret, and is none."""
_QUERY = re.compile(r"[?&][\w.-]{0,30}\Z")
_UNIFORM = re.compile(r"[A-Za-z]+|\d+")


def _keys(text: str) -> Iterator[Match]:
    for found in keys_in(text):
        yield Match(*found.span(), "key", found[0])
    for found in _WEBHOOK.finditer(text):
        yield Match(*found.span(), "key", found[0])
    for found in _PRIVATE_KEY.finditer(text):
        yield Match(*found.span(), "private-key", found[0])
    for found in _BEARER.finditer(text):
        if _is_mixed(found[1]) and not found[1].startswith(MARK):
            yield Match(*found.span(1), "key", found[1], True)


def _named_secrets(text: str) -> Iterator[Match]:
    for found in _NAMED.finditer(text):
        label, value = text[max(found.start() - 12, 0) : found.end(1)], found[2].rstrip(".:!?*…")
        if text[found.end() : found.end() + 1] in ("(", "["):  # a call, an element
            continue
        is_password = bool(_PASSWORD_LABEL.search(found[1]))
        if not is_password or _QUERY.search(text, max(found.start() - 40, 0), found.start()):
            value = value.partition("&")[0]
        if is_password and _is_password(value):
            yield Match(found.start(2), found.start(2) + len(value), "password", value, True)
        elif not is_password and _looks_random(value) and not _HARMLESS_LABEL.search(label):
            yield Match(found.start(2), found.start(2) + len(value), "secret", value, True)


def _is_password(value: str) -> bool:
    """Return True for a text that somebody may have typed as a password."""
    return (
        6 <= len(value) <= 200
        and not any(map(str.isspace, value))
        and any(map(str.isalpha, value))
        and not all(character.isalpha() or character in "_-." for character in value)
        and not (value.startswith(MARK) or _REFERENCE.match(value))
    )


def _looks_random(value: str) -> bool:
    """Return True for a text that no person wrote: of letters and digits in disorder."""
    if not 16 <= len(value) <= 4_000 or value.startswith(MARK) or _REFERENCE.match(value):
        return False
    if not _is_mixed(value) or any(map(str.isspace, value)):
        return False
    if all(_UNIFORM.fullmatch(word) for word in re.split(r"[-_./:@+=]+", value) if word):
        return False  # words and numbers, such as a model's name
    counts = Counter(value[:300]).values()
    size = sum(counts)
    return -sum(count / size * log2(count / size) for count in counts) >= 3.0


def _is_mixed(value: str) -> bool:
    return any(map(str.isalpha, value)) and any(map(str.isdigit, value))


_CREDENTIALS = re.compile(r"://([^\s/@:\"'<>\[\]]{0,128}+)(?::([^\s/@\"'<>]{1,256}+))?@")
_COMMON_USERS = frozenset(
    (
        *("admin", "administrator", "all", "app", "appuser", "builder", "ci", "circleci"),
        *("coder", "container", "data", "default", "demo", "dev", "developer", "example", "foo"),
        *("git", "guest", "home", "home-folder", "jovyan", "linuxbrew", "me", "my", "myname"),
        *("name", "nobody", "node", "oauth2", "postgres", "public", "root", "runner", "sandbox"),
        *("server", "shared", "test", "travis", "ubuntu", "user", "userid", "username", "users"),
        *("vagrant", "vscode", "work", "workspace", "x-access-token", "you", "your", "your-name"),
        *("your_name", "yourname", "yourusername"),
    )
)
"""User names that say nothing of a person."""


def is_common_user(name: str) -> bool:
    """Return True for a user name that says nothing of a person, such as `root`."""
    return name.casefold() in _COMMON_USERS or name.startswith(MARK)


def _credentials(text: str) -> Iterator[Match]:
    for found in _CREDENTIALS.finditer(text):
        user, password = found[1], found[2]
        if password is None:  # a token as the user
            if len(user) >= 16 and _is_mixed(user) and not user.startswith(MARK):
                yield Match(*found.span(1), "password", user, True)
            continue
        if not password.startswith((MARK, "$", "{", "*", "<")):
            yield Match(*found.span(2), "password", password, len(password) >= 6)
        if user and not is_common_user(user):
            yield Match(*found.span(1), "user", user)


# Addresses

_EMAIL = re.compile(
    r"(?<![\w.+%-])[\w+][\w.+%-]{0,63}+@((?:[^\W_][\w-]{0,62}+\.){1,8})([^\W\d_]{2,24})(?![\w@-])"
)
_SHARED_MAILBOXES = ("git", "hg", "svn")
_IPV4 = re.compile(
    r"(?<![\w.-])(?<![A-Za-z]/)(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)", re.ASCII
)  # behind “Chrome/” is a version
_IPV6 = re.compile(
    r"(?<![\w:.])\[?((?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?)"
    r"(?:%\w{1,16})?(?![\w:])\]?",
    re.ASCII,
)
_LONE_IPV6 = re.compile(r"fe80:|f[cd][0-9a-f]{2}:|2[0-9a-f]{3}:", re.IGNORECASE)
_VERSION = re.compile(r"version\W{0,4}$", re.IGNORECASE)
_PHONE = re.compile(
    r"(?<![\w.+-])(?:\+[1-9][\d ()./-]{6,22}+|\(\d{3}\)[ -]?\d{3}-\d{4}(?![\w-])"
    r"|\d{3}-\d{3}-\d{4}(?![\w-]))",
    re.ASCII,
)


_NUMBER_LABEL = re.compile(
    r"(?:(phone|mobile|cell|telephone|fax|whatsapp)|account|iban|card|credit[_ -]?card"
    r"|passport|social[_ -]?security|ssn|tax|routing|licen[cs]e)"
    r"(?:[_ -]?(?:number|num|no|nr|id))?$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:[A-Z]{2})?[\d+(][\d ()./-]{5,40}", re.ASCII)


def _labeled_number(text: str, label: str) -> Iterator[Match]:
    """Yield a value that only its name tells from other numbers."""
    named = _NUMBER_LABEL.search(label)
    if named and _NUMBER.fullmatch(text) and 7 <= sum(map(str.isdigit, text)) <= 34:
        yield Match(0, len(text), "phone" if named[1] else "number", text, True)


def _addresses(text: str) -> Iterator[Match]:
    if "@" in text:
        in_urls = {found.end() for found in _CREDENTIALS.finditer(text)}
        for found in _EMAIL.finditer(text):
            if found.start(1) in in_urls:
                continue
            mailbox = found[0].partition("@")[0]
            last_label = found[1].rstrip(".").rpartition(".")[2]
            if mailbox.lower() not in _SHARED_MAILBOXES and not last_label.isdigit():
                yield Match(*found.span(), "email", found[0])
    for found in _IPV4.finditer(text):
        before = text[max(found.start() - 12, 0) : found.start()]
        if _is_address(found[0]) and not _VERSION.search(before):
            yield Match(*found.span(), "ip", found[0])
    if "::" in text or text.count(":") >= 7:
        for found in _IPV6.finditer(text):
            address = found[1]
            is_written_out = address.count(":") >= 4
            if (is_written_out or _LONE_IPV6.match(address)) and _is_address(address):
                yield Match(*_within_brackets(found), "ip", address)
    for found in _PHONE.finditer(text):
        number = found[0].rstrip(" ()./-")
        if 8 <= sum(map(str.isdigit, number)) <= 15:
            yield Match(found.start(), found.start() + len(number), "phone", number)


def _within_brackets(found: re.Match[str]) -> tuple[int, int]:
    """Return the stretch of an address; with its brackets if it has both."""
    whole = found[0]
    start = found.start() + (whole.startswith("[") and not whole.endswith("]"))
    return start, found.end() - (whole.endswith("]") and not whole.startswith("["))


def _is_address(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or text.startswith(("0.", "255.")))


# Home folders

_HOME = re.compile(
    r"(?:(?<![\w.])/(?:[Hh]ome|Users|export/home|var/home)/"
    r"|(?<=[A-Za-z]:)[\\/]{1,4}+(?:Users|Documents and Settings)[\\/]{1,4}+"
    r"|(?<=/mnt/[a-z])/Users/|(?<![\w-])-(?:home|Users)-)"
    r"(?:([^\\/:*?\"<>|\r\n\t]{1,40}+)(?=\\)|(\w[\w.+@-]{0,63}+))",
)
"""The last form is that of Claude Code's folders; user names of Windows may have blanks."""


def _home_folders(text: str) -> Iterator[Match]:
    for found in _HOME.finditer(text):
        group = 1 if found[1] else 2
        name = found[group].rstrip(".")
        if found[0].startswith("-"):
            name = name.partition("-")[0]
        if name and not is_common_user(name):
            start = found.start(group)
            yield Match(start, start + len(name), "user", name, True)
