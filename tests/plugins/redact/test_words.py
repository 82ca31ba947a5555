"""The user's own words, and names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.plugins.redact.scanner import MOST_WORDS, WordSearch, name_words, read_words


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
