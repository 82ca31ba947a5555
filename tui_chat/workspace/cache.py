"""The prompt cache: how much of a request the provider will find in it, compared with the last one
of the session that the same endpoint accepted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_chat.compose import Composed
from tui_chat.models.memo import recent_memo
from tui_chat.tokens import counter_for
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import RequestOutdated
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.sent import Sent
from tui_chat.workspace.state import WorkspaceState

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast


class PromptCache:
    """Forecasts for the requests of the active session."""

    def __init__(self, core: WorkspaceCore, requests: Requests, sent: Sent) -> None:
        self.core = core
        self._requests, self._sent = requests, sent
        self._recalled: set[str] = set()
        """The endpoints whose last request was looked up since the session was opened."""
        core.watch(self._follow_session)

    def _follow_session(self, before: WorkspaceState, now: WorkspaceState) -> None:
        if now.session_id != before.session_id:
            self._recalled = set()

    def forecast(self, composed: Composed) -> Forecast | None:
        """Return the forecast for a request; None if its endpoint accepted none of the session."""
        last = self.core.state.last_sent.get(composed.endpoint.name)
        return None if last is None else _forecast(composed, last.composed)

    def should_recall(self, endpoint: str) -> bool:
        """Return True once for an endpoint without a known request, for `recall` to look it up."""
        if endpoint in self.core.state.last_sent or endpoint in self._recalled:
            return False
        self._recalled.add(endpoint)
        return True

    async def recall(self, endpoint: str, draft: str) -> None:
        """Look up the session's last request that an endpoint accepted in the store, and publish
        `RequestOutdated` if there is one now that was not known before.
        """
        core, session_id = self.core, self.core.state.session_id
        last = await self._sent.last_sent(endpoint)
        is_active = core.state.is_active(session_id)
        if last is None or not is_active or endpoint in core.state.last_sent:
            return
        if core.state.request.session_id != session_id:
            # Its first request is still being composed, in a thread if it is long.
            self._recalled.discard(endpoint)
            return
        if core.state.endpoint.name == endpoint:
            # Counting all of it takes a while; from then on only what changes is counted.
            await asyncio.to_thread(_forecast, self._requests.compose(draft), last.composed)
            if not core.state.is_active(session_id):
                return
        core.update(RequestOutdated(), last_sent={endpoint: last, **core.state.last_sent})


@recent_memo()
def _forecast(composed: Composed, last: Composed) -> Forecast:
    from tui_chat.analysis.cache_forecast import forecast_cache

    counter = counter_for(composed.model)
    if composed.inputs is not None:  # corrected as the figures beside it are
        counter = counter.corrected(composed.inputs.correction)
    return forecast_cache(last, composed, counter)
