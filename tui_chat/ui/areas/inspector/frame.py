"""The content of the inspector: a request in one of the views, with lines around it.

1. Only the visible view is updated; the others catch up when they are chosen.
2. A banner says so if the request is not the live one that Enter would send, but one that was
   sent or pasted, or a what-if.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widgets import Static

from tui_chat.analysis.unsent_messages import unsent_messages
from tui_chat.context.turn_sources import split_turns
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.preset import PresetMessage
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.areas.inspector.find_line import FindLine
from tui_chat.ui.areas.inspector.notes_list import NotesList
from tui_chat.ui.areas.inspector.origins import Legend, OriginStatus
from tui_chat.ui.areas.inspector.payload_view import PayloadView
from tui_chat.ui.areas.inspector.summary import ForecastLine, RequestSummary
from tui_chat.ui.areas.inspector.tabs import ProtocolTabs, ViewTabs
from tui_chat.ui.areas.inspector.view import (
    CONTEXT,
    LORE,
    PAYLOAD,
    Baseline,
    InProtocol,
    InspectorState,
    ReplyDetails,
    load,
    views,
)
from tui_chat.ui.areas.inspector.views.context import ContextCounts
from tui_chat.ui.areas.inspector.views.request import SETTLED
from tui_chat.ui.areas.inspector.views.rows_view import RowsView
from tui_chat.ui.widgets.one_pass import OnePassWidget

if TYPE_CHECKING:
    from tui_chat.analysis import Forecast
    from tui_chat.analysis.lore_table import LoreTable
    from tui_chat.compose import Composed
    from tui_chat.models.payload import Payload

_EMPTY = """[bold]Nothing to send yet[/]

