"""Requests in which macros are expanded."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.support.contexts import HISTORY, built
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.message import Message
from tui_chat.models.preset import PresetMessage
from tui_chat.models.role import Profile, Role

NOW = datetime(2024, 5, 1, 13, 5, 59, tzinfo=UTC)


ADA = Profile("Ada", "{{user}} is calm", "none")


BOT = Role("r", "Bot")


TALK = (Message.of("user", "hi {{char}}", "1"), Message.of("assistant", "hello", "2"))


VARIABLES = {"Tone": "dry", "both": "session"}


PRESET_VARIABLES = {
    "both": "preset",
    "place": "Rome",
    "one": "a, a",
    "stays": "{{what::a,b}}",
    "card": "{{char}} knows {{user}}",
    "outer": "[{{char}} knows {{persona}}]",
    "setting": "{{setvar::mood::grim}}",
    "broken": "{{user {{user}} }} {{ x",
    "trimmed": "x\n{{trim}}\ny",
}


def request(*messages: PresetMessage, **inputs: object) -> ChatEnvelope:
    given = {
        "history": TALK,
        "draft": "",
        "now": NOW,
        "profile": ADA,
        "role": BOT,
        "variables": VARIABLES,
        "preset_variables": PRESET_VARIABLES,
        **inputs,
    }
    return built(*messages, HISTORY, **given)
