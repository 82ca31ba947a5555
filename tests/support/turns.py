"""An exported turn."""

from __future__ import annotations

from pathlib import Path

from tests.support.workspace import LOOPBACKS
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.message import Message
from tui_chat.turn_file import dump_turn


def a_turn(folder: Path) -> tuple[Path, bytes]:
    draft = Message.of("user", "hi", id="1")
    composed = compose(Inputs(LOOPBACKS[0], preset_of("One."), history=(draft,), draft="go"))
    path = folder / "turn.json"
    path.write_text(dump_turn(composed, composed.payload.body, None))
    return path, composed.payload.body


def preset_of(content: str):
    from tui_chat.models.preset import Preset, PresetMessage

    return Preset("p", (PresetMessage("a", content=content),))
