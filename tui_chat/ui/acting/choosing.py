"""Choosing: model, preset and what else a session is bound to."""

from __future__ import annotations

from textual import work

from tui_chat.ui.acting.shell import Shell


class Choosing(Shell):
    """Asks which, and tells the desk."""

    @work(group="dialog", exclusive=True)
    async def action_choose_model(self) -> None:
        """Ask another model, at any endpoint, from the next message on."""
        from tui_chat.ui.questions import ask_model

        await self._laid.wait()
        if self.desk is not None and (chosen := await ask_model(self, self.desk)):
            self._protocol = None
            await self.desk.choose(*chosen)

    @work(group="dialog", exclusive=True)
    async def action_choose_preset(self) -> None:
        """Use another preset from the next message on."""
        from tui_chat.ui.questions import ask_preset

        await self._laid.wait()
        if self.desk is not None and (chosen := await ask_preset(self, self.desk)):
            await self.desk.choose_preset(chosen)
