"""The beginning of a reply that a preset or a setting gives, in each protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.reply_starts import HISTORY, is_begun
from tests.support.tables import each_row
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage

START = PresetMessage(
    "start", "assistant", "Sure,", anchor_point="after", anchor_target=CHAT_HISTORY
)


def composed(protocol: Protocol, model: str, *messages: PresetMessage, **more: Any) -> Composed:
    endpoint = Endpoint("e", protocol, "https://e.invalid", models=(model,))
    settings = SessionSettings(model=model, reply_start=more.pop("reply_start", None))
    inputs = Inputs(endpoint, Preset("p", messages), draft="Hi.", settings=settings)
    return compose(replace(inputs, **more))


def last_message(found: Composed) -> tuple[str, str]:
    message = json.loads(found.payload.body)["messages"][-1]
    content = message["content"]
    return message["role"], content if isinstance(content, str) else content[0]["text"]


def codes(found: Composed) -> list[str]:
    return [note.code for note in found.notes]


@each_row("start", ["preset", "setting"])
def test_claude_models_that_take_none_get_it_from_the_user(start: str) -> None:
    messages = (HISTORY, START) if start == "preset" else (HISTORY,)
    reply_start = None if start == "preset" else "Sure,"
    for model, role, code in (
        ("claude-opus-4-7", "user", "prefill-as-user"),
        ("claude-haiku-4-5", "assistant", ""),
    ):
        found = composed(Protocol.ANTHROPIC, model, *messages, reply_start=reply_start)
        assert last_message(found) == (role, "Sure,")
        assert (code in codes(found)) is bool(code)
        assert "filler-added" not in codes(found)


def test_a_reply_of_the_model_stays_its_own() -> None:
    history = (Message.of("user", "Hi.", "1"), Message.of("assistant", "Hello.", "2"))
    found = composed(Protocol.ANTHROPIC, "claude-opus-4-7", HISTORY, history=history, draft="")
    assert last_message(found) == ("user", ".")
    assert "filler-added" in codes(found)


def test_what_continues_a_message_does_not_begin_so() -> None:
    assert is_begun("swipe")
    assert not is_begun("continue")
