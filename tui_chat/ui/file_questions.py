"""What the app asks about files of conversations, and what it says of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from textual.app import App

from tui_chat.exporting import ENDINGS, Format
from tui_chat.models.visible import one_line
from tui_chat.ui.dialogs import Choice, Choose, Confirm
from tui_chat.ui.path_question import AskPath

if TYPE_CHECKING:
    from tui_chat.importing import Report

MOST_NOTES = 3
"""Notes on what was left out of a file that are told at most."""

FORMATS: dict[Format, str] = {
    "markdown": "To read and to edit",
    "html": "To read in a browser, offline",
    "json": "Everything, branches too; can be imported again",
    "shared": "The same without requests, presets, profiles and draft: to give away",
    "jsonl": "The shown branch's messages, one a line, for programs",
}


async def ask_import(app: App[Any]) -> str | None:
    """Ask for a file with conversations."""
    title = "Import which file? Ours, ChatGPT's, Claude's or SillyTavern's"
    return await app.push_screen_wait(AskPath(title, "", enter="takes it in"))


async def ask_view(app: App[Any]) -> str | None:
    """Ask for a file with conversations to look at."""
    title = "View which file? Ours, ChatGPT's, Claude's or SillyTavern's"
    return await app.push_screen_wait(AskPath(title, "", enter="opens it"))


async def ask_format(app: App[Any]) -> Format | None:
    """Ask for the format of an export."""
    choices = [Choice(kind, kind, words) for kind, words in FORMATS.items()]
    chosen = await app.push_screen_wait(Choose("Export the conversation as", choices, "markdown"))
    return next((kind for kind in FORMATS if kind == chosen), None)


async def ask_export(app: App[Any], title: str, kind: Format) -> str | None:
    """Ask where to write an export; a name made of the session's title is offered."""
    name = re.sub(r"[^\w]+", "-", title).strip("-")[:40] or "chat"
    dialog = AskPath("Export to which file?", name + ENDINGS[kind], enter="writes it")
    return await app.push_screen_wait(dialog)


async def may_overwrite(app: App[Any], path: Path) -> bool:
    """Ask whether a file may be replaced."""
    question = f"{one_line(str(path))} exists already."
    dialog = Confirm("Replace the file?", question, yes="Replace")
    return bool(await app.push_screen_wait(dialog))


def format_and_path(argument: str) -> tuple[Format, str]:
    """Read `FORMAT`, `FORMAT PATH`, or `PATH` whose ending tells the format (else it is JSON)."""
    first, _, rest = argument.strip().partition(" ")
    for kind in FORMATS:
        if kind == first.lower():
            return kind, rest.strip()
    ending = Path(argument.strip().strip("\"'")).suffix.lower()
    for kind, each in ENDINGS.items():
        if each == ending:
            return kind, argument
    return "html" if ending == ".htm" else "json", argument


def told(report: Report) -> tuple[str, Literal["information", "warning", "error"]]:
    """Say what came of a file that was imported, and how grave that is."""
    name = one_line(report.path.name, 60)
    count = report.new + report.grown + report.known
    lines: list[str] = []
    if count:
        parts = [f"{report.new:,} new", f"{report.grown:,} grown", f"{report.known:,} known"]
        lines.append(f"{name}: {', '.join(parts)}; {report.added:,} messages added.")
    elif not report.faults:
        lines.append(f"{name}: no conversations in it.")
    notes = list(report.notes.items())
    lines += [f"{count:,} × {one_line(note, 200)}" for note, count in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        lines.append("More is told by `tui-chat import`.")
    for fault in report.faults[:3]:
        place = f"{one_line(fault.place, 80)}: " if fault.place else ""
        lines.append(f"{name}: {place}{one_line(fault.sentence, 200)}")
        if fault.advice:
            lines.append(one_line(fault.advice, 200))
    if (more := len(report.faults) + report.more_faults - 3) > 0:
        lines.append(f"{more:,} more that could not be read; `tui-chat import` tells them all.")
    grave = "information" if not report.faults else "warning" if count else "error"
    return "\n".join(lines), grave
