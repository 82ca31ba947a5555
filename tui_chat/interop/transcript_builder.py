"""Builds the transcript of a conversation from the messages of another program.

Times are read in the notations of other programs, of which one alone may have used five. A time
without a time zone is taken as UTC: the file does not say where it was written, and must give the
same result on every machine.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from math import isfinite
from typing import Any

from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session, SessionTranscript

_TITLE = 200
"""Maximum characters of a title."""
_WORDS = 60
"""Maximum characters of a title that is made of the first user message."""


def stable_id(*names: str) -> str:
    """Return an id that depends only on these names: 32 hex digits."""
    return sha256("\n".join(names).encode()).hexdigest()[:32]


class TranscriptBuilder:
    """Builds the tree of a conversation, with ids derived from the source's ids."""

    def __init__(self, *source: str) -> None:
        self.source = source
        """The identity of the conversation: the program, and its id there."""
        self.session_id = stable_id(*source)
        self._begun = sha256("\n".join((*source, "")).encode())
        self.entries: list[Entry] = []
        self.notes: list[str] = []

    def id_of(self, key: str) -> str:
        """Return the id of the message with the id `key` in the source.

        The ids of a conversation have a common prefix, so they are adjacent in the database's
        indexes; otherwise each message of an import would touch three distant pages.
        """
        hashed = self._begun.copy()  # the rest of `stable_id(*self.source, key)`
        hashed.update(key.encode())
        return self.session_id[:12] + hashed.hexdigest()[:20]

    def add(self, message: Message, parent_id: str | None, **facts: Any) -> str:
        """Add a message, which has its id already; return that id. `facts` are the other fields of
        its `Entry`.
        """
        self.entries.append(Entry(message, parent_id, **facts))
        return message.id

    def transcript(
        self,
        *,
        title: str,
        head_id: str | None,
        created: float | None = None,
        updated: float | None = None,
        model: str = "",
        system: str = "",
        character: str = "",
        user: str = "",
        variables: tuple[tuple[str, str], ...] = (),
        **facts: Any,
    ) -> SessionTranscript:
        """Return the transcript. The title defaults to the first words of the user. The
        model is the last one on the active branch, else `model`. A `system` prompt that is none
        of the messages becomes a role. `facts` are other fields of its `Session`.
        """
        stamps = [stamp for entry in self.entries if (stamp := entry.message.timestamp) is not None]
        session = Session(
            self.session_id,
            " ".join(title.split())[:_TITLE] or self._first_words(),
            model=self._last_model(head_id) or model,
            head_id=head_id,
            created=created or min(stamps, default=0.0),
            updated=updated or max(stamps, default=created or 0.0),
            **facts,
        )
        role = None
        if system:
            name = _first_line(system) or "Imported role"
            role = Role(stable_id("role", self.source[0], system), name, system)
            session = replace(session, role_id=role.role_id)
        entries = tuple(self.entries)
        return SessionTranscript(
            session, entries, role, variables=variables, character=character, user=user
        )

    def _last_model(self, head_id: str | None) -> str:
        by_id = {entry.message.id: entry for entry in self.entries}
        last = by_id.get(head_id or "") or (self.entries[-1] if self.entries else None)
        while last is not None and not last.model:
            last = by_id.get(last.parent_id or "")
        return last.model if last else ""

    def _first_words(self) -> str:
        messages = (entry.message for entry in self.entries)
        words = next(
            (m.content[: _TITLE * 4] for m in messages if m.role == "user" and m.content), ""
        )
        return _first_line(words)


def _first_line(text: str) -> str:
    line = " ".join(text[: _TITLE * 4].split())
    return line if len(line) <= _WORDS else line[: _WORDS - 1].rstrip() + "…"


# --- times -------------------------------------------------------------------------------

_HUMANIZED = re.compile(
    # 2023-6-3@15h36m15s, 2024-07-12@01h31m37s123ms, 2024-6-5 @14h 56m 50s 682ms
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?"
)
_NAMED_MONTH = re.compile(
    # June 19, 2023 4:13pm, and the same on a 24 hour clock
    r"([A-Za-z]{3})[a-z]* (\d{1,2}), (\d{4}) (\d{1,2}):(\d{2})(?: ?([ap])m)?",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LATEST = 253_402_300_800.0  # the year 10000
_IN_MILLISECONDS = 100_000_000_000.0  # as seconds, this is the year 5138


def parse_timestamp(value: object) -> float | None:
    """Return seconds since the epoch; None if the value is not a time."""
    if isinstance(value, str):
        return _read(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _seconds(value)


def _seconds(number: float) -> float | None:
    try:
        seconds = float(number)
    except OverflowError:
        return None
    if seconds >= _IN_MILLISECONDS:
        seconds /= 1000
    return seconds if isfinite(seconds) and 0 < seconds < _LATEST else None


def _read(text: str) -> float | None:
    if len(text) > 60:
        return None
    try:
        if text.isascii() and text.isdigit():
            return _seconds(int(text))
        if "@" in text and (match := _HUMANIZED.fullmatch(text)):
            year, month, day, hour, minute, second, milli = (int(n or 0) for n in match.groups())
            time = datetime(year, month, day, hour, minute, second, milli * 1000, UTC)
            return _seconds(time.timestamp())
        if "," in text and (match := _NAMED_MONTH.fullmatch(text)):
            month = _MONTHS.index(match[1].lower()) + 1
            hour = int(match[4])
            if half := match[6]:
                hour = hour % 12 + (12 if half.lower() == "p" else 0)
            day, year, minute = int(match[2]), int(match[3]), int(match[5])
            return _seconds(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp())
        time = datetime.fromisoformat(text)
        return _seconds((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
