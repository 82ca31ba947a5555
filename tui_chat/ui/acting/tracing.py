"""Tracing: from a piece of the request to where it came from, and back.

What the cursor is on lights up where it came from; Enter goes there. From a message of the
conversation one comes to its places in the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.model.text import Origin, OriginKind
from tui_chat.ui.acting.shell import Shell

if TYPE_CHECKING:
    from tui_chat.ui.inspector import Inspector


class Tracing(Shell):
    """Shows sources, and places of a source."""

    def reveal_in_request(self, origin: Origin) -> None:
        """Show all places in the request that came from an origin."""
        inspector = self._panes.inspector
        if inspector is None:
            return
        self._panes.open("inspector")

        def reveal() -> None:
            inspector.focus()
            if not inspector.reveal(origin, show=True):
                words = "Nothing of it is in this request."
                if inspector.is_left_out(origin):
                    words = "It was left out to fit: the newest messages that fit are kept."
                self.notify(words, severity="warning", timeout=4, markup=False)

        self.call_after_refresh(reveal)

    def on_inspector_origin_pointed(self, event: Inspector.OriginPointed) -> None:
        """Light up where something came from."""
        origin = _source(event.origin)
        is_message = origin is not None and origin.kind is OriginKind.HISTORY
        self._chat.transcript.light(origin.id if origin is not None and is_message else "")

    async def on_inspector_origin_chosen(self, event: Inspector.OriginChosen) -> None:
        """Go where something came from."""
        origin = _source(event.origin)
        kind = origin.kind if origin is not None else OriginKind.GLUE
        match kind:
            case OriginKind.HISTORY if origin is not None:
                if self._chat.transcript.show_message(origin.id):
                    if self._panes.is_narrow:
                        self._panes.close_overlay()
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
