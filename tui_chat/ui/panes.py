"""The panes side by side, as many as fit.

1. From `WIDE` columns: sessions | chat | preset editor over inspector, less those that were
   closed. The editor comes when it is first asked for.
2. From `MEDIUM`: the chat and one of the others, the one that was asked for last; the inspector
   stays below the preset editor where that leaves both enough lines.
3. Below: the chat alone; what is asked for lies over it, and the inspector leaves the
   composer in sight, so that one can watch the request while typing. Nothing lies over what
   has the focus: it steps back when the focus goes elsewhere, and comes where it came from
   when there is room beside the chat. A pane that has the focus is shown at any width.
4. The inspector's place is there from the first frame; the inspector comes with the first
   request it can show, so that one can type the sooner.
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
"""Columns from which two, and three, panes stand side by side."""

LEAST_BELOW = 6
"""Lines that the inspector leaves at least below itself, where it lies over the chat."""

TALL = 28
"""Lines from which the preset editor and the inspector stand over each other."""

SidePane = Literal["sessions", "presets", "inspector"]


class Desktop(Screen[None], OnePassContainer):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    """The screen with the panes, put in their places before it is laid out for another width."""

    HORIZONTAL_BREAKPOINTS = []  # noqa: RUF012  as Textual declares it
    """None: what changes with the width is the panes' own business."""

    def __init__(self, panes: Panes) -> None:
        super().__init__(id="_default")
        self._panes = panes
        self._laid_for: Size | None = None

    def set_focus(
        self,
        widget: Widget | None,
        scroll_visible: bool = True,
        from_app_focus: bool = False,
    ) -> None:
        """Move the focus. A widget that is hidden or removed hands it on within its pane, or to
        the composer: without any focus, keys would be lost.
        """
        # While another window has the terminal's focus, Textual takes it from the widget.
        if widget is None and cast("App[object]", super().app).app_focus:  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
            widget = self._panes.heir_of(self.focused)
        super().set_focus(widget, scroll_visible, from_app_focus)

    def on_resize(self, event: events.Resize) -> None:
        """Take each size of the terminal once.

        The layout of a size tells that size once more, maybe when the terminal has another one.
        """
        size = cast("App[object]", super().app).size  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
        if event.size != size or size == self._laid_for:
            event.prevent_default()
            if size != self._laid_for:
                self.post_message(events.Resize(size, size))

    def _screen_resized(self, size: Size) -> None:
        """Show the panes that fit, then lay them out; Textual calls it under a dialog, too, where
        it is the only time that they are.
        """
        is_other = size != self._laid_for
        if is_other:
            self._laid_for = size
            self._panes.fit(size.width)
        super()._screen_resized(size)
        if is_other and self.is_current:  # then all that is in sight has been drawn
            for widget in self._compositor.visible_widgets:
                if isinstance(widget, OnePassWidget):
                    widget.forgo_drawing()


class Holder(Vertical, OnePassWidget):
    """Where a pane is, or will be."""


