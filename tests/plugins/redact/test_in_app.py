"""“Export redacted…” in the app."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from tests.support.app import make_app, opened, say, settle, until
from tests.support.pictures import Album
from tui_chat.plugins.redact.dialog import FindingsDialog
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.base import PathPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog

KEY = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
TEXT = (
    f"Why does curl with {KEY} fail in /home/zerlina/app/x.sh? "
    "Ask jane@example.com or kim@example.com."
)


async def reviewed(pilot: Pilot[None]) -> TuiChat:
    app = await opened(pilot)
    await say(pilot, TEXT)
    await pilot.press(*"/redact", "enter")
    await until(pilot, lambda: isinstance(app.screen, FindingsDialog))
    await settle(pilot)
    return app


def excerpt(app: TuiChat) -> str:
    return str(app.screen.query_one(".excerpt", Static).render())


async def test_findings_are_reviewed_before_a_byte_is_written(album: Album, tmp_path: Path) -> None:
    (tmp_path / "redact.txt").write_text("curl\n")
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await reviewed(pilot)
        options = app.screen.query_one(OptionList)
        assert [option.id for option in options.options] == [
            "kind key",
            "REDACTED_KEY_1",
            "kind email",
            "REDACTED_EMAIL_1",
            "REDACTED_EMAIL_2",
            "kind user",
            "REDACTED_USER_1",
            "kind word",
            "REDACTED_WORD_1",
        ]
        assert KEY in excerpt(app)
        assert " more" in excerpt(app)
        await pilot.press("end", "space")  # the word is kept
        await pilot.press("home", "down", "down", "space", "down", "space")  # kim's address only
        await settle(pilot)
        await album.take(pilot, "findings")
        file = tmp_path / "out.md"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        line = app.screen.query_one(Input)
        assert KEY not in line.value
        assert not [*tmp_path.glob("*.md")]
        line.value = str(file)
        await pilot.press("enter")
        await until(pilot, file.exists)
        text = file.read_text()
        assert (
            "Why does curl with REDACTED_KEY_1 fail in /home/REDACTED_USER_1/app/x.sh? "
            "Ask REDACTED_EMAIL_1 or kim@example.com." in text
        )


async def test_esc_writes_nothing(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await reviewed(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, FindingsDialog))
        await settle(pilot)
        assert not isinstance(app.screen, ChoiceDialog)


async def test_without_a_session_it_says_so(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/redact", "enter")
        await until(pilot, lambda: any("no messages" in n.message for n in app.notifications.log))
