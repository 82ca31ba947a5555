"""The notes about the macros of one text."""

from __future__ import annotations

from tui_chat.models.envelope import Level, Note
from tui_chat.models.text import Origin

MAX_NOTES = 8
"""Maximum notes about one text; one more note counts the others."""
NAME_LENGTH = 40
"""Maximum characters of a macro that a note cites."""


class ExpansionNotes:
    """Collects notes, one for each spelling of a macro and each text it stands in."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str, str], tuple[Level, str]] = {}
        self._suppressed: set[tuple[str, str, str]] = set()
        """The keys of notes beyond `MAX_NOTES`."""

    def __len__(self) -> int:
        return len(self._notes)

    def add(self, level: Level, code: str, sentence: str, written: str, place: str) -> None:
        """Add a note about a macro as it is `written` in a `place`, unless there is one."""
        key = code, written, place
        if key in self._notes:
            return
        if len(self._notes) < MAX_NOTES:
            self._notes[key] = level, sentence
        else:
            self._suppressed.add(key)

    def truncate(self, count: int) -> None:
        """Keep the first notes only."""
        for key in tuple(self._notes)[count:]:
            del self._notes[key]

    def of(self, origin: Origin) -> tuple[Note, ...]:
        """Return the notes about the text of this origin."""
        notes = [
            Note(level, code, sentence, origin)
            for (code, _, _), (level, sentence) in self._notes.items()
        ]
        if count := len(self._suppressed):
            what = "1 more macro" if count == 1 else f"{count:,} more macros"
            sentence = f"There are notes about {what} of {origin.label}."
            notes.append(Note(Level.WARNING, "more-macros", sentence, origin))
        return tuple(notes)


def unclosed_note(text: str, at: int, place: str) -> str:
    """Return the sentence about a macro that begins at `at` and is never closed."""
    begins = " ".join(text[at : at + 24].split())
    return f"“{begins}” in {place} has no “}}}}”; it is sent as it is written."


def shortened(written: str) -> str:
    """Return a macro as a note cites it."""
    short = " ".join(written[: 2 * NAME_LENGTH].split())
    return short if len(short) <= NAME_LENGTH else short[: NAME_LENGTH - 1] + "…"
