from __future__ import annotations

import pytest
from textual.widgets import Input, TextArea


@pytest.fixture(autouse=True)
def cursors_stand_still(monkeypatch: pytest.MonkeyPatch):
    """A picture is the same whenever it is taken."""
    for widget in (Input, TextArea):
        monkeypatch.setattr(widget.cursor_blink, "_default", False)
