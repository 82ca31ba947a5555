"""Building a transcript, and the result of reading one conversation.

A file may contain thousands of conversations. Each becomes a `FoundConversation`, readable or not,
so a broken one does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import cast

from tui_chat.errors import InputError, located
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.citations import References
from tui_chat.models.json_text import JsonObject, type_name
from tui_chat.models.message import Message
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, EntryStatus, Session
from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.models.transcript import SessionTranscript
from tui_chat.models.usage import NO_USAGE, Usage
from tui_chat.protocols.common.reply_events import ReplyEvents

MISSING_FILE = "An image or file beside the export was not imported; a placeholder takes its place."
"""The note of a reader on a part whose content may be in another file of the export."""
_TITLE = 200
"""Maximum characters of a title."""
_WORDS = 60
"""Maximum characters of a title that is made of the first user message."""


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """One conversation of a file, or the reason why it cannot be read."""

    place: str
    """The place in the file: a JSON path (`$[3].mapping`) or a line (`line 4`); empty for the
    whole file."""
    transcript: SessionTranscript | None = None
    fault: str = ""
    """The reason why it cannot be read; empty if it could."""
    notes: tuple[str, ...] = ()
    """A sentence for each loss, so that equal ones can be counted."""
    advice: str = ""
    """Advice on the fault."""
    unknown: bool = False
    """True if its format is unknown."""
    ignored: bool = False
    """True if it is not a conversation but an account or a project, or a conversation without
    messages."""
    parent_id: str = ""
    """The id of the session that it is a subagent of; empty for any other conversation."""
    call_id: str = ""
    """The tool call there that started it, if it is known."""
    program: str = ""
    """The program that wrote it; empty for our own files and plain lists of messages."""
    project: str = ""
    """The folder that the program worked in, if it is known."""
    subagents: tuple[tuple[str, str], ...] = ()
    """The calls that started subagents whose files are beside this one, and the subagents' ids."""


class UnreadableConversation(InputError):
    """A conversation cannot be read."""

    def __init__(self, place: str, fault: str, *, advice: str = "") -> None:
        super().__init__(located(place, fault), advice=advice)
        self.place = place
        """The place within the conversation: `.mapping`."""
        self.fault = fault


def readable(
    place: str,
    value: object,
    read: Callable[[JsonObject], tuple[SessionTranscript, list[str]]],
    *,
    may_be_empty: bool = False,
) -> FoundConversation:
    """Return the result of reading a value, which must be an object.

    A conversation without messages is ignored, or an error if it had something unreadable; with
    `may_be_empty` it is accepted.
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
        return FoundConversation(place, fault=f"has no readable message. {notes[0]}")
    return FoundConversation(place, ignored=True)


def stable_id(*names: str) -> str:
    """Return an id that depends only on these names: 32 hex digits."""
    return sha256("\n".join(names).encode()).hexdigest()[:32]


def references_of(events: ReplyEvents, text: str) -> References:
    """Return the references that were added to `events`, as those of a message's text."""
    reply = Reply()
    for event in events.drain():
        reply = advance(reply, event)
    return reply.references.counted_in(text)


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

    def add(
        self,
        message: Message,
        parent_id: str | None,
        status: EntryStatus = "complete",
        model: str = "",
        finish: str = "",
        seconds: float | None = None,
        usage: Usage = NO_USAGE,
        error: str = "",
    ) -> str:
        """Add a message, which has its id already; return that id."""
        self.entries.append(
            Entry(
                message,
                parent_id,
                status,
                error=error,
                model=model,
                usage=usage,
                finish=finish,
                seconds=seconds,
            )
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
        tags: tuple[str, ...] = (),
        system: str = "",
        settings: Settings = NO_SETTINGS,
        character: str = "",
        user: str = "",
    ) -> SessionTranscript:
        """Return the transcript. The title defaults to the first words of the user. The
        model is the last one on the active branch, else `model`. A `system` prompt that is none
        of the messages becomes a role.
        """
        stamps = [stamp for entry in self.entries if (stamp := entry.message.timestamp) is not None]
        session = Session(
            self.session_id,
            " ".join(title.split())[:_TITLE] or self._first_words(),
            model=self._last_model(head_id) or model,
            head_id=head_id,
            created=created or min(stamps, default=0.0),
            updated=updated or max(stamps, default=created or 0.0),
            pinned=pinned,
            archived=archived,
            tags=tags,
            settings=settings,
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
