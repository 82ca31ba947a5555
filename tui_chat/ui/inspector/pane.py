"""The inspector: the exact request, live, before it is sent.

1. Only the visible view is updated; the others catch up when they are chosen.
2. A banner in place of the protocols says so if the request is not the live one that Enter would
   send, but one that was sent or pasted, or a preview in another protocol.
3. What concerns the session runs actions of the area (`inspector.NAME`).
4. Four lines stand around the view: the views, the protocols, the origin under the cursor, and the
   worst note with the cache forecast.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import Origin
from tui_chat.ui.inspector.context import is_left_out
from tui_chat.ui.inspector.drawn_row import CursorTarget
from tui_chat.ui.inspector.lines import (
    LEVEL_STYLES,
    SYMBOLS,
    Line,
    Switch,
    Switches,
    cache_line,
    forecast_sentences,
    note_line,
    origin_line,
)
from tui_chat.ui.inspector.notes import OF_EDITS, NotesView
from tui_chat.ui.inspector.origins import placement_rule
from tui_chat.ui.inspector.payload_view import PayloadView
from tui_chat.ui.inspector.rows_view import RowsView
from tui_chat.ui.inspector.view_stack import ViewStack
from tui_chat.ui.inspector.views import (
    CONTEXT,
    NOTES,
    PAYLOAD,
    Baseline,
    InspectorState,
    copy_curl,
    copy_text,
    views,
)
from tui_chat.ui.verbs import bindings
from tui_chat.ui.widgets.find_bar import FindBar

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast
    from tui_chat.compose import Composed

_OF_REQUEST = ("protocol", "notes", "source", "copy_body", "copy_curl", "find")
"""Actions about the request."""
_PROTOCOLS = {
    Protocol.OPENAI_CHAT: ("OpenAI", "OpenAI"),
    Protocol.OPENAI_RESPONSES: ("Responses", "Resp"),
    Protocol.ANTHROPIC: ("Anthropic", "Anthr"),
    Protocol.GEMINI: ("Gemini", "Gem"),
    Protocol.OLLAMA: ("Ollama", "Oll"),
}
"""The names of protocols, in full and in a narrow pane, in the order of their keys."""


class Inspector(Widget):
    """The views of a request, and the lines around them."""

    DEFAULT_CSS = """
    Inspector {
        layout: vertical;
        color: $foreground;
        #inspector-protocols { margin-bottom: 1; }
        #inspector-banner {
            display: none;
            height: auto;
            max-height: 3;
            margin-bottom: 1;
            text-wrap: wrap;
            background: $warning-muted;
            color: $text-warning;
        }
        &.-banner #inspector-banner { display: block; }
        &.-banner #inspector-protocols { display: none; }
        &.-empty #inspector-origin, &.-empty #inspector-foot { display: none; }
        &.-aside {
            #inspector-banner, #inspector-protocols, #inspector-foot { display: none; }
        }
        &.-low #inspector-views { display: none; }
        &.-low #inspector-protocols, &.-low #inspector-banner { margin-bottom: 0; }
        #inspector-origin, #inspector-foot { height: 1; }
        #inspector-notes { width: 1fr; }
        #inspector-cache { width: auto; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("inspector")]

    @dataclass
    class OriginPointed(Message):
        """The origin under the cursor changed; None for none."""

        origin: Origin | None

    class ViewChanged(Message):
        """Another view is shown, and may need its data."""

    own_protocol: reactive[Protocol | None] = reactive[Protocol | None](None)
    """The protocol of the session's endpoint, which Enter sends."""
    active: reactive[Protocol] = reactive(Protocol.OPENAI_CHAT)
    """The protocol shown; set by `show`."""
    view_shown: reactive[str] = reactive(PAYLOAD)
    """The name of the view shown."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=f"-empty {classes or ''}")
        self._state = InspectorState()
        self._stale = True
        """True if the request of the state is not drawn yet."""
        self._facts: frozenset[str] = frozenset()
        """The facts that there are; a view that needs another one has no switch."""
        self._words = ""
        """What is shown if it is not the live request."""
        self._view_switches = Switches(self, id="inspector-views")
        self._protocol_switches = Switches(self, id="inspector-protocols")
        self._banner = Line(self, id="inspector-banner")
        self._origin = Line(self, id="inspector-origin")
        self._notes = Line(self, id="inspector-notes")
        self._cache = Line(self, id="inspector-cache")
        self.views = ViewStack()
        self._find_bar: FindBar | None = None
        """Made when words are first searched for."""
        self.forecast: Forecast | None = None
        """What a prompt cache can serve of the request; None for nothing known."""
        self._under: CursorTarget | None = None
        """What the cursor or the mouse is on."""
        self._rule = ""
        """Why that is there, as a sentence."""
        self._places = ""
        """Which of the highlighted places the cursor is on, in words."""

    def compose(self) -> ComposeResult:
        yield self._view_switches
        yield self._protocol_switches
        yield self._banner
        yield self.views
        yield self._origin
        with Horizontal(id="inspector-foot"):
            yield self._notes
            yield self._cache

    def on_mount(self) -> None:
        self._show_switches()

    def focus(self, scroll_visible: bool = True) -> Self:
        self.views.current.focus(scroll_visible)
        return self

    @property
    def is_banner_up(self) -> bool:
        """True if the request shown is not the live one."""
        return self.has_class("-banner")

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
        self._state = replace(self._state, composed=composed)
        for widget in (self, self.views):
            widget.set_class(composed is None, "-empty")
        if composed is not None:
            self.active = composed.protocol
        self._stale = True
        inputs = composed.inputs if composed is not None else None
        self.mark("lorebooks", inputs is not None and bool(inputs.lorebooks))
        if self.is_on_screen:
            self._draw()

    def mark(self, fact: str, is_there: bool) -> None:
        """Note whether there is something that a view needs to have a switch."""
        self._facts = self._facts | {fact} if is_there else self._facts - {fact}

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

    def show_forecast(self, forecast: Forecast | None) -> None:
        """Show a cache forecast; None for none."""
        self.forecast = forecast
        if self.is_on_screen:
            self._show_notes()

    def show_banner(self, words: str) -> None:
        """Show the words about a request that is not the live one; empty for the live one."""
        if words != self._words:
            self._words = words
            self._show_banner()

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

    # Drawing

    def _draw(self) -> None:
        self._stale = False
        composed = self.composed
        if composed is None:
            self.views.payload.show(None)
            return
        self.views.current.show_state(self._state)
        if self.view_shown == PAYLOAD:  # another request may have the same text at the same place
            self._show_under(self.views.payload.under)
        self._show_notes()
        self._show_switches()

    @property
    def _listed_notes(self) -> tuple[Note, ...]:
        return tuple(self.composed.notes) if self.composed is not None else ()

    def _show_notes(self) -> None:
        notes, forecast = self._listed_notes, self.forecast
        self._notes.show(note_line(notes))
        self._notes.tooltip = Content(sanitize(notes[0].sentence)) if notes else None
        self._cache.display = forecast is not None and forecast.compares
        if forecast is not None:
            self._cache.update(cache_line(forecast))
            self._cache.tooltip = Content(sanitize(forecast_sentences(forecast)))

    def _show_switches(self) -> None:
        notes = [note for note in self._listed_notes if note.code not in OF_EDITS]
        count = f"{len(notes):,}" if notes else ""
        style = LEVEL_STYLES[notes[0].level] if notes else ""
        declared = views()
        self._view_switches.switches = tuple(
            Switch(
                *(declared[name].label, declared[name].short, f"view({name!r})"),
                is_on=name == self.view_shown,
                number=count if name == NOTES else "",
                number_style=style,
            )
            for name in self._with_switches
        )
        self._protocol_switches.switches = tuple(
            Switch(label, short, f"protocol('{each}')", each is self.active, str(number))
            for number, (each, (label, short)) in enumerate(_PROTOCOLS.items(), 1)
        )

    @property
    def _with_switches(self) -> list[str]:
        """The names of the views that have a switch."""
        facts = {"", *self._facts}
        return [v.name for v in views().values() if v.needs in facts or v.name == self.view_shown]

    def _show_banner(self) -> None:
        words, own = self._words, self.own_protocol
        if own is not None and own is not self.active:
            sends = "it was" if words else "Enter sends"
            words += f"{' · ' * bool(words)}{self.active.label} preview: {sends} {own.label}"
        self.set_class(bool(words), "-banner")
        self._banner.update(Content(sanitize(words, "exact")))

    def _show_under(self, under: CursorTarget | None) -> None:
        """Say what is under the cursor of the body, and why it is there in the present request."""
        note, composed = self.views.payload.note_here, self.composed
        sentences = [f"{SYMBOLS[note.level]} {note.sentence}"] if note is not None else []
        if under is not None and composed is not None:
            sentences.append(placement_rule(under, composed))
        self._show_origin(under, " ".join(sentences))

    def _show_origin(self, under: CursorTarget | None, rule: str) -> None:
        """Say what is under the cursor or the mouse; nothing while the cursor follows a draft that
        is typed elsewhere.
        """
        self._under, self._rule = under, rule
        is_here = self.has_focus_within or self.has_pseudo_class("hover")
        is_used = is_here or not self.views.payload.cursor.is_on_draft
        width = self._origin.content_size.width
        line = origin_line(under, rule, self._places, width) if is_used else Content("")
        self._origin.show(line)

    def watch_view_shown(self) -> None:
        had_focus = self.has_focus_within
        self._state = replace(self._state, loaded=None)  # it is of the view before
        try:
            self.views.select(self.view_shown)
        except InputError as error:  # another person's plugin
            self.notify(str(error), severity="error", markup=False)
            self.view_shown = PAYLOAD
            return
        if views()[self.view_shown].needs == "opened":
            self.mark("opened", True)
        self.close_find()  # its words and count are those of the view before
        view = self.views.current
        self.set_class(not view.shows_request, "-aside")
        self._show_switches()
        if had_focus:
            view.focus()
        if self.composed is not None and not self._stale:
            self._draw()
        if isinstance(view, RowsView):
            view.post_highlighted_again()
        self.post_message(self.ViewChanged())

    def watch_own_protocol(self) -> None:
        self._show_banner()

    def watch_active(self) -> None:
        self._show_banner()
        self._show_switches()

    def on_show(self) -> None:
        """Catch up with the requests composed, and the view chosen, while it was hidden."""
        if self._stale:
            self._draw()
        if views()[self.view_shown].load:
            self.post_message(self.ViewChanged())

    def on_resize(self, event: events.Resize) -> None:
        """Give the view the room: in a low pane the lines around it shrink."""
        self.set_class(event.size.height < 10, "-low")

    # Keys and clicks

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable beside a view that does not show the request what is about the request."""
        if action in _OF_REQUEST and not self.views.current.shows_request:
            return None
        return super().check_action(action, parameters)

    def on_descendant_focus(self) -> None:
        """Post the origin under the cursor, although the cursor did not move."""
        self._show_origin_again()
        self.post_message(self.OriginPointed(self.origin_under_cursor))

    def on_enter(self) -> None:
        self._show_origin_again()

    def on_leave(self) -> None:
        self._show_origin_again()

    def on_descendant_blur(self) -> None:
        """Close the line to find words once another pane has the focus: the view follows that."""
        self.call_after_refresh(self._show_origin_again)
        if self._find_bar is not None and self._find_bar.display:
            self.call_after_refresh(self._close_left_find)

    def _show_origin_again(self) -> None:
        self._show_origin(self._under, self._rule)

    def _close_left_find(self) -> None:
        if self.is_attached and self.screen.focused is not None and not self.has_focus_within:
            self.close_find()

    @property
    def origin_under_cursor(self) -> Origin | None:
        """The origin of what the cursor or the mouse is on."""
        return self._under.origin if self._under is not None else None

    def action_step_view(self, step: int) -> None:
        """Show the next view, round the end."""
        order = self._with_switches
        self.action_view(order[(order.index(self.view_shown) + step) % len(order)])

    def action_view(self, name: str) -> None:
        """Show a view. The cursor stays on the same origin, if both views have places."""
        shown = _is_shown(views()[self.view_shown].label)
        if name == self.view_shown:
            self.notify(shown)
            return
        before = self.views.current
        self.view_shown = name
        view = self.views.current
        if before.has_places and view.has_places:
            origin, composed = before.origin_at_cursor, self.composed
            if origin is None or composed is None or not is_left_out(composed, origin):
                view.show_place(origin)

    def action_protocol(self, name: str) -> None:
        """Ask for the request in a protocol; with it `active` changes."""
        protocol = Protocol(name)
        if protocol is self.active and self.composed is not None:
            self.notify(_is_shown(protocol.label))
            return
        self.call_later(self.run_action, f"inspector.show_in_protocol('{protocol}')")

    def action_notes(self) -> None:
        """Show the notes."""
        self.action_view(NOTES)
        self.views.current.focus()

    def action_difference(self) -> None:
        """Go to the first difference from the last accepted request."""
        if self.forecast is not None and self.forecast.at.origin is not None:
            self.reveal(self.forecast.at.origin)

    async def action_source(self) -> None:
        await self.views.current.action_open()

    def action_copy_body(self) -> None:
        """Copy the exact body."""
        if self.composed is not None:
            copy_text(self, self.composed.payload.body.decode(), "the body")

    def action_copy_curl(self) -> None:
        """Copy a shell command that sends the same bytes; the key is a variable."""
        copy_curl(self, self.composed)

    async def action_live(self) -> None:
        """Close the line to find words, else clear the selection, else go back to the live request;
        if that is shown, leave Esc to the app.
        """
        if self._find_bar is not None and self._find_bar.display:
            self.close_find()
        elif self.views.payload.text_selection is not None:
            self.screen.clear_selection()
        elif self.is_banner_up:
            await self.run_action("inspector.return_to_live")
        else:
            raise SkipAction

    async def on_click(self, event: events.Click) -> None:
        if event.widget is self._banner:
            await self.run_action("inspector.return_to_live")
        elif event.widget is self._origin:
            await self.action_source()

    def on_rows_view_row_highlighted(self, event: RowsView.RowHighlighted) -> None:
        event.stop()
        row = event.row
        origin = row.origin if row is not None else None
        under = None if origin is None else CursorTarget(origin, origin, "", 0)
        self._show_origin(under, row.hint if row is not None else "")
        self.post_message(self.OriginPointed(origin))

    def on_notes_view_place_wanted(self, event: NotesView.PlaceWanted) -> None:
        event.stop()
        if event.origin is None or not self.reveal(event.origin):
            self.notify("This note has no position in the body. Press w to go to its source.")
        self.views.current.focus()

    def on_payload_view_target_changed(self, event: PayloadView.TargetChanged) -> None:
        event.stop()
        self._places = ""
        self._show_under(event.under)
        self.post_message(self.OriginPointed(self.origin_under_cursor))

    # Finding

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
        elif self.view_shown == PAYLOAD:
            several = event.count > 1
            self._places = f"{event.number:,} of {event.count:,} · n N" if several else ""
            self._show_under(self.views.payload.under)


def _is_shown(label: str) -> str:
    return f"{label} is shown already."
