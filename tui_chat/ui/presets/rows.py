"""The preset as a list that looks like the request: rows to be edited and moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.outline import Outline, OutlineRow
from tui_chat.library.editing.places import display_name
from tui_chat.models.envelope import Level
from tui_chat.models.preset import CHAT_HISTORY, PresetMessage, depth_words
from tui_chat.models.sanitize import one_line
from tui_chat.ui.presets.facts import (
    HISTORY,
    NO_FACTS,
    PARTS,
    ListRow,
    RequestFacts,
    list_rows,
    turn_index,
)
from tui_chat.ui.verbs import bindings
from tui_chat.ui.widgets.content_list import LABEL, ContentList
from tui_chat.ui.widgets.pane_key import MOVES, pane_key

MARK = (1, 3)
"""Columns of a row's mark: first, and the one after the last."""
_ROLES = {"system": "sys", "assistant": "asst"}
"""The roles that a row shortens."""
_ROLE_COLORS = {"sys": "$origin-system", "user": "$origin-draft", "asst": "$origin-profile"}
_PLACE = "$origin-preset"
_SIGNS = {Level.ERROR: "✗", Level.WARNING: "▲", Level.INFO: "●"}
_NOTE_COLORS = {Level.ERROR: "$text-error", Level.WARNING: "$text-warning", Level.INFO: LABEL}


