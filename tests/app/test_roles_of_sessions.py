"""Sessions with a role: their title, and what is possible when the role was disabled or deleted."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row

PROMPT = "You teach mathematics."


async def send(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")


async def begin_session(folder: Path, provider: Provider) -> None:
    """Begin a session with the role Math teacher."""
    (folder / "roles").mkdir()
    teacher = {"roleId": "teacher", "name": "Math teacher", "systemPrompt": PROMPT}
    (folder / "roles" / "teacher.json").write_text(json.dumps(teacher))
    async with open_screen(folder, config=provider.config()) as screen:
        await send(screen, "/role Math teacher")
        await screen.sees("Math teacher")
        await send(screen, "1+1=?")
        await screen.has_messages(2)
        await screen.loses("Esc stop")
        assert "Math teacher: 1+1=?" in screen.lines[0]


def lose_role(folder: Path, how: str) -> None:
    """Change the database as another window does that disables or deletes the role."""
    with closing(sqlite3.connect(folder / "chat.db")) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        if how == "disabled":
            connection.execute("UPDATE roles SET status = 'disabled' WHERE role_id = 'teacher'")
        else:
            connection.execute("UPDATE sessions SET lost_role = 'Math teacher'")
            connection.execute("DELETE FROM roles WHERE role_id = 'teacher'")


@each_row("how", ["disabled", "deleted"])
async def test_nothing_is_sent_with_a_lost_role_until_one_goes_on_without_it(
    tmp_path: Path, how: str
):
    with Provider(chat_text("Two.")) as provider:
        await begin_session(tmp_path, provider)
        assert PROMPT in str(provider.bodies[-1])
        lose_role(tmp_path, how)
        async with open_screen(tmp_path) as screen:
            await screen.has_messages(2)
            await screen.sees(f"role {how}")
            await send(screen, "2+2=?")
            await screen.sees(how, "o on without it", "new session")
            await screen.until(lambda: bool(screen.lines_with("│ 2+2=?")), "It was not given back")
            await screen.press("ctrl+r")
            await screen.rests()
            assert len(provider.received) == 1

            await screen.press("ctrl+u")
            await send(screen, "/role")
            await screen.sees("Go on without a role")
            await screen.press("enter")
            await screen.sees("continues without its role")
            await send(screen, "3+3=?")
            await screen.has_messages(4)
            await screen.loses("Esc stop")
        assert PROMPT not in str(provider.bodies[-1])
        async with open_screen(tmp_path) as screen:
            await screen.has_messages(4)
            assert f"role {how}" not in screen.text
            await send(screen, "4+4=?")
            await screen.has_messages(6)


async def test_a_session_without_a_chosen_role_has_its_first_words_as_its_title(tmp_path: Path):
    words = "a rather long first message that no title of sixty characters could ever hold whole"
    with Provider(chat_text("Two.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(300, 45)) as screen:
            await send(screen, words)
            await screen.has_messages(2)
            assert words in screen.lines[0]


async def test_a_fork_is_told_from_its_original_by_its_title(tmp_path: Path):
    with Provider(chat_text("Two.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await send(screen, "count")
            await screen.has_messages(2)
            await screen.loses("Esc stop")
            await screen.press("shift+tab", "f")
            await screen.sees("Forked")
            assert "Fork of count" in screen.lines[0]
