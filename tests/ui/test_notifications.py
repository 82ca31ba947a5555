"""How long toasts are shown."""

from __future__ import annotations

import pytest
from textual.notifications import SeverityLevel

from tui_chat.ui.notifications import MAX_SECONDS, reading_seconds


@pytest.mark.parametrize(
    ("length", "severity", "seconds"),
    [
        (10, "information", 4),
        (10, "warning", 6),
        (10, "error", 12),
        (180, "information", 10),
        (100_000, "error", MAX_SECONDS),
    ],
)
def test_a_toast_is_shown_as_long_as_it_takes_to_read(
    length: int, severity: SeverityLevel, seconds: float
) -> None:
    assert reading_seconds("x" * length, severity) == seconds
