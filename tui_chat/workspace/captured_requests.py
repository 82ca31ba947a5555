"""Captured requests and exported turns: opened in the inspector, and saved as a session."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, read_file
from tui_chat.models.message import Message
from tui_chat.models.request import RecordedRequest
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, EntryStatus, Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.workspace.active_session import default_title
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.live_request import LiveRequest
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.state import ViewedRequest

if TYPE_CHECKING:
    from tui_chat.turn_file import TurnFile, TurnReply

_LONGEST_LIST = 300
"""Characters of the list of things that were not kept."""
_LONGEST_PATH = 4_096
"""Characters from which a text is not a path."""


class CapturedRequests:
    """Opens captured requests, and saves them."""

    def __init__(
        self,
        core: WorkspaceCore,
        requests: Requests,
        live_request: LiveRequest,
        sessions: Sessions,
    ) -> None:
        self.core = core
        self._requests = requests
        self._live_request = live_request
        self._sessions = sessions

    async def open(self, text: str) -> bool:
        """Show the request in a text, or in the file whose path the text is, in the inspector.
        Return False, with the fault reported, if there is none.
        """
        from tui_chat.analysis import read_captured
        from tui_chat.turn_file import holds_turn, read_turn

        core = self.core
        with core.reporting():
            text = await asyncio.to_thread(text_or_file, text)
            if holds_turn(text):
                turn = read_turn(text, "The exported turn")
                viewed = await asyncio.to_thread(viewed_turn, turn)
            else:
                recorded = read_http(text)
                captured = read_captured(recorded.body.decode() if recorded is not None else text)
                if recorded is None:
                    recorded = RecordedRequest("POST", "", None, captured.body)
                composed = self._requests.from_captured(captured, recorded)
                description = f"captured {captured.protocol.label} request"
                if not captured.settings.model:
                    description += " · names no model"
                viewed = ViewedRequest(composed, description, source=captured)
            self._live_request.view(viewed)
            return True
        return False

    async def save(self, name: str, viewed: ViewedRequest) -> None:
        """Create a session of a captured request, with a preset of its own, and open it."""
        core, source = self.core, viewed.source
        if source is None:
            return
        self._live_request.return_to_live()
        settings, messages = source.settings, source.messages
        with core.reporting():
            preset_name = core.library.add_preset(source.preset(name))
            entries: list[Entry] = []
            for message in messages:
                parent = entries[-1].message.id if entries else None
                entry = self._entry(message, viewed.entry)
                entries.append(replace(entry, parent_id=parent))
            endpoint = core.state.endpoint
            session = Session(
                core.new_id(),
                default_title(name),
                endpoint=endpoint.name,
                model=settings.model if settings.model in endpoint.models else "",
                settings=settings.without_model,
                preset=preset_name,
                head_id=entries[-1].message.id if entries else None,
            )
            await core.store.transcripts.add(SessionTranscript(session, tuple(entries)))
            await self._sessions.open_added(session.session_id)

    def _entry(self, message: Message, reply: Entry | None) -> Entry:
        """Return a stored message; `reply` describes how one of them was received."""
        entry = reply if reply is not None and reply.message is message else Entry(message)
        return replace(entry, message=replace(message, id=self.core.new_id()))


def save_summary(not_kept: tuple[str, ...], wanted: str, used: str) -> tuple[str, bool]:
    """Return what became of a captured request in sentences, and whether all of it was kept.

    `wanted` is the model that it names, empty for none; `used` the one that the session uses.
    """
    lines = ["Saved as a session with its preset."]
    if not wanted:
        lines.append(f"It names no model: the session uses {used}.")
    elif wanted != used:
        lines.append(f"Its model {wanted} is not offered here: the session uses {used}.")
    if not_kept:
        listed = one_line(", ".join(not_kept), _LONGEST_LIST + 1)
        cut = listed if len(listed) <= _LONGEST_LIST else f"{listed[:_LONGEST_LIST]}…"
        lines.append(f"Not kept: {cut}.")
    return "\n".join(lines), len(lines) == 1


_REQUEST_LINE = re.compile(r"(?P<method>[A-Z]+) (?P<url>https?://\S+)(?: HTTP/[\d.]+)?")
_HEADER = re.compile(r"(?P<name>[!#-'*+.^-z|~\w-]+):[ \t]*(?P<value>.*)")


def read_http(text: str) -> RecordedRequest | None:
    """Return the request of a text as the inspector copies one: method and URL, headers and body.
    Credentials are masked. None for any other text.
    """
    from tui_chat.providers.credentials import Credentials

    head, blank, body = text.lstrip().replace("\r\n", "\n").partition("\n\n")
    first, *lines = head.split("\n")
    request, fields = _REQUEST_LINE.fullmatch(first.strip()), list(map(_HEADER.fullmatch, lines))
    if request is None or not blank or not all(fields):
        return None
    headers = tuple((each["name"], each["value"].strip()) for each in fields if each is not None)
    credentials = Credentials(headers, request["url"])
    url = credentials.mask_target(request["url"])
    kept = credentials.mask_text(body.strip())
    return RecordedRequest(
        request["method"],
        url,
        credentials.mask_headers(headers),
        kept.encode("utf-8", "replace"),
        kept != body.strip(),
    )


def viewed_turn(turn: TurnFile) -> ViewedRequest:
    """Compose the request of an exported turn again; the description says if it is the same."""
    from tui_chat.compose import compose

    composed = compose(turn.inputs)
    description = "exported turn · rebuilt, same SHA-256"
    if composed.payload.sha256 != turn.request.sha256:
        version = one_line(turn.app, 20)
        description = f"exported turn · NOT the same bytes: version {version} made it"
    entry = _entry_of(turn.reply) if turn.reply is not None else None
    return ViewedRequest(composed, description, entry, turn)


_STATUSES: dict[str, EntryStatus] = {
    "complete": "complete",
    "stopped": "stopped",
    "interrupted": "interrupted",
}


def _entry_of(reply: TurnReply) -> Entry:
    return Entry(
        reply.message,
        status=_STATUSES.get(reply.status, "failed"),
        error=reply.error,
        model=reply.model,
        endpoint=reply.endpoint,
        usage=reply.usage,
        finish=reply.finish,
        seconds=reply.seconds,
    )


def text_or_file(text: str) -> str:
    """Return the contents of a file if the text is its path, else the text itself. Raises
    InputError if the file cannot be read.
    """
    name = text.strip().strip("'\"")
    if "\n" in name or len(name) > _LONGEST_PATH or "{" in name:
        return text
    try:
        path = Path(name).expanduser()
        if path.is_dir() or not path.exists():
            return text
        return read_file(path, LARGEST_REQUEST).decode("utf-8", "replace")
    except (OSError, RuntimeError, ValueError) as error:  # unreadable; no home; a null character
        raise InputError(f"{name} cannot be read: {error}") from error
