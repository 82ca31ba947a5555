"""Pictures and files that a protocol leaves out cost nothing."""

from __future__ import annotations

from dataclasses import replace

from tests.support.contexts import LETTERS
from tests.support.tables import each_row
from tui_chat.analysis.token_shares import ShareCalculator
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message, Part
from tui_chat.models.preset import Preset
from tui_chat.tokens import PART_TOKENS

LOST = Part("image", "image/png", name="cat.png")
"""A picture whose content is not stored here."""
SENT = Part("image", "image/png", data="iVBORw0KGgo=")


def request(protocol: Protocol, *parts: Part) -> Composed:
    history = (Message("user", "Look.", "m1", parts=parts), Message("assistant", "Yes.", "m2"))
    endpoint = Endpoint("e", protocol, "http://127.0.0.1:9")
    return compose(Inputs(endpoint, Preset("p", ()), history, "And?"), lambda _: LETTERS)


def total(composed: Composed) -> int:
    assert composed.envelope.budget is not None
    assert ShareCalculator()(composed.envelope).used == composed.envelope.budget.total
    return composed.envelope.budget.total


@each_row("protocol", Protocol)
def test_a_picture_that_is_left_out_costs_nothing(protocol: Protocol) -> None:
    without, lost = request(protocol), request(protocol, LOST)
    assert [note.code for note in lost.notes].count("piece-left-out") == 1
    assert total(lost) == total(without)
    assert lost.envelope.tokens == without.envelope.tokens
    assert total(request(protocol, SENT)) == total(without) + PART_TOKENS["image"]
    assert total(request(protocol, SENT, LOST)) == total(without) + PART_TOKENS["image"]


@each_row("protocol", Protocol)
def test_a_picture_of_the_model_costs_something_where_it_is_sent(protocol: Protocol) -> None:
    history = (Message("user", "Draw.", "m1"), Message("assistant", "", "m2", parts=(SENT,)))
    endpoint = Endpoint("e", protocol, "http://127.0.0.1:9")
    inputs = Inputs(endpoint, Preset("p", ()), history, "And?")
    made = compose(inputs, lambda _: LETTERS)
    bare = compose(
        replace(inputs, history=(history[0], replace(history[1], parts=()))), lambda _: LETTERS
    )
    is_sent = "iVBORw0KGgo=" in made.payload.body.decode()
    assert total(made) - total(bare) == (PART_TOKENS["image"] if is_sent else 0)
