"""Requests that the inspector shows in place of the live one: sent, captured or exported ones.

Looking at a request changes nothing in the session; saving a captured one creates a session of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.compose import calibrate
from tui_chat.errors import InputError
from tui_chat.files import LARGEST_REQUEST, read_file
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.request import RecordedRequest, SideRequest
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.models.usage import CacheLoss, lost_cost
from tui_chat.tokens import counter_for
from tui_chat.workspace.active_session import default_title
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import RequestOutdated, ResponseLoaded
from tui_chat.workspace.live_request import LiveRequest
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.state import ReceivedResponse, ViewedRequest
from tui_chat.workspace.usage import UsageReports

if TYPE_CHECKING:
    from tui_chat.turn_file import TurnFile

_LONGEST_LIST = 300
"""Characters of the list of things that were not kept."""
_LONGEST_PATH = 4_096
"""Characters from which a text is not a path."""


@dataclass(eq=False)
class ViewedRequests:
    """Shows requests, and saves captured ones."""

    core: WorkspaceCore
    _requests: Requests
    _history: RequestHistory
    _live_request: LiveRequest
    _sessions: Sessions
    _usage: UsageReports

    # --- of the session --------------------------------------------------------------------

    async def view_foreign(self) -> None:
        """Show the recorded request of the last reply, if the session shows such requests."""
        state = self.core.state
        foreign = state.foreign_reply
        if foreign is None or not foreign.is_recorded or state.request.shown is not None:
            return
        is_shown = await self.view_sent(foreign.entry_id, is_automatic=True)
        request = self.core.state.request
        if not is_shown and self.core.state.foreign_reply is foreign:
            request = replace(request, foreign=replace(foreign, is_recorded=False))
            self.core.update(RequestOutdated(), request=request)

    async def view_sent(self, entry_id: str, *, is_automatic: bool = False) -> bool:
        """Show the request that produced a reply. Return False, with the fault reported, if there
        is none or nothing is known of it. `is_automatic`: nobody asked for it, so it is shown only
        if nothing else was chosen meanwhile.
        """
        core = self.core
        entries, session_id = core.state.entries, core.state.session_id
        sent = await self._history.sent_request(entry_id)
        if sent is None or core.state.session_id != session_id:
            return False
        composed = sent.shown
        with core.reporting():
            if composed is None:
                sentence = "What was sent is no longer kept, and cannot be composed again."
                if sent.body is not None:
                    sentence = "What was sent is kept, but it cannot be read as a request."
                raise InputError(sentence, advice=sent.why)
            entry = next((e for e in entries if e.message.id == entry_id), None)
            viewed = ViewedRequest(
                composed, sent.description, entry, sent.captured, is_of_session=True
            )
            if sent.record.is_recorded:
                viewed = await self._with_request_before(viewed, entry_id)
            else:
                name = composed.endpoint.name
                last = await self._history.last_sent(name, before=entry_id)
                viewed = replace(viewed, before=last.composed if last is not None else None)
            if is_automatic:
                foreign = core.state.foreign_reply
                if foreign is None or foreign.entry_id != entry_id:
                    return False
                viewed = replace(viewed, is_automatic=True)
            if core.state.session_id == session_id:
                self._live_request.view(viewed)
                return True
        return False

    def view_side_request(self, sent: SideRequest) -> bool:
        """Show a side request, such as a title's, as sent. Return False, reported, if it fails."""
        from tui_chat.analysis.captured_request import (
            read_captured,  # needed for such requests only
        )

        core = self.core
        with core.reporting():
            endpoint = core.state.config.endpoint_named(sent.endpoint)
            captured = read_captured(sent.body.decode("utf-8", "replace"), endpoint.protocol)
            composed = calibrate(captured.composed(endpoint, sent.model), sent.usage.input)
            time = datetime.fromtimestamp(sent.created).astimezone().strftime("%H:%M")
            ended = "" if sent.status == "complete" else f" · {sent.status}"
            self._live_request.view(
                ViewedRequest(composed, f"{sent.kind} request, as sent at {time}{ended}")
            )
            return True
        return False

    async def _with_request_before(self, viewed: ViewedRequest, entry_id: str) -> ViewedRequest:
        """Return a recorded request with the one before it, and what that means for the cache."""
        from tui_chat.analysis.cache_forecast import forecast_cache

        core, now = self.core, viewed.composed
        before = await self._history.before(entry_id, now.endpoint.protocol)
        if before is None:
            return viewed
        prices = (await self._usage.prices()).prices_of_request(now, core.now())
        forecast = await asyncio.to_thread(forecast_cache, before, now, counter_for(now.model))
        entry = viewed.entry
        loss = entry.cache_loss if entry is not None else None
        if loss is None and (entry is None or entry.usage.cached is None):
            lost = forecast.lost
            loss = (
                CacheLoss(lost, "", lost_cost(lost, forecast.total, prices(""))) if lost else None
            )
        description = viewed.description
        if loss is not None:
            description = f"{loss.amount} · {description}"
        return replace(viewed, description=description, before=before, forecast=forecast)

    async def load_response(self, entry_id: str) -> None:
        """Load the stored response to a request, and publish `ResponseLoaded`."""
        core = self.core
        loading = ReceivedResponse(entry_id, None, is_loading=True)
        core.update(request=replace(core.state.request, received=loading))
        response = None
        with core.reporting():
            response = await core.active_store.requests.get_response(entry_id)
        received = core.state.request.received
        if received is not None and received.entry_id == entry_id:
            loaded = ReceivedResponse(entry_id, response)
            core.update(ResponseLoaded(), request=replace(core.state.request, received=loaded))

    # --- of files and other programs -------------------------------------------------------

    @reported(False)
    async def open(self, text: str) -> bool:
        """Show the request in a text, or in the file whose path the text is, in the inspector.
        Return False, with the fault reported, if there is none.
        """
        from tui_chat.analysis.captured_request import read_captured
        from tui_chat.analysis.http_text import read_http
        from tui_chat.turn_file import holds_turn, read_turn

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

    @reported(None)
    async def save(self, name: str, viewed: ViewedRequest) -> None:
        """Create a session of a captured request, with a preset of its own, and open it."""
        core, source = self.core, viewed.source
        if source is None:
            return
        self._live_request.return_to_live()
        settings, messages = source.settings, source.messages
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


