"""The inspector: the exact request, live, before it is sent.

1. Only the visible view is updated; the others catch up when they are chosen.
2. A banner says so if the request is not the live one that Enter would send, but one that was
   sent or pasted, or a what-if.
3. What concerns the session runs actions of the areas.
4. Five lines stand around the view: tabs, a rule with figures, protocols, the origin under the
   cursor, and notes with the forecast. The rest are details, which a key shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import GLUE, Origin
from tui_chat.ui.inspector.drawn_row import CursorTarget
from tui_chat.ui.inspector.http import SETTLED
from tui_chat.ui.inspector.notes_list import OF_EDITS, SYMBOLS, NotesHeader, NotesList
from tui_chat.ui.inspector.origins import Legend, OriginStatus, placement_rule
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.rows_view import RowsView
from tui_chat.ui.inspector.summary import ForecastLine, RequestSummary
from tui_chat.ui.inspector.tabs import ProtocolTabs, ViewTabs
from tui_chat.ui.inspector.unsent_origins import is_left_out
from tui_chat.ui.inspector.view_stack import ViewStack
from tui_chat.ui.inspector.views import (
    CONTEXT,
    PAYLOAD,
    Baseline,
    InspectorState,
    copy_curl,
    reveal_origin,
    views,
)
from tui_chat.ui.notifications import NoticeOutdated
from tui_chat.ui.widgets.find_bar import FindBar
from tui_chat.ui.widgets.pane_key import pane_key

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast
    from tui_chat.compose import Composed

_OF_REQUEST = ("protocol", "notes", "details", "source", "copy_curl", "find", "of_request")
"""Actions about the request."""
_MANY = 1_000
"""Turns from which encoding the body takes too long for a keystroke."""


class Inspector(Widget):
    """Tabs, summary, view, status, legend and notes of a request."""

    DEFAULT_CSS = """
    Inspector {
        layout: vertical;
        background: $background;
        color: $foreground;
        #inspector-banner {
            display: none;
            height: auto;
            max-height: 2;
            padding: 0 1;
            background: $warning-muted;
            color: $text-warning;
            &.-shown { display: block; }
        }
        & > .-away { display: none; }
        & > Legend, & > ForecastLine { display: none; }
        &.-details Legend { display: block; }
        &.-details ForecastLine.-forecast { display: block; }
        &.-empty OriginStatus, &.-empty Legend, &.-empty NotesList, &.-empty ForecastLine,
        Legend.-away { display: none; }
        &.-aside {
            #inspector-banner, ProtocolTabs, ForecastLine, NotesList, Legend { display: none; }
        }
        &.-low ViewTabs { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            pane_key(str(number), f"protocol('{protocol}')", "protocol", protocol.label, shown=True)
            for number, protocol in enumerate(Protocol, 1)
        ),
        *(
            pane_key(view.key, f"view('{view.name}')", "view", view.label)
            for view in views().values()
        ),
        pane_key("left_square_bracket", "step_view(-1)", "view", "Previous view", shown=True),
        pane_key("right_square_bracket", "step_view(1)", "view", "Next view", shown=True),
        pane_key("slash", "find", "find", "Find in the request", shown=True),
        pane_key("o", "notes", "notes", "Notes", shown=True),
        pane_key("i", "details", "details", "Details: figures, forecast, legend"),
        pane_key("w", "source", "where", "Go to the origin"),
        pane_key("a", "of_request('inspector.compare')", "compare", "Compare with"),
        pane_key("s", "of_request('inspector.choose_kind')", "kind", "Request of another action"),
        pane_key("Y", "copy_curl", "copy", "Copy as curl"),
        pane_key("escape", "live", "live", "Back to live"),
    ]

    @dataclass
    class OriginPointed(Message):
        """The origin under the cursor changed; None for none."""

        origin: Origin | None

    class ViewChanged(Message):
        """Another view is shown, and may need its data."""

    own_protocol: reactive[Protocol | None] = reactive[Protocol | None](None)
    """The protocol of the session's endpoint, which Enter sends; its tab has a dot."""
    active: reactive[Protocol] = reactive(Protocol.OPENAI_CHAT)
    """The protocol shown; set by `show`."""

    view_shown: reactive[str] = reactive(PAYLOAD)
    """The name of the view shown."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=f"-empty {classes or ''}")
        self._state = InspectorState()
        self._stale = True
        """True if the request of the state is not drawn yet."""
        self._height = 0
        self._tabs = ProtocolTabs()
        self._view_tabs = ViewTabs(self.action_view)
        self._banner = Static(id="inspector-banner")
        self._banner_words = ""
        self._size_timer: Timer | None = None
        """Runs while the size of a long body waits for a pause in typing."""
        self._summary = RequestSummary(lambda: self._view_tabs.active_span)
        self.views = ViewStack()
        self._find_bar: FindBar | None = None
        """Made when words are first searched for."""
        self._forecast = ForecastLine()
        self._status = OriginStatus()
        self._legend = Legend(self.views.payload.jump)
        self._notes = NotesList()

    def compose(self) -> ComposeResult:
        yield self._view_tabs
        yield self._summary
        yield self._tabs
        yield self._banner
        yield self.views
        yield self._forecast
        yield self._status
        yield self._legend
        yield self._notes

    def focus(self, scroll_visible: bool = True) -> Self:
        self.views.current.focus(scroll_visible)
        return self

    @property
    def is_banner_up(self) -> bool:
        """True if the request shown is not the live one."""
        return bool(self._banner_words)

    @property
    def composed(self) -> Composed | None:
        """The request shown; None for none yet."""
        return self._state.composed

    def shows(self, view: str) -> bool:
        """Return True if a view is visible."""
        return self.view_shown == view and self.is_attached and self.is_on_screen

    @property
    def view_beside_request(self) -> str:
        """The name on the screen of a view with the focus that does not show the request: only its
        own keys act there. Empty for other views.
        """
        view = self.views.current
        return "" if view.shows_request or not view.has_focus else views()[self.view_shown].label

    # What to show

    def show(self, composed: Composed | None) -> None:
        """Show a request. While the inspector is hidden this costs nothing."""
        self._state = replace(self._state, composed=composed, is_live=not self.is_banner_up)
        for widget in (self, self.views):
            widget.set_class(composed is None, "-empty")
        if composed is not None:
            self.active = composed.protocol
        self._stale = True
        inputs = composed.inputs if composed is not None else None
        self._mark("lorebooks", inputs is not None and bool(inputs.lorebooks))
        if self.is_on_screen:
            self._draw()

    def _mark(self, fact: str, is_there: bool) -> None:
        """Note whether there is something that a view needs to have a tab."""
        facts = self._view_tabs.facts
        if is_there != (fact in facts):
            self._view_tabs.facts = facts ^ {fact}
            self._summary.refresh()
            self.refresh_bindings()

    def change(self, **changes: Any) -> None:
        """Change fields of the `InspectorState` beside the request; the visible view draws those
        that it uses.
        """
        self._state = replace(self._state, **changes)
        view = self.views.current
        if not view.uses.isdisjoint(changes):
            view.show_state(self._state)

    def show_nothing(self, why: str) -> None:
        """Show in place of a request why there is none, as markup."""
        self.views.show_why_empty(why)
        self.show(None)

    def forget(self) -> None:
        """Drop the data of a conversation that was left.

        Visible data is replaced by the next request; hidden data would stay until its view is
        chosen.
        """
        self.close_find()
        self._state = replace(self._state, baseline=Baseline(), reply=None, loaded=None)
        self.views.forget()

    def mark_recorded(self, is_recorded: bool) -> None:
        """Note whether another program's calls were recorded in the session."""
        self._mark("recording", is_recorded)

    def show_forecast(self, forecast: Forecast | None) -> None:
        """Show a cache forecast."""
        self._forecast.forecast = self._notes.header.forecast = forecast

    def show_banner(self, words: str, *, is_past: bool = False) -> None:
        """Say what is shown if it is not the live request; empty for the live one.

        `is_past` is True for a request that was sent.
        """
        self._summary.own_words = "it was" if is_past else "Enter sends"
        if words != self._banner_words:  # an update asks for a layout
            self._banner_words = words
            self._banner.update(Content(sanitize(words, "exact")))
            self._banner.set_class(bool(words), "-shown")

    def reveal(self, origin: Origin) -> int:
        """Go to the text of an origin, highlight all its places, and return their number.

        Without any, show the context, at the line that says why.
        """
        if self.view_shown == CONTEXT:
            return int(self.views.current.reveal(origin))
        if self.composed is None or not is_left_out(self.composed, origin):
            self.view_shown = PAYLOAD
            if count := self.views.payload.reveal(origin):
                return count
        self.view_shown = CONTEXT
        self.views.current.reveal(origin)
        return 0

    def close_find(self) -> None:
        """Close the line to find words, and highlight them no longer."""
        if self._find_bar is not None:
            self._find_bar.close()
            self.views.end_find()

    def show_in_view(self, view: str, origin: Origin) -> None:
        """Show a view with the cursor on an origin."""
        self.view_shown = view
        self.views.current.reveal(origin)
        self.views.current.focus()

    # Updating

    def _draw(self) -> None:
        self._stale = False
        composed = self.composed
        if composed is None:
            self.views.payload.show(None)
            self._notes.show(())
            self._summary.show(None, None, None)
            return
        self.views.current.show_state(self._state)
        if self.view_shown == PAYLOAD:  # another request may have the same text at the same place
            self._show_rule(self.views.payload.under)
        recorded = composed.recorded
        is_exact = recorded is None or not (recorded.is_masked or recorded.missing)
        self._notes.show(composed.notes, is_exact=is_exact)
        self._show_size()

    def _show_size(self) -> None:
        """Show the body's size and kinds of origin, once they are known."""
        composed = self.composed
        if composed is None or not self.views.current.shows_request:
            self._summary.show(None, None, None)
            return
        layout = self.views.payload.layout_now
        if layout is not None and layout.payload is composed.payload:
            self._summary.show(composed, layout.payload.size, self.own_protocol)
            self._legend.kinds = layout.kinds()
        elif self.view_shown == PAYLOAD or len(composed.envelope.turns) > _MANY:
            self._summary.show(composed, None, self.own_protocol)
            if self._size_timer is not None:
                self._size_timer.stop()
            self._size_timer = self.set_timer(SETTLED, self._show_encoded_size)
        else:
            self._show_encoded_size()

    def _show_encoded_size(self) -> None:
        """Show the size of a body that is not laid out, for a long one when typing has paused."""
        composed = self.composed
        is_figured = self.view_shown != PAYLOAD and self.views.current.shows_request
        if composed is not None and is_figured and self.is_attached:
            self._summary.show(composed, composed.payload.size, self.own_protocol)

    def watch_view_shown(self) -> None:
        had_focus = self.has_focus_within
        self._state = replace(self._state, loaded=None)  # it is of the view before
        try:
            self.views.select(self.view_shown)
        except InputError as error:  # another person's plugin
            self.notify(str(error), severity="error", markup=False)
            self.view_shown = PAYLOAD
            return
        self._view_tabs.active = self.view_shown
        if views()[self.view_shown].needs == "opened":
            self._mark("opened", True)
        self._summary.refresh()
        self.close_find()  # its words and count are those of the view before
        self._legend.set_class(self.view_shown != PAYLOAD, "-away")
        view = self.views.current
        self.set_class(not view.shows_request, "-aside")
        self._make_room()
        if had_focus:
            view.focus()
        if self.composed is not None and not self._stale:
            self._draw()
        if isinstance(view, RowsView):
            view.post_highlighted_again()
        self.post_message(self.ViewChanged())

    def watch_own_protocol(self) -> None:
        self._tabs.own = self.own_protocol
        if not self._stale:
            self._show_size()

    def watch_active(self) -> None:
        self._tabs.active = self.active
        self.refresh_bindings()

    def on_show(self) -> None:
        """Catch up with the requests composed, and the view chosen, while it was hidden."""
        if self._stale:
            self._draw()
        if views()[self.view_shown].load:
            self.post_message(self.ViewChanged())

    def on_resize(self, event: events.Resize) -> None:
        """Give the view its room: in a low pane the lines around it shrink."""
        self._height = event.size.height
        self.set_class(self._height < 10, "-low")
        self._make_room()

    @property
    def are_details_open(self) -> bool:
        """True if more than the five lines is shown around the view."""
        return self.has_class("-details")

    def action_details(self) -> None:
        """Show all figures, the forecast and the legend, or hide them again."""
        self.toggle_class("-details")
        self._make_room()

    def _make_room(self) -> None:
        shows_request = self.views.current.shows_request
        is_open = self.are_details_open and shows_request
        self._summary.is_whole = is_open and self._height >= 14
        self._status.lines = (2 if self._height < 30 else 3) if is_open else 2 - shows_request
        self._notes.header.are_details_open = is_open

    # Keys and clicks

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Remove the key of a view without a tab, and disable beside a view that does not show the
        request those of what is about it.
        """
        if action == "view" and parameters[0] not in self._view_tabs.views:
            return False
        if action in _OF_REQUEST and not self.views.current.shows_request:
            return None
        return super().check_action(action, parameters)

    def on_descendant_focus(self) -> None:
        """Post the origin under the cursor, although the cursor did not move."""
        under = self._status.under
        self.post_message(self.OriginPointed(under.origin if under is not None else None))

    def on_descendant_blur(self) -> None:
        """Close the line to find words once another pane has the focus: the view follows that."""
        if self._find_bar is not None and self._find_bar.display:
            self.call_after_refresh(self._close_left_find)

    def _close_left_find(self) -> None:
        if self.is_attached and self.screen.focused is not None and not self.has_focus_within:
            self.close_find()

    def action_step_view(self, step: int) -> None:
        """Show the next view, round the end."""
        order = self._view_tabs.views
        self.action_view(order[(order.index(self.view_shown) + step) % len(order)])

    def action_view(self, name: str) -> None:
        """Show a view. The cursor stays on the same origin, if both views have places."""
        shown = _is_shown(views()[self.view_shown].label)
        if name == self.view_shown:
            self.notify(shown)
        else:
            self.post_message(NoticeOutdated(shown))
        before = self.views.current
        self.view_shown = name
        view = self.views.current
        if view is not before and before.has_places and view.has_places:
            origin, composed = before.origin_at_cursor, self.composed
            if origin is None or composed is None or not is_left_out(composed, origin):
                view.show_place(origin)

    async def action_of_request(self, action: str) -> None:
        """Run an action of the area about the request shown."""
        await self.run_action(action)

    async def action_source(self) -> None:
        if self._notes.has_focus_within:
            origin = note.origin if (note := self._notes.current) is not None else None
            await reveal_origin(self, origin or GLUE)
        else:
            await self.views.current.action_open()

    async def action_live(self) -> None:
        """Close the line to find words, else clear the selection, else go back to the live request;
        if that is shown, leave Esc to the app.
        """
        if self._find_bar is not None and self._find_bar.display:
            self.close_find()
            return
        if self.views.payload.text_selection is not None:
            self.screen.clear_selection()
            return
        if not self.is_banner_up:
            raise SkipAction
        await self.run_action("inspector.return_to_live")

    def action_copy_curl(self) -> None:
        """Copy a shell command that sends the same bytes; the key is a variable."""
        copy_curl(self, self.composed)

    async def on_click(self, event: events.Click) -> None:
        if event.widget is self._banner:
            await self.run_action("inspector.return_to_live")
        elif event.widget is self._status:
            await self.action_source()
        elif event.widget is self._forecast:
            self.action_difference()

    def on_rows_view_row_highlighted(self, event: RowsView.RowHighlighted) -> None:
        event.stop()
        row = event.row
        origin = row.origin if row is not None else None
        self._status.under = None if origin is None else CursorTarget(origin, origin, "", 0)
        self._status.rule = row.hint if row is not None else ""
        self.post_message(self.OriginPointed(origin))

    async def on_notes_header_clicked(self, event: NotesHeader.Clicked) -> None:
        event.stop()
        await self.run_action(event.action)

    def action_difference(self) -> None:
        """Go to the first difference from the last accepted request."""
        forecast = self._forecast.forecast
        if forecast is not None and forecast.at.origin is not None:
            self.reveal(forecast.at.origin)

    def action_protocol(self, name: str) -> None:
        protocol, is_first = Protocol(name), self.composed is None
        if protocol is self.active and not is_first:
            self.notify(_is_shown(protocol.label))
        else:
            self.post_message(NoticeOutdated(_is_shown(self.active.label)))
        self._tabs.choose(protocol, is_first=is_first)

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
        self._show_rule(under)
        self._status.places = ""
        self._legend.current = under.origin.kind if under is not None else None
        self.post_message(self.OriginPointed(under.origin if under is not None else None))

    def _show_rule(self, under: CursorTarget | None) -> None:
        """Say what is under the cursor of the body, and why it is there in the present request."""
        self._status.under = under
        note, composed = self.views.payload.note_here, self.composed
        sentences = [f"{SYMBOLS[note.level]} {note.sentence}"] if note is not None else []
        if under is not None and composed is not None:
            turns, tree = composed.envelope.turns, composed.payload.tree
            sentences.append(placement_rule(under, turns, tree, composed.protocol))
        self._status.rule = " ".join(sentences)

    async def action_find(self) -> None:
        """Open the line to find words: in the body, unless the view has a search of its own."""
        if self.views.searched is not self.views.current:
            self.action_view(PAYLOAD)
        if self._find_bar is None:
            self._find_bar = FindBar("words in the request")
            await self.mount(self._find_bar, after=self.views)
        self._find_bar.open()

    def on_find_bar_words_changed(self, event: FindBar.WordsChanged) -> None:
        event.stop()
        count = self.views.searched.find(event.words)
        if self._find_bar is not None and self.views.current is not self.views.payload:
            self._find_bar.show(min(count, 1), count, bool(event.words))

    def on_find_bar_step_requested(self, event: FindBar.StepRequested) -> None:
        event.stop()
        self.views.searched.action_hit(event.step)

    def on_find_bar_exited(self, event: FindBar.Exited) -> None:
        """Go back to the view; hits stay highlighted if the bar stays."""
        event.stop()
        self.views.searched.focus()

    def on_payload_view_marked(self, event: PayloadView.Marked) -> None:
        event.stop()
        bar = self._find_bar
        if bar is not None and bar.display and self.views.current is self.views.payload:
            bar.show(event.number, event.count, True)
        else:
            place = f"{event.number:,} of {event.count:,} · n N"
            self._status.places = place if event.count else ""

    async def on_notes_list_note_selected(self, event: NotesList.NoteSelected) -> None:
        event.stop()
        if event.note.code in OF_EDITS:
            await self.run_action("request_edits.list")
            return
        origin = event.note.origin
        if origin is None or not self.reveal(origin):
            self.notify("This note has no position in the body. Press w to go to its source.")
        self.views.current.focus()


def _is_shown(label: str) -> str:
    return f"{label} is shown already."
