"""What we encode, held against the official SDKs' own types."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.protocols.envelopes import envelopes
from tests.support.requests import ANTHROPIC, GEMINI, RESPONSES, body_of, encoded
from tests.support.sdk_types import accept
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope


@pytest.mark.slow
@given(envelope=envelopes())
def test_the_sdks_types_accept_every_encoded_envelope(envelope: ChatEnvelope) -> None:
    for protocol in Protocol:
        body = body_of(encoded(envelope, protocol))
        if protocol is ANTHROPIC:
            # The server takes them, while the newest types lack them.
            body = {key: value for key, value in body.items() if key not in SAMPLING}
        accept(protocol, body)


SAMPLING = ("temperature", "top_p", "top_k")


@each_row("protocol", list(Protocol))
def test_the_types_refuse_what_is_wrong(protocol: Protocol) -> None:
    wrong = {"model": "m", "messages": [{"role": "user", "content": "x", "y": 1}], "max_tokens": 1}
    if protocol is RESPONSES:
        wrong = {"model": "m", "input": [{"role": "user", "content": "x", "y": 1}]}
    if protocol is GEMINI:
        wrong = {"contents": [{"role": "user", "parts": [{"texts": "x"}]}]}
    with pytest.raises(ValueError, match="error"):
        accept(protocol, wrong)
