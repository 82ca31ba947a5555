"""Opening, creating and changing sessions, and files of conversations."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, ClassVar

from textual import work

from tui_chat.config import lacks_key
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.models.settings import SETTINGS, split_setting
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.ago import ago
from tui_chat.ui.area import Area
from tui_chat.ui.questions import ask

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

MAX_JUMPS = 1_000
"""Sessions that the list to go to one has at most, the newest."""
NO_TITLE_YET = "A session has a title once it has a message."
NO_MESSAGE_YET = "There is no message in this session yet."


class SessionActions(Area):
    """Opens, creates and changes sessions, and handles files of conversations."""

    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(
        (
            *("new", "choose_model", "choose_role", "edit_roles", "set_parameter"),
            *("edit_settings", "new_temporary", "keep_temporary"),
        )
    )

    def beside(self, session_id: str, step: int) -> str:
        """Return the id of the session `step` places below one in the list; empty for none."""
        raise NotImplementedError

    async def reveal(self, origin: Origin) -> bool:
        """Open the roles for a role's prompt, and the session's settings for a setting."""
        author = origin.outermost
        match author.kind:
            case OriginKind.SYSTEM:
                await self.tui.run_action("sessions.edit_roles")
            case OriginKind.SETTING if author.id == "model":
                await self.tui.run_action("sessions.choose_model")
            case OriginKind.SETTING if author.id in SETTINGS and not self.context.read_only:
                self.action_edit_settings(author.id)
            case OriginKind.LORE if author.id == "author_note":
                self.action_edit_settings(author.id)
            case OriginKind.SETTING:
                self.notify(f"{author.name}.", markup=False)
            case _:
                return False
        return True

    # --- opening and creating ------------------------------------------------------------

    @work(group="open", exclusive=True, description="open")
    async def action_open(self, session_id: str) -> None:
        await self.host.switch_session(lambda workspace: workspace.sessions.open(session_id))
        self.host.panes.show_conversation()

    @work(group="open", exclusive=True, description="open")
    async def action_step(self, step: int) -> None:
        """Open the session `step` places below the active one in the list."""
        workspace = await self.host.opened_workspace()
        if session_id := self.beside(workspace.state.session_id, step):
            await self.host.switch_session(lambda opened: opened.sessions.open(session_id))
            self.host.panes.show_conversation()

    @work(group="dialog", exclusive=True)
    async def action_go_to(self, title: str = "") -> None:
        """Open a session chosen by its title, or the only one whose title has these words."""
        workspace = await self.host.opened_workspace()
        state, now = workspace.state, self.context.now()
        newest = nlargest(MAX_JUMPS, state.sessions, key=lambda session: session.updated)
        for is_meant in (str.__eq__, str.__contains__):
            meant = [s for s in newest if is_meant(s.title.casefold(), title.casefold())]
            if title and len(meant) == 1:
                self.action_open(meant[0].session_id)
                return
        choices = [
            (
                session.session_id,
                session.title,
                " · ".join(filter(None, (ago(session.updated, now), session.model))),
            )
            for session in newest
        ]
        if not choices:
            raise InputError("There are no sessions yet.")
        hint = "Enter open · Esc cancel"
        session_id = await ask(
            self.tui, "Go to session", choices, state.session_id, hint=hint, typed=title
        )
        if session_id:
            self.action_open(session_id)

    @work(group="dialog", exclusive=True)
    async def action_new(self) -> None:
        """Create a session with the role that was used last; another new session keeps its own."""
        state = (await self.host.opened_workspace()).state
        own = state.role.role_id if state.role is not None else ""
        await self._create(own if state.session is None else None)

    async def _create(self, role_id: str | None, *, is_temporary: bool = False) -> None:
        """Create a session; None for the role that was used last, empty for none."""

        async def opens(workspace: Workspace) -> None:
            opening = workspace.sessions.new_temporary if is_temporary else workspace.sessions.new
            await opening(role_id)

        await self.host.switch_session(opens)
        self.host.panes.show_conversation()

    @work(group="dialog", exclusive=True)
    async def action_new_temporary(self) -> None:
        """Create a session of which nothing is stored, with the role that was used last."""
        await self.host.opened_workspace()
        await self._create(None, is_temporary=True)

    @work(group="organize")
    async def action_keep_temporary(self) -> None:
        """Store the temporary session like any other."""
        await (await self.host.opened_workspace()).sessions.keep()

    @work(group="dialog", exclusive=True)
    async def action_choose_role(self, name: str = "") -> None:
        """Choose the role of a session without messages, or create a session with a role."""
        workspace = await self.host.opened_workspace()
        has_begun, fault = workspace.state.session is not None, workspace.state.role_fault
        role_id = await self._role_id(workspace, name, has_begun=has_begun)
        if role_id is None:
            return
        if has_begun and fault and not role_id:
            await workspace.roles.go_on_without()
            self.notify("This session continues without its role.")
        elif has_begun:
            await self._create(role_id)
            self.notify("Started a new session: the role can't change once a session has messages.")
        else:
            await workspace.sessions.choose_role(role_id)
            self.host.panes.chat.focus()

    async def _role_id(self, workspace: Workspace, name: str, *, has_begun: bool) -> str | None:
        """Return the id of a role, asking for it if it is not named; None if none is chosen. Raises
        InputError if there is none of that name.
        """
        from tui_chat.ui.dialogs.roles import ask_role

        if not name:
            title = "New session: choose role" if has_begun else "Choose role"
            fault = workspace.state.role_fault if has_begun else ""
            return await ask_role(self.tui, workspace, title, fault)
        roles = workspace.state.roles
        folded = name.casefold()
        role = next((candidate for candidate in roles if candidate.name.casefold() == folded), None)
        if role is None:
            available = ", ".join(candidate.name for candidate in roles)
            raise InputError(f"There is no role “{name}”.", advice=f"Available: {available}.")
        return role.role_id

    @work(group="dialog", exclusive=True)
    async def action_edit_settings(self, name: str = "") -> None:
        """Show the settings of the session in a form, with the focus on one of them."""
        from tui_chat.ui.dialogs.session_settings import SessionSettingsForm

        workspace = await self.host.opened_workspace()
        await workspace.sessions.branch_loaded()
        await self.tui.push_screen_wait(SessionSettingsForm(workspace, name))

    def action_set_parameter(self, words: str = "") -> None:
        """Set a setting of the session (`NAME VALUE` or `NAME=VALUE`), reset it (`NAME inherit`),
        or say what it is (`NAME`) and what became of it; without words, show the form.
        """
        name, value = split_setting(words)
        if not name:
            self.action_edit_settings()
        elif name.casefold() in ("model", "endpoint"):
            self.action_choose_model(value)
        else:
            self._set_parameter(name, value)

    @work(group="parameter")
    async def _set_parameter(self, name: str, value: str) -> None:
        workspace = await self.host.opened_workspace()
        if value and not await workspace.settings.set_parameter(name, value):
            return
        self.notify(workspace.settings.describe_parameter(name), markup=False)

    @work(group="dialog", exclusive=True)
    async def action_choose_model(self, name: str = "") -> None:
        """Switch the model, at any endpoint, from the next message on.

        `name` is `MODEL`, `ENDPOINT/MODEL`, or `ENDPOINT` for its first model. A model that no
        endpoint offers is requested all the same, from the active one.
        """
        from tui_chat.ui.dialogs.model_choice import ask_model

        workspace = await self.host.opened_workspace()
        chosen = (
            self._named_model(workspace, name)
            if name
            else await ask_model(self.tui, workspace, self.context.environ)
        )
        if chosen is None:
            return
        workspace.requests.show_in(None)
        self._set_model(workspace, *chosen)
        self._warn_of_model(workspace, *chosen)
        self.host.panes.chat.focus()
        endpoint = workspace.state.config.endpoint_named(chosen[0])
        if not name and lacks_key(endpoint, self.context.environ):
            await self.tui.run_action(f"configuration.enter_key({endpoint.name!r})")

    def _warn_of_model(self, workspace: Workspace, endpoint_name: str, model: str) -> None:
        """Say if the endpoint's list does not have a model."""
        endpoint = workspace.state.config.endpoint_named(endpoint_name)
        if model and endpoint.models and model not in endpoint.models:
            sentence = f"{one_line(endpoint_name)} does not list “{one_line(model, 60)}”: "
            self.notify(f"{sentence}tui-chat requests it anyway.", markup=False)

    @work(group="settings")
    async def _set_model(self, workspace: Workspace, endpoint: str, model: str) -> None:
        await workspace.settings.set_model(endpoint, model)

    def _named_model(self, workspace: Workspace, name: str) -> tuple[str, str]:
        """Return an endpoint and a model. Raises InputError if there is none."""
        state = workspace.state
        endpoints = {endpoint.name: endpoint for endpoint in state.config.endpoints}
        endpoint_name, _, model = name.partition("/")
        if model and endpoint_name in endpoints:
            return endpoint_name, model
        if name in endpoints:
            if not endpoints[name].models:
                advice = f"Name one: {name}/MODEL."
                raise InputError(f"No model of “{name}” is known.", advice=advice)
            return name, endpoints[name].models[0]
        offering = [endpoint for endpoint in endpoints.values() if name in endpoint.models]
        is_here = state.endpoint in offering or not offering
        return (state.endpoint if is_here else offering[0]).name, name

    @work(group="dialog", exclusive=True)
    async def action_edit_roles(self) -> None:
        """Write, change, disable or delete roles."""
        from tui_chat.ui.dialogs.roles import RoleForm, ask_role_to_edit

        workspace = await self.host.opened_workspace()
        if (role := await ask_role_to_edit(self.tui, workspace)) is not None:
            picture = await workspace.roles.picture(role.role_id)
            role = await workspace.store.roles.get(role.role_id) or role
            await self.tui.push_screen_wait(RoleForm(self, workspace, role, picture))
