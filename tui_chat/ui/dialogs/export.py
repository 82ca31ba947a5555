"""The questions of an export: its format and its file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from textual.app import App

from tui_chat.ui.questions import ask, ask_new_file
from tui_chat.workspace.exports import export_formats


async def ask_format(app: App[Any]) -> str | None:
    """Ask for the format of an export."""
    choices = ((name, name, form.summary) for name, form in export_formats().items())
    return await ask(app, "Export conversation as", choices, "markdown")


async def ask_export_file(
    app: App[Any], title: str, kind: str, typed: str = ""
) -> tuple[Path, bool] | None:
    """Ask for the file of an export, unless `typed` names it; the default is made from the
    session's title. Return its path, and True if it replaces a file.
    """
    name = re.sub(r"[^\w]+", "-", title).strip("-")[:40] or "chat"
    return await ask_new_file(app, "Export to file", name + export_formats()[kind].ending, typed)


def format_and_path(argument: str) -> tuple[str, str]:
    """Parse `FORMAT`, `FORMAT PATH`, or `PATH`, whose ending gives the format (JSON by default)."""
    first, _, rest = argument.strip().partition(" ")
    formats = export_formats()
    if first.lower() in formats:
        return first.lower(), rest.strip()
    suffix = Path(argument.strip().strip("\"'")).suffix.lower()
    ending = ".html" if suffix == ".htm" else suffix
    kinds = (kind for kind, form in formats.items() if form.ending == ending)
    return next(kinds, "json"), argument
