"""SillyTavern's chats: read, written, and with the role and profile of their names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.sillytavern.test_characters import CARD
from tests.support.exports import lines, tavern, tavern_header
from tests.support.found_conversations import check
from tests.support.golden import cases
from tests.support.messages import make_message
from tests.support.reading import import_into, only, shown
from tests.support.tables import each_row
from tests.support.workspace import put
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message, Muted
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.models.settings import AuthorNote, CharacterTexts, Injection
from tui_chat.plugins.sillytavern.chat_export import chat_lines, unwritten
from tui_chat.workspace.workspace import Workspace

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


# --- Imported chats of SillyTavern get the role of their character and the profile of their user


def write_chat(path: Path, integrity: str = "one", **note: Any) -> Path:
    header = tavern_header(integrity=integrity, **note)
    path.write_bytes(lines(header, tavern("Yes?"), tavern("Who are you, {{char}}?", user=True)))
    return path


def write_card(folder: Path) -> Path:
    path = folder / "ada.json"
    path.write_text(json.dumps(CARD))
    return path


async def opened(workspace: Workspace, *files: Path, **options: Any) -> Workspace:
    """Import files, and open the last session."""
    reports = await import_into(workspace, files, **options)
    assert [report.faults for report in reports] == [[]] * len(files)
    await workspace.sessions.open(reports[-1].session_ids[-1])
    return workspace


def names(workspace: Workspace) -> tuple[str, str]:
    inputs = workspace.requests.inputs("")
    return inputs.char_name, inputs.user_name


@pytest.mark.parametrize("order", ["card first", "chat first", "card before"])
async def test_the_role_is_found_by_its_name(make_workspace, tmp_path, order: str):
    workspace, _ = await make_workspace()
    files = [write_card(tmp_path), write_chat(tmp_path / "chat.jsonl")]
    put(tmp_path / "profiles", "me", {"name": "kim", "content": "Kim sails."})
    if order == "card before":
        await import_into(workspace, [files.pop(0)])
    if order == "chat first":  # in another import; its card comes too late for this chat
        await import_into(workspace, [files[1]])
        assert names(await opened(workspace, files[1])) == ("Ada", "kim")
        assert workspace.state.role is None
        return
    await opened(workspace, *files)
    role, profile = workspace.state.role, workspace.state.profile
    assert role is not None
    assert role.character is not None
    assert (role.name, workspace.state.profile_name) == ("Ada", "me")
    assert profile is not None
    assert profile.content == "Kim sails."
    assert names(workspace) == ("Ada", "kim")
    assert workspace.state.settings.char_name is None


async def test_the_names_hold_without_role_and_profile(make_workspace, tmp_path):
    workspace, _ = await make_workspace()
    note = {"note_prompt": "Rain on {{user}}.", "note_depth": 0, "note_role": 1}
    await opened(workspace, write_chat(tmp_path / "chat.jsonl", **note))
    assert workspace.state.role is None
    assert names(workspace) == ("Ada", "Kim")
    turns = workspace.requests.compose("").envelope.turns
    assert (turns[-1].role, turns[-1].text.plain) == ("user", "Rain on Kim.")


async def test_disabled_roles_are_not_taken_and_the_newest_of_a_name_is(make_workspace, tmp_path):
    workspace, _ = await make_workspace()
    old, new = Role("old", "Ada", "Old."), Role("new", "ADA", "New.")
    for role in (old, new, replace(new, role_id="off", status="disabled")):
        await workspace.store.roles.save(role)
    await opened(workspace, write_chat(tmp_path / "chat.jsonl"))
    assert workspace.state.role == new


# --- Chats of SillyTavern: written, and read again ----------------------------------------


def text_of(lines: list[dict[str, Any]]) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


def exported(transcript: SessionTranscript) -> list[dict[str, Any]]:
    return [json.loads(line) for line in "".join(chat_lines(transcript)).split("\n")]


CHAT: list[dict[str, Any]] = [
    {"chat_metadata": {"integrity": "x", "kept": 1}, "user_name": "unused",
     "character_name": "unused"},
    {"name": "Ada", "is_user": False, "mes": "Hello.", "swipes": ["Hello.", "Hi."], "swipe_id": 0,
     "swipe_info": [{"send_date": "a"}, {"send_date": "b"}], "send_date": "a"},
    {"name": "Kim", "is_user": True, "mes": "Why?", "force_avatar": "k.png"},
    {"name": "Ada", "is_user": False, "mes": "So.", "extra": {"api": "x"}},
]  # fmt: skip


def with_head(transcript: SessionTranscript, *entries: Entry) -> SessionTranscript:
    """The transcript with more entries, the last of which is shown."""
    session = replace(transcript.session, head_id=entries[-1].message.id)
    return replace(transcript, session=session, entries=(*transcript.entries, *entries))


def test_versions_of_a_reply_are_swipes_and_other_branches_are_not_written() -> None:
    transcript = only(text_of(CHAT))
    assert unwritten(transcript) == 0
    last = transcript.entries[-1]
    new = Entry(Message.of("assistant", "Well.", "new", timestamp=0.0), last.parent_id, model="m")
    changed = exported(with_head(transcript, new))
    assert [line["mes"] for line in changed[1:]] == ["Hello.", "Why?", "Well."]
    assert (changed[1]["swipes"], changed[1]["swipe_id"]) == (["Hello.", "Hi."], 0)
    assert (changed[3]["swipes"], changed[3]["swipe_id"]) == (["So.", "Well."], 1)
    assert changed[3]["swipe_info"][1] == {
        "send_date": "1970-01-01T00:00:00.000Z",
        "extra": {"model": "m"},
    }
    question = next(each for each in transcript.entries if each.message.role == "user")
    edited = with_head(transcript, Entry(Message.of("user", "When?", "e"), question.parent_id))
    assert [line["mes"] for line in exported(edited)[1:]] == ["Hello.", "When?"]
    assert unwritten(edited) == 2


def test_a_changed_note_and_variables_are_in_the_header() -> None:
    transcript = only(text_of(CHAT))
    session = replace(
        transcript.session,
        settings=replace(transcript.session.settings, author_note=AuthorNote("Softly.", 2)),
    )
    header = exported(replace(transcript, session=session, variables=(("mood", "dry"),)))[0]
    assert header["chat_metadata"] == {
        "variables": {"mood": "dry"},
        "note_prompt": "Softly.",
        "note_interval": 1,
        "note_position": 1,
        "note_depth": 2,
        "note_role": 0,
    }


def test_our_own_sessions_are_chats_that_can_be_imported() -> None:
    call = CallBlock("c", "roll", "{}")
    messages = (
        Message.of("system", "Night falls.", "1", timestamp=1.0),
        Message.of("user", "Roll.", "2", timestamp=2.0),
        make_message("assistant", "", "3", tool_calls=(call,), timestamp=3.0),
        make_message("tool", "6", "4", tool_calls=(), tool_call_id="c", name="roll", timestamp=4.0),
        Message.of("assistant", "A six.", "5", timestamp=5.0),
    )
    parents = (None, "1", "2", "3", "4")
    entries = tuple(Entry(m, parent) for m, parent in zip(messages, parents, strict=True))
    transcript = SessionTranscript(Session("s", "Dice", head_id="5"), entries, character="Ada")
    lines = exported(transcript)
    assert lines[0]["character_name"] == "Ada"
    again = only(text_of(lines))
    assert [(e.message.role, e.message.content) for e in again.entries] == [
        (m.role, m.content) for m in messages
    ]


def test_a_muted_message_is_hidden_there():
    lines = [
        {"user_name": "Kim", "character_name": "Ada", "chat_metadata": {}},
        {"name": "Kim", "is_user": True, "mes": "Salt."},
        {"name": "Ada", "is_user": False, "mes": "Aside.", "is_system": True},
        {"name": "Ada", "is_user": False, "mes": "Marsh.", "is_system": False},
    ]
    transcript = only(text_of(lines))
    written = exported(transcript)
    assert [line.get("is_system", False) for line in written] == [False, False, True, False]
    entries = tuple(
        replace(
            entry, message=replace(entry.message, muted=Muted(entry.message.content == "Marsh."))
        )
        for entry in transcript.entries
    )
    written = exported(replace(transcript, entries=entries))
    assert [line.get("is_system", False) for line in written] == [False, False, False, True]
