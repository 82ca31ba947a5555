"""Text typed in a real terminal arrives in the draft, character for character."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.terminal_app import CTRL_Q, TerminalApp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pty")

TEXT = "👩\u200d🌾 🏳\ufe0f\u200d🌈 می\u200cخواهم e\u0301 全\u3000角 \u202eabc\u202c \U0001fae8!"


def test_emoji_sequences_and_format_characters_are_typed_whole(tmp_path: Path) -> None:
    with TerminalApp(tmp_path, ("--endpoint", "loopback", "--model", "echo")) as app:
        app.until(lambda: app.shows("Type a message"))
        app.read(0.5)
        for character in TEXT:
            app.type(character)
        app.until(lambda: app.shows("!"))
        app.type(CTRL_Q)
        assert app.wait() == 0
    with closing(sqlite3.connect(tmp_path / "chat.db")) as connection:
        sql = "SELECT value FROM settings WHERE key = 'draft'"
        assert connection.execute(sql).fetchall() == [(TEXT,)]
