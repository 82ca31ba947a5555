"""How far estimates are off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Correction:
    """The ratio of reported to estimated tokens of a model, from the usage of its replies.

    A pure value, to be kept for each model: `correction.after(estimated, reported)` learns from
    one more reply. Older replies count less and less.
    """

    estimated: float = 0.0
    """Tokens that were estimated, older ones fading."""
    reported: float = 0.0
    """Tokens that the provider counted for the same requests."""

    _FADING = 0.7
    _LEAST, _MOST = 0.25, 4.0

    @property
    def ratio(self) -> float:
        """What an estimate is to be multiplied with, in hundredths; 1 where nothing is known."""
        if self.estimated <= 0 or self.reported <= 0:
            return 1.0
        return round(min(max(self.reported / self.estimated, self._LEAST), self._MOST), 2)

    def after(self, estimated: int, reported: int | None) -> Correction:
        """Learn from a reply: what was estimated for its request, uncorrected
        (`Budget.uncorrected`), and how many input tokens it reported (cached ones included).
        """
        if estimated <= 0 or not reported or reported < 0:
            return self
        return Correction(
            self.estimated * self._FADING + estimated, self.reported * self._FADING + reported
        )


NO_CORRECTION = Correction()
