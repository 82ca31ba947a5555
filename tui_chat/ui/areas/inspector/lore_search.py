"""The search of the lorebooks for the lore view, in slices that no key has to wait for."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Callable
from time import monotonic

from tui_chat.analysis.lore_table import LoreTable
from tui_chat.compose import Composed

LORE_PAUSE = 0.05
"""Seconds without another request after which lore is explained."""
LORE_REST = 0.004
"""Seconds between the turns that are searched for the lore view."""
LORE_SHOWN_AFTER = 0.25
"""Seconds after which the lore view shows what was found meanwhile."""


class LoreSearch:
    """Searches the turns of a request, the newest first. What is known serves the next request."""

    def __init__(self, show: Callable[[LoreTable | None], None], is_shown: Callable[[], bool]):
        """`show` is given the table while it fills; the search ends when it is not `is_shown`."""
        self._show, self._is_shown = show, is_shown
        self._table: LoreTable | None = None

    def forget(self) -> None:
        """Drop the table, because another conversation follows."""
        self._table = None

    async def run(self, composed: Composed) -> None:
        """Search for a request, when typing pauses."""
        inputs = composed.inputs
        if inputs is None or not inputs.lorebooks:
            self._table = None
            self._show(None)
            return
        await sleep(LORE_PAUSE)
        table = self._table = LoreTable(inputs, self._table)
        self._show(table)
        shown_at = monotonic()
        while self._is_shown() and table.compute_next():
            if monotonic() - shown_at > LORE_SHOWN_AFTER:
                self._show(table)
                shown_at = monotonic()
            await sleep(LORE_REST)
        self._show(table)
