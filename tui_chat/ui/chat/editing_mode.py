"""A way of editing the composer's text with keys of its own, such as Vim's, which a plugin adds."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable
from typing import Protocol, TypeVar

from textual import events
from textual.widgets.text_area import Selection

from tui_chat import hooks
from tui_chat.hooks import PluginFailed, guard, report
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.ui.widgets.graphemes import boundary_after, is_boundary, whole_graphemes
from tui_chat.ui.widgets.safe_text import SafeTextArea

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text after a key. Places are indices of characters."""

    text: str
    cursor: int
    selected_from: int | None = None
    """The other end of the selection, which includes the cursor's character; None for none."""
    recall: int = 0
    """-1 to bring back an earlier prompt instead, 1 a later one."""


class EditingMode(Protocol):
    """Decides what keys do to the text of the composer."""

    @property
    def label(self) -> str:
        """The name of its present mode, which the composer shows; empty while text is typed."""
        ...

    def reset(self, text: str) -> None:
        """Begin with another text, which no undo leads back from."""
        ...

    def insert(self) -> None:
        """Let what follows be typed as text."""
        ...

    def take(self, text: str, cursor: int) -> None:
        """Take over what was done to the text without it, as one step of undo."""
        ...

    def press(self, key: str, character: str | None, text: str, cursor: int) -> EditedText | None:
        """Return what a key makes of a text; None for the composer's own meaning of the key."""
        ...


class ModalEditing:
    """Gives an editing mode the composer's keys, and the composer what the mode makes of them."""

    def __init__(self, editor: SafeTextArea, recall: Callable[[int], None]) -> None:
        """`recall` brings back another prompt."""
        self._editor, self._recall = editor, recall
        self._mode: EditingMode | None = None
        self._name = self._plugin = ""
        """The name of the mode, and of the plugin that adds it."""
        self._selected: tuple[Selection, int] | None = None
        """The selection that the mode made, and the index of its cursor."""

    async def choose(self, name: str) -> None:
        """Edit with the keys of a mode that a plugin adds; empty, or a name that none adds, for the
        ordinary ones. Raises InputError if the mode cannot be used.
        """
        named = (plugin.name for plugin, part in hooks.parts("editing mode") if part.name == name)
        self._name, self._plugin = name, next(named, "")

        def load() -> EditingMode | None:
            made = hooks.load_named("editing mode", name)
            with guard(self._plugin, f"editing mode {name}"):
                return None if made is None else made()

        self._mode = await to_thread(load) if name else None
        self.reset()

    def reset(self) -> None:
        """Begin with the text that the composer has now."""
        self._use(lambda mode: mode.reset(self._editor.document.text))
        self._selected = None

    def insert(self) -> None:
        """Let what follows be typed as text."""
        self._use(lambda mode: mode.insert())

    def take(self) -> None:
        """Let the mode undo what follows as a step of its own."""
        self._use(lambda mode: mode.take(self._editor.document.text, self._cursor))

    def _use(self, use: Callable[[EditingMode], T]) -> T | None:
        """Use the mode, if there is one, and show its label. After an exception of the mode, edit
        with the ordinary keys.
        """
        result, label = None, ""
        try:
            with guard(self._plugin, f"editing mode {self._name}"):
                if self._mode is not None:
                    result, label = use(self._mode), str(self._mode.label)
        except PluginFailed as error:
            self._mode = None
            report(error.fault)
        self._editor.border_title = label
        return result

    @property
    def _cursor(self) -> int:
        """The index of the cursor in the text."""
        return self._editor.indices.get_index_from_location(self._editor.cursor_location)

    def press(self, event: events.Key) -> bool:
        """Let the mode have a key. Return False if it has no use for it."""
        editor = self._editor
        if self._mode is None or event.key == "enter":
            return False
        cursor = self._cursor
        if self._selected is not None and self._selected[0] == editor.selection:
            cursor = self._selected[1]

        def press(mode: EditingMode) -> EditedText | None:
            edited = mode.press(event.key, event.character, editor.document.text, cursor)
            if edited is not None and not edited.recall:
                self._show(edited, cursor)
            return edited

        edited = self._use(press)
        if edited is not None and edited.recall:
            self._recall(edited.recall)
        return edited is not None

    def _show(self, edited: EditedText, before: int) -> None:
        """Show what the mode made of the text, with the cursor at `before`. The mode counts in code
        points; here a character is what people see as one.
        """
        editor, place = self._editor, self._editor.indices.get_location_from_index
        old, new = editor.document.text, edited.text
        if new != old:
            start = common_prefix(old, new)
            tail = min(common_prefix(old[::-1], new[::-1]), len(old) - start, len(new) - start)
            end = len(old) - tail
            written = new[start : len(new) - tail]
            if not written:
                start, end = whole_graphemes(old, start, end)
            editor.replace(written, place(start), place(end))
        first, cursor = edited.selected_from, edited.cursor
        if new == old and cursor > before and not is_boundary(new, cursor):
            cursor = boundary_after(new, cursor)
        if first is None:
            editor.move_cursor(place(cursor))
        elif first <= cursor:  # the character under the cursor is selected, too
            editor.selection = Selection(place(first), place(min(cursor + 1, len(new))))
        else:
            editor.selection = Selection(place(min(first + 1, len(new))), place(cursor))
        self._selected = editor.selection, cursor
