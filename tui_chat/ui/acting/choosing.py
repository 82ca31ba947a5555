"""Choosing: model, preset and what else a session is bound to."""

from __future__ import annotations

from textual import work

from tui_chat.errors import InputError
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

    @work(group="dialog", exclusive=True)
    async def action_rename(self) -> None:
        """Give the shown session another title."""
        from tui_chat.ui.questions import ask_title

        desk = self.desk
        if desk is None or desk.session is None:
            self.complain(InputError("A session has a title once it has a message."))
        elif title := await ask_title(self, desk.session.title):
            await desk.rename(desk.session.session_id, title)

    async def take_title(self, title: str) -> None:
        """Give the shown session this title."""
        desk = self.desk
        if desk is None or desk.session is None:
            self.complain(InputError("A session has a title once it has a message."))
        else:
            await desk.rename(desk.session.session_id, title)

    async def take_model(self, name: str) -> None:
        """Ask this model: `MODEL`, or `ENDPOINT/MODEL`.

        A model that no endpoint offers is asked all the same, at the present one.
        """
        desk = self.desk
        if desk is None:
            return
        at, _, model = name.partition("/")
        endpoints = {endpoint.name: endpoint for endpoint in desk.config.endpoints}
        if model and at in endpoints:
            self._protocol = None
            await desk.choose(at, model)
            return
        offering = [endpoint for endpoint in endpoints.values() if name in endpoint.models]
        here = desk.endpoint if desk.endpoint in offering or not offering else offering[0]
        self._protocol = None
        await desk.choose(here.name, name)

    async def take_preset(self, name: str) -> None:
        """Use this preset from the next message on."""
        desk = self.desk
        if desk is None:
            return
        if name in desk.presets:
            await desk.choose_preset(name)
        else:
            known = ", ".join(desk.presets)
            self.complain(
                InputError(f"There is no preset “{name}”.", advice=f"There are: {known}.")
            )
