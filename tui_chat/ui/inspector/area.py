"""The area of the inspector: the live request, or another one in its place, and its reply."""

from __future__ import annotations

from asyncio import Event
from typing import TYPE_CHECKING, ClassVar, Self

from textual import work

from tui_chat.errors import InputError
from tui_chat.hooks import load_all
from tui_chat.models.endpoint import Protocol
from tui_chat.models.generation import request_kinds
from tui_chat.models.session import Entry, last_reply
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.area import AreaContext
from tui_chat.ui.inspector.request_edit_actions import EDITING, RequestEditActions
from tui_chat.ui.inspector.views import (
    DIFF,
    HTTP,
    PAYLOAD,
    REPLY,
    Baseline,
    ReplyDetails,
    load,
    views,
)
from tui_chat.ui.questions import ask_line
from tui_chat.ui.widgets.after_refresh import call_after_refresh

if TYPE_CHECKING:
    from tui_chat.api import View
    from tui_chat.models.session import RawResponse
    from tui_chat.ui.inspector.edit_place import EditPlace
    from tui_chat.ui.inspector.pane import Inspector
    from tui_chat.ui.inspector.rows_view import RowsView
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.state import LiveRequestState
    from tui_chat.workspace.workspace import Workspace

_NOT_RECORDED = (
    "[bold]No request was recorded[/]\n\n"
    "[$label]Another program sent the requests of this conversation.[/]"
)
RECALL_AFTER = 0.5
"""Seconds after which the last request to an endpoint is looked up: the start comes first."""


