"""Pictures of the viewer."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.support.app import NOON, opened
from tests.support.exports import chatgpt, node
from tests.support.pictures import Album
from tui_chat.config import Config
from tui_chat.plugins.transcripts import view
from tui_chat.ui.app import TuiChat


async def test_the_conversation_of_a_file(album: Album, tmp_path: Path) -> None:
    told = chatgpt(
        node("q", None, "user", "Where does the river go?"),
        node("a", "q", "assistant", "To the **sea**, past three mills."),
        title="The river",
    )
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([told]))
    os.utime(file, (NOON - 60, NOON - 60))
    config = view.read_only_config(Config(config_dir=tmp_path), tmp_path / "apart")
    app = TuiChat(
        config,
        lambda: view.open_files(config, [file]),
        lambda: NOON,
        read_only="Read-only",
    )
    async with album.of(app) as pilot:
        await opened(pilot)
        await album.take(pilot, "viewed")
