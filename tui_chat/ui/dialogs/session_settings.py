"""The settings of the session: one row each, shown in the live request with every change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import events, on, work
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
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.setting_types import (
    SETTINGS,
    SettingError,
    parse_setting,
    read_setting,
    setting_text,
)
from tui_chat.models.settings import NOTE_DEPTH, NOTE_PLACEMENTS, NOTE_ROLES, AuthorNote
from tui_chat.ui.dialogs.forms import Form
from tui_chat.ui.widgets.safe_text import SafeTextArea, TextField

if TYPE_CHECKING:
    from tui_chat.workspace.settings import SessionValues
    from tui_chat.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SettingField:
    """A row of the form: what it shows, offers and accepts, and what a text in it changes."""

    name: str
    label: str
    accepts: str = ""
    """A hint on accepted texts; empty for that of the setting's type."""
    unset: str = "provider's default"
    """The words shown if nobody sets it."""
    usual: str = ""
    """The value that an empty row has; empty if that depends on preset, role or endpoint."""
    choices: tuple[str, ...] = ()
    """Words that are offered beside those of the setting's type."""

    def text(self, form: SessionSettingsForm) -> str:
        """Return what the session sets, as it is typed; empty for what is inherited."""
        value = getattr(form.values.settings, self.name)
        return "" if value is None else setting_text(value)

    def words(self, form: SessionSettingsForm) -> tuple[str, ...]:
        """Return the words that are offered."""
        return SETTINGS[self.name].words if self.name in SETTINGS else self.choices

    def changed(self, form: SessionSettingsForm, text: str) -> SessionValues:
        """Return the values with that of a text. Raises SettingError or ValueError."""
        value: Any = parse_setting(self.name, text) if text else None
        settings = replace(form.values.settings, **{self.name: value})
        return replace(form.values, settings=settings)


class ModelField(SettingField):
    """The model, of those of the chosen endpoint."""

    def text(self, form: SessionSettingsForm) -> str:
        return form.values.model

    def words(self, form: SessionSettingsForm) -> tuple[str, ...]:
        return form.values.endpoint.models

    def changed(self, form: SessionSettingsForm, text: str) -> SessionValues:
        return replace(form.values, model=text)


class EndpointField(SettingField):
    """The endpoint; a model that another one does not have is left to it."""

    def text(self, form: SessionSettingsForm) -> str:
        name = form.values.endpoint.name
        return name if name != form.config.endpoint else ""

    def words(self, form: SessionSettingsForm) -> tuple[str, ...]:
        return tuple(endpoint.name for endpoint in form.config.endpoints)

    def changed(self, form: SessionSettingsForm, text: str) -> SessionValues:
        name = text or form.config.endpoint
        endpoint = next((each for each in form.config.endpoints if each.name == name), None)
        if endpoint is None:
            raise ValueError(f"there is no endpoint “{one_line(text, 30)}”")
        model = form.values.model
        if model and endpoint.models and model not in endpoint.models:
            model = ""  # it belongs to the endpoint before
        form.offer_models(endpoint.models, model)
        return replace(form.values, endpoint=endpoint, model=model)


class NoteField(SettingField):
    """A part of the author's note, which there is only with a text."""

    def text(self, form: SessionSettingsForm) -> str:
        note = form.values.settings.author_note
        if note is None:
            return ""
        part = self.name.removeprefix("note_")
        text = note.text if self.name == "author_note" else str(getattr(note, part))
        return "" if text == self.usual else text

    def changed(self, form: SessionSettingsForm, text: str) -> SessionValues:
        note = _note({each: form.typed(each) for each in _NOTE})
        before = form.values.settings.author_note
        if note is not None and before is not None:
            note = replace(note, searched=before.searched)
        return replace(form.values, settings=replace(form.values.settings, author_note=note))


