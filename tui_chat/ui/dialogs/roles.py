"""The dialogs of roles: which one, and its form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from textual import on, work
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button, Static

from tui_chat.errors import FieldError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import card_files
from tui_chat.library.typed_fields import Field, FieldRows, Values, shown_values, typed_values
from tui_chat.models.boundary import Range
from tui_chat.models.role import Character, Role
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.file_viewer import view_file
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.questions import EDITS, ask, confirm
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.ui.area import Area
    from tui_chat.workspace.workspace import Workspace

_NEW_ROLE = "+"


async def ask_role(app: App[Any], workspace: Workspace, title: str, fault: str = "") -> str | None:
    """Ask for an enabled role, the one used last first; empty for none. `fault` is why the active
    session cannot send with its own role; it can go on without.
    """
    enabled = [role for role in workspace.state.roles if role.status == "enabled"]
    described = await workspace.store.roles.descriptions()
    choices = [(role.role_id, role.name, _about_role(role, described)) for role in enabled]
    if fault:
        choices.insert(0, ("", "Go on without a role", f"The role of this session is {fault}"))
        return await ask(app, title, choices, "")
    choices.append(("", "No role", "No system prompt but the preset's"))
    return await ask(app, title, choices, enabled[0].role_id if enabled else "")


async def ask_role_to_edit(app: App[Any], workspace: Workspace) -> Role | None:
    """Ask which role to edit; a new one has neither id nor name."""
    roles = workspace.state.roles
    described = await workspace.store.roles.descriptions()
    choices = [(_NEW_ROLE, "+ New role", "")]
    choices += [(role.role_id, role.name, _about_role(role, described)) for role in roles]
    current = workspace.state.role.role_id if workspace.state.role else _NEW_ROLE
    chosen = await ask(app, "Write or edit a role", choices, current, hint=EDITS)
    if chosen is None:
        return None
    return next((role for role in roles if role.role_id == chosen), Role("", ""))


def _about_role(role: Role, described: Mapping[str, str]) -> str:
    """Return a role's model, preset and prompt in one line; without a prompt the first line of the
    character's description, in `described` by the role's id.
    """
    text = role.system_prompt or described.get(role.role_id, "").partition("\n")[0]
    prompt = one_line(text, 81)
    prompt = prompt if len(prompt) <= 80 else f"{prompt[:79].rstrip()}…"
    disabled = "disabled" if role.status == "disabled" else ""
    return " · ".join(filter(None, (disabled, role.model, role.preset, prompt)))


async def confirm_delete_role(app: App[Any], workspace: Workspace, role: Role) -> bool:
    """Ask whether to delete a role, with the effect on its sessions."""
    count = sum(listed.role_name == role.name for listed in workspace.state.sessions)
    one, many = "The session bound to it stays", f"The {count:,} sessions bound to it stay"
    stays = f"{one if count == 1 else many}, without its system prompt. " if count else ""
    question = f"{stays}This cannot be undone. A disabled role is not offered either."
    title = f"Delete the role “{one_line(role.name, 40)}”?"
    return await confirm(app, title, question, yes="Delete")


@dataclass(frozen=True, slots=True)
class _RoleValues:
    """The values of a role's form."""

    name: str = ""
    system_prompt: str = ""
    model: str = ""
    preset: str = ""
    temperature: float | None = None
    max_tokens: Annotated[int, Range(1)] | None = None
    enabled: bool = True


_ROWS: FieldRows = (
    (Field("name", "Name"),),
    (Field("system_prompt", "System prompt", "text"),),
    (Field("model", "Model (empty: the endpoint's)"), Field("preset", "Preset (empty: plain)")),
    (
        Field("temperature", "Temperature (empty: not sent)", "number"),
        Field("max_tokens", "Max output tokens", "number"),
    ),
    (Field("enabled", "Available for new sessions", "switch"),),
)
_FIELDS = {field.name: field for row in _ROWS for field in row}


class RoleForm(FieldsForm):
    """Edits a role, and shows the parts of its character card."""

    DEFAULT_CSS = """
    RoleForm TextArea.-text, RoleForm TextArea.-text:focus { height: 15; }
    """

    def __init__(self, area: Area, workspace: Workspace, role: Role, picture: bytes = b"") -> None:
        """A new role has no id; `picture` is that of its card."""
        self._area, self._workspace = area, workspace
        self._role, self._picture = role, picture
        values = _RoleValues(
            *(role.name, role.system_prompt, role.model, role.preset),
            *(role.settings.temperature, role.settings.max_tokens, role.status == "enabled"),
        )
        title = f"Role: {role.name}" if role.role_id else "New role"
        super().__init__(title, _ROWS, shown_values(values, _FIELDS.values()), self._save_role)

    async def _save_role(self, values: Values, overwrite: bool) -> None:
        role, typed = self._role, _RoleValues(**typed_values(values, _FIELDS, _RoleValues))
        presets = self._workspace.library.names("presets")
        if not typed.name:
            raise FieldError("name", "A role needs a name.")
        if typed.preset and typed.preset not in presets:
            sentence = f"There is no preset “{typed.preset}”."
            raise FieldError("preset", f"{sentence} Known presets: {', '.join(presets)}.")
        changed = replace(
            role,
            name=typed.name,
            system_prompt=typed.system_prompt,
            model=typed.model,
            preset=typed.preset,
            settings=replace(
                role.settings, temperature=typed.temperature, max_tokens=typed.max_tokens
            ),
            status="enabled" if typed.enabled else "disabled",
            character=None,  # it is kept by its own form
        )
        if await self._workspace.roles.save(changed) is not None:
            name = one_line(typed.name, 40)
            use = (
                f"Use it with /role {name}."
                if typed.enabled
                else "It is disabled: /roles enables it."
            )
            self.notify(f"Role “{name}” saved. {use}", markup=False)

    def fields_below(self) -> ComposeResult:
        role = self._role
        if role.role_id:
            yield Static("Character card", classes="label")
            with Horizontal(classes="parts"):
                yield Button("Character…", id="part-character", compact=True)
                if self._picture:
                    yield Button("Picture", id="part-picture", compact=True)

    def more_buttons(self) -> ComposeResult:
        if self._role.role_id:
            yield Button("Delete…", id="delete", variant="error", compact=True)

    @on(Button.Pressed, "#delete")
    @work
    async def _delete(self) -> None:
        if await confirm_delete_role(app_of(self), self._workspace, self._role):
            await self._workspace.roles.delete(self._role.role_id)
            self.dismiss(True)

    @on(Button.Pressed, "#part-picture")
    @work(group="role part", exclusive=True)
    async def _show_picture(self) -> None:
        await view_file(self._area, f"{self._role.name}.png", self._picture)

    @on(Button.Pressed, "#part-character")
    @work(group="role part", exclusive=True)
    async def _edit_character(self) -> None:
        cards = card_files()
        roles, role_id = self._workspace.roles, self._role.role_id
        character = await self._stored_character()
        values = cards.values(character)

        async def keep(typed: Values, overwrite: bool) -> None:
            await roles.edit_character(role_id, values, typed)

        title = f"Character: {one_line(self._role.name, 40)}"
        form = FieldsForm(title, cards.fields(character), values, keep)
        await app_of(self).push_screen_wait(form)

    async def _stored_character(self) -> Character:
        """Return the role's character as it is stored now; its own form may have changed it."""
        stored = await self._workspace.store.roles.get(self._role.role_id)
        return (stored.character if stored is not None else None) or Character()
