"""Cache forecasts: how much of a request the provider will find in its cache, compared with the
last request to the same endpoint.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_chat.compose import Composed
from tui_chat.models.session import Entry
from tui_chat.tokens import Counter, counter_for
from tui_chat.workspace.events import RequestOutdated
from tui_chat.workspace.state import LastSent

if TYPE_CHECKING:
    from tui_chat.analysis import Forecast, Forecaster
    from tui_chat.workspace.workspace import Workspace

_FORECASTS_KEPT = 4
"""Forecasts of the newest requests: when one has been sent, the next one is composed already."""


class Forecasts:
    """Forecasts for the requests of the active session."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._forecaster: Forecaster | None = None
        """Compares only what changed since its last forecast."""
        self._newest: tuple[tuple[Composed, Forecast], ...] = ()
        self._seen: dict[str, LastSent] = {}
        """The last request to each endpoint that `follow_sent` has seen in this session."""
        self._of_sent: dict[str, tuple[str, Forecast | None]] = {}
        """The reply id and forecast of the last request to each endpoint."""
        self._recalled: set[str] = set()
        """The endpoints whose last request was looked up in this session."""

    def forget(self) -> None:
        """Free what belongs to the active session before another one is opened."""
        self._forecaster, self._newest = None, ()
        self._seen, self._recalled = {}, set()

    def forecast(self, composed: Composed) -> Forecast | None:
        """Return the forecast for a request; None if no request to its endpoint is known."""
        from tui_chat.analysis import Forecaster

        last = self._workspace.state.last_sent.get(composed.endpoint.name)
        if last is None:
            return None
        if not self._newest or self._newest[-1][0] is not composed:
            self._forecaster = self._forecaster or Forecaster()
            forecast = self._forecaster(last.composed, composed, _counter_of(composed))
            self._newest = (*self._newest[1 - _FORECASTS_KEPT :], (composed, forecast))
        return self._newest[-1][1]

    def follow_sent(self) -> None:
        """Keep the forecasts of requests that were sent: as they were shown, else made now."""
        from tui_chat.analysis import Forecaster

        for endpoint, sent in self._workspace.state.last_sent.items():
            last = self._seen.get(endpoint)
            if last is sent:
                continue
            self._seen[endpoint] = sent
            if self._of_sent.get(endpoint, ("", None))[0] == sent.entry_id:
                continue  # it was recalled
            shown = (each for known, each in self._newest if known is sent.composed)
            forecast = next(shown, None)
            if forecast is None and last is not None:
                forecast = Forecaster()(last.composed, sent.composed, _counter_of(sent.composed))
            self._of_sent[endpoint] = sent.entry_id, forecast

    def of_reply(self, entry: Entry) -> Forecast | None:
        """Return the forecast for the request of a reply, if that was the last to its endpoint."""
        entry_id, forecast = self._of_sent.get(entry.endpoint, ("", None))
        return forecast if entry_id == entry.message.id else None

    def should_recall(self, endpoint: str) -> bool:
        """Return True once for an endpoint without a known request, for `recall` to look it up."""
        if endpoint in self._workspace.state.last_sent or endpoint in self._recalled:
            return False
        self._recalled.add(endpoint)
        return True

    async def recall(self, endpoint: str, draft: str) -> None:
        """Look up the last request to an endpoint in the store, and publish `RequestOutdated` if
        there is one now that was not known before.
        """
        from tui_chat.analysis import Forecaster

        workspace = self._workspace
        last = await workspace.request_history.last_sent(endpoint)
        if last is None or endpoint in workspace.state.last_sent:
            return
        if workspace.state.endpoint.name == endpoint:
            # Comparing all of it takes a while; from then on only what changes is compared.
            forecaster, now = Forecaster(), workspace.requests.compose(draft)
            await asyncio.to_thread(forecaster, last.composed, now, _counter_of(now))
            self._forecaster = forecaster
        last_sent = {endpoint: last, **workspace.state.last_sent}
        workspace.update(RequestOutdated(), last_sent=last_sent)


def _counter_of(composed: Composed) -> Counter:
    """Return the counter of a request's tokens, corrected as the figures beside it are."""
    counter = counter_for(composed.model)
    return counter if composed.inputs is None else counter.corrected(composed.inputs.correction)
