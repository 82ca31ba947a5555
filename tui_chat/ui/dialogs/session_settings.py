"""The settings of the session: one row each, shown in the live request with every change."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static, TextArea

from tui_chat.analysis.settings_report import (
    inherited_settings,
    refused_settings,
    report_settings,
)
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.settings import (
    CONTEXT_SETTINGS,
    SETTINGS,
    SettingError,
    parse_setting,
    setting_text,
)
from tui_chat.ui.dialogs.forms import Form
from tui_chat.ui.widgets.safe_text import SafeTextArea, TextField

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

_FIRST = (
    *("effort", "temperature", "top_p", "max_tokens", "stop", "seed", "verbosity"),
    *("response_format", "web_search", "context_limit", "reply_reserve", "author_note"),
    *("user_name", "char_name"),
)
"""The settings that come before all others."""
_LABELS = {
    "top_p": "Top P",
    "top_k": "Top K",
    "max_tokens": "Max output tokens",
    "stop": "Stop sequences",
    "response_format": "Structured output",
    "author_note": "Author's note",
    "user_name": "Name of {{user}}",
    "char_name": "Name of {{char}}",
    "user_id": "User ID",
    "logprobs": "Log probabilities",
    "lore": "Lorebook search",
    "reply_start": "Start of the reply",
    "character": "Card texts",
    "injections": "Injected texts",
}
"""The labels of settings that are not called by their names."""
_NO_PLACES = ("default", "known for this model")
"""Sources that are no place where a setting can be set."""


class SettingInput(TextField):
    """The value of a setting in a line; the arrow keys go from row to row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]


class SettingRow(Horizontal):
    """A setting: its name, its value, and where that comes from."""

    DEFAULT_CSS = """
    SettingRow {
        height: auto;
        & > .name { width: 21; }
        & > Input, & > TextArea { width: 24; }
        & > TextArea, & > TextArea:focus { height: 3; min-height: 3; }
        & > .state { width: 1fr; padding-left: 1; color: $label; }
        &.-own > .name { text-style: bold; color: $text-primary; }
        &.-doubtful > .state { color: $text-warning; }
        &.-wrong > .state { color: $text-error; }
    }
    """

    def __init__(self, setting: str, value: str) -> None:
        super().__init__()
        self.setting = setting
        kind = SETTINGS[setting]
        if kind.is_text:
            self.field: Input | TextArea = SafeTextArea(value, id=setting, tab_behavior="focus")
        else:
            words = SuggestFromList(kind.words, case_sensitive=False)
            text = sanitize(value)
            self.field = SettingInput(text, id=setting, suggester=words, select_on_focus=False)
        self.fault = ""
        """Why its value is not accepted."""

    @property
    def label(self) -> str:
        """The name on the screen."""
        return _LABELS.get(self.setting, self.setting.replace("_", " ").capitalize())

    def compose(self) -> ComposeResult:
        yield Static(self.label, classes="name", markup=False)
        yield self.field
        yield Static(classes="state")

    @property
    def text(self) -> str:
        """The typed text; empty for what is inherited."""
        text = self.field.value if isinstance(self.field, Input) else self.field.text
        return text.strip()

    def show(self, inherited: str, source: str, refusal: str, doubt: str) -> None:
        """Show the value's source, why the model refuses it, or the `doubt`: what is sent."""
        is_own = bool(self.text)
        unset = "not set" if self.setting in CONTEXT_SETTINGS else "provider's default"
        state = source if source in _NO_PLACES else f"from {source}" if source else unset
        words = self.fault or (is_own and doubt) or refusal or ("this session" if is_own else state)
        self.set_class(is_own, "-own")
        self.set_class(bool(doubt) and is_own, "-doubtful")
        self.set_class(bool(self.fault), "-wrong")
        self.field.placeholder = one_line(inherited, 60)
        self.query_one(".state", Static).update(Text(one_line(words.removesuffix("."), 200)))


