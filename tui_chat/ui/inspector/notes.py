"""The notes view: what was changed, dropped or is doubtful, the worst first, and the edits by hand.

A note is a sentence, and a line with the way out. Notes with the same sentence are one, and Enter
goes to their places one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, TypeAlias

from textual.binding import BindingType
from textual.message import Message

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.request_edit import EDITED, NOT_APPLIED, BodyPath, EditResult
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.lines import LEVEL_STYLES, NO_NOTES, SYMBOLS
from tui_chat.ui.inspector.rows_view import BLANK, Part, RowsView, ViewRow, line, spread, text_rows
from tui_chat.ui.widgets.pane_key import pane_key

OF_EDITS = (EDITED, NOT_APPLIED)
"""The codes of notes about edits by hand, which have their own section."""
MOST = 200
"""Most notes listed; the count is of all."""
_GO, _ALL = "go", "all edits"
"""The action of Enter on a note, and the heading of the edits."""
_WAYS = {
    "over-budget": ("Enter changes the limit.", "sessions.edit_settings"),
    "history-dropped": ("/compact summarizes them.", ""),
    "default-invented": ("Enter sets one.", "sessions.edit_settings"),
    "no-model": ("Enter chooses one.", "sessions.choose_model"),
}
"""The ways out of notes that have one, by code, and the action of Enter."""

_Group: TypeAlias = "list[Note]"


class NotesView(RowsView):
    """Shows the notes of a request."""

    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("enter,space", "choose", "place", "Go to the place", shown=True),
        pane_key("d,delete", "remove", "delete", "Remove the edit by hand, or all of them"),
    ]

    @dataclass
    class PlaceWanted(Message):
        """The user wants to see the place of a note."""

        origin: Origin | None

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._groups: list[_Group] = []
        self._visited = 0
        """The number of times that Enter was pressed on the same notes."""

    def build(self, width: int) -> Iterator[Part]:
        composed = self.state.composed
        notes = composed.notes if composed is not None else ()
        self._groups = _grouped(notes)
        edits = composed.edited.results if composed is not None and composed.edited else ()
        if not self._groups and not edits:
            words = f"{NO_NOTES}: nothing is changed or left out."
            if composed is not None and composed.recorded and composed.recorded.is_masked:
                words = NO_NOTES
            yield text_rows(words, width, "", "muted")
        for number, group in enumerate(self._groups[:MOST]):
            yield from _note_parts(number, group, width)
        if (more := len(self._groups) - MOST) > 0:
            yield text_rows(f"… {more:,} more", width, "  ", "muted")
        if edits:
            yield BLANK if self._groups else []
            heading = ("Edits by hand ", "heading"), (f"{len(edits):,}", "edit")
            yield line(*heading, action=_ALL, hint="d removes all of them.")
        for result in edits:
            yield from _edit_parts(result, width)

    def choose(self, row: ViewRow) -> bool:
        """Go to the place of a note or an edit; of equal notes to the next one."""
        action, _, number = row.action.partition(" ")
        if action == _GO:
            group = self._groups[int(number)]
            note = group[self._visited % len(group)]
            self._visited += 1
            self.post_message(self.PlaceWanted(note.origin))
        return action == _GO or row.action == _ALL

    def cursor_moved(self) -> None:
        self._visited = 0
        super().cursor_moved()

    async def action_remove(self) -> None:
        """Take the edit under the cursor back; on the heading all edits."""
        row = self.row_here
        origin = row.origin if row is not None else None
        if row is not None and row.action == _ALL:
            await self.run_action("request_edits.remove_all")
        elif origin is not None and origin.kind is OriginKind.EDIT:
            await self.run_action(f"request_edits.remove_one({origin.id!r})")
        else:
            self.notify("This is no edit by hand.")


def _grouped(notes: Sequence[Note]) -> list[_Group]:
    """Return the notes that are not of edits, equal ones together, in the order of the first."""
    groups: dict[tuple[Level, str, str], _Group] = {}
    for note in notes:
        if note.code not in OF_EDITS:
            groups.setdefault((note.level, note.code, note.sentence), []).append(note)
    return list(groups.values())


def _note_parts(number: int, group: _Group, width: int) -> Iterator[Part]:
    """Yield a note: its sentence, and the way out or where it is."""
    note = group[0]
    way, action = _WAYS.get(note.code, ("", ""))
    action = action or f"{_GO} {number}"
    times = f"{len(group):,} × " if len(group) > 1 else ""
    symbol, style = f"{SYMBOLS[note.level]} ", LEVEL_STYLES[note.level]
    rows = text_rows(times + note.sentence, width, "  ", "", note.origin, action=action)
    first = line((symbol, style), rows[0].content[2:], origin=note.origin, action=action)
    yield [*first, *rows[1:]]
    label = note.origin.label if note.origin is not None else ""
    if way or label:
        where = way or f"{label[:1].upper()}{label[1:]}{f' · {note.place}' * bool(note.place)}"
        yield text_rows(where, width, "  ", "muted", note.origin, action=action)


def _edit_parts(result: EditResult, width: int) -> Iterator[Part]:
    """Yield an edit: where it is, its value, and for which requests it holds."""
    edit = result.edit
    origin = Origin(OriginKind.EDIT, edit.pointer)
    action = f"request_edits.show({edit.pointer!r})"
    value = edit.value.replace("\n", " ") or "removed"
    scope = "every request of this session" if edit.kept else "this request only"
    symbol, style = ("▲ ", "warning") if result.fault else ("● ", "edit")
    words = f"{_path_words(edit.path)}  "
    pieces = (symbol, style), (words, "strong"), (value[:width], "")
    yield line(spread(width, pieces, scope), origin=origin, action=action)
    if result.fault:
        yield text_rows(f"Not applied: {result.fault}.", width, "  ", "warning", origin)


def _path_words(path: BodyPath) -> str:
    """Return a path as people write it: `messages[2].content`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")
