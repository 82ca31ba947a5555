"""Requests in Claude Code's transcripts: rebuilt as they were sent, or not at all."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.plugins.transcripts.test_viewer import viewer_of
from tests.support.app import until
from tests.support.reading import only
from tui_chat.models.transcript import SessionTranscript
from tui_chat.ui.inspector.pane import Inspector

SESSION = "5e551011-0000"
MARK = {"type": "ephemeral"}
SHAPE = {
    "system": [{"type": "text", "text": "You are an agent."}],
    "tools": [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}],
}
PARAMETERS = {"model": "claude-opus-5-5", "betas": ["a-1", "b-2"], "max_tokens": 9}
REMINDER = {"type": "text", "text": "<system-reminder>R</system-reminder>"}
ASKED = {"role": "user", "content": [REMINDER, {"type": "text", "text": "Read it"}]}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "ä"}}
LOOK = {"type": "text", "text": "I look."}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hi"}


def digest(message: dict[str, Any]) -> str:
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return sha256(text.encode()).hexdigest()


def record(kind: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION,
            "timestamp": "2026-11-24T00:44:46.000Z", "version": "2.1.330", **more}  # fmt: skip


def answer(uuid: str, parent: str, name: str, request: str, *blocks: Any) -> dict[str, Any]:
    message = {"id": name, "role": "assistant", "model": "claude-opus-5-5", "content": [*blocks]}
    return record("assistant", uuid, parent, message=message, requestRef=request)


def request(name: str, tail: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"type": "api-request", "id": name, "sessionId": SESSION, "shapeHash": "s",
            "params": PARAMETERS, "keep": 0, "timestamp": "2026-11-24T00:44:46.000Z",
            "version": "2.1.330", "tail": [digest(each) for each in tail], **more}  # fmt: skip


RECORDS = [
    record("user", "u1", None, message={"role": "user", "content": "Read it"}),
    {"type": "api-request-shape", "sessionId": SESSION, "shapeHash": "s", "shape": SHAPE},
    {"type": "api-request-blob", "sessionId": SESSION, "hash": digest(ASKED), "message": ASKED},
    request("r1", [ASKED], cacheControl=[
        {"path": ["system", 0], "value": MARK},
        {"path": ["messages", 0, "content", 1], "value": MARK},
        {"path": ["messages", 7, "content"], "value": MARK},
    ]),
    answer("a1", "u1", "msg_1", "r1", LOOK),
    answer("a2", "a1", "msg_1", "r1", CALL),
    record("user", "u2", "a2", message={"role": "user", "content": [RESULT]}),
    request(
        "r2",
        [{"role": "assistant", "content": [LOOK, CALL]}, {"role": "user", "content": [RESULT]}],
        base="r1", keep=1,
    ),
    answer("a3", "u2", "msg_2", "r2", {"type": "text", "text": "It says hi."}),
]  # fmt: skip


def file_of(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def bodies(transcript: SessionTranscript) -> list[dict[str, Any]]:
    return [json.loads(each.request.body or b"") for each in transcript.requests]


def test_requests_are_rebuilt_with_their_messages_and_marks():
    transcript = only(file_of(RECORDS))
    one, two = bodies(transcript)
    first, second = ASKED["content"]
    asked = {"role": "user", "content": [first, {**second, "cache_control": MARK}]}
    system = [{**SHAPE["system"][0], "cache_control": MARK}]
    assert one == {**SHAPE, "model": "claude-opus-5-5", "max_tokens": 9, "messages": [asked],
                   "system": system}  # fmt: skip
    assert two["messages"] == [
        ASKED,
        {"role": "assistant", "content": [LOOK, CALL]},
        {"role": "user", "content": [RESULT]},
    ]
    replies = [e.message.id for e in transcript.entries if e.message.role == "assistant"]
    assert [each.message_id for each in transcript.requests] == replies
    recorded = transcript.requests[0].request.recorded
    assert recorded is not None
    assert recorded.headers == (("anthropic-beta", "a-1,b-2"),)
    assert (recorded.url, bool(recorded.missing)) == ("", True)


def test_a_request_of_which_something_is_gone_is_not_rebuilt():
    for lost in (1, 2, 3):  # the shape, a message, the request that the second one continues
        kept = [each for number, each in enumerate(RECORDS) if number != lost]
        assert len(only(file_of(kept)).requests) == 0
    changed = [
        *RECORDS[:6],
        {**RECORDS[6], "message": {"role": "user", "content": []}},
        *RECORDS[7:],
    ]
    assert len(only(file_of(changed)).requests) == 1


async def test_the_viewer_opens_on_the_request_of_the_last_reply(tmp_path: Path):
    file = tmp_path / "session.jsonl"
    file.write_bytes(file_of(RECORDS))
    app = viewer_of(tmp_path, file)
    async with app.run_test(size=(160, 45)) as pilot:
        await until(pilot, lambda: app.is_workspace_open)
        app.panes.show_area(app.inspector)
        inspector = app.query_one(Inspector)
        await until(pilot, lambda: inspector.composed is not None)
        assert inspector.composed is not None
        assert json.loads(inspector.composed.body)["messages"][0] == ASKED
        banner = str(app.query_one("#inspector-banner").render())
        assert banner.startswith("rebuilt from the transcript")
