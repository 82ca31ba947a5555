"""Requests with a beginning for the reply."""

from __future__ import annotations

import json

from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.generation import of_kind
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.generation import GenerationKind
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage

HISTORY = PresetMessage("history", "user", type="chat_history")


def is_begun(kind: GenerationKind) -> bool:
    """True if a request of a kind ends with the beginning that a setting gives to replies."""
    history = (Message.of("user", "Hi.", "1"), Message.of("assistant", "Hello.", "2"))
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, "https://e.invalid", models=("gpt-5.4",))
    settings = SessionSettings(model="gpt-5.4", reply_start="Sure,")
    inputs = Inputs(endpoint, Preset("p", (HISTORY,)), history, "Why?", settings=settings)
    body = compose(of_kind(inputs, kind)).payload.body
    contents = [each["content"] for each in json.loads(body)["messages"]]
    return "Sure," in contents
