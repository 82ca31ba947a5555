"""Patterns and words that are redacted."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.plugins.redact.patterns import KINDS, matches
from tui_chat.plugins.redact.scanner import MOST_WORDS, Scanner, WordSearch, name_words, read_words

ROOT = Path(__file__).parents[3]
HEX = "0123456789abcdef" * 4
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF" * 4

FOUND = [
    ("key", f"sk-proj-{MIXED[:40]}", "as {} here"),
    ("key", f"sk-ant-api03-{MIXED[:60]}", "ANTHROPIC_API_KEY={}"),
    ("key", f"sk-or-v1-{HEX}", '"{}"'),
    ("key", f"AIza{MIXED[:35]}", "?key={}&alt=sse"),
    ("key", "AKIAIOSFODNN7EXAMPLE", "{}"),
    ("key", f"ghp_{MIXED[:36]}", "https://{}@github.com/x"),
    ("key", f"github_pat_{MIXED[:60]}", "{}"),
    ("key", f"glpat-{MIXED[:20]}", "{}"),
    ("key", f"xoxb-{MIXED[:30]}", "{}"),
    ("key", f"hf_{MIXED[:34]}", "({})"),
    ("key", f"gsk_{MIXED[:52]}", "{}"),
    ("key", f"xai-{MIXED[:80]}", "{}"),
    ("key", f"sk_live_{MIXED[:24]}", "{}"),
    ("key", f"npm_{MIXED[:36]}", "{}"),
    ("key", f"eyJhbGciOiJIUzI1NiJ9.eyJ{MIXED[:40]}.{MIXED[:43]}", "Bearer {}"),
    ("key", MIXED[:40], "Authorization: Bearer {}"),
    ("key", "dXNlcjpwYXNzd29yZDE=", "Authorization: Basic {}"),
    ("key", f"https://hooks.slack.com/services/T0000/B000/{MIXED[:24]}", "post to {}"),
    ("secret", HEX[:32], "api_key = '{}'"),
    ("secret", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = {}"),
    ("secret", MIXED[:24], '"clientSecret": "{}"'),
    ("password", "hunter2", "password: {}"),
    ("password", "c0rrect!horse", 'PASSWORD="{}"'),
    ("password", "hunter2", "the password is {}."),
    ("password", "s3cret", "postgres://admin:{}@db.internal/x"),
    (
        "private-key",
        f"-----BEGIN RSA PRIVATE KEY-----\n{MIXED}\n-----END RSA PRIVATE KEY-----",
        "{}",
    ),
    ("private-key", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{MIXED[:70]}\n{MIXED[:70]}", "{}"),
    ("email", "jane.doe+x@mail.example.co.uk", "<{}>"),
    ("email", "jürgen@bücher.de", "an {}, bitte"),
    ("ip", "203.0.113.7", "ssh root@{}"),
    ("ip", "192.168.1.17", "http://{}:8080/v1"),
    ("ip", "2001:db8:85a3::8a2e:370:7334", "at {} now"),
    ("ip", "fe80::1ff:fe23:4567:890a", "[{}]:80"),
    ("phone", "+49 151 2345678", "call {}."),
    ("phone", "(555) 123-4567", "{}"),
    ("phone", "555-123-4567", "{}"),
    ("user", "anna", "/home/{}/src/x.py"),
    ("user", "anna", "file:///Users/{}"),
    ("user", "Anna Smith", "C:\\Users\\{}\\Desktop"),
    ("user", "anna", "C:/Users/{}/x"),
    ("user", "anna", "~/.claude/projects/-home-{}-src-x"),
    ("user", "anna", "https://{}:s3cret@host/"),
]


@each_row(("kind", "text", "around"), FOUND)
def test_it_is_found_with_its_kind_and_no_more_than_it(kind: str, text: str, around: str) -> None:
    whole = around.format(text)
    found = Scanner().matches(whole, "", is_key=False)
    assert (kind, text) in [(match.kind, match.text) for match in found]
    start = whole.index(text)
    stretches = [(match.start, match.end) for match in found if match.text == text]
    assert any(abs(first - start) <= 1 and end >= start + len(text) for first, end in stretches)


@each_row(
    "text",
    [
        "sk-your-api-key-goes-here-please",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx1",
        "api_key = os.environ['OPENAI_API_KEY_2']",
        "token: claude-opus-4-20250514",
        "password = get_password(user2)",
        "password: str | None",
        "password=$PASSWORD1",
        "prompt_cache_key: 0123456789abcdef0123456789abcdef",
        "max_tokens: 4096",
        "git@github.com:org/repo.git",
        "import x@1.2.3",
        "version 1.2.3.4 and Chrome/120.0.0.1 and v1.2.3.4",
        "127.0.0.1, ::1 and 0.0.0.0",
        "std::vector<int>::iterator, 12:34:56, aa:bb:cc:dd:ee:ff",
        "/home/user/x, /home/runner/work, /Users/Shared, /root",
        "-----BEGIN PRIVATE KEY----- is the first line of such a file.",
        "2024-01-02 12345678 1.234.567,89 3.14159265358979",
        "REDACTED_KEY_1 and password: REDACTED_PASSWORD_2 at https://admin:REDACTED_PASSWORD_1@host",
        "the key is what-ever-you-like",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Scanner().matches(text, "", is_key=False) == ()


def test_few_are_found_in_documentation_and_code() -> None:
    found: list[str] = []
    size = 0
    for folder, ending in (("docs", "*.md"), ("tui_chat", "*.py")):
        for path in sorted((ROOT / folder).rglob(ending)):
            if "redact" not in path.relative_to(ROOT).as_posix():
                text = path.read_text()
                size += len(text)
                found += [f"{path.name}: {match.text}" for match in matches(text)]
    assert size > 500_000
    assert len(found) <= 10, found


def hostile_texts(size: int) -> list[str]:
    source = random.Random(1)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    units = [
        *("a", "a@", "1.", ":", "a:", "+1 ", "key:", "key: aaaaaaaa1 ", "://a:", "eyJaaaaaaaa."),
        *("-----BEGIN PRIVATE KEY-----", "/home/", "-home-", "%41", "%C3%A9", "\\", "\\u0041"),
        *("sk-", "Bearer ", "C:\\Users\\", " ", "a.b@c.d.e.f.g.h.i.j.k ", "a-", "+1(2)", "["),
        *('"', "password", "d3a3", "\n", "an na"),
    ]
    texts = [unit * (size // len(units) // len(unit)) for unit in units]
    return [*texts, "".join(source.choices(alphabet, k=size // len(units)))]


def test_two_megabytes_of_hostile_text_are_searched() -> None:
    """It would not end within hours if a pattern were not linear."""
    scanner = Scanner()
    scanner.search_for({"an*na*b*c": "word", "anna smith": "name"}, {MIXED[:40]: "secret"}, {})
    texts = hostile_texts(2_000_000)
    assert sum(map(len, texts)) > 1_900_000
    for text in texts:
        assert all(match.kind in KINDS for match in scanner.matches(text, "", is_key=False))


# --- The user's own words, and names ------------------------------------------------------


def found(word: str, text: str) -> list[str]:
    return [match.text for match in WordSearch({word: "word"}).matches(text)]


@each_row(
    ("word", "text", "expected"),
    [
        ("acme", "Acme, ACME and acme_backup, not acmes", ["Acme", "ACME", "acme"]),
        ("Anna Smith", "Anna\n  Smith", ["Anna\n  Smith"]),
        ("PROJ-????", "see PROJ-1234 or PROJ-12", ["PROJ-1234"]),
        ("acct-*", "acct-17-b, acct-", ["acct-17-b,", "acct-"]),
        ("*.corp.example", "at db.corp.example:80", ["db.corp.example"]),
        ("build*host", "build-01.host and buildxhosts", ["build-01.host"]),
        ("a*b*b", "axbyb, axb", ["axbyb"]),
        ("an*a*a", "anxaya", ["anxaya"]),
        ("a*a", "axa axab", ["axa"]),
        ("C++", "C++ (C++17)", ["C++", "C++"]),
        ("好的", "说 好的 吧", ["好的"]),
        ("a.c", "abc", []),
    ],
)
def test_a_word_is_found_whole_in_any_case(word: str, text: str, expected: list[str]) -> None:
    assert found(word, text) == expected


def test_the_file_has_a_word_a_line_and_comments(tmp_path: Path) -> None:
    assert read_words(tmp_path) == ()
    (tmp_path / "redact.txt").write_text("# people\nKim Lee\n\n  PROJ-*  \r\n")
    assert read_words(tmp_path) == ("Kim Lee", "PROJ-*")


@each_row(
    ("content", "fault"),
    [
        ("fine\n*\n", "line 2.*nearly everything"),
        ("a?\n", "line 1.*nearly everything"),
        ("x" * 300, "line 1 has more than 200 characters"),
        ("ab\n" * (MOST_WORDS + 1), "more than 1,000 words"),
        (b"ok\n\xff\xfe", "line 2 is not UTF-8"),
    ],
)
def test_a_fault_of_the_file_is_named_with_its_line(
    tmp_path: Path, content: str | bytes, fault: str
) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "redact.txt").write_bytes(data)
    with pytest.raises(InputError, match=fault):
        read_words(tmp_path)


def test_a_name_is_searched_for_with_its_parts() -> None:
    assert [*name_words("Anna de la Cruz")] == ["Anna de la Cruz", "Anna", "Cruz"]
    assert [*name_words("User")] == []
    assert [*name_words("Me")] == []
