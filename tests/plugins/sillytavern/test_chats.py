"""SillyTavern's chats."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.exports import lines, tavern, tavern_header
from tests.support.found_conversations import check
from tests.support.golden import cases
from tests.support.reading import only, shown
from tests.support.tables import each_row
from tui_chat.models.settings import CharacterTexts, Injection
from tui_chat.plugins.sillytavern.chat_export import chat_lines

CHATS = Path(__file__).parent / "chats"


def chat(*messages: dict[str, Any], **facts: Any) -> bytes:
    return lines(tavern_header(**facts), *messages)


@each_row(
    ("case", "expected"),
    [(case, expected) for _, case, expected in cases(CHATS)],
    ids=[name for name, *_ in cases(CHATS)],
)
def test_all_that_is_found_in_a_chat(case: dict[str, Any], expected: Any) -> None:
    check(case, expected)


def test_an_edited_chat_adds_a_branch_and_a_grown_one_new_messages():
    first, second = tavern("Hello."), tavern("Hi", user=True)
    before = only(chat(first, second))
    grown = only(chat(first, second, tavern("More.")))
    edited = only(chat(first, tavern("Hey", user=True), tavern("More.")))
    for after in (grown, edited):
        assert after.session.session_id == before.session.session_id
    ids = {entry.message.id for entry in before.entries}
    assert {entry.message.id for entry in grown.entries} > ids
    assert len({entry.message.id for entry in edited.entries} & ids) == 1


def test_hidden_messages_are_no_part_of_the_ids_of_others():
    hidden = tavern("A secret.", is_system=True)
    with_one = shown(only(chat(tavern("Hello."), hidden, tavern("Bye.", user=True))))
    without = shown(only(chat(tavern("Hello."), tavern("Bye.", user=True))))
    assert [with_one[0].id, with_one[2].id] == [message.id for message in without]


def test_equal_messages_stay_separate():
    same = tavern("…", is_system=True)
    transcript = only(chat(tavern("Hello."), same, same))
    assert len({entry.message.id for entry in transcript.entries}) == 3


@pytest.mark.parametrize("header", [True, False])
def test_old_chats_are_distinguished_by_their_first_messages(header: bool):
    first = {"user_name": "Kim", "character_name": "Ada", "create_date": "2023-6-3@15h36m15s"}
    start = [first] if header else []
    one = only(lines(*start, tavern("Hello.", send_date="June 19, 2023 4:13pm")))
    assert one.session.title == "Ada"
    assert one.entries[0].message.timestamp == 1687191180.0
    again = only(lines(*start, tavern("Hello.", send_date="June 19, 2023 4:13pm")))
    assert again == one
    other = only(
        lines(
            *([first | {"create_date": "2024-6-3@15h36m15s"}] if header else []),
            tavern("Hello.", send_date="June 20, 2023 4:13pm"),
        )
    )
    assert other.session.session_id != one.session.session_id


def test_what_a_chat_sets_instead_of_the_card_is_a_setting_and_is_written_back():
    facts = {
        "scenario": "A storm.",
        "mes_example": "<START>",
        "script_injects": {
            "a": {"value": "Rain.", "position": 1, "depth": 2, "role": 1, "scan": True},
            "searched": {"value": "Only searched.", "position": -1},
            "empty": {"value": ""},
        },
    }
    found = only(chat(tavern("Hi."), **facts))
    settings = found.session.settings
    assert settings.character == CharacterTexts("A storm.", example_dialogues="<START>")
    assert settings.injections == (Injection("a", "Rain.", 2, "user", "depth", True),)
    header = json.loads(next(chat_lines(found)))
    assert header["chat_metadata"]["scenario"] == "A storm."
    assert header["chat_metadata"]["script_injects"] == {"a": facts["script_injects"]["a"]}
    changed = replace(settings, character=None, injections=None)
    session = replace(found.session, settings=changed)
    header = json.loads(next(chat_lines(replace(found, session=session))))
    assert header["chat_metadata"] == {}
