"""Writes a conversation as a chat of SillyTavern: a header line, then one message per line.

1. The active branch is written. Other versions of a reply are its swipes, with the shown one
   selected; what else is beside the branch is not: SillyTavern has a file for each branch.
2. Muted messages are hidden there (`is_system`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import takewhile
from typing import Any

from tui_chat.interop.readable import active_branch, siblings
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.json_text import JsonObject
from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import Entry, SessionTranscript
from tui_chat.models.settings import AuthorNote, Injection
from tui_chat.plugins.sillytavern.chats import CHARACTER_KEYS, NOTE_PLACES, NOTE_ROLES

_VERSION_KEYS = ("send_date", "gen_started", "gen_finished", "extra")
"""Keys of a line that belong to one of its swipes."""


def chat_lines(transcript: SessionTranscript, _: tzinfo = UTC) -> Iterator[str]:
    """Yield the text of a chat line by line; its last line has no end, as in SillyTavern."""
    for number, (line, _entries) in enumerate(_ChatWriter(transcript).lines()):
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        yield ("\n" if number else "") + sanitize(text, "json")


def unwritten(transcript: SessionTranscript) -> int:
    """Return the number of messages that an export to SillyTavern leaves out."""
    written = (entry for _, entries in _ChatWriter(transcript).lines() for entry in entries)
    return len(transcript.entries) - len({entry.message.id for entry in written})


class _ChatWriter:
    def __init__(self, transcript: SessionTranscript) -> None:
        self._transcript = transcript
        self._after = siblings(transcript)
        settings, role = transcript.session.settings, transcript.role
        name = role.name if role is not None else ""
        self._names = {
            True: settings.user_name or transcript.user or "User",
            False: settings.char_name or name or transcript.character or "Assistant",
        }
        """Of the user (True) and the character."""

    def lines(self) -> Iterator[tuple[JsonObject, Sequence[Entry]]]:
        """Yield the header and the lines of the active branch, each with the messages in it."""
        yield self._header(), ()
        branch = active_branch(self._transcript)
        for index, entry in enumerate(branch):
            message = entry.message
            if message.tool_calls:
                results = list(takewhile(_is_result, branch[index + 1 :]))
                if message.content:
                    yield self._line(entry), (entry,)
                yield self._tool_line(entry, results), (entry, *results)
            elif message.role == "assistant":
                yield self._with_swipes(entry)
            elif message.role != "tool":
                yield self._line(entry), (entry,)

    def _header(self) -> JsonObject:
        session = self._transcript.session
        settings, facts = session.settings, dict[str, object]()
        if self._transcript.variables:
            facts["variables"] = dict(self._transcript.variables)
        if settings.author_note is not None:
            facts |= _note_keys(settings.author_note)
        if settings.character is not None:
            facts |= {k: getattr(settings.character, name) for name, k in CHARACTER_KEYS.items()}
        if settings.injections:
            facts["script_injects"] = {each.id: _inject_keys(each) for each in settings.injections}
        if session.lorebooks:
            facts["world_info"] = session.lorebooks[0]
        names = {"user_name": self._names[True], "character_name": self._names[False]}
        return {**names, "create_date": _date(session.created), "chat_metadata": facts}

    def _with_swipes(self, entry: Entry) -> tuple[JsonObject, Sequence[Entry]]:
        """Return the line of a reply with its versions, and these."""
        line, found = self._line(entry), self._after.get(entry.parent_id, ())
        versions = [e for e in found if e.message.role == "assistant" and not e.message.tool_calls]
        if len(versions) < 2:
            return line, (entry,)
        lines = [self._line(version) for version in versions]
        line["swipe_id"] = next(n for n, version in enumerate(versions) if version is entry)
        line["swipes"] = [each["mes"] for each in lines]
        line["swipe_info"] = [{k: each[k] for k in _VERSION_KEYS if k in each} for each in lines]
        return line, versions

    def _line(self, entry: Entry) -> dict[str, Any]:
        """Return the line of a message."""
        message = entry.message
        is_user = message.role == "user"
        line: dict[str, Any] = {
            "name": message.name or self._names[is_user],
            "is_user": is_user,
            "is_system": message.muted.whole,
            "send_date": _date(message.timestamp),
            "mes": message.content,
        }
        extra: dict[str, Any] = {}
        if message.role == "system":
            extra["type"] = "narrator"
        if entry.model:
            extra["model"] = entry.model
        if thoughts := [block.text for block in message.reasoning if block.text]:
            extra["reasoning"] = "\n\n".join(thoughts)
        if media := list(_media(message.parts)):
            extra["media"] = media
        line["extra"] = extra
        if entry.seconds is not None and message.timestamp is not None:
            line["gen_started"] = _date(message.timestamp - entry.seconds)
            line["gen_finished"] = _date(message.timestamp)
        return line

    def _tool_line(self, entry: Entry, results: Sequence[Entry]) -> JsonObject:
        texts = {each.message.tool_call_id: each.message.content for each in results}
        invoked = [
            {
                "id": call.id,
                "displayName": call.name,
                "name": call.name,
                "parameters": call.arguments,
                "result": texts.get(call.id, ""),
            }
            for call in entry.message.tool_calls
        ]
        names = ", ".join(call.name for call in entry.message.tool_calls)
        return {
            "name": self._names[False],
            "is_user": False,
            "is_system": True,
            "send_date": _date(entry.message.timestamp),
            "mes": f"Tool calls: {names}",
            "extra": {"isSmallSys": True, "tool_invocations": invoked},
        }


def _is_result(entry: Entry) -> bool:
    return entry.message.role == "tool"


def _note_keys(note: AuthorNote) -> Mapping[str, object]:
    return {
        "note_prompt": note.text,
        "note_interval": note.interval,
        "note_position": NOTE_PLACES.index(note.placement),
        "note_depth": note.depth,
        "note_role": NOTE_ROLES.index(note.role),
    }


def _inject_keys(injection: Injection) -> Mapping[str, object]:
    return {
        "value": injection.content,
        "position": NOTE_PLACES.index(injection.placement),
        "depth": injection.depth,
        "scan": injection.searched,
        "role": NOTE_ROLES.index(injection.role),
    }


def _date(seconds: float | None) -> str:
    at = datetime.fromtimestamp(seconds or 0, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _media(parts: Sequence[MediaBlock]) -> Iterator[JsonObject]:
    for part in parts:
        url = part.url or (f"data:{part.mime};base64,{part.data}" if part.data else part.file_id)
        if url:
            yield {"url": url, "type": part.media}