def save_summary(not_kept: tuple[str, ...], named_model: str, used_model: str) -> tuple[str, bool]:
    """Return what became of a captured request in sentences, and whether all of it was kept.

    `named_model` is the model that it names, empty for none; `used_model` the one that the session
    uses.
    """
    lines = ["Saved as a session with its preset."]
    if not named_model:
        lines.append(f"It names no model: the session uses {used_model}.")
    elif named_model != used_model:
        lines.append(f"Its model {named_model} is not offered here: the session uses {used_model}.")
    if not_kept:
        listed = one_line(", ".join(not_kept), _LONGEST_LIST + 1)
        cut = listed if len(listed) <= _LONGEST_LIST else f"{listed[:_LONGEST_LIST]}…"
        lines.append(f"Not kept: {cut}.")
    return "\n".join(lines), len(lines) == 1


def viewed_turn(turn: TurnFile) -> ViewedRequest:
    """Compose the request of an exported turn again; the description says if it is the same."""
    from tui_chat.compose import compose

    composed = compose(turn.inputs)
    description = "exported turn · rebuilt, same SHA-256"
    if composed.payload.sha256 != turn.request.sha256:
        version = one_line(turn.app, 20)
        description = f"exported turn · NOT the same bytes: version {version} made it"
    entry = turn.reply.entry if turn.reply is not None else None
    return ViewedRequest(composed, description, entry, turn)


def text_or_file(text: str) -> str:
    """Return the contents of the file that the text names, else the text. Raises InputError."""
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