def _note(typed: Mapping[str, str]) -> AuthorNote | None:
    """Return the author's note of its rows; None without a text. Raises as `changed` does."""
    values: dict[str, Any] = {"text": typed["author_note"]}
    for name in _NOTE[1:]:
        part, word = name.removeprefix("note_"), typed[name]
        if word and part in ("depth", "interval"):
            if not (word.isascii() and word.isdigit()):
                raise ValueError(f"{part} must be a whole number from 0")
            values[part] = int(word)
        elif word:
            values[part] = word
    return read_setting("author_note", values) if values["text"] else None


_NOTE = ("author_note", "note_depth", "note_role", "note_placement", "note_interval")
FIELDS: tuple[SettingField, ...] = (
    ModelField("model", "Model", "the name of a model; empty for the role's or the endpoint's"),
    EndpointField("endpoint", "Endpoint", "one of the configured endpoints"),
    SettingField("effort", "Effort"),
    SettingField("temperature", "Temperature"),
    SettingField("top_p", "Top P"),
    SettingField("max_tokens", "Max output tokens"),
    SettingField("stop", "Stop sequences"),
    SettingField("seed", "Seed"),
    SettingField("verbosity", "Verbosity"),
    SettingField("response_format", "Structured output"),
    SettingField("web_search", "Web search"),
    SettingField("context_limit", "Context limit", unset="not known for this model"),
    SettingField("reply_reserve", "Reply reserve"),
    NoteField(
        "author_note", "Author's note", "a text that is inserted into the conversation", "none"
    ),
    NoteField(
        "note_depth",
        "  messages after it",
        f"how many messages follow it (its depth); {NOTE_DEPTH} if empty",
        usual=str(NOTE_DEPTH),
    ),
    NoteField(
        "note_role",
        "  its role",
        f"one of {', '.join(NOTE_ROLES)}",
        usual="system",
        choices=NOTE_ROLES,
    ),
    NoteField(
        "note_placement",
        "  its place",
        "at its depth, or beside the preset's message “main”",
        usual="depth",
        choices=NOTE_PLACEMENTS,
    ),
    NoteField(
        "note_interval",
        "  repeat every N",
        "sent if the number of user messages is a multiple of N; 1 always, 0 never",
        usual="1",
    ),
    SettingField("user_name", "Name of {{user}}"),
    SettingField("char_name", "Name of {{char}}"),
    SettingField("reasoning_budget", "Reasoning budget"),
    SettingField("reasoning_summary", "Reasoning summary"),
    SettingField("top_k", "Top K"),
    SettingField("presence_penalty", "Presence penalty"),
    SettingField("frequency_penalty", "Frequency penalty"),
    SettingField("parallel_tool_calls", "Parallel tool calls"),
    SettingField("tool_choice", "Tool choice"),
    SettingField("service_tier", "Service tier"),
    SettingField("user_id", "User ID"),
    SettingField("logprobs", "Log probabilities"),
    SettingField("lore", "Lorebook search"),
    SettingField("global_variables", "Global variables"),
    SettingField("reply_start", "Start of the reply"),
    SettingField("character", "Card texts"),
    SettingField("injections", "Injected texts"),
    SettingField("scripts", "Scripts"),
)
_NO_PLACES = ("default", "known for this model")
"""Sources that are no place where a setting can be set."""


