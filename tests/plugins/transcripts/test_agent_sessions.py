"""The sessions of Claude Code, Codex, Gemini CLI and gptme: lines of records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.exports import lines
from tests.support.reading import only, read, said, shown
from tui_chat.interop.formats import ImportSource
from tui_chat.interop.reader import read_conversations
from tui_chat.interop.transcript_builder import FoundConversation
from tui_chat.models.message import Part

PIXEL = "iVBORw0KGgo="


def claude_code(uuid: str, parent: str | None, content: object, **facts: Any) -> dict[str, Any]:
    """A user's record; an assistant's with the id of its message."""
    message_id = facts.pop("message_id", "")
    message: dict[str, Any] = {"role": "user", "content": content}
    if message_id:
        message = {"id": message_id, "role": "assistant", "model": "m", "content": [content]}
    kind = "assistant" if message_id else "user"
    return {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": kind,
            "message": message, **facts}  # fmt: skip


def use(call: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": call}}


def result(call: str, content: object) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call, "content": content}]


def codex(kind: str, **item: Any) -> dict[str, Any]:
    """A response item."""
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item",
            "payload": {"type": kind, **item}}  # fmt: skip


def codex_text(role: str, text: str, **facts: Any) -> dict[str, Any]:
    of = "output_text" if role == "assistant" else "input_text"
    return codex("message", role=role, content=[{"type": of, "text": text}], **facts)


def event(kind: str, **facts: Any) -> dict[str, Any]:
    return {"timestamp": "", "type": "event_msg", "payload": {"type": kind, **facts}}


def gemini(key: str, content: object, kind: str = "user", **facts: Any) -> dict[str, Any]:
    return {"id": key, "timestamp": "2026-01-01T00:00:00Z", "type": kind, "content": content,
            **facts}  # fmt: skip


def faults(found: list[FoundConversation]) -> list[tuple[str, str]]:
    return [(each.place, each.fault) for each in found if each.fault]


def test_parallel_calls_of_claude_code_are_one_reply():
    transcript = only(lines(
        claude_code("u", None, "Look"),
        claude_code("a1", "u", use("one"), message_id="m1"),
        claude_code("a2", "a1", use("two"), message_id="m1"),
        claude_code("r1", "a1", result("one", "1")),
        claude_code("r2", "a2", result("two", [{"type": "text", "text": "2"}])),
        claude_code("a3", "r2", {"type": "text", "text": "Done"}, message_id="m2"),
    ))  # fmt: skip
    assert said(transcript) == [
        ("user", "Look"),
        ("assistant", ""),
        ("tool", "1"),
        ("tool", "2"),
        ("assistant", "Done"),
    ]
    reply = shown(transcript)[1]
    assert [call.id for call in reply.tool_calls] == ["one", "two"]
    assert [message.name for message in shown(transcript)[2:4]] == ["Bash", "Bash"]


def test_damaged_lines_cost_only_themselves():
    good = [claude_code("u", None, "Hi"), claude_code("v", "gone", "Still there")]
    data = lines(good[0]) + b'\n{"uuid": "x", "par\n42\n{"uuid": "y"}\n\xff\n' + lines(good[1])
    found = read(data)
    assert [place for place, _ in faults(found)] == ["line 2", "line 3", "line 4", "line 5"]
    assert found[-1].transcript is not None
    assert said(found[-1].transcript) == [("user", "Hi"), ("user", "Still there")]


def test_what_claude_code_puts_in_is_not_a_message():
    transcript = only(lines(
        claude_code("m", None, "A caveat", isMeta=True),
        claude_code("c", "m", "<command-name>/clear</command-name>"),
        claude_code("u", "c", "Hello\n<system-reminder>be good</system-reminder>"),
    ))  # fmt: skip
    assert said(transcript) == [("user", "Hello\n")]


def test_inline_subagents_are_conversations_of_their_own():
    main, side = read(lines(
        claude_code("u", None, "Go"),
        claude_code("a", "u", {"type": "tool_use", "id": "t", "name": "Task",
                               "input": {"prompt": "Measure"}}, message_id="m1"),
        claude_code("s1", None, "Measure", isSidechain=True),
        claude_code("s2", "s1", {"type": "text", "text": "4"}, message_id="m2", isSidechain=True),
        claude_code("r", "a", result("t", "4")),
    ))  # fmt: skip
    assert main.transcript
    assert side.transcript
    assert said(main.transcript) == [("user", "Go"), ("assistant", ""), ("tool", "4")]
    assert said(side.transcript) == [("user", "Measure"), ("assistant", "4")]
    assert (side.parent_id, side.call_id) == (main.transcript.session.session_id, "t")
    assert side.transcript.session.tags == ("subagent",)


def test_a_growing_session_keeps_its_ids():
    records = [claude_code(str(n), str(n - 1) if n else None, f"Text {n}") for n in range(5)]
    short, long = only(lines(*records[:3])), only(lines(*records))
    assert long.entries[:3] == short.entries
    assert long.session.session_id == short.session.session_id


def test_circles_of_parents_are_broken():
    transcript = only(lines(claude_code("a", "b", "A"), claude_code("b", "a", "B")))
    assert {entry.message.content for entry in transcript.entries} == {"A", "B"}


def test_codex_messages_are_read_once_and_context_is_not():
    transcript = only(lines(
        {"timestamp": "", "type": "session_meta", "payload": {"id": "c", "cwd": "/x"}},
        codex_text("user", "<environment_context>x</environment_context>"),
        codex_text("user", "Old context without a mark"),
        codex_text("user", "Hello"),
        event("user_message", message="Hello"),
        event("agent_message", message="Hi"),
        codex_text("assistant", "Hi"),
    ))  # fmt: skip
    assert said(transcript) == [("user", "Hello"), ("assistant", "Hi")]


def test_codex_outputs_find_their_calls():
    transcript = only(lines(
        codex_text("user", "Go", internal_chat_message_metadata_passthrough={
            "content_item_kinds": ["user.text"]}),
        codex("function_call", name="shell", arguments="{broken", call_id="1"),
        codex("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="2"),
        codex("custom_tool_call_output", call_id="2", output="two"),
        codex("function_call_output", call_id="1",
              output=json.dumps({"output": "one", "metadata": {"exit_code": 1}})),
        codex("function_call_output", call_id="lost", output="three"),
    ))  # fmt: skip
    assert said(transcript) == [
        ("user", "Go"), ("assistant", ""), ("tool", "one"), ("tool", "two"), ("tool", "three"),
    ]  # fmt: skip
    calls = shown(transcript)[1].tool_calls
    assert [call.arguments for call in calls] == ["{broken", "*** Begin Patch"]


def test_codex_turns_that_were_taken_back_are_a_branch():
    records = [codex_text("user", "A"), codex_text("assistant", "a")]
    transcript = only(
        lines(*records, event("thread_rolled_back", num_turns=9), codex_text("user", "B"))
    )
    assert said(transcript) == [("user", "B")]
    assert [entry.parent_id is None for entry in transcript.entries] == [True, False, True]


def test_gemini_rewinds_and_replacements():
    call = {"id": "t", "name": "f", "args": {"a": 1}, "status": "error",
            "result": [{"functionResponse": {"id": "t", "response": {"error": "no"}}}]}  # fmt: skip
    transcript = only(lines(
        {"sessionId": "g", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"},
        gemini("u", [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}]),
        gemini("g", "Draft", "gemini"),
        gemini("g", "", "gemini", toolCalls=[call]),
        gemini("f", [{"functionResponse": {"id": "t", "response": {"error": "no"}}}]),
        gemini("x", "Gone"),
        {"$rewindTo": "x"},
        gemini("y", "Kept"),
    ))  # fmt: skip
    assert said(transcript) == [("user", "Hi"), ("assistant", ""), ("tool", "no"), ("user", "Kept")]
    assert shown(transcript)[0].parts == (Part("image", "image/png", data=PIXEL),)
    assert shown(transcript)[2].semantics.failed is True


def test_older_gemini_sessions_are_one_object():
    data = {"sessionId": "g", "projectHash": "p", "messages": [gemini("u", "Hi"), {"type": 5}]}
    [found] = read(data)
    assert found.transcript is not None
    assert said(found.transcript) == [("user", "Hi")]
    assert len(found.notes) == 1


def gptme(role: str, content: str, **facts: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "timestamp": "2026-01-01T00:00:00.000000", **facts}


def test_gptme_branches_are_joined_where_they_are_equal(tmp_path: Path):
    begin = [gptme("system", "Prompt"), gptme("user", "List"),
             gptme("assistant", "<think>Hm.</think>\n```shell\nls\n```"),
             gptme("system", "rake", call_id="c")]  # fmt: skip
    (tmp_path / "branches").mkdir()
    main = tmp_path / "conversation.jsonl"
    main.write_bytes(lines(*begin, gptme("assistant", "One rake.")))
    (tmp_path / "branches/b.jsonl").write_bytes(lines(*begin, gptme("assistant", "A rake.")))
    (tmp_path / "config.toml").write_text('[chat]\nname = "Shed"\n')
    source = ImportSource(main, main.name)
    [found] = read_conversations([main.read_bytes()], source=source)
    assert found.transcript is not None
    assert found.transcript.session.title == "Shed"
    assert len(found.transcript.entries) == 6
    assert said(found.transcript)[2:] == [
        ("assistant", "```shell\nls\n```"), ("tool", "rake"), ("assistant", "One rake."),
    ]  # fmt: skip
    assert source.companions == {tmp_path / "branches/b.jsonl"}


@pytest.mark.parametrize("record", [
    {"type": "thread.started", "thread_id": "x"},  # codex exec --json is another format
    {"type": "user", "text": "x"},
    {"sessionId": "g"},
])  # fmt: skip
def test_other_records_are_of_no_known_format(record: dict[str, Any]):
    assert all(each.transcript is None for each in read(lines(record, record)))


def test_a_large_line_is_skipped():
    data = lines(claude_code("u", None, "Hi")) + b'\n{"x": "' + b"a" * 65 * 2**20 + b'"}\n'
    found = read(data)
    assert faults(found) == [("line 2", "is larger than 64 MiB")]
    assert found[-1].transcript is not None


def test_what_the_user_wrote_while_claude_code_worked_is_a_message():
    def queued(uuid: str, parent: str, prompt: object, mode: str) -> dict[str, Any]:
        told = {"type": "queued_command", "prompt": prompt, "commandMode": mode}
        return {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": "attachment",
                "attachment": told}  # fmt: skip

    note = "<task-notification><status>completed</status></task-notification>"
    transcript = only(lines(
        claude_code("u", None, "Look"),
        claude_code("a", "u", use("one"), message_id="m1"),
        claude_code("r", "a", result("one", "1")),
        queued("q", "r", [{"type": "text", "text": "And the mill"}], "prompt"),
        queued("n", "q", note, "task-notification"),
        claude_code("b", "n", {"type": "text", "text": "Done"}, message_id="m2"),
    ))  # fmt: skip
    assert said(transcript)[2:] == [
        ("tool", "1"),
        ("user", "And the mill"),
        ("assistant", "Done"),
    ]


def test_results_of_a_providers_tools_are_read_and_unknown_content_is_named():
    search = {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "x"}}
    hits = [{"type": "web_search_result", "title": "Mills", "url": "https://mills.example"}]
    [found] = read(lines(
        claude_code("u", None, ["Look"]),
        claude_code("a", "u", search, message_id="m"),
        claude_code("b", "a", {"type": "web_search_tool_result", "tool_use_id": "w",
                               "content": hits}, message_id="m"),
        claude_code("c", "b", {"type": "hologram"}, message_id="m"),
    ))  # fmt: skip
    assert found.transcript is not None
    assert said(found.transcript) == [
        ("user", "Look"),
        ("assistant", ""),
        ("tool", "Mills\nhttps://mills.example"),
    ]
    assert found.notes == ("Content of the unknown type “hologram” was left out.",)


def test_codex_texts_of_editors_and_around_pictures_are_not_the_users():
    blocks = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n"
                                       "## My request for Codex:\nWhat is this?\n"},
    ]  # fmt: skip
    transcript = only(lines(
        codex("message", role="user", content=blocks),
        codex_text("assistant", "A mill"),
    ))  # fmt: skip
    assert said(transcript) == [("user", "What is this?\n"), ("assistant", "A mill")]
    assert len(shown(transcript)[0].parts) == 1


def test_calls_of_gptme_in_xml_are_calls():
    text = "Look:\n<tool-use>\n<save args='a.txt'>\n1 &lt; 2\n</save>\n</tool-use>\n"
    sent = "2026-01-01T00:00:00"
    transcript = only(lines(
        {"role": "user", "content": "Write", "timestamp": sent},
        {"role": "assistant", "content": text, "timestamp": sent},
        {"role": "system", "content": "Saved to a.txt", "timestamp": sent},
    ))  # fmt: skip
    (call,) = shown(transcript)[1].tool_calls
    assert (call.name, json.loads(call.arguments)) == (
        "save",
        {"args": "a.txt", "content": "1 < 2"},
    )
    assert said(transcript)[2] == ("tool", "Saved to a.txt")


def test_thoughts_code_and_pictures_of_gemini_are_read():
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    answer = {"id": "c", "name": "see", "response": {"output": "seen"}, "parts": [picture]}
    content = [{"text": "Hm", "thought": True}, {"executableCode": {"code": "1 + 1"}},
               {"codeExecutionResult": {"output": "2"}}, {"text": "Two"}]  # fmt: skip
    transcript = only(lines(
        {"sessionId": "s", "projectHash": "h"},
        gemini("1", "Count"),
        gemini("2", content, "gemini", toolCalls=[
            {"id": "c", "name": "see", "args": {}, "result": [{"functionResponse": answer}]}]),
    ))  # fmt: skip
    _, reply, told = shown(transcript)
    assert reply.content == "```\n1 + 1\n```\n\n```\n2\n```\n\nTwo"
    assert [block.text for block in reply.semantics.reasoning] == ["Hm"]
    assert (told.content, len(told.parts)) == ("seen", 1)


def test_an_export_of_opencode():
    def message(key: str, role: str, *parts: dict[str, Any], **facts: Any) -> dict[str, Any]:
        return {"info": {"id": key, "role": role, "time": {"created": 1_760_000_000_000}, **facts},
                "parts": list(parts)}  # fmt: skip

    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
    state = {"status": "completed", "input": {"a": 1}, "output": "ok", "attachments": [picture]}
    tool = {"type": "tool", "callID": "t", "tool": "see", "state": state}
    aborted = {"name": "MessageAbortedError", "data": {"message": "aborted"}}
    transcript = only({
        "info": {"id": "ses_1", "title": "A mill", "time": {"created": 1, "updated": 2},
                 "revert": {"messageID": "4"}},
        "messages": [
            message("1", "user", {"type": "text", "text": "Look"}),
            message("2", "assistant", tool, modelID="m"),
            message("3", "assistant", {"type": "text", "text": "I se"}, error=aborted),
            message("4", "user", {"type": "text", "text": "Undone"}),
        ],
    })  # fmt: skip
    assert transcript.session.title == "A mill"
    assert said(transcript) == [
        ("user", "Look"), ("assistant", ""), ("tool", "ok"), ("assistant", "I se"),
    ]  # fmt: skip
    assert len(shown(transcript)[2].parts) == 1
    assert [entry.status for entry in transcript.entries[-2:]] == ["failed", "complete"]


HI = {"type": "input_text", "text": "hi"}
NEW_CONTENT = {"type": "hologram", "data": "AAAA"}


@pytest.mark.parametrize(
    "records",
    [
        [claude_code("u", None, [{"type": "text", "text": "hi"}, NEW_CONTENT])],
        [
            claude_code("u", None, "hi"),
            claude_code("a", "u", use("c"), message_id="m"),
            claude_code("r", "a", result("c", [NEW_CONTENT])),
        ],
        [codex("message", role="user", content=[HI, NEW_CONTENT])],
        [
            codex_text("user", "hi"),
            codex("function_call", name="f", arguments="{}", call_id="c"),
            codex("function_call_output", call_id="c", output=[NEW_CONTENT]),
        ],
    ],
)
def test_content_of_an_unknown_type_is_noted(records: list[dict[str, Any]]):
    [found] = read(lines(*records))
    assert found.notes == ("Content of the unknown type “hologram” was left out.",)
