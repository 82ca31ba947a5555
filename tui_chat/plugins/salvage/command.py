"""The command `db salvage`: what was saved of a damaged file, and what was lost."""

from __future__ import annotations

from pathlib import Path

import click

from tui_chat.cli.options import FILE
from tui_chat.cli.output import write_line, write_progress
from tui_chat.plugins.salvage.salvage import salvage


@click.command("salvage")
@click.argument("file", required=False, type=FILE)
@click.option("--to", "target", required=True, type=FILE, help="The new file.")
@click.pass_obj
def salvage_command(path: Path, file: Path | None, target: Path) -> None:
    """Save what can be read of a damaged file.

    FILE (default: the database) is read page by page and never changed.

    \b
    Example:
      tui-chat db salvage --to rescued.db
    """
    source = file or path

    def progress(rows: int, pages: int) -> None:
        write_progress(f"{rows:,} rows")

    saved = salvage(source, target, progress=progress)
    write_progress("")
    sessions, messages = saved.rows.get("sessions", 0), saved.rows.get("messages", 0)
    write_line(f"Saved {sessions:,} sessions with {messages:,} messages.")
    if saved.missing:
        write_line(f"At least {saved.missing:,} messages are missing.")
    elif saved.unreadable:
        write_line("The saved sessions are complete; whole sessions may be missing.")
    for table, count in saved.rows.items():
        if count and table not in ("sessions", "messages"):
            write_line(f"{count:>9,}  {table}")
    write_line(f"{saved.unreadable:,} of {saved.pages:,} pages could not be read.")
    if saved.partial:
        write_line(f"{saved.partial:,} rows lost part of their text.")
    for sentence in saved.repairs:
        write_line(sentence)
    write_line(f"\n{target} has no faults; {source} was not changed. To use the new file:")
    write_line(f"  tui-chat db restore {target}")
