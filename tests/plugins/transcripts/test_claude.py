"""Claude's conversations.json."""

from __future__ import annotations

import json
from typing import Any

from tests.support.exports import ROOT, block, claude, claude_message
from tests.support.reading import only, read, said, shown
from tui_chat.interop.readable_parts import siblings
from tui_chat.models.message import Part
from tui_chat.plugins.transcripts import claude as reader


def test_messages_without_parents_follow_each_other():
    transcript = only(
        [
            claude(
                claude_message("m1", "human", text="Roses?"),
                claude_message("m2", "assistant", block("Red "), block("or white.")),
            )
        ]
    )
    assert said(transcript) == [("user", "Roses?"), ("assistant", "Red or white.")]
    assert transcript.session.title == "A garden"
    assert transcript.session.created == 1740823140.0
    assert transcript.entries[0].message.timestamp == 1740823200.25


def test_parents_make_branches_and_the_current_leaf_is_the_head():
    told = claude(
        claude_message("m1", "human", block("Roses?"), parent_message_uuid=ROOT),
        claude_message("m2", "assistant", block("Red."), parent_message_uuid="m1"),
        claude_message("m3", "assistant", block("White."), parent_message_uuid="m1"),
        current_leaf_message_uuid="m2",
    )
    transcript = only([told])
    assert said(transcript) == [("user", "Roses?"), ("assistant", "Red.")]
    tree = siblings(transcript)
    first = tree[None][0].message.id
    assert [each.message.content for each in tree[first]] == ["Red.", "White."]
    assert said(only([told | {"current_leaf_message_uuid": None}]))[-1][1] == "White."


def test_rounds_of_tool_use_become_messages():
    told = claude(
        claude_message("m1", "human", block("Weather?")),
        claude_message(
            "m2",
            "assistant",
            {"type": "thinking", "thinking": "I look.", "summaries": []},
            block("One moment."),
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"at": "home"}},
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "name": "weather",
                "content": [{"type": "text", "text": "rain"}],
                "is_error": True,
            },
            {"type": "tool_use", "id": None, "name": "weather", "input": {}},
            {"type": "tool_result", "tool_use_id": None, "content": "sun"},
            block("Both."),
        ),
    )
    [_, first, rain, second, sun, last] = shown(only([told]))
    assert first.content == "One moment."
    assert first.semantics.reasoning[0].text == "I look."
    assert json.loads(first.tool_calls[0].arguments) == {"at": "home"}
    assert (rain.role, rain.content, rain.tool_call_id) == ("tool", "rain", "toolu_1")
    assert rain.semantics.failed is True
    assert sun.tool_call_id == second.tool_calls[0].id != ""
    assert (last.role, last.content) == ("assistant", "Both.")


def test_attachments_become_documents_and_other_files_are_named():
    told = claude(
        claude_message(
            "m1",
            "human",
            text="See.",
            attachments=[{"file_name": "a.txt", "extracted_content": "words"}],
            files=[{"file_name": "cat.png", "file_uuid": "f1", "file_kind": "image"}],
        )
    )
    [found] = read([told])
    assert found.transcript is not None
    [message] = shown(found.transcript)
    assert message.parts == (
        Part("file", "text/plain", text="words", name="a.txt"),
        Part("image", file_id="f1", name="cat.png"),
    )
    assert found.notes == (reader.MISSING_FILE,)


def test_an_empty_message_is_skipped():
    told = claude(
        claude_message("m1", "human", block("Hi")),
        claude_message("m2", "assistant"),
        claude_message("m3", "human", block("Hello?")),
    )
    assert said(only([told])) == [("user", "Hi"), ("user", "Hello?")]


def test_an_unknown_sender_is_an_error_and_the_rest_is_read():
    broken = claude(claude_message("m1", "robot", text="x"))
    [bad, good] = read([broken, claude(claude_message("m1", "human", text="y"))])
    assert (bad.place, bad.fault) == (
        "$[0].chat_messages[0].sender",
        "must be human or assistant",
    )
    assert good.transcript is not None


def test_accounts_projects_and_memories_are_ignored():
    told: list[dict[str, Any]] = [
        {"uuid": "u", "full_name": "Kim", "email_address": "kim@example.org"},
        {"uuid": "p", "name": "Project", "prompt_template": "", "docs": []},
        {"conversations_memory": "Kim gardens.", "account_uuid": "u"},
    ]
    assert [found.ignored for found in read(told)] == [True, True, True]
