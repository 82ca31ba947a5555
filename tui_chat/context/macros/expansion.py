"""An expanded text: what it depends on, notes about its macros, white space that they remove."""

from __future__ import annotations

from collections.abc import Iterable

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.text import Origin, Span, Text

MAX_NOTES = 8
"""Maximum notes about one text; one more note counts the others."""
NAME_LENGTH = 40
"""Maximum characters of a macro that a note cites."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """An expanded text, and everything that it depends on besides the source."""

    text: Text
    notes: tuple[Note, ...]
    read: tuple[tuple[str, str | None], ...]
    """The words that were read, and their values."""
    was_set: tuple[tuple[str, str | None], ...]
    """The variables that were set, and their values, in order."""
    size: int
    """The length of all expansions, variables included."""
    cramped: bool
    """True if a macro was not expanded for lack of room."""
    room: int
    """The room that was left in the environment."""
    lacks: str = ""
    """The required variable that has no value; empty if there is none."""


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


_BREAKS = "\r\n"


def trimmed(pieces: Iterable[Span | object]) -> list[Span]:
    """Return the spans. What is no span is a trim: it removes the line breaks next to it."""
    result: list[Span] = []
    trimming = False
    for piece in pieces:
        if not isinstance(piece, Span):
            trimming = True
            while result:
                last = result.pop()
                if rest := last.text.rstrip(_BREAKS):
                    result.append(Span(rest, last.origin, last.start))
                    break
        elif not trimming:
            result.append(piece)
        elif rest := piece.text.lstrip(_BREAKS):
            skipped = len(piece.text) - len(rest)
            result.append(Span(rest, piece.origin, piece.start + skipped))
            trimming = False
    return result


def dedented(text: Text) -> Text:
    """Return a text stripped, its lines without the indent of the first one that is not blank."""
    lines = text.plain.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip(" \t"))
    if not indent or len(lines) == 1:
        return text.stripped()
    parts: list[Text] = []
    at = 0
    for line in lines:
        own = min(len(line) - len(line.lstrip(" \t")), indent)
        parts.append(text[at + own : at + len(line)])
        at += len(line) + 1
    return Text.join("\n", parts).stripped()
