"""What the check of a preset finds."""

from __future__ import annotations

import json
from typing import Any

from tui_chat.library.preset_check import check_preset

HISTORY = {"type": "chat_history"}


def told(*messages: Any, **whole: Any) -> list[tuple[str, str, int]]:
    """Each message is a line of its own; the first one stands in line 2."""
    lines = ",\n".join(json.dumps(message) for message in messages)
    keys = "".join(f",\n{json.dumps(key)}: {json.dumps(value)}" for key, value in whole.items())
    text = f'{{"presetMessages": [\n{lines}\n]{keys}}}'
    return [(f.level.value, f.code, f.line) for f in check_preset(text, "p")]
