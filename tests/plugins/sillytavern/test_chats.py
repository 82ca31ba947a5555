"""SillyTavern's chats."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.exports import lines, tavern, tavern_header
from tests.support.reading import only, read, said, shown
from tests.support.tables import each_row
from tui_chat.interop.readable_parts import active_branch, siblings
from tui_chat.models.settings import AuthorNote, CharacterTexts, Injection, LoreTimer
from tui_chat.plugins.sillytavern import chats as reader
from tui_chat.plugins.sillytavern.chat_export import chat_lines


def chat(*messages: dict[str, Any], **facts: Any) -> bytes:
    return lines(tavern_header(**facts), *messages)


def test_a_chat_with_swipes():
    data = chat(
        tavern("Welcome, Kim."),
        tavern("Hi.", user=True),
        tavern(
            "Two.",
            swipes=["One.", "Two, {{user}}.", "Three."],
            swipe_id=1,
            swipe_info=[{"send_date": "2025-01-02T00:00:00Z", "extra": {"model": "m1"}}],
            extra={"model": "m2", "reasoning": "Hm."},
            gen_started="2025-01-01T00:00:00.000Z",
            gen_finished="2025-01-01T00:00:02.500Z",
        ),
        tavern("Go on.", user=True),
    )
    transcript = only(data)
    assert said(transcript) == [
        ("assistant", "Welcome, Kim."),
        ("user", "Hi."),
        ("assistant", "Two."),
        ("user", "Go on."),
    ]
    asked = shown(transcript)[1]
    swipes = siblings(transcript)[asked.id]
    assert [each.message.content for each in swipes] == ["One.", "Two.", "Three."]
    assert [each.model for each in swipes] == ["m1", "m2", ""]
    assert swipes[1].seconds == 2.5
    assert swipes[1].message.semantics.reasoning[0].text == "Hm."
    assert transcript.session.title == "Ada"
    assert [message.name for message in shown(transcript)] == [""] * 4


def test_hidden_messages_are_muted_and_narration_is_a_system_message():
    data = chat(
        tavern("Hello."),
        tavern("A secret.", is_system=True),
        tavern("The wind howls.", is_system="", extra={"type": "narrator"}),
        tavern("Bye.", user=True),
    )
    [found] = read(data)
    assert found.transcript is not None
    assert said(found.transcript) == [
        ("assistant", "Hello."),
        ("assistant", "A secret."),
        ("system", "The wind howls."),
        ("user", "Bye."),
    ]
    assert [message.muted.whole for message in shown(found.transcript)] == [
        False,
        True,
        False,
        False,
    ]
    assert found.notes == (reader.HIDDEN,)


def test_hidden_tool_calls_are_imported():
    invoked = [{"id": "c1", "name": "roll", "parameters": '{"d":6}', "result": "4"}]
    data = chat(tavern("[]", is_system=True, extra={"tool_invocations": invoked}), tavern("Four."))
    [call, result, reply] = shown(only(data))
    assert (call.tool_calls[0].name, call.tool_calls[0].arguments) == ("roll", '{"d":6}')
    assert (result.role, result.tool_call_id, result.content) == ("tool", "c1", "4")
    assert reply.content == "Four."


def test_names_are_kept_if_several_characters_speak():
    data = chat(tavern("A.", "Ada"), tavern("B.", "Bea"), tavern("Hi", user=True))
    assert [message.name for message in shown(only(data))] == ["Ada", "Bea", ""]


def test_variables():
    [found] = read(chat(tavern("Hi."), variables={"gold": "12", "flag": 3}))
    assert found.transcript is not None
    assert found.transcript.variables == (("gold", "12"), ("flag", "3"))
    assert found.notes == ()


@each_row(
    ("facts", "expected"),
    [
        ({"note_prompt": "Rain."}, AuthorNote("Rain.")),
        (
            {
                "note_prompt": "Rain.",
                "note_depth": 2,
                "note_role": 1,
                "note_position": 0,
                "note_interval": 3,
            },
            AuthorNote("Rain.", 2, "user", "after_main", 3),
        ),
        (
            {"note_prompt": "R", "note_role": 2, "note_position": 2, "note_interval": 0},
            AuthorNote("R", 4, "assistant", "before_main", 0),
        ),
        (
            {"note_prompt": "R", "note_depth": -1, "note_role": "x", "note_position": 9},
            AuthorNote("R"),
        ),
        ({"note_prompt": "R", "note_depth": 10**9, "note_interval": [1]}, AuthorNote("R")),
        ({"note_prompt": " ", "note_depth": 2}, AuthorNote(" ", 2)),
        (
            {"note_prompt": "", "note_depth": 2, "note_position": 0},
            AuthorNote("", 2, "system", "after_main"),
        ),
        ({"note_prompt": ""}, AuthorNote("")),
        ({"note_depth": 0}, AuthorNote("", 0)),
        ({}, None),
        ({"note_prompt": 7}, None),
    ],
)
def test_the_authors_note_is_a_setting(facts: dict[str, Any], expected: AuthorNote | None):
    assert only(chat(tavern("Hi."), **facts)).session.settings.author_note == expected


def test_the_lorebook_of_the_chat_is_the_session_s():
    assert only(chat(tavern("Hi."), world_info="Coast")).session.lorebooks == ("Coast",)
    for unusable in ("", " ", 7, None, "../Coast", "a\\b", "..", "x" * 2_000):
        assert only(chat(tavern("Hi."), world_info=unusable)).session.lorebooks == ()


def test_timers_of_lore_are_kept_with_the_last_message():
    timed = {
        "sticky": {"My. Coast.3": {"hash": 1, "start": 1, "end": 5, "protected": False}},
        "cooldown": {
            "Coast.4": {"start": 2, "end": 9, "protected": True},
            "Coast.5": {"start": "x", "end": 9},
            "nowhere": {"start": 1, "end": 2},
            "Coast.6": 7,
        },
    }
    data = chat(tavern("A."), tavern("Hi", user=True), tavern("B."), timedWorldInfo=timed)
    first, *_, last = shown(only(data))
    assert first.semantics.lore_timers is None
    assert last.semantics.lore_timers == (
        LoreTimer("My. Coast", "3", "sticky", 1, 5),
        LoreTimer("Coast", "4", "cooldown", 2, 9, protected=True),
    )
    for empty in ({}, {"sticky": [], "cooldown": None}):
        assert shown(only(chat(tavern("A."), timedWorldInfo=empty)))[0].semantics.lore_timers == ()
    for missing in (None, 7, []):
        found = shown(only(chat(tavern("A."), timedWorldInfo=missing)))[0]
        assert found.semantics.lore_timers is None


@each_row(
    ("named", "messages", "expected"),
    [
        (("unused", "unused"), [tavern("A."), tavern("Hi", user=True)], ("Ada", "Kim")),
        (("Bo", "Ada B."), [tavern("A."), tavern("Hi", user=True)], ("Ada B.", "Bo")),
        (("Bo", "unused"), [tavern("A."), tavern("B.", "Bea")], ("", "Bo")),
        ((7, None), [tavern("A.", "A\n\x1b b")], ("A \x1b b", "")),
    ],
)
def test_the_names_of_character_and_user(named: Any, messages: Any, expected: tuple[str, str]):
    header = {**tavern_header(), "user_name": named[0], "character_name": named[1]}
    transcript = only(lines(header, *messages))
    assert (transcript.character, transcript.user) == expected


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


def test_a_broken_line_is_named():
    data = chat(tavern("Hello.")) + b'\n{"name": "Ada", "mes": }\n' + lines(tavern("Bye."))
    [fault, rest] = read(data)
    assert (fault.place, fault.transcript) == ("line 3", None)
    assert fault.fault == "is not JSON: a value is expected at character 24 of the line"
    assert rest.transcript is not None
    assert said(rest.transcript) == [("assistant", "Hello."), ("assistant", "Bye.")]


def test_an_invalid_message_is_named():
    fault, found = read(chat(tavern("Hello."), {"name": "Ada"}))
    sentence = "has no text in “mes” or in the selected swipe, and is left out"
    assert (fault.place, fault.fault) == ("line 3", sentence)
    assert found.transcript is not None
    assert said(found.transcript) == [("assistant", "Hello.")]


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
    assert header["chat_metadata"].items() >= facts.items(), "as it was"
    changed = replace(settings, character=None, injections=None)
    session = replace(found.session, settings=changed)
    header = json.loads(next(chat_lines(replace(found, session=session))))["chat_metadata"]
    assert (header["scenario"], header["script_injects"]) == ("", {})


def test_guests_keep_their_names_and_hidden_narration_is_muted():
    guest = tavern("Aye.") | {"name": "Tomas", "force_avatar": "/x.png"}
    hidden = tavern("Night.") | {"is_system": True, "extra": {"type": "narrator"}}
    found = only(chat(tavern("Hi."), hidden, guest))
    branch = active_branch(found)
    assert [(entry.message.content, entry.message.muted.whole) for entry in branch] == [
        ("Hi.", False),
        ("Night.", True),
        ("Aye.", False),
    ]
    message = branch[-1].message
    assert (message.name, message.semantics.is_speaker_chosen) == ("Tomas", True)
    assert not branch[0].message.semantics.is_speaker_chosen
