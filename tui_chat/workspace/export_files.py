"""Pictures and other files that an export keeps beside its conversations.

ChatGPT names a file of its export after the id by which messages refer to it: `file-AbC123` is
`file-AbC123-photo.png`, in a folder of any name. A part that has such an id gets the content of the
file; what is too large or no provider accepts stays a placeholder, which the reader's note counts.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import field, replace

from tui_chat.interop.transcript_builder import MISSING_FILE, FoundConversation
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.media import detect_mime, kind_of
from tui_chat.models.message import Part
from tui_chat.models.session import Entry
from tui_chat.models.text import clean
from tui_chat.workspace.attachments import LARGEST, LARGEST_TEXT

_ID = re.compile(r"file[-_][A-Za-z0-9]{6,}")

_CONVERSATIONS = re.compile(r"conversations.*\.json")


def file_id_of(name: str) -> str:
    """Return the id that an exported file's name begins with, or that a pointer has; or empty."""
    match = _ID.match(name.rpartition("/")[2])
    return match[0] if match else ""


@dataclass(slots=True)
class ExportFiles:
    """The files beside the conversations of one archive or folder."""

    read: Callable[[str], bytes]
    """Returns the first `LARGEST` bytes, and one more, of a file by its path."""
    paths: dict[str, str] = field(default_factory=dict[str, str])
    """The paths of the files by their ids."""

    def add(self, paths: Iterable[str]) -> None:
        """Add the files whose names begin with an id."""
        for path in paths:
            if file_id := file_id_of(path):
                self.paths.setdefault(file_id, path)

    def of_messages(self, paths: Iterable[str]) -> set[str]:
        """Return the paths of the files that belong to messages, and are nothing to import on their
        own: those with an id, beside a file of conversations among `paths`.
        """
        names = (path.rpartition("/")[2] for path in paths)
        has_conversations = any(_CONVERSATIONS.fullmatch(name) for name in names)
        return set(self.paths.values()) if has_conversations else set()

    def completed(self, conversation: FoundConversation) -> FoundConversation:
        """Return a conversation with the content of its files, and without the notes on them."""
        transcript = conversation.transcript
        if transcript is None or not self.paths:
            return conversation
        count = 0
        entries: list[Entry] = []
        for entry in transcript.entries:
            before = entry.message.parts
            parts = tuple(map(self._filled, before))
            filled = sum(part is not old for part, old in zip(parts, before, strict=True))
            count += filled
            message = replace(entry.message, parts=parts) if filled else entry.message
            entries.append(replace(entry, message=message) if filled else entry)
        if not count:
            return conversation
        notes = list(conversation.notes)
        for _ in range(min(count, notes.count(MISSING_FILE))):
            notes.remove(MISSING_FILE)
        transcript = replace(transcript, entries=tuple(entries))
        return replace(conversation, transcript=transcript, notes=tuple(notes))

    def _filled(self, part: Part) -> Part:
        """Return a part with the content of its file; the same part if that is not there."""
        path = self.paths.get(file_id_of(part.file_id)) if part.file_id else None
        if path is None or part.data or part.text:
            return part
        data = self.read(path)
        name = part.name or path.rpartition("/")[2]
        if mime := detect_mime(data):
            if len(data) > LARGEST:
                return part
            return Part(kind_of(mime), mime, data=b64encode(data).decode(), name=name)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return part
        if not text or "\0" in text or len(data) > LARGEST_TEXT:
            return part
        return Part("file", "text/plain", text=clean(text), name=name)
