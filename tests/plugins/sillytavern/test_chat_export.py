"""Chats of SillyTavern: import, export, and exactly what was changed in between."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.messages import make_message
from tests.support.reading import only
from tui_chat.models.about import About
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message, Muted
from tui_chat.models.session import Entry, Session
from tui_chat.models.settings import AuthorNote
from tui_chat.models.transcript import SessionTranscript
from tui_chat.plugins.sillytavern.chat_export import chat_lines, unwritten

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "sillytavern" / "chats"
TEXTS = st.sampled_from(("", " ", "Hi.", "a\nb", "\u2028", "é\u202e", "{{user}}"))
INFO = st.fixed_dictionaries(
    {}, optional={"send_date": TEXTS, "extra": st.just({"model": "m"}), "x": st.integers()}
)
LINES = st.fixed_dictionaries(
    {"name": st.sampled_from(("Ada", "Kim", "Bo")), "is_user": st.booleans(), "mes": TEXTS},
    optional={
        "is_system": st.sampled_from((True, False, "")),
        "send_date": st.sampled_from(("2026-01-02T03:04:05Z", "", 17, None)),
        "extra": st.sampled_from(
            (
                {},
                None,
                {"type": "narrator"},
                {"reasoning": "Hm."},
                {"media": [{"url": "a/b.png"}]},
                {"tool_invocations": [{"id": "1", "name": "f", "parameters": "{}", "result": "r"}]},
            )
        ),
        "swipes": st.lists(TEXTS | st.none(), max_size=3) | st.sampled_from((None, "a", {"b": 1})),
        "swipe_id": st.sampled_from((0, 1, 5, None, "1", 0.5)) | st.just([]),
        "swipe_info": st.lists(INFO, max_size=3),
        "force_avatar": TEXTS,
        "their own": st.just({"a": [1, None]}),
    },
)
HEADERS = st.fixed_dictionaries(
    {"chat_metadata": st.fixed_dictionaries(
        {},
        optional={
            "integrity": st.just("i"),
            "note_prompt": TEXTS,
            "note_depth": st.sampled_from((2, "4", None)),
            "variables": st.just({"mood": "calm", "n": 3}),
            "tainted": st.booleans(),
        },
    ), "user_name": st.just("unused"), "character_name": st.sampled_from(("unused", "Ada"))},
)  # fmt: skip


def text_of(lines: list[dict[str, Any]]) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


def exported(transcript: SessionTranscript) -> list[dict[str, Any]]:
    return [json.loads(line) for line in "".join(chat_lines(transcript)).split("\n")]


@pytest.mark.slow
@given(st.none() | HEADERS, st.lists(LINES, min_size=1, max_size=5))
@settings(max_examples=150)
def test_an_export_of_an_imported_chat_is_equal(
    header: dict[str, Any] | None, lines: list[dict[str, Any]]
) -> None:
    whole = [*([header] if header is not None else []), *lines]
    transcript = only(text_of(whole))
    assert exported(transcript) == whole
    assert unwritten(transcript) == 0


@pytest.mark.skipif(not CORPUS.is_dir(), reason="there is no corpus")
def test_chats_of_the_corpus_are_exported_equal() -> None:
    for path in sorted(CORPUS.iterdir()):
        lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        assert exported(only(path.read_bytes())) == lines, path.name


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


def test_another_version_is_a_swipe_of_its_line() -> None:
    transcript = only(text_of(CHAT))
    last = transcript.entries[-1]
    new = Entry(Message.of("assistant", "Well.", "new", timestamp=0.0), last.parent_id, model="m")
    changed = exported(with_head(transcript, new))
    info = {"send_date": "1970-01-01T00:00:00.000Z", "extra": {"model": "m"}}
    assert changed[:-1] == CHAT[:-1]
    assert changed[-1] == CHAT[-1] | info | {
        "mes": "Well.",
        "swipes": ["So.", "Well."],
        "swipe_id": 1,
        "swipe_info": [{"extra": {"api": "x"}}, info],
    }


def test_a_selected_swipe_and_an_edited_question() -> None:
    transcript = only(text_of(CHAT))
    second = next(each for each in transcript.entries if each.message.content == "Hi.")
    asked = Entry(Message.of("user", "How?", "q"), second.message.id)
    changed = exported(with_head(transcript, asked))
    assert changed[1] == CHAT[1] | {"mes": "Hi.", "swipe_id": 1, "send_date": "b"}
    assert (changed[2]["name"], changed[2]["mes"], changed[2]["is_user"]) == ("Kim", "How?", True)
    assert unwritten(with_head(transcript, asked)) == 2
    question = next(each for each in transcript.entries if each.message.role == "user")
    edited = Entry(Message.of("user", "When?", "e"), question.parent_id)
    changed = exported(with_head(transcript, edited))
    assert changed == [*CHAT[:2], CHAT[2] | {"mes": "When?"}]


def test_a_changed_note_and_variables_are_in_the_header() -> None:
    transcript = only(text_of(CHAT))
    session = replace(
        transcript.session,
        settings=replace(transcript.session.settings, author_note=AuthorNote("Softly.", 2)),
    )
    header = exported(replace(transcript, session=session, variables=(("mood", "dry"),)))[0]
    assert header["chat_metadata"] == {
        **CHAT[0]["chat_metadata"],
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


@pytest.mark.parametrize("is_imported", [True, False])
def test_a_muted_message_is_hidden_there(is_imported: bool):
    lines = [
        {"user_name": "Kim", "character_name": "Ada", "chat_metadata": {}},
        {"name": "Kim", "is_user": True, "mes": "Salt."},
        {"name": "Ada", "is_user": False, "mes": "Marsh.", "is_system": False},
    ]
    transcript = only(text_of(lines))
    entries = tuple(
        replace(
            entry,
            message=replace(
                entry.message,
                muted=Muted(whole=entry.message.content == "Marsh."),
                about=entry.message.about if is_imported else About(),
            ),
        )
        for entry in transcript.entries
    )
    written = exported(replace(transcript, entries=entries))[1:]
    assert [(line["mes"], line.get("is_system", False)) for line in written] == [
        ("Salt.", False),
        ("Marsh.", True),
    ]


HIDDEN_LINES: list[dict[str, object]] = [
    {"user_name": "Kim", "character_name": "Ada", "chat_metadata": {}},
    {"name": "Kim", "is_user": True, "mes": "Salt.", "is_system": False},
    {"name": "Ada", "is_user": False, "mes": "Aside.", "is_system": True},
    {"name": "Ada", "is_user": False, "mes": "Again.", "is_system": True},
    {"name": "Ada", "is_user": False, "mes": "Marsh.", "is_system": False},
]


def test_hidden_messages_stay_hidden_until_they_are_unmuted():
    transcript = only(text_of(HIDDEN_LINES))
    assert exported(transcript) == HIDDEN_LINES
    entries = tuple(
        replace(entry, message=replace(entry.message, muted=Muted()))
        for entry in transcript.entries
    )
    written = exported(replace(transcript, entries=entries))
    assert [line.get("is_system", False) for line in written] == [False] * 5
