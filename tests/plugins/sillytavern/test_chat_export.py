"""Chats of SillyTavern: written, and read again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.messages import make_message
from tests.support.reading import only
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message, Muted
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.models.settings import AuthorNote
from tui_chat.plugins.sillytavern.chat_export import chat_lines, unwritten


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
