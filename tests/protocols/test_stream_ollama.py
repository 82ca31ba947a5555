"""Replies of Ollama's chat API, line by line."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.reply_streams import fold, parse
from tests.support.requests import PNG
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import Refused, ReplyCut
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message, Part
from tui_chat.models.preset import Preset
from tui_chat.models.reply import Reply
from tui_chat.models.usage import Usage
from tui_chat.protocols.ollama.stream import ReplyParser, read_reply

Json = dict[str, Any]
FIGURES = {"prompt_eval_count": 7, "eval_count": 40, "total_duration": 5, "eval_duration": 3}


def line(content: str = "", **message: Any) -> Json:
    return {
        "model": "qwen3:8b",
        "created_at": "2026-08-21T18:48:22.1Z",
        "message": {"role": "assistant", "content": content, **message},
        "done": False,
    }


def last(reason: str = "stop", **message: Any) -> Json:
    return {**line(**message), "done": True, "done_reason": reason, **FIGURES}


def call(name: str, arguments: Any, **more: Any) -> Json:
    return {"function": {"name": name, "arguments": arguments}, **more}


def streamed(*lines: Json) -> Reply:
    return fold(parse(ReplyParser(), [("", json.dumps(each)) for each in lines]))


def calls(reply: Reply) -> list[tuple[str, str, str]]:
    return [(each.id, each.name, str(each.arguments)) for each in reply.calls]


def test_text_thinking_and_usage() -> None:
    reply = streamed(line(thinking="Let "), line(thinking="me."), line("Hel"), line("lo"), last())
    assert (reply.model, reply.text, reply.thought) == ("qwen3:8b", "Hello", "Let me.")
    assert len(reply.reasoning) == 1
    assert reply.finish is not None
    assert (reply.finish.reason, reply.finish.raw) == ("stop", "stop")
    assert reply.usage == Usage(input=7, output=40)
    assert reply.message(Protocol.OLLAMA).semantics.layout is None


def test_a_whole_answer_is_the_same_reply() -> None:
    whole = last(content="Hello", thinking="Let me.", tool_calls=[call("f", {"a": 1})])
    parts = (
        line(thinking="Let me."),
        line("Hello"),
        line(tool_calls=[call("f", {"a": 1})]),
        last(),
    )
    assert read_reply(json.dumps(whole).encode()).message(Protocol.OLLAMA) == streamed(
        *parts
    ).message(Protocol.OLLAMA)


def test_calls_are_whole_and_need_no_ids() -> None:
    reply = streamed(
        line(tool_calls=[call("f", {"city": "Oslo", "n": [1, None]}), call("g", {})]),
        line(tool_calls=[call("f", {}, id="call_1a2b3c4d")]),
        last(),
    )
    assert calls(reply) == [
        ("", "f", '{"city":"Oslo","n":[1,null]}'),
        ("", "g", "{}"),
        ("call_1a2b3c4d", "f", "{}"),
    ]
    assert reply.finish is not None
    assert (reply.finish.reason, reply.finish.raw) == ("tool_calls", "stop")


@each_row("arguments", [None, "", "text", [1], 3])
def test_arguments_that_are_no_object_are_kept(arguments: Any) -> None:
    reply = streamed(line(tool_calls=[call("f", arguments)]), last())
    expected = {None: "{}", "": "", "text": "text", 3: "3"}
    assert calls(reply) == [("", "f", "[1]" if arguments == [1] else expected[arguments])]


@each_row(
    ("raw", "reason"), [("length", "length"), ("load", "other"), ("unload", "other"), ("", "stop")]
)
def test_reasons(raw: str, reason: str) -> None:
    finish = streamed(line("Hi"), last(raw)).finish
    assert finish is not None
    assert (finish.reason, finish.raw) == (reason, raw)


def test_thinking_after_text_is_another_block() -> None:
    reply = streamed(line(thinking="a"), line("b"), line(thinking="c"), last())
    assert [block.text for block in reply.message(Protocol.OLLAMA).semantics.reasoning] == [
        "a",
        "c",
    ]


def test_an_error_in_the_middle_keeps_its_message() -> None:
    parser = ReplyParser()
    assert parser.feed("", json.dumps(line("Hi")))
    with pytest.raises(Refused, match="an error was encountered while running the model"):
        parser.feed("", '{"error":"an error was encountered while running the model"}')


def test_a_stream_without_its_last_line_is_cut() -> None:
    with pytest.raises(ReplyCut, match="in the middle"):
        streamed(line("Hi"))
    with pytest.raises(ReplyCut, match="in the middle"):
        read_reply(json.dumps(line("Hi")).encode())


def test_an_image_in_a_reply_is_sent_back() -> None:
    reply = streamed(line("See:"), line(images=[PNG]), last())
    message = reply.message(Protocol.OLLAMA)
    assert message.semantics.layout is None
    assert message.parts == (Part("image", "image/png", data=PNG),)
    turns = Message("user", "Show me.", "u"), replace(reply.message(Protocol.OLLAMA), id="r")
    to = Endpoint("e", Protocol.OLLAMA, "http://e", models=("m",))
    body = json.loads(compose(Inputs(to, Preset("p"), turns, "Again.")).payload.body)
    assert body["messages"][1] == {"role": "assistant", "content": "See:", "images": [PNG]}


def test_lines_that_a_proxy_collected_are_one_reply() -> None:
    body = "\n".join(json.dumps(each) for each in (line("Hel"), line("lo"), last())) + "\n"
    assert read_reply(body.encode()).text == "Hello"


@each_row("body", [{}, {"models": []}, {"choices": []}, {"message": {}}, []])
def test_a_body_without_a_reply(body: Any) -> None:
    with pytest.raises(ReplyCut, match="not a reply"):
        read_reply(json.dumps(body).encode())
