"""The editor of a message's content, with completion of macros."""

from __future__ import annotations

import re

from textual import events, on
from textual.content import Content
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option

from tui_chat.context.macros.expansion import Declaration
from tui_chat.context.macros.functions import complete_macro
from tui_chat.models.text import clean
from tui_chat.ui.widgets.content_list import LABEL
from tui_chat.ui.widgets.safe_text import SafeTextArea

_BEGUN = re.compile(r"\{\{([\w/]*)\Z")


class MacroList(OptionList, can_focus=False):
    """The macros that complete the text; hidden if there are none."""

    DEFAULT_CSS = """
    MacroList {
        display: none;
        height: auto;
        max-height: 7;
        text-wrap: nowrap;
        border: none;
        padding: 0;
        background: $surface;
        color: $foreground;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._offered: tuple[Declaration, ...] = ()

    @property
    def chosen(self) -> Declaration | None:
        """The highlighted macro; None if nothing is offered."""
        at = self.highlighted
        return self._offered[at] if self.display and at is not None else None

    def offer(self, macros: tuple[Declaration, ...]) -> None:
        """Offer exactly these macros; hide the list if there are none."""
        if macros != self._offered:
            self._offered = macros
            self.clear_options()
            wide = max((len(macro.written) for macro in macros), default=0)
            for macro in macros:
                name = macro.written.ljust(wide + 2)
                self.add_option(Option(Content.assemble(name, (macro.summary, LABEL))))
            self.highlighted = 0 if macros else None
        self.display = bool(macros)


class ContentEditor(SafeTextArea):
    """The text area of a message's content."""

    DEFAULT_CSS = """
    ContentEditor {
        height: 1fr;
        min-height: 3;
        padding: 0 1;
        border: none;
        background: $surface;
        scrollbar-size-vertical: 1;
        &:focus { border: none; background: $foreground 7%; }
    }
    """

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False,
            placeholder="Message text. Type {{ for macros",
        )  # fmt: skip
        self.macros = MacroList()
        """Mounted by the form, below the text."""
        self.variables: tuple[str, ...] = ()
        """The preset's variables, offered as macros."""

    @on(TextArea.SelectionChanged)
    def _ask(self) -> None:
        begun = self._begun() if self.has_focus else None
        self.macros.offer(() if begun is None else complete_macro(begun, self.variables))

    def _begun(self) -> str | None:
        row, column = self.cursor_location
        match = _BEGUN.search(self.document[row][:column])
        return match[1] if match else None

    def on_blur(self) -> None:
        self.macros.offer(())

    async def _on_key(self, event: events.Key) -> None:
        if self.macros.display and self._choose(event.key):
            event.prevent_default()
            event.stop()

    def _choose(self, key: str) -> bool:
        """Handle a key while macros are offered; return False if it means nothing here."""
        match key:
            case "down":
                self.macros.action_cursor_down()
            case "up":
                self.macros.action_cursor_up()
            case "escape":
                self.macros.offer(())
            case "tab" | "enter":
                begun, chosen = self._begun(), self.macros.chosen
                if begun is None or chosen is None:
                    return False
                row, column = self.cursor_location
                line = self.document[row]
                end = column + 2 * line.startswith("}}", column)
                self.replace(chosen.written, (row, column - len(begun) - 2), (row, end))
                self.macros.offer(())
            case _:
                return False
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        text = clean(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        if result := self._replace_via_keyboard(text, *self.selection):
            self.move_cursor(result.end_location)

    def action_undo(self) -> None:
        """Undo in the text, or in the preset if nothing is left to undo."""
        if self.history.undo_stack:
            super().action_undo()
        else:
            self.call_later(self.run_action, "preset_editor.undo")
