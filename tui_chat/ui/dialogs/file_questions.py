"""Questions about importing and exporting conversations, and about presets and their files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from textual.app import App

from tui_chat.errors import InputError, located
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import Confirm, PathPrompt, TextPrompt
from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog
from tui_chat.workspace.exporter import export_formats

if TYPE_CHECKING:
    from tui_chat.workspace.chat_participants import ParticipantKind
    from tui_chat.workspace.importer import Report
    from tui_chat.workspace.workspace import Workspace

MOST_NOTES = 8
"""Notes on an imported file that are shown."""


async def ask_import_path(app: App[Any]) -> str | None:
    """Ask for a file with conversations."""
    title = "Import conversations of any program"
    return await app.push_screen_wait(PathPrompt(title, "", enter="imports"))


async def ask_view_path(app: App[Any]) -> str | None:
    """Ask for a file with conversations to look at."""
    title = "View a file or folder of conversations"
    return await app.push_screen_wait(PathPrompt(title, "", enter="opens"))


async def ask_participant(
    app: App[Any], workspace: Workspace, kind: ParticipantKind, name: str
) -> str | None:
    """Ask which role the character of an imported chat is, or which profile its user; None for
    none.
    """
    called = one_line(name, 40)
    if kind == "character":
        title = f"Which role is “{called}” in this chat?"
        roles = [role for role in workspace.state.roles if role.status == "enabled"]
        choices = [Choice(role.role_id, one_line(role.name)) for role in roles]
        macro = "{{char}}"
    else:
        title = f"Which profile is “{called}” in this chat?"
        choices = [Choice(file, file) for file in workspace.library.names("profiles")]
        macro = "{{user}}"
    choices = [Choice("", "None", f"{macro} is “{called}”"), *choices]
    return await app.push_screen_wait(ChoiceDialog(title, choices, "")) or None


async def ask_format(app: App[Any]) -> str | None:
    """Ask for the format of an export."""
    choices = [Choice(name, name, known.summary) for name, known in export_formats().items()]
    return await app.push_screen_wait(ChoiceDialog("Export conversation as", choices, "markdown"))


async def ask_part(
    app: App[Any], at: int, turn: int, turn_messages: int, count: int
) -> range | None:
    """Ask which of `count` messages to export, with the message `at` as one end; its turn begins
    at `turn`.
    """
    parts = {
        "message": range(at, at + 1),
        "turn": range(turn, turn + turn_messages),
        "after": range(at, count),
        "before": range(at + 1),
    }
    labels = ("This message", "This turn", "From here to the end", "From the beginning to here")
    choices = [
        Choice(key, label, f"{len(part):,} message{'s' * (len(part) != 1)}")
        for (key, part), label in zip(parts.items(), labels, strict=True)
    ]
    chosen = await app.push_screen_wait(ChoiceDialog("Export which part?", choices, "turn"))
    return None if chosen is None else parts[chosen]


async def ask_export_path(app: App[Any], title: str, kind: str) -> str | None:
    """Ask for the path of an export; the default is made from the session's title."""
    name = re.sub(r"[^\w]+", "-", title).strip("-")[:40] or "chat"
    dialog = PathPrompt("Export to file", name + export_formats()[kind].ending, enter="saves")
    return await app.push_screen_wait(dialog)


async def ask_attachment_path(app: App[Any], name: str) -> str | None:
    """Ask where to save a picture, sound or file of a message; `name` is the default."""
    return await app.push_screen_wait(PathPrompt("Save attachment to file", name, enter="saves"))


async def confirm_overwrite(app: App[Any], path: Path) -> bool:
    """Ask whether to replace a file."""
    question = f"{one_line(str(path))} already exists."
    dialog = Confirm("Replace the file?", question, yes="Replace")
    return bool(await app.push_screen_wait(dialog))


def format_and_path(argument: str) -> tuple[str, str]:
    """Parse `FORMAT`, `FORMAT PATH`, or `PATH`, whose ending gives the format (JSON by default)."""
    first, _, rest = argument.strip().partition(" ")
    formats = export_formats()
    if first.lower() in formats:
        return first.lower(), rest.strip()
    ending = Path(argument.strip().strip("\"'")).suffix.lower()
    for kind, known in formats.items():
        if known.ending == ending:
            return kind, argument
    return "html" if ending == ".htm" else "json", argument


def import_summary(report: Report) -> tuple[str, Literal["information", "warning", "error"]]:
    """Return the result of importing a file in sentences, and its severity."""
    name = one_line(report.path.name, 60)
    count = report.new + report.grown + report.known
    lines: list[str] = []
    if count:
        parts = [
            f"{report.new:,} new",
            f"{report.grown:,} extended",
            f"{report.known:,} already stored",
        ]
        lines.append(f"{name}: {', '.join(parts)}; {report.added:,} messages added.")
    roles = [one_line(role.name, 60) for role in report.cards]
    if len(roles) == 1:
        lines.append(f"{name}: the character “{roles[0]}” is now a role. Start a session with it.")
    elif roles:
        listed = ", ".join(roles[:5]) + (", …" if len(roles) > 5 else "")
        lines.append(f"{name}: {len(roles):,} characters are now roles: {listed}.")
    for kind in ("presets", "lorebooks", "profiles"):
        if names := [one_line(each, 60) for each in report.names(kind)]:
            listed = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            what = kind if len(names) > 1 else kind.removesuffix("s")
            lines.append(f"{name}: {len(names):,} {what}: {listed}.")
    if not count and not roles and not report.files and not report.faults:
        lines.append(f"{name}: no conversations in it.")
    notes = list(report.notes.items())
    lines += [f"{count:,} × {one_line(note, 200)}" for note, count in notes[:MOST_NOTES]]
    if report.skipped:
        skipped = len(report.skipped) + report.more_skipped
        names = ", ".join(one_line(each, 60) for each in report.skipped[:3])
        listed = f"{names}, …" if skipped > 3 else names
        lines.append(f"Skipped, since nothing known is in it: {listed}")
    if len(notes) > MOST_NOTES:
        lines.append("`tui-chat import` shows the rest.")
    for fault in report.faults[:3]:
        sentence = located(one_line(fault.place, 80), one_line(fault.sentence, 200))
        lines.append(located(name, sentence))
        if fault.advice:
            lines.append(one_line(fault.advice, 200))
    if (more := len(report.faults) + report.more_faults - 3) > 0:
        lines.append(f"{more:,} more could not be read; `tui-chat import` lists them all.")
    severity = "information" if not report.faults else "warning" if count or roles else "error"
    return "\n".join(lines), severity


