"""What replies taught of token estimates, as text that is kept between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tui_chat.models.json_values import pack, unpack
from tui_chat.tokens import Correction

_MOST = 100
"""Models that are kept; who was not asked for so long is estimated anew."""


@dataclass(frozen=True, slots=True)
class _Learned:
    endpoint: str
    model: str
    correction: Correction


def text_of(corrections: Mapping[tuple[str, str], Correction]) -> str:
    """Return those of the latest endpoints and models, which stand last, as text."""
    latest = list(corrections.items())[-_MOST:]
    return pack(tuple(_Learned(*key, correction) for key, correction in latest))


def corrections_of(text: str) -> dict[tuple[str, str], Correction]:
    """Read them; a text that cannot be read taught nothing."""
    try:
        learned: tuple[_Learned, ...] = unpack(tuple[_Learned, ...], text)
    except (ValueError, TypeError, LookupError, AttributeError):
        return {}
    return {(each.endpoint, each.model): each.correction for each in learned}
