"""The inspector: the exact request, live, before it is sent.

This module is what keys and clicks do; what the inspector shows is in `frame`. What concerns the
session runs actions of the areas.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.text import GLUE, Origin
from tui_chat.ui.areas.inspector.drawn_row import CursorTarget
from tui_chat.ui.areas.inspector.find_line import FindLine
from tui_chat.ui.areas.inspector.frame import InspectorFrame
from tui_chat.ui.areas.inspector.notes_list import SYMBOLS, NotesList
from tui_chat.ui.areas.inspector.origins import Legend, placement_rule
from tui_chat.ui.areas.inspector.payload_view import PayloadView
from tui_chat.ui.areas.inspector.row_wrapping import size_in_words
from tui_chat.ui.areas.inspector.summary import ForecastLine
from tui_chat.ui.areas.inspector.tabs import ProtocolTabs, ViewTabs
from tui_chat.ui.areas.inspector.view import FindRequested, reveal_origin, views
from tui_chat.ui.areas.inspector.views.rows_view import RowsView

_CLIPBOARD_LIMIT = 100_000
"""Bytes above which some terminals ignore a copy to the clipboard."""


class Inspector(InspectorFrame):
    """The frame with keys and clicks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"protocol('{protocol}')", protocol.label, show=False)
            for number, protocol in enumerate(Protocol, 1)
        ),
        *(
            Binding(view.key, f"view('{view.name}')", view.label, show=False)
            for view in views().values()
        ),
        Binding("left_square_bracket", "step_view(-1)", "Previous view", show=False),
        Binding("right_square_bracket", "step_view(1)", "Next view", show=False),
        Binding("o", "notes", "Notes", show=False),
        Binding("w", "source", "To where it came from", show=False),
        Binding("a", "inspector.compare", "Compare with", show=False),
        Binding("s", "inspector.choose_kind", "Request of another action", show=False),
        Binding("m", "inspector.toggle_cache_mark", "Cache mark", show=False),
        Binding("Y", "copy('http')", "Copy as HTTP", show=False),
        Binding("escape", "live", "Back to live", show=False),
    ]

    @dataclass
    class OriginPointed(Message):
        """The origin under the cursor changed; None for none."""

        origin: Origin | None

    def on_descendant_focus(self) -> None:
        """Post the origin under the cursor, although the cursor did not move."""
        under = self._status.under
        self.post_message(self.OriginPointed(under.origin if under is not None else None))

    def on_view_tabs_view_chosen(self, event: ViewTabs.ViewChosen) -> None:
        event.stop()
        self._show_view(event.view)

    def action_view(self, name: str) -> None:
        self._show_view(name)

    def action_step_view(self, step: int) -> None:
        """Show the next view, round the end."""
        order = self._view_tabs.views
        self._show_view(order[(order.index(self.view_shown) + step) % len(order)])

    def _show_view(self, view: str) -> None:
        """Show a view. The cursor stays on the same origin, if both views have places."""
        before = self.view_now
        self.view_shown = view
        now = self.view_now
        if now is not before and before.has_places and now.has_places:
            origin = before.origin_at_cursor
            if origin is None or not self.is_left_out(origin):
                now.show_place(origin)

    async def action_source(self) -> None:
        if self._notes.has_focus_within:
            origin = note.origin if (note := self._notes.current) is not None else None
            await reveal_origin(self, origin or GLUE)
        else:
            await self.view_now.action_open()

    @property
    def origin_under_cursor(self) -> Origin | None:
        """The origin of what the cursor or the mouse is on."""
        return self._status.under.origin if self._status.under is not None else None

    async def action_live(self) -> None:
        """Close the line to find words, else go back to the live request; if that is shown, leave
        Esc to the app.
        """
        if self._find is not None:
            self.close_find()
            return
        if not self.is_banner_up:
            raise SkipAction
        await self.run_action("inspector.return_to_live")

    def action_copy(self, form: str) -> None:
        from tui_chat.analysis.http_text import as_curl, as_http

        if self.composed is not None:
            text = as_curl(self.composed) if form == "curl" else as_http(self.composed)
            self.app.copy_to_clipboard(text)  # pyright: ignore[reportUnknownMemberType]  # Textual's App is generic
            self._notify_copied("the request as curl" if form == "curl" else "the request", text)

    async def on_click(self, event: events.Click) -> None:
        if event.widget is self._banner:
            await self.run_action("inspector.return_to_live")

    def on_rows_view_row_highlighted(self, event: RowsView.RowHighlighted) -> None:
        event.stop()
        row = event.row
        origin = row.origin if row is not None else None
        self._status.under = None if origin is None else CursorTarget(origin, origin, "", 0)
        self._status.rule = row.hint if row is not None else ""
        self.post_message(self.OriginPointed(origin))

    async def on_rows_view_row_selected(self, event: RowsView.RowSelected) -> None:
        event.stop()
        if event.row.action:
            await self.run_action(event.row.action)
        elif event.row.origin is not None:
            await reveal_origin(self, event.row.origin)

    def on_forecast_line_pressed(self, event: ForecastLine.Pressed) -> None:
        event.stop()
        forecast = self._forecast.forecast
        if forecast is not None and forecast.at.origin is not None:
            self.reveal(forecast.at.origin)

    async def on_protocol_tabs_chosen(self, event: ProtocolTabs.Chosen) -> None:
        event.stop()
        await self.run_action(f"inspector.show_in_protocol('{event.protocol}')")

    def action_protocol(self, name: str) -> None:
        self._tabs.choose(Protocol(name))

    def action_notes(self) -> None:
        """Open or close the notes, if there are any."""
        if not self._notes.toggle():
            self.notify("There are no notes: nothing is changed or left out.")

    def on_payload_view_laid_out(self, event: PayloadView.LaidOut) -> None:
        """Show the size, which is known now."""
        event.stop()
        self._show_size()

    def on_payload_view_target_changed(self, event: PayloadView.TargetChanged) -> None:
        event.stop()
        under = event.under
        self._status.under = under
        note, composed = self._view.note_here, self.composed
        sentences = [f"{SYMBOLS[note.level]} {note.sentence}"] if note is not None else []
        if under is not None and composed is not None:
            turns, tree = composed.envelope.turns, composed.payload.tree
            sentences.append(placement_rule(under, turns, tree, composed.protocol))
        self._status.rule = " ".join(sentences)
        self._status.places = ""
        self._legend.current = under.origin.kind if under is not None else None
        self.post_message(self.OriginPointed(under.origin if under is not None else None))

    def on_payload_view_copied(self, event: PayloadView.Copied) -> None:
        event.stop()
        self._notify_copied("the body", event.text)

    def _notify_copied(self, what: str, text: str) -> None:
        size = len(text.encode())
        sentence = f"Copied {what}: {size_in_words(size)}."
        if size > _CLIPBOARD_LIMIT:
            sentence += " Some terminals refuse so much."
        self.notify(sentence, severity="warning" if size > _CLIPBOARD_LIMIT else "information")

    async def on_inspector_find_requested(self, event: FindRequested) -> None:
        event.stop()
        await self._open_find()

    async def _open_find(self) -> None:
        find = self._find
        if find is None:
            find = self._find = FindLine()
            await self.mount(find, after=self._body)
        if self._find is find:  # the next key can close it
            find.ask()

    def on_find_line_typed(self, event: FindLine.Typed) -> None:
        event.stop()
        count = self._searched_view.find(event.words)
        if self._find is not None and self.view_now is not self._view:
            self._find.show_count(min(count, 1), count)

    def on_find_line_stepped(self, event: FindLine.Stepped) -> None:
        event.stop()
        self._searched_view.action_hit(event.step)

    def on_find_line_find_closed(self, event: FindLine.FindClosed) -> None:
        """Go back to the body; hits stay highlighted if they are kept."""
        event.stop()
        self._searched_view.focus()
        if not event.kept:
            self.close_find()

    def on_payload_view_marked(self, event: PayloadView.Marked) -> None:
        event.stop()
        if self._find is not None and self._find.is_mounted and self.view_now is self._view:
            self._find.show_count(event.number, event.count)
        elif event.count:
            self._status.places = f"place {event.number:,} of {event.count:,} · n N"

    def on_legend_picked(self, event: Legend.Picked) -> None:
        event.stop()
        self._view.jump(event.kind)

    def on_notes_list_note_selected(self, event: NotesList.NoteSelected) -> None:
        event.stop()
        origin = event.note.origin
        if origin is None or not self.reveal(origin):
            self.notify("This note has no position in the body. Press w to go to its source.")
        self.view_now.focus()
