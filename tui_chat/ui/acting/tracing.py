"""Tracing: from a piece of the request to where it came from, and back.

What the cursor of the inspector is on lights up where it came from; what the cursor of another
pane is on lights up in the request. `w` goes over, from either side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.acting.shell import Shell
from tui_chat.ui.chat.messages import CursorMoved

if TYPE_CHECKING:
    from textual import events

    from tui_chat.ui.inspector import Inspector


class Tracing(Shell):
    """Shows sources, and places of a source."""

    def reveal_in_request(self, origin: Origin) -> None:
        """Show all places in the request that came from an origin."""
        inspector = self.panes.inspector
        if inspector is None:
            return
        self.panes.open("inspector")

        def reveal() -> None:
            inspector.focus()
            if not inspector.reveal(origin):
                words = "Nothing of it is in this request."
                if inspector.is_left_out(origin):
                    words = "It was left out to fit: the newest messages that fit are kept."
                elif origin.kind is OriginKind.PRESET:
                    words = "Nothing of it is sent: the reason is told below."
                self.notify(words, severity="warning", timeout=4, markup=False)

        self.call_after_refresh(reveal)

    @on(CursorMoved)
    def _cursor_moved(self, event: CursorMoved) -> None:
        """Show in the request what the cursor of the conversation is on."""
        inspector = self.panes.inspector
        if inspector is not None and inspector.is_on_screen:
            inspector.point(Origin(OriginKind.HISTORY, event.entry_id))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Follow the draft again, where one goes on with it; what the inspector lit goes out."""
        inspector = self.panes.inspector
        if inspector is None or inspector.has_focus_within:
            return
        self._composer.set_class(False, "-lit")
        self._chat.transcript.highlight("")
        if event.widget is self._composer is self.focused:  # it may have gone on meanwhile
            inspector.point(None)

    def on_inspector_origin_pointed(self, event: Inspector.OriginPointed) -> None:
        """Light up where something came from."""
        origin, inspector = _source(event.origin), self.panes.inspector
        kind = origin.kind if origin is not None else OriginKind.GLUE
        is_asked = inspector is not None and inspector.has_focus_within
        self._composer.set_class(kind is OriginKind.DRAFT and is_asked, "-lit")
        is_message = origin is not None and kind is OriginKind.HISTORY
        self._chat.transcript.highlight(origin.id if origin is not None and is_message else "")

    async def on_inspector_origin_chosen(self, event: Inspector.OriginChosen) -> None:
        """Go where something came from."""
        origin = _source(event.origin)
        kind = origin.kind if origin is not None else OriginKind.GLUE
        match kind:
            case OriginKind.HISTORY if origin is not None:
                if self._chat.transcript.show_message(origin.id):
                    if self.panes.is_narrow:
                        self.panes.close_overlay()
                    self._chat.transcript.focus()
                else:
                    self.notify("It is not on the shown branch.", timeout=4)
            case OriginKind.DRAFT:
                self._composer.focus()
            case OriginKind.PRESET:
                pass  # see `Editing`
            case OriginKind.SYSTEM:
                await self.run_action("edit_roles")
            case OriginKind.PROFILE:
                await self.run_action("choose_profile")
            case OriginKind.LORE:
                await self.run_action("choose_lorebooks")
            case OriginKind.SETTING:
                await self.run_action("choose_model")
            case _:
                self.notify("The protocol says this of itself.", timeout=4)


def _source(origin: Origin | None) -> Origin | None:
    """Return what a person wrote, of a macro or a setting in it."""
    while origin is not None and origin.within is not None:
        origin = origin.within
    return origin
