"""Whatever an envelope is: encoding it ends, and decoding what came out gives its meaning back."""

from __future__ import annotations

import json

from hypothesis import given

from tests.protocols.envelopes import envelopes
from tests.support.requests import GEMINI, body_of, decoded, encoded
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope


def speech(envelope: ChatEnvelope, between: str = "") -> str:
    """Return what people and the model said, in order; `between` stands between a text and its
    refusal.
    """
    return "".join(
        between.join(filter(None, (turn.text.plain, turn.refusal)))
        for turn in envelope.turns
        if turn.role in ("user", "assistant")
    )


@given(envelope=envelopes())
def test_a_decoded_request_encodes_to_the_same_body(envelope: ChatEnvelope) -> None:
    for protocol in Protocol:
        body = body_of(encoded(envelope, protocol))
        again = decoded(body, protocol, model="m" if protocol is GEMINI else "")
        assert body_of(encoded(again, protocol)) == body, protocol


@given(envelope=envelopes())
def test_no_text_is_lost_without_a_note(envelope: ChatEnvelope) -> None:
    for protocol in Protocol:
        out = encoded(envelope, protocol)
        text = json.dumps(body_of(out), ensure_ascii=False)
        noted = {note.origin for note in out.notes}
        for turn in envelope.turns:
            kept = json.dumps(turn.text.plain, ensure_ascii=False)[1:-1] in text
            assert kept or turn.origin in noted, protocol


@given(envelope=envelopes())
def test_a_text_conversation_keeps_its_text(envelope: ChatEnvelope) -> None:
    plain = [t for t in envelope.turns if t.role in ("user", "assistant") and not t.parts]
    plain = [t for t in plain if t.text.plain.strip() and not t.tool_calls and not t.name]
    if not plain or plain[-1].role != "user":
        return
    words = ChatEnvelope(tuple(plain), envelope.parameters)
    for protocol in Protocol:
        body = body_of(encoded(words, protocol))
        # Responses says a refusal beside words as a message of its own. Ollama has one string for
        # both, which a line break separates.
        between = "\n" if protocol is Protocol.OLLAMA else ""
        assert speech(decoded(body, protocol)) == speech(words, between), protocol