[$foreground 72%]Write a message: the request that Enter would send appears here while you \
type, byte for byte, each character in the color of where it came from.[/]"""

_MANY = 1_000
"""Turns from which encoding the body takes too long for a keystroke."""


class Body(Vertical, OnePassWidget):
    """Holds the views."""


class InspectorFrame(OnePassWidget):
    """Tabs, summary, view, status, legend and notes of a request."""

    DEFAULT_CSS = """
    InspectorFrame {
        layout: vertical;
        background: $background;
        color: $foreground;
        & > #inspector-body { height: 1fr; }
        #inspector-banner {
            display: none;
            height: auto;
            max-height: 2;
            padding: 0 1;
            background: $warning-muted;
            color: $text-warning;
            &.-shown { display: block; }
        }
        .-away { display: none; }
        #inspector-empty { display: none; height: 1fr; padding: 1 2; }
        &.-empty #inspector-empty { display: block; }
        &.-empty PayloadView, &.-empty OriginStatus, &.-empty Legend, &.-empty RequestSummary,
        &.-empty NotesList, &.-empty RowsView, &.-empty ForecastLine { display: none; }
        &.-tiny Legend, &.-small ForecastLine { display: none; }
        &.-tiny ForecastLine.-long { height: 1; }
        &.-low ViewTabs { display: none; }
    }
    """

    own_protocol: reactive[Protocol | None] = reactive[Protocol | None](None)
    """The protocol of the session's endpoint, which Enter sends; its tab has a dot."""
    active: reactive[Protocol] = reactive(Protocol.OPENAI_CHAT)
    """The protocol shown; set by `show`."""

    @dataclass
    class ViewChanged(Message, namespace="inspector"):
        """Another view is shown, and may need its data."""

        view: str

    view_shown: reactive[str] = reactive(PAYLOAD)
    """The name of the view shown."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=f"-empty {classes or ''}")
        self.in_protocol: InProtocol | None = None
        """Gives a request in another protocol."""
        self.lore_folder = ""
        """The folder of the user's lorebooks; empty if none can be chosen."""
        self._state = InspectorState()
        self._stale = True
        """True if the request of the state is not drawn yet."""
        self._tabs = ProtocolTabs()
        self._view_tabs = ViewTabs()
        self._banner = Static(id="inspector-banner")
        self._banner_words = ""
        self._size_timer: Timer | None = None
        """Runs while the size of a long body waits for a pause in typing."""
        self._summary = RequestSummary()
        self._view = PayloadView()
        self._views: dict[str, RowsView] = {}
        """The other views by name, each created when first chosen."""
        self._body = Body(id="inspector-body")
        self._empty = Static(_EMPTY, id="inspector-empty")
        self._find: FindLine | None = None
        """The line to find words; None until it is opened."""
        self._forecast = ForecastLine()
        self._status = OriginStatus()
        self._legend = Legend()
        self._notes = NotesList()

    def compose(self) -> ComposeResult:
        """Put the views in the middle, lines around them."""
        yield self._tabs
        yield self._view_tabs
        yield self._banner
        yield self._summary
        with self._body:
            yield self._view
            yield self._empty
        yield self._forecast
        yield self._status
        yield self._legend
        yield self._notes

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the view shown."""
        self.view_now.focus(scroll_visible)
        return self

    @property
    def view(self) -> PayloadView:
        """The view of the body."""
        return self._view

    @property
    def view_now(self) -> PayloadView | RowsView:
        """The view widget shown."""
        return self._views.get(self.view_shown, self._view)

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

    # What to show

    def show(self, composed: Composed | None) -> None:
        """Show a request. While the inspector is hidden this costs nothing."""
        self._state = replace(
            self._state,
            composed=composed,
            in_protocol=self.in_protocol,
            lore_folder=self.lore_folder,
            is_live=not self.is_banner_up,
        )
        self.set_class(composed is None, "-empty")
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
        self._view_tabs.facts = facts | {fact} if is_there else facts - {fact}

    def _change(self, **changes: Any) -> None:
        """Change fields of the state beside the request; the view shown draws those it uses."""
        self._state = replace(self._state, **changes)
        view = self.view_now
        if not view.uses.isdisjoint(changes):
            view.show_state(self._state)

    def show_nothing(self, why: str) -> None:
        """Show in place of a request why there is none, as markup."""
        self._empty.update(why)
        self.show(None)

    def forget(self) -> None:
        """Drop the data of a conversation that was left.

        Visible data is replaced by the next request; hidden data would stay until its view is
        chosen.
        """
        self.close_find()
        self._state = replace(self._state, baseline=Baseline(), reply=None, lore=None, loaded=None)
        self._view.forget()
        for view in self._views.values():
            if not view.is_on_screen:
                view.forget()

    def show_reply(self, details: ReplyDetails | None) -> None:
        """Set the reply of the request."""
        self._change(reply=details)

    def compare_with(self, name: str, was: Payload | None, why: str = "") -> None:
        """Set what the diff view compares with; None with the reason in `why`."""
        self._change(baseline=Baseline(name, was, why))

    def show_lore(self, table: LoreTable | None) -> None:
        """Set the entries of the lorebooks."""
        self._change(lore=table)

    def show_loaded(self, loaded: object) -> None:
        """Set what the view shown has loaded beside the request."""
        self._change(loaded=loaded)

    def mark_recorded(self, is_recorded: bool) -> None:
        """Note whether another program's calls were recorded in the session."""
        self._mark("recording", is_recorded)

    def show_forecast(self, forecast: Forecast | None) -> None:
        """Show a cache forecast."""
        self._forecast.forecast = forecast

    def show_banner(self, words: str, *, is_past: bool = False) -> None:
        """Say what is shown if it is not the live request; empty for the live one.

        `is_past` is True for a request that was sent.
        """
        self._summary.own_words = "it was" if is_past else "Enter sends"
        if words != self._banner_words:  # an update asks for a layout
            self._banner_words = words
            self._banner.update(Content(sanitize(words, "exact")))
            self._banner.set_class(bool(words), "-shown")

    def keep_pinned(self, ids: Collection[str]) -> None:
        """Set the pinned messages, which are never dropped."""
        self._state = replace(self._state, pinned=ids)

    def point(self, origin: Origin | None) -> None:
        """Show the origin under the cursor of another pane; None if that pane was left.

        A view without places leaves it to the body.
        """
        view = self.view_now
        (view if view.has_places else self._view).point(origin)

    def reveal(self, origin: Origin) -> int:
        """Go to the text of an origin, highlight all its places, and return their number.

        Without any, show the context, at the line that says why.
        """
        if self.view_shown == CONTEXT:
            return int(self.view_now.reveal(origin))
        if not self.is_left_out(origin):
            self.view_shown = PAYLOAD
            if count := self._view.reveal(origin):
                return count
        self.view_shown = CONTEXT
        self.view_now.reveal(origin)
        return 0

    def is_left_out(self, origin: Origin) -> bool:
        """Return True if a message was dropped to fit the budget; the context view says more."""
        dropped = self.composed.envelope.dropped if self.composed is not None else ()
        return any((one.origin.kind, one.origin.id) == (origin.kind, origin.id) for one in dropped)

    @property
    def _searched_view(self) -> PayloadView | RowsView:
        """The view in which words are found: the one that is shown, if it can."""
        view = self.view_now
        return view if view.finds else self._view

    def close_find(self) -> None:
        """Close the line to find words, and highlight them no longer."""
        if self._find is not None:
            self._find.remove()
            self._find = None
            for view in (self._view, *self._views.values()):
                if view.finds:
                    view.find("")

    def show_lore_entry(self, origin: Origin) -> None:
        """Show the lore view with the cursor on an entry."""
        self.view_shown = LORE
        self.view_now.reveal(origin)
        self.view_now.focus()

    def filling_of(self, origin: Origin) -> Origin:
        """Return the origin of the first message at an anchor; that of any other is itself."""
        anchor = self._anchor(origin)
        if anchor is None or self.composed is None:
            return origin
        kinds = {"chat_history": OriginKind.HISTORY, "user_profile": OriginKind.PROFILE}
        kind = kinds.get(anchor.type)
        pieces = split_turns(self.composed.envelope.turns)
        at = (
            piece.origin
            for piece in pieces
            if (piece.origin.kind is kind)
            or (kind is None and piece.placement.anchor == anchor.anchor_id)
        )
        return next(at, origin)

    def _anchor(self, origin: Origin) -> PresetMessage | None:
        """Return the enabled anchor that an origin names; None for any other origin."""
        inputs = self.composed.inputs if self.composed is not None else None
        if inputs is None or origin.kind is not OriginKind.PRESET:
            return None
        anchors = (each for each in inputs.preset.messages if each.is_anchor and each.enabled)
        return next((anchor for anchor in anchors if anchor.id == origin.id), None)

    def why_unsent(self, origin: Origin) -> str:
        """Return a sentence about an origin of which nothing is in the request."""
        if self.composed is not None and origin.kind is OriginKind.PRESET:
            counts = ContextCounts()
            counts.update(self.composed.envelope.turns)
            for message, why in unsent_messages(self.composed, counts.ids, counts.anchors):
                if message.id == origin.id:
                    return f"It is not in this request: {why}."
        if self.is_left_out(origin):
            return "It was left out to fit: the newest messages that fit are kept."
        if (anchor := self._anchor(origin)) is not None and anchor.type == "chat_history":
            return "No stored message is in this request."
        return "Nothing of it is in this request."

    # Updating

    def _draw(self) -> None:
        self._stale = False
        composed = self.composed
        if composed is None:
            self._view.show(None)
            self._notes.show(())
            return
        self.view_now.show_state(self._state)
        recorded = composed.recorded
        is_exact = recorded is None or not (recorded.is_masked or recorded.missing)
        self._notes.show(composed.notes, is_exact=is_exact)
        self._show_size()

    def _show_size(self) -> None:
        """Show the body's size and kinds of origin, once they are known."""
        composed = self.composed
        if composed is None:
            return
        layout = self._view.layout_now
        if layout is not None and layout.payload is composed.payload:
            self._summary.show(composed, layout.size, self.own_protocol)
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
        if composed is not None and self.view_shown != PAYLOAD and self.is_attached:
            self._summary.show(composed, len(composed.payload.body), self.own_protocol)

    def watch_view_shown(self) -> None:
        """Show the view, creating it at first use."""
        name = self.view_shown
        if name != PAYLOAD and name not in self._views:
            declared = views()[name]
            try:
                view = self._views[name] = load(declared, declared.path)()
            except InputError as error:  # another person's plugin
                self.notify(str(error), severity="error", markup=False)
                self.view_shown = PAYLOAD
                return
            self._body.mount(view)
        self._view_tabs.active = name
        had_focus = self.has_focus_within
        now = self.view_now
        self.close_find()  # its words and count are those of the view before
        for other in (self._view, *self._views.values()):
            other.set_class(other is not now, "-away")
        self._legend.set_class(name != PAYLOAD, "-away")
        if had_focus:
            now.focus()
        if self.composed is not None and not self._stale:
            self._draw()
        if isinstance(now, RowsView):
            now.post_highlighted_again()
        self.post_message(self.ViewChanged(name))

    def watch_own_protocol(self) -> None:
        """Update the dot."""
        self._tabs.own = self.own_protocol
        if not self._stale:
            self._show_size()

    def watch_active(self) -> None:
        """Update the tab."""
        self._tabs.active = self.active

    def on_show(self) -> None:
        """Catch up with the requests composed while it was hidden."""
        if self._stale:
            self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Give the view its room: in a low pane the lines around it shrink."""
        height = event.size.height
        self.set_class(height < 18, "-tiny")
        self.set_class(height < 14, "-small")
        self.set_class(height < 10, "-low")
        self._summary.lines = 1 if height < 14 else 2 if height < 22 else 3
        self._status.lines = 1 if height < 14 else 2 if height < 30 else 3
        self._notes.make_room(height >= 22)
