"""The correction of estimated token counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Correction:
    """The ratio of reported to estimated tokens of a model, from the usage of its replies.

    A pure value, kept for each model. Older replies weigh less.
    """

    estimated: float = 0.0
    """Estimated tokens, a weighted sum over replies."""
    reported: float = 0.0
    """Tokens that the provider counted for the same requests, weighted alike."""

    _FADING = 0.7
    _LEAST, _MOST = 0.25, 4.0

    @property
    def ratio(self) -> float:
        """The factor for estimates, rounded to hundredths; 1 if unknown."""
        if self.estimated <= 0 or self.reported <= 0:
            return 1.0
        return round(min(max(self.reported / self.estimated, self._LEAST), self._MOST), 2)

    def after(self, estimated: int, reported: int | None) -> Correction:
        """Return the correction after one more reply: the uncorrected estimate of its request
        (`Budget.uncorrected`) and the reported input tokens (including cached ones).
        """
        if estimated <= 0 or not reported or reported < 0:
            return self
        return Correction(
            self.estimated * self._FADING + estimated, self.reported * self._FADING + reported
        )


NO_CORRECTION = Correction()
