"""A name that others gave, with everything that must not be obeyed."""

from __future__ import annotations

import re

from textual.pilot import Pilot

from tests.support.app import screen_text, settle
from tui_chat.ui.app import TuiChat

EVIL = "[red]a[/b]\x1b[31m\x07\u202eb" + "\u200b" * 50
"""Markup that opens and that closes what was never opened, a color, a bell, bidi, a flood."""
OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]")


async def shown(pilot: Pilot[None], what: str, begins: str = "") -> None:
    """Wait until the name can be read, and see that nothing else of it is done."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    await settle(pilot)
    text = screen_text(app)
    found = OBEYED.search(text.replace("\n", ""))
    assert found is None, f"{what}: {found!r}"
    assert re.search(begins + r"\[red\]a\[/?b\][␛�]\[31m", text), f"{what}: {text}"
