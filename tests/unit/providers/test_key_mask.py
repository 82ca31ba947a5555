"""A key that a provider repeats is hidden, whole or in pieces, and nothing else is changed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tests.unit.providers.conftest import Closing, Provider
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import Refused, ReplyCut, TuiChatError
from tui_chat.models.blocks import Extras
from tui_chat.models.endpoint import Endpoint, Protocol, Retries
from tui_chat.models.preset import Preset
from tui_chat.models.reply import (
    Finished,
    ReasoningDelta,
    Reply,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    UsageReport,
    advance,
)
from tui_chat.providers import key_mask
from tui_chat.providers.discovery import list_models
from tui_chat.providers.key_mask import MASK, KeyMasks
from tui_chat.providers.response_recorder import ResponseRecorder
from tui_chat.send import receive

KEY = "sk-proj/0123456789abcdef"


def followed(events: Sequence[StreamEvent], key: str = KEY) -> Reply:
    mask, reply = KeyMasks((key,)), Reply()
    for event in (*mask.mask_events(events), *mask.close()):
        reply = advance(reply, event)
        assert key not in reply.text
    return reply


def split(text: str, cuts: Sequence[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in pairwise(places)]


@each_row("size", [1, 2, 3, 7, 100])
def test_a_key_in_pieces_is_hidden_in_every_part(size: int) -> None:
    text = f"It is {KEY}, and s and sk-p too: {KEY}{KEY}."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    hidden = f"It is {MASK}, and s and sk-p too: {MASK}{MASK}."
    assert followed([TextDelta(piece) for piece in pieces]).text == hidden
    assert followed([ReasoningDelta(0, piece) for piece in pieces]).thought == hidden
    call = followed([ToolCallDelta(0, "c", "n", piece) for piece in pieces]).calls[0]
    assert str(call.arguments) == hidden


@given(
    st.text(st.sampled_from("abcd\\/-u02\n"), max_size=60),
    st.lists(st.integers(0, 100), max_size=20),
    st.sampled_from(["abacab", "aaaaaaa", "ab/ab/abab", KEY]),
    st.integers(0, 60),
)
def test_however_it_is_cut_the_text_is_the_same(
    text: str, cuts: list[int], key: str, at: int
) -> None:
    text = text[:at] + key + text[at:]
    whole = followed([TextDelta(text)], key)
    pieces = followed([TextDelta(piece) for piece in split(text, cuts)], key)
    assert whole.text == pieces.text
    assert MASK in whole.text


@given(st.text(max_size=80), st.lists(st.integers(0, 100), max_size=20))
def test_what_has_no_key_in_it_is_not_changed(text: str, cuts: list[int]) -> None:
    events = [TextDelta(piece) for piece in split(text, cuts)]
    assert followed(events).text == text
    assert followed([*events, ToolCallDelta(0, "c", "n", text)]).text == text


def test_what_is_held_back_comes_before_the_next_part() -> None:
    usage, end = UsageReport(Reply().usage), Finished("stop", "stop")
    reply = followed([TextDelta("yes"), ToolCallDelta(0, "c", "n", "{}"), usage, end])
    assert reply.text == "yes"
    assert [so_far.block.kind for so_far in reply.pieces] == ["text", "call"]


def test_the_rest_of_a_key_is_hidden_behind_another_part() -> None:
    middle = ToolCallDelta(0, "c", "n", "{}")
    reply = followed([TextDelta("a " + KEY[:9]), middle, TextDelta(KEY[9:] + " b")])
    assert reply.text == f"a {KEY[:9]}{MASK} b"


@pytest.mark.parametrize(("length", "end"), [(3, KEY[:3]), (len(KEY) - 1, MASK)])
def test_a_beginning_at_the_end_is_hidden_if_it_is_most_of_the_key(length: int, end: str) -> None:
    assert followed([TextDelta("a " + KEY[:length])]).text == f"a {end}"


def test_a_signed_piece_and_its_neighbors_keep_their_text() -> None:
    signed = TextDelta(
        "two s", Extras(Protocol.GEMINI, "", {"thoughtSignature": "x"}), is_whole=True
    )
    events = [TextDelta("one s"), signed, TextDelta("k three")]
    message = followed(events).message(Protocol.GEMINI)
    assert message.content == "one stwo sk three"
    assert [block.text for block in message.blocks] == ["one s", "two s", "k three"]


def test_a_short_key_is_no_secret() -> None:
    mask = KeyMasks(("abc",))
    assert list(mask.mask_events([TextDelta("it is abc")])) == [TextDelta("it is abc")]
    assert (mask.mask_text("abc"), mask.mask_bytes(b"abc"), list(mask.close())) == (
        "abc",
        b"abc",
        [],
    )


def test_json_stays_json() -> None:
    mask = KeyMasks(("nothing-secret",))
    text = json.dumps({"a": "x\nothing-secret", "b": "nothing-secret", "c": "\\nothing-secret"})
    hidden = json.loads(mask.mask_text(text))
    assert (hidden["a"], hidden["b"]) == ("x\nothing-secret", MASK)
    assert "nothing-secret" not in hidden["c"]


class Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


def chunk(**delta: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


async def replies_of(
    provider: Provider, closing: Closing, answer: httpx.Response
) -> tuple[list[Reply], ResponseRecorder, TuiChatError | None]:
    provider.answers = [answer]
    endpoint = Endpoint(
        "e",
        Protocol.OPENAI_CHAT,
        "https://provider.test/v1",
        key="env:KEY",
        retries=Retries(times=0),
    )
    composed = compose(
        Inputs(endpoint, Preset("p"), draft="Hi", settings=SessionSettings(model="m"))
    )
    replies: list[Reply] = []
    recorder, error = ResponseRecorder(), None
    try:
        await receive(
            composed,
            closing(provider.client({"KEY": KEY})),
            lambda reply, _: replies.append(reply),
            lambda _: None,
            recorder=recorder,
        )
    except TuiChatError as failed:
        error = failed
    assert provider.seen[0].headers["authorization"] == f"Bearer {KEY}"
    return replies, recorder, error


EVENTS = {"content-type": "text/event-stream"}


@pytest.mark.parametrize("is_cut", [False, True])
async def test_a_stream_that_repeats_the_key(
    provider: Provider, closing: Closing, is_cut: bool
) -> None:
    calls = [
        {"index": 0, "id": "c", "function": {"name": "n", "arguments": json.dumps({"k": KEY})}}
    ]
    stream = [
        chunk(reasoning_content=f"so {KEY}"),
        *(chunk(reasoning_content=each) for each in KEY),
        *(chunk(content=each) for each in f"It is {KEY}."),
        chunk(tool_calls=calls),
    ]
    if not is_cut:
        stream.append(b"data: [DONE]\n\n")
    replies, recorder, error = await replies_of(
        provider, closing, httpx.Response(200, headers=EVENTS, stream=Pieces(stream))
    )
    assert isinstance(error, ReplyCut) == is_cut
    for reply in replies:
        assert KEY not in repr(reply.message(Protocol.OPENAI_CHAT))
    assert replies[-1].text == f"It is {MASK}."
    assert replies[-1].thought == f"so {MASK}{MASK}"
    assert json.loads(str(replies[-1].calls[0].arguments)) == {"k": MASK}
    assert recorder.repeats_key
    received = recorder.received()
    assert received is not None
    assert b"not kept" in received.body
    assert b"0123" not in received.body


async def test_a_whole_reply_that_repeats_the_key(provider: Provider, closing: Closing) -> None:
    body = {"choices": [{"message": {"content": f"It is {KEY}."}, "finish_reason": "stop"}]}
    answer = json.dumps(body).replace("/", "\\/")
    replies, recorder, error = await replies_of(provider, closing, httpx.Response(200, text=answer))
    assert error is None
    assert replies[-1].text == f"It is {MASK}."
    received = recorder.received()
    assert received is not None
    assert MASK.encode() in received.body
    assert b"0123" not in received.body


async def test_the_tokens_of_a_whole_reply_that_spell_the_key(
    provider: Provider, closing: Closing
) -> None:
    pieces = ["It is ", *split(KEY, [4, 9]), "."]
    content = [{"token": piece, "logprob": -0.5} for piece in pieces]
    choice = {"message": {"content": "no"}, "logprobs": {"content": content}}
    body = {"choices": [{**choice, "finish_reason": "stop"}]}
    replies, recorder, error = await replies_of(provider, closing, httpx.Response(200, json=body))
    assert error is None
    assert str(replies[-1].tokens) == ""
    received = recorder.received()
    assert received is not None
    assert b"sk-p" not in received.body


async def test_an_error_inside_the_stream(provider: Provider, closing: Closing) -> None:
    event = b"data: " + json.dumps({"error": {"message": f"bad key {KEY}"}}).encode() + b"\n\n"
    answer = httpx.Response(200, headers=EVENTS, stream=Pieces([event]))
    _, _, error = await replies_of(provider, closing, answer)
    assert isinstance(error, Refused)
    assert MASK in str(error)
    assert KEY not in str(error) + error.advice


async def test_lists_of_models_and_their_refusals(provider: Provider, closing: Closing) -> None:
    provider.answers = [
        httpx.Response(200, json={"data": [{"id": f"m-{KEY}"}, {"id": "m"}]}),
        httpx.Response(401, json={"error": {"message": f"bad key {KEY}"}}),
    ]
    client = closing(provider.client({"KEY": KEY}))
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, "https://provider.test/v1", key="env:KEY")
    assert await list_models(endpoint, client) == (f"m-{MASK}", "m")
    with pytest.raises(Refused) as refused:
        await list_models(endpoint, client)
    assert KEY not in str(refused.value)


_SPELLED = "ab/c-9\\z"
_PIECES = ("a", "b", _SPELLED, "\\u0061b/c-9\\z", "\\/", "\\\\", "ab\\/c-9\\\\z", "x" * 20)


@given(st.lists(st.sampled_from(_PIECES), max_size=60), st.integers(20, 90))
def test_a_key_is_found_wherever_a_window_of_the_search_ends(pieces: list[str], window: int):
    text = "".join(pieces)
    mask = KeyMasks((_SPELLED,))
    whole = mask.mask_text(text), mask.mask_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_mask, "WINDOW", window)
        assert (mask.mask_text(text), mask.mask_bytes(text.encode())) == whole
    assert _SPELLED not in whole[0]
