"""How the shown session is set: model, preset, role, profile, lorebooks, tools."""

from __future__ import annotations

from pathlib import Path

from tui_chat.library.editing import EditHistory
from tui_chat.models.preset import Preset
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.workspace.choosing import PLAIN
from tui_chat.workspace.parts import Parts
from tui_chat.workspace.presets import Look


class Setting(Parts):
    """The methods of a desk that say what is asked, and how."""

    # --- choosing ------------------------------------------------------------------------

    async def choose(self, endpoint: str, model: str) -> None:
        """Ask another model from the next message on."""
        await self._choosing.model(endpoint, model)

    async def choose_preset(self, name: str) -> None:
        """Use another preset from the next message on."""
        await self._choosing.preset(name)

    async def choose_parameters(self, temperature: float | None, max_tokens: int | None) -> None:
        """Ask with this temperature and reply limit; None leaves one to the role."""
        await self._choosing.parameters(temperature, max_tokens)

    async def choose_profile(self, name: str) -> None:
        """Tell the model of another user from the next message on; empty for nobody."""
        await self._choosing.profile(name)

    async def save_profile(self, profile: Profile) -> None:
        """Write a profile into the folder of profiles, and use it."""
        with self._outside.telling():
            await self._choosing.profile(self._outside.shelf.save_profile(profile))

    async def choose_lorebooks(self, names: tuple[str, ...]) -> None:
        """Use these lorebooks, and no others, from the next message on; earlier ones go first."""
        await self._choosing.lorebooks(names)

    async def choose_tools(self, names: tuple[str, ...]) -> None:
        """Offer these tools to the model from the next message on, and no others."""
        await self._tools.choose(names)

    async def discover(self) -> None:
        """Look for model servers on this machine, and offer the models they have."""
        await self._choosing.discover()

    # --- the preset's editor -------------------------------------------------------------

    @property
    def preset_edits(self) -> EditHistory | None:
        """The session's preset with its edits; None where its file cannot be read."""
        return self._presets.edits

    @property
    def preset_is_ours(self) -> bool:
        """Whether the session's preset came with the program: saving makes a copy."""
        return self._outside.shelf.is_ours(self.preset_name)

    @property
    def unsaved_presets(self) -> tuple[str, ...]:
        """Names of the presets with edits that are in no file."""
        return self._presets.unsaved

    def edit_preset(self, name: str, edits: EditHistory) -> None:
        """Go on with these edits: the next request is composed with them."""
        self._presets.edit(name, edits)

    def preset_text(self) -> str:
        """Return the session's preset as JSON, or its broken file's text. Raises InputError."""
        return self._presets.text()

    def edit_preset_text(self, text: str) -> None:
        """Take JSON text for the session's preset, as one edit. Raises InputError."""
        self._presets.edit_text(text)

    def read_preset(self, name: str) -> Preset:
        """Return a preset, edits included. Raises InputError."""
        return self._presets.take(name)

    def revert_preset(self) -> None:
        """Go back to what the file has, as one more edit."""
        self._presets.revert()

    def look_at_preset_file(self) -> Look:
        """Follow the preset's file where it was changed outside; `conflict` where both were."""
        return self._presets.look()

    def save_loses(self) -> bool:
        """Tell whether a save now would write over what was changed outside and not read."""
        return self._presets.loses()

    async def save_preset(self, name: str = "") -> Path | None:
        """Save the session's preset, or a copy under another name that the session goes on with.

        Returns the file; None where it could not be written, which is told.
        """
        with self._outside.telling():
            before = self.preset_name
            path = self._presets.save(name)
            if self.preset_name != before:
                await self._choosing.preset(self.preset_name)
            return path
        return None

    def save_presets(self) -> bool:
        """Save every preset that has edits; False where one could not be, which is told."""
        with self._outside.telling():
            self._presets.save_all()
            return True
        return False

    async def new_preset(self, name: str) -> None:
        """Make a preset that has the history and nothing else, and use it."""
        with self._outside.telling():
            await self._choosing.preset(self._presets.new(name))

    async def add_preset(self, preset: Preset) -> None:
        """Keep a preset that came from elsewhere, and use it."""
        with self._outside.telling():
            await self._choosing.preset(self._presets.add(preset))

    async def rename_preset(self, to: str) -> None:
        """Give the session's preset another name, its file too."""
        with self._outside.telling():
            await self._choosing.preset(self._presets.rename(to))

    async def delete_preset(self) -> None:
        """Delete the session's preset; the session goes on with what is left under its name, or
        with the plain one.
        """
        with self._outside.telling():
            name = self.preset_name
            self._presets.delete(name)
            await self._choosing.preset(name if name in self.presets else PLAIN)

    # --- roles ---------------------------------------------------------------------------

    async def choose_role(self, role_id: str) -> None:
        """Give the chat that was not begun another role (empty: none).

        Once it has begun, it keeps its role: that is told.
        """
        await self._roles.choose(role_id)

    async def save_role(self, role: Role) -> Role | None:
        """Add a role (its id empty), or change the one with its id; None where it has faults.

        To disable it, save it with the status `disabled`.
        """
        return await self._roles.save(role)

    async def delete_role(self, role_id: str) -> None:
        """Delete a role; its sessions stay, say so, and work without it."""
        await self._roles.delete(role_id)
