"""`tui-chat sillytavern`: SillyTavern's request for a chat that a file describes."""

from __future__ import annotations

from pathlib import Path

import click

from tui_chat.cli.options import INPUT
from tui_chat.cli.output import write_json


@click.group()
def sillytavern() -> None:
    """Build requests as SillyTavern does."""


@sillytavern.command("build")
@click.argument("case", metavar="CASE.json", type=INPUT)
def sillytavern_build(case: Path) -> None:
    """Build the request of a SillyTavern chat that a file describes.

    Prints {"messages": [...], "notes": [...]}. The file has the preset, card, chat, user_input,
    persona, authors_note, lorebooks, chat_metadata and settings as SillyTavern stores them; see
    docs/sillytavern.md.

    \b
    Example:
      tui-chat sillytavern build case.json
    """
    from tui_chat.library.file_reader import read_file_text
    from tui_chat.plugins.sillytavern.cases import build_case

    messages, notes = build_case(read_file_text(case), str(case))
    write_json({"messages": messages, "notes": notes})
