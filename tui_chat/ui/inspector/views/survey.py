"""What a context is made of, as its view needs it: zones, and what stands in it at all."""

from __future__ import annotations

from collections import Counter

from tui_chat.models.envelope import Turn
from tui_chat.models.same import same_objects
from tui_chat.models.text import OriginKind

_ZONES = {
    "system": "First of all",
    "skeleton": "Preset list",
    "before": "Preset list",
    "after": "Preset list",
    "depth": "Chat history",
    "history": "Chat history",
    "draft": "Chat history",
}


class Survey:
    """Looks at one context after the other; costs the turns that were not there before."""

    def __init__(self) -> None:
        self.zones: list[tuple[str, int, int]] = []
        """The runs of turns in one zone: its name, its first turn and the one behind it."""
        self.ids = Counter[str]()
        """How many turns came from each source other than the history, by its id."""
        self.anchors = Counter[str]()
        """How many turns were placed by each anchor."""
        self._turns: tuple[Turn, ...] = ()

    def take(self, turns: tuple[Turn, ...]) -> None:
        """Look at the turns of another context."""
        same = same_objects(self._turns, turns)
        self._count(self._turns[same:], -1)
        self._count(turns[same:], 1)
        self._turns = turns
        zones = [(name, at, min(end, same)) for name, at, end in self.zones if at < same]
        for index in range(same, len(turns)):
            name = _ZONES[turns[index].placement.kind]
            if zones and zones[-1][0] == name:
                zones[-1] = name, zones[-1][1], index + 1
            else:
                zones.append((name, index, index + 1))
        self.zones = zones

    def _count(self, turns: tuple[Turn, ...], times: int) -> None:
        for turn in turns:
            if turn.origin.kind is not OriginKind.HISTORY:
                self.ids[turn.origin.id] += times
            self.anchors[turn.placement.anchor] += times