async def ask_preset_command(app: App[Any], workspace: Workspace) -> str | None:
    """Ask for something to do with the preset or its file; only what is possible is offered."""
    edits, name = workspace.state.preset_edits, workspace.state.preset_name
    choices = [
        Choice("use", "Choose preset …", "from the next message on"),
        Choice("new", "New preset …", "only the history"),
        Choice("import", "Import from SillyTavern …", "a preset file"),
    ]
    if edits is not None:
        choices += [
            Choice("copy", "Save as …", "a copy that the session uses from then on"),
            Choice("saved", "Compare with the saved version", "shows unsaved edits"),
            Choice("other", "Compare with another preset …", ""),
            Choice("settings", "Preset settings …", "name, variables, policies"),
            Choice("export", "Export to SillyTavern …", "a preset file"),
        ]
        if edits.preset.sillytavern:
            choices.append(Choice("report", "Import report", "what was changed or is not used"))
        if edits.is_changed:
            choices.append(Choice("revert", "Revert to saved", "undo restores the edits"))
    choices.append(Choice("file", "Edit as JSON in $EDITOR", ""))
    if not workspace.library.is_ours(workspace.state.preset_name):
        choices += [
            Choice("rename", "Rename …", "and its file"),
            Choice("delete", "Delete …", "and its file"),
        ]
    return await app.push_screen_wait(ChoiceDialog(f"Preset “{name}”", choices, ""))


async def ask_preset_name(app: App[Any], title: str, name: str) -> str | None:
    """Ask for a preset's name."""
    return await app.push_screen_wait(TextPrompt(title, name))


async def ask_preset_import_path(app: App[Any]) -> str | None:
    """Ask for the path of a SillyTavern preset."""
    return await app.push_screen_wait(
        PathPrompt("Import a SillyTavern preset", "", enter="imports")
    )


async def ask_preset_export_path(app: App[Any], workspace: Workspace) -> str | None:
    """Ask where to write the active preset as SillyTavern's."""
    name = f"{workspace.state.preset_name}.json"
    return await app.push_screen_wait(
        PathPrompt("Export the preset to SillyTavern", name, enter="writes it")
    )


async def ask_preset_to_compare(app: App[Any], workspace: Workspace) -> str | None:
    """Ask for a preset to compare with."""
    choices = [
        Choice(name, name)
        for name in workspace.library.names("presets")
        if name != workspace.state.preset_name
    ]
    return await app.push_screen_wait(ChoiceDialog("Compare with preset", choices, ""))


async def confirm_delete_preset(app: App[Any], name: str) -> bool:
    """Ask whether to delete a preset's file."""
    question = f"“{name}” and its file are deleted. Sessions that use it continue without it."
    return bool(await app.push_screen_wait(Confirm("Delete preset?", question, yes="Delete")))


async def confirm_take_file(app: App[Any], name: str) -> bool:
    """Ask which changes win: another program's, or the unsaved edits here."""
    question = (
        f"Another program changed the file of “{name}”, and you have unsaved edits.\n\n"
        "If you use the file's version, undo restores your edits."
    )
    dialog = Confirm("File changed", question, yes="Use the file's version", no="Keep mine")
    return bool(await app.push_screen_wait(dialog))


async def confirm_overwrite_preset(app: App[Any], name: str) -> bool:
    """Ask whether to overwrite another program's changes."""
    question = f"Another program changed the file of “{name}” since it was read."
    return bool(
        await app.push_screen_wait(Confirm("Overwrite the file?", question, yes="Overwrite"))
    )


async def ask_unsaved_presets(app: App[Any], names: Sequence[str]) -> str | None:
    """Ask what to do with unsaved edits: `save`, `leave`, or None to stay."""
    listed = ", ".join(f"“{name}”" for name in names)
    choices = [
        Choice("save", "Save and quit"),
        Choice("leave", "Quit without saving"),
        Choice("stay", "Stay"),
    ]
    chosen = await app.push_screen_wait(ChoiceDialog(f"Unsaved presets: {listed}", choices, "save"))
    return None if chosen == "stay" else chosen


async def confirm_edit_again(app: App[Any], fault: InputError) -> bool:
    """Show what is wrong with an edited text; True to edit it again."""
    dialog = Confirm("Not valid", str(fault), yes="Discard changes", no="Edit again")
    return not await app.push_screen_wait(dialog)
