"""What the app asks about presets and their files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_chat.errors import InputError
from tui_chat.ui.dialogs import AskText, Choice, Choose, Confirm
from tui_chat.ui.path_question import AskPath

if TYPE_CHECKING:
    from tui_chat.workspace import Desk


async def ask_what(app: App[Any], desk: Desk) -> str | None:
    """Ask what is to be done with the preset or its file; what cannot be is not offered."""
    edits, name = desk.preset_edits, desk.preset_name
    choices = [
        Choice("use", "Use another preset …", "from the next message on"),
        Choice("new", "New preset …", "the history only"),
        Choice("import", "Take in SillyTavern's …", "a preset file of it"),
    ]
    if edits is not None:
        choices += [
            Choice("copy", "Save as …", "a copy, used from then on"),
            Choice("saved", "Compare with the saved one", "what is edited and not saved"),
            Choice("other", "Compare with another preset …", ""),
            Choice("settings", "Name, variables, system messages …", "the preset's own form"),
        ]
        if edits.is_changed:
            choices.append(Choice("revert", "Back to the saved one", "undo brings the edits back"))
    choices.append(Choice("file", "Edit as JSON in $EDITOR", ""))
    if not desk.preset_is_ours:
        choices += [
            Choice("rename", "Rename …", "its file too"),
            Choice("delete", "Delete …", "its file"),
        ]
    return await app.push_screen_wait(Choose(f"Preset “{name}”", choices, ""))


async def ask_name(app: App[Any], title: str, name: str) -> str | None:
    """Ask for a preset's name."""
    return await app.push_screen_wait(AskText(title, name))


async def ask_path(app: App[Any]) -> str | None:
    """Ask for the file of a preset of SillyTavern's."""
    return await app.push_screen_wait(AskPath("Path of the preset's file", "", enter="takes it in"))


async def ask_other(app: App[Any], desk: Desk) -> str | None:
    """Ask for a preset to compare with."""
    choices = [Choice(name, name) for name in desk.presets if name != desk.preset_name]
    return await app.push_screen_wait(Choose("Compare with which preset?", choices, ""))


async def may_delete_preset(app: App[Any], name: str) -> bool:
    """Ask whether a preset's file is to be deleted."""
    question = f"“{name}” and its file will be gone. Sessions that use it go on without."
    return bool(await app.push_screen_wait(Confirm("Delete the preset", question, yes="Delete")))


async def take_the_files(app: App[Any], name: str) -> bool:
    """Ask whose changes are to be had: another program's, or those that are not saved."""
    question = (
        f"Another program changed the file of “{name}”, and you have edits that are not saved.\n\n"
        "Your edits stay until you say otherwise; undo brings them back after that, too."
    )
    dialog = Confirm("Changed outside", question, yes="Take the file's", no="Keep mine")
    return bool(await app.push_screen_wait(dialog))


async def may_write_over(app: App[Any], name: str) -> bool:
    """Ask whether to save over what another program wrote."""
    question = f"Another program changed the file of “{name}” since it was read."
    return bool(await app.push_screen_wait(Confirm("Save over it?", question, yes="Save")))


async def before_leaving(app: App[Any], names: Sequence[str]) -> str | None:
    """Ask what becomes of edits that are not saved: `save`, `leave`, or None to stay."""
    listed = ", ".join(f"“{name}”" for name in names)
    choices = [
        Choice("save", "Save and quit"),
        Choice("leave", "Quit without saving"),
        Choice("stay", "Stay"),
    ]
    chosen = await app.push_screen_wait(Choose(f"Not saved: {listed}", choices, "save"))
    return None if chosen == "stay" else chosen


async def edit_again(app: App[Any], fault: InputError) -> bool:
    """Tell what is wrong with an edited text, and ask whether to go on with it."""
    dialog = Confirm("This cannot be read", str(fault), yes="Drop the changes", no="Edit again")
    return not await app.push_screen_wait(dialog)
