"""The reason this program exists: the exact request, live, before it is sent.

1. What is shown is one `Composed`. Only the view that is in sight is drawn; the others catch up
   when they are chosen.
2. A banner says where the request is not the one that Enter would send: one that was sent, one
   that was pasted, one that only asks what if. Esc asks to go back.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Self

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_chat.model.endpoint import Protocol
from tui_chat.model.envelope import Turn
from tui_chat.model.text import Origin, OriginKind
from tui_chat.ui.inspector.figures import size_in_words
from tui_chat.ui.inspector.find_line import FindLine
from tui_chat.ui.inspector.forecast_line import ForecastLine
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.legend import Legend
from tui_chat.ui.inspector.looking import Under
from tui_chat.ui.inspector.notes_list import SYMBOLS, NotesList
from tui_chat.ui.inspector.origin_status import OriginStatus
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.protocol_tabs import ProtocolTabs
from tui_chat.ui.inspector.summary import Summary
from tui_chat.ui.inspector.views import (
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
from tui_chat.ui.inspector.views import diff as diffs
from tui_chat.ui.inspector.views import request as requests
from tui_chat.ui.inspector.views.tabs import KEYS

if TYPE_CHECKING:
    from tui_chat.analysis import Forecast
    from tui_chat.compose import Composed
    from tui_chat.model.payload import Payload

_EMPTY = """[bold]Nothing to send yet[/]

[$foreground-muted]Write a message: the request that Enter would send appears here while you \
type, byte for byte, each character in the colour of where it came from.[/]"""

_VIEWS: dict[View, type[RowsView]] = {
    View.CONTEXT: ContextView,
    View.REQUEST: RequestView,
    View.DIFF: DiffView,
    View.REPLY: ReplyView,
    View.BUDGET: BudgetView,
}
_PLENTY = 100_000
"""Bytes above which some terminals ignore what is put on the clipboard."""


class Inspector(Widget):
    """Tabs, summary, body, origin, legend and notes of one `Composed`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"protocol('{protocol}')", protocol.label, show=False)
            for number, protocol in enumerate(Protocol, 1)
        ),
        *(Binding(key, f"view('{view}')", view.title(), show=False) for view, key in KEYS.items()),
        Binding("left_square_bracket", "step_view(-1)", "Previous view", show=False),
        Binding("right_square_bracket", "step_view(1)", "Next view", show=False),
        Binding("o", "notes", "Notes", show=False),
        Binding("a", "against", "Compare with", show=False),
        Binding("Y", "copy('http')", "Copy as HTTP", show=False),
        Binding("escape", "live", "Back to live", show=False),
    ]
    DEFAULT_CSS = """
    Inspector {
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
        &.-tiny Legend, &.-tiny ForecastLine { display: none; }
        &.-low ViewTabs { display: none; }
    }
    """

    own_protocol: reactive[Protocol | None] = reactive[Protocol | None](None)
    """The protocol of the session's endpoint: what Enter sends. Its tab carries a dot."""
    active: reactive[Protocol] = reactive(Protocol.OPENAI_CHAT)
    """The protocol whose tab is shown; follows what `show` was given."""

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

    class ViewChanged(Message):
        """Another view is in sight, and may want what it shows."""

        def __init__(self, view: View) -> None:
            super().__init__()
            self.view = view

    class AgainstWanted(Message):
        """The user wants to compare with something else."""

    class LiveWanted(Message):
        """The user wants to see the request again that Enter would send."""

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
        self._body = Vertical(id="inspector-body")
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

    def show_banner(self, words: str) -> None:
        """Say what is shown, where it is not what Enter would send; empty for the live one."""
        self._banner.update(Content(shown(words)))
        self._banner.set_class(bool(words), "-told")

    def keep_pinned(self, ids: Collection[str]) -> None:
        """Take which messages always stay: they do not fall out next."""
        self._pinned = ids

    def reveal(self, origin: Origin, *, show: bool = False) -> int:
        """Move to what came from an origin, and mark all its places; return how many.

        In a view that has no places this waits until the body is shown; `show` shows it.
        """
        if self.view_shown is View.CONTEXT and isinstance(view := self.view_now, ContextView):
            return int(view.reveal(origin))
        if show:
            self.view_shown = View.PAYLOAD
        return self._view.reveal(origin)

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
            self._summary.show(self.composed, None, self.own_protocol)

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
        self.set_class(height < 10, "-low")
        self._summary.lines = 1 if height < 14 else 2 if height < 22 else 3
        self._status.set_class(height < 22, "-one")
        self._notes.make_room(height >= 18)

    def on_view_tabs_chosen(self, event: ViewTabs.Chosen) -> None:
        """Show it."""
        event.stop()
        self.view_shown = event.view

    def action_view(self, name: str) -> None:
        """Show a view by its key."""
        self.view_shown = View(name)

    def action_step_view(self, step: int) -> None:
        """Show the neighbour, round the end."""
        order = list(View)
        self.view_shown = order[(order.index(self.view_shown) + step) % len(order)]

    def action_against(self) -> None:
        """Compare with something else."""
        self.view_shown = View.DIFF
        self.post_message(self.AgainstWanted())

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
        self._status.under = None if origin is None else Under(origin, origin, "", 0)
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
            self.reveal(forecast.at.origin, show=True)

    def on_protocol_tabs_chosen(self, event: ProtocolTabs.Chosen) -> None:
        """Pass the wish on."""
        event.stop()
        self.post_message(self.ProtocolChosen(event.protocol))

    def action_protocol(self, name: str) -> None:
        """Choose a protocol by its key."""
        self._tabs.choose(Protocol(name))

    def action_notes(self) -> None:
        """Open or close the notes."""
        self._notes.toggle()

    def on_payload_view_laid_out(self, event: PayloadView.LaidOut) -> None:
        """Say what could not be said before."""
        event.stop()
        self._tell_sizes()

    def on_payload_view_pointed(self, event: PayloadView.Pointed) -> None:
        """Say in words what is under the cursor."""
        event.stop()
        under = event.under
        self._status.under = under
        note = self._view.note_here
        if note is not None:
            self._status.rule = f"{SYMBOLS[note.level]} {note.sentence}"
        else:
            self._status.rule = self._rule(under) if under is not None else ""
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
        """Go to the note's place, else to what came from its origin."""
        event.stop()
        note = event.note
        self.view_shown = View.PAYLOAD
        if not (note.place and self._view.go_to(note.place)) and note.origin is not None:
            self._view.reveal(note.origin)

    def _rule(self, under: Under) -> str:
        """Return the rule that placed the turn a piece belongs to."""
        if self.composed is None:
            return ""
        turns = self.composed.envelope.turns
        around: Origin | None = under.origin
        while around is not None:
            if around.kind is not OriginKind.GLUE and (turn := _turn_of(around, turns)):
                return turn.placement.rule
            around = around.within
        turn = _turn_of(under.owner, turns)
        return turn.placement.rule if turn is not None else ""


def _turn_of(origin: Origin, turns: tuple[Turn, ...]) -> Turn | None:
    """Find a turn by its origin, newest first, by identity before equality."""
    for turn in reversed(turns):
        if turn.origin is origin:
            return turn
    for turn in reversed(turns):
        if turn.origin.kind is origin.kind and turn.origin == origin:
            return turn
    return None
