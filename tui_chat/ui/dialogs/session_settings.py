"""The settings of the session: one row each, shown in the live request with every change."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static, TextArea

from tui_chat.analysis.settings_report import (
    inherited_settings,
    refused_settings,
    report_settings,
)
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.setting_json import setting_text
from tui_chat.models.setting_types import (
    SETTINGS,
    SettingError,
    parse_setting,
    read_setting,
)
from tui_chat.models.settings import NOTE_DEPTH, NOTE_PLACEMENTS, NOTE_ROLES, AuthorNote
from tui_chat.ui.dialogs.forms import Form
from tui_chat.ui.widgets.safe_text import SafeTextArea

if TYPE_CHECKING:
    from tui_chat.workspace.settings import SessionValues
    from tui_chat.workspace.workspace import Workspace

LABELS = {
    "model": "Model",
    "endpoint": "Endpoint",
    "effort": "Effort",
    "temperature": "Temperature",
    "top_p": "Top P",
    "max_tokens": "Max output tokens",
    "stop": "Stop sequences",
    "seed": "Seed",
    "verbosity": "Verbosity",
    "response_format": "Structured output",
    "web_search": "Web search",
    "context_limit": "Context limit",
    "reply_reserve": "Reply reserve",
    "author_note": "Author's note",
    "note_depth": "  its depth",
    "note_role": "  its role",
    "note_placement": "  its place",
    "note_interval": "  every … messages",
    "user_name": "Name of {{user}}",
    "char_name": "Name of {{char}}",
    "reasoning_budget": "Reasoning budget",
    "reasoning_summary": "Reasoning summary",
    "top_k": "Top K",
    "presence_penalty": "Presence penalty",
    "frequency_penalty": "Frequency penalty",
    "parallel_tool_calls": "Parallel tool calls",
    "tool_choice": "Tool choice",
    "service_tier": "Service tier",
    "user_id": "User ID",
    "logprobs": "Log probabilities",
    "lore": "Lorebook search",
    "global_variables": "Global variables",
    "reply_start": "Start of the reply",
    "character": "Card texts",
    "injections": "Injected texts",
    "scripts": "Scripts",
}
"""The rows, in their order."""

_NOTE = ("author_note", "note_depth", "note_role", "note_placement", "note_interval")
_ACCEPTS = {
    "model": "the name of a model; empty for the role's or the endpoint's",
    "endpoint": "one of the configured endpoints",
    "author_note": "a text that is inserted into the conversation",
    "note_depth": f"how many messages follow it; {NOTE_DEPTH} if empty",
    "note_role": f"one of {', '.join(NOTE_ROLES)}",
    "note_placement": "at its depth, or beside the preset's message “main”",
    "note_interval": "sent if the number of user messages is a multiple of it; 1 always, 0 never",
}
_UNSET = {"context_limit": "not known for this model", "author_note": "none"}
"""What is said of a setting that nobody sets, instead of “provider's default”."""
_NO_PLACES = ("default", "known for this model")
"""Sources that are no place where a setting can be set."""


class SettingInput(Input):
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
        & > .state { width: 1fr; padding-left: 1; color: $foreground 72%; }
        & > .reset { width: 2; text-align: right; }
        &.-own > .name { text-style: bold; color: $text-primary; }
        &.-refused > .name, &.-refused > Input { color: $foreground 45%; }
        &.-doubtful > .state { color: $text-warning; }
        &.-wrong > .state { color: $text-error; }
    }
    """

    class ResetRequested(Message):
        """The setting is to be inherited again."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.setting = name

    def __init__(self, name: str, value: str, words: tuple[str, ...]) -> None:
        super().__init__()
        self.setting = name
        is_long = name == "author_note"
        self.field: Input | TextArea = (
            SafeTextArea(value, id=name, tab_behavior="focus")
            if is_long
            else SettingInput(name, words)
        )
        if isinstance(self.field, Input):
            self.field.value = sanitize(value)
        self.fault = ""
        """Why its value is not accepted."""

    def compose(self) -> ComposeResult:
        yield Static(LABELS[self.setting], classes="name", markup=False)
        yield self.field
        yield Static(classes="state")
        yield Static("↺", classes="reset")

    @property
    def text(self) -> str:
        """What is typed."""
        return self.field.value if isinstance(self.field, Input) else self.field.text

    @text.setter
    def text(self, text: str) -> None:
        if isinstance(self.field, Input):
            self.field.value = text
        else:
            self.field.text = text

    def show(self, inherited: str, source: str, refusal: str, doubt: str) -> None:
        """Show where the value comes from. `refusal` says why the model does not take it, and
        `doubt` what is sent instead.
        """
        is_own = bool(self.text.strip())
        nobody = _UNSET.get(self.setting, "provider's default")
        state = source if source in _NO_PLACES else f"from {source}" if source else nobody
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
        self.post_message(self.ResetRequested(self.setting))


