"""What the inspector shows: one `Composed`, in the view that is in sight, with one-liners around.

1. Only the view that is in sight is drawn; the others catch up when they are chosen.
2. A banner says where the request is not the one that Enter would send: one that was sent, one
   that was pasted, one that only asks what if.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from tui_chat.models.endpoint import Protocol
from tui_chat.models.text import Origin
from tui_chat.ui.inspector.find_line import FindLine
from tui_chat.ui.inspector.forecast_line import ForecastLine
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.legend import Legend
from tui_chat.ui.inspector.notes_list import NotesList
from tui_chat.ui.inspector.origin_status import OriginStatus
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.summary import Summary
from tui_chat.ui.inspector.tabs import ProtocolTabs
from tui_chat.ui.inspector.views import (
    SETTLED,
    BudgetView,
    Came,
    ContextView,
    DiffView,
    ReplyView,
    RequestView,
    RowsView,
    View,
    ViewTabs,
)
from tui_chat.ui.widgets.one_pass import OnePassContainer

if TYPE_CHECKING:
    from tui_chat.analysis import Forecast
    from tui_chat.compose import Composed
    from tui_chat.models.payload import Payload

_EMPTY = """[bold]Nothing to send yet[/]

[$foreground 72%]Write a message: the request that Enter would send appears here while you \
type, byte for byte, each character in the colour of where it came from.[/]"""

_MANY = 1_000
"""Turns from which making the body takes longer than a key may."""

_VIEWS: dict[View, type[RowsView]] = {
    View.CONTEXT: ContextView,
    View.REQUEST: RequestView,
    View.DIFF: DiffView,
    View.REPLY: ReplyView,
    View.BUDGET: BudgetView,
}


class Body(Vertical, OnePassContainer):
    """Where the view in sight is."""


class InspectorFrame(OnePassContainer):
    """Tabs, summary, body, origin, legend and notes of one `Composed`."""

    DEFAULT_CSS = """
    InspectorFrame {
        layout: vertical;
        background: $background;
        color: $foreground;
        & > #inspector-body { height: 1fr; }
        #inspector-banner {
            display: none;
            height: 1;
            padding: 0 1;
            background: $warning-muted;
            color: $text-warning;
            &.-told { display: block; }
        }
        .-away { display: none; }
        #inspector-empty { display: none; height: 1fr; padding: 1 2; }
        &.-empty #inspector-empty { display: block; }
        &.-empty PayloadView, &.-empty OriginStatus, &.-empty Legend, &.-empty Summary,
        &.-empty NotesList, &.-empty RowsView, &.-empty ForecastLine { display: none; }
        &.-tiny Legend, &.-small ForecastLine { display: none; }
        &.-tiny ForecastLine.-long { height: 1; }
        &.-low ViewTabs { display: none; }
    }
    """

    own_protocol: reactive[Protocol | None] = reactive[Protocol | None](None)
    """The protocol of the session's endpoint: what Enter sends. Its tab carries a dot."""
    active: reactive[Protocol] = reactive(Protocol.OPENAI_CHAT)
    """The protocol whose tab is shown; follows what `show` was given."""

    class ViewChanged(Message, namespace="inspector"):
        """Another view is in sight, and may want what it shows."""

        def __init__(self, view: View) -> None:
            super().__init__()
            self.view = view

    view_shown: reactive[View] = reactive(View.PAYLOAD)
    """The view that is in sight."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.composed: Composed | None = None
        """What is shown; None for nothing yet."""
        self._stale = True
        """Whether `composed` has yet to reach the screen."""
        self._came: Came | None = None
        self._against: tuple[str, Payload | None, str] = ("", None, "")
        self._pinned: Collection[str] = ()
        self._tabs = ProtocolTabs()
        self._view_tabs = ViewTabs()
        self._banner = Static(id="inspector-banner")
        self._summary = Summary()
        self._view = PayloadView()
        self._views: dict[View, RowsView] = {}
        """The other views; each is made when it is first chosen."""
        self._body = Body(id="inspector-body")
        self._find: FindLine | None = None
        """Where one types what is to be found; None until then."""
        self._forecast = ForecastLine()
        self._status = OriginStatus()
        self._legend = Legend()
        self._notes = NotesList()

    def compose(self) -> ComposeResult:
        """Put the body in the middle, one-liners around it."""
        yield self._tabs
        yield self._view_tabs
        yield self._banner
        yield self._summary
        with self._body:
            yield self._view
            yield Static(_EMPTY, id="inspector-empty")
        yield self._forecast
        yield self._status
        yield self._legend
        yield self._notes

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the view in sight."""
        self.view_now.focus(scroll_visible)
        return self

    @property
    def view(self) -> PayloadView:
        """The pane with the body."""
        return self._view

    @property
    def view_now(self) -> PayloadView | RowsView:
        """The pane that is in sight."""
        return self._views.get(self.view_shown, self._view)

    @property
    def is_banner_up(self) -> bool:
        """Whether what is shown is not what Enter would send."""
        return self._banner.has_class("-told")

    @property
    def shows_reply(self) -> bool:
        """Whether the reply view is in sight."""
        return self.view_shown is View.REPLY and self.is_on_screen

    @property
    def shows_difference(self) -> bool:
        """Whether the diff view is in sight."""
        return self.view_shown is View.DIFF and self.is_on_screen

    # Being told

    def show(self, composed: Composed | None) -> None:
        """Show a request. While the inspector is out of sight this costs nothing."""
        self.composed = composed
        if composed is not None:
            self.active = composed.protocol
        self._stale = True
        if self.is_on_screen:
            self._draw()

    def forget(self) -> None:
        """Let go of a conversation that was left. What is in sight of it goes with the next request
        that is shown; what is not would stay until somebody looks for it.
        """
        self._against, self._came = ("", None, ""), None
        self._view.forget()
        for view in self._views.values():
            if not view.is_on_screen:
                view.forget()

    def show_reply(self, came: Came | None) -> None:
        """Have the reply view show this."""
        self._came = came
        if isinstance(view := self.view_now, ReplyView):
            view.show(came)

    def compare_with(self, name: str, was: Payload | None, why: str = "") -> None:
        """Have the diff view hold requests against this; None with the reason why not."""
        self._against = name, was, why
        if isinstance(view := self.view_now, DiffView):
            view.compare_with(name, was, why)

    def show_forecast(self, forecast: Forecast | None) -> None:
        """Tell what a prompt cache can do."""
        self._forecast.forecast = forecast

    def show_banner(self, words: str, *, is_past: bool = False) -> None:
        """Say what is shown, where it is not what Enter would send; empty for the live one.
        `is_past` where nobody can send it as it is here.
        """
        self._summary.own_words = "it was" if is_past else "Enter sends"
        self._banner.update(Content(shown(words)))
        self._banner.set_class(bool(words), "-told")

    def keep_pinned(self, ids: Collection[str]) -> None:
        """Take which messages always stay: they do not fall out next."""
        self._pinned = ids

    def point(self, origin: Origin | None) -> None:
        """Show in the view in sight what came from what the cursor of another pane is on; None:
        that pane was left. In a view that has no places this waits until the body is shown.
        """
        if self.view_shown is View.CONTEXT and isinstance(view := self.view_now, ContextView):
            if origin is not None:
                view.reveal(origin)
        else:
            self._view.point(origin)

    def reveal(self, origin: Origin) -> int:
        """Go to what came from an origin, mark all its places, and return how many there are. Where
        there is none the context is shown, at the line that tells why.
        """
        if self.view_shown is View.CONTEXT and isinstance(view := self.view_now, ContextView):
            return int(view.reveal(origin))
        if not self.is_left_out(origin):
            self.view_shown = View.PAYLOAD
            if count := self._view.reveal(origin):
                return count
        self.view_shown = View.CONTEXT
        if isinstance(view := self.view_now, ContextView):
            view.reveal(origin)
        return 0

    def is_left_out(self, origin: Origin) -> bool:
        """Whether a message was left out to fit; the context view tells more of it."""
        dropped = self.composed.envelope.dropped if self.composed is not None else ()
        return any((one.origin.kind, one.origin.id) == (origin.kind, origin.id) for one in dropped)

    # Drawing

    def _draw(self) -> None:
        self._stale = False
        composed = self.composed
        self.set_class(composed is None, "-empty")
        if composed is None:
            self._view.show(None)
            self._notes.show(())
            return
        self._draw_view(composed)
        self._notes.show(composed.notes)
        self._tell_sizes()

    def _draw_view(self, composed: Composed) -> None:
        """Let the view in sight show what there is."""
        match self.view_now:
            case ContextView() as view:
                view.show(composed)
            case RequestView() as view:
                view.show(composed)
            case DiffView() as view:
                view.compare_with(*self._against)
                view.show(composed)
            case ReplyView() as view:
                view.show(self._came)
            case BudgetView() as view:
                view.show(composed, self._pinned)
            case _:
                self._view.show(composed.payload, composed.protocol, composed.notes)

    def _tell_sizes(self) -> None:
        """Fill in what the laid-out body tells about itself."""
        if self.composed is None:
            return
        layout = self._view.layout_now
        if layout is not None and layout.payload is self.composed.payload:
            self._summary.show(self.composed, layout.size, self.own_protocol)
            self._legend.kinds = layout.kinds()
        else:
            composed = self.composed
            if self.view_shown is View.PAYLOAD or len(composed.envelope.turns) > _MANY:
                self._summary.show(composed, None, self.own_protocol)
                self.set_timer(SETTLED, lambda: self._weigh(composed))
            else:
                self._weigh(composed)

    def _weigh(self, composed: Composed) -> None:
        """Tell the size of a body that is not laid out; of a long one, when typing has paused."""
        if composed is self.composed and self.view_shown is not View.PAYLOAD and self.is_attached:
            self._summary.show(composed, len(composed.payload.body), self.own_protocol)

    def watch_view_shown(self) -> None:
        """Put the view in sight, made if it was never there."""
        view = self.view_shown
        self._view_tabs.active = view
        if view is not View.PAYLOAD and view not in self._views:
            self._views[view] = _VIEWS[view]()
            self._body.mount(self._views[view])
        had_focus = self.has_focus_within
        now = self.view_now
        for other in (self._view, *self._views.values()):
            other.set_class(other is not now, "-away")
        self._legend.set_class(view is not View.PAYLOAD, "-away")
        if had_focus:
            now.focus()
        if self.composed is not None and not self._stale:
            self._draw()
        if isinstance(now, RowsView):
            now.tell_again()
        self.post_message(self.ViewChanged(view))

    def watch_own_protocol(self) -> None:
        """Mark the tab."""
        self._tabs.own = self.own_protocol
        if not self._stale:
            self._tell_sizes()

    def watch_active(self) -> None:
        """Move the tab."""
        self._tabs.active = self.active

    def on_show(self) -> None:
        """Catch up with what was composed while nobody looked."""
        if self._stale:
            self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Give the body its room: in a low pane the rest makes itself small."""
        height = event.size.height
        self.set_class(height < 18, "-tiny")
        self.set_class(height < 14, "-small")
        self.set_class(height < 10, "-low")
        self._summary.lines = 1 if height < 14 else 2 if height < 22 else 3
        self._status.lines = 1 if height < 14 else 2 if height < 30 else 3
        self._notes.make_room(height >= 22)
