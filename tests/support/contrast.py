"""The contrast of two colors."""

from __future__ import annotations

from textual.color import Color


def linear(color: str) -> list[float]:
    """Return the parts of a color, proportional to their light."""
    parts = [part / 255 for part in Color.parse(color).rgb]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    weights = (0.2126, 0.7152, 0.0722)
    low, high = sorted(
        sum(w * c for w, c in zip(weights, linear(color), strict=True)) for color in (one, other)
    )
    return (high + 0.05) / (low + 0.05)