class Stack(Vertical, OnePassContainer):
    """Panes over each other."""


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

    class Arranged(Message):
        """Panes came, went, or have another width."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions = SessionList(id="sessions")
        self.chat = ChatPane(id="chat")
        self.inspector: Inspector | None = None
        """None until it is first needed."""
        self.presets: PresetPane | None = None
        """None until it is first needed."""
        self._place = Stack(id="inspector")
        self._presets_place = Holder(id="presets")
        self._right = Stack(self._presets_place, self._place, id="right")
        self._put_away: set[SidePane] = {"presets"}
        """Panes that the user does not want to see."""
        self._asked_for: SidePane | None = None
        """The pane that was asked for where not all fit."""
        self._steps_back = False
        """Whether that pane lies over nothing now, for the focus went elsewhere."""
        self._is_coming = False
        """Whether that pane will have the focus as soon as it is shown."""
        self._watches = False
        """Whether the inspector lies over the conversation, above what is typed."""

    def compose(self) -> ComposeResult:
        """Put the three beside each other."""
        yield self.sessions
        yield self.chat
        yield self._right

    async def add_inspector(self) -> Inspector:
        """Put the inspector into its place."""
        from tui_chat.ui.inspector import Inspector

        self.inspector = Inspector()
        await self._place.mount(self.inspector)
        return self.inspector

    async def add_presets(self) -> PresetPane:
        """Put the preset editor into its place."""
        from tui_chat.ui.presets import PresetPane

        self.presets = PresetPane()
        await self._presets_place.mount(self.presets)
        return self.presets

    def fit(self, width: int) -> None:
        """Show the panes that fit so many columns, each where it belongs, before they are laid out.

        By styles of their own: with classes, everything in them would be styled again.
        """
        if self.is_attached:
            self._heed_focus(width)
        narrow, left, right = width < MEDIUM, self.sessions.styles, self._right.styles
        left.layer = right.layer = "above" if narrow else "base"
        left.dock, right.dock = ("left", "top") if narrow else ("none", "none")
        left.width = 36 if narrow else 30
        right.width = "100%" if narrow else "50%" if width < WIDE else "42%"
        right.height = "100%" if narrow else "1fr"  # of all there is, less its margin
        self._choose(width)
        for pane in (self.sessions, self._right, self._presets_place, self._place):
            pane.forgo_layout()

    def on_mount(self) -> None:
        """Look out for lines below the conversation that come and go."""
        relaid = cast("Signal[Screen[object]]", self.screen.screen_layout_refresh_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        relaid.subscribe(self, lambda _: self._leave_room(), immediate=True)

    def _leave_room(self) -> None:
        """Have the inspector end above what is typed, and what can be chosen there."""
        chat = self.chat
        below = chat.region.bottom - chat.transcript.region.bottom
        margin = (0, 0, max(below, LEAST_BELOW) if self._watches else 0, 0)
        if self._right.styles.margin != margin:
            self._right.styles.margin = margin

    def on_resize(self) -> None:
        """Tell where everything is now."""
        self.post_message(self.Arranged())

    def _arrange(self) -> None:
        self._choose(self.size.width)
        self.call_after_refresh(self.post_message, self.Arranged())

    def _visible(self, width: int) -> Set[SidePane]:
        kept: Set[SidePane] = frozenset(("sessions", "presets", "inspector")) - self._put_away
        asked = None if width < MEDIUM and self._steps_back else self._asked_for
        if width >= WIDE:
            return kept
        if asked is None:
            return kept & {"sessions"} if width >= MEDIUM else frozenset[SidePane]()
        both = asked == "presets" and width >= MEDIUM and self.size.height >= TALL
        return frozenset((asked,)) | (kept & {"inspector"} if both else frozenset[SidePane]())

    def _choose(self, width: int) -> None:
        visible = self._visible(width)
        self.sessions.display = "sessions" in visible
        self._presets_place.display = "presets" in visible
        self._place.display = "inspector" in visible
        self._right.display = bool(visible & {"presets", "inspector"})
        self._right.set_class({"presets", "inspector"} <= visible, "-both")
        self._watches = width < MEDIUM and "inspector" in visible
        self._leave_room()
        # Keys must not go to what lies below.
        over = visible & {"presets", "inspector"} if width < MEDIUM else set[SidePane]()
        self.chat.can_focus_children = "presets" not in over
        self.chat.transcript.can_focus = not over

    @property
    def right_of_chat(self) -> int:
        """Columns of what stands beside the chat at its right."""
        return 0 if self.is_narrow else max(self.size.width - self.chat.region.right, 0)

    def _heed_focus(self, width: int) -> None:
        """Keep what has the focus in sight at another width."""
        names: list[SidePane] = [
            name for name, pane in self._side_panes.items() if pane.has_focus_within
        ]
        if width >= MEDIUM:
            self._steps_back = False
        elif not names and not self._is_coming:
            self._steps_back = self._steps_back or self._is_over_focus
        if names and names[0] not in self._visible(width):
            self._asked_for, self._steps_back = names[0], False

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Take the pane away that lies over what has the focus now; end finding elsewhere."""
        self.chat.focus_moved(event.widget)
        if self.covers_chat and not self._is_coming and self._is_over_focus:
            self._steps_back = True
            self._arrange()

    def heir_of(self, focused: Widget | None) -> Widget | None:
        """Return what gets the focus when `focused` loses it; None where nothing can have it."""
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
    def _is_over_focus(self) -> bool:
        """Whether the pane that was asked for would lie over what has the focus."""
        focused = self.screen.focused
        if self._asked_for is None or focused is None:
            return False
        watches = self._asked_for == "inspector" and focused is self.chat.composer
        return not watches and not self._side_panes[self._asked_for].has_focus_within

    @property
    def _side_panes(self) -> Mapping[SidePane, Widget]:
        return {
            "sessions": self.sessions,
            "presets": self.presets or self._presets_place,
            "inspector": self.inspector or self._place,
        }

    def go(self, name: SidePane) -> None:
        """Show a pane and go there; from there, close it and go back to the composer."""
        pane = self._side_panes[name]
        if pane.has_focus_within:
            self._put_away.add(name)
            self.close_overlay()
            self.chat.focus()
            return
        self.open(name)
        self.call_after_refresh(pane.focus)

    def open(self, name: SidePane) -> None:
        """Show a pane, wherever it fits, and go there if it lies over where one is."""
        self._put_away.discard(name)
        self._asked_for, self._steps_back, self._is_coming = name, False, True
        self._arrange()
        self.call_after_refresh(self._arrive)

    def _arrive(self) -> None:
        self._is_coming = False
        if self._asked_for is not None and self.covers_chat and self._is_over_focus:
            self._side_panes[self._asked_for].focus()

    def bring(self, pane: Widget) -> None:
        """Have a pane in sight, or the conversation."""
        if pane is self.sessions:
            self.open("sessions")
        elif pane is self.presets:
            self.open("presets")
        elif pane is self.inspector:
            self.open("inspector")
        elif pane is self.chat.transcript and self.covers_chat:
            self.close_overlay()

    def close_overlay(self) -> None:
        """Give the chat its place back from the pane that was asked for."""
        self._asked_for = None
        self._arrange()

    @property
    def covers_chat(self) -> bool:
        """Whether a pane that was asked for lies over the chat."""
        return self.is_narrow and self._asked_for is not None and not self._steps_back

    @property
    def is_narrow(self) -> bool:
        """Whether only one pane fits."""
        return self.size.width < MEDIUM
