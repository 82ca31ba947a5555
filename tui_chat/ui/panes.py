"""The areas side by side, as many as fit.

1. From `WIDE` columns: sessions | chat | preset editor over inspector, those that are open. Without
   `TALL` rows, of the two at the right the one that was opened last.
2. From `MEDIUM` columns: the chat and the column that was opened last.
3. Below: the chat; a pane that is opened has the place of the conversation, above the composer.
4. A zoomed area has the whole screen, until another one gets the focus.

Only keys, the mouse and the size of the terminal change what is shown. Which panes are open and how
wide they are is remembered between starts, in a file. Messages that lead from one area to another,
such as to the origin of a piece, are handled here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.widget import Widget

from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.chat.chat_pane import ChatPane
from tui_chat.ui.chat.conversation import Conversation
from tui_chat.ui.inspector.area import InspectorArea
from tui_chat.ui.pane_layout import SIDE_AREAS, PaneLayout, SideArea, read_layout, write_layout
from tui_chat.ui.presets.area import PresetsArea
from tui_chat.ui.sessions.pane import SessionsPane
from tui_chat.ui.widgets.after_refresh import call_after_refresh
from tui_chat.ui.widgets.pane_divider import PaneDivider
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.ui.area import Area, AreaContext
    from tui_chat.ui.chat.composer import Composer
    from tui_chat.ui.inspector.pane import Inspector
    from tui_chat.ui.presets.pane import PresetPane
    from tui_chat.ui.verbs import Place

MEDIUM, WIDE = 96, 132
"""Columns from which two, and three, panes are side by side."""
TALL = 30
"""Rows from which the preset editor fits above the inspector."""
SESSIONS, RIGHT = 29, 57
"""Columns of the session list and of what is at the right, unless the user chose others."""
MIN_SESSIONS, MIN_CHAT, MIN_RIGHT = 16, 40, 30
"""Columns that a pane keeps when a border is moved or the terminal is small."""


class AreaStack(Vertical):
    """Areas one above the other."""


class Panes(Horizontal):
    """Arranges sessions, chat, preset editor and inspector."""

    DEFAULT_CSS = """
    Panes {
        height: 1fr;
        #sessions, #right { background: $surface; }
        #chat { width: 1fr; }
        #presets, #inspector { width: 1fr; height: 1fr; }
        #right.-both #inspector { border-top: solid $foreground 15%; }
    }
    /* One pane is lit: the one that has the focus. */
    TitleLine.-lit, SessionTitle.-lit, PresetTitle.-lit, Switches.-lit {
        color: $foreground;
        background: $primary 12%;
    }
    """

    def __init__(self, context: AreaContext) -> None:
        super().__init__()
        self.sessions = SessionsPane(context)
        self.chat = ChatPane(context)
        self.presets = PresetsArea(context)
        self.inspector = InspectorArea(context)
        self._right = AreaStack(self.presets, self.inspector, id="right")
        self._left_divider, self._right_divider = PaneDivider("▕"), PaneDivider("▏")
        self._layout_file = context.config.data_dir / "layout.json"
        self._is_kept = not context.read_only
        self._layout = (
            read_layout(self._layout_file) if self._is_kept else PaneLayout().with_sessions()
        )
        """The user's choice."""
        self._over: SideArea | None = None
        """The pane that has the conversation's place in a narrow terminal."""
        self._terminal = Size(0, 0)
        """The size for which the panes are arranged."""
        self.zoomed: Area | None = None
        """The area that has the whole screen; None for none."""

    def compose(self) -> ComposeResult:
        yield self.sessions
        yield self._left_divider
        yield self.chat
        yield self._right_divider
        yield self._right

    @property
    def areas(self) -> tuple[Area, ...]:
        """All areas."""
        return self.chat, self.sessions, self.presets, self.inspector

    @property
    def _side_areas(self) -> Mapping[SideArea, Area]:
        return {"sessions": self.sessions, "presets": self.presets, "inspector": self.inspector}

    # --- what is shown ---------------------------------------------------------------------

    def begin(self, *, has_sessions: bool) -> None:
        """Open the session list at the first start that has a session."""
        if has_sessions and self._layout.is_first:
            self._layout = self._layout.with_sessions()
            self._rearrange()

    def fit(self, terminal: Size) -> None:
        """Show the panes that fit a terminal, and place them, before they are laid out. What has
        the focus stays visible.
        """
        was_narrow, self._terminal = self.is_narrow, terminal
        focused = self._focused_name
        if self.is_narrow:
            self._over = self._over if was_narrow else focused
        elif focused is not None and focused not in self._visible:
            self._layout = self._layout.opening(focused)
        self._arrange()

    @property
    def is_narrow(self) -> bool:
        """True if only one pane fits."""
        return self._terminal.width < MEDIUM

    @property
    def _focused_name(self) -> SideArea | None:
        """The name of the pane beside the chat that has the focus."""
        return next((name for name in SIDE_AREAS if self._side_areas[name].has_focus_within), None)

    @property
    def _visible(self) -> Set[SideArea]:
        """The panes beside the chat that are shown."""
        areas, opened = self._side_areas, self._layout.opened
        if self.zoomed is not None:
            return {name for name in SIDE_AREAS if areas[name] is self.zoomed}
        if self.is_narrow:
            return {self._over} if self._over else set()
        sessions = opened[:0] if "sessions" not in opened else SIDE_AREAS[:1]
        right = self._layout.closing("sessions").opened
        right = right if self._terminal.height >= TALL else right[-1:]
        if self._terminal.width >= WIDE:
            return {*sessions, *right}
        return {*right} if opened[-1:] != SIDE_AREAS[:1] else {*sessions}

    def _arrange(self) -> None:
        visible, is_single = self._visible, self.is_narrow or self.zoomed is not None
        for name, area in self._side_areas.items():
            area.display = name in visible
        if self.presets.display and self.presets.is_attached:
            self.presets.fill()
        self._right.display = bool(visible - {"sessions"})
        self._right.set_class({"presets", "inspector"} <= visible, "-both")
        self._left_divider.display = self.sessions.display and not is_single
        self._right_divider.display = self._right.display and not is_single
        is_covered = self.is_narrow and bool(visible) and self.zoomed is None
        self.chat.display = self.zoomed in (None, self.chat)
        self.chat.show_conversation(shown=not is_covered)
        self.chat.styles.dock = "bottom" if is_covered else "none"
        self.chat.styles.height = "auto" if is_covered else "1fr"
        if is_single:
            self.sessions.styles.width = self._right.styles.width = "1fr"
        else:
            self._set_widths(self._layout)

    def _set_widths(self, layout: PaneLayout) -> None:
        """Set the widths of the panes beside each other; the chat gets the rest."""
        width = self._terminal.width
        usual = RIGHT if width >= WIDE else width // 2 - 1
        room = width - MIN_CHAT - 2
        left = min(layout.left or SESSIONS, room - MIN_RIGHT * self._right.display)
        self.sessions.styles.width = left
        self._right.styles.width = min(
            layout.right or usual, room + 1 - (left + 1) * self.sessions.display
        )

    def _rearrange(self) -> None:
        if self._is_kept:
            write_layout(self._layout_file, self._layout)
        self._arrange()

    # --- borders ---------------------------------------------------------------------------

    @on(PaneDivider.Dragged)
    def _dragged(self, event: PaneDivider.Dragged) -> None:
        self._move_border(event.divider, event.column)

    def _move_border(self, divider: PaneDivider, column: int) -> None:
        """Move a border to a column of the screen, as far as the panes beside it allow."""
        region = self.region
        if divider is self._left_divider:
            right = self._right.region.width + 1 if self._right.display else 0
            most = region.width - right - MIN_CHAT - 1
            left = max(min(column - region.x, most), MIN_SESSIONS)
            self._layout = replace(self._layout, left=left)
        else:
            left = self.sessions.region.width + 1 if self.sessions.display else 0
            most = region.width - left - MIN_CHAT - 1
            right = max(min(region.right - column - 1, most), MIN_RIGHT)
            self._layout = replace(self._layout, right=right)
        self._arrange()

    @on(PaneDivider.Released)
    def _released(self, event: PaneDivider.Released) -> None:
        if event.is_reset:
            side = "left" if event.divider is self._left_divider else "right"
            self._layout = replace(self._layout, **{side: None})
        self._rearrange()

    def action_move_border(self, columns: int) -> None:
        """Move the focused pane's border (the chat's to the inspector) right; negative: left."""
        is_left = self.sessions.has_focus_within or not self._right_divider.display
        divider = self._left_divider if is_left else self._right_divider
        if divider.display:
            self._move_border(divider, divider.region.x + columns)
            self._rearrange()

    # --- the focus -------------------------------------------------------------------------

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show what has the focus; the chat closes its find bar if left. The highlights end when
        the inspector is left; in the composer, it follows the draft.
        """
        self.chat.focus_moved(event.widget)
        self._light_focused_area()
        if self.zoomed is not None and not self.zoomed.has_focus_within:
            self.zoom(None)
        focused = self._focused_name
        if focused is not None and focused not in self._visible:
            self._open(focused)
        elif event.widget is self.chat.transcript:
            self.close_overlay()
        if self.inspector.has_focus_within:
            return
        self.chat.highlight(None, scroll=False)
        # The focus may have moved on meanwhile.
        if event.widget is self.chat.composer is self.screen.focused:
            self.inspector.highlight(None, scroll=True)

    def _light_focused_area(self) -> None:
        """Light the title of the area with the focus; the composer and a question have a border. It
        sets classes of single rows: a rule for `:focus-within` would restyle all in the panes.
        """
        for area in self.areas:
            if (row := area.title_row) is not None:
                reads = self.chat.transcript.has_focus if area is self.chat else True
                row.set_class(area.has_focus_within and reads, "-lit")

    # --- what is pasted outside of a field --------------------------------------------------

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the composer what no field took."""
        if (composer := self._reach_composer()) is not None:
            event.stop()
            composer.insert_text(event.text)

    def _reach_composer(self) -> Composer | None:
        """Focus the composer at once, for the next key; None if nothing can be sent from here."""
        composer = self.chat.composer
        if composer.disabled:
            return None
        if self.zoomed not in (None, self.chat):
            self.zoom(None)
        self.screen.set_focus(composer)
        return composer

    def next_focus(self, focused: Widget | None) -> Widget | None:
        """Return what gets the focus when `focused` loses it; None if no widget can."""
        candidates = [widget for widget in self.screen.focus_chain if widget is not focused]
        around = focused.ancestors if focused is not None else []
        preferred: list[Widget] = [self.chat.composer]
        if self.inspector.pane is not None and self.inspector in around:
            preferred.insert(0, self.inspector.pane.views.current)
        elif self.presets.pane is not None and self.presets in around:
            pane = self.presets.pane
            preferred[:0] = pane.rows, pane.form.name_field
        elif self.sessions in around:
            preferred.insert(0, self.sessions.rows)
        return next((widget for widget in (*preferred, *candidates) if widget in candidates), None)

    def action_toggle_area(self, name: SideArea) -> None:
        """Open an area and focus it; if it has the focus, close it."""
        self.toggle_area(self._side_areas[name])

    def action_zoom(self) -> None:
        """Give the area with the focus the whole screen, or restore the others."""
        focused = next((area for area in self.areas if area.has_focus_within), self.chat)
        if self.zoomed is not None:
            self.zoom(None)
        elif focused is not self.chat or self._visible:
            self.zoom(focused)

    def zoom(self, area: Area | None) -> None:
        """Give an area the whole screen; None restores the others."""
        self.zoomed = area
        self._arrange()
        self.refresh_bindings()  # the footer names the way back

    # --- from a piece of the request to its origin, and back -----------------------------

    def on_inspector_origin_pointed(self, event: Inspector.OriginPointed) -> None:
        """Highlight the place while the inspector has the focus or the mouse."""
        is_focused, hovered = self.inspector.has_focus_within, app_of(self).mouse_over
        is_pointed = is_focused or (hovered is not None and self.inspector in hovered.ancestors)
        for area in (self.chat, self.presets):
            area.highlight(event.origin if is_pointed else None, scroll=is_focused)

    async def action_reveal_origin(self, origin: Origin) -> None:
        """Go to where a piece of the request came from."""
        for area in self.areas:
            if await area.reveal(origin):
                return
        self.notify("This is part of the protocol.")

    @on(Conversation.CursorMoved)
    def _cursor_moved(self, event: Conversation.CursorMoved) -> None:
        origin = Origin(OriginKind.HISTORY, event.entry_id)
        self.inspector.highlight(origin, scroll=False)

    def on_preset_pane_origin_highlighted(self, event: PresetPane.OriginHighlighted) -> None:
        self.inspector.highlight(event.origin, scroll=True)

    # --- what areas ask for ------------------------------------------------------------------

    def toggle_area(self, area: Area) -> None:
        """Open an area and focus it; if it has the focus, close it and focus the composer."""
        if not area.has_focus_within:
            self.show_area(area)
            self.call_after_refresh(area.focus)
            return
        self.zoomed = None
        if not self.close_overlay():
            self._layout = self._layout.closing(cast("SideArea", area.id))
            self._rearrange()
        self.chat.focus()

    def show_area(self, area: Area) -> None:
        """Make an area visible."""
        self.zoomed = self.zoomed if self.zoomed is area else None
        self._open(cast("SideArea", area.id))

    def _open(self, name: SideArea) -> None:
        if self.is_narrow:
            self._over = name
        else:
            self._layout = self._layout.opening(name)
        self._rearrange()

    @property
    def place(self) -> Place:
        """The place in the table of verbs whose keys work where the focus is."""
        places: dict[Area, Place] = {
            self.sessions: "sessions",
            self.presets: "preset",
            self.inspector: "inspector",
        }
        for area, place in places.items():
            if area.has_focus_within:
                return place
        return "conversation" if self.chat.transcript.has_focus else ""

    async def reveal(self, area: Area) -> None:
        """Show an area and focus it, unless it has the focus."""
        if not area.has_focus_within:
            self.show_area(area)
            shown = asyncio.Event()
            call_after_refresh(self, shown.set)
            await shown.wait()
            area.focus()

    def close_overlay(self) -> bool:
        """Show the conversation if a pane has its place; return False if none has."""
        if not self.is_narrow or self._over is None:
            return False
        self._over = None
        self._arrange()
        return True

    def show_conversation(self, *, focus_composer: bool = True) -> None:
        """Show the conversation if a pane has its place, and focus the composer or it."""
        self.close_overlay()
        (self.chat if focus_composer else self.chat.transcript).focus()

    def show_message(self, message_id: str, words: tuple[str, ...] = ()) -> None:
        """Go to a message of the active branch and mark words in it, if it is there."""
        self.close_overlay()
        if self.chat.show_message(message_id, words):
            self.chat.transcript.focus()

    def show_status(self, text: str) -> None:
        """Show what is going on below the conversation; an empty text ends it."""
        self.chat.activity.show_status(text)
