"""The probabilities of a reply's tokens, in every protocol that sends them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.reply_streams import fold, parse
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply
from tui_chat.models.token_probabilities import (
    LOWEST,
    MOST_ALTERNATIVES,
    TOKEN_LENGTH,
    TokenAlternative,
    TokenProbability,
    unpack_tokens,
)
from tui_chat.protocols.registry import protocol_of

HELLO = TokenProbability(
    "Hello", -0.125, (TokenAlternative("Hello", -0.125), TokenAlternative("Hi", -2.5))
)
WORLD = TokenProbability(" wörld", -1.5)


def _openai(token: TokenProbability) -> dict[str, Any]:
    likely = [
        {"token": other.text, "logprob": other.logprob, "bytes": None}
        for other in token.alternatives
    ]
    return {"token": token.text, "logprob": token.logprob, "bytes": [72], "top_logprobs": likely}


def _gemini(*tokens: TokenProbability) -> dict[str, Any]:
    def candidate(text: str, logprob: float) -> dict[str, Any]:
        return {"token": text, "tokenId": 7, "logProbability": logprob}

    return {
        "topCandidates": [
            {"candidates": [candidate(other.text, other.logprob) for other in token.alternatives]}
            for token in tokens
        ],
        "chosenCandidates": [candidate(token.text, token.logprob) for token in tokens],
    }


def _chat_chunk(token: TokenProbability, **delta: str) -> dict[str, Any]:
    delta = delta or {"content": token.text}
    return {"choices": [{"index": 0, "delta": delta, "logprobs": {"content": [_openai(token)]}}]}


def _together_chunk(*tokens: TokenProbability) -> dict[str, Any]:
    logprobs = {
        "tokens": [token.text for token in tokens],
        "token_logprobs": [token.logprob for token in tokens],
        "top_logprobs": [{o.text: o.logprob for o in token.alternatives} for token in tokens],
    }
    delta = {"content": "".join(token.text for token in tokens)}
    return {"choices": [{"index": 0, "delta": delta, "logprobs": logprobs}]}


def _text_item(*tokens: TokenProbability) -> dict[str, Any]:
    text = "".join(token.text for token in tokens)
    part = {"type": "output_text", "text": text, "logprobs": list(map(_openai, tokens))}
    return {"type": "message", "id": "m", "content": [part]}


def _responses_delta(token: TokenProbability) -> dict[str, Any]:
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
    return {**delta, "delta": token.text, "logprobs": [_openai(token)]}


def _gemini_chunk(token: TokenProbability) -> dict[str, Any]:
    content = {"parts": [{"text": token.text}]}
    return {"candidates": [{"content": content, "logprobsResult": _gemini(token)}]}


def _ollama_line(token: TokenProbability, field: str = "content") -> dict[str, Any]:
    return {"message": {field: token.text}, "logprobs": [_openai(token)], "done": False}


CHAT_END = {"choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]}
ITEM_DONE = {"type": "response.output_item.done", "output_index": 0}
COMPLETED = {"type": "response.completed", "response": {"status": "completed", "output": []}}
THOUGHT = TokenProbability("Hmm", -3.0)

STREAMS: dict[str, tuple[Protocol, list[dict[str, Any]]]] = {
    "Chat": (
        Protocol.OPENAI_CHAT,
        [
            _chat_chunk(THOUGHT, reasoning_content="Hmm"),
            _chat_chunk(HELLO),
            _chat_chunk(WORLD),
            CHAT_END,
        ],
    ),
    "Chat, in arrays": (
        Protocol.OPENAI_CHAT,
        [_together_chunk(HELLO), _together_chunk(WORLD), CHAT_END],
    ),
    "Responses, in deltas": (
        Protocol.OPENAI_RESPONSES,
        [
            _responses_delta(HELLO),
            _responses_delta(WORLD),
            {**ITEM_DONE, "item": _text_item(HELLO, WORLD)},
            COMPLETED,
        ],
    ),
    "Responses, with the whole": (
        Protocol.OPENAI_RESPONSES,
        [
            {**_responses_delta(HELLO), "logprobs": []},
            {**_responses_delta(WORLD), "logprobs": []},
            {**ITEM_DONE, "item": _text_item(HELLO, WORLD)},
            COMPLETED,
        ],
    ),
    "Gemini": (
        Protocol.GEMINI,
        [
            _gemini_chunk(HELLO),
            _gemini_chunk(WORLD),
            {"candidates": [{"finishReason": "STOP"}]},
        ],
    ),
    "Ollama": (
        Protocol.OLLAMA,
        [
            _ollama_line(THOUGHT, "thinking"),
            _ollama_line(HELLO),
            _ollama_line(WORLD),
            {"message": {"content": ""}, "done": True, "done_reason": "stop"},
        ],
    ),
}

BODIES: dict[Protocol, dict[str, Any]] = {
    Protocol.OPENAI_CHAT: {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello wörld"},
                "logprobs": {"content": [_openai(HELLO), _openai(WORLD)], "refusal": None},
                "finish_reason": "stop",
            }
        ]
    },
    Protocol.OPENAI_RESPONSES: {"status": "completed", "output": [_text_item(HELLO, WORLD)]},
    Protocol.GEMINI: {
        "candidates": [
            {
                "content": {"parts": [{"text": "Hello wörld"}]},
                "finishReason": "STOP",
                "logprobsResult": _gemini(HELLO, WORLD),
            }
        ]
    },
    Protocol.OLLAMA: {
        "message": {"role": "assistant", "content": "Hello wörld"},
        "logprobs": [_openai(HELLO), _openai(WORLD)],
        "done": True,
    },
}


def _tokens(reply: Reply) -> tuple[TokenProbability, ...]:
    return unpack_tokens(reply.message(Protocol.OPENAI_CHAT).semantics.tokens)


def _stream(protocol: Protocol, chunks: list[dict[str, Any]]) -> Reply:
    parser = protocol_of(protocol).parser()
    return fold(parse(parser, [("", json.dumps(chunk)) for chunk in chunks]))


@each_row("name", STREAMS)
def test_the_tokens_of_a_stream(name: str):
    reply = _stream(*STREAMS[name])

    assert reply.text == "Hello wörld"
    assert _tokens(reply) == (HELLO, WORLD)


@each_row("protocol", BODIES)
def test_the_tokens_of_a_whole_reply(protocol: Protocol):
    reply = protocol_of(protocol).read_reply(json.dumps(BODIES[protocol]).encode())

    assert reply.text == "Hello wörld"
    assert _tokens(reply) == (HELLO, WORLD)


def test_a_reply_that_begins_again_forgets_its_tokens():
    head = {"type": "response.created", "response": {"id": "r"}}
    again = [head, _responses_delta(HELLO), head, _responses_delta(WORLD), COMPLETED]

    assert _tokens(_stream(Protocol.OPENAI_RESPONSES, again)) == (WORLD,)


@each_row(
    ("sent", "kept"),
    [
        ({"token": "a", "logprob": 0.0001}, ("a", 0.0)),
        ({"token": "a", "logprob": 0}, ("a", 0.0)),
        ({"token": "a", "logprob": -1.2676506e30}, ("a", LOWEST)),
        ({"token": "a", "logprob": -(10**400)}, ("a", LOWEST)),
        ({"token": "a", "logprob": -0.123456789}, ("a", -0.1234568)),
        ({"token": "x" * 5000, "logprob": -1}, ("x" * TOKEN_LENGTH, -1.0)),
        ({"token": "\ud83d", "logprob": -1}, ("�", -1.0)),
        ({"token": "a", "logprob": float("nan")}, None),
        ({"token": "a", "logprob": float("-inf")}, None),  # JSON has none: read as null
        ({"token": "a", "logprob": "-1"}, None),
        ({"token": "a", "logprob": True}, None),
        ({"token": "a", "logprob": None}, None),
        ({"token": "", "logprob": -1}, None),
        ({"token": ["a"], "logprob": -1}, None),
        ({"token": "a"}, None),
        ("a", None),
    ],
)
def test_a_token_as_hostile_as_it_may_be(sent: object, kept: tuple[str, float] | None):
    chunk = {
        "choices": [{"delta": {"content": "a"}, "logprobs": {"content": [sent]}}],
    }
    tokens = _tokens(_stream(Protocol.OPENAI_CHAT, [chunk, CHAT_END]))

    assert [(token.text, token.logprob) for token in tokens] == ([] if kept is None else [kept])


def test_no_more_alternatives_than_can_be_asked_for_and_the_most_likely_first():
    likely = [{"token": str(number), "logprob": -number} for number in range(1000, 0, -1)]
    sent = {"token": "a", "logprob": -1, "top_logprobs": [None, "x", *likely]}
    chunk = {"choices": [{"delta": {"content": "a"}, "logprobs": {"content": [sent]}}]}
    (token,) = _tokens(_stream(Protocol.OPENAI_CHAT, [chunk, CHAT_END]))

    assert len(token.alternatives) == MOST_ALTERNATIVES
    assert [other.logprob for other in token.alternatives] == sorted(
        (other.logprob for other in token.alternatives), reverse=True
    )
