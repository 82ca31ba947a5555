"""`tui-chat sillytavern`: SillyTavern's request for a chat, and what a folder of it would bring."""

from __future__ import annotations

from pathlib import Path

import click

from tui_chat.cli.options import FILE, INPUT, json_option
from tui_chat.cli.output import write_json


@click.group()
def sillytavern() -> None:
    """Check a folder of SillyTavern, and build requests as SillyTavern does."""


@sillytavern.command("build")
@click.argument("case", metavar="CASE.json", type=INPUT)
def sillytavern_build(case: Path) -> None:
    """Build the request of a SillyTavern chat that a file describes.

    Prints {"messages": [...], "notes": [...]}. The file has the preset, card, chat, user_input,
    persona, authors_note, lorebooks, chat_metadata and settings as SillyTavern stores them; see
    docs/presets.md.

    \b
    Example:
      tui-chat sillytavern build case.json
    """
    from tui_chat.library.file_reader import read_file_text
    from tui_chat.plugins.sillytavern.cases import build_case

    messages, notes = build_case(read_file_text(case), str(case))
    write_json({"messages": messages, "notes": notes})


@sillytavern.command("check")
@click.argument("folder", metavar="FOLDER", type=FILE)
@json_option()
def sillytavern_check(folder: Path, as_json: bool) -> None:
    """Print what would be taken of a user's folder of SillyTavern.

    For each preset, character card, lorebook and chat, prints what would be taken, what would be
    changed and what is not supported. Also for a folder with such files directly in it. Nothing is
    written. Exits with 1 if something cannot be read.

    \b
    Example:
      tui-chat sillytavern check SillyTavern/data/default-user
    """
    from tui_chat.plugins.sillytavern.folder_check import run_check_folder

    run_check_folder(folder, as_json=as_json)
