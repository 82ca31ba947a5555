"""The areas side by side, as many as fit.

1. From `WIDE` columns: sessions | chat | preset editor over inspector, less those that the user
   closed. The preset editor is added when it is first opened.
2. From `MEDIUM` columns: the chat and the pane that was opened last; the inspector stays below the
   preset editor if both have enough lines.
3. Below: the chat alone; an opened pane lies over it. The inspector leaves the composer visible, so
   that the user can watch the request while typing. No pane lies over the focus: it is hidden when
   the focus moves elsewhere, and shown again when there is room beside the chat. A pane that has
   the focus is visible at any width.
4. From when the preset editor gets the focus until the chat does, it has the chat's place, with the
   inspector beside it; below `MEDIUM` columns, F4 shows the one or the other.
5. A zoomed area has the whole screen, until another one gets the focus.

The mouse and keys move the borders between the panes. Which panes are open and how wide they are is
remembered between starts, in a file; where the terminal is too small for that, the chat keeps
`MIN_CHAT`. Messages that lead from one area to another, such as to the origin of a piece, are
handled here.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widget import Widget

from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.chat.chat_pane import ChatPane
from tui_chat.ui.chat.conversation import Conversation
from tui_chat.ui.inspector.area import InspectorArea
from tui_chat.ui.pane_keys import PaneKeys
from tui_chat.ui.pane_layout import PaneLayout, SideArea, read_layout, write_layout
from tui_chat.ui.presets.area import PresetsArea
from tui_chat.ui.sessions.pane import SessionsPane
from tui_chat.ui.widgets.pane_divider import PaneDivider
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from textual.signal import Signal

    from tui_chat.ui.area import Area, AreaContext
    from tui_chat.ui.chat.composer import Composer
    from tui_chat.ui.inspector.pane import Inspector
    from tui_chat.ui.presets.pane import PresetPane

MEDIUM, WIDE = 96, 132
"""Columns from which two, and three, panes are side by side."""

MIN_LINES_BELOW = 3
"""Lines at least below the inspector where it lies over the chat."""

TALL = 28
"""Lines from which the preset editor fits above the inspector."""

SESSIONS = 30
"""Columns of the session list, unless the user chose others."""
CHAT = 80
"""Columns that the chat keeps beside the inspector at its default width, where they fit."""
MIN_SESSIONS, MIN_CHAT, MIN_RIGHT = 16, 40, 30
"""Columns that a pane keeps when a border is moved or the terminal is small."""
DEFAULT_RIGHT = 48
"""Columns at least at the right of the chat, unless the user chose fewer."""


class AreaStack(Vertical):
    """Areas one above the other."""


class Panes(Horizontal):
    """Arranges sessions, chat, preset editor and inspector."""

    DEFAULT_CSS = """
    Panes {
        height: 1fr;
        layers: base above;
        #sessions { max-width: 100%; border-right: solid $foreground 20%; }
        #chat { width: 1fr; min-width: 40; layer: base; }
        #right { background: $background; }
        PaneDivider { layer: base; }
        #presets, #inspector { width: 1fr; height: 1fr; }
    }
    /* One pane is lit: the one that has the focus. */
    TitleLine.-lit, SessionTitle.-lit, PresetTitle.-lit, Switches.-lit {
        color: $text-primary;
        background: $primary 15%;
    }
    TitleLine.-temporary.-lit { background: $warning 20%; }
    Panes #right.-beside #inspector { border-left: solid $foreground 20%; }
    Panes #right.-both #presets { border-bottom: solid $foreground 20%; height: 1.3fr; }
    """

    def __init__(self, context: AreaContext) -> None:
        super().__init__()
        self.sessions = SessionsPane(context)
        self.chat = ChatPane(context)
        self.presets = PresetsArea(context)
        self.inspector = InspectorArea(context)
        self._right = AreaStack(self.presets, self.inspector, id="right")
        self._left_divider, self._right_divider = PaneDivider(), PaneDivider()
        self._layout_file = context.config.data_dir / "layout.json"
        self._is_kept = not context.read_only
        self._layout = read_layout(self._layout_file) if self._is_kept else PaneLayout()
        """The user's choice."""
        self._is_behind = False
        """True if that pane is hidden because the focus moved elsewhere."""
        self.keys = PaneKeys()
        """The keys of the area with the focus, below the areas."""
        self._is_opening = False
        """True until that pane is shown and may take the focus."""
        self._is_editing = False
        """True from when the preset editor gets the focus until the chat does."""
        self._covers_transcript = False
        """True if the inspector lies over the transcript, above the composer."""
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

    def fit(self, width: int) -> None:
        """Show the panes that fit a width in columns, and place them, before they are laid out.

        It sets styles, not classes: with classes, Textual would restyle everything in the panes.
        """
        if self.is_attached:
            self._keep_focus_visible(width)
        elif width < MEDIUM:
            self._layout = replace(self._layout, requested=None)  # it would cover the chat
        self._show_fitting(width)

    def on_mount(self) -> None:
        layout_changes = cast("Signal[Screen[object]]", self.screen.screen_layout_refresh_signal)  # pyright: ignore[reportUnknownMemberType]  Textual says Screen[Any]
        layout_changes.subscribe(self, lambda _: self._update_margin(), immediate=True)

    def _update_margin(self) -> None:
        """Keep the composer and its suggestions visible below the inspector."""
        below = self.chat.region.bottom - self.chat.transcript.region.bottom
        margin = (0, 0, max(below, MIN_LINES_BELOW) if self._covers_transcript else 0, 0)
        if self._right.styles.margin != margin:
            self._right.styles.margin = margin

    def _rearrange(self) -> None:
        if self._is_kept:
            write_layout(self._layout_file, self._layout)
        self._show_fitting(self.size.width)

    def _is_single(self, width: int) -> bool:
        """Return True if one pane lies over the others, if there is another than the chat."""
        return width < MEDIUM or self.zoomed is not None

    def _visible(self, width: int) -> Set[SideArea]:
        if self.zoomed is not None:
            return frozenset(name for name, area in self._side_areas.items() if area is self.zoomed)
        names: Set[SideArea] = frozenset(("sessions", "presets", "inspector"))
        opened = names - self._layout.closed
        requested = None if width < MEDIUM and self._is_behind else self._layout.requested
        if width >= WIDE:
            return opened
        if requested is None:
            return opened & {"sessions"} if width >= MEDIUM else frozenset[SideArea]()
        has_room = self._is_editing or self.size.height >= TALL
        both = requested == "presets" and width >= MEDIUM and has_room
        return frozenset((requested,)) | (opened & {"inspector"} if both else frozenset[SideArea]())

    def _show_fitting(self, width: int) -> None:
        visible = self._visible(width)
        self.sessions.display = "sessions" in visible
        self.presets.display = "presets" in visible
        if self.presets.display and self.presets.is_attached:
            self.presets.fill()
        self.inspector.display = "inspector" in visible
        self._right.display = bool(visible & {"presets", "inspector"})
        both, covers = {"presets", "inspector"} <= visible, self._covers_chat_with_editor(width)
        is_single, styles, left = self._is_single(width), self._right.styles, self.sessions.styles
        left.layer, left.dock = ("above", "left") if is_single else ("base", "none")
        styles.layer = "above" if is_single or covers else "base"
        styles.dock = "top" if is_single else "right" if covers else "none"
        styles.height = "100%" if is_single else "1fr"  # of all there is, less its margin
        styles.layout = "horizontal" if covers else "vertical"
        self._set_widths(width, visible)
        lies_over = is_single and self.zoomed is None
        left.border_right = None if lies_over else ("none", "transparent")  # None: as in the CSS
        self._right.set_class(both and not covers, "-both")
        self._right.set_class(both and covers, "-beside")
        covers_all = self._is_editing or self.zoomed is not None
        self._covers_transcript = width < MEDIUM and "inspector" in visible and not covers_all
        self._update_margin()
        # Keys must not reach what is covered.
        over = visible & {"presets", "inspector"} if width < MEDIUM else set[SideArea]()
        self.chat.can_focus_children = "presets" not in over
        self.chat.transcript.can_focus = not over

    def _covers_chat_with_editor(self, width: int) -> bool:
        """True if the preset editor has the chat's place, beside the inspector."""
        return self._is_editing and self.presets.display and not self._is_single(width)

    # --- widths ----------------------------------------------------------------------------

    def _set_widths(self, width: int, visible: Set[SideArea]) -> None:
        """Set the widths of the panes in a terminal of this width; the chat gets the rest."""
        is_single, has_left = self._is_single(width), "sessions" in visible
        has_right = self._right.display
        self._left_divider.display = has_left and not is_single
        covers = self._covers_chat_with_editor(width)
        self._right_divider.display = has_right and not is_single and not covers
        if is_single:
            self.sessions.styles.width = 36 if self.zoomed is None else "100%"
            self._right.styles.width = "100%"
            self.chat.styles.width = self.inspector.styles.width = "1fr"
            return
        layout = self._layout
        room = width - MIN_CHAT - (MIN_RIGHT + 1 if has_right else 0)
        left = min(layout.left or SESSIONS, room - 1)
        room = width - (left + 1 if has_left else 0) - 1
        usual = (
            width // 2 if width < WIDE else min(max(room - CHAT, DEFAULT_RIGHT), width * 42 // 100)
        )
        self.sessions.styles.width = left
        right = min(layout.right or usual, room - MIN_CHAT)
        self._right.styles.width = room + 1 if covers else right
        # The chat below the editor keeps its width, so that nothing in it is laid out again.
        self.chat.styles.width = room - right if covers else "1fr"
        self.inspector.styles.width = right + 1 if covers else "1fr"

    @on(PaneDivider.Dragged)
    def _dragged(self, event: PaneDivider.Dragged) -> None:
        self._move_border(event.divider, event.column)

    def _move_border(self, divider: PaneDivider, column: int) -> None:
        """Move a border to a column of the screen, as far as the panes beside it allow."""
        region = self.region
        if divider is self._left_divider:
            right = self._right.region.width + 1 if self._right.display else 0
            most = region.width - right - MIN_CHAT - 1
            self._layout = replace(
                self._layout, left=max(min(column - region.x, most), MIN_SESSIONS)
            )
        else:
            left = self.sessions.region.width + 1 if self.sessions.display else 0
            most = region.width - left - MIN_CHAT - 1
            columns = region.right - column - 1
            self._layout = replace(self._layout, right=max(min(columns, most), MIN_RIGHT))
        self._show_fitting(self.size.width)

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
        covers = self._covers_chat_with_editor(self.size.width)
        if covers and not self.sessions.has_focus_within and self.inspector.display:
            self._move_border(self._right_divider, self.inspector.region.x + columns)
            self._rearrange()
        elif divider.display:
            self._move_border(divider, divider.region.x + columns)
            self._rearrange()

    def action_reset_layout(self) -> None:
        """Show the panes that are open by default, at their default widths."""
        focused = self.screen.focused
        self._layout, self.zoomed = PaneLayout(), None
        self._rearrange()
        if focused is not None and not focused.display:
            self.chat.focus()

    def _keep_focus_visible(self, width: int) -> None:
        names: list[SideArea] = [
            name for name, pane in self._side_areas.items() if pane.has_focus_within
        ]
        if width >= MEDIUM:
            self._is_behind = False
        elif not names and not self._is_opening:
            self._is_behind = self._is_behind or self._covers_focus
        if names and names[0] not in self._visible(width):
            self._layout = replace(self._layout, requested=names[0])
            self._is_behind = False

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Hide the pane that lies over the new focus; the chat closes its find bar if left. The
        highlights end when the inspector is left; in the composer, it follows the draft.
        """
        self.chat.focus_moved(event.widget)
        self._light_focused_area()
        if self.zoomed is not None and not self.zoomed.has_focus_within:
            self.zoom(None)
        if self.covers_chat and not self._is_opening and self._covers_focus:
            self._is_behind = True
            self._rearrange()
        self._set_editing(
            self.presets.has_focus_within or (self._is_editing and not self.chat.has_focus_within)
        )
        if self.inspector.has_focus_within:
            return
        self.chat.highlight(None, scroll=False)
        # The focus may have moved on meanwhile.
        if event.widget is self.chat.composer is self.screen.focused:
            self.inspector.highlight(None, scroll=True)

    def _light_focused_area(self) -> None:
        """Light the title and the borders of the area with the focus, and no others. It sets
        classes of single rows: a rule for `:focus-within` would restyle all that is in the panes.
        """
        for area in self.areas:
            if (row := area.title_row) is not None:
                row.set_class(area.has_focus_within, "-lit")
        is_in_chat = self.chat.has_focus_within
        is_at_left = is_in_chat or self.sessions.has_focus_within
        self._left_divider.set_class(is_at_left, "-lit")
        self._right_divider.set_class(is_in_chat or not is_at_left, "-lit")

    # --- what is pasted outside of a field --------------------------------------------------

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the composer what no field took."""
        if (composer := self._reach_composer()) is not None:
            event.stop()
            composer.paste(event.text)

    def _reach_composer(self) -> Composer | None:
        """Focus the composer at once, for the next key; None if nothing can be sent from here."""
        composer = self.chat.composer
        if composer.disabled:
            return None
        if not composer.focusable:
            self._forget_requested()  # a pane lies over it
        self.screen.set_focus(composer)
        return composer

    def focus_composer(self) -> None:
        """Focus the composer, where one goes on after a choice."""
        self.chat.focus()

    def next_focus(self, focused: Widget | None) -> Widget | None:
        """Return what gets the focus when `focused` loses it; None if no widget can."""
        candidates = [widget for widget in self.screen.focus_chain if widget is not focused]
        around = focused.ancestors if focused is not None else []
        preferred: list[Widget] = [self.chat.composer]
        if self.inspector.pane is not None and self.inspector in around:
            preferred.insert(0, self.inspector.pane.views.current)
        elif self.presets.pane is not None and self.presets in around:
            preferred.insert(0, self.presets.pane.rows)
        elif self.sessions in around:
            preferred.insert(0, self.sessions.rows)
        return next((widget for widget in (*preferred, *candidates) if widget in candidates), None)

    @property
    def _covers_focus(self) -> bool:
        """True if the opened pane would lie over the focus."""
        focused, requested = self.screen.focused, self._layout.requested
        if requested is None or focused is None:
            return False
        is_beside = requested == "inspector" and focused is self.chat.composer
        return not is_beside and not self._side_areas[requested].has_focus_within

    @property
    def _side_areas(self) -> Mapping[SideArea, Area]:
        return {"sessions": self.sessions, "presets": self.presets, "inspector": self.inspector}

    def action_toggle_area(self, name: SideArea) -> None:
        """Open an area and focus it; if it has the focus, close it."""
        self.toggle_area(self._side_areas[name])

    def action_zoom(self) -> None:
        """Give the area with the focus the whole screen, or restore the others."""
        focused = next((area for area in self.areas if area.has_focus_within), self.chat)
        if self.zoomed is not None:
            self.zoom(None)
        elif focused is not self.chat or self._visible(self.size.width):
            self.zoom(focused)

    def zoom(self, area: Area | None) -> None:
        """Give an area the whole screen; None restores the others."""
        self.zoomed = area
        if area is None:
            self._keep_focus_visible(self.size.width)
        self._show_fitting(self.size.width)
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
        if area is self.inspector and area.has_focus_within and self._is_editing:
            self.show_area(self.presets)
            self.call_after_refresh(self.presets.focus)
            return
        if area.has_focus_within:
            closed = self._layout.closed | {cast("SideArea", area.id)}
            self.zoomed = None
            self._layout = replace(self._layout, closed=closed, requested=None)
            self._is_editing = False
            self._rearrange()
            self.chat.focus()
            return
        self.show_area(area)
        self.call_after_refresh(area.focus)

    def show_area(self, area: Area) -> None:
        """Make an area visible where it fits, and focus it if it covers the focus."""
        name = cast("SideArea", area.id)
        closed = self._layout.closed - {name}
        self._is_editing = area is self.presets or (self._is_editing and area is self.inspector)
        is_beside = self._is_editing and self.size.width >= MEDIUM
        self._layout = replace(
            self._layout, closed=closed, requested="presets" if is_beside else name
        )
        self._is_behind, self._is_opening = False, True
        self.zoomed = self.zoomed if self.zoomed is area else None
        self._rearrange()
        self.call_after_refresh(self._focus_if_covering)

    def _set_editing(self, is_editing: bool) -> None:
        """Give the preset editor the chat's place, or give it back."""
        if is_editing is not self._is_editing:
            self._is_editing = is_editing
            self._show_fitting(self.size.width)

    def _focus_if_covering(self) -> None:
        self._is_opening = False
        requested = self._layout.requested
        if requested is not None and self.covers_chat and self._covers_focus:
            self._side_areas[requested].focus()

    def reveal(self, pane: Widget) -> None:
        """Make an area's pane, or the transcript, visible."""
        for area in self._side_areas.values():
            if area in pane.ancestors_with_self:
                self.show_area(area)
        if pane is self.chat.transcript:
            self.close_overlay()

    def close_overlay(self) -> bool:
        """Hide an area that covers the conversation; return False if none does."""
        covers = self.covers_chat
        self._set_editing(False)
        if covers:
            self._forget_requested()
        return covers

    def _forget_requested(self) -> None:
        self._layout = replace(self._layout, requested=None)
        self._rearrange()

    def show_conversation(self, *, focus_composer: bool = True) -> None:
        """Hide an area that covers the conversation, and focus the composer or the transcript."""
        if self.is_narrow:
            self._forget_requested()
        (self.chat if focus_composer else self.chat.transcript).focus()

    def show_message(self, message_id: str, words: tuple[str, ...] = ()) -> None:
        """Go to a message of the active branch and mark words in it, if it is there."""
        if self.is_narrow:
            self._forget_requested()
        if self.chat.show_message(message_id, words):
            self.chat.transcript.focus()

    def show_request_of(self, message_id: str) -> None:
        """Show the request that produced a reply."""
        self.inspector.show_message_request(message_id)

    def show_in_live_request(self, origin: Origin) -> None:
        """Show where what came from an origin is in the live request."""
        self.inspector.reveal_in_live(origin)

    def show_status(self, text: str) -> None:
        """Show what is going on below the conversation; an empty text ends it."""
        self.chat.activity.show_status(text)

    def repost_cursor(self) -> None:
        """Highlight the message under the transcript's cursor in the request again."""
        self.chat.transcript.repost_cursor()

    @property
    def covers_chat(self) -> bool:
        """True if an opened pane lies over the chat."""
        return self.is_narrow and self._layout.requested is not None and not self._is_behind

    @property
    def is_narrow(self) -> bool:
        """True if only one pane fits."""
        return self.size.width < MEDIUM