class SessionSettingsForm(Form[bool | None]):
    """Changes the settings of the session. The live request follows each change; leaving the form
    restores what was before. The result is True if something was saved.
    """

    DEFAULT_CSS = """
    SessionSettingsForm {
        background: $background 20%;
        & > Vertical { width: 88; }
        & #about { color: $label; margin-top: 1; height: 1; }
        & #fault { height: auto; }
        & .buttons, & .hint { margin-top: 0; }
    }
    SessionSettingsForm.-wide { align-horizontal: left; }
    SessionSettingsForm.-narrow SettingRow > Input { width: 18; }
    SessionSettingsForm.-narrow SettingRow > TextArea { width: 18; }
    """
    hint: ClassVar[str] = "Enter save · Esc cancel · ↑ ↓ row · empty: inherited"

    def __init__(self, workspace: Workspace, focus: str = "") -> None:
        """`focus` names the setting that gets the focus."""
        super().__init__()
        self.AUTO_FOCUS = f"#{focus if focus in SETTINGS else 'temperature'}"  # pyright: ignore[reportAttributeAccessIssue]  a class variable in Textual
        self._workspace = workspace
        self._session_id = workspace.state.session_id
        self._before = self._values = workspace.settings.values
        """The values before, and as they are typed."""
        self.rows: dict[str, SettingRow] = {}
        """The rows by the names of their settings."""
        for name in dict.fromkeys((*_FIRST, *SETTINGS)):
            value = getattr(self._before.settings, name)
            self.rows[name] = SettingRow(name, "" if value is None else setting_text(value))

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Session settings"
            with VerticalScroll(id="fields", can_focus=False):
                yield from self.rows.values()
            yield Static(id="about")
            yield from self.buttons()

    def on_mount(self) -> None:
        self._refresh()

    def _refresh(self) -> None:
        """Show of each row where its value comes from and what becomes of it."""
        request = self._workspace.state.request
        composed = self._workspace.requests.compose(request.draft, None, request.parts)
        inputs = composed.inputs
        if inputs is None:
            return
        inherited, refused = inherited_settings(inputs), refused_settings(inputs)
        reports = {each.name: each for each in report_settings(composed)}
        for name, row in self.rows.items():
            report = reports.get(name)
            notes = report.notes if report is not None and report.is_set else ()
            doubt = " ".join(note.sentence for note in notes)
            refusal = re.sub(r"^[^:]* is not (sent|asked for): ", "", refused.get(name, ""))
            row.show(*inherited.get(name, ("", "")), refusal, doubt)

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed(self, event: Input.Changed | TextArea.Changed) -> None:
        name = event.control.id or ""
        row = self.rows[name]
        try:
            value = parse_setting(name, row.text) if row.text else None
        except SettingError as fault:
            row.fault = str(fault)
        else:
            row.fault = ""
            settings = replace(self._values.settings, **{name: value})
            self._values = replace(self._values, settings=settings)
            if self._is_active:
                self._workspace.settings.preview(self._values)
        self.query_one("#fault", Static).update("")
        self._refresh()

    def on_descendant_focus(self) -> None:
        """Say what the row with the focus accepts."""
        row = next((row for row in self.rows.values() if row.field is self.focused), None)
        if row is not None:
            about = one_line(f"{row.label}: {SETTINGS[row.setting].accepts}")
            self.query_one("#about", Static).update(Text(about))

    # --- the end ---------------------------------------------------------------------------

    @property
    def _is_active(self) -> bool:
        """True while the session that the form was opened for is the active one."""
        return self._workspace.state.session_id == self._session_id

    @on(Input.Submitted)
    def action_save(self) -> None:
        """Save the settings, unless one is not accepted or they cannot be stored."""
        wrong = next((row for row in self.rows.values() if row.fault), None)
        if wrong is not None:
            self.show_fault(wrong.fault, wrong.setting)
        else:
            self._save()

    @work(group="save", exclusive=True)
    async def _save(self) -> None:
        if not self._is_active or await self._workspace.settings.save(self._values):
            self.dismiss(self._is_active)

    def action_leave(self) -> None:
        if self._is_active:
            self._workspace.settings.preview(self._before)
        self.dismiss(None)
