"""The reason this program exists: the exact request, live, before it is sent.

Here is what keys and clicks do in it; what it shows is in `frame`. It decides nothing about the
session: what is asked of others goes up as messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message

from tui_chat.models.endpoint import Protocol
from tui_chat.models.text import GLUE, Origin
from tui_chat.ui.inspector.drawn_row import CursorTarget
from tui_chat.ui.inspector.find_line import FindLine
from tui_chat.ui.inspector.forecast_line import ForecastLine
from tui_chat.ui.inspector.frame import InspectorFrame
from tui_chat.ui.inspector.legend import Legend
from tui_chat.ui.inspector.notes_list import SYMBOLS, NotesList
from tui_chat.ui.inspector.origin_status import rule_of
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.tabs import KEYS, ProtocolTabs
from tui_chat.ui.inspector.text_fitting import size_in_words
from tui_chat.ui.inspector.views import (
    ContextView,
    RowsView,
    View,
    ViewTabs,
)
from tui_chat.ui.inspector.views import diff as diffs
from tui_chat.ui.inspector.views import request as requests

if TYPE_CHECKING:
    pass

_PLENTY = 100_000
"""Bytes above which some terminals ignore what is put on the clipboard."""


class Inspector(InspectorFrame):
    """The frame, with hands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"protocol('{protocol}')", protocol.label, show=False)
            for number, protocol in enumerate(Protocol, 1)
        ),
        *(Binding(key, f"view('{view}')", view.title(), show=False) for view, key in KEYS.items()),
        Binding("left_square_bracket", "step_view(-1)", "Previous view", show=False),
        Binding("right_square_bracket", "step_view(1)", "Next view", show=False),
        Binding("o", "notes", "Notes", show=False),
        Binding("w", "source", "To where it came from", show=False),
        Binding("a", "against", "Compare with", show=False),
        Binding("m", "mark", "Cache mark", show=False),
        Binding("Y", "copy('http')", "Copy as HTTP", show=False),
        Binding("escape", "live", "Back to live", show=False),
    ]

    class ProtocolChosen(Message):
        """The user wants to see the request in another protocol; the session stays as it is."""

        def __init__(self, protocol: Protocol) -> None:
            super().__init__()
            self.protocol = protocol

    class OriginChosen(Message):
        """The user wants to see where a piece of the body came from."""

        def __init__(self, origin: Origin, start: int | None) -> None:
            super().__init__()
            self.origin = origin
            self.start = start
            """Offset in the origin's own text, where the characters are quoted from there."""

    class OriginPointed(Message):
        """The cursor is on something that came from elsewhere now; None for nothing."""

        def __init__(self, origin: Origin | None) -> None:
            super().__init__()
            self.origin = origin

    class MarkWanted(Message):
        """The user wants a cache mark at what the cursor is on: another one, or none."""

    class AgainstWanted(Message):
        """The user wants to compare with something else."""

    class LiveWanted(Message):
        """The user wants to see the request again that Enter would send."""

    def on_descendant_focus(self) -> None:
        """Light up where what the cursor is on came from, though it stands where it stood."""
        under = self._status.under
        self.post_message(self.OriginPointed(under.origin if under is not None else None))

    def on_view_tabs_chosen(self, event: ViewTabs.Chosen) -> None:
        """Show it."""
        event.stop()
        self._show_view(event.view)

    def action_view(self, name: str) -> None:
        """Show a view by its key."""
        self._show_view(View(name))

    def action_step_view(self, step: int) -> None:
        """Show the neighbour, round the end."""
        order = list(View)
        self._show_view(order[(order.index(self.view_shown) + step) % len(order)])

    def _show_view(self, view: View) -> None:
        """Show a view. Between context and payload, the cursor stays on the same source."""
        before = self.view_now
        self.view_shown = view
        now = self.view_now
        if isinstance(before, ContextView) and isinstance(now, PayloadView):
            origin = before.origin_near_cursor
            if origin is None:
                now.action_follow()
            elif not self.is_left_out(origin):
                now.point(origin)
        elif isinstance(before, PayloadView) and isinstance(now, ContextView):
            origin = before.origin_at_cursor
            if origin is not None:
                now.reveal(origin)

    def action_source(self) -> None:
        """Go to where what the cursor is on came from."""
        view = self.view_now
        if self._notes.has_focus_within:
            origin = note.origin if (note := self._notes.current) is not None else None
        elif isinstance(view, PayloadView):
            view.action_open()
            return
        else:
            row = view.row_here
            origin = row.origin if row is not None else None
        self.post_message(self.OriginChosen(origin or GLUE, None))

    def action_against(self) -> None:
        """Compare with something else."""
        self.view_shown = View.DIFF
        self.post_message(self.AgainstWanted())

    def action_mark(self) -> None:
        """Ask for a cache mark where the cursor is."""
        self.post_message(self.MarkWanted())

    def action_live(self) -> None:
        """Go back to the request that Enter would send; where it is shown, leave the pane."""
        if not self.is_banner_up:
            raise SkipAction
        self.post_message(self.LiveWanted())

    def action_copy(self, form: str) -> None:
        """Put the request on the clipboard, as curl or as HTTP."""
        from tui_chat.request_text import as_curl, as_http

        if self.composed is not None:
            text = as_curl(self.composed) if form == "curl" else as_http(self.composed)
            self.app.copy_to_clipboard(text)  # pyright: ignore[reportUnknownMemberType]  # Textual's App is generic
            self._tell_copied("the request as curl" if form == "curl" else "the request", text)

    def on_click(self, event: events.Click) -> None:
        """Go back to live by a click on the banner."""
        if event.widget is self._banner:
            self.post_message(self.LiveWanted())

    def on_rows_view_pointed(self, event: RowsView.Pointed) -> None:
        """Say in words what is under the cursor."""
        event.stop()
        row = event.row
        origin = row.origin if row is not None else None
        self._status.under = None if origin is None else CursorTarget(origin, origin, "", 0)
        self._status.rule = row.says if row is not None else ""
        self.post_message(self.OriginPointed(origin))

    def on_rows_view_chosen(self, event: RowsView.Chosen) -> None:
        """Do what the row offers."""
        event.stop()
        match event.row.does:
            case diffs.CHOOSE:
                self.post_message(self.AgainstWanted())
            case requests.COPY_CURL:
                self.action_copy("curl")
            case requests.COPY_HTTP:
                self.action_copy("http")
            case _ if event.row.origin is not None:
                self.post_message(self.OriginChosen(event.row.origin, None))
            case _:
                pass

    def on_forecast_line_pressed(self, event: ForecastLine.Pressed) -> None:
        """Go to the first difference."""
        event.stop()
        forecast = self._forecast.forecast
        if forecast is not None and forecast.at.origin is not None:
            self.reveal(forecast.at.origin)

    def on_protocol_tabs_chosen(self, event: ProtocolTabs.Chosen) -> None:
        """Pass the wish on."""
        event.stop()
        self.post_message(self.ProtocolChosen(event.protocol))

    def action_protocol(self, name: str) -> None:
        """Choose a protocol by its key."""
        self._tabs.choose(Protocol(name))

    def action_notes(self) -> None:
        """Open or close the notes, if there are any."""
        if not self._notes.toggle():
            self.notify("There are no notes: nothing is changed or left out.", timeout=4)

    def on_payload_view_laid_out(self, event: PayloadView.LaidOut) -> None:
        """Say what could not be said before."""
        event.stop()
        self._tell_sizes()

    def on_payload_view_pointed(self, event: PayloadView.Pointed) -> None:
        """Say in words what is under the cursor."""
        event.stop()
        under = event.under
        self._status.under = under
        note, composed = self._view.note_here, self.composed
        told = [f"{SYMBOLS[note.level]} {note.sentence}"] if note is not None else []
        if under is not None and composed is not None:
            turns, tree = composed.envelope.turns, composed.payload.tree
            told.append(rule_of(under, turns, tree, composed.protocol))
        self._status.rule = " ".join(told)
        self._status.places = ""
        self._legend.current = under.origin.kind if under is not None else None
        self.post_message(self.OriginPointed(under.origin if under is not None else None))

    def on_payload_view_origin_chosen(self, event: PayloadView.OriginChosen) -> None:
        """Pass the wish on."""
        event.stop()
        self.post_message(self.OriginChosen(event.origin, event.start))

    def on_payload_view_copied(self, event: PayloadView.Copied) -> None:
        """Tell that the body was copied."""
        event.stop()
        self._tell_copied("the body", event.text)

    def _tell_copied(self, what: str, text: str) -> None:
        size = len(text.encode())
        told = f"Copied {what}: {size_in_words(size)}."
        if size > _PLENTY:
            told += " Some terminals refuse so much."
        self.notify(told, severity="warning" if size > _PLENTY else "information")

    def on_payload_view_find_wanted(self, event: PayloadView.FindWanted) -> None:
        """Open the line in which one types what is to be found."""
        event.stop()
        if self._find is None:
            self._find = FindLine()
            self.mount(self._find, after=self._body)
        self.call_after_refresh(self._find.ask)

    def on_find_line_typed(self, event: FindLine.Typed) -> None:
        """Mark it."""
        event.stop()
        self._view.find(event.words)

    def on_find_line_stepped(self, event: FindLine.Stepped) -> None:
        """Go to another hit."""
        event.stop()
        self._view.action_hit(event.step)

    def on_find_line_closed(self, event: FindLine.Closed) -> None:
        """Go back to the body; what was found stays marked where it was kept."""
        event.stop()
        self._view.focus()
        if not event.kept:
            self._view.find("")
            if self._find is not None:
                self._find.remove()
                self._find = None

    def on_payload_view_marked(self, event: PayloadView.Marked) -> None:
        """Say on which of the marked places the cursor is."""
        event.stop()
        if self._find is not None and self._find.is_mounted:
            self._find.tell(event.number, event.count)
        elif event.count:
            self._status.places = f"place {event.number:,} of {event.count:,} · n N"

    def on_legend_picked(self, event: Legend.Picked) -> None:
        """Go to the next place of the kind."""
        event.stop()
        self._view.jump(event.kind)

    def on_notes_list_chosen(self, event: NotesList.Chosen) -> None:
        """Go to what the note is about."""
        event.stop()
        origin = event.note.origin
        if origin is None or not self.reveal(origin):
            self.notify("It has no place in the body; w goes to where it came from.", timeout=4)
        self.view_now.focus()