class PresetList(ContentList):
    """The rows of an outline; the cursor is on messages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("preset"),
        pane_key("g", "first", MOVES, "Top"),
        pane_key("G", "last", MOVES, "End"),
        pane_key("escape", "preset_editor.back", "back", "Clear the filter, or to the message"),
    ]

    @dataclass
    class OutlineRowHighlighted(Message):
        """The cursor moved to a row, or the list got the focus."""

        row: OutlineRow | None

    def __init__(self) -> None:
        super().__init__()
        self.outline: Outline | None = None
        self.facts: RequestFacts = NO_FACTS
        self._all_rows: Sequence[ListRow] = ()
        self._rows: Sequence[ListRow] = ()
        """Those that are shown."""
        self._words: list[str] = []
        self._no_rows_text = ""
        self._unsaved: frozenset[str] = frozenset()
        self._lit = -1
        """The list index of the message that another pane revealed; -1 for none."""

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def row(self) -> ListRow | None:
        """The row under the cursor; None in an empty list."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    def show(
        self, outline: Outline | None, unsaved: frozenset[str], index: int | None, empty: str
    ) -> None:
        """Show an outline, the cursor on the message with list index `index`, else where it was.
        `empty` is shown if there are no rows; its lines are separated by line breaks.
        """
        before = self.outline.preset if self.outline is not None else None
        if outline is None or outline.preset is not before:
            self._lit = -1
        self.outline, self._unsaved, self._no_rows_text = outline, unsaved, empty
        self._all_rows = list_rows(outline, self.facts) if outline is not None else ()
        self._lay_out(index)

    def show_facts(self, facts: RequestFacts) -> None:
        """Show the facts of another request: costs, and the first words of the history."""
        self.facts = facts
        if self.outline is not None:
            self._all_rows = list_rows(self.outline, facts)
            self._lay_out(self.row.index if self.row is not None else None, moves=False)

    def filter(self, words: str) -> None:
        """Show only messages that contain all words."""
        self._words = words.casefold().split()
        self._lay_out(self.row.index if self.row is not None else None)

    def _lay_out(self, index: int | None, *, moves: bool = True) -> None:
        """Show the rows that are not filtered away, the cursor on a message."""
        if self._words:
            self._rows = [row for row in self._all_rows if _contains(row.message, self._words)]
        else:
            self._rows = self._all_rows
        self.empty_text = "Nothing contains that." if self._words else self._no_rows_text
        numbers = (n for n, row in enumerate(self._rows) if row.index == index and row.index >= 0)
        number = self._nearest(next(numbers, self.cursor), 1)
        self.update_extent()
        if moves or number != self.cursor:
            lit = self._lit
            self.set_cursor(number)
            self._lit = lit
        self.refresh_changed()

    def light(self, index: int) -> None:
        """Highlight the row of a message, and move the cursor there without posting it."""
        if all(row.index != index for row in self._rows):
            self._words = []
            self._rows = self._all_rows
            self.update_extent()
        numbers = (number for number, row in enumerate(self._rows) if row.index == index)
        self.cursor = next(numbers, self.cursor)
        self._lit = index
        self.scroll_to_cursor()
        self.refresh_changed()

    # Rendering

    def emphasis(self, row: int) -> str:
        is_lit = self._lit >= 0 and self._rows[row].index == self._lit
        return "lit" if is_lit and row == self.cursor else super().emphasis(row)

    def row_content(self, row: int) -> tuple[Content, Content]:
        shown = self._rows[row]
        fact = Content.styled("" if shown.tokens is None else f"{shown.tokens:,}", LABEL)
        if shown.row is None:
            return Content.styled(PARTS[shown.part], f"bold {LABEL}"), fact
        if shown.part == HISTORY:
            words = _history_words(self.facts)
            return Content.assemble(
                ("Chat history", f"bold {LABEL}"), *self._marks(shown), (words, LABEL)
            ), fact
        if shown.message is None:
            return self._other_message(shown.row), fact
        return self._preset_message(shown, shown.row, shown.message), fact

    def _preset_message(
        self, row: ListRow, outline_row: OutlineRow, message: PresetMessage
    ) -> Content:
        """Return mark, role, name, place, and what is to be known of a message: its first note, why
        it is not sent, or its first words.
        """
        mark, is_off = ("–", True) if outline_row.disabled else ("✓", False)
        place = self._place(outline_row, message)
        notes = [note for note in outline_row.notes if note.code != "depth-clamped"]
        rest, style = one_line(message.content, 200), LABEL
        if not message.enabled and message.is_anchor:
            rest = "off"
        elif notes:
            worst = min(notes, key=lambda note: [*_SIGNS].index(note.level))
            sentence = worst.sentence.removeprefix(f"“{message.name or message.id}” ")
            rest, style = f"{_SIGNS[worst.level]} {one_line(sentence)}", _NOTE_COLORS[worst.level]
        elif why := self.facts.why.get(message.id):
            rest = why
        elif message.type == "user_profile":
            rest = self.facts.profile[0]
        role = "anchor" if message.is_anchor else _ROLES.get(message.role, message.role)
        strong = "bold" if message.is_anchor else ""
        return Content.assemble(
            (f"{mark} ", LABEL),
            (f"{role:<7}", LABEL if is_off else _ROLE_COLORS.get(role, LABEL)),
            (display_name(message), LABEL if is_off else strong),
            *self._marks(row),
            (f"  {place}" if place else "", _PLACE),
            (f"  {rest}" if rest else "", style),
        )

    def _marks(self, row: ListRow) -> list[tuple[str, str]]:
        """Return the marks behind a name: not saved, and a cache mark."""
        message = row.message
        if message is None:
            return []
        unsaved = " ●" if message.id in self._unsaved else ""
        lifetime = message.cache_control
        return [(unsaved, "$text-warning"), (f"  cache {lifetime}" if lifetime else "", _PLACE)]

    def _place(self, row: OutlineRow, message: PresetMessage) -> str:
        """Return the place of a message in a few words; empty for that in the list."""
        order = f", order {message.order}" if message.order else ""
        match row.placement:
            case "after" if row.anchor == CHAT_HISTORY:
                return f"depth 0{order}"
            case "before" | "after":
                anchors = self.outline.preset.messages if self.outline is not None else ()
                names = {m.anchor_id: display_name(m) for m in anchors if m.is_anchor}
                at = "history" if row.anchor == CHAT_HISTORY else names.get(row.anchor, row.anchor)
                return f"{row.placement} {one_line(at, 24)}{order}"
            case "depth":
                return f"{depth_words(row.depth or 0)}{order}"
            case _:
                return ""

    def _other_message(self, row: OutlineRow) -> Content:
        """Return a row for what is not the preset's: the role's prompt, the conversation."""
        facts = self.facts
        chat = facts.chat
        match row.ghost:
            case "role":
                role, words = "role", f"{one_line(facts.role[0], 40)}  its system prompt"
            case "draft":
                role, words = "user", "your draft" if chat.is_typed else "the message to answer"
                if chat.answered is not None and chat.answered.text.plain:
                    words = f"{words}: {one_line(chat.answered.text.plain, 120)}"
            case "between":
                role, words = "", f"… {row.skipped:,} more" if row.skipped else "…"
            case ghost:
                at = turn_index(row, len(chat.history))
                role = "" if at is None else chat.history[at].role
                words = f"the {ghost} message" if ghost != "message" else "a message"
                if at is not None:
                    words = one_line(chat.history[at].text.plain, 120)
        return Content.styled(f"  {_ROLES.get(role, role):<7}{words}", LABEL)

    # Keys

    def _is_stop(self, number: int) -> bool:
        return self._rows[number].message is not None

    def _nearest(self, number: int, step: int) -> int:
        """Return the row nearest to one that the cursor can be on, first in a direction."""
        count = len(self._rows)
        number = min(max(number, 0), max(count - 1, 0))
        ahead = range(number, count if step > 0 else -1, step)
        behind = range(number, -1 if step > 0 else count, -step)
        return next((n for n in (*ahead, *behind) if n < count and self._is_stop(n)), number)

    def row_after(self, row: int, step: int) -> int:
        """Return the row so many rows further, or the next one there that is a message."""
        target = min(max(row + step, 0), max(len(self._rows) - 1, 0))
        return self._nearest(target, 1 if step > 0 else -1)

    def set_cursor(self, row: int) -> None:
        """Move the cursor to a row, or the nearest one that it can be on."""
        self._lit = -1
        super().set_cursor(self._nearest(row, 1))

    def scroll_to_cursor(self) -> None:
        """Scroll the cursor's row into sight, with the headings above the first message."""
        first = self._nearest(0, 1) == self.cursor
        if self.row_count:
            self.bring_into_sight(*((0, self.cursor + 1) if first else (self.cursor, 1)))

    def cursor_moved(self) -> None:
        self.post_message(self.OutlineRowHighlighted(self.row.row if self.row else None))

    def on_focus(self) -> None:
        super().on_focus()
        self.cursor_moved()

    # Mouse

    def row_clicked(self, row: int, event: events.Click) -> None:
        """Put the cursor on a row; switch it at its mark, edit by two clicks."""
        shown = self._rows[row]
        x = event.get_content_offset_capture(self).x
        if shown.message is None:
            return
        self.set_cursor(row)
        if MARK[0] <= x < MARK[1]:
            self.call_later(self.run_action, "preset_editor.edit('enable')")
        elif event.chain == 2:
            self.call_later(self.run_action, "preset_editor.open")


def _contains(message: PresetMessage | None, words: Sequence[str]) -> bool:
    if message is None:
        return False
    text = f"{message.id}\n{message.name}\n{message.role}\n{message.content}".casefold()
    return all(word in text for word in words)


def _history_words(facts: RequestFacts) -> str:
    """Return what of the history is not sent, or that there is none; empty if all is plain."""
    if facts.notes is None:
        return ""
    words = [] if facts.chat.history else ["no messages yet"]
    if facts.dropped:
        words = [f"{facts.dropped:,} left out to fit"]
    if facts.muted:
        words.append(f"{facts.muted:,} muted")
    return f"  {', '.join(words)}" if words else ""
