"""The theme that was chosen."""

from __future__ import annotations

from pathlib import Path

from tests.support.tables import each_row
from tui_chat.ui.themes import chosen_theme, save_choice


def test_a_chosen_theme_holds_until_the_configuration_changes(tmp_path: Path):
    choice_file = tmp_path / "data" / "theme"
    assert chosen_theme(choice_file, "a") == "a"
    save_choice(choice_file, "mine", "a")
    assert chosen_theme(choice_file, "a") == "mine"
    assert chosen_theme(choice_file, "b") == "b"


@each_row("junk", [b"", b"\xff\xfe", b"one\n", b"1\n2\n3\n", b"\na\n"])
def test_a_broken_theme_choice_file_is_ignored(junk: bytes, tmp_path: Path):
    (tmp_path / "theme").write_bytes(junk)
    assert chosen_theme(tmp_path / "theme", "a") == "a"
