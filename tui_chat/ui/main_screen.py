"""The main screen: the areas and the line of keys. It keeps the open workspace for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from textual import events, work
from textual.app import App
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from tui_chat.ui.panes import Panes
from tui_chat.ui.questions import ask

if TYPE_CHECKING:
    from tui_chat.ui.area import AreaContext
    from tui_chat.workspace.workspace import Workspace


class MainScreen(Screen[None]):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
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
        self._has_been_shown = False

    @property
    def _app(self) -> App[None]:
        return cast("App[None]", super().app)  # pyright: ignore[reportUnknownMemberType]  Textual types it App[Unknown]

    @property
    def is_current(self) -> bool:
        """True if some of it can be seen. Textual draws whatever is below the top screen, also
        where that covers it, and has the top screen draw all of itself again each time.
        """
        top = self._app.screen
        return super().is_current and (top is self or top.styles.background.a < 1)

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

    def focus_previous(self, selector: str | type[Widget] = "*") -> Widget | None:
        """Move the focus; from the composer to the conversation, also if a pane has its place."""
        if self.focused is self.panes.chat.composer:
            self.panes.close_overlay()
        return super().focus_previous(selector)

    def _screen_resized(self, size: Size) -> None:
        """Show the areas that fit, and lay them out. Below a dialog nothing else does."""
        self.panes.fit(size)
        super()._screen_resized(size)
        if not self.is_current:  # the dialog above was drawn on the old picture of it
            self._app.screen.refresh()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Apply no styles a second time at the start: mounting the widgets has just done so."""
        event.refresh_styles &= self._has_been_shown
        self._has_been_shown = True

    def on_screen_suspend(self) -> None:
        self.panes.chat.highlight(None, scroll=False)

    def action_copy_text(self) -> None:
        """Copy what the mouse selected, and say so."""
        super().action_copy_text()
        count = len(self.get_selected_text() or "")
        self.notify(f"Copied the selection: {count:,} character{'s' * (count != 1)}.")

    # --- the workspace -------------------------------------------------------------------

    async def opened_workspace(self) -> Workspace:
        """Return the workspace once it is open and shown; after its end, this waits for ever."""
        await self.workspace_opened.wait()
        assert self.workspace is not None
        return self.workspace

    @property
    def is_workspace_open(self) -> bool:
        """True from when the workspace is open and its last session is shown until it is closed."""
        return self.workspace_opened.is_set()

    @property
    def undo_key(self) -> str:
        """The key or command that undoes what an event says, where the focus is."""
        takes_u = (self.panes.sessions.rows, self.panes.chat.transcript)
        u = self._app.screen.active_bindings.get("u")
        is_undo = u is not None and u.binding.action == "undo_change"  # as the tree has it
        return "u" if is_undo or self._app.focused in takes_u else "/undo"

    async def switch_session(
        self, opens: Callable[[Workspace], Awaitable[object]], *, leaves: bool = True
    ) -> None:
        """Open another session: the draft stays with the old one, and that of the new one comes. If
        it `leaves` the active one, and that is a temporary session with messages, ask first.
        """
        workspace = self.workspace or await self.opened_workspace()
        if leaves and not await confirm_leave(self._app, workspace):
            return
        await self.panes.chat.drafts.switch_session(opens)

    @work(group="dialog", exclusive=True)
    async def action_usage(self) -> None:
        """Show what replies cost."""
        from tui_chat.ui.dialogs.usage import show_usage

        await show_usage(self._app, await self.opened_workspace())


async def confirm_leave(app: App[Any], workspace: Workspace) -> bool:
    """Ask whether to keep a temporary session that is about to end, and keep it; return False to
    stay in it. True at once for another session, or one without messages.
    """
    state = workspace.state
    if not (state.is_temporary and state.entries):
        return True
    count = len(state.entries)
    messages = f"{count:,} message{'s' * (count != 1)}"
    choices = [
        ("stay", "Stay in it"),
        ("keep", "Keep it", "it is stored like any other session"),
        ("drop", "Discard it", f"{messages}, which cannot be restored"),
    ]
    chosen = await ask(app, "Leave temporary session?", choices, "stay")
    return chosen == "drop" or (chosen == "keep" and await workspace.sessions.keep())
