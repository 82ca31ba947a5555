"""The reason this program exists: the exact request body, live, before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_chat.model.endpoint import Protocol
from tui_chat.model.envelope import Turn
from tui_chat.model.text import Origin, OriginKind
from tui_chat.ui.inspector.figures import size_in_words
from tui_chat.ui.inspector.legend import Legend
from tui_chat.ui.inspector.looking import Under
from tui_chat.ui.inspector.notes_list import NotesList
from tui_chat.ui.inspector.origin_status import OriginStatus
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.protocol_tabs import ProtocolTabs
from tui_chat.ui.inspector.summary import Summary

if TYPE_CHECKING:
    from tui_chat.compose import Composed

_EMPTY = """[bold]Nothing to send yet[/]

[$foreground-muted]Write a message: the request that Enter would send appears here while you \
type, byte for byte, each character in the colour of where it came from.[/]"""

_PLENTY = 100_000
"""Bytes above which some terminals ignore what is put on the clipboard."""


class Inspector(Widget):
    """Tabs, summary, body, origin, legend and notes of one `Composed`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"protocol('{protocol}')", protocol.label, show=False)
            for number, protocol in enumerate(Protocol, 1)
        ),
        Binding("n", "notes", "Notes", show=False),
    ]
    DEFAULT_CSS = """
    Inspector {
        layout: vertical;
        background: $background;
        color: $foreground;
        & > #inspector-body { height: 1fr; }
        #inspector-empty { display: none; height: 1fr; padding: 1 2; }
        &.-empty #inspector-empty { display: block; }
        &.-empty PayloadView, &.-empty OriginStatus, &.-empty Legend, &.-empty Summary,
        &.-empty NotesList { display: none; }
        &.-tiny Legend { display: none; }
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

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.composed: Composed | None = None
        """What is shown; None for nothing yet."""
        self._stale = True
        """Whether `composed` has yet to reach the screen."""
        self._tabs = ProtocolTabs()
        self._summary = Summary()
        self._view = PayloadView()
        self._status = OriginStatus()
        self._legend = Legend()
        self._notes = NotesList()

    def compose(self) -> ComposeResult:
        """Put the body in the middle, one-liners around it."""
        yield self._tabs
        yield self._summary
        with Vertical(id="inspector-body"):
            yield self._view
            yield Static(_EMPTY, id="inspector-empty")
        yield self._status
        yield self._legend
        yield self._notes

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the body."""
        self._view.focus(scroll_visible)
        return self

    @property
    def view(self) -> PayloadView:
        """The pane with the body."""
        return self._view

    def show(self, composed: Composed | None) -> None:
        """Show a request. While the inspector is out of sight this costs nothing."""
        self.composed = composed
        if composed is not None:
            self.active = composed.protocol
        self._stale = True
        if self.is_on_screen:
            self._draw()

    def reveal(self, origin: Origin) -> bool:
        """Move to what came from an origin; False where nothing in the body did."""
        return self._view.reveal(origin)

    def _draw(self) -> None:
        self._stale = False
        composed = self.composed
        self.set_class(composed is None, "-empty")
        if composed is None:
            self._view.show(None)
            self._notes.show(())
            return
        self._view.show(composed.payload, composed.protocol)
        self._notes.show(composed.notes)
        self._tell_sizes()

    def _tell_sizes(self) -> None:
        """Fill in what the laid-out body tells about itself."""
        if self.composed is None:
            return
        layout = self._view.layout_now
        size = layout.size if layout else len(self.composed.payload.body)
        self._summary.show(self.composed, size, self.own_protocol)
        if layout:
            self._legend.kinds = layout.kinds()

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
        self.set_class(height < 16, "-tiny")
        self._summary.lines = 1 if height < 13 else 2 if height < 20 else 3
        self._status.set_class(height < 20, "-one")
        self._notes.make_room(height >= 16)

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
        self._status.rule = self._rule(under) if under is not None else ""
        self._legend.current = under.origin.kind if under is not None else None

    def on_payload_view_origin_chosen(self, event: PayloadView.OriginChosen) -> None:
        """Pass the wish on."""
        event.stop()
        self.post_message(self.OriginChosen(event.origin, event.start))

    def on_payload_view_copied(self, event: PayloadView.Copied) -> None:
        """Tell that the body was copied."""
        event.stop()
        told = f"Copied the body: {size_in_words(event.size)}."
        if event.size > _PLENTY:
            told += " Some terminals refuse so much."
        self.notify(told, severity="warning" if event.size > _PLENTY else "information")

    def on_legend_picked(self, event: Legend.Picked) -> None:
        """Go to the next place of the kind."""
        event.stop()
        self._view.jump(event.kind)

    def on_notes_list_chosen(self, event: NotesList.Chosen) -> None:
        """Go to the note's place, else to what came from its origin."""
        event.stop()
        note = event.note
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
