"""Sessions of requests that were pasted."""

from __future__ import annotations

from dataclasses import replace

from tui_chat.context import Settings
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import Transcript
from tui_chat.workspace.opening import Opening, first_words
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.state import State


class Capturing:
    """Takes captured conversations in."""

    def __init__(self, state: State, outside: Outside, opening: Opening) -> None:
        self._state = state
        self._outside = outside
        self._opening = opening

    async def keep(
        self,
        name: str,
        messages: tuple[Message, ...],
        preset: Preset,
        settings: Settings,
        reply: Entry | None,
    ) -> None:
        """Make a session and its preset, and open it; see `Desk.keep_captured`."""
        called = self._outside.shelf.add_preset(preset)
        new_id = self._outside.new_id
        entries: list[Entry] = []
        for message in messages:
            parent = entries[-1].message.id if entries else None
            came = reply if reply is not None and reply.message is message else Entry(message)
            named = replace(message, id=new_id())
            entries.append(replace(came, message=named, parent_id=parent))
        session = Session(
            new_id(),
            first_words(name),
            endpoint=self._state.endpoint.name,
            model=settings.model if settings.model in self._state.endpoint.models else "",
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            preset=called,
            head_id=entries[-1].message.id if entries else None,
        )
        await self._outside.store.transcripts.add(Transcript(session, tuple(entries)))
        await self._opening.list_sessions()
        await self._opening.open(session.session_id)
