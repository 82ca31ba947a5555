"""The role adapter, on its own and inside the encoders."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    RESPONSES,
    assistant,
    chat,
    converted,
    decoded,
    encoded,
    endpoint,
    system,
    user,
)
from tests.support.tables import each_row
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Placement, Turn
from tui_chat.models.message import MessageRole
from tui_chat.models.text import GLUE, Text
from tui_chat.protocols.registry import detect_protocol
from tui_chat.protocols.roles import (
    SYSTEM_INSTRUCTION,
    adapt_roles,
    adapted_role,
    extract_system_instruction,
)


def turns(*roles: MessageRole) -> list[Turn]:
    return [
        Turn(role, Text.glue(f"{role}{number}"), GLUE, Placement("history"))
        for number, role in enumerate(roles)
    ]


WORDS: list[tuple[Protocol, dict[str, Any], str, str, str, str]] = [
    (CHAT, {}, "system", "user", "assistant", "tool"),
    (CHAT, {"developer": True}, "developer", "user", "assistant", "tool"),
    (RESPONSES, {}, "system", "user", "assistant", "tool"),
    (ANTHROPIC, {}, "system", "user", "assistant", "user"),
    (GEMINI, {}, SYSTEM_INSTRUCTION, "user", "model", "user"),
]


@each_row(("protocol", "options", "sys", "usr", "asst", "tool"), WORDS)
def test_each_role_has_a_word_in_each_protocol(
    protocol: Protocol, options: dict[str, Any], sys: str, usr: str, asst: str, tool: str
) -> None:
    roles: tuple[MessageRole, ...] = ("system", "user", "assistant", "tool")
    assert [adapted_role(r, protocol, **options) for r in roles] == [sys, usr, asst, tool]


LATER: list[tuple[Protocol, str, list[str]]] = [
    (CHAT, "hoist", ["system", "user", "system", "user"]),
    (ANTHROPIC, "hoist", [SYSTEM_INSTRUCTION, "user", SYSTEM_INSTRUCTION, "user"]),
    (ANTHROPIC, "in_place", [SYSTEM_INSTRUCTION, "user", "system", "user"]),
    (ANTHROPIC, "user", [SYSTEM_INSTRUCTION, "user", "user", "user"]),
    (GEMINI, "hoist", [SYSTEM_INSTRUCTION, "user", SYSTEM_INSTRUCTION, "user"]),
]


@each_row(("protocol", "later", "expected"), LATER)
def test_a_later_system_turn(protocol: Protocol, later: Any, expected: list[str]) -> None:
    adapted = adapt_roles(turns("system", "user", "system", "user"), protocol, later_system=later)
    assert [each.adapted_role for each in adapted] == expected


def test_the_system_instruction_is_joined_and_the_rest_stays_in_order() -> None:
    adapted = adapt_roles(turns("system", "user", "system", "assistant"), GEMINI)
    assert extract_system_instruction(adapted).plain == "system0\n\nsystem2"
    rest = [a.turn.text.plain for a in adapted if a.adapted_role != SYSTEM_INSTRUCTION]
    assert rest == ["user1", "assistant3"]


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


def test_gemini_takes_all_system_turns_in_one_instruction() -> None:
    body, notes = converted(MIXED, GEMINI)
    assert body["systemInstruction"] == {"parts": [{"text": "S1\n\nS2\n\nS3"}]}
    assert [c["role"] for c in body["contents"]] == ["user", "model", "user"]
    assert notes == ["system-moved"]


def test_anthropic_hoists_a_later_system_turn() -> None:
    body, notes = converted(MIXED, ANTHROPIC)
    assert [block["text"] for block in body["system"]] == ["S1", "S2", "S3"]
    assert [m["content"] for m in body["messages"]] == ["U1", "A1", "U2"]
    assert notes == ["system-moved"]


def test_anthropic_leaves_it_in_place_where_the_model_takes_it() -> None:
    body, notes = converted(MIXED, ANTHROPIC, model="x", mid_history_system=True)
    assert [m["role"] for m in body["messages"]] == ["user", "system", "assistant", "user"]
    assert notes == []


@pytest.mark.parametrize(
    "messages",
    [
        [user(), assistant(), system("S"), user()],  # follows an assistant
        [user(), system("S"), user()],  # a user follows
    ],
)
def test_anthropic_takes_it_in_place_only_between_user_and_assistant(messages: Any) -> None:
    body, notes = converted(chat(*messages), ANTHROPIC, model="x", mid_history_system=True)
    assert [block["text"] for block in body["system"]] == ["S"]
    assert notes == ["system-moved"]


def test_anthropic_makes_it_a_user_turn_if_configured() -> None:
    to = Endpoint("e", ANTHROPIC, "https://e", system_fallback="user")
    out = encoded(decoded(MIXED), ANTHROPIC, to)
    assert [note.code for note in out.notes] == ["system-moved", "default-invented"]
    roles = [item.items[0][1].text.plain for item in out.tree.get("messages").items]  # type: ignore
    assert roles == ["user", "user", "assistant", "user"]


def test_openai_uses_developer_for_models_that_need_it() -> None:
    envelope = decoded({"contents": [{"parts": [{"text": "x"}]}], "systemInstruction": {
        "parts": [{"text": "S"}]}}, GEMINI, "o3")  # fmt: skip
    for target in (CHAT, RESPONSES):
        out = encoded(envelope, target, endpoint(target, "o3", developer_role=True))
        first = out.tree.get("messages") or out.tree.get("input")
        assert first.items[0].get("role").text.plain == "developer"  # type: ignore[union-attr]


@pytest.mark.parametrize("target", [ANTHROPIC, GEMINI])
def test_only_system_turns_get_the_smallest_user_message_there_is(target: Protocol) -> None:
    body, notes = converted(chat(system("S")), target)
    assert notes == ["filler-added"]
    assert body.get("messages") == [{"role": "user", "content": "."}] or body["contents"] == [
        {"role": "user", "parts": [{"text": "."}]}
    ]
