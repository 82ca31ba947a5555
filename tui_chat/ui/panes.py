"""The three panes side by side, as many as fit.

1. From `WIDE` columns: sessions | chat | inspector, less those that were closed.
2. From `MEDIUM`: the chat and one of the other two, the one that was asked for last.
3. Below: the chat alone; what is asked for lies over it, and the inspector leaves the
   composer in sight, so that one can watch the request while typing.
4. The inspector's place is there from the first frame; the inspector comes with the first
   request it can show, so that one can type the sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from tui_chat.ui.chat import ChatPane
from tui_chat.ui.sidebar import SessionList

if TYPE_CHECKING:
    from tui_chat.ui.inspector import Inspector

MEDIUM, WIDE = 96, 132
"""Columns from which two, and three, panes stand side by side."""

SidePane = Literal["sessions", "inspector"]


class Panes(Horizontal):
    """Sessions, chat and inspector."""

    SCOPED_CSS = False  # the classes of the breakpoints are the screen's

    DEFAULT_CSS = """
    Panes {
        height: 1fr;
        #sessions { width: 30; }
        #chat { width: 1fr; min-width: 40; }
        #inspector { width: 42%; min-width: 48; background: $background; }
        Inspector { width: 1fr; height: 1fr; }
    }
    .-medium Panes #inspector { width: 50%; }
    .-narrow Panes { layers: base above; }
    .-narrow Panes #sessions { layer: above; dock: left; width: 36; max-width: 100%; }
    .-narrow Panes #inspector {
        layer: above;
        dock: top;
        width: 100%;
        height: 100%;
        margin-bottom: 6;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.sessions = SessionList(id="sessions")
        self.chat = ChatPane(id="chat")
        self.inspector: Inspector | None = None
        """None until it is first needed."""
        self._place = Vertical(id="inspector")
        self._put_away: set[SidePane] = set()
        """Panes that the user does not want to see."""
        self._asked_for: SidePane | None = None
        """The pane that was asked for where not all fit."""

    def compose(self) -> ComposeResult:
        """Put the three beside each other."""
        yield self.sessions
        yield self.chat
        yield self._place

    async def add_inspector(self) -> Inspector:
        """Put the inspector into its place."""
        from tui_chat.ui.inspector import Inspector

        self.inspector = Inspector()
        await self._place.mount(self.inspector)
        return self.inspector

    def on_resize(self, event: events.Resize) -> None:
        """Show the panes that fit."""
        self._arrange(event.size.width)

    def _arrange(self, width: int) -> None:
        everything: set[SidePane] = {"sessions", "inspector"}
        if width >= WIDE:
            visible = everything - self._put_away
        elif self._asked_for is not None:
            visible = {self._asked_for}
        else:
            visible = {"sessions"} - self._put_away if width >= MEDIUM else set[SidePane]()
        self.sessions.display = "sessions" in visible
        self._place.display = "inspector" in visible

    def go(self, name: SidePane) -> None:
        """Show a pane and go there; from there, close it and go back to the composer."""
        pane: Widget = self.sessions if name == "sessions" else self.inspector or self._place
        if pane.has_focus_within:
            self._put_away.add(name)
            self.close_overlay()
            self.chat.focus()
            return
        self.open(name)
        self.call_after_refresh(pane.focus)

    def open(self, name: SidePane) -> None:
        """Show a pane, wherever it fits."""
        self._put_away.discard(name)
        self._asked_for = name
        self._arrange(self.size.width)

    def close_overlay(self) -> None:
        """Give the chat its place back from the pane that was asked for."""
        self._asked_for = None
        self._arrange(self.size.width)

    @property
    def covers_chat(self) -> bool:
        """Whether a pane that was asked for lies over the chat."""
        return self.is_narrow and self._asked_for is not None

    @property
    def is_narrow(self) -> bool:
        """Whether only one pane fits."""
        return self.size.width < MEDIUM
