"""Builds the transcript of a conversation from the messages of another program."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, EntryStatus, Session
from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.models.transcript import SessionTranscript
from tui_chat.models.usage import NO_USAGE, Usage

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
