"""The main screen: the areas and the line of keys. It does what concerns more than one area."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from textual import events, on, work
from textual.app import App
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker

from tui_chat.errors import TuiChatError
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.areas.chat import transcript_messages as messages
from tui_chat.ui.notifications import show_error
from tui_chat.ui.panes import Panes
from tui_chat.ui.widgets.one_pass import OnePassWidget

if TYPE_CHECKING:
    from tui_chat.ui.areas.area import AreaContext
    from tui_chat.ui.areas.inspector.inspector import Inspector
    from tui_chat.ui.areas.presets.pane import PresetPane
    from tui_chat.workspace.events import WorkspaceEvent
    from tui_chat.workspace.workspace import Workspace


class MainScreen(Screen[None], OnePassWidget):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    """The screen with the areas; it arranges them before it is laid out at another width."""

    HORIZONTAL_BREAKPOINTS = []  # noqa: RUF012  as Textual declares it
    """None: `Panes` sets what depends on the width."""

    def __init__(self, context: AreaContext) -> None:
        super().__init__(id="_default")
        self.AUTO_FOCUS = "Transcript" if context.read_only else "Composer"  # pyright: ignore[reportAttributeAccessIssue]  a class variable in Textual
        self.panes = Panes(context)
        self.workspace: Workspace | None = None
        """None until it is open."""
        self.workspace_opened = asyncio.Event()
        """Set once the workspace is open and its last session is shown."""
        self._now = context.now
        self._last_search = ""
        """What was searched for last."""
        self._laid_out_size: Size | None = None

    @property
    def _app(self) -> App[None]:
        return cast("App[None]", super().app)  # pyright: ignore[reportUnknownMemberType]  Textual types it App[Unknown]

    # --- layout --------------------------------------------------------------------------

    def set_focus(
        self,
        widget: Widget | None,
        scroll_visible: bool = True,
        from_app_focus: bool = False,
    ) -> None:
        """Move the focus. If the focused widget is hidden or removed, the focus moves within its
        area, or to the composer: without any focus, keys would be lost.
        """
        # While another window has the terminal's focus, no widget has it: then None is meant.
        if widget is None and self._app.app_focus:
            widget = self.panes.next_focus(self.focused)
        super().set_focus(widget, scroll_visible, from_app_focus)

    def on_resize(self, event: events.Resize) -> None:
        """Handle each size of the terminal once.

        Textual posts a size again after laying it out, possibly when the terminal already has
        another one.
        """
        size = self._app.size
        if event.size != size or size == self._laid_out_size:
            event.prevent_default()
            if size != self._laid_out_size:
                self.post_message(events.Resize(size, size))

    def _screen_resized(self, size: Size) -> None:
        """Show the areas that fit, then lay them out. Textual calls this below a dialog too, where
        nothing else lays them out.
        """
        is_new = size != self._laid_out_size
        if is_new:
            self._laid_out_size = size
            self.panes.fit(size.width)
        super()._screen_resized(size)
        if is_new and self.is_current:  # then everything visible has been drawn
            for widget in self._compositor.visible_widgets:
                if isinstance(widget, OnePassWidget):
                    widget.forgo_drawing()

    # --- the workspace -------------------------------------------------------------------

    async def opened_workspace(self) -> Workspace | None:
        """Wait until the workspace is open; return None if it was closed meanwhile."""
        await self.workspace_opened.wait()
        return self.workspace

    @property
    def is_workspace_open(self) -> bool:
        """True if the workspace is open and its last session is shown."""
        return self.workspace_opened.is_set()

    def handle(self, event: WorkspaceEvent) -> None:
        """Show an event of the workspace in the areas."""
        if self.workspace is not None:
            for area in self.panes.areas:
                area.handle(event)

    @property
    def undo_key(self) -> str:
        """What restores what was deleted, where the focus is."""
        takes_u = (self.panes.sessions.pane.rows, self.panes.chat.pane.transcript)
        return "u" if self._app.focused in takes_u else "/undo"

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Pass it on to the app: keys wait while a worker may open a dialog. It does not bubble."""
        self._app.post_message(event)

    # --- what areas ask for (see `AreaHost`) ---------------------------------------------

    async def switch_session(
        self, opens: Callable[[Workspace], Awaitable[object]], *, leaves: bool = True
    ) -> None:
        """Open another session: the draft stays with the old one, and that of the new one comes. If
        it `leaves` the active one, and that is a temporary session with messages, ask first.
        """
        if leaves and self.workspace is not None:
            from tui_chat.ui.dialogs.questions import confirm_leave

            if not await confirm_leave(self._app, self.workspace):
                return
        await self.panes.chat.drafts.switch_session(opens)

    # --- from a piece of the request to its origin, and back -----------------------------

    def on_inspector_origin_pointed(self, event: Inspector.OriginPointed) -> None:
        """Highlight the origin under the inspector's cursor."""
        is_focused = self.panes.inspector.has_focus_within
        for area in (self.panes.chat, self.panes.presets):
            area.highlight(event.origin, scroll=is_focused)

    async def on_inspector_origin_chosen(self, event: Inspector.OriginChosen) -> None:
        """Go to an origin."""
        for area in self.panes.areas:
            if await area.reveal(event.origin):
                return
        self.notify("This is part of the protocol.")

    async def on_inspector_mark_wanted(self, event: Inspector.MarkWanted) -> None:
        """Change the cache mark of an origin."""
        await self.panes.presets.toggle_cache_mark(event.origin)

    @on(messages.CursorMoved)
    def _cursor_moved(self, event: messages.CursorMoved) -> None:
        origin = Origin(OriginKind.HISTORY, event.entry_id)
        self.panes.inspector.highlight(origin, scroll=False)

    def on_preset_pane_origin_lit(self, event: PresetPane.OriginLit) -> None:
        """Highlight what became of a preset message."""
        self.panes.inspector.highlight(event.origin, scroll=True)

    def on_preset_pane_places_requested(self, event: PresetPane.PlacesRequested) -> None:
        """Go to the places of a preset message in the live request."""
        self.panes.inspector.reveal_in_live(event.origin)

    async def on_preset_pane_editor_left(self) -> None:
        """Return to the composer."""
        await self.panes.chat.action_back()

    @on(messages.RevealMessageRequested)
    def _reveal_message(self, event: messages.RevealMessageRequested) -> None:
        self.panes.inspector.reveal_in_live(Origin(OriginKind.HISTORY, event.entry_id))

    @on(messages.InspectRequested)
    def _inspect(self, event: messages.InspectRequested) -> None:
        self.panes.inspector.show_message_request(event.entry_id)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """End the highlights when the inspector is left; in the composer, it follows the draft."""
        if self.panes.inspector.has_focus_within:
            return
        self.panes.chat.highlight(None, scroll=False)
        # The focus may have moved on meanwhile.
        if event.widget is self.panes.chat.pane.composer is self.focused:
            self.panes.inspector.highlight(None, scroll=True)

    def on_screen_suspend(self) -> None:
        """End the highlights below a dialog."""
        self.panes.chat.highlight(None, scroll=False)

    @work(group="dialog", exclusive=True)
    async def action_usage(self) -> None:
        """Show what replies cost."""
        from tui_chat.ui.dialogs.usage import UsageDialog

        if (workspace := await self.opened_workspace()) is not None:
            try:
                report = await workspace.usage.report()
            except TuiChatError as error:
                show_error(self, error)
            else:
                await self._app.push_screen_wait(UsageDialog(report))

    # --- searching -----------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_search(self, words: str = "") -> None:
        """Search all conversations, and go to what was found."""
        from tui_chat.ui.areas.search.area import search

        if (workspace := await self.opened_workspace()) is not None:
            typed = words or self._last_search
            self._last_search = await search(self, self._app, workspace, self._now(), typed)
