"""Estimated token counts, corrected by what providers counted, for each endpoint and model. The
corrections are stored between runs of the program.
"""

from __future__ import annotations

from collections.abc import Mapping

from tui_chat.compose import Composed
from tui_chat.config import LOOPBACK_URL
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import pack, unpack
from tui_chat.tokens import NO_CORRECTION, Correction
from tui_chat.workspace.core import WorkspaceCore

_SETTING = "corrections"
"""The name of the stored setting that holds the corrections."""

_MAX_MODELS = 100
"""Models whose correction is stored, the latest ones."""


@dataclass(frozen=True, slots=True)
class _StoredCorrection:
    endpoint: str
    model: str
    correction: Correction


class TokenCalibration:
    """Corrects token estimates by what providers reported."""

    def __init__(self, core: WorkspaceCore) -> None:
        self.core = core
        self._corrections: dict[tuple[str, str], Correction] = {}
        """By endpoint and model; the one learned last is last."""

    def correction(self, endpoint: str, model: str) -> Correction:
        """Return the correction of estimates for a model at an endpoint."""
        return self._corrections.get((endpoint, model), NO_CORRECTION)

    def learn(self, composed: Composed, reported: int | None) -> Mapping[str, str]:
        """Learn from the number of input tokens that the provider reported for a request. The
        offline provider counts the tokens of no model, so nothing is learned from it, nor from a
        request whose earlier turns the provider keeps. Return the settings to store.
        """
        budget = composed.envelope.budget
        is_partial = composed.envelope.semantics.is_continuation
        is_offline = composed.endpoint.base_url.startswith(LOOPBACK_URL)
        if budget is not None and not is_partial and not is_offline:
            key = composed.endpoint.name, composed.model
            correction = self._corrections.pop(key, NO_CORRECTION)
            self._corrections[key] = correction.after(budget.uncorrected, reported)
            if self._corrections[key] != correction:
                return {_SETTING: dump_corrections(self._corrections)}
        return {}

    async def load(self) -> None:
        """Read the corrections that an earlier run stored. Raises StoreError."""
        text = await self.core.store.settings.get(_SETTING)
        self._corrections = read_corrections(text or "") | self._corrections


def dump_corrections(corrections: Mapping[tuple[str, str], Correction]) -> str:
    """Return the latest corrections as text."""
    latest = list(corrections.items())[-_MAX_MODELS:]
    return pack(tuple(_StoredCorrection(*key, correction) for key, correction in latest))


def read_corrections(text: str) -> dict[tuple[str, str], Correction]:
    """Return the corrections in a text; none if it cannot be read."""
    try:
        stored: tuple[_StoredCorrection, ...] = unpack(tuple[_StoredCorrection, ...], text)
    except (ValueError, TypeError, LookupError, AttributeError):
        return {}
    return {(correction.endpoint, correction.model): correction.correction for correction in stored}
