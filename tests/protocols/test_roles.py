"""The role adapter, on its own and inside the encoders."""

from __future__ import annotations

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    assistant,
    chat,
    decoded,
    encoded,
    system,
    user,
)
from tests.support.tables import each_row
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.protocols.registry import detect_protocol

NAMES = [
    ("claude-opus-4-8", ANTHROPIC),
    ("anthropic/claude-3.5-sonnet", ANTHROPIC),
    ("gemini-3-pro", GEMINI),
    ("models/gemini-2.5-flash", GEMINI),
    ("gpt-5", CHAT),
    ("o3-mini", CHAT),
    ("o5", CHAT),
    ("ft:gpt-4o:us:name:id", CHAT),
    ("olmo-3", None),
    ("chatgpt-4o-latest", CHAT),
    ("llama3", None),
    ("", None),
]


@each_row(("model", "expected"), NAMES)
def test_protocol_detection_by_model_name(model: str, expected: Protocol | None) -> None:
    assert detect_protocol(model) is expected


MIXED = chat(system("S1"), system("S2"), user("U1"), system("S3"), assistant("A1"), user("U2"))


def test_anthropic_makes_it_a_user_turn_if_configured() -> None:
    to = Endpoint("e", ANTHROPIC, "https://e", system_fallback="user")
    out = encoded(decoded(MIXED), ANTHROPIC, to)
    assert [note.code for note in out.notes] == ["system-moved", "default-invented"]
    roles = [item.items[0][1].text.plain for item in out.tree.get("messages").items]  # type: ignore
    assert roles == ["user", "user", "assistant", "user"]
