"""Inspecting: what stands in the inspector, and what it tells beside the body: forecast, reply.

A request that was sent, one that was pasted and one that only asks what if take the place of the
live one, under a banner that says so; Esc brings the live one back. Nothing of the session
changes meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import work

from tui_chat.models.session import Entry, last_reply
from tui_chat.ui.acting.comparing import LAST, Comparing
from tui_chat.ui.commands import message_text

if TYPE_CHECKING:
    from tui_chat.analysis import CapturedRequest
    from tui_chat.compose import Composed
    from tui_chat.models.reply import Reply
    from tui_chat.models.request import RawResponse
    from tui_chat.turn_file import TurnFile
    from tui_chat.ui.inspector import Inspector
    from tui_chat.workspace import WhatIf, Workspace


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that stands in the inspector in place of the live one."""

    composed: Composed
    words: str
    """What it is, for the banner."""
    session_id: str
    entry: Entry | None = None
    """The reply it produced."""
    captured: CapturedRequest | TurnFile | None = None
    """Where it was pasted, or opened from a file."""


_SETTLED = 0.5
"""Seconds after which a program that has just started has shown what it shows."""


class Inspecting(Comparing):
    """Fills the inspector."""

    _heard: tuple[str, RawResponse | None, str] = "", None, ""
    """The response of the reply that was looked at, with its id, and why there is none."""
    _seen: Seen | None = None
    _what_if: WhatIf | None = None
    _inspected_in = ""
    """Id of the session whose request was shown last."""
    _pinned_in: tuple[Entry, ...] = ()
    """The branch whose pinned messages the inspector knows."""

    def inspect(self, composed: Composed) -> None:
        """Show the request that Enter would send, or what is looked at in its place."""
        inspector, workspace = self.panes.inspector, self.workspace
        if inspector is None or workspace is None:
            return
        is_another = workspace.state.session_id != self._inspected_in
        if is_another:
            self._inspected_in = workspace.state.session_id
            self._forget(inspector)
        seen = self._seen
        if seen is not None and seen.session_id != workspace.state.session_id:
            self._go_live()
            seen = None
        if seen is not None:
            composed = workspace.requests.in_protocol(seen.composed, self._protocol)
        elif self._what_if is not None:
            draft = message_text(self._composer.text)
            composed = workspace.requests.what_if(draft, self._what_if, self._protocol, self.parts)
        inspector.show(composed)
        if is_another:
            self._chat.transcript.repost_cursor()  # there was nothing to point into before
        if not inspector.is_on_screen:
            return
        if workspace.state.entries is not self._pinned_in:
            self._pinned_in = workspace.state.entries
            inspector.keep_pinned(
                [e.message.id for e in workspace.state.entries if e.message.pinned]
            )
        self._tell_forecast(inspector, workspace, composed)
        self._tell_reply(inspector, workspace)
        self.tell_difference(inspector, workspace)

    def _forget(self, inspector: Inspector) -> None:
        """Let go of the session that was left, and of all that was told of its requests."""
        inspector.forget()
        self._pinned_in = ()
        if self._base.startswith("branch"):
            self._base, self._base_branch = LAST, None

    def _tell_forecast(
        self, inspector: Inspector, workspace: Workspace, composed: Composed
    ) -> None:
        forecasts, endpoint = workspace.forecasts, composed.endpoint.name
        forecasts.follow_sent()
        if self._seen is None and forecasts.should_recall(endpoint):
            self.set_timer(_SETTLED, lambda: self._recall(workspace, endpoint))
        inspector.show_forecast(forecasts.forecast(composed) if self._seen is None else None)

    @work(group="recall")
    async def _recall(self, workspace: Workspace, endpoint: str) -> None:
        draft = message_text(self._composer.text)
        if await workspace.forecasts.recall(endpoint, draft) and self.workspace is workspace:
            self.compose_soon()

    def _tell_reply(self, inspector: Inspector, workspace: Workspace) -> None:
        from tui_chat.ui.inspector import ReplyDetails

        entry = self._seen.entry if self._seen is not None else None
        if entry is None:
            entry = last_reply(workspace.state.entries)
        if entry is None:
            inspector.show_reply(None)
            return
        message = entry.message
        partial = workspace.state.partial
        if partial is not None and partial.entry_id == message.id:
            message = partial.reply.message(workspace.state.endpoint.protocol)
        received, unheard = self._received(inspector, entry)
        held = self._held_against(entry)
        inspector.show_reply(ReplyDetails(entry, message, received, unheard, held))

    def _received(self, inspector: Inspector, entry: Entry) -> tuple[RawResponse | None, str]:
        """Return the response as it was received, and why there is none; it is fetched once."""
        if entry.status == "streaming":
            return None, "shown as soon as it has ended."
        if self._heard[0] != entry.message.id:
            if not inspector.shows_reply:
                return None, ""
            self._heard = entry.message.id, None, "…"
            self._fetch_received(entry.message.id)
        return self._heard[1:]

    @work(group="received", exclusive=True)
    async def _fetch_received(self, entry_id: str) -> None:
        workspace, inspector = self.workspace, self.panes.inspector
        if workspace is not None and inspector is not None:
            self._heard = entry_id, await workspace.request_history.received(entry_id), ""
            self._tell_reply(inspector, workspace)

    def _held_against(self, entry: Entry) -> str:
        """Say what the forecast of a reply's request was, beside what was reported."""
        from tui_chat.ui.inspector.forecast_line import forecast_versus_usage

        forecast = self.workspace.forecasts.of_reply(entry) if self.workspace is not None else None
        if forecast is None or entry.status == "streaming":
            return ""
        return forecast_versus_usage(forecast, entry.usage.cached, entry.usage.input)

    def reply_grew(self, reply: Reply) -> None:
        """Show what has arrived."""
        inspector, workspace = self.panes.inspector, self.workspace
        if inspector is not None and workspace is not None and inspector.shows_reply:
            self._tell_reply(inspector, workspace)

    def on_inspector_view_changed(self) -> None:
        """Fill the view that came into sight."""
        self.compose_soon()

    # --- in place of the live one ------------------------------------------------------

    def _look_at(self, seen: Seen) -> None:
        """Put a request in place of the live one."""
        self._seen, self._protocol, self._what_if = seen, None, None
        inspector = self.panes.inspector
        if inspector is not None:
            inspector.own_protocol = seen.composed.protocol
            inspector.show_banner(f"{seen.words} · Esc: back", is_past=True)
            self.panes.open("inspector")
            self.call_after_refresh(inspector.focus)
        self.compose_soon()

    def on_inspector_live_wanted(self) -> None:
        """Show the request again that Enter would send."""
        self._go_live()
        self.compose_soon()

    def leave_past(self) -> None:
        """Show the live request, where another stands in its place."""
        if self._seen is not None or self._what_if is not None:
            self.on_inspector_live_wanted()

    def _go_live(self) -> None:
        self._seen, self._what_if, self._protocol = None, None, None
        if self.panes.inspector is not None:
            self.panes.inspector.show_banner("")
            if self.workspace is not None:
                self.panes.inspector.own_protocol = self.workspace.state.endpoint.protocol
