"""Forms: a role to write, and who one is. Loaded when one is opened."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Checkbox, Input, Static, TextArea

from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.models.visible import visible
from tui_chat.ui.dialogs import Dialog, T, entitle
from tui_chat.ui.widgets.safe_text import SafeTextArea

_HINT = "Ctrl+S keeps it · Esc leaves it as it was · Tab goes on"


class Form(Dialog[T]):
    """A dialog with fields; Ctrl+S keeps what stands in them."""

    DEFAULT_CSS = """
    Form {
        & > Vertical { width: 84; height: 90%; }
        #fields { height: 1fr; max-height: 100%; }
        .label { color: $foreground 72%; margin-top: 1; }
        .label.-first { margin-top: 0; }
        Input, Input:focus {
            margin: 0; border: none; height: 1; padding: 0 1; background: $panel;
        }
        TextArea, TextArea:focus {
            height: 1fr; min-height: 4; border: none; padding: 0 1; background: $panel;
        }
        Input:focus, TextArea:focus { background: $primary 20%; }
        Checkbox { border: none; padding: 0; background: $surface; margin-top: 1; }
        .pair { height: auto; }
        .pair Vertical { height: auto; width: 1fr; margin-right: 1; }
        #fault { color: $text-error; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "keep", "Keep", show=False, priority=True)
    ]

    def buttons(self) -> ComposeResult:
        """Lay out what stands below the fields."""
        yield Static(id="fault")
        with Horizontal(classes="buttons"):
            yield from self.more_buttons()
            yield Button("Cancel", id="cancel", compact=True)
            yield Button("Keep", id="keep", variant="primary", compact=True)
        yield Static(_HINT, classes="hint")

    def more_buttons(self) -> ComposeResult:
        """Lay out what can be done beside keeping it or not."""
        yield from ()

    def action_keep(self) -> None:
        """Answer with what stands in the fields, or tell what is wrong with it."""
        raise NotImplementedError

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "keep":
            self.action_keep()
        elif event.button.id == "cancel":
            self.dismiss(None)

    def said(self, field: str) -> str:
        """Return what stands in a line."""
        return self.query_one(f"#{field}", Input).value.strip()

    def complain(self, words: str, field: str) -> None:
        """Tell what is wrong, and go there."""
        self.query_one("#fault", Static).update(Text(words))
        self.query_one(f"#{field}").focus()


class RoleForm(Form[Role | Literal["delete"] | None]):
    """Asks what a role is; the answer has the id of the role it was opened with, or is that it is
    to be deleted.
    """

    def __init__(self, role: Role, presets: tuple[str, ...]) -> None:
        super().__init__()
        self._role = role
        self._presets = presets

    def compose(self) -> ComposeResult:
        """Lay out the fields."""
        role = self._role
        with Vertical() as box:
            entitle(box, f"Role: {role.name}" if role.role_id else "New role")
            with VerticalScroll(id="fields", can_focus=False):
                yield Static("Name", classes="label -first")
                yield Input(visible(role.name), id="name")
                yield Static("System prompt", classes="label")
                yield SafeTextArea(role.system_prompt, id="prompt", tab_behavior="focus")
                with Horizontal(classes="pair"):
                    with Vertical():
                        yield Static("Model (empty: the endpoint's)", classes="label")
                        yield Input(visible(role.model), id="model")
                    with Vertical():
                        yield Static("Preset (empty: plain)", classes="label")
                        yield Input(role.preset, id="preset")
                with Horizontal(classes="pair"):
                    with Vertical():
                        yield Static("Temperature (empty: not sent)", classes="label")
                        yield Input(_written(role.temperature), id="temperature")
                    with Vertical():
                        yield Static("Most tokens of a reply", classes="label")
                        yield Input(_written(role.max_tokens), id="max-tokens")
                yield Checkbox("Can begin sessions", role.status == "enabled", id="enabled")
            yield from self.buttons()

    def more_buttons(self) -> ComposeResult:
        """Offer to delete a role that there is."""
        if self._role.role_id:
            yield Button("Delete…", id="delete", variant="error", compact=True)

    @on(Button.Pressed, "#delete")
    def _delete(self) -> None:
        self.dismiss("delete")

    def action_keep(self) -> None:
        """Answer with the role."""
        name = self.said("name")
        preset = self.said("preset")
        if not name:
            self.complain("A role needs a name.", "name")
            return
        if preset and preset not in self._presets:
            known = ", ".join(self._presets)
            self.complain(f"There is no preset “{preset}”. There are: {known}.", "preset")
            return
        try:
            temperature = float(said) if (said := self.said("temperature")) else None
        except ValueError:
            self.complain("The temperature is a number, such as 0.7.", "temperature")
            return
        try:
            max_tokens = int(said) if (said := self.said("max-tokens")) else None
        except ValueError:
            self.complain("Tokens are a whole number, such as 2000.", "max-tokens")
            return
        self.dismiss(
            replace(
                self._role,
                name=name,
                system_prompt=self.query_one("#prompt", TextArea).text,
                model=self.said("model"),
                preset=preset,
                temperature=temperature,
                max_tokens=max_tokens,
                status="enabled" if self.query_one("#enabled", Checkbox).value else "disabled",
            )
        )


class ProfileForm(Form[Profile | None]):
    """Asks who one is."""

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self._profile = profile

    def compose(self) -> ComposeResult:
        """Lay out the fields."""
        with Vertical() as box:
            box.border_title = "Profile"
            with VerticalScroll(id="fields", can_focus=False):
                yield Static("Name", classes="label")
                yield Input(visible(self._profile.name), id="name")
                yield Static("What the model should know about you", classes="label")
                yield SafeTextArea(self._profile.content, id="content", tab_behavior="focus")
            yield from self.buttons()

    def action_keep(self) -> None:
        """Answer with the profile."""
        name = self.said("name")
        if name:
            self.dismiss(Profile(name, self.query_one("#content", TextArea).text))
        else:
            self.complain("A profile needs a name.", "name")


def _written(number: float | None) -> str:
    return "" if number is None else f"{number:g}"
