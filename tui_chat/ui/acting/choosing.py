"""Choosing: model, preset and what else a session is bound to."""

from __future__ import annotations

from textual import work

from tui_chat.errors import InputError
from tui_chat.ui.acting.drafting import Drafting


class Choosing(Drafting):
    """Asks which, and tells the workspace."""

    @work(group="dialog", exclusive=True)
    async def action_choose_model(self) -> None:
        """Ask another model, at any endpoint, from the next message on."""
        from tui_chat.ui.dialogs.questions import ask_model

        await self._workspace_opened.wait()
        if self.workspace is not None and (chosen := await ask_model(self, self.workspace)):
            self._protocol = None
            await self.workspace.settings.set_model(*chosen)

    @work(group="dialog", exclusive=True)
    async def action_choose_preset(self) -> None:
        """Use another preset from the next message on."""
        from tui_chat.ui.dialogs.questions import ask_preset

        await self._workspace_opened.wait()
        if self.workspace is not None and (chosen := await ask_preset(self, self.workspace)):
            await self.workspace.presets.choose(chosen)

    @work(group="dialog", exclusive=True)
    async def action_rename(self) -> None:
        """Give the shown session another title."""
        from tui_chat.ui.dialogs.questions import ask_title

        workspace = self.workspace
        if workspace is None or workspace.state.session is None:
            self.show_error(InputError("A session has a title once it has a message."))
        elif title := await ask_title(self, workspace.state.session.title):
            await workspace.sessions.rename(workspace.state.session.session_id, title)

    async def take_title(self, title: str) -> None:
        """Give the shown session this title."""
        workspace = self.workspace
        if workspace is None or workspace.state.session is None:
            self.show_error(InputError("A session has a title once it has a message."))
        else:
            await workspace.sessions.rename(workspace.state.session.session_id, title)

    async def take_model(self, name: str) -> None:
        """Ask this model: `MODEL`, or `ENDPOINT/MODEL`, or the first one of `ENDPOINT`.

        A model that no endpoint offers is asked all the same, at the present one.
        """
        workspace = self.workspace
        if workspace is None:
            return
        at, _, model = name.partition("/")
        endpoints = {endpoint.name: endpoint for endpoint in workspace.state.config.endpoints}
        if model and at in endpoints:
            self._protocol = None
            await workspace.settings.set_model(at, model)
            return
        if name in endpoints:
            if not endpoints[name].models:
                advice = f"Name one: {name}/MODEL."
                self.show_error(InputError(f"No model of “{name}” is known.", advice=advice))
                return
            self._protocol = None
            await workspace.settings.set_model(name, endpoints[name].models[0])
            return
        offering = [endpoint for endpoint in endpoints.values() if name in endpoint.models]
        here = (
            workspace.state.endpoint
            if workspace.state.endpoint in offering or not offering
            else offering[0]
        )
        self._protocol = None
        await workspace.settings.set_model(here.name, name)

    async def take_preset(self, name: str) -> None:
        """Use this preset from the next message on."""
        workspace = self.workspace
        if workspace is None:
            return
        if name in workspace.library.names("presets"):
            await workspace.presets.choose(name)
        else:
            known = ", ".join(workspace.library.names("presets"))
            self.show_error(
                InputError(f"There is no preset “{name}”.", advice=f"There are: {known}.")
            )

    @work(group="dialog", exclusive=True)
    async def action_choose_role(self) -> None:
        """Give the chat that was not begun another role; a begun one keeps its own."""
        from tui_chat.ui.dialogs.questions import ask_role

        await self._workspace_opened.wait()
        workspace = self.workspace
        if workspace is None:
            return
        begun = workspace.state.session is not None
        title = "Begin a session with which role?" if begun else "Which role?"
        chosen = await ask_role(self, workspace, title)
        if chosen is None:
            return
        if begun:
            await self.begin(chosen)
        else:
            await workspace.roles.choose(chosen)

    async def begin(self, role_id: str | None) -> None:
        """Begin a new chat; None for the role that was used last, empty for none."""
        if self.workspace is not None:
            await self.show_session(lambda workspace: workspace.sessions.new(role_id))
            if self.panes.is_narrow:
                self.panes.close_overlay()
            self._composer.focus()

    async def take_role(self, name: str) -> None:
        """Go on with this role: in a new chat, where one has begun."""
        workspace = self.workspace
        if workspace is None:
            return
        wanted = name.casefold()
        role = next(
            (each for each in workspace.state.roles if each.name.casefold() == wanted), None
        )
        if role is None:
            known = ", ".join(each.name for each in workspace.state.roles)
            self.show_error(
                InputError(f"There is no role “{name}”.", advice=f"There are: {known}.")
            )
        elif workspace.state.session is not None:
            await self.begin(role.role_id)
        else:
            await workspace.roles.choose(role.role_id)

    @work(group="dialog", exclusive=True)
    async def action_edit_roles(self) -> None:
        """Write, change, disable or delete roles."""
        from tui_chat.ui.dialogs.forms import RoleForm
        from tui_chat.ui.dialogs.questions import ask_role_to_edit, confirm_delete_role

        await self._workspace_opened.wait()
        workspace = self.workspace
        if workspace is None or (role := await ask_role_to_edit(self, workspace)) is None:
            return
        changed = await self.push_screen_wait(RoleForm(role, workspace.library.names("presets")))
        if changed == "delete":
            if await confirm_delete_role(self, workspace, role):
                await workspace.roles.delete(role.role_id)
        elif changed is not None:
            await workspace.roles.save(changed)

    @work(group="dialog", exclusive=True)
    async def action_choose_profile(self) -> None:
        """Tell the model of another user, or of nobody."""
        from tui_chat.models.profile import Profile
        from tui_chat.ui.dialogs.forms import ProfileForm
        from tui_chat.ui.dialogs.questions import NEW_ITEM, ask_profile

        await self._workspace_opened.wait()
        workspace = self.workspace
        if workspace is None or (chosen := await ask_profile(self, workspace)) is None:
            return
        if chosen != NEW_ITEM:
            await workspace.settings.set_profile(chosen)
        elif profile := await self.push_screen_wait(ProfileForm(Profile("", ""))):
            await workspace.settings.save_profile(profile)

    @work(group="dialog", exclusive=True)
    async def action_choose_lorebooks(self) -> None:
        """Use other lorebooks from the next message on."""
        from tui_chat.ui.dialogs.questions import ask_lorebooks

        await self._workspace_opened.wait()
        workspace = self.workspace
        if workspace is not None and (names := await ask_lorebooks(self, workspace)) is not None:
            await workspace.settings.set_lorebooks(names)

    async def take_profile(self, name: str) -> None:
        """Tell the model of this user from the next message on."""
        if self.workspace is not None:
            await self.workspace.settings.set_profile(name)

    async def take_lorebook(self, name: str) -> None:
        """Use this lorebook too, or no longer."""
        workspace = self.workspace
        if workspace is not None:
            kept = tuple(each for each in workspace.state.lorebook_names if each != name)
            await workspace.settings.set_lorebooks(
                kept if name in workspace.state.lorebook_names else (*kept, name)
            )
