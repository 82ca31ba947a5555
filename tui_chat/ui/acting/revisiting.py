"""Revisiting: requests that were sent, seen again, sent again, or written into a file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import on, work

from tui_chat.errors import InputError
from tui_chat.models.session import Entry, last_reply
from tui_chat.models.text import Origin, OriginKind
from tui_chat.paths import typed_path
from tui_chat.ui.acting.inspecting import Inspecting, Seen
from tui_chat.ui.acting.tracing import Tracing
from tui_chat.ui.chat.messages import InspectRequested, RevealMessageRequested
from tui_chat.ui.sent_requests import told_of

if TYPE_CHECKING:
    from tui_chat.ui.presets import PresetPane


class Revisiting(Inspecting, Tracing):
    """Answers what is asked of a reply's request."""

    @on(InspectRequested)
    @work(group="inspect", exclusive=True)
    async def _inspect_reply(self, event: InspectRequested) -> None:
        workspace = self.workspace
        if workspace is None:
            return
        entry = next((e for e in workspace.state.entries if e.message.id == event.entry_id), None)
        if entry is None or entry.message.role != "assistant":
            self.reveal_in_request(Origin(OriginKind.HISTORY, event.entry_id))
            return
        sent = await workspace.request_history.sent_request(event.entry_id)
        composed = sent.shown if sent is not None else None
        if sent is None:
            return
        if composed is None:
            fault = "What was sent is no longer kept, and cannot be composed again."
            self.show_error(InputError(fault, advice=sent.why))
            return
        self._look_at(Seen(composed, told_of(sent), workspace.state.session_id, entry))

    @on(RevealMessageRequested)
    def _reveal_message(self, event: RevealMessageRequested) -> None:
        self.leave_past()
        self.reveal_in_request(Origin(OriginKind.HISTORY, event.entry_id))

    def on_preset_pane_places_requested(self, event: PresetPane.PlacesRequested) -> None:
        """Go to the places of a preset message in the request that is being made."""
        self.leave_past()
        self.reveal_in_request(event.origin)

    @work(group="send")
    async def action_replay(self) -> None:
        """Send the context of the shown reply to any model; the reply is a version of it."""
        from tui_chat.ui.dialogs.questions import ask_model

        workspace, entry = self.workspace, self._reply_meant()
        if workspace is None or entry is None:
            return
        chosen = await ask_model(self, workspace)
        if chosen is not None:
            self._go_live()
            await workspace.replies.replay(entry.message.id, *chosen)

    @work(group="dialog", exclusive=True)
    async def action_export_turn(self) -> None:
        """Write the shown reply, its request and all it was made of into one file."""
        from tui_chat.ui.dialogs.file_questions import confirm_overwrite
        from tui_chat.ui.dialogs.questions import ask_save_path

        workspace, entry = self.workspace, self._reply_meant()
        if workspace is None or entry is None:
            return
        text = await workspace.request_history.export_turn(entry.message.id)
        if text is None:
            return
        typed = await ask_save_path(self, "Write the turn to", f"turn-{entry.message.id[:8]}.json")
        if typed is None:
            return
        path = typed_path(typed)
        if await asyncio.to_thread(path.exists) and not await confirm_overwrite(self, path):
            return
        try:
            await asyncio.to_thread(path.write_text, text, encoding="utf-8")
        except OSError as error:
            self.show_error(InputError(f"{path} cannot be written: {error.strerror}."))
        else:
            self.notify(f"The turn is in {path}.", markup=False)

    def _reply_meant(self) -> Entry | None:
        """Return the reply that is looked at, else the last one; None, told, without any."""
        if self._seen is not None and self._seen.entry is not None:
            return self._seen.entry
        entry = last_reply(self.workspace.state.entries) if self.workspace is not None else None
        if entry is not None:
            return entry
        self.show_error(InputError("There is no reply yet."))
        return None
