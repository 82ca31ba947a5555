"""What a reader of conversations hands out, and what all readers share.

A file may hold thousands of conversations. Each comes out as a `Found`, readable or not, so one
that is broken costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from tui_chat.errors import InputError
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, EntryStatus, Session
from tui_chat.models.transcript import Transcript
from tui_chat.protocols.common.lenient_json import JsonObject
from tui_chat.protocols.common.request_fields import type_name

_TITLE = 200
"""Characters of a title; more is no title."""
_WORDS = 60
"""Characters of a title that is made of what was said."""


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """One conversation of a file, or the fault that keeps it from being one."""

    place: str
    """Where in the file: a JSON path (`$[3].mapping`) or a line (`line 4`); empty for all of it."""
    transcript: Transcript | None = None
    fault: str = ""
    """Why it cannot be read; empty where it could."""
    notes: tuple[str, ...] = ()
    """What of it has no place here, a sentence for each time, so that they can be counted."""
    advice: str = ""
    """What to do about the fault."""
    unknown: bool = False
    """It is of no kind that is known."""
    passed_over: bool = False
    """It is no conversation and was never meant to be one: an account, a project; or it is one in
    which nothing was said."""


class UnreadableConversation(InputError):
    """A conversation cannot be read."""

    def __init__(self, place: str, fault: str, *, advice: str = "") -> None:
        super().__init__(f"{place}: {fault}", advice=advice)
        self.place = place
        """Where within the conversation, to stand behind its own place: `.mapping`."""
        self.fault = fault


def readable(
    place: str,
    value: object,
    read: Callable[[JsonObject], tuple[Transcript, list[str]]],
    *,
    may_be_empty: bool = False,
) -> FoundConversation:
    """Return what comes of reading a value, which must be an object.

    A conversation without any message is passed over, and is a fault if there was something in it
    that could not be read; with `may_be_empty` it is taken as it is.
    """
    if not isinstance(value, dict):
        return FoundConversation(place, fault=f"must be an object, not {type_name(value)}")
    try:
        transcript, notes = read(cast("JsonObject", value))
    except UnreadableConversation as error:
        return FoundConversation(place + error.place, fault=error.fault, advice=error.advice)
    except RecursionError:
        return FoundConversation(place, fault="is nested too deeply")
    if transcript.entries or may_be_empty:
        return FoundConversation(place, transcript, notes=tuple(notes))
    if notes:
        return FoundConversation(place, fault=f"has no message that can be read. {notes[0]}")
    return FoundConversation(place, passed_over=True)


def stable_id(*names: str) -> str:
    """Return the id that is always the same for these names: 32 hex digits."""
    return sha256("\n".join(names).encode()).hexdigest()[:32]


class TranscriptBuilder:
    """The tree of a conversation while it is read. Ids are made of the source's own."""

    def __init__(self, *source: str) -> None:
        self.source = source
        """What names the conversation among all others: the program, and its id there."""
        self.session_id = stable_id(*source)
        self._begun = sha256("\n".join((*source, "")).encode())
        self.entries: list[Entry] = []
        self.notes: list[str] = []

    def id_of(self, key: str) -> str:
        """Return the id of the message that is called `key` in the source.

        Ids of one conversation begin alike, so that they lie together in the database's indexes:
        in a large one, each message would else be written into three places of its own.
        """
        hashed = self._begun.copy()  # the rest of `stable_id(*self.source, key)`
        hashed.update(key.encode())
        return self.session_id[:12] + hashed.hexdigest()[:20]

    def add(
        self,
        message: Message,
        parent_id: str | None,
        status: EntryStatus = "complete",
        model: str = "",
        finish: str = "",
        seconds: float | None = None,
    ) -> str:
        """Add a message that has its id; return that id."""
        self.entries.append(
            Entry(message, parent_id, status, model=model, finish=finish, seconds=seconds)
        )
        return message.id

    def transcript(
        self,
        *,
        title: str,
        head_id: str | None,
        created: float | None = None,
        updated: float | None = None,
        pinned: bool = False,
        archived: bool = False,
        variables: tuple[tuple[str, str], ...] = (),
        model: str = "",
    ) -> Transcript:
        """Return the whole. Without a title it is called by the first words of the user; its
        model is the one that replied last on the shown branch, or else `model`.
        """
        stamps = [at for entry in self.entries if (at := entry.message.timestamp) is not None]
        session = Session(
            self.session_id,
            " ".join(title.split())[:_TITLE] or self._first_words(),
            model=self._last_model(head_id) or model,
            head_id=head_id,
            created=created or min(stamps, default=0.0),
            updated=updated or max(stamps, default=created or 0.0),
            pinned=pinned,
            archived=archived,
        )
        return Transcript(session, tuple(self.entries), variables=variables)

    def _last_model(self, head_id: str | None) -> str:
        by_id = {entry.message.id: entry for entry in self.entries}
        at = by_id.get(head_id or "") or (self.entries[-1] if self.entries else None)
        while at is not None and not at.model:
            at = by_id.get(at.parent_id or "")
        return at.model if at else ""

    def _first_words(self) -> str:
        said = (entry.message for entry in self.entries)
        words = next((m.content[: _TITLE * 4] for m in said if m.role == "user" and m.content), "")
        line = " ".join(words.split())
        return line if len(line) <= _WORDS else line[: _WORDS - 1].rstrip() + "…"
