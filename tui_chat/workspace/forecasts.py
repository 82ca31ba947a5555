"""Forecasts of the prompt cache: how much of a request the provider will find in it, compared with
the last request of the session that the same endpoint accepted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_chat.compose import Composed
from tui_chat.models.session import Entry
from tui_chat.tokens import Counter, counter_for
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import RequestOutdated
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.state import LastSent, WorkspaceState

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast

_FORECASTS_KEPT = 4
"""Forecasts of the newest requests: when one has been sent, the next one is composed already."""


class Forecasts:
    """Forecasts for the requests of the active session."""

    def __init__(self, core: WorkspaceCore, requests: Requests, history: RequestHistory) -> None:
        self.core = core
        self._requests = requests
        self._history = history
        core.watch(self._follow_session)
        self._newest: tuple[tuple[Composed, Forecast], ...] = ()
        self._seen: dict[str, LastSent] = {}
        """The last request to each endpoint that `follow_sent` has seen in this session."""
        self._of_sent: dict[str, tuple[str, Forecast | None]] = {}
        """The reply id and forecast of the last request to each endpoint."""
        self._recalled: set[str] = set()
        """The endpoints whose last request was looked up in this session."""

    def _follow_session(self, before: WorkspaceState, now: WorkspaceState) -> None:
        """Free what belongs to a session that is left."""
        if now.session_id != before.session_id:
            self._newest = ()
            self._seen, self._recalled = {}, set()

    def forecast(self, composed: Composed) -> Forecast | None:
        """Return the forecast for a request; None if its endpoint accepted none of the session."""
        from tui_chat.analysis.cache_forecast import forecast_cache

        last = self.core.state.last_sent.get(composed.endpoint.name)
        if last is None:
            return None
        if not self._newest or self._newest[-1][0] is not composed:
            forecast = forecast_cache(last.composed, composed, _counter_of(composed))
            self._newest = (*self._newest[1 - _FORECASTS_KEPT :], (composed, forecast))
        return self._newest[-1][1]

    def follow_sent(self) -> None:
        """Keep the forecasts of requests that were sent: as they were shown, else made now."""
        from tui_chat.analysis.cache_forecast import forecast_cache

        for endpoint, sent in self.core.state.last_sent.items():
            last = self._seen.get(endpoint)
            if last is sent:
                continue
            self._seen[endpoint] = sent
            if self._of_sent.get(endpoint, ("", None))[0] == sent.entry_id:
                continue  # it was recalled
            forecasts = (shown for composed, shown in self._newest if composed is sent.composed)
            forecast = next(forecasts, None)
            if forecast is None and last is not None:
                forecast = forecast_cache(last.composed, sent.composed, _counter_of(sent.composed))
            self._of_sent[endpoint] = sent.entry_id, forecast

    def of_reply(self, entry: Entry) -> Forecast | None:
        """Return the forecast for the request of a reply, if that was the last to its endpoint."""
        entry_id, forecast = self._of_sent.get(entry.endpoint, ("", None))
        return forecast if entry_id == entry.message.id else None

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
        from tui_chat.analysis.cache_forecast import forecast_cache

        core = self.core
        session_id = core.state.session_id
        last = await self._history.last_sent(endpoint)
        is_active = core.state.is_active(session_id)
        if last is None or not is_active or endpoint in core.state.last_sent:
            return
        if core.state.request.session_id != session_id:
            # Its first request is still being composed, in a thread if it is long.
            self._recalled.discard(endpoint)
            return
        if core.state.endpoint.name == endpoint:
            # Counting all of it takes a while; from then on only what changes is counted.
            now = self._requests.compose(draft)
            await asyncio.to_thread(forecast_cache, last.composed, now, _counter_of(now))
            if not core.state.is_active(session_id):
                return
        last_sent = {endpoint: last, **core.state.last_sent}
        core.update(RequestOutdated(), last_sent=last_sent)


def _counter_of(composed: Composed) -> Counter:
    """Return the counter of a request's tokens, corrected as the figures beside it are."""
    counter = counter_for(composed.model)
    return counter if composed.inputs is None else counter.corrected(composed.inputs.correction)
