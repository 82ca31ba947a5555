"""Whatever an envelope is: encoding it ends, and decoding what came out gives its meaning back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.protocols.envelopes import envelopes
from tests.protocols.requests import ANTHROPIC, CHAT, GEMINI, RESPONSES, body_of, decoded, encoded
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope


def speech(envelope: ChatEnvelope) -> list[str]:
    """Return what people and the model said, in order, whatever the blocks."""
    return [
        turn.text.plain + turn.semantics.refusal
        for turn in envelope.turns
        if turn.role in ("user", "assistant")
    ]


@pytest.mark.parametrize("protocol", list(Protocol))
@given(envelope=envelopes())
def test_what_was_encoded_is_decoded_and_encoded_the_same(
    protocol: Protocol, envelope: ChatEnvelope
) -> None:
    body = body_of(encoded(envelope, protocol))
    again = decoded(body, protocol, model="m" if protocol is GEMINI else "")
    assert body_of(encoded(again, protocol)) == body


@pytest.mark.parametrize("protocol", [CHAT, RESPONSES, ANTHROPIC, GEMINI])
@given(envelope=envelopes())
def test_no_text_is_lost_without_a_note(protocol: Protocol, envelope: ChatEnvelope) -> None:
    out = encoded(envelope, protocol)
    text = json.dumps(body_of(out), ensure_ascii=False)
    told = {note.origin for note in out.notes}
    for turn in envelope.turns:
        kept = json.dumps(turn.text.plain, ensure_ascii=False)[1:-1] in text
        assert kept or turn.origin in told


@pytest.mark.parametrize("protocol", list(Protocol))
@given(envelope=envelopes())
def test_a_conversation_of_words_keeps_its_words(
    protocol: Protocol, envelope: ChatEnvelope
) -> None:
    plain = [t for t in envelope.turns if t.role in ("user", "assistant") and not t.parts]
    plain = [t for t in plain if t.text.plain.strip() and not t.tool_calls and not t.name]
    if not plain or plain[-1].role != "user":
        return
    given_ = ChatEnvelope(tuple(plain), envelope.parameters)
    body = body_of(encoded(given_, protocol))
    # Responses says a refusal beside words as a message of its own.
    assert "".join(speech(decoded(body, protocol))) == "".join(speech(given_))
