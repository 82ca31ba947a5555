"""Reading a request of `/api/chat` as blocks. A message is one turn."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.models.blocks import JsonObject
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.openai import read_function, write_function
from tui_chat.protocols.common.reading import objects_at
from tui_chat.protocols.common.request_reader import RequestReader
from tui_chat.protocols.ollama.messages import OLLAMA, read_message, write_message
from tui_chat.protocols.ollama.settings import TABLE


def _read_turns(body: JsonObject) -> list[Turn]:
    messages = objects_at(body, "messages")
    return [read_message(wire, number) for number, wire in enumerate(messages, 1)]


def _write_turns(turns: Sequence[Turn]) -> JsonObject:
    return {"messages": [write_message(turn) for turn in turns]}


READER = RequestReader(
    OLLAMA, TABLE, _read_turns, _write_turns, read_function, write_function, streams=True
)