class SessionSettingsForm(Form[bool | None]):
    """Changes the settings of the session. The live request follows each change; leaving the form
    restores what was before. The result is True if something was saved.
    """

    DEFAULT_CSS = """
    SessionSettingsForm {
        background: $background 20%;
        & > Vertical { width: 88; }
        & #about { color: $foreground 72%; margin-top: 1; height: 1; }
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
    hint: ClassVar[str] = "Enter saves · Esc cancels · ↑ ↓ row · ← → choose · Ctrl+R inherits"

    def __init__(self, workspace: Workspace, focus: str = "") -> None:
        """`focus` names the row that gets the focus."""
        super().__init__()
        self.AUTO_FOCUS = f"#{focus}" if focus in LABELS else "#temperature"  # pyright: ignore[reportAttributeAccessIssue]  a class variable in Textual
        self._workspace = workspace
        self._session_id = workspace.state.session_id
        self._before = self._values = workspace.settings.values
        self._rows: dict[str, SettingRow] = {}

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Settings of the session"
            with VerticalScroll(id="fields", can_focus=False):
                for name in LABELS:
                    row = SettingRow(name, self._text(name), self._words(name))
                    self._rows[name] = row
                    yield row
            yield Static(id="about")
            yield from self.buttons()

    def on_mount(self) -> None:
        """Show where the values come from."""
        self._refresh()

    # --- rows ------------------------------------------------------------------------------

    def _text(self, name: str) -> str:
        """Return the text of a row; empty for what is inherited."""
        values = self._values
        note = values.settings.author_note
        match name:
            case "model":
                return values.model
            case "endpoint":
                default = self._workspace.state.config.endpoint
                return values.endpoint.name if values.endpoint.name != default else ""
            case "author_note":
                return note.text if note is not None else ""
            case "note_depth":
                return str(note.depth) if note is not None and note.depth != NOTE_DEPTH else ""
            case "note_role":
                return note.role if note is not None and note.role != "system" else ""
            case "note_placement":
                return note.placement if note is not None and note.placement != "depth" else ""
            case "note_interval":
                return str(note.interval) if note is not None and note.interval != 1 else ""
            case _:
                value = getattr(values.settings, name)
                return "" if value is None else setting_text(value)

    def _words(self, name: str) -> tuple[str, ...]:
        """Return the words that a row offers."""
        match name:
            case "model":
                return self._values.endpoint.models
            case "endpoint":
                return tuple(each.name for each in self._workspace.state.config.endpoints)
            case "note_role":
                return NOTE_ROLES
            case "note_placement":
                return NOTE_PLACEMENTS
            case _:
                return SETTINGS[name].words if name in SETTINGS else ()

    def _refresh(self) -> None:
        """Show of each row where its value comes from and what becomes of it."""
        composed = self._workspace.settings.composed
        inputs = composed.inputs
        if inputs is None:
            return
        inherited, refused = inherited_settings(inputs), refused_settings(inputs)
        default = self._workspace.state.config.endpoint
        inherited |= {"endpoint": (default, "the configuration")}
        inherited |= {
            "note_depth": (str(NOTE_DEPTH), "default"),
            "note_role": ("system", "default"),
            "note_placement": ("depth", "default"),
            "note_interval": ("1", "default"),
        }
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
            self._values = self._changed_values(name, row.text.strip())
        except (SettingError, ValueError) as fault:
            row.fault = str(fault)
        else:
            row.fault = ""
            if self._is_active:
                self._workspace.settings.preview(self._values)
        self.query_one("#fault", Static).update("")
        self._refresh()

    def _changed_values(self, name: str, text: str) -> SessionValues:
        """Return the values with that of a row. Raises SettingError or ValueError."""
        values = self._values
        if name == "model":
            return replace(values, model=text)
        if name == "endpoint":
            return self._with_endpoint(text)
        if name in _NOTE:
            return replace(values, settings=replace(values.settings, author_note=self._note()))
        value: Any = parse_setting(name, text) if text else None
        return replace(values, settings=replace(values.settings, **{name: value}))

    def _with_endpoint(self, name: str) -> SessionValues:
        config = self._workspace.state.config
        found = [each for each in config.endpoints if each.name == (name or config.endpoint)]
        if not found:
            raise ValueError(f"there is no endpoint “{one_line(name, 30)}”")
        model = self._values.model
        if model and found[0].models and model not in found[0].models:
            model = ""  # it belongs to the endpoint before
            with self.prevent(Input.Changed):
                self._rows["model"].text = ""
        field = self._rows["model"].field
        if isinstance(field, SettingInput):
            field.words = found[0].models
            field.suggester = SuggestFromList(found[0].models)
        return replace(self._values, endpoint=found[0], model=model)

    def _note(self) -> AuthorNote | None:
        """Return the author's note of its rows; None without a text."""
        text, *others = (self._rows[name].text.strip() for name in _NOTE)
        keys = ("depth", "role", "placement", "interval")
        found: dict[str, Any] = {key: word for key, word in zip(keys, others, strict=True) if word}
        for key in ("depth", "interval"):
            if key in found:
                if not (found[key].isascii() and found[key].isdigit()):
                    raise ValueError(f"{key} must be a whole number from 0")
                found[key] = int(found[key])
        if not text:
            return None
        note: AuthorNote = read_setting("author_note", {"text": text, **found})
        before = self._values.settings.author_note
        return note if before is None else replace(note, searched=before.searched)

    @on(SettingRow.ResetRequested)
    def _reset_requested(self, event: SettingRow.ResetRequested) -> None:
        self._rows[event.setting].text = ""

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
            name = row.setting
            accepts = _ACCEPTS.get(name) or SETTINGS[name].accepts
            self.query_one("#about", Static).update(
                Text(one_line(f"{LABELS[name].strip()}: {accepts}"))
            )

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
