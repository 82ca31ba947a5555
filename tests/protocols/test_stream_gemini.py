"""generateContent answers: parts, signatures, partial arguments, blocked prompts, ends and cuts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.reply_streams import fold, parse, sse_events
from tests.support.tables import each_row
from tui_chat.errors import Refused, ReplyCut
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply
from tui_chat.models.usage import Usage
from tui_chat.protocols.gemini.stream import ReplyParser, read_reply

Json = dict[str, Any]


def response(*parts: Json, finish: str | None = None, **fields: Any) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-x", "responseId": "r1", **fields}


def streamed(*responses: Json) -> Reply:
    return fold(parse(ReplyParser(), [("", json.dumps(answer)) for answer in responses]))


def text(text: str, **more: Any) -> Json:
    return {"text": text, **more}


def call(name: str | None = None, **more: Any) -> Json:
    return {"functionCall": {**({"name": name} if name else {}), **more}}


def calls(reply: Reply) -> list[tuple[str, str, str]]:
    return [(c.id, c.name, str(c.arguments)) for c in reply.calls]


def pieces(reply: Reply) -> list[tuple[str, int, str]]:
    layout = reply.message(Protocol.GEMINI).semantics.layout
    return [] if layout is None else [(p.kind, p.length, p.signature) for p in layout.pieces]


def finish(reply: Reply) -> tuple[str, str, str]:
    assert reply.finish is not None
    return reply.finish.reason, reply.finish.raw, reply.finish.detail


def test_a_plain_reply_and_its_usage() -> None:
    reply = streamed(
        response(text("Hel"), usageMetadata={"promptTokenCount": 7, "totalTokenCount": 7}),
        response(text("lo")),
        response(
            finish="STOP",
            usageMetadata={
                "promptTokenCount": 7,
                "candidatesTokenCount": 2,
                "thoughtsTokenCount": 30,
                "cachedContentTokenCount": 4,
            },
        ),
    )
    assert (reply.id, reply.model, reply.text) == ("r1", "gemini-x", "Hello")
    assert finish(reply) == ("stop", "STOP", "")
    assert reply.usage == Usage(input=7, output=32, cached=4, reasoning=30)
    assert pieces(reply) == []


def test_thoughts_are_one_block_until_one_is_signed() -> None:
    reply = streamed(
        response(text("a", thought=True)),
        response(text("b", thought=True, thoughtSignature="S1")),
        response(text("c", thought=True)),
        response(text("4")),
        response(text("d", thought=True), finish="STOP"),
    )
    assert [(str(b.text), str(b.signature)) for b in reply.reasoning] == [
        ("ab", "S1"),
        ("c", ""),
        ("d", ""),
    ]
    assert [p[0] for p in pieces(reply)] == ["reasoning", "reasoning", "text", "reasoning"]


def test_signatures_stay_on_the_part_they_came_with() -> None:
    reply = streamed(
        response(text("abc")),
        response(text("de", thoughtSignature="S1")),
        response(text("f")),
        response(text("", thoughtSignature="S2")),
        response({**call("f", args={}), "thoughtSignature": "S3"}, call("g", args={"x": 1})),
        response({"thoughtSignature": "S4"}, finish="STOP"),
    )
    assert reply.text == "abcdef"
    assert pieces(reply) == [
        ("text", 3, ""),
        ("text", 2, "S1"),
        ("text", 1, ""),
        ("text", 0, "S2"),
        ("call", 0, "S3"),
        ("call", 0, ""),
        ("text", 0, "S4"),
    ]
    assert finish(reply) == ("tool_calls", "STOP", "")


def test_calls_come_as_objects_with_or_without_an_id() -> None:
    reply = streamed(
        response(call("f", id="c1", args={"city": "Zürich", "n": [1.5, None, True]})),
        response(call("f"), call("f", args=None), finish="STOP"),
    )
    assert calls(reply) == [
        ("c1", "f", '{"city":"Zürich","n":[1.5,null,true]}'),
        ("", "f", "{}"),
        ("", "f", "{}"),
    ]


def partial(path: str, more: bool = True, **value: Any) -> Json:
    return call(partialArgs=[{"jsonPath": path, **value}], willContinue=more)


def test_partial_arguments_are_put_together() -> None:
    reply = streamed(
        response({**call("cook", willContinue=True), "thoughtSignature": "S"}),
        response(partial("$.recipe.steps[0].do", stringValue="boil ", willContinue=True)),
        response(partial("$.recipe.steps[0].do", stringValue="wäter")),
        response(partial("$.recipe.steps[1].do", stringValue="")),
        response(partial("$.recipe['a b'].ok", boolValue=True)),
        response(partial("$.price", numberValue=0.5), partial("$.none", nullValue="NULL_VALUE")),
        response(call()),
        response(call("next", willContinue=True), partial("$.x", more=False, numberValue=1)),
        response(call("plain", args={}), finish="STOP"),
    )
    assert [(c[1], json.loads(c[2])) for c in calls(reply)] == [
        (
            "cook",
            {
                "recipe": {"steps": [{"do": "boil wäter"}, {"do": ""}], "a b": {"ok": True}},
                "price": 0.5,
                "none": None,
            },
        ),
        ("next", {"x": 1}),
        ("plain", {}),
    ]
    assert reply.calls[0].signature == "S"


def test_partial_arguments_without_a_last_piece_end_with_the_reply() -> None:
    reply = streamed(
        response(call("f", willContinue=True)),
        response(partial("$.x", stringValue="1")),
        response(text(""), finish="STOP"),
    )
    assert calls(reply) == [("", "f", '{"x":"1"}')]


@each_row("path", ["", "$", "$..x", "$.x[99999]", "$[0]", "$.a.b.c", "$.list.x", "$" + ".x" * 99])
def test_an_invalid_path_loses_nothing(path: str) -> None:
    reply = streamed(
        response(call("f", args={"a": "text", "list": [1]}, willContinue=True)),
        response(partial(path, stringValue="kept")),
        response(finish="STOP"),
    )
    assert "kept" in calls(reply)[0][2]
    assert json.loads(calls(reply)[0][2])["a"] == "text"


def test_parts_that_are_not_ours_are_kept_whole() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "S"}
    link = {"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b"}}
    reply = streamed(response(code, text("2"), link, finish="STOP"))
    layout = reply.message(Protocol.GEMINI).semantics.layout
    assert layout is not None
    assert [(p.kind, p.name) for p in layout.pieces] == [
        ("other", "executableCode"),
        ("text", ""),
        ("other", "fileData"),
    ]
    assert [json.loads(p.data) for p in layout.pieces if p.data] == [code, link]


@each_row(
    ("raw", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("CONTINUATION", "paused"),
        ("MALFORMED_FUNCTION_CALL", "other"),
        ("WORD_OF_TOMORROW", "other"),
    ],
)
def test_finish_reasons(raw: str, reason: str) -> None:
    answer = response(text("x"), finish=raw)
    answer["candidates"][0]["finishMessage"] = "because"
    assert finish(streamed(answer)) == (reason, raw, "because")
    assert finish(read_reply(json.dumps(answer).encode())) == (reason, raw, "because")


def test_a_blocked_prompt() -> None:
    answer = {
        "promptFeedback": {"blockReason": "MODEL_ARMOR", "blockReasonMessage": "Jailbreak."},
        "usageMetadata": {"promptTokenCount": 9},
        "modelVersion": "gemini-x",
    }
    for reply in (streamed(answer), read_reply(json.dumps(answer).encode())):
        assert finish(reply) == ("content_filter", "MODEL_ARMOR", "Jailbreak.")
        assert (reply.usage, reply.is_empty) == (Usage(input=9), True)


def test_feedback_that_blocks_nothing() -> None:
    reply = streamed({"promptFeedback": {"safetyRatings": []}}, response(text("x"), finish="STOP"))
    assert (reply.text, finish(reply)[0]) == ("x", "stop")


@each_row(
    "responses",
    [
        [],
        [response(text("x"))],
        [response(text("x"), finish="FINISH_REASON_UNSPECIFIED")],
        [{"usageMetadata": {"promptTokenCount": 3}}],
    ],
)
def test_a_cut_stream_is_an_error(responses: list[Json]) -> None:
    with pytest.raises(ReplyCut):
        streamed(*responses)


def test_errors_inside_a_stream() -> None:
    error = {"error": {"code": 503, "message": "Overloaded.", "status": "UNAVAILABLE"}}
    for answer in (error, [error]):
        parser = ReplyParser()
        parser.feed("", json.dumps(response(text("x"))))
        with pytest.raises(Refused, match="Overloaded") as raised:
            parser.feed("", json.dumps(answer))
        assert (raised.value.code, raised.value.status) == ("UNAVAILABLE", None)
        assert "try again" in raised.value.advice
        with pytest.raises(Refused):
            read_reply(json.dumps(answer).encode())


def test_a_stream_without_sse_is_a_list() -> None:
    body = json.dumps([response(text("a")), response(text("b"), finish="STOP")]).encode()
    reply = read_reply(body)
    assert (reply.text, finish(reply)[0]) == ("ab", "stop")


def test_odd_fields_do_no_harm() -> None:
    reply = streamed(
        response(text("a"), 3, [], {}, {"text": 4}, {"functionCall": "x"}),  # type: ignore[arg-type]
        {"candidates": [None, "x", {"content": None}, {"content": {"parts": {}}}]},
        {"candidates": [{"index": 1, "content": {"parts": [text("other")]}}]},
        {"candidates": {}, "usageMetadata": [], "promptFeedback": "x"},
        response(text("b"), finish="STOP", usageMetadata={"promptTokenCount": "9"}),
    )
    assert reply.text == "ab"
    assert reply.usage == Usage()


def test_bytes_on_the_wire() -> None:
    body = "".join(
        f"data: {json.dumps(answer, ensure_ascii=False)}\r\n\r\n"
        for answer in (response(text("a\u2028b")), response(text("c"), finish="STOP"))
    ).encode()
    assert fold(parse(ReplyParser(), sse_events(body))).text == "a\u2028bc"
