"""Working with messages in the app: versions, edits, forks, deletions, pins, tool calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.support.app import (
    composer_facts,
    make_app,
    opened,
    replied,
    say,
    screen_text,
    settle,
    until,
)
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.dialogs.base import TextAreaPrompt


async def at_transcript(pilot: Pilot[None], text: str) -> TuiChat:
    """Have one exchange, and the keys go to the conversation."""
    app = await opened(pilot)
    await say(pilot, text)
    app.query_one(Transcript).focus()
    await settle(pilot)
    return app


def texts(app: TuiChat) -> list[str]:
    return [entry.message.content for entry in app.workspace.state.entries]


async def test_a_regenerated_reply_adds_a_version(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await at_transcript(pilot, "Hello")
        await pilot.press("r")
        await until(
            pilot,
            lambda: app.workspace is not None and app.workspace.state.entries[-1].siblings == 2,
        )
        await replied(pilot)
        newer = app.workspace.state.entries[-1].message.id
        await pilot.press("home")
        await until(pilot, lambda: "‹ 2/2 ›" in screen_text(app))
        await pilot.press("end")
        await pilot.press("tab")
        await until(pilot, lambda: app.chat.composer.has_focus)
        await pilot.press("shift+tab")
        await until(pilot, lambda: app.chat.transcript.has_focus)
        await pilot.press("left")
        await until(pilot, lambda: app.workspace.state.entries[-1].message.id != newer)
        assert app.workspace.state.entries[-1].sibling == 0
        await pilot.press("right")
        await until(pilot, lambda: app.workspace.state.entries[-1].message.id == newer)


async def test_an_edited_message_is_sent_as_a_new_version(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await at_transcript(pilot, "Hello")
        before = texts(app)
        await pilot.press("k", "k", "e")
        await until(pilot, lambda: isinstance(app.screen, TextAreaPrompt))
        await pilot.press("x", "escape")
        await until(pilot, lambda: not isinstance(app.screen, TextAreaPrompt))
        assert texts(app) == before
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, TextAreaPrompt))
        app.screen.query_one(TextArea).text = "Goodbye"
        await pilot.press("ctrl+j", "x", "enter")
        await until(pilot, lambda: "Goodbye" in texts(app)[0])
        await replied(pilot)
        assert app.workspace.state.entries[0].siblings == 2
        assert len(app.workspace.state.entries) == 2


async def test_a_deletion_can_be_undone(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await at_transcript(pilot, "Hello")
        before = texts(app)
        await pilot.press("k", "k", "d")
        await until(pilot, lambda: texts(app) == [])
        await pilot.press("u")
        await until(pilot, lambda: texts(app) == before)
        transcript = app.query_one(Transcript)
        await until(pilot, lambda: transcript.cursor == 0)  # there again, and not at the end


async def test_only_what_can_be_done_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    monkeypatch.setattr(TuiChat, "notify", lambda _, message, **more: said.append(message))
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await at_transcript(pilot, "Hello")
        user, reply = app.chat.transcript.entries
        app.chat.transcript.show((user, replace(reply, status="streaming")), session_id="s")
        said.clear()
        keys = ("r", "c", "e", "f", "d", "i", "w", "m", "left", "right", "o", "enter")
        for count, key in enumerate(keys, 1):
            await pilot.press(key)
            await until(pilot, lambda count=count: len(said) == count)
        await pilot.press("k", "k", "i", "Y")
        await until(pilot, lambda: len(said) == len(keys) + 2)
        assert [sentence.partition(";")[0] for sentence in said] == [
            *["This reply is still arriving"] * 8,
            *(f"“{way} version” is not possible here." for way in ("Previous", "Next")),
            "There is no link, picture or file in this message.",
            "Nothing in this message is folded.",
            "Only replies have their own request",
            "There is no code block in this message.",
        ]
        said.clear()
        last = replace(reply, sibling=1, siblings=2)
        app.chat.transcript.show((replace(user, siblings=2), last), session_id="s")
        await pilot.press("end", "right", "k", "k", "left")
        await until(pilot, lambda: len(said) == 2)
        assert said == ["This is the newest version.", "This is the oldest version."]
        app.chat.transcript.show((), session_id="s")
        said.clear()
        await pilot.press("r", "p")
        await until(pilot, lambda: len(said) == 2)
        assert said == ["There is no message yet."] * 2


async def test_asking_for_a_request_and_its_diff_never_deletes(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await at_transcript(pilot, "Hello")
        before = texts(app)
        await pilot.press("i", "d")
        await until(pilot, lambda: "was sent already" in str(app.notifications.shown))
        assert len(app.screen_stack) == 1
        assert texts(app) == before


async def test_a_message_is_pinned_and_a_session_forked(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await at_transcript(pilot, "Hello")
        await pilot.press("k", "k", "p")
        await until(pilot, lambda: app.workspace.state.entries[0].message.pinned)
        await pilot.press("p")
        await until(pilot, lambda: not app.workspace.state.entries[0].message.pinned)
        first = app.workspace.state.session
        await pilot.press("f")
        await until(pilot, lambda: app.workspace.state.session not in (None, first))
        await until(pilot, lambda: texts(app) == ["Hello"])
        line = app.chat.title_line
        await until(pilot, lambda: line.title == "Fork of Hello")
        assert composer_facts(app).startswith("mirror · Assistant · ")
