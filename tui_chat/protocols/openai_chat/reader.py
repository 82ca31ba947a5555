"""Reading a request of Chat Completions as blocks. A message is one turn."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.models.blocks import JsonObject
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.openai import read_function, write_function
from tui_chat.protocols.common.reading import RequestReader, objects_at
from tui_chat.protocols.openai_chat.messages import CHAT, read_message, write_message
from tui_chat.protocols.openai_chat.settings import TABLE, read_hosted, write_hosted


def _read_turns(body: JsonObject) -> list[Turn]:
    messages = objects_at(body, "messages")
    return [read_message(wire, number) for number, wire in enumerate(messages, 1)]


def _write_turns(turns: Sequence[Turn]) -> JsonObject:
    return {"messages": [write_message(turn) for turn in turns]}


_KNOWN = frozenset(("text", "refusal", "image_url", "input_audio", "file", "video_url", "thinking"))
"""Types of content that the protocol has beside those of the blocks."""

READER = RequestReader(
    CHAT,
    TABLE,
    _read_turns,
    _write_turns,
    read_function,
    write_function,
    read_hosted,
    write_hosted,
    known=_KNOWN,
)
