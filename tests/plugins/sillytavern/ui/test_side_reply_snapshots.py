"""Pictures of impersonating, of quiet prompts, and of a chat whose character has no role."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, say, settle, until
from tests.support.exports import lines, tavern, tavern_header
from tests.support.pictures import Album
from tui_chat.plugins.sillytavern.quiet_reply import QuietReply
from tui_chat.ui.dialogs.choices import ChoiceDialog


async def test_side_replies(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        await say(pilot, "The lamp goes out, and")
        await pilot.press(*"/continue", "enter")
        state = app.workspace
        await until(pilot, lambda: state.state.entries[-1].siblings == 2)
        await until(pilot, lambda: not state.state.is_streaming)
        await settle(pilot)

        await app.run_action("plugins.impersonate")
        await until(pilot, lambda: bool(app.chat.pane.composer.text))
        await until(pilot, lambda: not app.chat.side_replies.is_writing)
        await settle(pilot)
        await album.take(pilot, "impersonated")

        app.chat.pane.composer.text = ""
        await pilot.press(*"/quiet Who is in the room?", "enter")
        await until(pilot, lambda: isinstance(app.screen, QuietReply))
        dialog = app.screen
        assert isinstance(dialog, QuietReply)
        await until(pilot, lambda: not dialog.is_arriving)
        await settle(pilot)
        await album.take(pilot, "quiet")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

        await app.run_action("inspector.choose_kind")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await settle(pilot)
        await album.take(pilot, "which request")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

        file = tmp_path / "chat.jsonl"
        file.write_bytes(lines(tavern_header(), tavern("Yes?"), tavern("Hi", user=True)))
        await app.run_action(("sessions", "import_file", (str(file),)))
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await settle(pilot)
        await album.take(pilot, "which role")
