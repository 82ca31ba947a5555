"""Rules of SillyTavern, each in a small case; what is expected was read off SillyTavern 1.19.

    python -m tests.plugins.sillytavern.test_rules

writes what is expected anew, after a change that is meant.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.golden import cases, update
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Muted
from tui_chat.plugins.sillytavern.cases import build_case, read_case

RULES = Path(__file__).parent / "rules"
ORDER = ("main", "worldInfoBefore", "charDescription", "scenario", "chatHistory", "jailbreak")
WORLD = {"world_info_budget": 100, "world_info_match_whole_words": True}


def contents(
    order: Sequence[str] = ORDER,
    prompts: Sequence[dict[str, Any]] = (),
    settings: dict[str, Any] | None = None,
    world: dict[str, Any] | None = None,
    entries: Sequence[dict[str, Any]] = (),
    preset: dict[str, Any] | None = None,
    card: dict[str, Any] | None = None,
    **fields: Any,
) -> list[str]:
    """Return the texts of the messages of a case."""
    rows = [{"identifier": identity, "enabled": True} for identity in order]
    case: dict[str, Any] = {
        "preset": {
            "prompts": [{"identifier": "main", "content": "Main."}, *prompts],
            "prompt_order": [{"character_id": 100001, "order": rows}],
            "new_chat_prompt": "",
            **(preset or {}),
        },
        "card": {"name": "Rook", "description": "A rook.", **(card or {})},
        "settings": {"world_info": {**WORLD, **(world or {})}, **(settings or {})},
        "lorebooks": {
            "active_global": ["Book"],
            "files": {"Book": {"entries": {str(n): entry(n, e) for n, e in enumerate(entries)}}},
        },
        "user_input": "Hello.",
        **fields,
    }
    messages, _ = build_case(json.dumps(case), "case")
    return [message["content"] for message in messages]


def entry(number: int, fields: dict[str, Any]) -> dict[str, Any]:
    return {"uid": number, "key": ["hello"], "position": 0, "order": 100, **fields}


def said(name: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "is_user": name == "User", "mes": text, **fields}


@each_row(
    ("case", "expected"),
    [(case, expected) for _, case, expected in cases(RULES)],
    ids=[name for name, *_ in cases(RULES)],
)
def test_a_rule(case: dict[str, Any], expected: list[str]) -> None:
    assert contents(**case) == expected


def test_no_more_than_a_thousand_messages_are_searched():
    anvil = {"content": "Found.", "key": ["anvil"], "scanDepth": 5_000}
    later = [said("Rook", "Caw.")] * 998
    for before in (1, 2):
        chat = [said("Rook", "An anvil."), *later, *[said("Rook", "Caw.")] * (before - 1)]
        assert ("Found." in contents(entries=(anvil,), chat=chat)) is (before == 1)


@pytest.mark.parametrize("name", ["User", "Rook"])
def test_a_muted_message_is_sent_as_a_hidden_one(name: str):
    """What our key takes out of a request, `/hide` does there."""
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, "https://e", models=("m",))
    rows = [{"identifier": each, "enabled": True} for each in ("main", "chatHistory")]
    prompts = [{"identifier": "main", "content": "{{lastMessageId}} {{lastMessage}}"}]

    def case(is_hidden: bool) -> Inputs:
        chat = [
            said("User", "Salt."),
            said("Rook", "Caw."),
            said(name, "Hidden.", is_system=is_hidden),
            said("Rook", "Marsh."),
        ]
        preset = {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": rows}]}
        found = {"preset": preset, "card": {"name": "Rook"}, "chat": chat, "user_input": "Hello."}
        return read_case(json.dumps(found), "case", endpoint).inputs

    shown = case(False)
    history = tuple(
        replace(message, muted=Muted(whole=message.content == "Hidden."))
        for message in shown.history
    )
    muted = compose(replace(shown, history=history))
    assert muted.payload.body == compose(case(True)).payload.body
    assert muted.payload.body != compose(shown).payload.body
    assert [left_out.preview for left_out in muted.envelope.muted] == ["Hidden."]


if __name__ == "__main__":
    update(RULES, lambda case: contents(**case))