class InspectorArea(RequestEditActions):
    """The inspector. The pane is created with the first request that it can show."""

    DEFAULT_CSS = """
    InspectorArea > Inspector { width: 1fr; height: 1fr; }
    """
    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(("replay", *EDITING))

    def __init__(self, context: AreaContext) -> None:
        super().__init__(context, "inspector")
        self.pane: Inspector | None = None
        self.is_focus_due = False
        """True if the area was focused before it had a pane: keys wait for it."""
        self._session_id = ""
        """The session whose request was shown last."""
        self._pinned_in: tuple[Entry, ...] = ()
        """The branch whose pinned messages the pane knows."""

    def drop_view(self, view: RowsView) -> None:
        """Remove a view that can do nothing any more, and show the body in its place."""
        if self.pane is not None:
            name = self.pane.views.drop(view)
            if self.pane.view_shown == name:
                self.pane.view_shown = PAYLOAD

    async def open_pane(self) -> None:
        """Create the pane."""
        from tui_chat.ui.inspector.pane import Inspector

        if self.pane is None:
            self.pane = Inspector()
            await self.mount(self.pane)
            if self.is_focus_due:
                self.focus()

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the pane; at the start as soon as there is one, for which keys wait."""
        self.is_focus_due = self.pane is None
        return super().focus(scroll_visible)

    def handle(self, event: WorkspaceEvent) -> None:
        """Show the request, and what is known of its reply."""
        from tui_chat.workspace import events

        pane, workspace = self.pane, self.workspace
        if pane is None:
            return
        match event:
            case events.RequestComposed():
                self._show_request(pane, workspace)
            case events.BranchChanged() if self._is_composing_long(workspace):
                pane.forget()
                pane.show_nothing("[$label]Composing…[/]")
            case events.BranchChanged() if workspace.state.request.viewed is None:
                pane.own_protocol = workspace.state.endpoint.protocol
            case events.BranchChanged() | events.SessionsChanged():
                self._load_view(pane, workspace)
            case events.ReplyGrew() if pane.shows(REPLY):
                self._show_reply(pane, workspace)
            case _:
                pass

    def _is_composing_long(self, workspace: Workspace) -> bool:
        """True if another session was opened whose request takes a while to be composed."""
        state = workspace.state
        is_other = state.session_id != self._session_id
        return is_other and state.request.shown is None and workspace.requests.takes_long

    def _show_request(self, pane: Inspector, workspace: Workspace) -> None:
        state, request = workspace.state, workspace.state.request
        composed, viewed = request.shown, request.viewed
        if viewed is None and self.context.read_only:
            pane.show_banner("")
            pane.show_nothing(_NOT_RECORDED)  # and nothing can be sent
            return
        if composed is None:
            return
        is_other_session = state.session_id != self._session_id
        if is_other_session:
            self._session_id, self._pinned_in = state.session_id, ()
            pane.forget()
        pane.mark("recording", bool(state.session and state.session.client))
        pane.own_protocol = viewed.composed.protocol if viewed else state.endpoint.protocol
        pane.show_banner(self._banner(request))
        pane.show(composed)
        if is_other_session:
            self.host.panes.chat.transcript.repost_cursor()  # there was nothing to highlight before
        if not pane.is_on_screen:
            return
        if state.entries is not self._pinned_in:
            self._pinned_in = state.entries
            pane.change(pinned=[e.message.id for e in state.entries if e.message.pinned])
        forecasts, endpoint = workspace.cache, composed.endpoint.name
        if viewed is None and forecasts.should_recall(endpoint):
            self.set_timer(RECALL_AFTER, lambda: self._recall(workspace, endpoint))
        forecast = forecasts.forecast(composed) if viewed is None else None
        pane.show_forecast(None if state.is_offline else forecast)  # it has no cache to pay for
        self._show_reply(pane, workspace)
        if pane.shows(DIFF):
            base = workspace.requests.comparison()
            pane.change(baseline=Baseline(base.name, base.payload, base.reason))
        self._load_view(pane, workspace)

    def _load_view(self, pane: Inspector, workspace: Workspace) -> None:
        """Load what the visible view shows beside the request, if it does."""
        if (view := views()[pane.view_shown]).load and pane.shows(view.name):
            self._load(pane, workspace, view)

    @work(group="view", exclusive=True, description="load what a view shows")
    async def _load(self, pane: Inspector, workspace: Workspace, view: View) -> None:
        session_id = workspace.state.session_id
        loaded = await load(view, view.load)(workspace)
        if pane.view_shown == view.name and workspace.state.session_id == session_id:
            pane.change(loaded=loaded)

    @work(group="inspect", exclusive=True)
    async def action_show_reply(self, session_id: str, message_id: str) -> None:
        """Go to a reply, maybe of another session, and show its request."""
        if self.pane is None:
            return
        await self.host.switch_session(
            lambda opened: opened.sessions.open_at(session_id, message_id)
        )
        self.host.panes.show_message(message_id)
        self.pane.view_shown = HTTP
        self.show_message_request(message_id)

    @work(group="dialog", exclusive=True)
    async def action_show_view(self, name: str) -> None:
        """Open the inspector in a view."""
        await self.host.opened_workspace()
        if self.pane is not None:
            self._show_pane()
            self.pane.action_view(name)

    @work(group="recall")
    async def _recall(self, workspace: Workspace, endpoint: str) -> None:
        """Look up the last request to an endpoint, for the forecast."""
        if self.workspace is workspace:
            await workspace.cache.recall(endpoint, workspace.state.request.draft)

    def _show_reply(self, pane: Inspector, workspace: Workspace) -> None:
        state, viewed = workspace.state, workspace.state.request.viewed
        entry = viewed.entry if viewed is not None else None
        if entry is None:
            entry = last_reply(state.entries)
        if entry is None:
            pane.change(reply=None)
            return
        message, partial = entry.message, state.partial
        if partial is not None and partial.entry_id == message.id:
            message = partial.reply.message(state.endpoint.protocol)
        response, reason = self._response(pane, workspace, entry)
        pane.change(reply=ReplyDetails(entry, message, response, reason))

    def _response(
        self, pane: Inspector, workspace: Workspace, entry: Entry
    ) -> tuple[RawResponse | None, str]:
        """Return the response as it was received, or why there is none; it is loaded once."""
        if entry.status == "streaming":
            return None, "shown once the reply has ended."
        received = workspace.state.request.received
        if received is not None and received.entry_id == entry.message.id:
            return received.response, "…" if received.is_loading else ""
        if not pane.shows(REPLY):
            return None, ""
        self._load_response(workspace, entry.message.id)
        return None, "…"

    @work(group="response", exclusive=True)
    async def _load_response(self, workspace: Workspace, entry_id: str) -> None:
        await workspace.sent.load_response(entry_id)

    # --- what other areas show -----------------------------------------------------------

    def highlight(self, origin: Origin | None, *, scroll: bool) -> None:
        """Show in the request what the cursor of another area is on."""
        if self.pane is not None and (scroll or self.pane.is_on_screen):
            self.pane.views.point(origin)

    def reveal_places(self, origin: Origin) -> None:
        """Go to all places in the request that came from an origin."""
        pane = self.pane
        if pane is None:
            return
        self.host.panes.show_area(self)

        def reveal() -> None:
            pane.focus()
            if not pane.reveal(origin):
                self.notify("None of it is in this request.", severity="warning")

        self.call_after_refresh(reveal)

    def show_payload(self, pointer: str = "") -> None:
        """Show the body, at the place of a JSON pointer if there is one, and focus it."""
        pane = self.pane
        if pane is None:
            return
        self.host.panes.show_area(self)

        def show() -> None:
            pane.view_shown = PAYLOAD
            if pointer:
                pane.views.payload.go_to(pointer)
            pane.focus()

        self.call_after_refresh(show)

    @property
    def edit_place(self) -> EditPlace | None:
        return self.pane.views.payload.edit_place if self.pane is not None else None

    def reveal_in_live(self, origin: Origin) -> None:
        """Go to the places in the live request, even if another one or none is shown."""
        request = self.workspace.state.request
        if request.viewed or request.shown is None:
            self.workspace.requests.return_to_live()
        self.reveal_places(origin)

    async def reveal(self, origin: Origin) -> bool:
        """Let a plugin go to where a text of its own is kept."""
        if self.pane is None:
            return False
        for reveal in load_all("origin"):
            if await reveal(self.tui, origin):
                return True
        return False

    # --- views and comparing -------------------------------------------------------------

    def on_hide(self) -> None:
        """Return to the session's own protocol: nothing on the screen names another one now."""
        if self.host.is_workspace_open and self.workspace.state.request.protocol is not None:
            self.workspace.requests.show_in(None)

    @work(group="protocol", exclusive=True)
    async def action_show_in_protocol(self, protocol: str) -> None:
        """Show the request in another protocol; the session stays as it is."""
        workspace = await self.host.opened_workspace()
        workspace.requests.show_in(Protocol(protocol))

    def on_inspector_view_changed(self) -> None:
        if self.pane is not None and self.host.workspace is not None:
            with self.context.report_errors("The request cannot be shown."):
                self._show_request(self.pane, self.workspace)

    def action_return_to_live(self) -> None:
        """Show the live request again; nothing can be sent from a viewer, which has none."""
        viewed = self.workspace.state.request.viewed
        if not (self.context.read_only and viewed is not None and viewed.is_automatic):
            self.workspace.requests.return_to_live()

    @work(group="dialog", exclusive=True)
    async def action_compare(self, base: str = "") -> None:
        """Show the differences to another request; without a base, ask to which."""
        from tui_chat.ui.dialogs.requests import ask_diff_base

        if self.pane is not None:
            self.pane.view_shown = DIFF
        workspace = await self.host.opened_workspace()
        current = workspace.state.request.diff_base.choice
        chosen = base or await ask_diff_base(self.tui, workspace, current)
        if chosen is not None:
            await workspace.sent.compare_with(chosen)

    # --- other requests in place of the live one -----------------------------------------

    async def _refreshed(self) -> None:
        """Wait until the pane that was shown has the focus, for which keys wait."""
        refreshed = Event()
        call_after_refresh(self, refreshed.set)
        await refreshed.wait()

    def _show_pane(self) -> None:
        if self.pane is not None:
            self.host.panes.show_area(self)
            self.call_after_refresh(self.pane.focus)

    @work(group="inspect", exclusive=True)
    async def show_message_request(self, entry_id: str) -> None:
        """Show the request that produced a reply, or where another message stands in it."""
        workspace = self.workspace
        entries = workspace.state.entries
        entry = next((each for each in entries if each.message.id == entry_id), None)
        if entry is None or entry.message.role != "assistant":
            self.reveal_places(Origin(OriginKind.HISTORY, entry_id))
        elif await workspace.sent.view_sent(entry_id):
            self._show_pane()
            await self._refreshed()

    @work(group="dialog", exclusive=True)
    async def action_open_captured(self) -> None:
        """Open a request body that was captured somewhere."""
        from tui_chat.ui.dialogs.requests import ask_captured

        await self.host.opened_workspace()
        if (text := await ask_captured(self.tui)) is not None:
            self.show_captured(text)

    @work(group="inspect", exclusive=True, description="open a captured request")
    async def show_captured(self, text: str) -> None:
        """Show a captured request, or an exported turn, given as text or as the path of a file."""
        workspace = await self.host.opened_workspace()
        if await workspace.sent.open(text):
            self._show_pane()

    @work(group="dialog", exclusive=True)
    async def action_save_captured(self) -> None:
        """Create a session and a preset of the captured request that is shown."""
        from tui_chat.workspace.sent import save_summary

        workspace = await self.host.opened_workspace()
        viewed = workspace.state.request.viewed
        source = viewed.source if viewed is not None else None
        if viewed is None or source is None:
            key = self.context.key_labels["palette"]
            advice = f"“Open captured request” is in the palette ({key})."
            raise InputError("No captured request is open.", advice=advice)
        name = await ask_line(self.tui, "Name of the session and its preset", "Captured")
        if name is None:
            return
        await self.host.switch_session(lambda opened: opened.sent.save(name, viewed))
        used = workspace.requests.compose("").model
        words, is_complete = save_summary(source.not_kept, viewed.composed.model, used)
        severity = "information" if is_complete else "warning"
        self.notify(words, severity=severity, markup=False)

    # --- turns ---------------------------------------------------------------------------

    @work(group="send")
    async def action_replay(self) -> None:
        """Send the context of the shown reply to any model; the reply is a version of it."""
        from tui_chat.ui.dialogs.model_choice import ask_model

        workspace = await self.host.opened_workspace()
        entry = self._shown_reply()
        chosen = await ask_model(self.tui, workspace, self.context.environ)
        if chosen is not None:
            workspace.requests.return_to_live()
            await workspace.replies.replay(entry.message.id, *chosen)

    @work(group="dialog", exclusive=True)
    async def action_export_turn(self) -> None:
        """Write the shown reply, its request and everything it was composed from to one file."""
        from tui_chat.ui.dialogs.file_viewer import save_file

        workspace = await self.host.opened_workspace()
        entry = self._shown_reply()
        text = await workspace.sent.export_turn(entry.message.id)
        if text is not None:
            name = f"turn-{entry.message.id[:8]}.json"
            await save_file(self, name, text.encode(), title="Export the turn to")

    def _banner(self, request: LiveRequestState) -> str:
        """Return the words about a request that is not the live one; empty for the live one."""
        viewed = request.viewed
        if viewed is None:
            return _banner(request)
        if viewed.is_automatic and self.context.read_only:
            return viewed.description
        return f"{viewed.description} · Esc live"

    def _shown_reply(self) -> Entry:
        """Return the reply that is viewed, else the last one. Raises InputError without one."""
        viewed = self.workspace.state.request.viewed
        entry = viewed.entry if viewed is not None else None
        entry = entry or last_reply(self.workspace.state.entries)
        if entry is None:
            raise InputError("There is no reply yet.")
        return entry


def _banner(request: LiveRequestState) -> str:
    """Return the words about a request that is neither the live one nor one that was sent."""
    if request.kind == "normal":
        return ""
    title = request_kinds()[request.kind].title
    if request.kind_fault:
        return f"{title}: {request.kind_fault}"
    how = ""
    if request.kind == "continue" and request.shown is not None and request.shown.inputs:
        from tui_chat.context.generation import uses_prefill  # after the first frame

        how = " by prefill" if uses_prefill(request.shown.inputs) else " by asking for the rest"
    return f"not sent yet: {title}{how}"
