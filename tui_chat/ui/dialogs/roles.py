"""The dialogs of roles: which one, and its form."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Checkbox, Input, Static, TextArea

from tui_chat.models.media import HEADER_BYTES, detect_mime, format_size, pixels_of
from tui_chat.models.message import Part
from tui_chat.models.role import Role
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.ui.dialogs.base import set_title
from tui_chat.ui.dialogs.forms import Form, number_text
from tui_chat.ui.questions import ask, confirm
from tui_chat.ui.widgets.safe_text import SafeTextArea

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

_NEW_ROLE = "+"
MAX_NOTES = 4_000
"""Characters of a card's creator's notes that are shown."""


async def ask_role(app: App[Any], workspace: Workspace, title: str) -> str | None:
    """Ask for an enabled role, the one used last first; empty for none."""
    enabled = [role for role in workspace.state.roles if role.status == "enabled"]
    choices = [(role.role_id, role.name, _about_role(role)) for role in enabled]
    choices.append(("", "No role", "No system prompt but the preset's"))
    return await ask(app, title, choices, enabled[0].role_id if enabled else "")


async def ask_role_to_edit(app: App[Any], workspace: Workspace) -> Role | None:
    """Ask which role to edit; a new one has neither id nor name."""
    roles = workspace.state.roles
    choices = [(_NEW_ROLE, "+ New role", "")]
    choices += [(role.role_id, role.name, _about_role(role)) for role in roles]
    current = workspace.state.role.role_id if workspace.state.role else _NEW_ROLE
    chosen = await ask(app, "Edit roles", choices, current)
    if chosen is None:
        return None
    return next((role for role in roles if role.role_id == chosen), Role("", ""))


def _about_role(role: Role) -> str:
    """Return a role's model, preset and prompt in one line."""
    prompt = one_line(role.system_prompt, 81)
    prompt = prompt if len(prompt) <= 80 else f"{prompt[:79].rstrip()}…"
    disabled = "disabled" if role.status == "disabled" else ""
    return " · ".join(filter(None, (disabled, role.model, role.preset, prompt)))


async def confirm_delete_role(app: App[Any], workspace: Workspace, role: Role) -> bool:
    """Ask whether to delete a role, with the effect on its sessions."""
    count = sum(each.role_name == role.name for each in workspace.state.sessions)
    one, many = "The session bound to it stays", f"The {count:,} sessions bound to it stay"
    stays = f"{one if count == 1 else many}, without its system prompt. " if count else ""
    question = f"{stays}This cannot be undone. A disabled role is not offered either."
    title = f"Delete the role “{one_line(role.name, 40)}”?"
    return await confirm(app, title, question, yes="Delete")


class RoleForm(Form[Role | Literal["delete"] | None]):
    """Edits a role. The result is the role with its id unchanged, "delete", or None."""

    def __init__(
        self,
        role: Role,
        presets: tuple[str, ...],
        picture: bytes = b"",
        open_part: Callable[[str], None] = lambda part: None,
    ) -> None:
        """`open_part` is called with `picture`, `character` or `lorebook` to show that part of a
        stored role.
        """
        super().__init__()
        self._role = role
        self._presets = presets
        self._picture = picture
        self._open_part = open_part

    def compose(self) -> ComposeResult:
        role = self._role
        with Vertical() as box:
            set_title(box, f"Role: {role.name}" if role.role_id else "New role")
            with VerticalScroll(id="fields", can_focus=False):
                yield Static("Name", classes="label -first")
                yield Input(sanitize(role.name), id="name")
                yield Static("System prompt", classes="label")
                yield SafeTextArea(role.system_prompt, id="prompt", tab_behavior="focus")
                yield from self.pair(
                    ("Model (empty: the endpoint's)", Input(sanitize(role.model), id="model")),
                    ("Preset (empty: plain)", Input(role.preset, id="preset")),
                )
                temperature = number_text(role.settings.temperature)
                max_tokens = number_text(role.settings.max_tokens)
                yield from self.pair(
                    ("Temperature (empty: not sent)", Input(temperature, id="temperature")),
                    ("Max output tokens", Input(max_tokens, id="max-tokens")),
                )
                yield Checkbox("Available for new sessions", role.status == "enabled", id="enabled")
                if role.role_id:
                    yield Static("Character card", classes="label")
                    if self._picture:
                        yield Static(_picture_facts(self._picture), id="picture")
                    with Horizontal(classes="parts"):
                        yield Button("Character…", id="part-character", compact=True)
                        yield Button("Lorebook…", id="part-lorebook", compact=True)
                        if self._picture:
                            yield Button("Picture", id="part-picture", compact=True)
                if role.character is not None and role.character.creator_notes.strip():
                    by = one_line(role.character.creator, 60)
                    yield Static(f"Creator's notes{f', {by}' if by else ''}", classes="label")
                    yield Static(Text(sanitize(role.character.creator_notes[:MAX_NOTES])))
            yield from self.buttons()

    def more_buttons(self) -> ComposeResult:
        """Offer to delete an existing role."""
        if self._role.role_id:
            yield Button("Delete…", id="delete", variant="error", compact=True)

    @on(Button.Pressed, ".parts Button")
    def _show_part(self, event: Button.Pressed) -> None:
        self._open_part((event.button.id or "").removeprefix("part-"))

    @on(Button.Pressed, "#delete")
    def _delete(self) -> None:
        self.dismiss("delete")

    def action_save(self) -> None:
        """Answer with the role if its fields are valid."""
        name = self.value("name")
        preset = self.value("preset")
        if not name:
            self.show_fault("A role needs a name.", "name")
            return
        if preset and preset not in self._presets:
            known = ", ".join(self._presets)
            self.show_fault(f"There is no preset “{preset}”. Known presets: {known}.", "preset")
            return
        try:
            temperature = float(text) if (text := self.value("temperature")) else None
        except ValueError:
            self.show_fault("The temperature must be a number, such as 0.7.", "temperature")
            return
        try:
            max_tokens = int(text) if (text := self.value("max-tokens")) else None
        except ValueError:
            self.show_fault("Max output tokens must be a whole number, such as 2000.", "max-tokens")
            return
        self.dismiss(
            replace(
                self._role,
                name=name,
                system_prompt=self.query_one("#prompt", TextArea).text,
                model=self.value("model"),
                preset=preset,
                settings=replace(
                    self._role.settings, temperature=temperature, max_tokens=max_tokens
                ),
                status="enabled" if self.query_one("#enabled", Checkbox).value else "disabled",
            )
        )


def _picture_facts(content: bytes) -> str:
    """Return type, size and pixels of a picture: `PNG · 34 kB · 400 × 600`."""
    facts = [detect_mime(content).rpartition("/")[2].upper(), format_size(len(content))]
    data = b64encode(content[:HEADER_BYTES]).decode()
    if (pixels := pixels_of(Part("image", data=data))) is not None:
        facts.append(f"{pixels[0]:,} × {pixels[1]:,}")
    return " · ".join(facts)
