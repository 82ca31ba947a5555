"""What the palette offers."""

from __future__ import annotations

from tui_chat.ui.app import TuiChat
from tui_chat.ui.palette import may_run
from tui_chat.ui.verbs import VERBS, Verb


def offered(app: TuiChat) -> list[Verb]:
    """Return the verbs that are possible now."""
    return [verb for verb in VERBS if may_run(app, verb)]
