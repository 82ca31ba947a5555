"""Plain turns take a short way through the encoders; what they say there is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, Placement, Sourced, Turn
from tui_chat.models.payload import render
from tui_chat.models.semantics import ContentShape, MessageSemantics, WireForm
from tui_chat.models.text import GLUE, Origin, OriginKind, Text
from tui_chat.protocols.common import segments
from tui_chat.protocols.registry import protocol_of

SHAPES: list[ContentShape] = ["", "string", "parts"]
turns = st.lists(
    st.builds(
        lambda role, text, number, form: Turn(
            role,
            Text.of(text, Origin(OriginKind.HISTORY, str(number))),
            Origin(OriginKind.HISTORY, str(number)),
            Placement("history"),
            semantics=MessageSemantics(wire=form),
        ),
        st.sampled_from(["system", "user", "assistant"]),
        any_text,
        st.integers(0, 9),
        st.none() | st.builds(WireForm, st.sampled_from(Protocol), st.sampled_from(SHAPES)),
    ),
    max_size=6,
)


@each_row("protocol", list(Protocol))
@given(some=turns, developer=st.booleans())
def test_the_short_way_encodes_the_same(protocol: Protocol, some: list[Turn], developer: bool):
    facts = (("m", ModelFacts(developer_role=developer)),)
    endpoint = Endpoint("e", protocol, "https://e.invalid", facts=facts)

    def encoded() -> tuple[object, ...]:
        afresh = tuple(replace(turn) for turn in some)  # nothing is remembered of these
        envelope = ChatEnvelope(afresh, Parameters(Sourced("m", GLUE)))
        request = protocol_of(protocol).encode(envelope, endpoint)
        payload = render(request.tree)
        return payload.body, [(r.byte, r.piece) for r in payload.regions()], request.notes

    short = encoded()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "is_plain", lambda *_: False)
        assert encoded() == short
