"""The list of profiles, one of which the session uses, and their form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_chat.errors import InputError
from tui_chat.library.roles_and_profiles import PROFILE_FIELDS, profile_values, typed_profile
from tui_chat.models.role import Profile
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.questions import ask_with_keys, confirm

if TYPE_CHECKING:
    from tui_chat.library.typed_fields import Values
    from tui_chat.workspace.workspace import Workspace

_NEW = "+"
_KEYS = {"enter": "use", "ctrl+e": "edit", "delete": "delete"}


async def choose_profile(app: App[Any], workspace: Workspace) -> None:
    """Let the user choose the profile of the session, or none, and create, edit and delete them."""
    while True:
        used = workspace.state.profile_name
        chosen = await ask_with_keys(app, "Profiles", _choices(workspace), used, _KEYS)
        if chosen is None:
            return
        with workspace.reporting():
            if chosen.id == _NEW or (chosen.id and chosen.key == "ctrl+e"):
                await _edit(app, workspace, "" if chosen.id == _NEW else chosen.id)
            elif chosen.key == "enter":
                await workspace.settings.set_profile(chosen.id)
                if workspace.state.profile_name == chosen.id:  # else a fault was reported
                    return
            elif chosen.id and chosen.key == "delete":
                title = f"Delete the profile “{one_line(chosen.id, 40)}”?"
                if await confirm(app, title, "This deletes its file for good.", yes="Delete"):
                    await workspace.settings.delete_profile(chosen.id)


def _choices(workspace: Workspace) -> list[tuple[str, str, str]]:
    library, used = workspace.library, workspace.state.profile_name
    names = library.names("profiles")
    folder = workspace.state.config.config_dir / "profiles"

    def about(name: str) -> str:
        try:
            profile = library.profile(name)
        except InputError as error:
            return one_line(str(error).replace(f"{folder}/", ""))
        called = "" if profile.name.casefold() == name.casefold() else f"{profile.name}: "
        return one_line(f"{called}{profile.content or 'empty'}", 200)

    listed = names if used in (*names, "") else (*names, used)
    return [
        *((name, one_line(name, 30), about(name)) for name in listed),
        ("", "No profile", "The model learns nothing about you"),
        (_NEW, "New profile…", "" if names else f"or put JSON files into {folder}"),
    ]


async def _edit(app: App[Any], workspace: Workspace, name: str) -> None:
    """Show the form of a profile, empty for a new one. Raises InputError if it has faults."""
    before = workspace.library.profile(name) if name else Profile("", "")

    async def keep(values: Values, overwrite: bool) -> None:
        known, profile = before if name else None, typed_profile(values, before)
        await workspace.settings.save_profile(profile, name, before=known, overwrite=overwrite)

    title = f"Profile: {one_line(name, 40)}" if name else "New profile"
    form = FieldsForm(title, PROFILE_FIELDS, profile_values(before), keep)
    await app.push_screen_wait(form)
