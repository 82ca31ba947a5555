"""Vim's normal mode for the composer: motions, operators, counts, text objects, visual mode, undo.

prompt_toolkit has all of that, for the buffer of its own prompts. One such buffer is kept here
without a terminal: it gets the composer's text and cursor, then the key, and the composer gets what
came of it. In insert mode the composer takes the keys itself.
"""

from __future__ import annotations

from typing import Any, cast

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input import DummyInput
from prompt_toolkit.key_binding.bindings.vi import load_vi_bindings
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, Layout, Window
from prompt_toolkit.output import DummyOutput

from tui_chat.ui.chat.editing_mode import EditedText

_KEYS = {
    "escape": Keys.Escape,
    "left": Keys.Left,
    "right": Keys.Right,
    "up": Keys.Up,
    "down": Keys.Down,
    "home": Keys.Home,
    "end": Keys.End,
    "delete": Keys.Delete,
    "backspace": Keys.Backspace,
    "ctrl+v": Keys.ControlV,
}
_WITHOUT_USE = frozenset("/?nN*#:qQZ@&")
"""Keys of normal mode for searches, macros and commands: a draft has none of these."""
_LABELS = {
    InputMode.INSERT: "",
    InputMode.REPLACE: "REPLACE",
    InputMode.REPLACE_SINGLE: "REPLACE",
}


class VimEditing:
    """Edits a text with Vim's keys. It begins in insert mode."""

    def __init__(self) -> None:
        self._buffer = Buffer(multiline=True)
        self._app: Application[None] = Application(
            layout=Layout(Window(BufferControl(self._buffer))),
            key_bindings=load_vi_bindings(),
            editing_mode=EditingMode.VI,
            include_default_pygments_style=False,
            input=DummyInput(),
            output=DummyOutput(),
        )
        # Keys are not waited for: nothing runs in the background.
        self._app.timeoutlen = self._app.ttimeoutlen = cast("float", None)
        self._last = ""
        """The last key of an operator that waits for its motion."""
        self._is_change_open = False
        """True while what is typed belongs to a change that has begun, as after `cw`: one undo."""

    @property
    def label(self) -> str:
        """The name of the mode; empty in insert mode."""
        if self._buffer.selection_state is not None:
            return "VISUAL"
        return _LABELS.get(self._app.vi_state.input_mode, "NORMAL")

    def reset(self, text: str) -> None:
        """Begin with another text, in insert mode and without anything to undo."""
        self._buffer.reset(Document(text))
        self.insert()

    def insert(self) -> None:
        """Go to insert mode."""
        self._buffer.exit_selection()
        self._app.vi_state.reset()
        self._app.key_processor.reset()
        self._last = ""

    def press(self, key: str, character: str | None, text: str, cursor: int) -> EditedText | None:
        """Return text, cursor and selection start after a key; None if it is the composer's."""
        is_inserting = self._app.vi_state.input_mode == InputMode.INSERT
        if is_inserting and key != "escape":
            return None
        if key == "ctrl+r" and not is_inserting:
            return self._redo(text, cursor)
        pressed = _KEYS.get(key) or (character if character and character.isprintable() else None)
        if pressed is None or (pressed == Keys.Escape and not is_inserting and self._is_idle):
            return None
        self.take(text, cursor)
        if (step := self._recall_step(pressed)) != 0:
            return EditedText(text, cursor, recall=step)
        if isinstance(pressed, Keys) or not self._is_without_use(pressed):
            self._feed(self._meant(pressed))
        selection = self._buffer.selection_state
        return EditedText(
            self._buffer.text,
            self._cursor(),
            None if selection is None else selection.original_cursor_position,
        )

    @property
    def _is_idle(self) -> bool:
        """True if no operator, count or selection waits for more."""
        state = self._app.vi_state
        return (
            self._buffer.selection_state is None
            and state.input_mode == InputMode.NAVIGATION
            and not (state.operator_func or state.waiting_for_digraph)
            and not (self._app.key_processor.arg or self._app.key_processor.key_buffer)
        )

    def _redo(self, text: str, cursor: int) -> EditedText | None:
        """Return the text before the last undo; None if nothing was undone."""
        self.take(text, cursor)
        self._buffer.redo()
        return None if self._buffer.text == text else EditedText(self._buffer.text, self._cursor())

    def _recall_step(self, pressed: Keys | str) -> int:
        """Return -1 if a key would move above the first line, 1 if below the last, else 0."""
        document: Any = self._buffer.document
        if not self._is_idle:
            return 0
        if pressed in ("k", Keys.Up) and document.cursor_position_row == 0:
            return -1
        is_last = document.cursor_position_row == document.line_count - 1
        return 1 if pressed in ("j", Keys.Down) and is_last else 0

    def take(self, text: str, cursor: int) -> None:
        """Take over what the composer did to the text meanwhile, as one step of undo."""
        if text != self._buffer.text:
            if not self._is_change_open:
                self._buffer.save_to_undo_stack()
            self._buffer.set_document(Document(text, min(cursor, len(text))), bypass_readonly=True)
        elif cursor != self._buffer.cursor_position:
            self._buffer.cursor_position = cursor

    def _feed(self, pressed: Keys | str) -> None:
        before = self._buffer.text
        with set_app(self._app):
            self._app.key_processor.feed(KeyPress(pressed))
            self._app.key_processor.process_keys()
        is_waiting = self._app.vi_state.operator_func or self._app.key_processor.key_buffer
        self._last = pressed if is_waiting else ""
        is_inserting = self._app.vi_state.input_mode == InputMode.INSERT
        self._is_change_open = is_inserting and self._buffer.text != before

    def _is_without_use(self, pressed: str) -> bool:
        """True if a key would start what a draft lacks, unless it is an object, as in `f/`."""
        return pressed in _WITHOUT_USE and self._is_idle

    def _meant(self, pressed: Keys | str) -> Keys | str:
        """Return the key that does what Vim does: `cw` on a word leaves the blank behind it."""
        document: Any = self._buffer.document
        if self._last == "c" and pressed in ("w", "W") and document.current_char.strip():
            return "e" if pressed == "w" else "E"
        return pressed

    def _cursor(self) -> int:
        """Return the cursor: in normal mode it is on a character, not behind the last one."""
        document: Any = self._buffer.document
        cursor: int = self._buffer.cursor_position
        is_normal = self._app.vi_state.input_mode == InputMode.NAVIGATION
        if is_normal and self._buffer.selection_state is None:
            line: str = document.current_line
            if line and document.cursor_position_col >= len(line):
                return cursor - 1
        return cursor
