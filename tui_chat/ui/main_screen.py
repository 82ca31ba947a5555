"""The main screen: the panes side by side, as many as fit.

1. From `WIDE` columns: sessions | chat | preset editor over inspector, less those that the user
   closed. The preset editor is added when it is first opened.
2. From `MEDIUM` columns: the chat and the pane that was opened last; the inspector stays below the
   preset editor if both have enough lines.
3. Below: the chat alone; an opened pane lies over it. The inspector leaves the composer visible, so
   that the user can watch the request while typing. No pane lies over the focus: it is hidden when
   the focus moves elsewhere, and shown again when there is room beside the chat. A pane that has
   the focus is visible at any width.
4. The inspector's slot exists from the first frame. The inspector itself is added with the first
   request it can show: that way the composer takes keys sooner.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Literal, cast

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.signal import Signal
from textual.widget import Widget

from tui_chat.ui.chat import ChatPane
from tui_chat.ui.sidebar import SessionList
from tui_chat.ui.widgets.one_pass import OnePassContainer, OnePassWidget

if TYPE_CHECKING:
    from tui_chat.ui.inspector import Inspector
    from tui_chat.ui.presets import PresetPane

MEDIUM, WIDE = 96, 132
"""Columns from which two, and three, panes are side by side."""

MIN_LINES_BELOW = 6
"""Lines at least below the inspector where it lies over the chat."""

TALL = 28
"""Lines from which the preset editor fits above the inspector."""

SidePane = Literal["sessions", "presets", "inspector"]


class MainScreen(Screen[None], OnePassContainer):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    """The screen with the panes; it arranges them before it is laid out at another width."""

    HORIZONTAL_BREAKPOINTS = []  # noqa: RUF012  as Textual declares it
    """None: `Panes` sets what depends on the width."""

    def __init__(self, panes: Panes) -> None:
        super().__init__(id="_default")
        self._panes = panes
        self._laid_out_size: Size | None = None

    def set_focus(
        self,
        widget: Widget | None,
        scroll_visible: bool = True,
        from_app_focus: bool = False,
    ) -> None:
        """Move the focus. If the focused widget is hidden or removed, the focus moves within its
        pane, or to the composer: without any focus, keys would be lost.
        """
        # While another window has the terminal's focus, no widget has it: then None is meant.
        if widget is None and cast("App[object]", super().app).app_focus:  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
            widget = self._panes.next_focus(self.focused)
        super().set_focus(widget, scroll_visible, from_app_focus)

    def on_resize(self, event: events.Resize) -> None:
        """Handle each size of the terminal once.

        Textual posts a size again after laying it out, possibly when the terminal already has
        another one.
        """
        size = cast("App[object]", super().app).size  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
        if event.size != size or size == self._laid_out_size:
            event.prevent_default()
            if size != self._laid_out_size:
                self.post_message(events.Resize(size, size))

    def _screen_resized(self, size: Size) -> None:
        """Show the panes that fit, then lay them out. Textual calls this below a dialog too, where
        nothing else lays them out.
        """
        is_new = size != self._laid_out_size
        if is_new:
            self._laid_out_size = size
            self._panes.fit(size.width)
        super()._screen_resized(size)
        if is_new and self.is_current:  # then everything visible has been drawn
            for widget in self._compositor.visible_widgets:
                if isinstance(widget, OnePassWidget):
                    widget.forgo_drawing()


class PaneSlot(Vertical, OnePassWidget):
    """The place of one pane, which may be added later."""


class PaneStack(Vertical, OnePassContainer):
    """Panes one above the other."""


class Panes(Horizontal, OnePassContainer):
    """Sessions, chat, preset editor and inspector."""

    DEFAULT_CSS = """
    Panes {
        height: 1fr;
        layers: base above;
        #sessions { max-width: 100%; }
        #chat { width: 1fr; min-width: 40; layer: base; }
        #right { min-width: 48; background: $background; }
        #presets, #inspector { width: 1fr; height: 1fr; }
        Inspector, PresetPane { width: 1fr; height: 1fr; }
    }
    Panes #right.-both #presets { border-bottom: solid $foreground 20%; height: 1.3fr; }
    """

    class LayoutChanged(Message):
        """Panes were shown, hidden or resized."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions = SessionList(id="sessions")
        self.chat = ChatPane(id="chat")
        self.inspector: Inspector | None = None
        """None until it is first needed."""
        self.presets: PresetPane | None = None
        """None until it is first needed."""
        self._inspector_slot = PaneStack(id="inspector")
        self._presets_slot = PaneSlot(id="presets")
        self._right = PaneStack(self._presets_slot, self._inspector_slot, id="right")
        self._hidden_by_user: set[SidePane] = {"presets"}
        """Panes that the user closed."""
        self._requested: SidePane | None = None
        """The pane that was opened last where not all fit."""
        self._is_behind = False
        """True if that pane is hidden because the focus moved elsewhere."""
        self._is_opening = False
        """True until that pane is shown and may take the focus."""
        self._covers_transcript = False
        """True if the inspector lies over the transcript, above the composer."""

    def compose(self) -> ComposeResult:
        """Lay out the panes from left to right."""
        yield self.sessions
        yield self.chat
        yield self._right

    async def add_inspector(self) -> Inspector:
        """Add the inspector."""
        from tui_chat.ui.inspector import Inspector

        self.inspector = Inspector()
        await self._inspector_slot.mount(self.inspector)
        return self.inspector

    async def add_presets(self) -> PresetPane:
        """Add the preset editor."""
        from tui_chat.ui.presets import PresetPane

        self.presets = PresetPane()
        await self._presets_slot.mount(self.presets)
        return self.presets

    def fit(self, width: int) -> None:
        """Show the panes that fit a width in columns, and place them, before they are laid out.

        It sets styles, not classes: with classes, Textual would restyle everything in the panes.
        """
        if self.is_attached:
            self._keep_focus_visible(width)
        narrow, left, right = width < MEDIUM, self.sessions.styles, self._right.styles
        left.layer = right.layer = "above" if narrow else "base"
        left.dock, right.dock = ("left", "top") if narrow else ("none", "none")
        left.width = 36 if narrow else 30
        right.width = "100%" if narrow else "50%" if width < WIDE else "42%"
        right.height = "100%" if narrow else "1fr"  # of all there is, less its margin
        self._show_fitting(width)
        for pane in (self.sessions, self._right, self._presets_slot, self._inspector_slot):
            pane.forgo_layout()

    def on_mount(self) -> None:
        """Follow the height of what is below the transcript."""
        layout_changes = cast("Signal[Screen[object]]", self.screen.screen_layout_refresh_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        layout_changes.subscribe(self, lambda _: self._update_margin(), immediate=True)

    def _update_margin(self) -> None:
        """Keep the composer and its suggestions visible below the inspector."""
        chat = self.chat
        below = chat.region.bottom - chat.transcript.region.bottom
        margin = (0, 0, max(below, MIN_LINES_BELOW) if self._covers_transcript else 0, 0)
        if self._right.styles.margin != margin:
            self._right.styles.margin = margin

    def on_resize(self) -> None:
        """Post that sizes changed."""
        self.post_message(self.LayoutChanged())

    def _rearrange(self) -> None:
        self._show_fitting(self.size.width)
        self.call_after_refresh(self.post_message, self.LayoutChanged())

    def _visible(self, width: int) -> Set[SidePane]:
        names: Set[SidePane] = frozenset(("sessions", "presets", "inspector"))
        wanted = names - self._hidden_by_user
        requested = None if width < MEDIUM and self._is_behind else self._requested
        if width >= WIDE:
            return wanted
        if requested is None:
            return wanted & {"sessions"} if width >= MEDIUM else frozenset[SidePane]()
        both = requested == "presets" and width >= MEDIUM and self.size.height >= TALL
        return frozenset((requested,)) | (wanted & {"inspector"} if both else frozenset[SidePane]())

    def _show_fitting(self, width: int) -> None:
        visible = self._visible(width)
        self.sessions.display = "sessions" in visible
        self._presets_slot.display = "presets" in visible
        self._inspector_slot.display = "inspector" in visible
        self._right.display = bool(visible & {"presets", "inspector"})
        self._right.set_class({"presets", "inspector"} <= visible, "-both")
        self._covers_transcript = width < MEDIUM and "inspector" in visible
        self._update_margin()
        # Keys must not reach what is covered.
        over = visible & {"presets", "inspector"} if width < MEDIUM else set[SidePane]()
        self.chat.can_focus_children = "presets" not in over
        self.chat.transcript.can_focus = not over

    @property
    def columns_beside_chat(self) -> int:
        """Width of what is at the right of the chat, in columns."""
        return 0 if self.is_narrow else max(self.size.width - self.chat.region.right, 0)

    def _keep_focus_visible(self, width: int) -> None:
        """Keep the focused pane visible at another width."""
        names: list[SidePane] = [
            name for name, pane in self._side_panes.items() if pane.has_focus_within
        ]
        if width >= MEDIUM:
            self._is_behind = False
        elif not names and not self._is_opening:
            self._is_behind = self._is_behind or self._covers_focus
        if names and names[0] not in self._visible(width):
            self._requested, self._is_behind = names[0], False

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Hide the pane that lies over the new focus; the chat closes its find bar if left."""
        self.chat.focus_moved(event.widget)
        if self.covers_chat and not self._is_opening and self._covers_focus:
            self._is_behind = True
            self._rearrange()

    def next_focus(self, focused: Widget | None) -> Widget | None:
        """Return what gets the focus when `focused` loses it; None if no widget can."""
        candidates = [each for each in self.screen.focus_chain if each is not focused]
        around = focused.ancestors if focused is not None else []
        preferred: list[Widget] = [self.chat.composer]
        if self.inspector is not None and self.inspector in around:
            preferred.insert(0, self.inspector.view_now)
        elif self.presets is not None and self.presets in around:
            preferred.insert(0, self.presets.rows)
        elif self.sessions in around:
            preferred.insert(0, self.sessions.rows)
        return next((each for each in (*preferred, *candidates) if each in candidates), None)

    @property
    def _covers_focus(self) -> bool:
        """True if the opened pane would lie over the focus."""
        focused = self.screen.focused
        if self._requested is None or focused is None:
            return False
        is_beside = self._requested == "inspector" and focused is self.chat.composer
        return not is_beside and not self._side_panes[self._requested].has_focus_within

    @property
    def _side_panes(self) -> Mapping[SidePane, Widget]:
        return {
            "sessions": self.sessions,
            "presets": self.presets or self._presets_slot,
            "inspector": self.inspector or self._inspector_slot,
        }

    def action_toggle_pane(self, name: SidePane) -> None:
        """Open a pane and focus it; if it has the focus, close it and focus the composer."""
        pane = self._side_panes[name]
        if pane.has_focus_within:
            self._hidden_by_user.add(name)
            self.close_overlay()
            self.chat.focus()
            return
        self.open(name)
        self.call_after_refresh(pane.focus)

    def open(self, name: SidePane) -> None:
        """Show a pane where it fits, and focus it if it covers the focus."""
        self._hidden_by_user.discard(name)
        self._requested, self._is_behind, self._is_opening = name, False, True
        self._rearrange()
        self.call_after_refresh(self._focus_if_covering)

    def _focus_if_covering(self) -> None:
        self._is_opening = False
        if self._requested is not None and self.covers_chat and self._covers_focus:
            self._side_panes[self._requested].focus()

    def reveal(self, pane: Widget) -> None:
        """Make a pane, or the transcript, visible."""
        if pane is self.sessions:
            self.open("sessions")
        elif pane is self.presets:
            self.open("presets")
        elif pane is self.inspector:
            self.open("inspector")
        elif pane is self.chat.transcript and self.covers_chat:
            self.close_overlay()

    def close_overlay(self) -> None:
        """Hide the pane that was opened over the chat."""
        self._requested = None
        self._rearrange()

    @property
    def covers_chat(self) -> bool:
        """True if an opened pane lies over the chat."""
        return self.is_narrow and self._requested is not None and not self._is_behind

    @property
    def is_narrow(self) -> bool:
        """True if only one pane fits."""
        return self.size.width < MEDIUM