class SettingInput(TextField):
    """The value of a setting. Where words are offered, Left and Right choose one of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]

    def __init__(self, name: str, words: tuple[str, ...]) -> None:
        super().__init__(id=name, suggester=SuggestFromList(words), select_on_focus=False)
        self.words = words

    def action_cursor_left(self, select: bool = False) -> None:
        """Choose the word before, else move the cursor."""
        if not self._choose(-1):
            super().action_cursor_left(select)

    def action_cursor_right(self, select: bool = False) -> None:
        """Choose the next word, else move the cursor."""
        if not self._choose(1):
            super().action_cursor_right(select)

    def _choose(self, step: int) -> bool:
        """Show another word, or none for what is inherited; False if another text is there."""
        choices = ("", *self.words)
        if not self.words or self.value not in choices:
            return False
        self.value = choices[(choices.index(self.value) + step) % len(choices)]
        self.cursor_position = len(self.value)
        return True


class SettingRow(Horizontal):
    """A setting: its name, its value, where that comes from, and a way to inherit it again."""

    DEFAULT_CSS = """
    SettingRow {
        height: auto;
        & > .name { width: 21; }
        & > Input, & > TextArea { width: 24; }
        & > TextArea, & > TextArea:focus { height: 3; min-height: 3; }
        & > .state { width: 1fr; padding-left: 1; color: $label; }
        & > .reset { width: 2; text-align: right; }
        &.-own > .name { text-style: bold; color: $text-primary; }
        &.-refused > .name, &.-refused > Input { color: $foreground 45%; }
        &.-doubtful > .state { color: $text-warning; }
        &.-wrong > .state { color: $text-error; }
    }
    """

    def __init__(self, setting: SettingField, value: str, words: tuple[str, ...]) -> None:
        super().__init__()
        self.setting = setting
        name = setting.name
        self.field: Input | TextArea = (
            SafeTextArea(value, id=name, tab_behavior="focus")
            if name == "author_note"
            else SettingInput(name, words)
        )
        if isinstance(self.field, Input):
            self.field.value = sanitize(value)
        self.fault = ""
        """Why its value is not accepted."""

    def compose(self) -> ComposeResult:
        yield Static(self.setting.label, classes="name", markup=False)
        yield self.field
        yield Static(classes="state")
        yield Static("↺", classes="reset")

    @property
    def text(self) -> str:
        """The typed text."""
        return self.field.value if isinstance(self.field, Input) else self.field.text

    @text.setter
    def text(self, text: str) -> None:
        if isinstance(self.field, Input):
            self.field.value = text
        else:
            self.field.text = text

    def show(self, inherited: str, source: str, refusal: str, doubt: str) -> None:
        """Show the value's source, why the model refuses it, or the `doubt`: what is sent."""
        is_own = bool(self.text.strip())
        state = (
            source if source in _NO_PLACES else f"from {source}" if source else self.setting.unset
        )
        words = "this session" if is_own else state
        words = self.fault or (is_own and doubt) or refusal or words
        self.set_class(is_own, "-own")
        self.set_class(bool(refusal), "-refused")
        self.set_class(bool(doubt) and is_own, "-doubtful")
        self.set_class(bool(self.fault), "-wrong")
        self.field.disabled = bool(refusal) and not is_own and not self.field.has_focus
        self.field.placeholder = one_line(inherited, 60)
        self.query_one(".state", Static).update(Text(one_line(words.removesuffix("."), 200)))
        self.query_one(".reset").visible = is_own

    @on(events.Click, ".reset")
    def _reset(self) -> None:
        self.text = ""


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
        & .buttons { margin-top: 0; }
        & .hint { margin-top: 0; }
    }
    SessionSettingsForm.-wide { align-horizontal: left; }
    SessionSettingsForm.-narrow SettingRow > Input { width: 18; }
    SessionSettingsForm.-narrow SettingRow > TextArea { width: 18; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "reset", "Inherit", show=False, priority=True)
    ]
    hint: ClassVar[str] = "Enter save · Esc cancel · ↑ ↓ row · ← → choose · Ctrl+R inherit"
    _HINT_IN_LINES = "Ctrl+S save · Esc cancel · Enter new line · Ctrl+R inherit"
    """The hint in a field of several lines."""

    def __init__(self, workspace: Workspace, focus: str = "") -> None:
        """`focus` names the row that gets the focus."""
        super().__init__()
        names = [field.name for field in FIELDS]
        self.AUTO_FOCUS = f"#{focus}" if focus in names else "#temperature"  # pyright: ignore[reportAttributeAccessIssue]  a class variable in Textual
        self._workspace = workspace
        self._session_id = workspace.state.session_id
        self.config = workspace.state.config
        self._before = self.values = workspace.settings.values
        """The values before, and as they are typed."""
        self._rows: dict[str, SettingRow] = {}

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Session settings"
            with VerticalScroll(id="fields", can_focus=False):
                for field in FIELDS:
                    row = SettingRow(field, field.text(self), field.words(self))
                    self._rows[field.name] = row
                    yield row
            yield Static(id="about")
            yield from self.buttons()

    def on_mount(self) -> None:
        self._refresh()

    # --- rows ------------------------------------------------------------------------------

    def typed(self, name: str) -> str:
        """Return the text of a row, stripped."""
        return self._rows[name].text.strip()

    def offer_models(self, models: tuple[str, ...], model: str) -> None:
        """Offer the models of another endpoint, and show the one that stays."""
        row = self._rows["model"]
        if not model:
            with self.prevent(Input.Changed):
                row.text = ""
        if isinstance(row.field, SettingInput):
            row.field.words = models
            row.field.suggester = SuggestFromList(models)

    def _refresh(self) -> None:
        """Show of each row where its value comes from and what becomes of it."""
        request = self._workspace.state.request
        composed = self._workspace.requests.compose(request.draft, None, request.parts)
        inputs = composed.inputs
        if inputs is None:
            return
        inherited, refused = inherited_settings(inputs), refused_settings(inputs)
        inherited |= {"endpoint": (self.config.endpoint, "the configuration")}
        inherited |= {field.name: (field.usual, "default") for field in FIELDS if field.usual}
        reports = {each.name: each for each in report_settings(composed)}
        for name, row in self._rows.items():
            report = reports.get(name)
            notes = report.notes if report is not None and report.is_set else ()
            doubt = " ".join(note.sentence for note in notes)
            refusal = re.sub(r"^[^:]* is not (sent|asked for): ", "", refused.get(name, ""))
            row.show(*inherited.get(name, ("", "")), refusal, doubt)

    # --- changes ---------------------------------------------------------------------------

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed(self, event: Input.Changed | TextArea.Changed) -> None:
        name = (event.input if isinstance(event, Input.Changed) else event.text_area).id or ""
        row = self._rows[name]
        try:
            self.values = row.setting.changed(self, row.text.strip())
        except (SettingError, ValueError) as fault:
            row.fault = str(fault)
        else:
            row.fault = ""
            if self._is_active:
                self._workspace.settings.preview(self.values)
        self.query_one("#fault", Static).update("")
        self._refresh()

    def action_reset(self) -> None:
        row = self._focused_row
        if row is not None:
            row.text = ""

    @property
    def _focused_row(self) -> SettingRow | None:
        return next((row for row in self._rows.values() if row.field is self.focused), None)

    def on_descendant_focus(self) -> None:
        row = self._focused_row
        if row is not None:
            field = row.setting
            accepts = field.accepts or SETTINGS[field.name].accepts
            about = one_line(f"{field.label.strip()}: {accepts}")
            self.query_one("#about", Static).update(Text(about))
        hint = self._HINT_IN_LINES if isinstance(self.focused, TextArea) else self.hint
        self.query_one(".hint", Static).update(hint)

    # --- the end ---------------------------------------------------------------------------

    @property
    def _is_active(self) -> bool:
        """True while the session that the form was opened for is the active one."""
        return self._workspace.state.session_id == self._session_id

    @on(Input.Submitted)
    def action_save(self) -> None:
        """Save the settings, unless one is not accepted or they cannot be stored."""
        wrong = next((row for row in self._rows.values() if row.fault), None)
        if wrong is not None:
            self.show_fault(wrong.fault, wrong.setting.name)
        else:
            self._save()

    @work(group="save", exclusive=True)
    async def _save(self) -> None:
        if not self._is_active or await self._workspace.settings.save(self.values):
            self.dismiss(self._is_active)

    def action_leave(self) -> None:
        if self._is_active:
            self._workspace.settings.preview(self._before)
        self.dismiss(None)
