"""The user's own editor, in our place on the terminal until it is left."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App

from tui_chat.errors import InputError
from tui_chat.ui.terminal.outside import run_outside


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command that `VISUAL` or `EDITOR` names, else `vi`. Raises InputError."""
    named = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise InputError(f"$EDITOR is no command: {named}: {error}.") from error
    if not words:
        raise InputError("$EDITOR is empty.", advice="Set it to your editor's command.")
    return words


async def edited_outside(app: App[Any], text: str, name: str = "message.md") -> str:
    """Let the user edit a text in their editor, as a file `name`, and return what they left.

    Meanwhile nothing is drawn, but replies go on. Raises InputError where there is no such
    editor, or where it ended with an error: then nothing is changed.
    """
    command = editor_command(os.environ)
    with tempfile.TemporaryDirectory(prefix="tui-chat-") as folder:
        path = Path(folder, name)
        path.write_text(text, encoding="utf-8", errors="replace")  # noqa: ASYNC240 - a small file
        advice = "Set EDITOR to the command of your editor."
        await run_outside(app, (*command, str(path)), advice=advice)
        left = path.read_text(encoding="utf-8", errors="replace")  # noqa: ASYNC240 - a small file
    return left.removesuffix("\n") if not text.endswith("\n") else left
