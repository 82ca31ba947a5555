"""Setting the shown session: model, endpoint, preset."""

from __future__ import annotations

from dataclasses import replace

from tui_chat.desk.changes import BranchChanged
from tui_chat.desk.composing import Composing
from tui_chat.desk.outside import Outside
from tui_chat.desk.state import State
from tui_chat.transport import discover


class Choosing:
    """What holds from the next message on."""

    def __init__(self, state: State, outside: Outside, composing: Composing) -> None:
        self._state = state
        self._outside = outside
        self._composing = composing

    async def model(self, endpoint: str, model: str) -> None:
        """Ask another model; see `Desk.choose`."""
        state = self._state
        with self._outside.telling():
            state.endpoint = state.config.endpoint_named(endpoint)
            state.model = model
            self._composing.forget()
            if state.session is not None:
                state.session = await self._outside.store.update_session(
                    state.session.session_id, endpoint=endpoint, model=model
                )
            self._outside.tell(BranchChanged())

    async def preset(self, name: str) -> None:
        """Use another preset."""
        state = self._state
        with self._outside.telling():
            state.preset = self._outside.load_preset(name)
            self._composing.forget()
            if state.session is not None:
                state.session = await self._outside.store.update_session(
                    state.session.session_id, preset=name
                )
            self._outside.tell(BranchChanged())

    async def discover(self) -> None:
        """Look for model servers on this machine, and offer the models they have."""
        state = self._state
        with self._outside.telling():
            found = await discover(state.config.endpoints, self._outside.transport)
            at = {endpoint.base_url: endpoint for endpoint in found}
            known = [at.pop(known.base_url, known) for known in state.config.endpoints]
            state.config = replace(state.config, endpoints=(*known, *at.values()))
